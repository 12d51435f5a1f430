"""`--online`: accept round by round, each round on pairs of its own, without waiting for the last.

The validation part is cut into one block a round. A round's new candidates are tested on its block, beside shams, and
the stream of all candidates is decided by e-LOND (Xu & Ramdas 2024), which keeps the false discovery rate at any time
and under any dependence. It costs power: a block holds a share of the groups, and later candidates need more evidence.

A candidate's e-value is the smaller of two, each valid against its own null: a bet on the mean gap of the groups being
above 0, and the calibrated predictive p beside the shams, 1 / (2 sqrt(p)) (Shafer et al. 2011).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from recuse import stats
from recuse.discovery.config import DiscoverPlan
from recuse.discovery.merge import Candidate
from recuse.discovery.validate import Validated, validate
from recuse.effects.accept import Decision
from recuse.effects.contrast import gaps
from recuse.effects.race import plan_stages
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
        """All tests as one: the decisions of the stream, and the shams of the last block. None without a candidate."""
        if not self.tests:
            return None
        last = self.tests[-1]
        return replace(
            last,
            decisions=tuple(self.decisions.values()),
            stopped={arm: why for test in self.tests for arm, why in test.stopped.items()},
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
            self.decisions[candidate.bias.id] = _by_stream(decision, passed, self.e_values[-1])
            if self.decisions[candidate.bias.id].accepted:
                accepted.append(candidate.bias.id)
        return accepted


def e_value(found: Validated, decision: Decision) -> float:
    """Evidence that the arm raises the error, beyond what shams do; 0 where nothing was measured."""
    effect = decision.effect
    if effect.estimate is None or decision.arm in found.stopped or not decision.p_sham:
        return 0.0
    values, groups = gaps(found.scores, effect.arm, effect.against, missing="low")
    bet = stats.e_value(values, null_mean=0.0, groups=groups, bounds=(-1.0, 1.0))
    return min(math.exp(min(bet.log, 700.0)), 0.5 / math.sqrt(decision.p_sham))


def _by_stream(decision: Decision, passed: bool, e: float) -> Decision:
    """The decision with e-LOND in the place of Benjamini-Hochberg: all else that is asked of a candidate stays."""
    others = tuple(reason for reason in decision.reasons if not reason.startswith("not significant over all"))
    if passed:
        status = decision.status if decision.status != "rejected" or others else "accepted"
        return replace(decision, reasons=others, status=status)
    return replace(decision, reasons=(f"not enough evidence in the stream (e = {e:.3g})", *others), status="rejected")
