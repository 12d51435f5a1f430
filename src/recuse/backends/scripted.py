"""A judge that reads its lines from a file, for tests and demonstrations: `fake/script=replies.jsonl`.

One JSON object a line, either for one ask or for every ask whose messages match a regular expression:

    {"pair": "3f2a…", "view": "AB", "repeat": 0, "text": "A"}
    {"match": "capital of Australia", "text": "B", "finish": "stop"}

A line for the ask itself goes before expressions, and these are tried in the order of the file.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from recuse.backends.fake_text import Said
from recuse.errors import InputError, fault_of
from recuse.types import Ask, View


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid")
    text: str
    finish: Literal["stop", "length", "refusal"] = "stop"
    match: str | None = None
    pair: str | None = None
    view: View = "AB"
    arm: str = "original"
    repeat: int = 0


class Script:
    def __init__(
        self, path: Path, exact: dict[tuple[str, str, str, int], Said], rules: list[tuple[re.Pattern[str], Said]]
    ):
        self.path, self._exact, self._rules = path, exact, rules

    @classmethod
    def load(cls, name: str) -> Script:
        """Raises InputError naming the row that cannot be used."""
        path = Path(name)
        try:
            lines = path.read_text(encoding="utf-8").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"cannot be read ({error})", path=path, hint="Give a JSONL file in UTF-8.") from None
        exact: dict[tuple[str, str, str, int], Said] = {}
        rules: list[tuple[re.Pattern[str], Said]] = []
        for row, text in enumerate(lines, start=1):
            if not text.strip():
                continue
            try:
                line = _Line.model_validate_json(text)
                said = Said(line.text, line.finish)
                if (line.match is None) == (line.pair is None):
                    raise InputError("needs either pair or match", path=path, row=row)
                if line.match is not None:
                    rules.append((re.compile(line.match), said))
                else:
                    exact[line.pair or "", line.view, line.arm, line.repeat] = said
            except ValidationError as error:
                field, fault = fault_of(error)
                raise InputError(fault, path=path, row=row, field=field) from None
            except re.error as error:
                raise InputError(f"not a regular expression: {error}", path=path, row=row, field="match") from None
        return cls(path, exact, rules)

    def answer(self, ask: Ask) -> Said:
        """The line for this ask. Raises InputError where the script has none."""
        said = self._exact.get((ask.pair, ask.view, ask.arm, ask.repeat))
        if said is not None:
            return said
        text = "\n".join(m.content for m in ask.messages)
        for pattern, said in self._rules:
            if pattern.search(text):
                return said
        raise InputError(
            f"no line for pair {ask.pair}, view {ask.view}, arm {ask.arm}, repeat {ask.repeat}",
            path=self.path,
            hint='Add one, or a last line {"match": "", "text": …} for all others.',
        )
