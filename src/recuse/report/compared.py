"""Two finished runs side by side: findings matched by their ids, and paired where both judged the same pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from recuse import stats
from recuse.errors import InputError, UsageError
from recuse.report.case import UNTOUCHED
from recuse.report.discovered import DiscoverResult
from recuse.report.explained import ExplainReport
from recuse.report.hardened import HardenReport
from recuse.report.probed import ProbeResult
from recuse.report.read import Result, read_result
from recuse.report.result import AuditResult
from recuse.types import Finding

_ERROR = {"chosen": 0.0, "rejected": 1.0, "tie": 0.5}
_FIRST = {("AB", "chosen"): 1.0, ("AB", "rejected"): 0.0, ("BA", "chosen"): 0.0, ("BA", "rejected"): 1.0}
_BOUNDS = (-1.0, 1.0)

Rows = Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]]  # arm -> pair -> judgements
ByPair = dict[str, float]


@dataclass(frozen=True)
class Row:
    """One finding in both runs; None where a run has none of that id. `change` is the second minus the first on pairs
    that both judged, and None where the two cannot be paired."""

    id: str
    title: str
    first: Finding | None
    second: Finding | None
    change: Finding | None


@dataclass(frozen=True)
class Compared:
    first: Result
    second: Result
    rows: tuple[Row, ...]
    shared: int  # pairs that both judged
    differs: tuple[tuple[str, Any, Any], ...]  # settings that are not the same: key, first, second
    notes: tuple[str, ...]


_KINDS: Mapping[type, str] = {
    AuditResult: "an audit",
    DiscoverResult: "a discovery",
    ProbeResult: "a probe",
    HardenReport: "a comparison of judges",
    ExplainReport: "an explanation",
}


def compare(first: Path, second: Path) -> Compared:
    """Raises UsageError for runs of two kinds, and as `read_result` does."""
    results = [read_result(folder) for folder in (first, second)]
    if type(results[0]) is not type(results[1]):
        kinds = [_kind(result) for result in results]
        raise UsageError(f"{first} holds {kinds[0]} and {second} {kinds[1]}.", hint="Compare two runs of one kind.")
    found = [{f.id: f for f in _findings(result)} for result in results]
    judged = [_judged(folder) for folder in (first, second)]
    ids = list(dict.fromkeys([*found[0], *found[1]]))
    level = min(results[0].level, results[1].level)
    rows = [_row(id, found[0].get(id), found[1].get(id), judged[0], judged[1], level=level) for id in ids]
    shared = len(set(judged[0].get(UNTOUCHED, {})) & set(judged[1].get(UNTOUCHED, {})))
    return Compared(
        results[0], results[1], tuple(rows), shared, tuple(_differing(results[0].config, results[1].config)),
        tuple(_notes(results, rows, shared)),
    )  # fmt: skip


def _kind(result: Result) -> str:
    return _KINDS[type(result)]


def _findings(result: Result) -> Sequence[Finding]:
    if isinstance(result, DiscoverResult):
        return [*(f for candidate in result.candidates for f in candidate.findings), *result.findings]
    return result.findings


def _judged(folder: Path) -> Rows:
    """Judgements by arm and pair; nothing of a run that keeps none."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / "judgements.parquet"
    if not path.is_file():
        return {}
    found: dict[str, dict[str, list[Mapping[str, Any]]]] = {}
    try:
        columns = ["pair", "group", "domain", "arm", "order", "prefers", "gold"]
        for row in pq.read_table(path, columns=columns).to_pylist():
            found.setdefault(row["arm"], {}).setdefault(row["pair"], []).append(row)
    except (OSError, pa.ArrowException) as error:
        said = str(error).splitlines()[0]
        raise InputError(f"the verdicts cannot be read ({said})", path=path, hint="Give another run.") from None
    return found


def _row(
    id: str, first: Finding | None, second: Finding | None, one: Rows, two: Rows, *, level: float
) -> Row:  # fmt: skip
    shown = first or second
    assert shown is not None
    change = None
    if first is not None and second is not None and None not in (first.estimate, second.estimate):
        values = _values(first, one), _values(second, two)
        if values[0] is not None and values[1] is not None:
            change = _change(id, values[0], values[1], one, level=level)
    return Row(id, shown.title, first, second, change)


