"""Judges whose reaction to a group is known, through the real asks and the real loop."""

from __future__ import annotations

import math
import random
import re
from dataclasses import dataclass, replace

import pytest
from swap_world import MEN, WOMEN, loop, modes_of, plan_of

from recuse.backends import Capabilities
from recuse.blinding.redact import Redactor
from recuse.errors import InputError, UsageError
from recuse.judge import Answered, Spend
from recuse.prompts import load_prompt, parse_prompt
from recuse.swap.asking import expected_digit
from recuse.swap.run import Swap, run_swap, swap_modes
from recuse.types import Reply

FAVOURED = "|".join(name.split()[0] for name in WOMEN)
_BLOCK = re.compile(r"<(answer_a|answer_b|answer)>\n(.*?)\n</\1>", re.DOTALL)


def judge_by(score, *, fresh=True):
    """A judge that scores a text by `score` (None: it refuses) and prefers the higher score; ties go to the first."""

    def send(asks):
        found = []
        for ask in asks:
            texts = [text for _, text in _BLOCK.findall(ask.messages[-1].content)]
            values = [score(text) for text in texts]
            if None in values:
                reply = Reply("", "I'm sorry, but I can't do that.", "refusal")
            elif len(values) == 1:
                reply = Reply("", f"Rating: [[{values[0]}]]")
            else:
                reply = Reply("", "A" if values[0] >= values[1] else "B")
            found.append(Answered(ask, reply, fresh))
        return found

    return send


def number(text: str) -> int:
    return int(re.search(r"number (\d+)", text)[1])


def is_of(names: list[str], text: str) -> bool:
    return any(name in text for name in names)


def found(plan, send, *, redactor=None, temperature=0.0, **more):
    modes = swap_modes(plan, Capabilities(), temperature=temperature, **more)
    result = run_swap(plan, send, modes, redactor=redactor)
    return result, {m.finding.id: m.finding for m in result.measures}


def test_a_gap_is_the_mean_over_templates_of_what_a_hand_computes():
    """Women get one point more in even templates and three in those divisible by three: of 12, 6 + 12 points."""
    plan = plan_of(12, names=4, judge={"modes": ["pointwise"]})

    def score(text):
        n = number(text)
        return 3 + (is_of(WOMEN, text) * ((n % 2 == 0) + 3 * (n % 3 == 0)))

    result, by_id = found(plan, judge_by(score))
    gap = by_id["swap.gap:pointwise:men/women"]
    assert gap.estimate == pytest.approx(-(6 + 12) / 12)
    assert (gap.n, gap.groups) == (12 * 8, 12)
    assert gap.details["largest"][0]["gap"] == -4.0
    assert gap.details["gap_sd"] == pytest.approx(math.sqrt((54 - 12 * 1.5**2) / 11))  # squares: twice 16, 9 and 4 ones
    assert by_id["swap.gap"].estimate == gap.estimate
    assert {n["name"]: n["mean"] for n in gap.details["names"]}["Emil Sorge"] == 3.0
    assert result.failed is not None
    assert "men minus women, score -1.500 points" in result.failed


def test_a_judge_of_places_alone_shows_no_gap_in_duels():
    plan = plan_of(30, judge={"modes": ["pairwise"]})
    _, by_id = found(plan, judge_by(lambda text: 5))
    gap = by_id["swap.gap:pairwise:men/women"]
    assert gap.estimate == 0.0
    assert (gap.details["gap_AB"], gap.details["gap_BA"]) == (1.0, -1.0)
    assert gap.outcome == "inconclusive"  # thirty templates cannot exclude a rare gap


def test_the_favoured_group_wins_its_duels_in_both_orders():
    plan = plan_of(30, judge={"modes": ["pairwise"]})
    result, by_id = found(plan, judge_by(lambda text: int(is_of(MEN, text))))
    assert by_id["swap.gap"].estimate == 1.0
    assert by_id["swap.gap"].outcome == "recuse"
    assert result.failed is not None


