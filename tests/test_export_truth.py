"""The second look at the truth: what the first check let pass, by rule, by a model both ways, by tests of code."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from recuse.export.select import Item
from recuse.export.truth import look_again
from recuse.judge import Answered
from recuse.perturb.arms import Arm, Rewrite
from recuse.prompts import load_prompt
from recuse.types import Ask, Pair, Reply, Sampling

ARM = Arm("bias:x", "bias", bias="x", instruction="Sound sure.")
SUM = Pair("sum", "What is 6 times 7?", "We add sevens. The answer is 42.", "We add eights. The answer is 48.", "sum")
PROSE = Pair(
    "prose", "Why is the sky blue?", "Light scatters in the air " * 9, "The sea colours it from below " * 9, "p"
)
CODE = Pair(
    "code", "Write add(a, b).", "```python\ndef add(a, b):\n    return a + b\n```",
    "```python\ndef add(a, b):\n    return a - b\n```", "c", meta={"test_list": ["assert add(1, 2) == 3"]},
)  # fmt: skip


class Teacher:
    """A verifier that finds texts the same as the test says, by which one stands first."""

    def __init__(self, same: dict[str, bool]) -> None:
        self.same, self.asked = same, list[Ask]()

    def ask(self, role: str, asks: Sequence[Ask], *, phase: str) -> list[Answered]:
        self.asked += asks
        replies = []
        for ask in asks:
            said = next(
                same for first, same in self.same.items() if f"<first_text>\n{first}" in ask.messages[-1].content
            )
            replies.append(Answered(ask, Reply("k", f'{{"same": {str(said).lower()}, "repaired": false}}'), True))
        return replies


def looked(
    pair: Pair, text: str, *, checked: str = "rule", teacher: Teacher | None = None, run_code: bool = False
) -> Any:
    verify = load_prompt("verify/same_answer", kinds=("verify",))
    lab: Any = SimpleNamespace(
        run_code=run_code, verify=verify, brief=lambda prompt: Sampling(), engines=teacher or Teacher({})
    )
    item = Item(pair, ARM.id, "x", Rewrite(pair.id, ARM.id, text, checked=checked))
    return look_again([item], {ARM.id: ARM}, lab)[item.key]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("As experts say, we add eights. The answer is 48.", ()),
        ("As experts say, we add eights. The answer is 42.", ("repaired",)),
        ("As experts say, we add eights. The answer is 47.", ("answer_changed",)),
    ],
)
def test_a_final_answer_that_a_rule_can_read_must_still_be_the_same_wrong_one(
    text: str, found: tuple[str, ...]
) -> None:
    assert looked(SUM, text) == found


def test_answers_that_end_alike_say_nothing_of_repair() -> None:
    pair = Pair("q", "What is 6 times 7?", "Six sevens. The answer is 42.", "Sevens. The answer is 42.", "q")
    assert looked(pair, "Clearly, sevens. The answer is 42.") == ()


def test_where_a_model_said_so_first_it_must_say_so_the_other_way_round_too() -> None:
    after = "Experts agree: the sea colours it. " * 8
    agrees, differs = Teacher({after.strip(): True}), Teacher({after.strip(): False})
    assert looked(PROSE, after, checked="verifier", teacher=agrees) == ()
    assert looked(PROSE, after, checked="verifier", teacher=differs) == ("answer_changed",)
    (ask,) = agrees.asked
    text = ask.messages[-1].content
    assert text.index(after.strip()) < text.index(PROSE.rejected.strip())


def test_a_model_is_not_asked_where_a_rule_decided() -> None:
    teacher = Teacher({})
    assert looked(SUM, "Surely we add eights. The answer is 48.", checked="number", teacher=teacher) == ()
    assert teacher.asked == []


def test_code_is_run_only_where_that_is_allowed_and_then_the_bug_must_survive() -> None:
    mended = CODE.chosen.replace("return", "# As experts do.\n    return")
    assert looked(CODE, mended, run_code=True) == ("repaired",)
    assert looked(CODE, CODE.rejected.replace("return", "# As experts do.\n    return"), run_code=True) == ()
