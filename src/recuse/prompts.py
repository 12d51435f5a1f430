"""Prompt files: TOML front matter between +++ lines, then messages with {{holes}}.

A line `@system`, `@user` or `@assistant` starts a message. Holes are filled in one pass, so text from data can neither
open a hole nor, once `neutralise` has run, end its own block.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from recuse import assets
from recuse.errors import InputError, UsageError
from recuse.types import Message
from recuse.verdict.spec import Spec

_HOLE = re.compile(r"\{\{\s*([a-z_]+)\s*\}\}")
_ROLE = re.compile(r"^@(system|user|assistant)[ \t]*$", re.MULTILINE)
_ROLE_LIKE = re.compile(r"^[ \t]*@\w+[ \t]*:?[ \t]*$", re.MULTILINE)
_SHARED = re.compile(r"^shared[ \t]*=.*\n", re.MULTILINE)
_TAG = re.compile(r"<([a-z][a-z0-9_]*)>")
Kind = Literal["pairwise", "pointwise", "listwise", "rewrite", "verify", "explain", "extract", "merge", "probe"]
_HOLES = {  # those of a probe are free: the code that sends one knows what it shows
    "pairwise": {"question", "first", "second", "reference"},
    "pointwise": {"question", "answer", "reference"},
    "listwise": {"question", "first", "second", "third"},
    # The kinds below ask for a text or for JSON, not for a verdict.
    "rewrite": {"question", "answer", "instruction", "least", "most", "draft", "measured"},
    "verify": {"question", "reference", "before", "after"},
    "explain": {"choice"},
    "extract": {"question", "chosen", "rejected", "original", "explanation", "known"},
    "merge": {"candidate", "known"},
}
_NEEDED = {
    "pairwise": {"first", "second"}, "pointwise": {"answer"}, "listwise": {"first", "second", "third"},
    "rewrite": {"answer", "instruction"},
    "verify": {"before", "after"}, "explain": set(), "extract": {"explanation"}, "merge": {"candidate", "known"},
}  # fmt: skip
_TEXT_FORMATS = ("text", "json")
JUDGING: tuple[Kind, ...] = ("pairwise", "pointwise")


class _Labels(BaseModel):
    model_config = ConfigDict(extra="forbid")
    first: str = "A"
    second: str = "B"
    tie: str | None = None
    third: str | None = None  # of a listwise prompt or a probe; it takes the place of the tie's in `Spec`


class _FrontMatter(BaseModel):
    model_config = ConfigDict(extra="forbid")
    id: str
    version: int
    kind: Kind
    format: str
    source: str
    max_tokens: int = 16
    labels: _Labels = _Labels()
    scale: tuple[float, float] | None = None
    shared: list[str] = []  # holes that hold the same text in all asks about one pair: they come first in the body
    delimiters: list[str] = []  # literal marks around data, beside the XML-like tags, which are found by themselves
    schema_: dict[str, Any] | None = None  # JSON schema of the reply


@dataclass(frozen=True)
class Prompt:
    id: str
    hash: str  # of the file's bytes without the line `shared`, which changes nothing that is asked
    kind: Kind
    spec: Spec
    max_tokens: int
    holes: frozenset[str]
    shared: frozenset[str]  # those that hold the same text in all asks about one pair
    schema: Mapping[str, Any] | None
    _messages: tuple[tuple[str, tuple[str, ...]], ...]  # role, then literal and hole name by turns
    _closers: re.Pattern[str] | None

    def fill(self, **values: str) -> tuple[Message, ...]:
        """Messages with every hole filled. Each hole of the prompt must be given; values are data, never markup."""
        safe = {name: self.neutralise(values[name]) for name in self.holes}
        return tuple(
            Message(role, "".join(safe[part] if i % 2 else part for i, part in enumerate(parts)))
            for role, parts in self._messages
        )

    def neutralise(self, text: str) -> str:
        """Break the prompt's own delimiters in `text` with a backslash, so that it cannot end its block. Idempotent."""
        if self._closers is None:
            return text
        return self._closers.sub(lambda m: m[0][0] + "\\" + m[0][1:], text)