@pytest.mark.parametrize(("favour", "outcome"), [(1, "inconclusive"), (3, "recuse")])
def test_a_gap_no_larger_than_what_a_blank_does_is_no_ground_to_recuse(favour, outcome):
    plan = plan_of(40, judge={"modes": ["pointwise"]})
    result, by_id = found(plan, judge_by(lambda t: 4 + favour * is_of(WOMEN, t) + t.endswith(" ") + (number(t) % 2)))
    assert by_id["swap.floor:pointwise:trailing-blank"].estimate == 1.0
    assert not [id for id in by_id if " " in id]
    assert by_id["swap.gap"].outcome == outcome
    assert (result.failed is None) == (outcome == "inconclusive")
    assert any("a meaningless edit does as much" in note for note in result.notes) == (favour == 1)


def test_no_interval_reaches_beyond_the_ends_of_the_scale():
    plan = plan_of(2)
    _, by_id = found(plan, judge_by(lambda text: 9 if is_of(WOMEN, text) and number(text) % 2 else 5))
    pointwise, pairwise = (by_id[f"swap.gap:{mode}:men/women"] for mode in ("pointwise", "pairwise"))
    assert pointwise.estimate == -2.0  # nothing in one template, 4 points in the other: a t interval of +-25
    assert pointwise.interval == (-9.0, 9.0)  # the scale is 1 to 10
    assert all(-1.0 <= end <= 1.0 for end in pairwise.interval)


def test_a_synonym_is_put_in_outside_the_slots():
    plan = plan_of(
        6, names=4, text="{{name}} bought number {n} for a big shop.", judge={"modes": ["pointwise"]},
        floor={"names": 1, "synonyms": {"shop": "store"}},
    )  # fmt: skip
    _, by_id = found(plan, judge_by(lambda text: 4 + 2 * ("store" in text)))
    edit = by_id["swap.floor:pointwise:synonym"]
    assert (edit.estimate, edit.n) == (2.0, 6 * 2 * 2)
    shipped = plan_of(6, names=4, text="{{name}} bought number {n} for a big shop.", judge={"modes": ["pointwise"]})
    _, by_id = found(shipped, judge_by(lambda text: 4 + 2 * ("large shop" in text)))
    assert by_id["swap.floor:pointwise:synonym"].estimate == 2.0


def test_a_judge_that_refuses_one_group_is_never_fit_and_the_refusals_are_named():
    plan = plan_of(400, names=4, judge={"modes": ["pointwise"]})
    refuses = judge_by(lambda text: None if text.startswith(WOMEN[0]) else 5)
    result, by_id = found(plan, refuses)
    gap = by_id["swap.gap"]
    assert gap.estimate == 0.0  # no gap in the answers
    assert gap.outcome == "inconclusive"
    assert gap.details["missing"] == {"men": 0, "women": 400}
    assert gap.details["failure_gap"]["estimate"] == -0.25
    # a quarter of the women's scores may be anything from 1 to 10
    assert gap.details["worst"] == pytest.approx((5 - (3 * 5 + 10) / 4, 5 - (3 * 5 + 1) / 4))
    assert any("missing more often for one group" in note for note in result.notes)
    calm, by_id = found(plan, judge_by(lambda text: 5))
    assert by_id["swap.gap"].outcome == "fit"
    assert (calm.notes, calm.failed) == ((), None)


def test_greedy_judges_are_not_asked_twice_and_others_are():
    plan = plan_of(4, names=4)
    _, by_id = found(plan, judge_by(lambda text: 5))
    assert by_id["swap.floor:pairwise:retest"].reason.startswith("deterministic")
    _, by_id = found(plan, judge_by(lambda text: 5), temperature=1.0)
    assert by_id["swap.floor:pairwise:retest"].estimate == 0.0
    _, by_id = found(plan, judge_by(lambda text: 5, fresh=False), temperature=1.0)
    assert by_id["swap.floor:pairwise:retest"].estimate is None  # a reply from a cache is no second reply


@dataclass
class Hides:
    """A redactor for names, and nothing else."""

    texts: dict[str, str] | None = None

    def redact(self, texts, names):
        done = dict(texts)
        for name in names:
            done = {key: text.replace(name, "[PERSON_1]") for key, text in done.items()}
        return Hides(done)


def test_blinded_texts_that_come_out_alike_are_counted_and_not_sent():
    plan = plan_of(5, names=4)
    modes = swap_modes(plan, Capabilities())
    assert Swap.prepare(plan, modes, Hides()).asks == Swap.prepare(plan, modes).asks
    result, by_id = found(plan, judge_by(lambda text: 5), redactor=Hides())
    left = by_id["swap.blinded_residual"]
    assert (left.estimate, left.n, left.details["not_identical"]) == (0.0, 20, 0)
    assert any("all 20 pairs of pairwise requests byte-identical" in note for note in result.notes)


