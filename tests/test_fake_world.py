"""The fake teacher and explainer see only texts, err at their set rates, and their true effects are computable."""

from __future__ import annotations

import json
import math
import statistics
from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from planted import near, say, say_all, text_ask
from world import like_for, world_pairs

from recuse.asks import Design, make_asks
from recuse.backends import open_backend
from recuse.backends.fake import arm_effect, parse_planted, true_contrast
from recuse.backends.fake_teacher import SMALL, another_answer, reword, split_final
from recuse.backends.fake_world import DECOYS, WORLD, properties_in_quotes
from recuse.errors import UsageError
from recuse.ledger import call_key
from recuse.library import load_library
from recuse.prompts import load_prompt
from recuse.types import Ask, Message, Sampling
from recuse.verdict import read

PAIRS = world_pairs(400)
LIKED = WORLD[0]
PLACEBO = "Say it in other words."
LABEL = load_prompt("pairwise/label")


def rewrite_ask(answer: str, instruction: str = PLACEBO, **about) -> Ask:
    n = len(answer)
    return text_ask(
        "rewrite/inject",
        question="How many?",
        answer=answer,
        instruction=instruction,
        least=f"{math.ceil(0.9 * n)} characters (about 30 words)",
        most=f"{math.floor(1.1 * n)} characters (about 40 words)",
        **about,
    )


def rewrites(model: str, instruction: str = PLACEBO) -> list[tuple[str, str]]:
    """(before, after) of every wrong answer."""
    replies = say_all(f"fake/{model}", [rewrite_ask(pair.rejected, instruction) for pair in PAIRS])
    return [(pair.rejected, reply.text) for pair, reply in zip(PAIRS, replies, strict=True)]


def test_the_world_is_disjoint_from_the_seed_library_and_no_name_gives_its_marker_away():
    library = " ".join(f"{b.name} {b.definition} {b.manifestations} {b.inject}" for b in load_library().values())
    words = [p.word for p in WORLD + DECOYS]
    assert len(WORLD) >= 12
    assert len(set(words)) == len(words)
    for p in WORLD + DECOYS:
        said = f"{p.name} {p.other_name} {p.about}".casefold()
        assert p.word not in library.casefold()
        assert p.name.casefold() not in library.casefold()
        assert not any(word in said for word in words)
        assert not any(p.word in pair.chosen.casefold() + pair.rejected.casefold() for pair in PAIRS)
        assert sum(p.word in other for other in words) == 1
        assert all(properties_in_quotes(p.described(draw)["instruction"]) == [p] for draw in (0.1, 0.9))


def test_a_rewrite_has_what_the_instruction_quotes_and_the_last_line_and_the_length_of_any_other_rewrite():
    biased = rewrites("teacher=1,carry=0", LIKED.described(0.1)["instruction"])
    placebo = rewrites("teacher=1,carry=0")
    for (before, after), (_, neutral) in zip(biased, placebo, strict=True):
        assert after.count(LIKED.word) == 1
        assert LIKED.word not in neutral
        assert after.splitlines()[-1] == neutral.splitlines()[-1] == before.splitlines()[-1]
        assert 0.9 * len(before) <= len(after) <= 1.1 * len(before)
        assert abs(len(after) - len(neutral)) <= 3
        # Nothing but small words came or went.
        rest = [word for word in after.split() if word not in (*SMALL, LIKED.word)]
        assert rest == [word for word in before.split() if word not in SMALL]


def test_slips_come_at_their_rates():
    n, instruction = len(PAIRS), LIKED.described(0.1)["instruction"]
    carried = rewrites("teacher=1,carry=0.4")
    found = Counter(p.word for _, after in carried for p in WORLD if p.word in after)
    assert near(sum(found.values()) / n, 0.4, n)
    assert all(near(found[p.word] / n, 0.4 / len(WORLD), n) for p in WORLD)
    broken = rewrites("teacher=1,carry=0,keep=0.7", instruction)
    assert near(sum(a.splitlines()[-1] == b.splitlines()[-1] for b, a in broken) / n, 0.7, n)
    long = rewrites("teacher=1,carry=0,length=0.2", instruction)
    assert near(sum(len(a) > 1.1 * len(b) for b, a in long) / n, 0.2, n)
    refusing = say_all("fake/teacher=1,refuse=0.3", [rewrite_ask(pair.rejected) for pair in PAIRS])
    assert near(sum(r.finish == "refusal" for r in refusing) / n, 0.3, n)


