"""The planted judges show exactly the strengths that they were given, whatever the order of the calls."""

from __future__ import annotations

import json
import math
import random
import time

import pytest
from planted import near

from recuse.asks import Design, make_asks
from recuse.backends import open_backend
from recuse.backends.base import Options
from recuse.backends.fake import Planted, parse_planted, true_effects
from recuse.errors import Incomplete, InputError, UsageError
from recuse.ledger import call_key
from recuse.prompts import load_prompt
from recuse.types import Call, Pair, Reply, Sampling
from recuse.verdict import read

LENGTHS = [(40, 60), (60, 40)]


def make_pairs(n: int, *, chosen: str = "", rejected: str = "") -> list[Pair]:
    """Pairs whose chosen answer is longer in every second one; the given words stand at the front of the answers."""
    return [
        Pair(
            f"p{i}",
            f"Question {i}?",
            chosen.ljust(LENGTHS[i % 2][0], "x"),
            rejected.ljust(LENGTHS[i % 2][1], "y"),
            f"p{i}",
        )
        for i in range(n)
    ]


def calls_of(judge, pairs, *, prompt="pairwise/label", repeats=1, top_logprobs=0):
    loaded = load_prompt(prompt)
    design = Design(loaded, Sampling(max_tokens=loaded.max_tokens, top_logprobs=top_logprobs), repeats)
    return [
        Call(call_key(judge.name, body, ask.prompt, ask.repeat), ask, body)
        for ask in make_asks(pairs, design)
        if (body := judge.body(ask))
    ]


def replies(judge, calls) -> dict[str, Reply]:
    found = {reply.key: reply for reply in judge.generate(calls)}
    assert len(found) == len({call.key for call in calls})
    return found


def outcomes(model: str, pairs, **more) -> dict[tuple[str, str, int], str]:
    """ "chosen", "rejected", "tie" or the raw text, by pair, view and repeat."""
    judge = open_backend(f"fake/{model}")
    calls = calls_of(judge, pairs, **more)
    found = replies(judge, calls)
    names = {"AB": {"A": "chosen", "B": "rejected", "C": "tie"}, "BA": {"B": "chosen", "A": "rejected", "C": "tie"}}
    return {
        (c.ask.pair, c.ask.view, c.ask.repeat): names[c.ask.view].get(text := found[c.key].text, text) for c in calls
    }


def rate(found, view=None, pairs=None) -> float:
    """Share of "chosen" in one view, among the given pairs."""
    values = [v == "chosen" for (p, w, _), v in found.items() if view in (None, w) and (pairs is None or p in pairs)]
    return sum(values) / len(values)


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def test_position_and_skill_are_log_odds():
    found = outcomes("skill=0.7,position=0.9,seed=5", make_pairs(2000))
    assert near(rate(found, "AB"), sigmoid(1.6), 2000)
    assert near(rate(found, "BA"), sigmoid(-0.2), 2000)


def test_length_favours_the_longer_answer_by_its_sign_and_slope_by_its_ratio():
    longer_right = {f"p{i}" for i in range(1, 3000, 2)}
    for model, shift in (("skill=0.5,length=0.8", 0.8), ("skill=0.5,slope=2", 2 * math.log(1.5))):
        found = outcomes(model, make_pairs(3000))
        right, wrong = rate(found, pairs=longer_right), rate(found, pairs={f"p{i}" for i in range(0, 3000, 2)})
        assert near(right, sigmoid(0.5 + shift), 3000)
        assert near(wrong, sigmoid(0.5 - shift), 3000)


def test_a_liked_word_is_found_in_any_case_and_on_either_side():
    model = "skill=0.4,likes=harvard,like=1.1"
    assert near(rate(outcomes(model, make_pairs(1500, rejected="A Harvard study"))), sigmoid(0.4 - 1.1), 3000)
    assert near(rate(outcomes(model, make_pairs(1500, chosen="HARVARD"))), sigmoid(0.4 + 1.1), 3000)
    assert near(rate(outcomes(model, make_pairs(1500, chosen="harvard", rejected="harvard"))), sigmoid(0.4), 3000)


def test_noise_turns_a_share_of_calls_into_coins():
    found = outcomes("skill=3,noise=0.3", make_pairs(2000))
    assert near(rate(found), 0.7 * sigmoid(3) + 0.15, 4000)