def load_prompt(name: str, *, kinds: Sequence[Kind] = JUDGING) -> Prompt:
    """The prompt `name`: a path to a file, or the id of one that ships with recuse, such as "pairwise/label".

    Raises UsageError for a name that is neither or a prompt of no such kind, InputError for a file that is no prompt.
    """
    path = Path(name)
    if not path.is_file():
        path = assets.folder("prompts") / f"{name}.md"
        if not path.is_file():
            known = ", ".join(id for id in shipped() if id.partition("/")[0] in kinds)
            raise UsageError(f"There is no prompt {name!r}.", hint=f"Give a file, or one of: {known}.")
    try:
        prompt = parse_prompt(path.read_bytes().decode("utf-8"), path)
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 (byte {error.start})", path=path, hint="Save the prompt as UTF-8.") from None
    if prompt.kind not in kinds:
        raise UsageError(f"{name} is a {prompt.kind} prompt.", hint=f"Give one of the kind {' or '.join(kinds)}.")
    return prompt


def shipped() -> list[str]:
    root = assets.folder("prompts")
    return sorted(p.relative_to(root).with_suffix("").as_posix() for p in root.rglob("*.md"))


def parse_prompt(text: str, path: object = "prompt") -> Prompt:
    text = text.replace("\r\n", "\n")
    parts = re.split(r"^\+\+\+[ \t]*$", text, maxsplit=2, flags=re.MULTILINE)
    if len(parts) != 3 or parts[0].strip():
        raise InputError("no front matter", path=path, hint="Start the file with TOML between two lines of +++.")
    try:
        front = tomllib.loads(parts[1])
        front["schema_"] = front.pop("schema", None)
        head = _FrontMatter.model_validate(front)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"front matter is not TOML: {error}", path=path, hint="Correct it.") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]).replace("schema_", "schema")
        raise InputError(str(first["msg"]), path=path, field=where, hint="Correct the front matter.") from None
    _check_roles(parts[2], path, before=text.count("\n", 0, len(text) - len(parts[2])))
    body = parts[2].strip("\n")
    holes = frozenset(_HOLE.findall(body))
    if unknown := holes - _HOLES.get(head.kind, holes):
        allowed = ", ".join(sorted(_HOLES[head.kind]))
        raise InputError(
            f"unknown hole {{{{{min(unknown)}}}}}", path=path, hint=f"A {head.kind} prompt may use: {allowed}."
        )
    if absent := _NEEDED.get(head.kind, set()) - holes:
        raise InputError(
            f"no hole {{{{{min(absent)}}}}}", path=path, hint="Without it the model never sees what it is asked about."
        )
    _check_shared(head.shared, _HOLE.findall(body), path)
    labels = head.labels
    free = head.kind == "probe"
    if (not free and (labels.third is None) == (head.kind == "listwise")) or (labels.third and labels.tie):
        raise InputError(
            "a listwise prompt has a third label and no tie, a probe may have one, no other prompt has one", path=path,
            field="labels.third", hint="Correct the front matter.",
        )  # fmt: skip
    if labels.third is not None:
        labels = _Labels(first=labels.first, second=labels.second, tie=labels.third)
    if fault := label_fault(labels.first, labels.second, labels.tie):
        name, what = fault
        raise InputError(what, path=path, field=f"labels.{name}", hint="Give every outcome a label of its own.")
    spec = Spec(head.format, labels.first, labels.second, labels.tie, head.scale)
    _check_format(spec, head.kind, path)
    messages = _messages(body)
    if not any(role == "user" and "".join(pieces).strip() for role, pieces in messages):
        raise InputError("no user message", path=path, hint="Begin it with a line @user.")
    # Without the closing bracket, so that attributes and cut-off tags are caught too.
    tags = [rf"<\s*/?\s*{re.escape(tag)}(?!\w)" for tag in sorted(set(_TAG.findall(body)))]
    closers = tags + [re.escape(mark) for mark in head.delimiters]
    return Prompt(
        id=head.id,
        hash=assets.digest(_hashed(text, head.shared).encode()),
        kind=head.kind,
        spec=spec,
        max_tokens=head.max_tokens,
        holes=holes,
        shared=frozenset(head.shared),
        schema=head.schema_,
        _messages=tuple(messages),
        _closers=re.compile("|".join(closers), re.IGNORECASE) if closers else None,
    )


