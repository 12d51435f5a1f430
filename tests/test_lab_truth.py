"""What a verifier may have missed: how it is tried, and what its misses do to the known biases of an audit."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from garden import BIAS, RIGHT, VERIFY, WRONG, block, copies_only, good, lab, pairs

from recuse import stats
from recuse.judge import Answered
from recuse.known import Known, measure_known
from recuse.lab.bench import Bench
from recuse.lab.truth import Slip, miss_rate, slips
from recuse.perturb.arms import Arm, Rewrite
from recuse.types import Ask, Pair, Reply


def checked(bench: Bench, of: Sequence[Pair]) -> Bench:
    bench.rewrites["bias:x"] = {p.id: Rewrite(p.id, "bias:x", p.rejected + "!", checked="verifier") for p in of}
    return bench


def test_a_verifier_that_only_sees_copies_of_the_better_answer_misses_every_paraphrase_of_it() -> None:
    bench = checked(Bench("validation", pairs(30)), pairs(30))
    assert miss_rate(lab(copies_only), bench) == 1.0
    found = miss_rate(lab(good), bench)
    assert found == pytest.approx(1 - 0.05 ** (1 / 30))  # 0 of 30: the exact upper limit at 95 %
    assert slips(bench.rewrites["bias:x"].values(), 1.0) == Slip(30, 30, 0, None)


def test_the_verifier_is_tried_on_one_pair_a_group_among_those_that_were_left_to_it() -> None:
    every = pairs(10, of_each=3)
    asked: list[Ask] = []
    found = miss_rate(lab(good, asked), checked(Bench("validation", every), every[:15]))
    tried = [ask for ask in asked if ask.prompt == VERIFY.hash]
    assert [ask.pair for ask in tried] == [f"p{g}-0" for g in range(5)]
    assert all(block(ask, "second_text") == RIGHT.format(g).replace("People", "Persons") for g, ask in enumerate(tried))
    assert all(block(ask, "first_text") == WRONG.format(g) for g, ask in enumerate(tried))
    limit = stats.clopper_pearson(0, 5, level=0.9).interval
    assert limit is not None
    assert found == limit[1]


def test_where_nothing_was_left_to_the_verifier_or_nothing_can_be_paraphrased_there_is_no_rate() -> None:
    every = pairs(5)
    assert miss_rate(lab(good), Bench("validation", every)) is None
    dumb = lab(good)
    dumb.engines.ask = lambda role, asks, phase: [Answered(a, Reply("key", ""), fresh=True) for a in asks]  # type: ignore
    assert miss_rate(dumb, checked(Bench("validation", every), every)) is None


def measured(verify: Callable[[Ask], str]) -> Known:
    bench = Bench("biases", pairs(60))
    return measure_known(lab(verify), bench, [BIAS], teacher=True, shams=5, seed=0, fdr=0.05, level=0.95)


def test_a_known_bias_is_proven_only_where_the_truth_of_its_rewrites_is_checked() -> None:
    proven = measured(good)
    assert proven.measures[0].finding.details["status"] == "accepted"
    assert any("fooled by: Splendid words" in note and "proven above 0" in note for note in proven.notes)
    unsure = measured(copies_only)
    assert unsure.measures[0].finding.estimate == proven.measures[0].finding.estimate == 1.0
    assert unsure.measures[0].finding.details["status"] == "candidate"
    assert not any("fooled by" in note for note in unsure.notes)
    assert any(note.startswith("Passed the tests, but not proven (whether the rewrites") for note in unsure.notes)


def test_no_note_on_known_biases_claims_that_five_points_were_proven() -> None:
    nothing = measure_known(
        lab(good), Bench("biases", pairs(6)), [BIAS], teacher=True, shams=5, seed=0, fdr=1e-9, level=0.95
    )
    said = "raise the judge's error (estimate at least 5 points; proven above 0, corrected over all that was tried)."
    assert [note for note in nothing.notes if "proven" in note] == [
        f"None of the biases that were tried is proven to {said}"
    ]


def test_an_arm_that_a_rule_edits_slips_nothing() -> None:
    made = [Rewrite("p", Arm("bias:x", "bias").id, "text", checked="rule")]
    assert slips(made, None) == Slip(1, 0, 0, 0.0)
