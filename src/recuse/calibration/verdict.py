"""May a judge's numbers be shown? Decided on its kappa with people, by a rule that was fixed before."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from recuse import stats

Decision = Literal["pass", "withheld", "inconclusive"]
_POWER = 0.8


class KappaRule(BaseModel):
    """The table `[calibration]` of gate.toml.

    Passes with a lower limit of at least `lower` and a point of at least `point`; withheld when the upper limit is
    under `withhold`. Passing is decided on the worst completion of the missing verdicts, withholding on the best one.
    """

    model_config = ConfigDict(extra="forbid")
    lower: float = Field(default=0.4, gt=-1.0, lt=1.0)
    point: float = Field(default=0.6, gt=-1.0, lt=1.0)
    withhold: float = Field(default=0.6, gt=-1.0, lt=1.0)

    @model_validator(mode="after")
    def _ordered(self) -> KappaRule:
        if not self.lower <= self.withhold <= self.point:
            raise ValueError("lower may not be above withhold, nor withhold above point")
        return self


@dataclass(frozen=True, slots=True)
class Decided:
    decision: Decision
    reason: str  # one sentence
    labels_needed: int | None = None  # about how many labelled pairs would settle it; None: more labels do not


def decide_kappa(kappa: stats.MissingBounds, rule: KappaRule, *, constant: str | None, pairs: int) -> Decided:
    """Apply `rule`. `constant` names the one label that a judge gave; `pairs` is how many are labelled."""
    if constant is not None:
        return Decided("withheld", f"the judge is constant: every verdict that it gave is {constant}")
    if kappa.estimate is None or kappa.low is None or kappa.high is None:
        undefined = kappa.reason or "no verdict on a labelled pair"
        if kappa.estimate is None or not kappa.missing:
            return Decided("withheld", f"kappa with people is undefined ({undefined})")
        return Decided("inconclusive", f"the missing verdicts leave kappa without bounds ({undefined})")
    said = _said(kappa)
    if kappa.interval is None:
        return Decided("inconclusive", f"{said} has no interval: {kappa.reason}")
    low, high = kappa.interval
    if kappa.low >= rule.point and low >= rule.lower:
        return Decided("pass", f"{said} is at least {rule.point:g} with a lower limit of at least {rule.lower:g}")
    if high < rule.withhold:
        return Decided("withheld", f"{said} lies under {rule.withhold:g} with its whole interval")
    count, why = _labels_needed(kappa, rule, pairs)
    return Decided("inconclusive", f"{said} neither passes nor fails: {why}", count)


def _said(kappa: stats.MissingBounds) -> str:
    assert kappa.estimate is not None
    text = f"kappa with people {kappa.estimate:.3f}"
    if kappa.interval is not None:
        text += f" [{kappa.interval[0]:.3f}, {kappa.interval[1]:.3f}]"
    return f"{text} over {kappa.missing:,} missing verdicts" if kappa.missing else text


def _labels_needed(kappa: stats.MissingBounds, rule: KappaRule, pairs: int) -> tuple[int | None, str]:
    """About how many labelled pairs would settle it with 80 % power if kappa is as measured, and that in words.

    Both completions must fall on one side, since more labels narrow the interval and not the gap between them. Rests
    on the measured interval, and so on the groups and labels that there are; `stats.labels_for_kappa` plans a study
    of two labels before there is any, and simulates for some ten seconds.
    """
    assert kappa.low is not None
    assert kappa.high is not None
    assert kappa.interval is not None
    worst, best, (low, high) = kappa.low, kappa.high, kappa.interval
    z = NormalDist().inv_cdf((1 + kappa.level) / 2)
    spare = NormalDist().inv_cdf(_POWER) / z  # in half widths
    if worst >= rule.point:
        arm = worst - low
        counts = [
            stats.pairs_needed(worst, (worst - (1 + spare) * arm, 1.0), pairs, rule.lower, None),
            stats.pairs_needed(worst, (worst - spare * arm, 1.0), pairs, rule.point, None),
        ]
    elif best < rule.withhold:
        reach = best + (1 + spare) * (high - best)
        counts = [stats.pairs_needed(best, (-1.0, reach), pairs, rule.withhold, None)]
    elif kappa.missing and not rule.withhold <= worst:
        return None, "not decidable with so many verdicts missing, whatever the number of labels"
    else:
        return None, f"it lies between {rule.withhold:g} and {rule.point:g}, where more labels do not help"
    known = [count for count in counts if count is not None]
    if len(known) < len(counts):
        return None, "too near the threshold to be settled by more labels"
    count = max(*known, pairs + 1)
    return count, f"about {count:,} labelled pairs would settle it, if kappa is as measured"