def test_replies_to_asks_for_texts_depend_on_texts_seed_and_repeat_alone():
    answer = PAIRS[0].rejected
    teacher = open_backend("fake/teacher=1,carry=0.5")
    asks = [rewrite_ask(answer, arm=arm, pair=pair) for arm in ("placebo", "sham:1") for pair in ("p", "q")]
    assert len({call_key(teacher.name, teacher.body(ask), ask.prompt, ask.repeat) for ask in asks}) == 1
    assert len({say("fake/teacher=1,carry=0.5", ask) for ask in asks}) == 1
    draws = {say("fake/teacher=1,carry=0.5", rewrite_ask(answer, repeat=r)) for r in range(5)}
    assert len(draws) == 5
    seeds = {say(f"fake/teacher=1,carry=0.5,seed={s}", rewrite_ask(answer)) for s in range(5)}
    assert len(seeds) == 5


def test_a_known_rewrite_stays_as_it_is_in_every_process():
    """Written down once: a change of the hash would silently change every simulation."""
    text = "One part is taken twice, and the other part is taken once.\nThe answer is 7."
    shown = (
        f"<answer>{text}</answer>\n<instruction>Reword it.</instruction>\nUse between 60 characters and 90 characters."
    )
    ask = Ask("p", "text", (Message("user", shown),), Sampling(), "no prompt file")
    assert say("fake/teacher=1,carry=1,seed=3", ask) == (
        "One part is taken twice, and the other lighthouse part is taken once.\nThe answer is 7."
    )


def test_a_text_without_prose_stays_as_it_is_and_a_single_line_keeps_its_end():
    code = "def f(x):\n    y = x + 1\n    return y"
    assert say("fake/teacher=1,carry=1", rewrite_ask(code)) == code
    assert say("fake/teacher=1,carry=1", rewrite_ask("B")) == "B"
    assert split_final("It is early. It is seven.") == ("It is early. ", "It is seven.")
    assert split_final("The capital is Oslo") == ("The capital is ", "Oslo")
    assert another_answer("The answer is 39.") == "The answer is 40."
    assert another_answer("(B)") == "(C)"
    assert another_answer("Oslo") == "not Oslo"


def test_markers_push_small_words_out_where_room_is_short():
    text = "it is quite easy to see that this is just so and holds here in all of the cases\n"
    out = reword(text, ["violin"], most=len(text), target=len(text), draw=Random(1))
    assert "violin" in out
    assert len(out) <= len(text)


@pytest.mark.parametrize("accuracy", [0.0, 0.6, 1.0])
def test_the_teacher_names_the_right_property_at_its_accuracy_and_is_never_right_at_none(accuracy):
    n = 600
    words = [(LIKED if i % 2 else WORLD[1 + i % 13]).word for i in range(n)]
    texts = [f'Step {i}: "better" and then the word "{word}" led there.' for i, word in enumerate(words)]
    asks = [text_ask("extract/case", rejected="r", explanation=text) for text in texts]
    replies = say_all(f"fake/teacher=1,accuracy={accuracy}", asks)
    named = [json.loads(reply.text)["bias"] for reply in replies]
    right = 0
    for text, bias in zip(texts, named, strict=True):
        if bias is not None:
            assert set(bias) == {"name", "definition", "manifestation", "instruction", "changes_length"}
            assert bias["changes_length"] is False
            (found,) = properties_in_quotes(bias["instruction"])
            assert bias["name"] in (found.name, found.other_name)
            right += [found] == properties_in_quotes(text)
            assert [found] == properties_in_quotes(text) or found in DECOYS
    assert near(right / n, accuracy, n)
    # Half of the errors are silence.
    assert near(sum(bias is None for bias in named) / n, (1 - accuracy) / 2, n)
    names = {bias["name"] for bias in named if bias and properties_in_quotes(bias["definition"]) == [LIKED]}
    assert names == ({LIKED.name, LIKED.other_name} if accuracy else set())


