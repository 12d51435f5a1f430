"""Inspect's eval logs, .eval or .json: https://inspect.aisi.org.uk/eval-logs.html. Read by inspect_ai itself.

Three kinds of score are verdicts on pairs:

recuse's scorer    `recuse.inspect.judge_scorer` keeps verdict and reply of each order: A is the sample's answer, B the
                   baseline
a task of judging  the sample shows a judge two answers, its target is the better one's letter, and `choice`, `answer`,
                   `match`, `pattern` or the like reads the model's reply. The judge is the evaluated model. Metadata
                   gives `order` ("AB", or "BA" where the answers were swapped: the target is as shown); without it,
                   the sample's two `choices` are the answers, and the same two in the other order are one pair
graded answers     `model_graded_qa`, `model_graded_fact` or another scorer that asks a model: two samples with one
                   input (or one `pair` in their metadata) are a pair, by their grades. The judge is the grader

Metadata may hold `pair`, `group`, `domain`, and, for graded answers, `gold` (true: this is the better answer). Epochs
are repeats. A grade of one answer without a second one is no preference and is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from recuse.errors import InputError
from recuse.extras import require
from recuse.recorded.entry import Gold, Preset, shown
from recuse.recorded.rows import as_text
from recuse.recorded.taken import Graded, Orders, Taken, grade_of, left_alone, paired, table, taken_entry, truth
from recuse.types import Finish, Outcome, Reason

SCORED = "recuse"  # under this key of a score's metadata, our scorer keeps what it saw
_LINE = {"choice": "verdict_line", "answer": "verdict_line"}  # scorers whose replies end in a line "ANSWER: A"
_BY_TEXT = {"match", "includes", "pattern", "answer", "choice", "exact", "f1", "math", "perplexity"}
_LETTERS: Mapping[str, Outcome] = {"a": "A", "b": "B", "c": "tie", "tie": "tie"}
_GOLD: Mapping[str, Gold] = {"a": "A", "b": "B", "c": "tie", "tie": "tie"}
_FINISH: Mapping[str, Finish] = {"max_tokens": "length", "model_length": "length", "content_filter": "refusal"}
_GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_REASONS: Mapping[str, Reason] = {"refusal": "refused"}

INSPECT = Preset(
    columns=frozenset({"pair", "scorer", "sample", "task"}),
    judge="judge",
    entry=taken_entry,
    settings=("task", "scorer"),
)


def inspect_rows(path: Path) -> Taken:
    """The verdicts on pairs in one log. Raises MissingExtra without inspect_ai, InputError for no log or no samples."""
    log = require("inspect_ai.log", "inspect")
    try:
        found = log.read_eval_log(str(path), resolve_attachments=True)
    except Exception as error:  # noqa: BLE001 - zipfile, pydantic, json: whatever a broken file raises there
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"Inspect cannot read this log ({said})", path=path, hint="Give a whole eval log.") from None
    if not found.samples:
        raise InputError("this log has no samples", path=path, hint="Give a log that was written with its samples.")
    orders, rows, graded, unread = Orders(), [], [], 0
    for number, sample in enumerate(found.samples, start=1):
        for name, score in (sample.scores or {}).items():
            more = {"task": found.eval.task, "scorer": name, "sample": as_text(sample.id), **_group(sample)}
            ours = table((score.metadata or {}).get(SCORED))
            if "verdicts" in ours:
                rows += [(number, row) for row in _ours(sample, ours, more)]
            elif (row := _judging(sample, score, orders, {**more, "judge": found.eval.model})) is not None:
                rows.append((number, row))
            elif name not in _BY_TEXT:
                graded.append(
                    _graded(number, sample, score, {**more, "judge": ours.get("judge") or _grader(found.eval, name)})
                )
            else:
                unread += 1
    two, alone = paired(graded)
    notes = [f"Left out: {unread:,} scores that compare texts and come from no judge."] if unread else []
    if found.status != "success":
        notes.append(f"The log's status is {found.status!r}: it may lack samples.")
    return Taken([*rows, *two], [*notes, *left_alone(alone)])


def _group(sample: Any) -> dict[str, Any]:
    meta = sample.metadata
    return {"group": as_text(meta.get("group", meta.get("pair", sample.id))), "domain": meta.get("domain")}


def _ours(sample: Any, kept: Mapping[str, Any], more: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for one in kept.get("verdicts", []):
        yield {
            **more, "pair": f"{sample.id}/{sample.epoch}", "judge": kept["judge"], "order": one["order"],
            "verdict": one["verdict"], "reason": one["reason"], "text": one["text"], "finish": one["finish"],
            "format": kept["format"], "gold": _GOLD.get(as_text(sample.metadata.get("gold", "")).casefold()),
            "chars_a": kept["chars"][0], "chars_b": kept["chars"][1],
        }  # fmt: skip


def _judging(sample: Any, score: Any, orders: Orders, more: Mapping[str, Any]) -> dict[str, Any] | None:
    """Of a task whose sample shows two answers; None for a sample that is none."""
    target = sample.target if isinstance(sample.target, str) else "".join(sample.target)
    gold, meta, choices = _GOLD.get(target.casefold()), sample.metadata, sample.choices or []
    if gold is None or not ("order" in meta or len(choices) in (2, 3)):
        return None
    pair = as_text(meta.get("pair", sample.id))
    if "order" in meta:
        order, answers = as_text(meta["order"]), None
    else:
        answers = choices[0], choices[1]
        key = pair if "pair" in meta else as_text(_input(sample))
        order = orders.of((key,), *answers)
        pair = f"{key} / {min(answers)} / {max(answers)}" if "pair" not in meta else pair
    verdict = _LETTERS.get(as_text(score.answer or "").strip().casefold())
    stop = sample.output.stop_reason if sample.output.choices else None
    row: dict[str, Any] = {
        **more, "pair": pair, "order": order, "verdict": verdict, "gold": shown(gold, order == "BA"),
        "reason": "transport_error" if sample.error else None, "repeat": sample.epoch - 1,
        "text": sample.output.completion, "finish": _FINISH.get(stop or "", "stop"),
        "format": None if sample.error else meta.get("format", _LINE.get(str(more["scorer"]))),
    }  # fmt: skip
    if answers is not None:
        a, b = reversed(answers) if order == "BA" else answers
        row |= {
            "chars_a": len(a),
            "chars_b": len(b),
            "group": meta.get("group", meta.get("pair", as_text(_input(sample)))),
        }
    return row


def _graded(number: int, sample: Any, score: Any, more: Mapping[str, Any]) -> Graded:
    meta = sample.metadata
    pair = as_text(meta.get("pair", _input(sample)))
    group = as_text(meta.get("group", pair))
    grade = _GRADES.get(score.value, score.value) if isinstance(score.value, str) else score.value
    grade = grade_of(float(grade) if isinstance(grade, bool) else grade)
    reason = None if grade is not None else _REASONS.get(score.reason or "", "no_verdict")
    key = (pair, str(more["scorer"]), str(more["judge"]), str(sample.epoch))
    return Graded(
        number, key, sample.output.completion, grade, truth(meta.get("gold")),
        {**more, "pair": pair, "group": group, "repeat": sample.epoch - 1}, reason, as_text(score.explanation or ""),
    )  # fmt: skip


def _input(sample: Any) -> str:
    if isinstance(sample.input, str):
        return sample.input
    return "\n".join(message.text for message in sample.input)


def _grader(spec: Any, scorer: str) -> str:
    """The model that grades: named to the scorer, in the role of a grader, or the one that is evaluated."""
    for one in spec.scorers or []:
        model = (one.options or {}).get("model") if one.name.rpartition("/")[2] == scorer else None
        if isinstance(model, Mapping):
            model = model.get("model")
        if isinstance(model, str):
            return model
    role = (spec.model_roles or {}).get("grader")
    role = role[0] if isinstance(role, list) else role
    return str(role.model) if role is not None else str(spec.model)
