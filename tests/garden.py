"""Free text about gardens, where no rule finds a final answer; a teacher, verifiers and a judge that see only texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from types import SimpleNamespace

from recuse.asks import Design
from recuse.judge import Answered
from recuse.lab.bench import Lab
from recuse.library import Bias
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
    """Prefers the right answer, but a splendid one to any other; of one answer alone it says how good it is."""
    if "<answer_a>" not in ask.messages[-1].content:
        text = block(ask, "answer")
        return f"Rating: [[{9 if 'splendid' in text else 3 if 'law' in text else 7}]]"
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


def lab(verify: Callable[[Ask], str], asked: list[Ask] | None = None, *, prompt: str = "pairwise/label") -> Lab:
    answers = {"teacher": teacher(verify), "judge": judge}

    def ask(role: str, asks: Sequence[Ask], *, phase: str) -> list[Answered]:
        if asked is not None and role == "teacher":
            asked.extend(asks)
        return [Answered(a, Reply("key", answers[role](a)), fresh=True) for a in asks]

    design = Design(load_prompt(prompt), Sampling(max_tokens=1))
    return Lab(SimpleNamespace(ask=ask), design, Sampling(max_tokens=500), load_wording(), VERIFY)  # type: ignore[arg-type]
