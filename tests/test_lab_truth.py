"""What a verifier may have missed: how it is tried, and what its misses do to the known biases of an audit."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from types import SimpleNamespace

import pytest

from recuse import stats
from recuse.asks import Design
from recuse.judge import Answered
from recuse.known import Known, measure_known
from recuse.lab.bench import Bench, Lab
from recuse.lab.truth import Slip, miss_rate, slips
from recuse.library import Bias
from recuse.perturb.arms import Arm, Rewrite
from recuse.perturb.teacher import load_wording
from recuse.prompts import load_prompt
from recuse.types import Ask, Pair, Reply, Sampling

RIGHT = "People like fresh food and quiet work. Many also find that plants calm them after a long and busy day {}."
WRONG = "People must do so by law in nearly all towns. The fines are high, and they are raised every year in {}."
SAME = '{"reason": "alike", "same": true, "repaired": false}'
OTHER = '{"reason": "another claim", "same": false, "repaired": false}'
PARAPHRASES = (("People like", "Persons like"), ("People must", "Persons must"))
BIAS = Bias(
    id="splendour", name="Splendid words", definition="Prefers splendid words.", manifestations=["splendid"],
    inject="Call one thing splendid.", family="social", source=["a paper"], status="seed",
)  # fmt: skip


def pairs(groups: int, of_each: int = 1) -> tuple[Pair, ...]:
    return tuple(
        Pair(f"p{g}-{i}", f"Question {g}: why do people keep gardens?", RIGHT.format(g), WRONG.format(g), f"g{g}")
        for g in range(groups)
        for i in range(of_each)
    )


def block(ask: Ask, tag: str) -> str:
    found = re.search(rf"<{tag}>\n?(.*?)\n?</{tag}>", ask.messages[-1].content, re.DOTALL)
    assert found is not None, ask.messages[-1].content
    return found[1]


def teacher(verify: Callable[[Ask], str]) -> Callable[[Ask], str]:
    """Writes "Persons" for "People", puts a splendid thing in where it is told to, and reads by `verify`."""

    def answer(ask: Ask) -> str:
        if ask.prompt == VERIFY.hash:
            return verify(ask)
        text = block(ask, "answer")
        for old, new in PARAPHRASES:
            text = text.replace(old, new)
        return text.replace("nearly all", "splendid") if ask.arm == "bias:splendour" else text

    return answer


def judge(ask: Ask) -> str:
    """Prefers the right answer, but a splendid one to any other."""
    a, b = (block(ask, f"answer_{name}") for name in "ab")
    if ("splendid" in a) != ("splendid" in b):
        return "A" if "splendid" in a else "B"
    return "A" if "law" in b else "B"


VERIFY = load_prompt("verify/same_answer", kinds=("verify",))


def copies_only(ask: Ask) -> str:
    """A verifier that sees a difference only where the better answer stands before it word for word."""
    return OTHER if block(ask, "second_text") == block(ask, "better_answer") else SAME


def good(ask: Ask) -> str:
    return SAME if "law" in block(ask, "second_text") else OTHER


def lab(verify: Callable[[Ask], str], asked: list[Ask] | None = None) -> Lab:
    answers = {"teacher": teacher(verify), "judge": judge}

    def ask(role: str, asks: Sequence[Ask], *, phase: str) -> list[Answered]:
        if asked is not None and role == "teacher":
            asked.extend(asks)
        return [Answered(a, Reply("key", answers[role](a)), fresh=True) for a in asks]

    design = Design(load_prompt("pairwise/label"), Sampling(max_tokens=1))
    return Lab(SimpleNamespace(ask=ask), design, Sampling(max_tokens=500), load_wording(), VERIFY)  # type: ignore[arg-type]


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