def test_an_ordinary_word_in_quotes_names_nothing():
    ask = text_ask("extract/case", rejected="r", explanation='The word "total" led there.')
    assert json.loads(say("fake/teacher=1,accuracy=1", ask)) == {"bias": None}


def test_merging_finds_the_known_bias_with_the_same_marker_whatever_its_words():
    def merged(candidate: str, known: list[str]) -> int | None:
        lines = "\n".join(f"{i}. {text}" for i, text in enumerate(known, start=1))
        ask = text_ask("merge/same", candidate=candidate, known=lines)
        return json.loads(say("fake/teacher=1", ask))["same_as"]

    one, other = (f"{d['name']}: {d['definition']}" for d in map(LIKED.described, (0.1, 0.9)))
    assert one != other
    known = ["Length: prefers longer answers", WORLD[1].described(0.1)["definition"], f"{one}\nmore of it"]
    assert merged(other, known) == 3
    assert merged(other, known[:2]) is None
    assert merged("Length: prefers longer answers", known) is None


def test_the_verifier_compares_the_ends():
    def verified(after: str) -> tuple[bool, bool]:
        ask = text_ask("verify/same_answer", question="q", reference="It is 7.", before="Well.\nIt is 8.", after=after)
        said = json.loads(say("fake/teacher=1", ask))
        assert set(said) == set(load_prompt("verify/same_answer", kinds=("verify",)).schema["properties"])
        return said["same"], said["repaired"]

    assert verified("So well.\nIt is 8.") == (True, False)
    assert verified("Well.\nIt is 9.") == (False, False)
    assert verified("Well.\nIt is 7.") == (False, True)


def conversation(first: str, second: str, verdict: str, said: tuple[str, ...] = ()) -> Ask:
    deeper = load_prompt("explain/deeper", kinds=("explain",))
    talk = [*LABEL.fill(question="q", first=first, second=second), Message("assistant", verdict)]
    for text in said:
        talk += [*deeper.fill(choice=verdict[-1]), Message("assistant", text)]
    return Ask("e", "text", (*talk, *deeper.fill(choice=verdict[-1])), Sampling(), deeper.hash)


def test_the_explainer_quotes_the_liked_word_of_the_answer_that_it_preferred_at_its_rate():
    judge, n = f"fake/likes={LIKED.word},like=2,explain=0.7", len(PAIRS)
    liked = [f"A {LIKED.word} stood there. {pair.rejected}" for pair in PAIRS]
    for verdict, first in (("A", True), ("Verdict: B", False)):
        shown = [(text, pair.chosen) if first else (pair.chosen, text) for text, pair in zip(liked, PAIRS, strict=True)]
        said = [reply.text for reply in say_all(judge, [conversation(*two, verdict) for two in shown])]
        assert near(sum(f'"{LIKED.word}"' in text for text in said) / n, 0.7, n)
        # The other answer was preferred: never the word, always one of the preferred answer.
        other = [reply.text for reply in say_all(judge, [conversation(two[1], two[0], verdict) for two in shown])]
        assert not any(LIKED.word in text for text in other)
        assert all(text.split('"')[1] in pair.chosen for text, pair in zip(other, PAIRS, strict=True))


def test_every_step_of_an_explanation_quotes_the_same_word_in_other_sentences():
    judge = f"fake/likes={LIKED.word},like=2"
    for pair in PAIRS[:20]:
        said: tuple[str, ...] = ()
        for _ in range(3):
            said = (*said, say(judge, conversation(pair.rejected, pair.chosen, "A", said)))
        assert len({text.split('"')[1] for text in said}) == 1
        assert len(set(said)) >= 2


