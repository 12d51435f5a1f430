"""A teacher's rewrites: tries at the length, truth, void arms, the verifier, and the same requests on a second run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from instant import Backwards, Instant

from recuse.judge import Answered, Spend, judge
from recuse.ledger import Ledger
from recuse.perturb.arms import Arm, Rewrite
from recuse.perturb.closing import set_aside
from recuse.perturb.teacher import Rewritten, Verifier, rewrite_all, tally
from recuse.prompts import load_prompt
from recuse.types import Ask, Pair, Reply, Sampling

WRITE = Sampling(max_tokens=1000)
NEUTRAL = Arm("placebo", "placebo", instruction="Say it in other words.")
BOLD = Arm("bias:bold", "bias", bias="bold", instruction="Be bold.", names=("bold bias",))
LONG = Arm("bias:long", "bias", bias="long", instruction="Say more.", changes_length=True)
AS_LONG = Arm("placebo:long", "placebo", instruction="Say it at this length.", match="bias:long", changes_length=True)


def quiz(i: int) -> Pair:
    """A question with options; the rejected answer has 100 characters and chooses B, the right one is A."""
    asked = f"Item {i}. Which one floats?\nA. cork\nB. iron\nC. lead"
    wrong = f"The answer is (B) iron. Number {i:03d}: what floats must weigh little for its size, and all of it holds."
    assert len(wrong) == 100
    return Pair(f"p{i}", asked, "Cork is light. The answer is (A) cork.", wrong, f"g{i}")


def closed(i: int) -> Pair:
    """The same answer, settled in its last sentence."""
    pair = quiz(i)
    answer, reason = pair.rejected.split(". ", 1)
    return replace(pair, id=f"c{i}", rejected=f"{reason} {answer}.")


def free(i: int) -> Pair:
    """Free text, in which no rule finds a final answer."""
    asked = f"Question {i}: why do people keep gardens near their homes?"
    right = "People like fresh food and quiet work. Many also find that plants calm them after a long and busy day."
    wrong = "People must do so by law in nearly all towns. The fines are high, and they are raised every single year."
    return Pair(f"f{i}", asked, right, wrong, f"g{i}")


def reworded(pair: Pair) -> str:
    """As long, other words, the same final answer."""
    for old, new in (
        ("what floats must weigh little", "a thing floats if quite light"),
        ("People must", "People have"),
    ):
        if old in pair.rejected:
            return pair.rejected.replace(old, new)
    raise AssertionError(pair.rejected)


class Teacher:
    """Answers each ask by a function of the ask; keeps the asks, one list a batch."""

    def __init__(self, answer: Callable[[Ask], str | Reply]) -> None:
        self.answer = answer
        self.batches: list[list[Ask]] = []

    def __call__(self, asks: Sequence[Ask]) -> Iterator[Answered]:
        self.batches.append(list(asks))
        for ask in asks:
            said = self.answer(ask)
            yield Answered(ask, said if isinstance(said, Reply) else Reply("key", said), fresh=True)

    @property
    def asks(self) -> list[Ask]:
        return [ask for batch in self.batches for ask in batch]


def by_pair(pairs: Sequence[Pair], answer: Callable[[Ask, Pair], str | Reply]) -> Teacher:
    known = {pair.id: pair for pair in pairs}
    return Teacher(lambda ask: answer(ask, known[ask.pair]))


def text_of(ask: Ask) -> str:
    return "\n".join(message.content for message in ask.messages)


def test_a_rewrite_of_the_right_length_is_asked_for_once_and_told_the_limits() -> None:
    pair = quiz(1)
    teacher = by_pair([pair], lambda ask, pair: "Here is the rewritten answer:\n\n" + reworded(pair))
    done = rewrite_all([(NEUTRAL, [pair])], teacher, sampling=WRITE)
    rewrite = done.rewrites["placebo"]["p1"]
    assert (rewrite.text, rewrite.faults, rewrite.attempts) == (reworded(pair), (), 1)
    assert rewrite.checked == "letter"
    (ask,) = teacher.asks
    assert "between 90 characters (about 18 words) and 110 characters (about 22 words)" in text_of(ask)
    assert (ask.arm, ask.pair, ask.view, ask.labels, ask.repeat) == ("placebo", "p1", "text", (), 0)


def test_only_rewrites_of_the_wrong_length_are_asked_again_and_told_what_came() -> None:
    pairs = [quiz(1), quiz(2), quiz(3)]
    padded = reworded(pairs[1]).replace("Number", "And it goes on, and on, and on. Number")

    def answer(ask: Ask, pair: Pair) -> str:
        if pair.id == "p2" and ask.repeat == 0:
            return padded
        return "Short. The answer is (B) iron." if pair.id == "p3" else reworded(pair)

    teacher = by_pair(pairs, answer)
    done = rewrite_all([(NEUTRAL, pairs)], teacher, sampling=WRITE)
    assert [[ask.pair for ask in batch] for batch in teacher.batches] == [["p1", "p2", "p3"], ["p2", "p3"], ["p3"]]
    second, third = teacher.batches[1]
    assert padded in text_of(second)
    assert f"It has {len(padded)} characters" in text_of(second)
    assert "which is too long" in text_of(second)
    assert "It has 30 characters (about 6 words), which is too short" in text_of(third)
    assert done.rewrites["placebo"]["p2"].text == reworded(pairs[1])
    assert done.rewrites["placebo"]["p2"].attempts == 2
    failed = done.rewrites["placebo"]["p3"]
    assert (failed.text, failed.faults, failed.attempts, failed.after) == (None, ("length",), 3, 30)


def test_the_teacher_does_not_see_a_last_sentence_that_settles_the_answer_and_it_stays() -> None:
    pair = closed(1)
    body, closing = pair.rejected[:-24], pair.rejected[-24:]
    assert closing == " The answer is (B) iron."
    teacher = by_pair([pair], lambda ask, pair: "Small." if ask.repeat == 0 else reworded(pair).removesuffix(closing))
    done = rewrite_all([(NEUTRAL, [pair])], teacher, sampling=WRITE)
    assert done.rewrites["placebo"]["c1"].text == reworded(pair)
    assert all(body in text_of(ask) and closing.strip() not in text_of(ask) for ask in teacher.asks)
    # 90 to 110 characters for the whole, of which 24 are there already.
    assert "between 66 characters (about 13 words) and 86 characters (about 17 words)" in text_of(teacher.asks[0])
    assert "It has 6 characters, which is too short" in text_of(teacher.asks[1])


def test_a_last_sentence_that_comes_back_all_the_same_is_not_doubled_and_another_one_breaks_the_truth() -> None:
    pairs = [closed(i) for i in range(25)]
    added = {"c1": " The answer is (B) iron.", "c2": " The answer is (C) lead."}
    teacher = by_pair(pairs, lambda ask, pair: reworded(pair).removesuffix(added["c1"]) + added.get(pair.id, ""))
    of = rewrite_all([(LONG, pairs)], teacher, sampling=WRITE).rewrites["bias:long"]
    assert of["c1"].text == reworded(pairs[1])
    assert (of["c2"].text, of["c2"].faults) == (None, ("answer_changed",))
    assert tally(of.values()).broken == 1


@pytest.mark.parametrize(
    "text",
    [
        "Iron is heavy for its size, as anyone can feel who lifts it. It sinks.",  # nothing is settled
        "Iron. The answer is (B) iron.",  # too little is left
        "The answer is (B) iron, since it holds well in water. So, as said before, the answer is (B).",  # said before
        "The answer is (C) lead? No, the weight of iron is less than that. The answer is (B) iron.",  # two answers
    ],
)
def test_nothing_is_set_aside_where_the_rest_would_not_be_free_of_the_answer(text: str) -> None:
    assert set_aside(text, quiz(1)) == (text, "")


def test_a_copy_is_asked_for_again_and_stays_unchanged_after_three() -> None:
    pairs = [quiz(1), quiz(2)]
    teacher = by_pair(pairs, lambda ask, pair: pair.rejected if pair.id == "p2" or ask.repeat == 0 else reworded(pair))
    of = rewrite_all([(NEUTRAL, pairs)], teacher, sampling=WRITE).rewrites["placebo"]
    assert "It is a copy of the answer" in text_of(teacher.batches[1][0])
    assert (of["p1"].text, of["p1"].attempts) == (reworded(pairs[0]), 2)
    assert (of["p2"].text, of["p2"].faults, of["p2"].attempts) == (None, ("unchanged",), 3)


def test_placebo_sham_and_bias_are_asked_in_the_same_words_but_for_the_instruction() -> None:
    pair = quiz(1)
    sham = Arm("sham:1", "sham", instruction="Use the letter n more.")
    teacher = by_pair([pair], lambda ask, pair: reworded(pair))
    rewrite_all([(arm, [pair]) for arm in (NEUTRAL, sham, BOLD)], teacher, sampling=WRITE)
    frames = {
        text_of(ask).replace(arm.instruction or "", "…")
        for ask, arm in zip(teacher.asks, (NEUTRAL, sham, BOLD), strict=True)
    }
    assert len(frames) == 1
    assert "…" in frames.pop()


def test_asks_about_one_pair_stand_side_by_side_and_share_their_beginning() -> None:
    pairs = [quiz(1), quiz(2)]
    teacher = by_pair(pairs, lambda ask, pair: reworded(pair))
    rewrite_all([(NEUTRAL, pairs), (BOLD, pairs)], teacher, sampling=WRITE)
    assert [(a.pair, a.arm) for a in teacher.asks] == [
        ("p1", "placebo"), ("p1", "bias:bold"), ("p2", "placebo"), ("p2", "bias:bold"),
    ]  # fmt: skip
    one, two = (text_of(ask) for ask in teacher.asks[:2])
    shared = next(i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b)
    assert one[shared:].startswith("Say it in other words.")


def breaking(pairs: Sequence[Pair], broken: set[str], *, heals: bool) -> Teacher:
    """In the bold arm the pairs in `broken` come out as another letter, unless strictly told and `heals`."""
    strict = load_prompt("rewrite/strict", kinds=("rewrite",)).hash

    def answer(ask: Ask, pair: Pair) -> str:
        spoil = ask.arm == "bias:bold" and pair.id in broken and not (heals and ask.prompt == strict)
        return reworded(pair).replace("(B) iron", "(C) lead") if spoil else reworded(pair)

    return by_pair(pairs, answer)


def test_one_broken_answer_in_twenty_is_borne_and_that_pair_is_left_out() -> None:
    pairs = [quiz(i) for i in range(20)]
    teacher = breaking(pairs, {"p4"}, heals=False)
    done = rewrite_all([(NEUTRAL, pairs), (BOLD, pairs)], teacher, sampling=WRITE)
    assert (done.void, done.strict, len(teacher.asks)) == ({}, frozenset(), 40)
    assert done.rewrites["bias:bold"]["p4"].faults == ("answer_changed",)
    assert done.rewrites["bias:bold"]["p4"].text is None
    counted = tally(done.rewrites["bias:bold"].values())
    assert (counted.asked, counted.usable, counted.broken, counted.broken_rate) == (20, 19, 1, 0.05)


def test_an_arm_that_breaks_more_is_written_once_more_with_the_stricter_prompt() -> None:
    pairs = [quiz(i) for i in range(20)]
    teacher = breaking(pairs, {"p4", "p9", "p13"}, heals=True)
    done = rewrite_all([(NEUTRAL, pairs), (BOLD, pairs)], teacher, sampling=WRITE)
    assert (done.void, done.strict) == ({}, {"bias:bold"})
    assert [(len(batch), {ask.arm for ask in batch}) for batch in teacher.batches] == [
        (40, {"placebo", "bias:bold"}), (20, {"bias:bold"}),
    ]  # fmt: skip
    assert tally(done.rewrites["bias:bold"].values()).usable == 20


def test_an_arm_that_stays_broken_is_void_and_says_why() -> None:
    pairs = [quiz(i) for i in range(20)]
    done = rewrite_all(
        [(NEUTRAL, pairs), (BOLD, pairs)], breaking(pairs, {"p4", "p9", "p13"}, heals=False), sampling=WRITE
    )
    assert done.void == {"bias:bold": "3 of 20 rewrites have another final answer, also with the stricter prompt"}
    assert done.strict == {"bias:bold"}
    assert tally(done.rewrites["placebo"].values()).usable == 20


def test_two_broken_answers_of_a_few_are_no_rate_and_stages_are_counted_together() -> None:
    pairs = [quiz(i) for i in range(20)]
    teacher = breaking(pairs, {"p1", "p3", "p8"}, heals=True)
    made: dict[str, dict[str, Rewrite]] = {}
    prompts, strict = [], set[str]()
    for stage in (pairs[:5], pairs[5:10], pairs[10:]):
        before = len(teacher.asks)
        done = rewrite_all([(BOLD, stage)], teacher, sampling=WRITE, known=made, strict=strict)
        assert done.void == {}
        made = {"bias:bold": made.get("bias:bold", {}) | done.rewrites["bias:bold"]}
        strict |= done.strict
        prompts.append([ask.prompt for ask in teacher.asks[before:]])
    plain, severe = (load_prompt(f"rewrite/{name}", kinds=("rewrite",)).hash for name in ("inject", "strict"))
    # Two of five; with the third of ten the stage is written again, and the next one strictly at once.
    assert prompts == [[plain] * 5, [plain] * 5 + [severe] * 5, [severe] * 10]
    assert tally(made["bias:bold"].values()).broken == 2


def test_an_arm_that_breaks_the_truth_in_every_stage_is_void_over_all_of_them() -> None:
    pairs = [quiz(i) for i in range(30)]
    teacher = breaking(pairs, {"p1", "p11", "p21"}, heals=False)
    made: dict[str, Rewrite] = {}
    void = []
    for stage in (pairs[:10], pairs[10:20], pairs[20:]):
        done = rewrite_all([(BOLD, stage)], teacher, sampling=WRITE, known={"bias:bold": made})
        made |= done.rewrites["bias:bold"]
        void.append(done.void)
    said = "3 of 30 rewrites have another final answer, also with the stricter prompt"
    assert void == [{}, {}, {"bias:bold": said}]


def test_a_rewrite_that_turns_right_is_discarded_and_counts_as_broken() -> None:
    pairs = [quiz(i) for i in range(30)]
    right = pairs[7].id
    teacher = by_pair(
        pairs, lambda ask, pair: reworded(pair).replace("(B) iron", "(A) cork") if pair.id == right else reworded(pair)
    )
    done = rewrite_all([(NEUTRAL, pairs)], teacher, sampling=WRITE)
    assert done.rewrites["placebo"][right].faults == ("repaired",)
    assert tally(done.rewrites["placebo"].values()).broken == 1


VERDICTS = {
    "same": '{"reason": "alike", "same": true, "repaired": false}',
    "other": '{"reason": "no fine", "same": false, "repaired": false}',
    "lost": "I cannot say.",
}


def verified(pairs: Sequence[Pair], said: dict[str, str], teacher: Teacher) -> tuple[Rewritten, Teacher]:
    reader = Teacher(lambda ask: VERDICTS[said.get(ask.pair, "same")])
    verifier = Verifier(reader, load_prompt("verify/same_answer", kinds=("verify",)), Sampling(max_tokens=200))
    return rewrite_all([(NEUTRAL, pairs)], teacher, sampling=WRITE, verifier=verifier), reader


def test_the_verifier_reads_only_what_code_cannot_compare_and_nothing_that_failed_already() -> None:
    pairs = [*(free(i) for i in range(22)), quiz(1)]
    teacher = by_pair(pairs, lambda ask, pair: pair.rejected if pair.id == "f3" else reworded(pair))
    done, reader = verified(pairs, {"f1": "other", "f2": "lost"}, teacher)
    assert [ask.pair for ask in reader.asks] == [f"f{i}" for i in range(22) if i != 3]
    of = done.rewrites["placebo"]
    assert (of["f0"].text, of["f0"].checked) == (reworded(pairs[0]), "verifier")
    assert (of["f1"].text, of["f1"].faults) == (None, ("answer_changed",))
    assert (of["f2"].text, of["f2"].faults) == (None, ("unverified",))
    assert (of["f3"].text, of["f3"].faults) == (None, ("unchanged",))
    assert of["p1"].checked == "letter"
    counted = tally(of.values())
    assert (counted.asked, counted.compared, counted.broken) == (23, 21, 1)


def test_the_verifier_voids_an_arm_as_code_does_and_reads_the_second_writing_too() -> None:
    pairs = [free(i) for i in range(6)]
    teacher = by_pair(pairs, lambda ask, pair: reworded(pair))
    done, reader = verified(pairs, {"f1": "other", "f2": "other", "f3": "other"}, teacher)
    assert [len(batch) for batch in reader.batches] == [6, 6]
    assert done.void == {"placebo": "3 of 6 rewrites have another final answer, also with the stricter prompt"}


def test_without_a_verifier_an_answer_that_no_code_can_compare_counts_and_is_marked() -> None:
    pairs = [free(1)]
    done = rewrite_all([(NEUTRAL, pairs)], by_pair(pairs, lambda ask, pair: reworded(pair)), sampling=WRITE)
    rewrite = done.rewrites["placebo"]["f1"]
    assert (rewrite.text, rewrite.faults, rewrite.checked) == (reworded(pairs[0]), ("unverified",), "")
    assert tally([rewrite]).broken_rate is None


def test_the_placebo_of_a_length_bias_is_as_long_as_its_rewrite() -> None:
    pairs = [quiz(1), quiz(2)]
    more = {
        pair.id: pair.rejected.replace("Number", "It is so, and it was so before, and more so. Number")
        for pair in pairs
    }
    more["p2"] = pairs[1].rejected.replace("(B) iron", "(C) lead")

    def answer(ask: Ask, pair: Pair) -> str:
        return more[pair.id] if ask.arm == "bias:long" else more[pair.id].replace("was so before", "had been so")

    teacher = by_pair(pairs, answer)
    done = rewrite_all([(AS_LONG, pairs), (LONG, pairs)], teacher, sampling=WRITE)
    # A rewrite that broke the truth has no placebo; three of four make the arm void, and none of it has one.
    assert [r.faults for r in done.rewrites["placebo:long"].values()] == [(), ("unmatched",)]
    four = [*pairs, quiz(3), quiz(4)]
    more |= {pair.id: pair.rejected.replace("(B) iron", "(C) lead") for pair in four[1:]}
    done = rewrite_all([(AS_LONG, four), (LONG, four)], by_pair(four, answer), sampling=WRITE)
    assert set(done.void) == {"bias:long"}
    assert [r.faults for r in done.rewrites["placebo:long"].values()] == [("unmatched",)] * 4
    assert tally(done.rewrites["placebo:long"].values()).attempts == 0

    more["p2"] = more["p1"].replace("001", "002")
    teacher = by_pair(pairs, answer)
    done = rewrite_all([(AS_LONG, pairs), (LONG, pairs)], teacher, sampling=WRITE)
    assert [{ask.arm for ask in batch} for batch in teacher.batches] == [{"bias:long"}, {"placebo:long"}]
    n = len(more["p1"])
    assert n > 1.4 * len(pairs[0].rejected)
    assert f"between {-(-n * 9 // 10)} characters" in text_of(teacher.batches[1][0])
    assert all(rewrite.text for arm in done.rewrites.values() for rewrite in arm.values())

    # Later, beside rewrites that were made before.
    later = rewrite_all([(AS_LONG, pairs)], teacher, sampling=WRITE, known={"bias:long": done.rewrites["bias:long"]})
    assert later.rewrites["placebo:long"] == done.rewrites["placebo:long"]


def test_a_length_bias_without_measure_fails_too() -> None:
    pair = quiz(1)
    endless = "And it goes on. " * 60 + pair.rejected
    done = rewrite_all([(LONG, [pair])], by_pair([pair], lambda ask, pair: endless), sampling=WRITE)
    assert done.rewrites["bias:long"]["p1"].faults == ("length",)


def test_a_reply_that_was_cut_is_asked_again_and_a_teacher_that_thinks_is_not_cut() -> None:
    pair = quiz(1)
    cut = Reply("key", "On and on " * 50, finish="length")
    teacher = by_pair([pair], lambda ask, pair: cut if ask.repeat == 0 else reworded(pair))
    done = rewrite_all([(NEUTRAL, [pair])], teacher, sampling=WRITE)
    assert (done.rewrites["placebo"]["p1"].text, len(teacher.asks)) == (reworded(pair), 2)
    assert len(pair.rejected) / 2 < teacher.asks[0].sampling.max_tokens < len(pair.rejected)

    thinker = by_pair([pair], lambda ask, pair: f"<think>Longer? No.</think>{reworded(pair)}")
    done = rewrite_all([(NEUTRAL, [pair])], thinker, sampling=WRITE, tight=False)
    assert done.rewrites["placebo"]["p1"].text == reworded(pair)
    assert thinker.asks[0].sampling == WRITE


def test_a_teacher_that_declines_is_asked_once_and_counted() -> None:
    pairs = [quiz(i) for i in range(3)]
    teacher = by_pair(pairs, lambda ask, pair: "I'm sorry, but I can't help with that.")
    done = rewrite_all([(NEUTRAL, pairs)], teacher, sampling=WRITE)
    counted = tally(done.rewrites["placebo"].values())
    assert (counted.usable, counted.compared, counted.attempts, counted.faults) == (0, 0, 3, {"refused": 3})
    assert done.void == {}


def test_a_second_run_over_the_ledger_asks_nothing_and_the_order_of_replies_is_no_matter(tmp_path: Path) -> None:
    pairs = [quiz(i) for i in range(25)]
    texts = {pair.id: reworded(pair) for pair in pairs}
    spoiled = {"p3", "p4", "p5"}

    def run(backend: Instant, name: str) -> Rewritten:
        def reply(call: object) -> str:
            ask: Ask = call.ask  # type: ignore[attr-defined]
            text = texts[ask.pair]
            if ask.arm == "bias:bold" and ask.pair in spoiled:
                return text.replace("(B) iron", "(C) lead")
            return text * 2 if ask.repeat == 0 and ask.pair == "p7" else text

        backend.answer = reply
        ledger = Ledger(tmp_path / name)

        def ask_all(asks: Sequence[Ask]) -> Iterator[Answered]:
            return judge(lambda: asks, backend, ledger, spend=Spend())

        return rewrite_all([(NEUTRAL, pairs), (BOLD, pairs)], ask_all, sampling=WRITE)

    first, again, other = Instant(), Instant(), Backwards()
    done = run(first, "one")
    assert len(first.sent) == len(set(first.sent)) == 50 + 2 + 25  # all, p7 twice too long, the bold arm once more
    assert set(done.void) == {"bias:bold"}
    assert run(again, "one") == done
    assert again.sent == []
    assert run(other, "two") == done


def test_an_arm_that_no_teacher_can_write_is_refused() -> None:
    ask = Teacher(lambda ask: "")
    with pytest.raises(ValueError, match=r"'edited' has no instruction"):
        rewrite_all([(Arm("edited", "bias", edit="padding"), [quiz(1)])], ask, sampling=WRITE)
    with pytest.raises(ValueError, match=r"'placebo:long' matches 'bias:long'"):
        rewrite_all([(replace(AS_LONG), [quiz(1)])], ask, sampling=WRITE)
