"""`--online`: accept round by round, each round on pairs of its own, without waiting for the last.

The validation part is cut into one block a round. A round's new candidates are tested on its block, beside shams, and
the stream of all candidates is decided by e-LOND (Xu & Ramdas 2024), which keeps the false discovery rate at any time
and under any dependence. It costs power: a block holds a share of the groups, and later candidates need more evidence.

A candidate's e-value is the smaller of two, each valid against its own null: a bet on the mean gap of the groups being
above 0, and the predictive p beside the shams, calibrated (`effects.stream`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from recuse import stats
from recuse.discovery.config import DiscoverPlan
from recuse.discovery.merge import Candidate
from recuse.discovery.noise import noise_finding
from recuse.discovery.validate import Validated, validate
from recuse.effects.accept import UNCHECKED, Decision
from recuse.effects.contrast import contrast, core, gaps
from recuse.effects.race import plan_stages
from recuse.effects.shams import Shams
from recuse.effects.stream import calibrated
from recuse.lab.bench import Bench, Lab


@dataclass
class Stream:
    """The blocks, the tests so far, and what each candidate came to, in the order in which candidates came."""

    plan: DiscoverPlan
    lab: Lab
    blocks: list[Bench]
    tests: list[Validated] = field(default_factory=list)
    e_values: list[float] = field(default_factory=list)
    decisions: dict[str, Decision] = field(default_factory=dict)

    @classmethod
    def over(cls, plan: DiscoverPlan, lab: Lab) -> Stream:
        """Blocks of equal numbers of groups, one a round."""
        pairs, rounds = plan.splits.validation, plan.config.rounds
        shares = [(i + 1) / rounds for i in range(rounds)]
        stages = plan_stages([p.group for p in pairs], shares=shares, seed=plan.config.judge.seed)
        blocks = [
            Bench(f"validation {i + 1}", tuple(p for p in pairs if p.group in groups))
            for i, groups in enumerate(stages)
        ]
        return cls(plan, lab, blocks)

    def summary(self) -> Validated | None:
        """All tests as one: the decisions of the stream, and shams, second placebo and noise over all blocks that were
        opened. None without a candidate."""
        if not self.tests:
            return None
        scores = _together(self.blocks[: len(self.tests)]).scores()
        sham_effects = tuple(core(scores, effect.arm) for effect in self.tests[-1].shams)
        twice = tuple(both for test in self.tests for both in test.twice)
        return Validated(
            shams=sham_effects,
            spread=Shams.of(sham_effects).spread(),
            second_placebo=contrast(scores, self.tests[-1].second_placebo.arm),
            twice=twice,
            noise=noise_finding(twice),
            scores=scores,
            decisions=tuple(self.decisions.values()),
            stopped={arm: why for test in self.tests for arm, why in test.stopped.items()},
            slips={arm: slip for test in self.tests for arm, slip in test.slips.items()},
            calls=sum(test.calls for test in self.tests),
            fixed=sum(test.fixed for test in self.tests),
            shared=sum(test.shared for test in self.tests),
        )

    def decide(self, new: Sequence[Candidate]) -> list[str]:
        """Test a round's candidates on the next block; the ids of those that are accepted."""
        block = self.blocks[len(self.tests)]
        found = validate(self.plan, self.lab, block, new)
        self.tests.append(found)
        accepted = []
        for candidate, decision in zip(new, found.decisions, strict=True):
            self.e_values.append(e_value(found, decision))
            passed = bool(stats.e_lond(self.e_values, level=self.plan.config.fdr).rejected[-1])
            unknown = found.slips[decision.arm].excess is None
            self.decisions[candidate.bias.id] = _by_stream(decision, passed, self.e_values[-1], unknown)
            if self.decisions[candidate.bias.id].accepted:
                accepted.append(candidate.bias.id)
        return accepted


def e_value(found: Validated, decision: Decision) -> float:
    """Evidence that the arm raises the error, beyond what shams do; 0 where nothing was measured."""
    effect = decision.effect
    if effect.estimate is None or decision.arm in found.stopped or decision.p_sham is None:
        return 0.0
    values, groups = gaps(found.scores, effect.arm, effect.against, missing="low")
    bet = stats.e_value(values, null_mean=0.0, groups=groups, bounds=(-1.0, 1.0))
    return min(bet.value, calibrated(decision.p_sham))


def _by_stream(decision: Decision, passed: bool, e: float, unknown: bool) -> Decision:
    """The decision with e-LOND in the place of Benjamini-Hochberg: all else that is asked of a candidate stays.

    unknown  whether its rewrites keep the truth could not be checked independently
    """
    others = tuple(reason for reason in decision.reasons if not reason.startswith("not significant over all"))
    if not passed:
        weak = f"not enough evidence in the stream (e = {e:.3g})"
        return replace(decision, reasons=(weak, *others), status="rejected")
    if decision.status != "rejected" or others:
        return replace(decision, reasons=others)
    if unknown:
        return replace(decision, reasons=(UNCHECKED,), status="candidate")
    return replace(decision, reasons=(), status="accepted")


def _together(blocks: Sequence[Bench]) -> Bench:
    """One bench of all their pairs, which no two of them share."""
    whole = Bench("validation", tuple(pair for block in blocks for pair in block.pairs), scale=blocks[0].scale)
    for block in blocks:
        for arm, made in block.rewrites.items():
            kept = {id: replace(r, text=None) for id, r in made.items()} if arm in block.void else made
            whole.rewrites.setdefault(arm, {}).update(kept)
        for arm, judged in block.judged.items():
            whole.judged.setdefault(arm, []).extend(judged)
    return whole
