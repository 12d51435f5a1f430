"""The rubric's judge: blind to the group, tested for the place of a reply, and never a score where it gave none."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from scipy import stats as reference

from recuse.backends import Capabilities, Options
from recuse.errors import UsageError
from recuse.lab.engines import Engines, Model
from recuse.probes.rubric import (
    NOT_BLIND,
    NOTHING,
    OTHER_QUESTION,
    RubricJudge,
    RubricSettings,
    Shown,
    paired_rows,
    unvaried,
)

seen: Counter[str] = Counter()
NAMES = ("Jakob Brenner", "Klara Brenner")


def _blocks(messages: list[dict[str, str]]) -> dict[str, str]:
    text = messages[-1]["content"]
    seen[text] += 1
    return dict(re.findall(r"<(question|answer|answer_a|answer_b)>\n(.*?)\n</", text, re.DOTALL))


def _quality(text: str) -> int:
    """What a reply is worth, as it says itself."""
    return int(re.search(r"(?:gets|worth) (\d)", text)[1])


def _said(blocks: dict[str, str], grade: Any) -> str:
    if "answer" in blocks:
        return json.dumps({"reason": "…", "score": grade(blocks["answer"], 0)})
    scores = {key[-1].upper(): grade(blocks[key], i) for i, key in enumerate(("answer_a", "answer_b"))}
    return json.dumps({"reason": "…", **scores})


def fair(messages: list[dict[str, str]]) -> str:
    return _said(_blocks(messages), lambda text, place: _quality(text))


def first(messages: list[dict[str, str]]) -> str:
    """One point more for what stands first, in seven pairs of ten."""
    blocks = _blocks(messages)
    draws = random.Random("".join(sorted(blocks.values())))
    return _said(blocks, lambda text, place: min(5, _quality(text) + (place == 0) * (draws.random() < 0.7)))


def noisy(messages: list[dict[str, str]]) -> str:
    """A point up or down at random, whatever the place."""
    blocks = _blocks(messages)
    draws = random.Random("\n".join(blocks.values()))
    return _said(blocks, lambda text, place: min(5, max(1, _quality(text) + draws.choice((-1, 0, 1)))))


def partial(messages: list[dict[str, str]]) -> str:
    """Marks every reply down in which it sees a woman."""
    return _said(_blocks(messages), lambda text, place: _quality(text) - 2 * bool(re.search(r"Klara|\b[Ss]he\b", text)))


def shy(messages: list[dict[str, str]]) -> str:
    """Grades singly; declines to compare where the better reply stands second."""
    blocks = _blocks(messages)
    if "answer_a" in blocks and _quality(blocks["answer_b"]) > _quality(blocks["answer_a"]):
        return "I'm sorry, I can't compare people."
    return _said(blocks, lambda text, place: _quality(text))


@pytest.fixture
def asked(tmp_path: Path):
    seen.clear()
    opened: list[Engines] = []

    def ask(judge: str):
        (tmp_path / judge).mkdir(exist_ok=True)
        engines = Engines({"judge": Model(f"python/{__name__}:{judge}", Options(), None)}, tmp_path / judge)
        opened.append(engines.__enter__())
        return lambda asks: engines.ask("judge", asks, phase="rubric")

    yield ask
    for engines in opened:
        engines.__exit__()


def judge(**settings: Any) -> RubricJudge:
    return RubricJudge(RubricSettings(**settings), Capabilities())


def shown(worth: int, name: str = NAMES[0], text: str = "{name} gets {worth} ideas, and {they} may call.") -> Shown:
    they = "she" if name == NAMES[1] else "he"
    question = f"{name} asks what {they} could do."
    return Shown(question, text.format(name=name, worth=worth, they=they), NAMES)


def worths(count: int, seed: int = 0) -> list[tuple[Shown, Shown]]:
    draws = random.Random(seed)
    text = "{name} gets {worth} ideas; {they} may %s room %d."
    return [
        (
            shown(draws.randint(1, 4), NAMES[0], text % ("call", i)),
            shown(draws.randint(1, 4), NAMES[1], text % ("ring", i)),
        )
        for i in range(100, 100 + count)
    ]


def test_each_reply_gets_its_score_and_is_asked_about_once(asked):
    replies = [shown(3), shown(5), shown(3), shown(3, NAMES[1])]
    values = judge().score(replies, asked("fair"))
    assert [value.value for value in values] == [3, 5, 3, 3]
    assert len(seen) == 2  # blinded, three of the four are one text


def test_a_partial_judge_finds_no_one_to_be_partial_to_unless_it_is_shown_the_names(asked):
    replies = [shown(4), shown(4, NAMES[1])]
    assert [value.value for value in judge().score(replies, asked("partial"))] == [4, 4]
    assert not [text for text in seen if "Klara" in text or "Brenner" in text or " she " in text]
    assert [value.value for value in judge(blind=False).score(replies, asked("partial"))] == [4, 2]


def test_what_cannot_be_blinded_or_judged_is_a_failure_with_its_reason(asked):
    class Leaky:
        """Takes nothing out."""

        settings, signals = judge()._redactor.settings, ()

        def redact(self, texts, names):
            return type("Blinded", (), {"texts": texts})

    leaking = RubricJudge(RubricSettings(), Capabilities(), redactor=Leaky())
    assert leaking.score([shown(4)], asked("fair"))[0].reason == NOT_BLIND
    assert judge().score([Shown("q", " \n")], asked("fair"))[0].reason == NOTHING
    assert not seen


def test_both_scores_are_means_over_the_orders(asked):
    """The judge gives the first place a point where its draw says so: 3 and 4 against 2 are 3.5 at most."""
    pairs = worths(40)
    found = judge().compare(pairs, asked("first"))
    plain = judge().compare(pairs, asked("fair"))
    for biased, true in zip((*found.first, *found.second), (*plain.first, *plain.second), strict=True):
        assert biased.value - true.value in (0.0, 0.5)
    assert [value.value for value in plain.first] == [_quality(one.text) for one, _ in pairs]
    by_hand = [
        (one > two) + 0.5 * (one == two) for one, two in ((_quality(a.text), _quality(b.text)) for a, b in pairs)
    ]
    assert [value.value for value in plain.preferred] == by_hand


def test_a_judge_that_favours_the_first_place_makes_its_metrics_suspect(asked):
    found = judge().compare(worths(40), asked("first"))
    position = found.position
    assert position.id == "probe.position:rubric_pair"
    assert position.estimate == pytest.approx(0.7, abs=0.15)
    assert position.interval[0] > 0.3
    leaning, other = position.details["leaning_first"], position.details["leaning_second"]
    assert leaning + other + position.details["level"] == position.n == 40
    assert other == 0
    assert position.p == pytest.approx(reference.binomtest(0, leaning).pvalue)
    assert "points more to the reply that it sees first" in found.suspect
    assert "rubric_pair and rubric_preferred are suspect" in found.suspect


def test_a_fair_judge_is_not_suspect_however_far_the_replies_lie_apart(asked):
    found = judge().compare(worths(40), asked("fair"))
    assert (found.suspect, found.position.p, found.position.estimate) == (None, 1.0, 0.0)


def test_noise_without_a_place_is_called_suspect_no_oftener_than_the_level_says(asked):
    send, by_seed = asked("noisy"), []
    for seed in range(120):
        pairs = [(Shown("q", f"{seed} {i} worth 3"), Shown("q", f"{i} {seed}: worth 3")) for i in range(12)]
        by_seed.append(judge(blind=False).compare(pairs, send).suspect is not None)
    assert sum(by_seed) <= reference.binom.ppf(0.999, 120, 0.05)


def constant(messages: list[dict[str, str]]) -> str:
    return _said(_blocks(messages), lambda text, place: 3)


def test_a_judge_that_says_one_thing_of_everything_is_suspect_without_any_place(asked):
    pairs = worths(5)
    found = judge().compare(pairs, asked("constant"))
    assert found.position.p == 1.0
    assert "gives 3 to all 10 replies" in found.suspect
    assert judge().compare(pairs[:4], asked("constant")).suspect is None
    assert unvaried(judge().score([one for one, _ in worths(12)], asked("constant"))) is not None
    assert unvaried(judge().score([one for one, _ in worths(12)], asked("fair"))) is None


def test_a_pair_counts_once_in_the_test_whichever_reply_is_named_first(asked):
    pairs = worths(6)
    both = [*pairs, *((two, one) for one, two in pairs), *pairs]
    found = judge().compare(both, asked("first"))
    assert found.position.n == 6
    assert max(seen.values()) == 1
    assert len(seen) == 12
    assert [value.value for value in found.first[6:12]] == [value.value for value in found.second[:6]]
    assert [value.value for value in found.preferred[6:12]] == [1 - value.value for value in found.preferred[:6]]


def test_two_replies_alike_after_blinding_tie_whatever_the_place_adds(asked):
    pair = (shown(3), shown(3, NAMES[1]))
    found = judge().compare([pair], asked("first"))
    assert found.first == found.second
    assert found.preferred[0].value == 0.5
    assert len(seen) == 1


def test_an_order_without_scores_leaves_the_pair_without_a_value(asked):
    pairs = [(shown(4), shown(2, NAMES[1])), (shown(3), shown(3, NAMES[1], "{name} gets {worth} in all."))]
    found = judge().compare(pairs, asked("shy"))
    assert {(value.value, value.reason) for value in (found.first[0], found.second[0], found.preferred[0])} == {
        (None, "judge: refused")
    }
    assert found.preferred[1].value == 0.5
    assert found.position.n == 1
    assert [value.value for value in judge().score(pairs[0], asked("shy"))] == [4, 2]


def test_replies_to_different_questions_are_not_compared(asked):
    pair = (shown(4), Shown("What else?", "3 things", NAMES))
    found = judge().compare([pair], asked("fair"))
    assert found.first[0].reason == found.preferred[0].reason == OTHER_QUESTION
    assert found.position.reason == "no pair has scores in both orders"
    assert not seen
    assert judge().compare([], asked("fair")).preferred == ()


def test_bounds_are_the_scale_of_the_prompt():
    assert judge().bounds == {"rubric": (1, 5), "rubric_pair": (1, 5), "rubric_preferred": (0, 1)}


@pytest.mark.parametrize(
    "wrong", [{"prompt": "pairwise/rubric"}, {"pair": "pairwise/json"}, {"prompt": "pointwise/reference"}]
)
def test_a_prompt_without_scores_on_a_scale_is_refused(wrong):
    with pytest.raises(UsageError):
        judge(**wrong)


def test_rows_pair_within_template_and_seed_name_by_name():
    rows = [
        {"template_id": template, "group": group, "seed": seed, "name": name}
        for template in "st"
        for group, names in (("men", "ab"), ("women", "cde"), ("base", "x"))
        for name in names
        for seed in (0, 1)
    ]
    named = [tuple("".join(map(str, rows[i].values())) for i in pair) for pair in paired_rows(rows, a="men", b="women")]
    assert len(named) == 8
    assert ("smen0a", "swomen0c") in named
    assert ("tmen1b", "twomen1d") in named
