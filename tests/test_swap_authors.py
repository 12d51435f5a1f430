"""Self-preference by label and by content: a judge that has it shows it, a weak judge without it shows none."""

from __future__ import annotations

import numpy as np
import pytest
from test_swap_judges import judge_by

from recuse.backends import Capabilities
from recuse.counterfactual.plan import read_plan
from recuse.errors import InputError
from recuse.judge import Answered
from recuse.swap.run import run_swap, swap_modes
from recuse.types import Reply

TEXTS = [{"id": f"x{i}", "question": "Why?", "text": f"Because of number {i}."} for i in range(40)]
AUTHORS = {"own": ["Qwen2.5"], "others": ["GPT-4", "a human expert", "an intern"], "texts": TEXTS}


def findings(plan, send):
    read = read_plan({"schema": 1, **plan})
    return {m.finding.id: m.finding for m in run_swap(read, send, swap_modes(read, Capabilities())).measures}


def test_a_label_that_adds_points_is_told_from_labels_that_do_not():
    by_id = findings({"authors": AUTHORS}, judge_by(lambda t: 5 + 2 * ("Qwen" in t) - ("intern" in t)))
    own = by_id["self_preference.label:pointwise"]
    assert own.estimate == pytest.approx(2 + 1 / 3)
    assert own.outcome == "recuse"
    assert by_id["self_preference.label"].estimate in (own.estimate, 1.0)
    assert by_id["self_preference.label:an intern"].estimate == pytest.approx(-1 - 2 / 3)
    assert by_id["self_preference.label:GPT-4"].estimate == pytest.approx(-1 / 3)
    assert by_id["self_preference.label:pairwise"].estimate == 1.0


def test_labels_without_the_judges_own_family_are_compared_and_self_preference_is_not_measured():
    plan = {"authors": {**AUTHORS, "own": []}}
    by_id = findings(plan, judge_by(lambda t: 5 + ("expert" in t)))
    assert "names no label" in by_id["self_preference.label"].reason
    assert by_id["self_preference.label:a human expert"].estimate == 1.0


def outputs(n: int) -> list[dict[str, str]]:
    """Own outputs are the better ones in three of four items."""
    return [
        {"id": f"o{i}", "question": f"Sum {i}?", "own": f"own {i}", "other": f"other {i}",
         "better": "other" if i % 4 == 0 else "own"}
        for i in range(n)
    ]  # fmt: skip


def coin(p_own):
    """A judge that prefers its own output with `p_own(index of the item)`."""
    rng = np.random.default_rng(0)

    def send(asks):
        replies = []
        for ask in asks:
            text = ask.messages[-1].content
            i = int(text.split("Sum ")[1].split("?")[0])
            own = rng.random() < p_own(i)
            first = "<answer_a>\nown" in text
            replies.append(Answered(ask, Reply("", "A" if own == first else "B"), True))
        return replies

    return send


def test_a_weak_judge_shows_no_self_preference_although_its_own_outputs_are_better():
    found = findings({"outputs": outputs(400)}, coin(lambda i: 0.5))["self_preference.content"]
    assert found.interval[0] <= 0.0 <= found.interval[1]
    assert found.details["gold_prefers_own"] == 0.75  # against this share alone, 0.5 would pose as modesty


def test_errors_in_favour_of_own_outputs_are_found():
    found = findings({"outputs": outputs(400)}, coin(lambda i: 0.4 if i % 4 == 0 else 0.9))["self_preference.content"]
    assert found.interval[0] <= 0.4 - 0.1 <= found.interval[1]
    assert found.interval[0] > 0.1


def test_ties_in_gold_are_left_out_and_missing_verdicts_widen_the_bounds():
    rows = [{**row, "better": "tie"} if i < 10 else row for i, row in enumerate(outputs(50))]
    found = findings({"outputs": rows}, judge_by(lambda t: None if t == "own 12" else 5))["self_preference.content"]
    assert (found.n, found.details["ties_in_gold"]) == (39, 10)
    assert found.bounds[0] < found.interval[0]


def test_labels_that_repeat_and_a_form_without_its_slots_are_refused():
    for change, said in (({"others": ["qwen2.5"]}, "stands in number 1 too"), ({"shown": "{{text}}"}, "slots")):
        with pytest.raises(InputError, match=said):
            read_plan({"schema": 1, "authors": {**AUTHORS, **change}})
