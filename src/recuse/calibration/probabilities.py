"""Does the judge's probability mean what it says? Against what most people prefer."""

from __future__ import annotations

import math
from dataclasses import asdict

from recuse import stats
from recuse.audits.measure import Measure, unmeasured
from recuse.calibration.table import Beside
from recuse.types import Finding

_OUTCOMES = {"A": 1.0, "tie": 0.5, "B": 0.0}


def calibration_error(table: Beside, *, level: float, bins: int = 10, seed: int = 0) -> Measure:
    """Expected calibration error of P(the answer shown first is better), with the reliability curve in its details.

    A tie among people is half an outcome. Log odds that rest on a bound (a label that the provider did not list) are
    counted in `bounded`.
    """
    id, title = "calibration.ece", "Calibration error of the judge's probabilities, against people"
    rows = [i for i, j in enumerate(table.judgements) if j.logit is not None]
    if not rows:
        return unmeasured(id, title, "no log-probabilities on labelled pairs")
    stated = [_first(table.judgements[i].logit or 0.0, table.at[i] == "A") for i in rows]
    outcomes = [_OUTCOMES[str(table.told[i])] for i in rows]
    groups = [table.groups[i] for i in rows]
    found = stats.expected_calibration_error(stated, outcomes, groups=groups, bins=bins, level=level, seed=seed)
    curve = stats.reliability_curve(stated, outcomes, bins=bins)
    finding = Finding(
        id, title, found.estimate, found.interval, found.n, found.groups, found.pvalue, found.method, found.reason,
        details={
            "curve": [asdict(b) for b in curve],
            "bounded": sum(table.judgements[i].bounded for i in rows),
            "without_logits": len(table) - len(rows),
        },
    )  # fmt: skip
    return Measure(finding)


def _first(logit: float, chosen_first: bool) -> float:
    """P(the first answer) from the log odds of the chosen one, without overflow."""
    value = logit if chosen_first else -logit
    return 1 / (1 + math.exp(-value)) if value >= 0 else math.exp(value) / (1 + math.exp(value))
