"""What all fake models share: draws from hashes, and reading the blocks of a prompt."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from recuse.errors import UsageError
from recuse.types import Ask, Finish


@dataclass(frozen=True, slots=True)
class Said:
    """What an answerer makes of one ask: the parts of a Reply that are not bookkeeping."""

    text: str
    finish: Finish = "stop"
    logprobs: tuple[tuple[str, float], ...] | None = None


def uniform(*parts: object) -> tuple[float, ...]:
    """Eight numbers strictly between 0 and 1 that depend on `parts` alone."""
    text = "\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass")
    return tuple([((x >> 12) + 0.5) * 2.0**-52 for x in struct.unpack("<8Q", blake2b(text, digest_size=64).digest())])


def block(ask: Ask, *tags: str) -> str | None:
    """The text in the ask's last block with one of the tags, or None where no message has one."""
    for message in reversed(ask.messages):
        for tag in tags:
            end = message.content.rfind(f"</{tag}>")
            start = message.content.rfind(f"<{tag}>", 0, max(end, 0))
            if start >= 0:
                return message.content[start + len(tag) + 2 : end].strip()
    return None


def shown(ask: Ask, tag: str) -> str:
    """The text in the ask's <tag> block. Raises UsageError where the prompt has no such block."""
    found = block(ask, tag)
    if found is None:
        raise UsageError(
            f"The fake judge finds no <{tag}> block in this prompt, which one of its options needs.",
            hint="Use one of the prompts that ship with recuse, or leave these options out.",
        )
    return found


def fill_schema(schema: Any, value: str | int, *, words: str = "planted") -> str:
    """A JSON object of the schema's properties: `value` where it fits, `words` elsewhere."""
    from recuse.prompts import canonical

    def fits(part: Any) -> bool:
        if isinstance(value, int):
            return part.get("type") in ("integer", "number")
        return value in part.get("enum", ())

    return canonical({name: value if fits(part) else words for name, part in schema["properties"].items()})
