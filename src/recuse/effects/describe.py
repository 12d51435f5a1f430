"""Effects and rewrites as findings, with all that stands beside a number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from recuse import stats
from recuse.effects.contrast import Effect
from recuse.perturb.arms import Rewrite
from recuse.perturb.teacher import tally
from recuse.types import Finding

Made = Mapping[str, Mapping[str, Rewrite]]  # by arm and pair


def effect_finding(id: str, title: str, effect: Effect, **details: Any) -> Finding:
    """One effect as a finding, with all that stands beside it in `details`."""
    orders = {
        o.order: {"estimate": o.estimate, "interval": o.interval, "base_error": o.base_error,
                  "informative": o.informative, "p_opposite": o.p_opposite}
        for o in effect.by_order
    }  # fmt: skip
    shown: dict[str, Any] = {
        "arm": effect.arm, "against": effect.against, "error": effect.error, "base_error": effect.base_error,
        "orders": orders, "robust_flips": len(effect.flips), "p_any_distribution": effect.p_bound,
    }  # fmt: skip
    if effect.excluded is not None:
        x = effect.excluded
        shown["excluded"] = {"pairs": x.n, "rate": x.rate, "error_excluded": x.error, "error_kept": x.error_kept}
    for name, estimate in (("interaction", effect.interaction), ("logit", effect.logit), ("itt", effect.itt),
                           ("failure_gap", effect.failures)):  # fmt: skip
        if estimate is not None:
            shown[name] = {"estimate": estimate.estimate, "interval": estimate.interval, "p": estimate.pvalue}
    if effect.score_shift is not None:
        shift = effect.score_shift.shift
        shown["score_shift"] = {"estimate": shift.estimate, "interval": shift.interval}
    if effect.p_completed is not None:
        shown["p_completed"] = effect.p_completed
    uninformative = [o.order for o in effect.by_order if not o.informative]
    if effect.ceiling:
        shown["uninformative"] = "the placebo arm errs so often that an effect has little room"
    elif uninformative:
        shown["uninformative"] = f"under 5 % room in order {' and '.join(uninformative)}"
    if effect.faults:
        shown["faults"] = dict(effect.faults)
    return Finding(
        id, title, effect.estimate, effect.interval, effect.n, effect.groups, effect.p, effect.method, effect.reason,
        effect.bounds, details={**shown, **details},
    )  # fmt: skip


def shift_findings(id: str, title: str, effect: Effect) -> tuple[Finding, ...]:
    """The score shift of an effect as a finding; none where the judge gives no scores. It decides nothing: no p."""
    found = effect.score_shift
    if found is None:
        return ()
    details: dict[str, Any] = {
        "arm": effect.arm, "against": effect.against, "scale": found.scale, "score": found.score,
        "base_score": found.base_score, "chosen_score": found.chosen_score,
        "missing": {effect.arm: found.missing[0], effect.against: found.missing[1]},
    }  # fmt: skip
    shift = found.shift
    if shift.estimate is not None and shift.interval is None:
        details["uninformative"] = f"no interval: {shift.reason}"
    on = f"scale of {found.scale[0]:g} to {found.scale[1]:g}" if found.scale else "the judge's own scale"
    return (
        Finding(
            id, f"{title} ({on})", shift.estimate, shift.interval, shift.n, shift.groups, method=shift.method,
            reason=shift.reason if shift.estimate is None else None, bounds=found.bounds, details=details,
        ),
    )  # fmt: skip


def rewriting_findings(made: Sequence[Made]) -> tuple[Finding, Finding]:
    """How often a teacher kept the truth and the length."""
    return (
        _rate("truth.broken", "Rewrites with another final answer, or the right one", made),
        _rate("length.kept", "Rewrites within the length rule", made),
    )


def _rate(id: str, title: str, made: Sequence[Made]) -> Finding:
    """A share of rewrites, by pair as the unit; by arm in the details."""
    values: list[float] = []
    units: list[str] = []
    by_arm: dict[str, list[float]] = {}
    for part in made:
        for arm, rewrites in part.items():
            for pair, rewrite in rewrites.items():
                value = _value(id, rewrite)
                if value is not None:
                    values.append(value)
                    units.append(pair)
                    by_arm.setdefault(arm, []).append(value)
    if not values:
        return Finding(id, title, None, reason="no rewrite could be compared")
    found = stats.clustered_mean(values, groups=units)
    rates = {arm: sum(v) / len(v) for arm, v in sorted(by_arm.items())}
    return Finding(
        id, title, found.estimate, found.interval, found.n, found.groups, method=found.method,
        details={"unit": "rewrites", "by_arm": rates},
    )  # fmt: skip


def _value(id: str, rewrite: Rewrite) -> float | None:
    """1 or 0 for one rewrite; None where it says nothing about this rate."""
    if id == "length.kept":
        return None if {"refused", "empty", "error"} & set(rewrite.faults) else float("length" not in rewrite.faults)
    counted = tally([rewrite])
    return float(counted.broken) if counted.compared else None