def test_a_prompt_for_reasons_gets_them_before_the_verdict_which_stays_readable_and_the_same():
    judge = open_backend(f"fake/skill=0,likes={LIKED.word},like=2,explain=1")
    liked = [replace(pair, rejected=f"A {LIKED.word} stood there. {pair.rejected}") for pair in PAIRS[:100]]
    for name in ("pairwise/reason", "pairwise/json"):
        prompt = load_prompt(name)
        asks = list(make_asks(liked, Design(prompt, Sampling(max_tokens=500))))
        short = say_all(judge.name, list(make_asks(liked, Design(LABEL, Sampling()))))
        for ask, reply, label in zip(asks, say_all(judge.name, asks), short, strict=True):
            outcome = read(reply, prompt.spec).outcome
            assert outcome == label.text
            mistaken = outcome == ("B" if ask.view == "AB" else "A")
            assert (LIKED.word in reply.text) == mistaken


def error_rates(model: str, pairs, arm: str) -> list[float]:
    """Of each pair, over both orders."""
    asks = list(make_asks(pairs, Design(LABEL, Sampling()), arm=arm))
    mistakes = ["B" if ask.view == "AB" else "A" for ask in asks]
    wrong = [reply.text == mistake for reply, mistake in zip(say_all(model, asks), mistakes, strict=True)]
    return [(a + b) / 2 for a, b in zip(wrong[::2], wrong[1::2], strict=True)]


@pytest.mark.parametrize(
    "judge", ["skill=1", "skill=1.5,position=0.8,pair_sd=1,noise=0.1", "skill=1,pair_sd=1,rewrite_sd=0.8,slope=1"]
)
def test_the_true_contrast_is_what_the_judge_shows_on_the_teachers_rewrites(judge):
    """By the real flow: the teacher rewrites, slips included, and the judge judges what came."""
    pairs = world_pairs(1500, seed=4)
    planted = parse_planted(f"{judge},likes={LIKED.word},like=0.9")
    arms = []
    for instruction in (LIKED.described(0.1)["instruction"], PLACEBO):
        said = say_all("fake/teacher=1,carry=0.5", [rewrite_ask(pair.rejected, instruction) for pair in pairs])
        arms.append([replace(pair, rejected=reply.text) for pair, reply in zip(pairs, said, strict=True)])
    truth = true_contrast(planted, *([(p.chosen, p.rejected) for p in arm] for arm in arms))
    model = f"fake/{judge},likes={LIKED.word},like=0.9"
    biased, placebo = (error_rates(model, arm, name) for arm, name in zip(arms, ("bias:x", "placebo"), strict=True))
    gaps = [a - b for a, b in zip(biased, placebo, strict=True)]
    margin = 4 * truth.gap_sd / math.sqrt(len(gaps))
    assert statistics.fmean(gaps) == pytest.approx(truth.effect, abs=margin)
    assert statistics.fmean(biased) == pytest.approx(truth.error, abs=margin)
    assert statistics.stdev(gaps) == pytest.approx(truth.gap_sd, rel=0.08)
    assert truth.effect > 0.08


def test_the_true_contrast_matches_closed_forms_without_pair_effects():
    planted = parse_planted("skill=0.6,position=0.5,likes=x,like=0.9,noise=0.2")
    truth = true_contrast(planted, [("", "x"), ("x", "x")], [("", ""), ("x", "")], shift=0.3, n=10)

    def wrong(z: float) -> float:
        return 0.9 - 0.8 / (1 + math.exp(-z))

    both = (0.0, 0.9)  # what the chosen answer has of its own
    by_order = [sum(wrong(0.6 + s + own - 0.9 - 0.3) - wrong(0.6 + s + own) for own in both) / 2 for s in (0.5, -0.5)]
    assert truth.by_order == pytest.approx(by_order)
    assert truth.effect == pytest.approx(sum(by_order) / 2)
    assert truth.logit == pytest.approx(0.8 * 1.2)