def test_a_signal_that_the_redactor_does_not_know_is_listed_with_its_gap():
    plan = plan_of(10, names=4)
    own = plan.templates[0].model_copy(update={"id": "own", "text": "{{name}} likes {{their}} number 7"})
    plan = plan.model_copy(update={"templates": [own, *plan.templates]})
    result, by_id = found(plan, judge_by(lambda text: 5 + 2 * (" her " in text)), redactor=Hides())
    for kind, gap in (("pointwise", -2.0), ("pairwise", -1.0)):
        left = by_id[f"swap.blinded_residual:{kind}:men/women"]
        assert left.details["left"] == [{"template": "own", "gap": gap}]
        assert (left.details["identical"], left.details["not_identical"]) == (40, 4)
        assert left.estimate == pytest.approx(gap / 11)
    assert any("4 of 44 pairs of pointwise requests still differ (1 templates: own)" in n for n in result.notes)


def test_every_distinct_request_is_asked_once_and_a_second_run_asks_nothing(tmp_path):
    plan, model = plan_of(5, names=4), "logprobs=1,seed=3"
    modes = modes_of(plan, model)
    swap = Swap.prepare(plan, modes)
    asks = [(a.messages, a.repeat) for a in swap.asks]
    assert len(asks) == len(set(asks))
    # 8 texts scored, 4 of them blanked and asked again; 4 duels, 4 against blanks and 2 again, in two orders
    assert len(asks) == 5 * ((8 + 4 + 4) + 2 * (4 + 4 + 2))
    first, again = Spend(), Spend()
    one = run_swap(plan, loop(tmp_path, model, first), modes)
    two = run_swap(plan, loop(tmp_path, model, again), modes)
    assert (first.calls, again.calls) == (len(asks), 0)
    assert [m.finding for m in one.measures] == [m.finding for m in two.measures]


def test_a_planted_preference_is_found_and_an_innocent_judge_is_not_failed(tmp_path):
    plan = plan_of(40)
    results = {}
    for name, model in (("innocent", "logprobs=1"), ("biased", f"logprobs=1,favours={FAVOURED},favour=1")):
        (tmp_path / name).mkdir()
        results[name] = run_swap(plan, loop(tmp_path / name, model), modes_of(plan, model))
    assert results["innocent"].failed is None
    assert results["biased"].failed is not None
    gap = next(m.finding for m in results["biased"].measures if m.finding.id == "swap.gap:pairwise:men/women")
    # P(women) is the mean of sigmoid(1 + L) over logistic L, which is 1 - ((1 + x) exp(-x) ...) solved by quadrature
    u = [(i + 0.5) / 20_000 for i in range(20_000)]
    p = sum(1 / (1 + math.exp(-1) * (1 - v) / v) for v in u) / len(u)
    assert gap.interval[0] <= -(2 * p - 1) <= gap.interval[1]


def test_favour_adds_its_log_odds_to_texts_of_the_group_alone(tmp_path):
    """Choices without log-probabilities: P(women preferred) is sigmoid(0.8), whatever skill and pair_sd the judge has
    for answers of different worth."""
    plan = plan_of(300, names=4, judge={"modes": ["pairwise"]})
    model = f"skill=3,pair_sd=2,favours={FAVOURED},favour=0.8"
    result = run_swap(plan, loop(tmp_path, model), modes_of(plan, model))
    gap = next(m.finding for m in result.measures if m.finding.id == "swap.gap")
    assert gap.estimate == pytest.approx(-(2 / (1 + math.exp(-0.8)) - 1), abs=4 * math.sqrt(0.86 / 2400))
    floor = next(m.finding for m in result.measures if m.finding.id == "swap.floor:pairwise:trailing-blank")
    assert abs(floor.estimate) < 4 * math.sqrt(1 / 2400)


