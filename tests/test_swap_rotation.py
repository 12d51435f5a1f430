"""Repetition bias: 1 for a judge of places, 0 for one that is blind to them, however unsure it is."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from recuse.backends import Capabilities
from recuse.counterfactual.plan import read_plan
from recuse.errors import InputError
from recuse.judge import Answered
from recuse.prompts import load_prompt, parse_prompt
from recuse.swap.rotation import repetition
from recuse.swap.run import run_swap, swap_modes
from recuse.types import Reply


def test_every_pattern_of_three_rotations_has_the_value_that_counting_gives():
    """Three places: 1 for one place always, 0 for one answer always; otherwise by counting pairs of rotations."""
    for places in product(range(3), repeat=3):
        answers = [(place + r) % 3 for r, place in enumerate(places)]
        pairs = [(0, 1), (0, 2), (1, 2)]
        same = sum(places[i] == places[j] for i, j in pairs) / 3
        kept = sum(answers[i] == answers[j] for i, j in pairs) / 3
        found = repetition([places], level=0.95).finding
        assert found.estimate == pytest.approx(2 * same - (1 - kept))
        if len(set(places)) == 1:
            assert found.estimate == 1.0
        if len(set(answers)) == 1:
            assert (found.estimate, found.details["same_answer_always"]) == (0.0, 1.0)


@pytest.mark.parametrize("likes", [(1 / 3, 1 / 3, 1 / 3), (0.6, 0.3, 0.1), (0.5, 0.5, 0.0)])
def test_a_judge_that_is_blind_to_places_has_a_mean_of_zero(likes):
    """Exactly, over all verdicts that such a judge may give, weighted by their probability."""
    mean = 0.0
    for answers in product(range(3), repeat=3):
        places = [(answer - r) % 3 for r, answer in enumerate(answers)]
        mean += np.prod([likes[a] for a in answers]) * repetition([places], level=0.95).finding.estimate
    assert mean == pytest.approx(0.0, abs=1e-12)


def test_an_item_that_lacks_a_verdict_may_be_anything_in_the_bounds():
    found = repetition([[0, 0, 0]] * 30 + [[0, None, 0]] * 10, level=0.95).finding
    assert (found.estimate, found.n, found.details["without_verdict"]) == (1.0, 30, 10)
    assert found.bounds[0] < (30 - 10) / 40 < found.interval[0]
    assert repetition([[None, 0, 1]], level=0.95).finding.estimate is None
    with pytest.raises(ValueError, match="three rotations"):
        repetition([[0, 1]], level=0.95)


def asked(pick):
    lineups = [
        {"id": f"l{i}", "question": "Which?", "answers": [f"right {i}", f"wrong {i}", f"bad {i}"]} for i in range(25)
    ]
    plan = read_plan({"schema": 1, "lineups": lineups})

    def send(asks):
        found = []
        for ask in asks:
            text = ask.messages[-1].content
            shown = [text.split(f"<answer_{tag}>\n")[1].split("\n")[0].split()[0] for tag in "abc"]
            found.append(Answered(ask, Reply("", "ABC"[pick(shown)]), True))
        return found

    modes = swap_modes(plan, Capabilities())
    return next(m.finding for m in run_swap(plan, send, modes).measures if m.finding.id == "position.repetition")


def test_three_answers_are_shown_in_rotation_and_read_back():
    of_places, of_answers = asked(lambda shown: 2), asked(lambda shown: shown.index("right"))
    assert (of_places.estimate, of_places.details["share_by_place"]) == (1.0, [0.0, 0.0, 1.0])
    assert of_answers.estimate == 0.0
    assert of_answers.details["same_answer_always"] == 1.0
    assert of_answers.details["share_by_place"] == pytest.approx([1 / 3] * 3)


def test_a_listwise_prompt_needs_its_third_label_and_no_other_has_one():
    assert load_prompt("listwise/label", kinds=("listwise",)).spec.labels == ("A", "B", "C")
    for kind, labels in (("listwise", 'tie = "C"'), ("pairwise", 'third = "C"')):
        text = f'+++\nid="x"\nversion=1\nkind="{kind}"\nformat="label"\nsource="t"\n[labels]\n{labels}\n+++\n@user\n'
        with pytest.raises(InputError, match="third label"):
            parse_prompt(text + "{{first}}{{second}}" + "{{third}}" * (kind == "listwise"))