def test_two_orders_agree_more_often_with_a_pair_effect_and_as_true_effects_say():
    pairs = make_pairs(3000)
    seen = []
    for model in ("skill=0.3", "skill=0.3,pair_sd=2"):
        found = outcomes(model, pairs)
        same = sum(found[p.id, "AB", 0] == found[p.id, "BA", 0] for p in pairs) / len(pairs)
        truth = true_effects(parse_planted(model), LENGTHS)
        assert near(same, truth.consistency, 3000)
        assert near(1 - rate(found), truth.error_rate, 3000)
        seen.append(same)
    q = sigmoid(0.3)
    assert near(seen[0], q * q + (1 - q) * (1 - q), 3000)
    assert seen[1] > seen[0] + 0.1


def test_true_effects_match_closed_forms_without_a_pair_effect():
    truth = true_effects(Planted(skill=0.6, position=0.5, length=0.4, noise=0.2, tie=0.1), LENGTHS, n=10)

    def chosen(z: float) -> float:
        return 0.8 * sigmoid(z) + 0.1

    ab = [chosen(0.6 + 0.5 + s) for s in (-0.4, 0.4)]
    ba = [chosen(0.6 - 0.5 + s) for s in (-0.4, 0.4)]
    error = [0.9 * (1 - (a + b) / 2) + 0.05 for a, b in zip(ab, ba, strict=True)]
    assert truth.error_rate == pytest.approx(sum(error) / 2)
    assert truth.length_effect == pytest.approx(error[0] - error[1])
    assert truth.first_rate == pytest.approx(0.9 * (sum(ab) / 2 + 1 - sum(ba) / 2) / 2 + 0.05)
    both = [a * b + (1 - a) * (1 - b) for a, b in zip(ab, ba, strict=True)]
    assert truth.consistency == pytest.approx(0.81 * sum(both) / 2 + 0.01)


def test_true_effects_with_a_pair_effect_match_quadrature():
    """E sigmoid(N(mu, sd)) by Gauss-Hermite, another way than drawing."""
    np = pytest.importorskip("numpy")
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    expected = 1 - (weights / (1 + np.exp(-(0.8 + 1.5 * nodes)))).sum() / weights.sum()
    truth = true_effects(Planted(skill=0.8, pair_sd=1.5), [(3, 5)], n=200_000)
    assert truth.error_rate == pytest.approx(expected, abs=0.003)
    assert truth.length_effect is None


def test_log_probabilities_agree_with_the_text_and_carry_the_planted_log_odds():
    judge = open_backend("fake/skill=0.7,position=0.9,logprobs=1")
    assert judge.capabilities.logprobs
    calls = calls_of(judge, make_pairs(4000), top_logprobs=5)
    found = replies(judge, calls)
    shift = {"AB": 0.0, "BA": 0.0}
    for call in calls:
        logprobs = dict(found[call.key].logprobs)
        assert sum(map(math.exp, logprobs.values())) == pytest.approx(1.0)
        odds = logprobs["A"] - logprobs["B"]
        assert found[call.key].text == ("A" if odds > 0 else "B")
        shift[call.ask.view] += odds / 4000
    # The standard logistic has standard deviation pi / sqrt(3): four standard errors are 0.115.
    assert shift["AB"] == pytest.approx(0.7 + 0.9, abs=0.115)
    assert shift["BA"] == pytest.approx(-(0.7 - 0.9), abs=0.115)


def test_results_depend_on_neither_the_order_of_calls_nor_their_number():
    model = "position=0.3,noise=0.1,pair_sd=1,refuse=0.05,length=0.2,seed=3"
    judge = open_backend(f"fake/{model}")
    calls = calls_of(judge, make_pairs(200), repeats=3)
    straight = replies(judge, calls)
    shuffled = calls[:]
    random.Random(1).shuffle(shuffled)
    assert replies(open_backend(f"fake/{model}"), shuffled) == straight
    assert replies(open_backend(f"fake/{model}"), calls[500:]) == {c.key: straight[c.key] for c in calls[500:]}
    other = open_backend(f"fake/{model.replace('seed=3', 'seed=4')}")
    assert [r.text for r in replies(other, calls).values()] != [r.text for r in straight.values()]


def test_known_draws_stay_as_they_are_in_every_process():
    """Written down once: a change of the hash would silently change every simulation."""
    found = outcomes("position=0.3,noise=0.1,seed=1", make_pairs(8))
    assert "".join(v[0] for v in found.values()) == "crcrcrcrccccrccc"