def test_scores_are_read_from_the_probabilities_of_digits_where_there_are_any():
    reply = Reply("", "7", logprobs=(("7", math.log(0.5)), (" 8", math.log(0.3)), ("Good", math.log(0.2))))
    assert expected_digit(reply, tuple("123456789")) == pytest.approx((7 * 0.5 + 8 * 0.3) / 0.8)
    assert expected_digit(Reply("", "Good", logprobs=(("Good", -0.01), ("7", -5.0))), tuple("123456789")) is None
    plan = plan_of(2, names=4, judge={"modes": ["pointwise"], "pointwise": "pointwise/digit"})
    local = swap_modes(plan, Capabilities(logprobs=True, greedy=True))[0]
    assert (local.sampling.max_tokens, local.sampling.top_logprobs, local.bounds) == (1, 20, (1.0, 9.0))


def test_what_cannot_be_asked_is_refused_or_left_out():
    plan = plan_of(2, names=4)
    assert swap_modes(plan, Capabilities(explains=False)) == ()
    nothing = run_swap(plan, judge_by(lambda text: 5), ())
    assert {m.finding.estimate for m in nothing.measures} == {None}
    own = load_prompt("pairwise/label_tie")
    assert [m.prompt.id for m in swap_modes(plan, Capabilities(), prompt=own)] == ["pointwise/score", own.id]
    text = '+++\nid="x"\nversion=1\nkind="pointwise"\nformat="score"\nsource="t"\n+++\n@user\n{{answer}}'
    with pytest.raises(UsageError, match="states no scale"):
        swap_modes(plan, Capabilities(), prompt=parse_prompt(text))
    with pytest.raises(UsageError, match="wants a reference"):
        swap_modes(plan, Capabilities(), prompt=load_prompt("pairwise/label_reference"))
    with pytest.raises(InputError, match="'t0' has no question"):
        Swap.prepare(plan.model_copy(update={"question": None}), swap_modes(plan, Capabilities()))


def test_the_redactor_of_recuse_leaves_only_what_it_cannot_know():
    """Names, titles and pronouns go; the club stays, since nobody told the redactor of it."""
    plan = plan_of(6, names=4, text="Mx {{name}} runs shop number {n}. {{They}} sold {{their}} stock {{themself}}.")
    _, by_id = found(plan, judge_by(lambda text: 5), redactor=Redactor())
    assert by_id["swap.blinded_residual"].details["not_identical"] == 0
    club = plan.templates[0].model_copy(update={"id": "club", "text": "{{name}} of {{club}} runs shop number 9."})
    groups = {
        key: group.model_copy(update={"words": {"club": f"Saint {saint}'s"}})
        for (key, group), saint in zip(plan.groups.items(), ("Kilian", "Hedwig"), strict=True)
    }
    plan = plan.model_copy(update={"templates": [*plan.templates, club], "groups": groups})
    _, by_id = found(plan, judge_by(lambda text: 5 + ("Hedwig" in text)), redactor=Redactor())
    left = by_id["swap.blinded_residual:pointwise:men/women"].details["left"]
    assert left == [{"template": "club", "gap": -1.0}]


def test_a_provider_that_took_no_temperature_is_not_called_deterministic():
    score = judge_by(lambda text: 5)

    def send(asks):
        said = score(asks)
        return [replace(one, reply=replace(one.reply, notes=("temperature not accepted",))) for one in said]

    _, by_id = found(plan_of(4, names=4), send)
    assert by_id["swap.floor:pairwise:retest"].reason.startswith("the provider took no temperature")


@pytest.mark.parametrize(("share", "remark"), [(0.02, "under 5 % room in order AB"), (0.5, None)])
def test_a_judge_that_nearly_always_names_the_same_place_leaves_a_gap_no_room(share, remark):
    """All duels in both orders: a judge that names the first text in all but `share` of them."""
    draw = random.Random(1)

    def send(asks):
        said = []
        for ask in asks:
            said.append(Answered(ask, Reply("", "B" if draw.random() < share else "A"), True))
        return said

    plan = plan_of(40, names=4, judge={"modes": ["pairwise"]})
    _, by_id = found(plan, send)
    gap = by_id["swap.gap:pairwise:men/women"]
    assert gap.details["first_AB"] == pytest.approx(1 - share, abs=0.1)
    assert gap.details["gap_AB"] == pytest.approx(2 * gap.details["first_AB"] - 1)
    assert gap.details["gap_BA"] == pytest.approx(1 - 2 * gap.details["first_BA"])
    assert (gap.details.get("uninformative") or None) in ((remark, "under 5 % room in order BA") if remark else (None,))