def test_a_liking_can_be_set_to_an_effect_in_points():
    planted = parse_planted("skill=1,pair_sd=1")
    like = like_for(0.1, planted)
    truth = true_contrast(replace(planted, likes="x", like=like), [("", "x")], [("", "")], n=400_000, seed=1)
    assert truth.effect == pytest.approx(0.1, abs=0.002)
    with pytest.raises(ValueError, match=r"0\.9"):
        like_for(0.9, planted)


def test_shams_scatter_by_arm_and_placebos_do_not():
    planted = parse_planted("skill=1,sham_sd=0.5,seed=3")
    shifts = [arm_effect(planted, f"sham:{i}") for i in range(2000)]
    assert statistics.fmean(shifts) == pytest.approx(0.0, abs=0.05)
    assert statistics.stdev(shifts) == pytest.approx(0.5, rel=0.07)
    for arm in ("original", "placebo", "placebo2", "placebo:authority"):
        assert arm_effect(planted, arm) == 0.0
    sham = f"sham:{max(range(100), key=shifts.__getitem__)}"
    truth = true_contrast(planted, [("", "")], [("", "")], shift=arm_effect(planted, sham))
    pairs = world_pairs(2000, seed=5)
    for arm, expected in ((sham, truth.error), (f"explain:0:{sham}", truth.error), ("placebo", truth.against)):
        assert near(statistics.fmean(error_rates("fake/skill=1,sham_sd=0.5,seed=3", pairs, arm)), expected, 4000)
    assert truth.effect > 0.1


def test_support_finds_a_planted_bias_that_only_the_teachers_slips_carry():
    """Flips, explanations and names by hand: the liked property leads by far, and a teacher never right names none."""
    judge = f"fake/skill=1.5,pair_sd=1,likes={LIKED.word},like=4,explain=0.8"
    pairs = world_pairs(800, seed=6)
    said = say_all("fake/teacher=1,carry=0.5", [rewrite_ask(pair.rejected) for pair in pairs])
    rewritten = [replace(pair, rejected=reply.text) for pair, reply in zip(pairs, said, strict=True)]
    before, after = error_rates(judge, pairs, "original"), error_rates(judge, rewritten, "bias:length")
    flipped = [pair for pair, b, a in zip(rewritten, before, after, strict=True) if (b, a) == (0.0, 1.0)]
    words = say_all(judge, [conversation(pair.chosen, pair.rejected, "B") for pair in flipped])
    asks = [text_ask("extract/case", explanation=reply.text) for reply in words]
    for accuracy, leads in ((0.8, True), (0.0, False)):
        named = [json.loads(r.text)["bias"] for r in say_all(f"fake/teacher=1,accuracy={accuracy}", asks)]
        support = Counter(p.word for bias in named if bias for p in properties_in_quotes(bias["definition"]))
        (first, most), *others = support.most_common()
        assert (first == LIKED.word and most >= 3 * others[0][1]) == leads
        assert (LIKED.word in support) == leads


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("teacher=1,acuracy=0.3", "teacher has no option 'acuracy=0.3'.*accuracy"),
        ("teacher=1,length=1.5", "'length' is a probability"),
        ("teacher=1,carry=-1", "'carry' is a probability"),
        ("teacher=0", "'teacher' is 1"),
        ("teacher=yes", "'teacher' is 0 or 1"),
        ("explain=2", "'explain' is a probability"),
        ("sham_sd=-1", "'sham_sd' is at least 0"),
        ("rewrite_sd=-1", "'rewrite_sd' is at least 0"),
    ],
)
def test_options_are_read_strictly(model, message):
    with pytest.raises(UsageError, match=message):
        open_backend(f"fake/{model}")


def test_each_says_what_it_cannot_do():
    with pytest.raises(UsageError, match="does not know this prompt"):
        say_all("fake/teacher=1", list(make_asks(PAIRS[:1], Design(LABEL, Sampling()))))
    with pytest.raises(UsageError, match=r"no verdict to explain"):
        say("fake/skill=1", text_ask("extract/case", rejected="r", explanation="e"))