def label_fault(first: str, second: str, tie: str | None) -> tuple[str, str] | None:
    """The label that cannot stand, "first", "second" or "tie", and why; None where all can.

    Case tells labels apart only where the first and the second differ by nothing else, as m and M do.
    """
    fold = str if first.strip().casefold() == second.strip().casefold() else str.casefold
    seen: dict[str, str] = {}
    for name, label in (("first", first), ("second", second), ("tie", tie)):
        if label is None:
            continue
        key = fold(label.strip())
        if not key:
            return name, "the label is empty"
        if key in seen:
            return name, f"the label {label!r} is that of {seen[key]} too"
        seen[key] = name
    return None


def _hashed(text: str, shared: Sequence[str]) -> str:
    """What a prompt's hash is of. Keys of the ledger rest on it, so a line that no model is sent leaves it as it is."""
    return _SHARED.sub("", text, count=1) if shared else text


def _check_shared(shared: Sequence[str], holes: Sequence[str], path: object) -> None:
    """Refuse a shared hole that is not there, or behind one which is not shared: no cache would serve it."""
    for name in shared:
        if name not in holes:
            raise InputError(
                f"no hole {{{{{name}}}}} in the text", path=path, field="shared", hint="Name those that stand there."
            )
    changing = next((i for i, hole in enumerate(holes) if hole not in shared), len(holes))
    if late := [hole for hole in holes[changing:] if hole in shared and hole not in holes[:changing]]:
        raise InputError(
            f"{{{{{late[0]}}}}} stands behind {{{{{holes[changing]}}}}}, which is not shared",
            path=path,
            field="shared",
            hint="Move it before all that changes from ask to ask, or take it out of the list.",
        )


def _check_roles(body: str, path: object, *, before: int) -> None:
    """Refuse a line such as @usr: as text it would silently belong to another message. `before`: lines above `body`."""
    for match in _ROLE_LIKE.finditer(body):
        if not _ROLE.fullmatch(match[0]):
            line = before + body.count("\n", 0, match.start()) + 1
            raise InputError(
                f"line {line}: {match[0].strip()!r} is no role", path=path, hint="Write @system, @user or @assistant."
            )


def _check_format(spec: Spec, kind: Kind, path: object) -> None:
    from recuse.verdict import FORMATS

    judging = kind in JUDGING or kind == "listwise"
    known = [*(sorted(FORMATS) if judging or kind == "probe" else ()), *(() if judging else _TEXT_FORMATS)]
    if spec.format not in known:
        what = "verdict format" if judging else f"format of a {kind} prompt"
        raise InputError(
            f"unknown {what} {spec.format!r}", path=path, field="format", hint=f"Use one of: {', '.join(known)}."
        )


def _messages(body: str) -> list[tuple[str, tuple[str, ...]]]:
    pieces = _ROLE.split(body)  # text before the first role, then role and text by turns
    found = list(zip(pieces[1::2], pieces[2::2], strict=True))
    if pieces[0].strip():
        found.insert(0, ("user", pieces[0]))
    return [(role, tuple(_HOLE.split(text.strip("\n")))) for role, text in found]


def transcript(prompt: str | tuple[Message, ...]) -> str:
    """The question as text: a single prompt as it is, a conversation with one named turn a paragraph."""
    if isinstance(prompt, str):
        return prompt
    return "\n\n".join(f"{m.role.capitalize()}: {m.content}" for m in prompt)


_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def canonical(value: object) -> str:
    """Canonical JSON: sorted keys, no blanks, no NaN. The form that hashes rest on."""
    return _CANONICAL.encode(value)