def test_repeats_are_fresh_draws():
    found = outcomes("skill=0", make_pairs(1500), repeats=2)
    same = sum(found[f"p{i}", "AB", 0] == found[f"p{i}", "AB", 1] for i in range(1500)) / 1500
    assert near(same, 0.5, 1500)
    assert not open_backend("fake/skill=0").capabilities.greedy


def test_refusals_truncations_and_ties_come_at_their_rates():
    judge = open_backend("fake/refuse=0.2,truncate=0.25,tie=0.5")
    calls = calls_of(judge, make_pairs(1500), prompt="pairwise/label_tie")
    found = list(replies(judge, calls).values())
    assert near(sum(r.finish == "refusal" for r in found) / 3000, 0.2, 3000)
    assert near(sum(r.finish == "length" for r in found) / 3000, 0.8 * 0.25, 3000)
    assert near(sum(r.text == "C" for r in found) / 3000, 0.8 * 0.75 * 0.5, 3000)


def test_a_tie_needs_a_label():
    judge = open_backend("fake/tie=0.5")
    with pytest.raises(UsageError, match="pairwise/label_tie"):
        replies(judge, calls_of(judge, make_pairs(1)))


def test_planted_failures_are_retried_and_leave_the_replies_as_they_were():
    calm = open_backend("fake/seed=2")
    calls = calls_of(calm, make_pairs(50))
    expected = [reply.text for reply in replies(calm, calls).values()]
    stormy = open_backend("fake/seed=2,fail=0.4", Options(concurrency=4, max_attempts=40))
    found = replies(stormy, calls)
    assert [found[call.key].text for call in calls] == expected
    down = open_backend("fake/fail=1", Options(concurrency=1, max_attempts=2))
    with pytest.raises(Incomplete):
        replies(down, calls[:4])


def test_slow_takes_its_time():
    judge = open_backend("fake/slow=0.05", Options(concurrency=1))
    started = time.monotonic()
    replies(judge, calls_of(judge, make_pairs(2)))
    assert time.monotonic() - started >= 0.2


def test_reply_takes_the_form_that_the_prompt_asks_for():
    pairs = make_pairs(20)
    for prompt, forms in (
        ("pairwise/label", {"A", "B"}),
        ("pairwise/reason", {"Verdict: A", "Verdict: B"}),
    ):
        judge = open_backend("fake/skill=0")
        assert {r.text for r in replies(judge, calls_of(judge, pairs, prompt=prompt)).values()} == forms
    judge = open_backend("fake/skill=0")
    answers = [json.loads(r.text) for r in replies(judge, calls_of(judge, pairs, prompt="pairwise/json")).values()]
    assert {a["verdict"] for a in answers} == {"A", "B"}
    assert all(set(a) == {"reason", "verdict"} for a in answers)


def scores(model: str, n: int, **words) -> list[tuple[int, int]]:
    judge = open_backend(f"fake/{model}")
    calls = calls_of(judge, make_pairs(n, **words), prompt="pointwise/score")
    found = replies(judge, calls)
    points = [int(found[c.key].text.removeprefix("Rating: [[").removesuffix("]]")) for c in calls]
    return list(zip(points[::2], points[1::2], strict=True))


def test_single_scores_follow_the_same_utility():
    found = scores("skill=1", 3000)
    assert all(1 <= s <= 10 for pair in found for s in pair)
    # Rounding makes ties; half of them counted for each side bring back the sigmoid, up to what clipping hides.
    wins = sum((c > r) + (c == r) / 2 for c, r in found) / 3000
    assert wins == pytest.approx(sigmoid(1), abs=0.04)
    liking = scores("skill=1,likes=harvard,like=1", 3000, rejected="Harvard")
    assert sum((c > r) + (c == r) / 2 for c, r in liking) / 3000 == pytest.approx(0.5, abs=0.04)
    with pytest.raises(UsageError, match="slope="):
        scores("length=1", 1)


