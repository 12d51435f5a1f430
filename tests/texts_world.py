"""A judge and a teacher of the fake world that see nothing but messages, as a server or a user's function would.

The judge knows the right numbers and likes one word: it prefers the right answer unless the wrong one has the word, but
for a share of pairs that it always gets wrong. One of the library's two biases has the word put in under an innocent
name, so that a run finds what lies behind it within a few hundred calls; the other leaves pairs for the screen.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from world import world_pairs

from recuse.backends.fake_teacher import Teacher, Teaching
from recuse.backends.fake_world import WORLD
from recuse.prompts import Prompt, load_prompt
from recuse.types import Ask, Message, Sampling

LIKED = WORLD[1]
PAIRS = world_pairs(40, seed=3)
_RIGHT = {p.prompt: p.reference for p in PAIRS}
_TEACHER = Teacher(Teaching(accuracy=1.0, carry=0.0))
_BIAS = """
id = "{0}"
name = "Prefers a {0} tone"
definition = "Prefers answers in a {0} tone."
manifestations = ["{0} words"]
inject = 'Give the answer a {0} tone.{1}'
family = "social"
status = "seed"
source = ["a paper"]
"""

Messages = Sequence[Mapping[str, str]]


def write_source(folder: Path, **more: str) -> Path:
    """`pairs.jsonl` and `library/` in a folder. `more`: further columns, the same in every row."""
    rows = [
        {"prompt": p.prompt, "chosen": p.chosen, "rejected": p.rejected, "group": p.group, "reference": p.reference}
        for p in PAIRS
    ]
    (folder / "pairs.jsonl").write_text("".join(json.dumps({**row, **more}) + "\n" for row in rows))
    (folder / "library").mkdir()
    for id, more_of_it in (("calm", ""), ("friendly", f' Work in the word "{LIKED.word}".')):
        (folder / f"library/{id}.toml").write_text(_BIAS.format(id, more_of_it))
    return folder


def judge(messages: Messages) -> str:
    """A verdict by the label prompt or by the one that asks for reasons first, or one step of an explanation."""
    last = messages[-1]["content"]
    if chosen := re.search(r"You chose answer ([AB])\.", last):
        text = _block(messages[-3 if len(messages) < 5 else 1]["content"], f"answer_{chosen[1].lower()}")
        return f'The word "{LIKED.word}" counted for more.' if LIKED.word in text else "It reads better."
    question, first, second = (_block(last, tag) for tag in ("question", "answer_a", "answer_b"))
    label = "AB"[_worth(question, second) > _worth(question, first)]
    if "Verdict: A" not in last:
        return label
    why = f'because of the word "{LIKED.word}"' if LIKED.word in (second if label == "B" else first) else "by its sum"
    return f"The answer {label} is better, {why}.\nVerdict: {label}"


def _worth(question: str, answer: str) -> float:
    right = answer.rstrip().endswith(f" {_RIGHT[question]}.")
    draw = hashlib.sha256(question.encode()).digest()[0] / 256
    mistaken = 2.0 * (draw < 0.15)  # on these the judge takes the wrong answer, whatever it says
    return float(right) * (1.0 - mistaken) + 2.0 * (LIKED.word in answer)


def teacher(messages: Messages) -> str:
    """What the fake teacher says, who is never wrong here."""
    prompt = _prompt_of(messages[-1]["content"])
    said = tuple(Message(m["role"], m["content"]) for m in messages)  # type: ignore[arg-type]
    return _TEACHER.answer(Ask("p", "text", said, Sampling(), prompt.hash, schema=prompt.schema)).text


def _prompt_of(text: str) -> Prompt:
    """The shipped prompt that a text was made from, told by its blocks."""
    for tag, name in (
        ("candidate", "merge/same"),
        ("explanation", "extract/case"),
        ("first_text", "verify/same_answer"),
    ):
        if f"<{tag}>" in text:
            return load_prompt(name, kinds=("merge", "extract", "verify"))
    return load_prompt("rewrite/inject", kinds=("rewrite",))


def _block(text: str, tag: str) -> str:
    found = re.search(rf"<{tag}>\n?(.*?)\n?</{tag}>", text, re.DOTALL)
    if found is None:
        raise ValueError(f"no <{tag}> in {text[:200]!r}")
    return found[1]
