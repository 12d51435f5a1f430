"""Agreement of a judge with people: kappa and what must stand beside it to read it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from recuse import stats
from recuse.audits.measure import Measure, share, unmeasured
from recuse.audits.table import PerPair
from recuse.calibration.table import Beside, placed
from recuse.types import Finding

_MOST_DOMAINS = 50
_MOST_PEOPLE = 12  # people compared two by two; beyond, the agreement of all says it
KAPPA = "calibration.kappa"
_TITLE = "Agreement with people beyond chance (Cohen's kappa)"
_NONE = "no verdict on a pair that most people label alike"


def kappa_of(table: Beside, *, level: float) -> stats.MissingBounds:
    """Kappa of the judge's verdicts with the people's majority, over all completions of the missing verdicts."""
    return stats.kappa_bounds(table.judged, table.told, groups=table.groups, labels=table.menu, level=level)


def only_label(table: Beside) -> str | None:
    """What a constant judge always says: a place as shown, or an answer of the source wherever that stands."""
    given = {verdict for verdict in table.judged if verdict is not None}
    if len(given) == 1:
        return {"A": "the first answer", "B": "the second answer", "tie": "a tie"}[str(given.pop())]
    places = table.labels.places
    if len({places.get(pair) for pair in table.pairs}) < 2:  # the source does not tell its answers apart by place
        return None
    sources = {placed(j.prefers, places.get(j.pair, "A")) for j in table.judgements if j.prefers is not None}
    return f"the source's answer {sources.pop()}" if len(sources) == 1 else None


def kappa_measure(table: Beside, id: str, title: str, *, level: float) -> Measure:
    """Kappa with its confusion, AC1, raw agreement and prevalence; `bounds` are over all completions."""
    if not len(table):
        return unmeasured(id, title, _NONE)
    seen = stats.cohen_kappa(table.judged, table.told, groups=table.groups, labels=table.menu, level=level)
    over = kappa_of(table, level=level)
    confusion = stats.confusion_table(table.judged, table.told, labels=table.menu)
    ac1 = stats.gwet_ac1(table.judged, table.told, groups=table.groups, labels=table.menu, level=level)
    people = Counter(table.told)
    details: dict[str, Any] = {
        "pairs": len(table.pairs),
        "missing": seen.missing,
        "completions": [over.low, over.high],
        "agreement": seen.observed,
        "by_chance": seen.expected,
        "prevalence": {label: people[label] / len(table) for label in table.menu},
        "confusion": {"labels": table.menu, "judge_by_people": confusion.counts.tolist()},
        "ac1": ac1.estimate,
        "ac1_interval": list(ac1.interval) if ac1.interval else None,
    }
    if (source := _by_source(table)) is not None:
        details["kappa_by_source_place"] = source
    return Measure(
        Finding(
            id, title, seen.estimate, seen.interval, seen.n, seen.groups, None, seen.method, seen.reason,
            bounds=_hull(seen.interval, over.interval), details=details,
        )
    )  # fmt: skip


def _hull(*intervals: tuple[float, float] | None) -> tuple[float, float] | None:
    known = [i for i in intervals if i is not None]
    return (min(i[0] for i in known), max(i[1] for i in known)) if len(known) == len(intervals) else None


def _by_source(table: Beside) -> float | None:
    """Kappa with both told by the source's own places: low where the source nearly always has the same winner and the
    judge does not see when it loses. None where the source has no places or it is the same."""
    places = table.labels.places
    if any(pair not in places for pair in table.pairs):
        return None
    at = [places[j.pair] for j in table.judgements]
    if at == list(table.at):
        return None
    judged = [placed(j.prefers, place) for j, place in zip(table.judgements, at, strict=True)]
    told = [placed(label, place) for label, place in zip(table.people, at, strict=True)]
    return stats.cohen_kappa(judged, told, labels=table.menu).estimate


def agreement(table: Beside, *, level: float) -> Measure:
    """Share of verdicts that are what most people say, the orders of a pair averaged."""
    id, title = "calibration.agreement", "Verdicts that are what most people say"
    if not len(table):
        return unmeasured(id, title, _NONE)
    codes = {pair: i for i, pair in enumerate(table.pairs)}
    pair = np.array([codes[j.pair] for j in table.judgements])
    gone = np.array([verdict is None for verdict in table.judged])
    same = np.array([a == b for a, b in zip(table.judged, table.told, strict=True)]) & ~gone
    asked = np.bincount(pair)
    answered = np.bincount(pair, weights=~gone)
    hits = np.bincount(pair, weights=same)
    groups = {group: i for i, group in enumerate(dict.fromkeys(table.groups))}
    of_pair = np.array(
        [groups[g] for g in dict(zip((j.pair for j in table.judgements), table.groups, strict=True)).values()]
    )
    value = np.divide(hits, answered, out=np.zeros(len(asked)), where=answered > 0)
    per = PerPair(value, answered == asked, (hits + asked - answered) / asked, hits / asked, of_pair)
    return share(id, title, per, level=level)


def with_each_person(table: Beside, *, level: float) -> Measure:
    """Kappa of the judge with single people, all pooled: to be held against the agreement of people with each other,
    since a majority is steadier than any one of them."""
    id, title = "calibration.kappa_each", "Kappa of the judge with single people"
    rows = [
        (verdict, vote, j.group)
        for i, (verdict, j) in enumerate(zip(table.judged, table.judgements, strict=True))
        for vote in table.votes(i).values()
        if vote is not None
    ]
    if len(table.labels.people) < 2 or not rows:
        return unmeasured(id, title, "one label a pair" if rows else _NONE)
    judged, told, groups = (list(column) for column in zip(*rows, strict=True))
    seen = stats.cohen_kappa(judged, told, groups=groups, labels=table.menu, level=level)
    return Measure(
        Finding(id, title, seen.estimate, seen.interval, seen.n, seen.groups, None, seen.method, seen.reason)
    )


def people_among_themselves(table: Beside, *, level: float) -> list[Measure]:
    """The ceiling: Krippendorff's alpha and Fleiss' kappa of the people, and each two of them."""
    alpha, fleiss = "calibration.people_alpha", "calibration.people_fleiss"
    titles = {
        alpha: "People among themselves (Krippendorff's alpha)",
        fleiss: "People among themselves (Fleiss' kappa)",
    }
    votes = [table.votes(i) for i in table.shown]
    groups = [table.groups[i] for i in table.shown]
    rows: list[list[Hashable]] = [list(said.values()) for said in votes]
    if not any(sum(vote is not None for vote in row) > 1 for row in rows):
        return [unmeasured(id, title, "no pair has labels of two people") for id, title in titles.items()]
    found: dict[str, stats.Agreement] = {
        alpha: stats.krippendorff_alpha(rows, labels=table.menu, groups=groups, level=level),
        fleiss: stats.fleiss_kappa(rows, labels=table.menu, groups=groups, level=level),
    }
    measures = [
        Measure(Finding(id, titles[id], a.estimate, a.interval, a.n, a.groups, None, a.method, a.reason))
        for id, a in found.items()
    ]
    return [measures[0].noting(two_by_two=_two_by_two(votes, table.menu)), measures[1]]


def _two_by_two(votes: Sequence[dict[str, str | None]], menu: Sequence[str]) -> dict[str, float | None]:
    """Cohen's kappa of each two people, "NAME / NAME"; none where too many people took part."""
    people = sorted({who for said in votes for who in said})
    if len(people) > _MOST_PEOPLE:
        return {}
    columns = {who: [said.get(who) for said in votes] for who in people}
    return {
        f"{a} / {b}": stats.cohen_kappa(columns[a], columns[b], labels=menu).estimate
        for a, b in combinations(people, 2)
    }


def by_domain(table: Beside, *, level: float) -> list[Measure]:
    """Kappa in each domain, the largest first to be kept; none with one domain."""
    sizes = Counter(name for pair in table.pairs if (name := table.domains.get(pair)) is not None)
    if len(sizes) < 2:
        return []
    names = sorted(name for name, _ in sizes.most_common(_MOST_DOMAINS))
    return [kappa_measure(table.where(name), f"{KAPPA}:{name}", f"Kappa in {name}", level=level) for name in names]


def measure_agreement(table: Beside, everyone: Beside, *, level: float) -> list[Measure]:
    """Everything but the probabilities, kappa first. `everyone` has the pairs on which people are split too: without
    them people would seem to agree better than they do."""
    return [
        kappa_measure(table, KAPPA, _TITLE, level=level),
        agreement(table, level=level),
        with_each_person(everyone, level=level),
        *people_among_themselves(everyone, level=level),
        *by_domain(table, level=level),
    ]
