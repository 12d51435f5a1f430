"""The plan under experiments/swap stays a plan, with something left after blinding where it says so."""

from __future__ import annotations

from pathlib import Path

from recuse.backends import Capabilities
from recuse.blinding.redact import Redactor
from recuse.counterfactual.plan import load_plan
from recuse.swap.run import Swap, swap_modes

PLAN = Path(__file__).parents[1] / "experiments" / "swap" / "plan.toml"


def test_the_plan_of_loan_notes_blinds_to_identical_texts_but_for_the_clubs():
    plan = load_plan(PLAN)
    assert (len(plan.templates), {len(group.names) for group in plan.groups.values()}) == (44, {6})
    swap = Swap.prepare(plan, swap_modes(plan, Capabilities(logprobs=True, greedy=True)), Redactor())
    for part in swap.parts[:2]:
        assert part.blinded is not None
        assert part.blinded.same == {("men", "women"): 40 * 6}
        assert part.blinded.left == {("men", "women"): [f"club{i}" for i in range(1, 5)]}
