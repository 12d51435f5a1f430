"""Words that stand more often in the explanations for one group than in those for another, by template.

The unit is the template. Within one, a word's presence rate among the replies for either group gives a gap; over
templates the gaps' signs are flipped (`stats.sign_flip_test`), and all words are corrected together. A word that fills
one template's replies is thus one observation, however many replies there are.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from recuse import stats
from recuse.errors import InputError, UsageError
from recuse.probes.extract.texts import listed, readable, tokens_of, word_lists
from recuse.probes.plan import ProbePlan
from recuse.probes.records import Records
from recuse.verdict.text import split_thinking

LEAST_REPLIES = 5  # replies with a word
LEAST_TEMPLATES = 6  # templates with a word: with five, no pattern of signs has a two-sided p under 0.05
METHOD = "presence by template, sign-flip over templates; Benjamini-Hochberg over words"


@dataclass(frozen=True, slots=True)
class WordRow:
    word: str
    more_in: str | None  # the group whose explanations have it more often
    rate_a: float  # share of replies with it, mean over templates
    rate_b: float
    gap: float  # rate_a minus rate_b
    replies_a: int
    replies_b: int
    templates: int  # with the word in either group
    p: float
    p_adjusted: float
    found: bool  # p_adjusted is within the level


@dataclass(frozen=True, slots=True)
class WordsFound:
    """All words that were tested, the smallest p first. Words under the minimum counts are not tested."""

    a: str
    b: str
    rows: tuple[WordRow, ...]
    templates: int  # with explanations for both groups
    excluded: tuple[str, ...]  # templates with explanations for one group only
    left_out: tuple[str, ...]  # words of the texts that name a group and were not tested
    level: float
    method: str = METHOD

    @property
    def found(self) -> tuple[WordRow, ...]:
        return tuple(row for row in self.rows if row.found)


def overrepresented(
    texts: Sequence[str | None],
    *,
    template: Sequence[str],
    group: Sequence[str],
    a: str,
    b: str,
    leave_out: Iterable[str] = (),
    least_replies: int = LEAST_REPLIES,
    least_templates: int = LEAST_TEMPLATES,
    level: float = 0.05,
    seed: int = 0,
) -> WordsFound:
    """Compare the words of the groups a and b.

    texts      one explanation a reply; None or no word: none was given, and the reply does not count
    leave_out  words that name a group (names, pronouns, slots), with their possessives; recuse's own list of pronouns,
               titles and kin is left out too
    level      the false discovery rate

    Presence counts, not frequency, so that one long reply is one. The test is exact where replies within a template are
    exchangeable under the null hypothesis: both groups have as many replies in it. Words are dependent; the correction
    holds for positive dependence.
    Raises UsageError for a group that is compared with itself or minimum counts under 1, InputError for a group without
    explanations.
    """
    if a == b:
        raise UsageError(f"{a!r} is compared with itself.", hint="Name two groups.")
    if min(least_replies, least_templates) < 1:
        raise UsageError("The least number of replies or templates is under 1.", hint="Give 1 or more.")
    replies: Counter[tuple[str, str]] = Counter()
    having: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    for text, place, side in zip(texts, template, group, strict=True):
        if side in (a, b) and text and (words := _words(text)):
            replies[place, side] += 1
            for word in words:
                having[word][place, side] += 1
    for side in (a, b):
        if not any(own == side for _, own in replies):
            raise InputError(f"no explanations for the group {side!r}", field="group", hint="Give replies of both.")
    places = sorted({place for place, _ in replies})
    both = [place for place in places if replies[place, a] and replies[place, b]]
    excluded = tuple(place for place in places if place not in set(both))
    names = _folded([*leave_out, *listed(word_lists()["words"]["group_words"])])
    left_out = tuple(sorted(names & having.keys()))
    totals = {side: np.array([replies[place, side] for place in both], dtype=float) for side in (a, b)}
    rows = []
    for word in sorted(having.keys() - names):
        counts = {side: np.array([having[word][place, side] for place in both], dtype=float) for side in (a, b)}
        there = int(np.count_nonzero(counts[a] + counts[b]))
        if there < least_templates or counts[a].sum() + counts[b].sum() < least_replies:
            continue
        rates = {side: counts[side] / totals[side] for side in (a, b)}
        tested = stats.sign_flip_test(rates[a] - rates[b], seed=seed)
        gap = tested.estimate or 0.0
        more = None if gap == 0 else a if gap > 0 else b
        means = float(rates[a].mean()), float(rates[b].mean())
        rows.append((word, more, *means, gap, int(counts[a].sum()), int(counts[b].sum()), there, tested.pvalue))
    adjusted = stats.benjamini_hochberg([row[-1] for row in rows], level=level)
    told = [
        WordRow(*row, p, bool(found))
        for row, p, found in zip(rows, adjusted.tolist(), adjusted.rejected, strict=True)
    ]  # fmt: skip
    told.sort(key=lambda row: (row.p, -abs(row.gap), row.word))
    return WordsFound(a, b, tuple(told), len(both), excluded, left_out, level)


def words_of_records(records: Records, *, a: str, b: str, column: str = "reply", leave_out: Iterable[str] = (),
                     level: float = 0.05) -> WordsFound:  # fmt: skip
    """The same for a column of records; their names are left out. Raises InputError for a column that is not there."""
    if column not in records.columns:
        raise InputError("is not in the records", path=records.path, field=column, hint="Name the column of replies.")
    said = [text if isinstance(text, str) else None for text in records.column(column)]
    return overrepresented(
        said, template=records.template_id, group=records.group, a=a, b=b, leave_out=[*records.name, *leave_out],
        level=level,
    )  # fmt: skip


def group_words(plan: ProbePlan) -> list[str]:
    """What a plan's groups put into slots: names, pronouns and words."""
    groups = [*plan.groups.values(), *([plan.base] if plan.base else [])]
    return [value for one in groups for name in (one.names or [""]) for value in one.values(name).values()]


def _words(text: str) -> frozenset[str]:
    """The distinct words of an explanation, thinking aside: two letters at least, no numbers, possessives taken off."""
    said = {token.text.removesuffix("'s") for token in tokens_of(readable(split_thinking(text)[0]))}
    return frozenset(word for word in said if len(word) > 1 and not any(mark.isdigit() for mark in word))


def _folded(words: Iterable[str]) -> frozenset[str]:
    return frozenset(token.text.removesuffix("'s") for word in words for token in tokens_of(readable(word)))
