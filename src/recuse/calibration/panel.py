"""Several judges on the same pairs: how they agree, what their majority is worth, and what a panel cannot show.

The weights are the log odds of each judge's measured accuracy (Nitzan & Paroush 1982, Int Econ Rev 23:289; best where
judges err independently), 0 for a judge that is right in half of its verdicts or fewer. Each fifth of the groups is
judged with weights measured on the other four, so that no label is used to weigh a verdict that it then grades.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from recuse import stats
from recuse.audits.table import Bools
from recuse.calibration.agree import agreement, kappa_measure
from recuse.calibration.compare import Key, by_key, shared_keys
from recuse.calibration.labels import Labels
from recuse.calibration.runs import Run
from recuse.calibration.table import Beside, placed
from recuse.errors import UsageError
from recuse.types import Finding, Judgement, Preference

_FOLDS = 5
CAUTION = (
    "A panel hides no bias that all its judges share: they agree on it, and a majority keeps it. So each judge is held "
    "against {against} here, and its biases need gold or counterfactuals; agreement among judges is no evidence."
)


@dataclass(frozen=True)
class PanelFound:
    judges: tuple[str, ...]
    findings: tuple[Finding, ...]
    weights: Mapping[str, float]  # from all labels
    notes: tuple[str, ...]


def panel(runs: Sequence[Run], labels: Labels, *, level: float = 0.95, notes: Sequence[str] = ()) -> PanelFound:
    """The judges one by one, their majority and their weighted vote, on verdicts that all were asked for.

    Raises UsageError for fewer than two runs, a run given twice, runs that share no pair, and labels of none of these
    pairs.
    """
    if len(runs) < 2:
        raise UsageError("A panel needs two runs or more.", hint="Give the folders of several judges' audits.")
    counted = Counter((run.judge, run.folder.resolve()) for run in runs)
    if twice := [folder for (_, folder), count in counted.items() if count > 1]:
        raise UsageError(f"The run {twice[0].name} is given twice.", hint="A judge has one voice: give each run once.")
    keys = shared_keys(runs)
    names = _names(runs)
    rows = {name: [by_key(run)[key] for key in keys] for name, run in zip(names, runs, strict=True)}
    tables = {name: Beside.of(judged, labels, domains=runs[0].domains) for name, judged in rows.items()}
    if not len(tables[names[0]]):
        raise UsageError("No pair that all runs judged has a label.", hint="Give labels of these pairs with --human.")
    weights = _weights({name: _hits(table) for name, table in tables.items()})
    voted = {
        "majority": [_vote(at, dict.fromkeys(names, 1.0)) for at in _by_row(rows)],
        "weighted": _cross_fitted(rows, tables),
    }
    findings = [_among(rows, keys, level)]
    for name, table in tables.items():
        findings += _against(name, name, table, labels, level)
    for kind, decided in voted.items():
        table = Beside.of(decided, labels, domains=runs[0].domains)
        findings += _against(kind, f"the {kind} vote", table, labels, level)
    findings.append(_all_wrong(tables, level))
    against = "the better answer that the pairs came with" if labels.source == "gold" else "people"
    return PanelFound(names, tuple(findings), weights, (*notes, CAUTION.format(against=against)))


def _names(runs: Sequence[Run]) -> tuple[str, ...]:
    """Judges by name; where two runs are of one judge by name and folder, with its whole path where folders are called
    alike."""
    judges = Counter(run.judge for run in runs)
    folders = Counter((run.judge, run.folder.name) for run in runs)
    return tuple(
        run.judge
        if judges[run.judge] == 1
        else f"{run.judge} ({run.folder.name if folders[run.judge, run.folder.name] == 1 else run.folder})"
        for run in runs
    )


def _by_row(rows: Mapping[str, Sequence[Judgement]]) -> list[dict[str, Judgement]]:
    return [dict(zip(rows, judged, strict=True)) for judged in zip(*rows.values(), strict=True)]


def _vote(at: Mapping[str, Judgement], weights: Mapping[str, float]) -> Judgement:
    """Where the weight lies. A tie where both sides weigh the same or most say so, and none where nobody answered.

    Where no judge that answered has any weight, all weigh the same.
    """
    answered = {name: j.prefers for name, j in at.items() if j.prefers is not None}
    blank = not any(weights[name] for name in answered)
    sums: dict[Preference, float] = {"chosen": 0.0, "rejected": 0.0, "tie": 0.0}
    for name, said in answered.items():
        sums[said] += 1.0 if blank else weights[name]
    first = next(iter(at.values()))
    base = replace(first, reason=None, logit=None, outside=None)
    if not answered:
        return replace(base, prefers=None, reason="missing")
    best = max(sums.values())
    leading = [side for side, weight in sums.items() if weight >= best - 1e-12]
    return replace(base, prefers=leading[0] if len(leading) == 1 else "tie")


def _hits(table: Beside) -> tuple[float, int]:
    """Verdicts that are what people say, a tie of either half of one, and verdicts at all."""
    points = [
        1.0 if a == b else 0.5 if "tie" in (a, b) else 0.0
        for a, b in zip(table.judged, table.told, strict=True)
        if a is not None
    ]
    return sum(points), len(points)


def _weights(hits: Mapping[str, tuple[float, int]]) -> dict[str, float]:
    shares = {name: (right + 1.0) / (n + 2.0) for name, (right, n) in hits.items()}  # Laplace: never 0 or 1
    return {name: max(math.log(share / (1.0 - share)), 0.0) for name, share in shares.items()}


def _fold(group: str) -> int:
    return hashlib.sha256(group.encode()).digest()[0] % _FOLDS


def _cross_fitted(rows: Mapping[str, Sequence[Judgement]], tables: Mapping[str, Beside]) -> list[Judgement]:
    fitted = []
    for fold in range(_FOLDS):
        others = {
            name: table.only([_fold(j.group) != fold for j in table.judgements]) for name, table in tables.items()
        }
        fitted.append(_weights({name: _hits(table) for name, table in others.items()}))
    return [_vote(at, fitted[_fold(next(iter(at.values())).group)]) for at in _by_row(rows)]


def _among(rows: Mapping[str, Sequence[Judgement]], keys: Sequence[Key], level: float) -> Finding:
    """Agreement of the judges with each other, by place as shown; a missing verdict is left out."""
    at = ["B" if order == "BA" else "A" for _, order, _ in keys]
    columns = {
        name: [placed(j.prefers, place) for j, place in zip(judged, at, strict=True)]  # type: ignore[arg-type]
        for name, judged in rows.items()
    }
    groups = [j.group for j in next(iter(rows.values()))]
    found = stats.krippendorff_alpha(list(zip(*columns.values(), strict=True)), groups=groups, level=level)
    pairs = {f"{a} / {b}": stats.cohen_kappa(columns[a], columns[b]).estimate for a, b in combinations(columns, 2)}
    return Finding(
        "panel.alpha", "Judges among themselves (Krippendorff's alpha)", found.estimate, found.interval, found.n,
        found.groups, None, found.method, found.reason, details={"two_by_two": pairs},
    )  # fmt: skip


def _against(id: str, name: str, table: Beside, labels: Labels, level: float) -> list[Finding]:
    kappa = kappa_measure(table, f"panel.kappa:{id}", f"Kappa with {labels.whose}, {name}", level=level).finding
    right = agreement(table, level=level).finding
    said = "the known better answers" if labels.source == "gold" else "what people say"
    return [kappa, replace(right, id=f"panel.agreement:{id}", title=f"Verdicts that are {said}, {name}")]


def _all_wrong(tables: Mapping[str, Beside], level: float) -> Finding:
    """What a majority can never mend, beside what independent errors would make of it."""
    first = next(iter(tables.values()))
    wrong = np.array(
        [[v is not None and v != t for v, t in zip(b.judged, b.told, strict=True)] for b in tables.values()]
    )
    gone = np.array([[v is None for v in b.judged] for b in tables.values()])
    answered: Bools = gone.sum(axis=0) == 0
    title = "Verdicts on which all judges are wrong"
    if not answered.any():
        return Finding("panel.all_wrong", title, None, reason="no verdict that all judges gave")
    groups = [group for group, kept in zip(first.groups, answered.tolist(), strict=True) if kept]
    found = stats.clustered_mean(wrong[:, answered].all(axis=0).astype(float), groups=groups, level=level)
    apart = float(np.prod(wrong[:, answered].mean(axis=1)))
    return Finding(
        "panel.all_wrong", title, found.estimate, found.interval, found.n, found.groups, None, found.method,
        details={"if_independent": apart},
    )  # fmt: skip
