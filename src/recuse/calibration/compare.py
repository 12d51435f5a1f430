"""Two runs of a judge on the same labelled pairs: has agreement moved, and is it still the same instrument?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from recuse import stats
from recuse.calibration.agree import kappa_measure
from recuse.calibration.labels import Labels
from recuse.calibration.runs import Run
from recuse.calibration.table import Beside
from recuse.errors import UsageError
from recuse.types import Finding, Judgement

Outcome = Literal["pass", "warn", "fail"]
Key = tuple[str, str, int]  # pair, order, repeat


@dataclass(frozen=True, slots=True)
class Changed:
    """A verdict that is another one now. None: there was none."""

    pair: str
    order: str
    repeat: int
    before: str | None
    after: str | None
    people: str | None  # what most people prefer


@dataclass(frozen=True)
class Compared:
    outcome: Outcome  # fail: agreement fell; warn: it may have, or the judge is another instrument or version
    headline: str
    findings: tuple[Finding, ...]
    changed: tuple[Changed, ...]
    notes: tuple[str, ...]


def by_key(run: Run) -> dict[Key, Judgement]:
    return {(j.pair, j.order, j.repeat): j for j in run.judgements}


def shared_keys(runs: Sequence[Run]) -> list[Key]:
    """Verdicts that all runs were asked for, in the order of the first. Raises UsageError where there is none."""
    keys = [by_key(run) for run in runs]
    shared = [key for key in keys[0] if all(key in other for other in keys[1:])]
    if not shared:
        raise UsageError("The runs have no pair in common.", hint="Compare runs on the same pairs.")
    return shared


def compare_runs(
    old: Run, new: Run, labels: Labels, *, tolerance: float = 0.05, level: float = 0.95, notes: Sequence[str] = ()
) -> Compared:
    """Everything is paired: on verdicts of the same pair, order and repeat in both runs.

    Agreement that fell even under the best completion of the missing verdicts fails; one that may have fallen by more
    than `tolerance` warns, as do another instrument and another version. Raises UsageError where nothing is shared.
    """
    keys = shared_keys([old, new])
    before, after = ([by_key(run)[key] for key in keys] for run in (old, new))
    tables = [Beside.of(rows, labels, domains=old.domains) for rows in (before, after)]
    if not len(tables[0]):
        raise UsageError("No pair that both runs judged has a label.", hint="Give labels of these pairs with --human.")
    moved = _agreement_change(*tables, whose=labels.whose, level=level)
    change = stats.kappa_change(
        tables[0].judged, tables[1].judged, tables[0].told, groups=tables[0].groups, labels=_menu(tables), level=level
    )
    kappas = [
        kappa_measure(table, f"compare.kappa:{name}", f"Kappa with {labels.whose}, {name} run", level=level).finding
        for table, name in zip(tables, ("old", "new"), strict=True)
    ]
    kappa_moved = Finding(
        "compare.kappa_change", f"Kappa with {labels.whose}, new minus old", change.estimate, change.interval, change.n,
        change.groups, None, change.method, change.reason,
    )  # fmt: skip
    rate = _changed_rate(before, after, level=level)
    between = _between(before, after, level=level)
    differing = [
        Changed(*key, a.prefers, b.prefers, labels.majority(key[0]))
        for key, a, b in zip(keys, before, after, strict=True)
        if a.prefers != b.prefers
    ]
    another, instrument = _instrument(old, new, rate, len(differing), len(keys))
    version, told = _versions(old, new)
    outcome, headline = _outcome(moved, tolerance, another or version, whose=labels.whose)
    lines = [*notes, *_left_out(old, new, len(keys)), instrument, *told, *_settings(old, new)]
    return Compared(outcome, headline, (moved, *kappas, kappa_moved, between, rate), tuple(differing), tuple(lines))


def _menu(tables: Sequence[Beside]) -> list[str]:
    return max((table.menu for table in tables), key=len)


def _agreement_change(old: Beside, new: Beside, *, whose: str, level: float) -> Finding:
    """Share of verdicts that are what people say, new minus old, by pair; bounds over all completions."""
    codes = {pair: i for i, pair in enumerate(old.pairs)}
    pair = np.array([codes[j.pair] for j in old.judgements])
    hits = [np.array([a == b for a, b in zip(t.judged, t.told, strict=True)], dtype=float) for t in (old, new)]
    gone = [np.array([a is None for a in t.judged]) for t in (old, new)]
    groups = dict(zip((j.pair for j in old.judgements), old.groups, strict=True))
    both = ~(gone[0] | gone[1])

    def mean(gaps: np.ndarray, rows: np.ndarray) -> tuple[stats.Estimate, np.ndarray, list[str]]:
        count = np.bincount(pair[rows], minlength=len(codes))
        kept = count > 0
        values = np.bincount(pair[rows], weights=gaps[rows], minlength=len(codes))[kept] / count[kept]
        names = [groups[name] for name, has in zip(old.pairs, kept, strict=True) if has]
        return stats.clustered_mean(values, groups=names, bounds=(-1.0, 1.0), level=level), values, names

    found, values, names = mean(hits[1] - hits[0], both)
    every = np.ones(len(pair), dtype=bool)
    low, *_ = mean(np.where(gone[1], 0.0, hits[1]) - np.where(gone[0], 1.0, hits[0]), every)
    high, *_ = mean(np.where(gone[1], 1.0, hits[1]) - np.where(gone[0], 0.0, hits[0]), every)
    codes_of = np.unique(np.array(names), return_inverse=True)[1].reshape(-1)
    pvalue = stats.sign_flip_test(np.bincount(codes_of, weights=values)).pvalue if names else None
    known = [e.interval for e in (found, low, high) if e.interval is not None]
    return Finding(
        "compare.agreement_change", f"Agreement with {whose}, new minus old", found.estimate, found.interval,
        found.n, found.groups, pvalue, f"{found.method}; p: sign flips of groups",
        found.reason, bounds=(min(i[0] for i in known), max(i[1] for i in known)) if known else None,
        details={"missing": [int(g.sum()) for g in gone], "best_completion": list(high.interval or ())},
    )  # fmt: skip


def _changed_rate(before: Sequence[Judgement], after: Sequence[Judgement], *, level: float) -> Finding:
    """Share of verdicts that are others now; a verdict that came or went is a change."""
    values = [float(a.prefers != b.prefers) for a, b in zip(before, after, strict=True)]
    found = stats.clustered_mean(values, groups=[j.group for j in before], level=level)
    return Finding(
        "compare.changed_rate", "Verdicts that are others now", found.estimate, found.interval, found.n, found.groups,
        None, found.method,
    )  # fmt: skip


def _between(before: Sequence[Judgement], after: Sequence[Judgement], *, level: float) -> Finding:
    turned = {"chosen": "rejected", "rejected": "chosen"}
    sides = [
        [turned.get(str(j.prefers), j.prefers) if j.order == "BA" else j.prefers for j in rows]
        for rows in (before, after)
    ]
    found = stats.cohen_kappa(*sides, groups=[j.group for j in before], level=level)
    return Finding(
        "compare.kappa_between", "Kappa of the two runs with each other", found.estimate, found.interval, found.n,
        found.groups, None, found.method, found.reason,
    )  # fmt: skip


def _instrument(old: Run, new: Run, rate: Finding, changed: int, n: int) -> tuple[bool, str]:
    """Whether more verdicts changed than the judge changes from call to call, and a sentence."""
    said = f"{changed:,} of {n:,} verdicts changed"
    flips = [run.findings.get("stability.flip_rate", {}) for run in (old, new)]
    if not changed:
        return False, f"{said}: the judge answers as before."
    if all(flip.get("interval") for flip in flips):
        noise = max(flip["interval"][1] for flip in flips)
        least = rate.interval[0] if rate.interval else 0.0
        if least > noise:
            return True, f"{said}, more than from call to call (at most {noise:.3f}): the judge is another instrument."
        return False, f"{said}, which its own changes from call to call (up to {noise:.3f}) can explain."
    if all("deterministic" in str(flip.get("reason")) for flip in flips):
        return True, f"{said} though both runs decode greedily: the judge, or the engine, is another instrument."
    return (
        False,
        f"{said}; whether the judge is another instrument cannot be told: neither was asked twice (--repeats).",
    )


def _versions(old: Run, new: Run) -> tuple[bool, list[str]]:
    if old.models == new.models:
        unknown = not old.models and old.judge == new.judge
        return False, ["The provider reported no version in either run."] if unknown else []
    one, two = (", ".join(run.models) or "none" for run in (old, new))
    same = " under the same name" if old.judge == new.judge else ""
    return True, [f"The provider reported the version {one} before and {two} now{same}: another judge until shown not."]


def _settings(old: Run, new: Run) -> list[str]:
    names = sorted(set(old.settings) | set(new.settings))
    differ = [n for n in names if old.settings.get(n) != new.settings.get(n)]
    if not differ:
        return []
    told = ", ".join(f"{n} ({old.settings.get(n, 'none')} before, {new.settings.get(n, 'none')} now)" for n in differ)
    return [f"Settings that differ: {told}."]


def _left_out(old: Run, new: Run, shared: int) -> list[str]:
    only = [len(by_key(run)) - shared for run in (old, new)]
    if not any(only):
        return []
    return [f"{only[0]:,} verdicts are in the old run only and {only[1]:,} in the new one only: they are not compared."]


def _outcome(moved: Finding, tolerance: float, another: bool, *, whose: str) -> tuple[Outcome, str]:
    if moved.estimate is None or moved.interval is None or moved.bounds is None:
        return "warn", f"WARN: the change of agreement was not measured ({moved.reason})."
    said = f"agreement with {whose} {moved.estimate:+.3f} [{moved.interval[0]:+.3f}, {moved.interval[1]:+.3f}]"
    best = moved.details["best_completion"]
    if best and best[1] < 0 and moved.interval[1] < 0:
        return "fail", f"FAIL: {said}: it fell."
    if moved.bounds[0] < -tolerance:
        return "warn", f"WARN: {said}: a fall of more than {tolerance:g} cannot be excluded."
    if another:
        return "warn", f"WARN: {said}: it held, yet the judge is another one (see the notes)."
    return "pass", f"PASS: {said}: it did not fall by more than {tolerance:g}."
