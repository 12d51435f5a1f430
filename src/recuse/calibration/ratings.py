"""People's ratings of single answers, and a judge's scores on the same scale held against them.

Two people's 4 and 5 agree better than 1 and 5, so that kappa is weighted by the squared distance of the ratings, and
people among themselves are Krippendorff's alpha of the same distance ("interval"), which counts alike.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from statistics import median_low

from recuse import stats
from recuse.audits.measure import Measure, unmeasured
from recuse.calibration.agree import KAPPA
from recuse.calibration.forms import ANNOTATOR, rating_in, read_label_rows
from recuse.calibration.verdict import Decided, KappaRule, decide_kappa
from recuse.errors import InputError, UsageError
from recuse.types import Finding

Ratings = Mapping[str, Mapping[str, float | None]]  # item -> person -> rating; None: abstained


def load_ratings(
    path: str | Path, *, key: str, column: Sequence[str] = ("rating",), annotator: str | None = None
) -> dict[str, dict[str, float | None]]:
    """Ratings by item, the value of the column `key`.

    Several columns are one a person; a cell may hold a list; `annotator` (default: the column of that name where there
    is one) names the person where an item has several rows. Raises InputError for what is no number and for two unlike
    ratings by one person of one item, UsageError for a column that is not there.
    """
    rows = read_label_rows(path).rows
    names = {name for row in rows for name in row.values}
    for name in (key, *column, *((annotator,) if annotator else ())):
        if name not in names:
            raise UsageError(f"{path}: there is no column {name!r}.", hint=f"It has: {', '.join(sorted(names))}.")
    who = annotator or (ANNOTATOR if ANNOTATOR in names else None)
    found: dict[str, dict[str, float | None]] = {}
    for row in rows:
        given = found.setdefault(row.word(key), {})
        person = row.word(who) if who else "person"
        for name in column:
            value, whose = row.get(name), person if len(column) == 1 else f"{person} {name}" if who else name
            said = enumerate(value, start=1) if isinstance(value, list) else [(0, value)]
            for place, one in said:
                by, rating = f"{whose} {place}" if place else whose, rating_in(row, name, one)
                if by in given and given[by] != rating:
                    raise row.fail(f"{rating} here, and {given[by]} by the same person before", field=name)
                given[by] = rating
    return found


def groups_of(path: str | Path, *, key: str, group: str) -> dict[str, str]:
    """The group of each item. Raises UsageError for a column that is missing, InputError for an item in two groups."""
    found: dict[str, str] = {}
    for row in read_label_rows(path).rows:
        for name in (key, group):
            if name not in row.values:
                raise UsageError(f"{path}: there is no column {name!r}.", hint=f"It has: {', '.join(row.values)}.")
        item, of = row.word(key), row.word(group)
        if found.setdefault(item, of) != of:
            raise row.fail(f"the item {item!r} is in the group {found[item]!r} before", field=group)
    return found


def calibrate_ratings(
    scores: Mapping[str, float | None],
    people: Ratings,
    *,
    groups: Mapping[str, str] | None = None,
    rule: KappaRule | None = None,
    level: float = 0.95,
) -> tuple[list[Measure], Decided]:
    """A judge's scores of items against the lower median of people's ratings, and the decision by `rule`.

    A score of None is a missing verdict, which enters by all its completions on the scale that occurs. `groups` names
    what each item belongs to (default: itself). Raises InputError where no scored item has a rating, ValueError for a
    scale of more than 1,000 values.
    """
    items = [item for item in scores if any(rating is not None for rating in people.get(item, {}).values())]
    if not items:
        raise InputError("no scored item has a rating", hint="Rate items of this run.")
    told: list[Hashable] = [median_low(r for r in people[item].values() if r is not None) for item in items]
    judged: list[Hashable] = [scores[item] for item in items]
    names = [(groups or {}).get(item, item) for item in items]
    over = stats.kappa_bounds(judged, told, weights="quadratic", groups=names, level=level)
    seen = stats.cohen_kappa(judged, told, weights="quadratic", groups=names, level=level)
    given = {score for score in judged if score is not None}
    decided = decide_kappa(
        over, rule or KappaRule(), constant=str(next(iter(given))) if len(given) == 1 else None, pairs=len(items)
    )
    kappa = Measure(
        Finding(
            KAPPA, "Agreement with people's ratings beyond chance (weighted kappa)", seen.estimate, seen.interval,
            seen.n, seen.groups, None, seen.method, seen.reason, bounds=over.interval,
            details={
                "missing": seen.missing, "completions": [over.low, over.high],
                "same_rating": stats.cohen_kappa(judged, told).observed, "decision": decided.decision,
                "why": decided.reason, "labels_needed": decided.labels_needed,
            },
        )
    )  # fmt: skip
    return [kappa, _people(people, items, names, level)], decided


def _people(people: Ratings, items: Sequence[str], names: Sequence[str], level: float) -> Measure:
    id, title = "calibration.people_alpha", "People among themselves (Krippendorff's alpha of their ratings)"
    rows = [list(people[item].values()) for item in items]
    if not any(sum(rating is not None for rating in row) > 1 for row in rows):
        return unmeasured(id, title, "no item has ratings of two people")
    found = stats.krippendorff_alpha(rows, metric="interval", groups=names, level=level)
    return Measure(
        Finding(id, title, found.estimate, found.interval, found.n, found.groups, None, found.method, found.reason)
    )
