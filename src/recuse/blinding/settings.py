"""What a user may choose about blinding: settings, and signals of a group beside the person's name and gender."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from recuse.assets import read_toml
from recuse.errors import InputError, UsageError, fault_of


@dataclass(frozen=True, slots=True)
class BlindSettings:
    """Choices of blinding; the defaults take out what is in doubt.

    ordinary_words      "position": a name that is an ordinary word too ("will", "May 2020") stays where the position
                        says that it is the word; "redact": it goes wherever it stands
    masculine_generics  "keep": hero, actor, guys stay, and heroine, actress, gals become them; "redact": both become a
                        neutral word
    pronouns            further forms that become [PRONOUN]
    """

    ordinary_words: Literal["position", "redact"] = "position"
    masculine_generics: Literal["keep", "redact"] = "keep"
    pronouns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Signal:
    """Words of one kind that give a group away: a school, a club, a place, a language, words of age.

    kind   names the placeholder: "school" becomes [SCHOOL]
    words  words or phrases, in any case; "#" stands for a number ("#-year-old")
    """

    kind: str
    words: tuple[str, ...]

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,39}", self.kind):
            raise UsageError(f"{self.kind!r} cannot name a signal.", hint="Use letters, digits and _, such as school.")
        if re.fullmatch(r"\[(?:PERSON(?:_\d+)?|PRONOUN|TITLE|GENDER)\]", self.placeholder):
            raise UsageError(f"{self.kind!r} is a placeholder of its own.", hint="Name the signal otherwise.")
        if not self.words or any(not re.search(r"[^\W_]|#", word) for word in self.words):
            raise UsageError(f"The signal {self.kind!r} has an empty word.", hint="Give words or take it out.")

    @property
    def placeholder(self) -> str:
        return f"[{self.kind.upper()}]"


class _SignalTable(BaseModel):
    model_config = ConfigDict(extra="forbid")
    words: list[str]


def load_signals(path: str | Path) -> tuple[Signal, ...]:
    """The signals of a TOML file with a table for each kind, such as

        [school]
        words = ["Howard University", "Morehouse"]

    Raises InputError for a file that is none such.
    """
    path = Path(path)
    tables = read_toml(path, hint="Check the name.")
    found = []
    for kind, table in tables.items():
        try:
            words = _SignalTable.model_validate(table).words
            found.append(Signal(kind, tuple(words)))
        except ValidationError as error:
            where, said = fault_of(error)
            hint = f'Write a table [{kind}] with words = ["..."].'
            raise InputError(said, path=path, field=f"{kind}.{where}" if where else kind, hint=hint) from None
        except UsageError as error:
            raise InputError(str(error), path=path, field=kind) from None
    if not found:
        raise InputError("has no signals", path=path, hint='Write a table such as [school] with words = ["..."].')
    return tuple(found)
