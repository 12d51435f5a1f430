"""Language variants: texts that cannot be byte-identical. In place of that proof stand the facts that a variant keeps,
told by rule, and a sheet of samples that native speakers fill in.

The sheet is CSV with a row a sampled variant; `same_meaning`, `natural` and `comment` are for the reader. Cells that a
spreadsheet would take for a formula begin with an apostrophe.
"""

from __future__ import annotations

import csv
import io
import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from recuse import stats
from recuse.blinding.tables import read_table
from recuse.errors import UsageError
from recuse.probes.extract.facts import Checklist, FactsKept, facts_kept
from recuse.recorded.rows import Row

ASKED = ("same_meaning", "natural", "comment")
COLUMNS = ("template_id", "language", "base", "variant", "lost", *ASKED)
_FORMULA = tuple("=+-@\t\r＝＋－＠")  # what spreadsheets begin a formula with, full width included
_SAME: dict[str, bool | None] = {"yes": True, "no": False, "null": None}
_NATURAL = {str(degree): degree for degree in range(1, 6)}


@dataclass(frozen=True, slots=True)
class Variant:
    template_id: str
    language: str
    base: str  # the text in the plan's language
    text: str


@dataclass(frozen=True, slots=True)
class VariantFacts:
    variant: Variant
    facts: FactsKept  # of the base text; numbers, dates, amounts
    added: tuple[str, ...]  # facts that the base text does not have
    items: FactsKept  # of the checklist

    @property
    def sound(self) -> bool:
        """Nothing is lost and nothing added."""
        return not (self.facts.lost or self.items.lost or self.added)


@dataclass(frozen=True, slots=True)
class LanguageRead:
    """What native speakers said of one language."""

    language: str
    same: stats.Estimate  # share of samples with the same meaning, Wilson interval
    natural: float | None  # mean of 1 (no speaker would say so) to 5
    unread: int  # samples without an answer to the first question


def read_variants(path: Path | str) -> tuple[Variant, ...]:
    """The rows of a table with the columns template_id, language, base and text.

    Raises InputError naming the row and the field of an empty or missing cell, and of a variant that stands twice.
    """
    seen: dict[tuple[str, str], int] = {}
    found = []
    for number, values in read_table(Path(path)):
        row = Row(str(path), number, values)
        base, text = row.text("base"), row.text("text")
        if base is None or text is None:
            raise row.fail("the text is empty", field="base" if base is None else "text")
        one = Variant(row.word("template_id"), row.word("language"), base, text)
        if (before := seen.setdefault((one.template_id, one.language), number)) != number:
            raise row.fail(
                f"the {one.language} variant of {one.template_id!r} stands in row {before} too", field="template_id",
                hint="Keep one of them.",
            )  # fmt: skip
        found.append(one)
    return tuple(found)


def check_variants(variants: Iterable[Variant], *, checklist: Sequence[Sequence[str]] = ()) -> tuple[VariantFacts, ...]:
    """The facts that each variant keeps of its base text, and the items of a checklist (each with its spellings in all
    languages). Raises UsageError for an item without a word."""
    try:
        wanted = Checklist(checklist)
    except ValueError as error:
        raise UsageError(f"The checklist cannot be used: {error}.", hint="Correct it.") from None
    return tuple(
        VariantFacts(
            one, facts_kept(one.base, one.text), tuple(str(fact) for fact in facts_kept(one.text, one.base).lost),
            wanted.check(one.text),
        )
        for one in variants
    )  # fmt: skip


def sample(checked: Sequence[VariantFacts], *, per_language: int = 20, seed: int = 0) -> list[VariantFacts]:
    """Those for the sheet: of every language all that lost or added a fact, then others at random up to the number.

    The order is that given. Raises UsageError for a number under 1.
    """
    if per_language < 1:
        raise UsageError(f"{per_language} samples a language.", hint="Give 1 or more.")
    of: dict[str, list[int]] = defaultdict(list)
    for i, one in enumerate(checked):
        of[one.variant.language].append(i)
    kept: set[int] = set()
    for language, places in of.items():
        faulty = [i for i in places if not checked[i].sound]
        others = [i for i in places if checked[i].sound]
        room = min(len(others), max(0, per_language - len(faulty)))
        kept |= {*faulty, *random.Random(f"{seed}:{language}").sample(others, room)}
    return [checked[i] for i in sorted(kept)]


def sheet_bytes(samples: Iterable[VariantFacts]) -> bytes:
    """The sheet as CSV in UTF-8 with a byte order mark, by which spreadsheets know it."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=csv.QUOTE_ALL)
    writer.writerow(COLUMNS)
    for one in samples:
        lost = [str(fact) for fact in (*one.facts.lost, *one.items.lost)]
        lost += [f"added: {fact}" for fact in one.added]
        variant = one.variant
        cells = (variant.template_id, variant.language, variant.base, variant.text, "; ".join(lost), "", "", "")
        writer.writerow([neutral(cell) for cell in cells])
    return text.getvalue().encode("utf-8-sig", "replace")


def neutral(cell: str) -> str:
    """A cell that no spreadsheet computes: an apostrophe stands before what begins like a formula, blanks aside, and
    before an apostrophe, so that `told` gives the text back. NUL characters are dropped, which no CSV holds."""
    cell = cell.replace("\0", "")
    begins = cell.lstrip(" \n\u00a0")[:1]
    return f"'{cell}" if begins and (begins in _FORMULA or cell[:1] == "'") else cell


def told(cell: str) -> str:
    """The text of a `neutral` cell."""
    return cell[1:] if cell[:1] == "'" and neutral(cell[1:]) == cell else cell


def read_sheet(path: Path | str) -> tuple[LanguageRead, ...]:
    """What native speakers wrote into a sheet, by language.

    `same_meaning` is yes or no, `natural` a number from 1 to 5; either may be empty. Raises InputError naming the row
    and the field for anything else, and for columns that are missing.
    """
    same: dict[str, list[bool | None]] = defaultdict(list)
    natural: dict[str, list[int]] = defaultdict(list)
    for number, values in read_table(Path(path)):
        row = Row(str(path), number, values)
        language = told(row.word("language")).strip()
        same[language].append(row.choice("same_meaning", _SAME))
        if row.get("natural") not in (None, ""):
            natural[language].append(row.choice("natural", _NATURAL))
    found = []
    for language, answers in same.items():
        read = [answer for answer in answers if answer is not None]
        degrees = natural[language]
        mean = sum(degrees) / len(degrees) if degrees else None
        found.append(LanguageRead(language, stats.wilson_interval(sum(read), len(read)), mean, answers.count(None)))
    return tuple(found)
