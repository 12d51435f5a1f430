"""From effects to findings, severities, examples and sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from recuse.discovery.merge import Candidate
from recuse.discovery.mine import Explained
from recuse.discovery.validate import Tested, Validated
from recuse.effects.accept import Decision
from recuse.effects.contrast import Effect
from recuse.effects.shams import spread_finding
from recuse.lab.bench import Bench
from recuse.perturb.arms import ORIGINAL
from recuse.perturb.shams import matched
from recuse.perturb.teacher import tally
from recuse.prompts import transcript
from recuse.report.discovered import Worked
from recuse.types import Finding, Judgement

SEVERITIES = ((0.20, "high"), (0.10, "medium"), (0.05, "low"))
EXAMPLES = 3


def severity(effect: float | None) -> str | None:
    """high from 20 points on, medium from 10, low from 5; "under 5 points" below; None where nothing was measured."""
    if effect is None:
        return None
    return next((name for least, name in SEVERITIES if effect >= least), "under 5 points")


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


def candidate_findings(
    candidate: Candidate, screened: Effect | None, decision: Decision | None, tested: Tested, stopped: bool
) -> tuple[Finding, ...]:
    """The findings of one candidate, those of the test part first."""
    id, name = candidate.bias.id, candidate.bias.name
    against = f"{name}: effect against the placebo"
    found = []
    if id in tested.effects:
        original = tested.against_original[id]
        found.append(effect_finding(f"bias.{id}.effect", f"{against}, test part", tested.effects[id]))
        found.append(
            effect_finding(f"bias.{id}.vs_original", f"{name}: against the untouched answers, test part", original)
        )
    if decision is not None:
        numbers = {
            "p_flip": decision.p_flip, "p_sham": decision.p_sham, "p_larger": decision.p, "q": decision.q,
            "q_benjamini_yekutieli": decision.q_by, "status": decision.status, "stopped_early": stopped,
        }  # fmt: skip
        found.append(effect_finding(f"bias.{id}.validation", f"{against}, validation part", decision.effect, **numbers))
    if screened is not None:
        found.append(effect_finding(f"bias.{id}.screen", f"{against}, discovery part", screened))
    return tuple(found)


def run_findings(validated: Validated | None, benches: Sequence[Bench]) -> tuple[Finding, ...]:
    """What concerns the run as a whole: the shams, the second placebo, and how the teacher kept truth and length."""
    found = []
    if validated is not None:
        found.append(spread_finding(validated.spread))
        found.append(
            effect_finding("placebo.second", "A second neutral paraphrase against the first", validated.second_placebo)
        )
        found.append(validated.noise)
    found += [_rate("truth.broken", "Rewrites with another final answer, or the right one", benches),
              _rate("length.kept", "Rewrites within the length rule", benches)]  # fmt: skip
    return tuple(found)


def _rate(id: str, title: str, benches: Sequence[Bench]) -> Finding:
    """A share of rewrites, by pair as the unit; by arm in the details."""
    from recuse import stats

    values: list[float] = []
    units: list[str] = []
    by_arm: dict[str, list[float]] = {}
    for bench in benches:
        for arm, made in bench.rewrites.items():
            for pair, rewrite in made.items():
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


def _value(id: str, rewrite: Any) -> float | None:
    """1 or 0 for one rewrite; None where it says nothing about this rate."""
    if id == "length.kept":
        return None if {"refused", "empty", "error"} & set(rewrite.faults) else float("length" not in rewrite.faults)
    counted = tally([rewrite])
    return float(counted.broken) if counted.compared else None


def texts_matched(bench: Bench) -> dict[str, dict[str, float | int | None]]:
    """By arm: usable rewrites, length after over before, and distance from the original."""
    found = matched(bench.pairs, bench.rewrites)
    return {arm: {"n": m.n, "length": m.length, "distance": m.distance} for arm, m in sorted(found.items())}


def examples(bench: Bench, candidate: Candidate, words: Mapping[str, Explained]) -> tuple[Worked, ...]:
    """Up to three robust flips of a bias, in the order of the pairs."""
    arm = f"bias:{candidate.bias.id}"
    before, after = (_said(bench.judged.get(name, ())) for name in (ORIGINAL.id, arm))
    texts = bench.texts(arm)
    found = []
    for pair in bench.pairs:
        if set(before.get(pair.id, {}).values()) == {"chosen"} and set(after.get(pair.id, {}).values()) == {"rejected"}:
            told = words.get(f"{arm}:{pair.id}")
            found.append(
                Worked(pair.id, pair.domain, transcript(pair.prompt), pair.chosen, pair.rejected, texts[pair.id],
                       before[pair.id], after[pair.id], told.words if told else None)
            )  # fmt: skip
        if len(found) == EXAMPLES:
            break
    return tuple(found)


def _said(judged: Sequence[Judgement]) -> dict[str, dict[str, str]]:
    """By pair and order: what the judge preferred, at its first repeat."""
    said: dict[str, dict[str, str]] = {}
    for j in judged:
        if j.repeat == 0:
            said.setdefault(j.pair, {})[j.order] = j.prefers or f"none ({j.reason})"
    return said
