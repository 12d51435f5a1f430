"""A variant's prompt: the present one, or another, with what it is told besides.

A paragraph and the list of warnings stand at the end of the system message, the paragraph first; a prompt without a
system message gets one. The verdict format, the labels and all that follows stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from recuse import assets
from recuse.errors import InputError
from recuse.library import Bias
from recuse.prompts import Prompt, load_prompt, parse_prompt

_ROLE = re.compile(r"^@(system|user|assistant)[ \t]*$", re.MULTILINE)
_ROLE_LIKE = re.compile(r"^[ \t]*@\w+[ \t]*:?[ \t]*$", re.MULTILINE)
_HEADING = re.compile(r"\A\s*#{1,6}[^\n]*\n")
_WARNING = "None of the following makes an answer better. Do not let it sway you:"


@dataclass(frozen=True)
class Wording:
    """A prompt with the text of its file, which goes into the winner's folder."""

    text: str
    prompt: Prompt
    name: str  # a file, or the id of one that ships with recuse


def read_wording(name: str) -> Wording:
    """The prompt `name`, a file or the id of one that ships with recuse, with its text. Raises as `load_prompt`."""
    prompt = load_prompt(name)
    path = Path(name) if Path(name).is_file() else assets.folder("prompts") / f"{name}.md"
    return Wording(path.read_bytes().decode("utf-8").replace("\r\n", "\n"), prompt, name)


def read_paragraph(given: str) -> str:
    """The text itself, or the content of the file that it names, without a heading above it.

    Raises InputError for a text that would not stay one paragraph of the prompt.
    """
    path, text = None, given
    if "\n" not in given and len(given) < 400 and Path(given).is_file():
        path = Path(given)
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"cannot be read ({error})", path=path, hint="Save it as UTF-8 text.") from None
    elif re.fullmatch(r"\S+\.(md|txt)", given):
        raise InputError("there is no such file", path=given, hint="Paths are relative to the variants file.")
    text = _HEADING.sub("", text).strip()
    for fault, found in (("is empty", not text), ("has a hole {{...}}", "{{" in text),
                         ("has a line that begins a message, such as @user", _ROLE_LIKE.search(text))):  # fmt: skip
        if found:
            raise InputError(f"the paragraph {fault}", path=path, hint="Write plain sentences for the judge.")
    return text


def warnings(biases: Sequence[Bias]) -> str:
    """The definitions of biases as a list of warnings."""
    lines = [f"- {bias.name}: {' '.join(bias.definition.split())}" for bias in biases]
    return "\n".join([_WARNING, *(line.replace("{{", "{ {") for line in lines)])


def told(base: Wording, more: Sequence[str], *, as_: str) -> Wording:
    """The prompt with paragraphs at the end of its system message, under an id of its own."""
    if not more:
        return base
    head, front, body = re.split(r"^\+\+\+[ \t]*$", base.text, maxsplit=2, flags=re.MULTILINE)
    id = f"{base.prompt.id}+{as_}"
    front = re.sub(r"^id\s*=.*$", lambda _: f'id = "{id}"', front, count=1, flags=re.MULTILINE)
    text = f"{head}+++{front}+++{_added(body, chr(10) * 2 + (chr(10) * 2).join(more))}"
    return Wording(text, parse_prompt(text, f"the prompt of {as_}"), id)


def _added(body: str, more: str) -> str:
    roles = list(_ROLE.finditer(body))
    for i, role in enumerate(roles):
        if role[1] == "system":
            end = roles[i + 1].start() if i + 1 < len(roles) else len(body)
            return body[: role.end()] + body[role.end() : end].rstrip() + more + "\n\n" + body[end:]
    user = "" if roles and not body[: roles[0].start()].strip() else "@user\n"
    return f"\n@system{more[1:]}\n\n{user}{body.lstrip()}"
