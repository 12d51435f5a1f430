"""Judges for `python/inspect_world:FUNCTION`, and models of Inspect that say what they are told."""

from __future__ import annotations

import gc
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import recuse

AUDITED = "python/inspect_world:fair"


def _answers(text: str) -> tuple[str, str]:
    """The two answers, in the order in which the prompt shows them."""
    first, second = (
        re.search(r"good|bad|plain", shown)[0] for shown in re.findall(r"<answer_[ab]>(.*?)</", text, re.S)
    )
    return first, second


def fair(messages: list[dict[str, str]]) -> str:
    """Prefers what is good to what is plain, and that to what is bad; declines to speak of secrets."""
    text = messages[-1]["content"]
    if "secret" in text:
        return "I'm sorry, but I can't help with that."
    first, second = (("bad", "plain", "good").index(word) for word in _answers(text))
    return "C" if first == second else "A" if first > second else "B"


def first(messages: list[dict[str, str]]) -> str:
    return "A"


def grade(messages: list[dict[str, str]]) -> str:
    return (
        "Rating: [[9]]"
        if "good" in messages[-1]["content"].split("<answer>")[1].split("</answer>")[0]
        else "Rating: [[2]]"
    )


def audit(folder: Path, judge: str = AUDITED, *, pairs: int = 150, **settings: Any) -> Path:
    """A run folder of an audit of the judge on pairs of a good and a bad answer; either is the longer one by turns."""
    source = folder / "pairs.jsonl"
    rows = [
        {"prompt": f"Question {n}?", "chosen": f"good {n}", "rejected": f"bad {n}{'!!' * (n % 2)}"}
        for n in range(pairs)
    ]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return recuse.audit(judge, str(source), out=folder / "audit", **settings).folder


def model(replies: Iterable[str], name: str = "mockllm/model") -> Any:
    """A model that gives these replies. Its usage is set, since Inspect would fetch a tokenizer to count it."""
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    outputs = []
    for text in replies:
        output = ModelOutput.from_content(name, text)
        output.usage = ModelUsage()
        outputs.append(output)
    return get_model(name, custom_outputs=outputs, memoize=False)


def evaluate(task: Any, replies: Iterable[str], logs: Path, *, format: str = "eval") -> Any:
    """The log of one task, its samples asked one by one."""
    from inspect_ai import eval as run

    (log,) = run(task, model=model(replies), log_dir=str(logs), log_format=format, display="none", max_samples=1)
    gc.collect()  # streams that Inspect leaves open warn when they are collected: here, where the tests let that pass
    assert log.status == "success", log.error
    return log