def _values(finding: Finding, rows: Rows) -> ByPair | None:
    """What each pair adds to a finding; None for a finding that is no mean over pairs that this page knows."""
    id, _, part = finding.id.partition(":")
    untouched = rows.get(UNTOUCHED, {})
    if id == "accuracy.error_rate":
        return _means(untouched, _error, orders=(part,) if part else None)
    if id == "domain.error_rate":
        return _means({p: js for p, js in untouched.items() if js[0]["domain"] == part}, _error)
    if id == "position.first_rate":
        return _means(untouched, _first)
    if id == "failures.rate":
        return {pair: sum(j["prefers"] is None for j in js) / len(js) for pair, js in untouched.items()}
    if id.startswith("bias.") and id.endswith((".effect", ".vs_original")):
        arm, against = (_means(rows.get(str(finding.details.get(name)), {}), _error) for name in ("arm", "against"))
        return {pair: arm[pair] - against[pair] for pair in arm.keys() & against.keys()}
    return None


def _error(judgement: Mapping[str, Any]) -> float | None:
    return _ERROR.get(judgement["prefers"]) if judgement["gold"] is not False else None


def _first(judgement: Mapping[str, Any]) -> float | None:
    if judgement["prefers"] == "tie" and judgement["order"] != "-":
        return 0.5
    return _FIRST.get((judgement["order"], judgement["prefers"]))


def _means(
    judged: Mapping[str, Sequence[Mapping[str, Any]]],
    value: Callable[[Mapping[str, Any]], float | None],
    *,
    orders: tuple[str, ...] | None = None,
) -> ByPair:
    """By pair: the mean over its repeats in each order, then over its orders. Pairs without a value in one of them are
    left out; `orders` None: both, or the one of a judge that sees each answer alone."""
    found: ByPair = {}
    for pair, js in judged.items():
        means = []
        for order in orders or (("-",) if js[0]["order"] == "-" else ("AB", "BA")):
            known = [v for j in js if j["order"] == order and (v := value(j)) is not None]
            means.append(sum(known) / len(known) if known else None)
        if None not in means:
            found[pair] = sum(m for m in means if m is not None) / len(means)
    return found


def _change(id: str, first: ByPair, second: ByPair, rows: Rows, *, level: float) -> Finding | None:
    pairs = sorted(first.keys() & second.keys())
    if not pairs:
        return None
    gaps = np.array([second[pair] - first[pair] for pair in pairs])
    groups = [rows[UNTOUCHED][pair][0]["group"] for pair in pairs]
    found = stats.clustered_mean(gaps, groups=groups, bounds=_BOUNDS, level=level)
    codes = np.unique(np.array(groups), return_inverse=True)[1].reshape(-1)
    test = stats.sign_flip_test(np.bincount(codes, weights=gaps))
    return Finding(
        f"compare.{id}", "Second minus first", found.estimate, found.interval, found.n, found.groups, test.pvalue,
        f"{found.method}; p: {test.method}", found.reason,
    )  # fmt: skip


def _differing(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Settings of the runs that are not the same; what a run wrote down of itself is left out."""
    one, two = (dict(_flat(config.get("run", config))) for config in (first, second))
    for key in dict.fromkeys([*one, *two]):
        if one.get(key) != two.get(key):
            yield key, one.get(key), two.get(key)


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _notes(results: Sequence[Result], rows: Sequence[Row], shared: int) -> Iterator[str]:
    if any(row.change for row in rows):
        yield (
            f"Differences are paired, on what both runs judged of {shared:,} shared pairs; intervals and p are not "
            "corrected for how many there are."
        )
    elif not isinstance(results[0], AuditResult):
        yield "The two stand side by side: runs of this kind keep no verdicts by pair that could be paired."
    else:
        yield "The two stand side by side: no pair was judged in both."
    if results[0].level != results[1].level:
        yield f"The runs have intervals of two levels, {results[0].level:g} and {results[1].level:g}."
