"""Biases put by rule into the wrong answers of pairs that the judge had right: which of them turn its verdict into the
error that people see elsewhere?

Pairs are chosen because the judge was right, so that a second look alone finds errors; the placebo of a bias, a
meaningless edit of the same size, is on the same pairs and takes that out of the difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from recuse.effects.scores import ORIGINAL, Scores
from recuse.explain.shares import mean_finding
from recuse.known import measure_known
from recuse.lab.bench import Bench, Lab
from recuse.library import Bias
from recuse.perturb.arms import Arm
from recuse.types import Finding, Pair


@dataclass(frozen=True)
class Injected:
    """`confirmed` by id: the effect of a bias that passed every test."""

    findings: tuple[Finding, ...]
    confirmed: Mapping[str, Finding]
    notes: tuple[str, ...]
    pairs: int


def inject(lab: Lab, pairs: Sequence[Pair], biases: Sequence[Bias], *, shams: int, seed: int, level: float) -> Injected:
    """Put every bias into the rejected answers by its edit, have them judged, and test the effects as an audit does.

    `pairs` are oriented: their chosen answer is the one that people prefer and the judge preferred.
    """
    known = measure_known(
        lab, Bench("right", tuple(pairs)), biases, teacher=False, shams=shams, seed=seed, fdr=0.05, level=level
    )
    found = {m.finding.id: m.finding for m in known.measures}
    scores = known.bench.scores()
    turned = [
        _turned(bias, scores, known.bench.reference(Arm(f"bias:{bias.id}", "bias", bias=bias.id)), level)
        for bias in biases
        if f"bias:{bias.id}" in known.bench.rewrites
    ]
    kept = [replace(f, id=f"explain.{f.id}") for id, f in found.items() if not id.endswith(".score_shift")]
    confirmed = {
        bias.id: found[f"bias.{bias.id}.effect"]
        for bias in biases
        if found.get(f"bias.{bias.id}.effect", _NOTHING).details.get("status") == "accepted"
    }
    return Injected((*turned, *kept), confirmed, known.notes, len(pairs))


_NOTHING = Finding("", "", None)


def _turned(bias: Bias, scores: Scores, against: str, level: float) -> Finding:
    """Pairs that are wrong in every order with the bias, as a share, minus those with its placebo."""
    id, title = f"explain.turned.{bias.id}", f"{bias.name}: verdicts turned into the error, minus the placebo's"
    arm, placebo, original = (scores.at(name) for name in (f"bias:{bias.id}", against, ORIGINAL))
    usable = scores.passed[arm] & scores.passed[placebo] & scores.answered(arm) & scores.answered(placebo)
    usable &= scores.answered(original) & (scores.error[original] == 0).all(axis=1)
    if not usable.any():
        return Finding(id, title, None, reason="no pair has a verdict with the bias, its placebo and neither")
    with_bias, with_placebo = ((scores.error[a] == 1).all(axis=1)[usable].astype(float) for a in (arm, placebo))
    groups = [str(code) for code in scores.group[usable]]
    finding = mean_finding(id, title, with_bias - with_placebo, groups, level=level)
    share = {"share": float(with_bias.mean()), "placebo": float(with_placebo.mean())}
    return replace(finding, details={**share, "turned": int(with_bias.sum())})
