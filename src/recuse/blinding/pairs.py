"""Blinding inside a judged run: the judge is shown no name and no listed sign of a group, or nothing is asked.

Ids and gold stay those of the pairs as they are, so that results find back to their source. Groups that blinding makes
share a question become one: they are one observation now, and must not lie in two parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path

from recuse.blinding.files import names_in, read_names
from recuse.blinding.redact import Redactor
from recuse.blinding.settings import BlindSettings, Signal, load_signals
from recuse.blinding.verify import find_leaks
from recuse.errors import InputError
from recuse.pairs import PairSet
from recuse.pairs.families import Families, question_key
from recuse.types import Message, Pair

_WORDS = {"person": "names", "pronoun": "pronouns", "title": "titles", "gender": "gendered words", "noun": "nouns"}


@dataclass(frozen=True)
class Blinds:
    """Where the names of a pair come from: a column of its source, a list for all pairs, both or neither."""

    names: str | None = None
    names_file: Path | None = None
    signals: Path | None = None

    @classmethod
    def of(cls, names: str | None, names_file: Path | None, signals: Path | None) -> Blinds | None:
        """None where nothing is given: the texts are shown as they are."""
        return cls(names, names_file, signals) if names or names_file or signals else None

    def table(self) -> dict[str, str]:
        """As run.toml keeps it."""
        return {name: str(value) for name, value in vars(self).items() if value is not None}

    @classmethod
    def from_table(cls, table: Mapping[str, str]) -> Blinds | None:
        names_file, signals = (Path(table[key]) if key in table else None for key in ("names_file", "signals"))
        return cls.of(table.get("names"), names_file, signals)

    def redactor(self) -> Redactor:
        return Redactor(BlindSettings(), self._signals())

    def _signals(self) -> Sequence[Signal]:
        return load_signals(self.signals) if self.signals else ()

    def blinded(self, pairs: PairSet) -> tuple[PairSet, list[str]]:
        """The pairs as the judge is to see them, and sentences for the report.

        Raises InputError for names that cannot be used, and where the check finds something left, by pair and kind;
        UsageError for a names column that the pairs do not have.
        """
        settings, signals, redactor = BlindSettings(), self._signals(), self.redactor()
        listed = read_names(self.names_file) if self.names_file else ()
        counts, touched, alike = Counter[str](), 0, 0
        asked: set[str] = set()  # keys of the questions that blinding changed
        rows = iter(pairs.column("row"))
        given = iter(pairs.of_source(self.names) if self.names else [None] * len(pairs))

        def change(pair: Pair) -> Pair:
            nonlocal touched, alike
            row = next(rows)
            names = (*names_in(next(given), redactor, path=pairs.source, row=row, field=self.names), *listed)
            found = redactor.redact(_texts(pair), names)
            for field, text in found.texts.items():
                for leak in find_leaks(text, names, settings=settings, signals=signals):
                    raise InputError(
                        f"blinding left a {leak.kind} at character {leak.offset} of the {field.partition(' ')[0]}",
                        path=pairs.source, row=row, hint="Nothing was asked. Name it with --signals, or report it.",
                    )  # fmt: skip
            counts.update(span.kind for span in found.spans)
            touched += bool(found.spans)
            alike += found.texts["chosen"] == found.texts["rejected"]
            blind = _with(pair, found.texts)
            if blind.prompt != pair.prompt:
                asked.add(question_key(blind.prompt))
            return blind

        shown = pairs.changed(change, by="blinded")
        said = _said(counts, touched, alike)
        if new := _joined(shown, asked):
            shown = shown.changed(lambda pair: replace(pair, group=new.get(pair.group, pair.group)), by="regrouped")
            said.append(
                f"{len(new):,} groups were joined to others, since their questions are the same once blinded: "
                f"{shown.groups:,} are left."
            )
        return shown, said


def _joined(pairs: PairSet, asked: Set[str]) -> dict[str, str]:
    """The new name of every group that shares one of the questions `asked` with another."""
    if not asked:
        return {}
    families, first = Families(), dict[str, str]()
    for pair in pairs:
        if (key := question_key(pair.prompt)) in asked:
            families.join(first.setdefault(key, pair.group), pair.group)
    return {group: name for group in set(pairs.column("group")) if (name := families.of(group)) != group}


def _texts(pair: Pair) -> dict[str, str]:
    """All that a judge may be shown of a pair, by field."""
    turns = [pair.prompt] if isinstance(pair.prompt, str) else [message.content for message in pair.prompt]
    asked = {f"prompt {i}": text for i, text in enumerate(turns)}
    return asked | {"chosen": pair.chosen, "rejected": pair.rejected, "reference": pair.reference or ""}


def _with(pair: Pair, texts: Mapping[str, str]) -> Pair:
    said = iter(text for field, text in texts.items() if field.startswith("prompt "))
    prompt = next(said) if isinstance(pair.prompt, str) else tuple(Message(m.role, next(said)) for m in pair.prompt)
    reference = None if pair.reference is None else texts["reference"]
    return replace(pair, prompt=prompt, chosen=texts["chosen"], rejected=texts["rejected"], reference=reference)


def _said(counts: Counter[str], pairs: int, alike: int) -> list[str]:
    if not counts:
        return ["Blinding found nothing to take out of the texts that the judge sees."]
    listed = ", ".join(f"{n:,} {_WORDS.get(kind, kind.removeprefix('signal:'))}" for kind, n in counts.most_common())
    said = [f"The judge saw {pairs:,} pairs blinded ({listed} replaced); a second check found nothing left."]
    if alike:
        said.append(f"In {alike:,} pairs the two answers are one text once blinded: there the judge can only guess.")
    return said