def test_always_and_script(tmp_path):
    pairs = make_pairs(3)
    assert {(v, o) for (_, v, _), o in outcomes("always=first", pairs).items()} == {
        ("AB", "chosen"),
        ("BA", "rejected"),
    }
    assert {(v, o) for (_, v, _), o in outcomes("always=A", pairs).items()} == {("AB", "chosen"), ("BA", "rejected")}
    assert set(outcomes("always=no idea", pairs).values()) == {"no idea"}
    script = tmp_path / "replies.jsonl"
    script.write_text(
        '{"pair": "p1", "view": "BA", "text": "B"}\n'
        '{"match": "Question [12]", "text": "hm"}\n'
        '{"match": "", "text": "A"}\n'
    )
    found = outcomes(f"script={script}", pairs)
    assert found["p1", "BA", 0] == "chosen"
    assert found["p1", "AB", 0] == found["p2", "BA", 0] == "hm"
    assert found["p0", "AB", 0] == "chosen"


@pytest.mark.parametrize(
    ("content", "where"),
    [
        ('{"text": "A"}', "row 1.*either pair or match"),
        ('{"match": "", "text": "A"}\n{"match": "(", "text": "A"}', "row 2.*match.*regular expression"),
        ('{"match": "", "txt": "A"}', "row 1, field 'txt': unknown key"),
        ("nonsense", "row 1"),
        ('{"pair": "p9", "text": "A"}', "no line for pair p0, view AB"),
    ],
)
def test_a_bad_script_is_named_by_its_row(tmp_path, content, where):
    script = tmp_path / "replies.jsonl"
    script.write_text(content)
    with pytest.raises(InputError, match=where):
        outcomes(f"script={script}", make_pairs(1))
    with pytest.raises(InputError, match="cannot be read"):
        open_backend(f"fake/script={tmp_path}/absent.jsonl")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("postion=0.3", "no option 'postion=0.3'.*position.*noise.*always.*script"),
        ("position", "no option 'position'"),
        ("position=much", "'position' is a number, not 'much'"),
        ("position=nan", "'position' is a number"),
        ("noise=1.5", "'noise' is a probability"),
        ("noise=-0.1", "'noise' is a probability"),
        ("slow=-1", "'slow' is at least 0"),
        ("seed=1.5", "'seed' is a number"),
        ("logprobs=yes", "'logprobs' is 0 or 1"),
        ("seed=1,seed=2", "'seed' is given twice"),
        ("likes=harvard", "both likes=WORD and like=STRENGTH"),
        ("like=0.5", "both likes=WORD and like=STRENGTH"),
        ("noise=0.1,", "no option ''"),
    ],
)
def test_options_are_read_strictly(model, message):
    with pytest.raises(UsageError, match=message):
        open_backend(f"fake/{model}")


def test_every_option_is_read():
    read = parse_planted("skill=2, position=-0.5,likes=Oslo,like=1,noise=0.1,logprobs=1,seed=7")
    assert read == Planted(skill=2.0, position=-0.5, likes="Oslo", like=1.0, noise=0.1, logprobs=True, seed=7)


def test_a_prompt_without_answer_blocks_cannot_have_a_length_bias(tmp_path):
    prompt = tmp_path / "own.md"
    prompt.write_text(
        '+++\nid = "own"\nversion = 1\nkind = "pairwise"\nformat = "label"\nsource = "test"\n+++\n'
        "First: {{first}}\nSecond: {{second}}\nA or B?\n"
    )
    assert set(outcomes("skill=0", make_pairs(20), prompt=str(prompt)).values()) == {"chosen", "rejected"}
    with pytest.raises(UsageError, match="answer_a"):
        outcomes("length=1", make_pairs(1), prompt=str(prompt))


@pytest.mark.parametrize(
    "name", ["pairwise/label", "pairwise/label_tie", "pairwise/reason", "pairwise/json", "pointwise/score"]
)
def test_the_parser_reads_every_planted_reply_as_what_was_planted(name):
    """Refused and truncated replies included; an expert without noise always prefers the chosen answer."""
    judge = open_backend("fake/skill=50,refuse=0.2,truncate=0.2")
    calls = calls_of(judge, make_pairs(60), prompt=name)
    found, spec = replies(judge, calls), load_prompt(name).spec
    for call in calls:
        reply = found[call.key]
        verdict = read(reply, spec)
        reason = {"refusal": "refused", "length": "truncated", "stop": None}[reply.finish]
        assert verdict.reason == reason
        if reason is None and name == "pointwise/score":
            assert verdict.score == (10 if call.ask.view == "chosen" else 1)
        elif reason is None:
            assert verdict.outcome == ("A" if call.ask.view == "AB" else "B")
    assert {reply.finish for reply in found.values()} == {"stop", "refusal", "length"}
