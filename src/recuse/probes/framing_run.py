"""A model answers the questions of a framing plan, neutral and in every frame; and rows of such answers from a file."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from recuse.errors import InputError, UsageError
from recuse.judge import Answered
from recuse.lab.engines import Watch
from recuse.probes.framing import Row, ceiling_note, framing_effects, framing_findings, headline, plain
from recuse.probes.framing_plan import LEAST_DRAWS, NEUTRAL, Frame, FramingPlan, Question, load_framing_plan
from recuse.probes.product import Found, Product, Reached, Send, carry_out
from recuse.probes.records import file_of
from recuse.prompts import Prompt, load_prompt
from recuse.recorded.rows import Row as Line
from recuse.recorded.rows import read_rows
from recuse.types import Ask
from recuse.verdict.read import read

NOISES = ("repeats", "edits")
_TRUE = {"true": True, "1": True, "false": False, "0": False, "null": False}


@dataclass(frozen=True)
class Shown:
    """One text: a question, alone or in a frame, and for a model that does not sample under an edit."""

    question: Question
    frame: Frame | None
    draw: int

    @property
    def name(self) -> str:
        return self.frame.id if self.frame else NEUTRAL


@dataclass(frozen=True)
class FramingRun:
    """A plan and a model that is open; nothing is asked yet."""

    plan: FramingPlan
    path: Path | None
    product: Product
    prompt: Prompt
    draws: int
    noise: str

    @classmethod
    def prepare(
        cls, plan: Path | None, reached: Reached, *, draws: int = LEAST_DRAWS, noise: str | None = None
    ) -> FramingRun:
        """Read the plan (None: the shipped one) and open the model. `noise` says what a draw is; None: an edit at
        temperature 0, where a repeat says nothing, else a repeat.

        Raises RecuseError for what is wrong with them.
        """
        loaded, prompt = load_framing_plan(plan), load_prompt("probe/framed", kinds=("probe",))
        if draws < LEAST_DRAWS:
            hint = f"Give at least {LEAST_DRAWS}: a flip says nothing without the noise floor."
            raise UsageError(f"--draws is {draws}.", hint=hint)
        if noise not in (None, *NOISES):
            raise UsageError(f"--noise is {noise!r}.", hint=f"Give {' or '.join(NOISES)}.")
        product = Product.open(reached)
        fault, known = "", len(loaded.edits)
        if noise == "repeats" and not product.varies:
            fault, hint = "At temperature 0 a repeat says nothing.", "Take --noise edits, or a --temperature above 0."
        noise = noise or ("repeats" if product.varies else "edits")
        if noise == "edits" and draws > known:
            fault, hint = f"The plan has {known} edits for {draws} draws.", f"Give --draws {known}, or more edits."
        if fault:
            product.close()
            raise UsageError(fault, hint=hint)
        return cls(loaded, plan, product, prompt, draws, noise)

    def texts(self) -> list[Shown]:
        frames = (None, *self.plan.frames)
        return [Shown(q, frame, draw) for q in self.plan.questions for frame in frames for draw in range(self.draws)]

    def ask(self, one: Shown) -> Ask:
        edits = self.noise == "edits"
        edit = self.plan.edits[one.draw] if edits else "{{text}}"
        first, second = self.plan.labels_of(one.question)
        values = {"text": self.plan.shown(one.question, one.frame, edit), "first": first, "second": second}
        return Ask(
            f"{one.question.id}/{one.name}/{one.draw if edits else 0}", "text",
            self.prompt.fill(**values), self.product.sampling(self.prompt.max_tokens), self.prompt.hash,
            (first, second), arm="framing", repeat=0 if edits else one.draw,
        )  # fmt: skip

    def of_run(self) -> dict[str, Any]:
        return {
            "plan_hash": self.plan.hash, "prompt": self.prompt.id, "prompt_hash": self.prompt.hash,
            "draws": self.draws, "noise": self.noise,
        }  # fmt: skip

    def estimate(self) -> dict[str, Any]:
        return self.product.estimate([self.ask(one) for one in self.texts()])

    def close(self) -> None:
        self.product.close()


def run_framing(
    run: FramingRun,
    *,
    level: float = 0.95,
    watch: Watch = lambda phase, done, total, cost: None,
    stop: threading.Event | None = None,
) -> tuple[dict[str, Any], Path]:
    """Ask, measure and write the run folder; see `product.carry_out`."""
    plan = {
        "path": str(run.path) if run.path else "shipped", "hash": run.plan.hash,
        "questions": len(run.plan.questions), "frames": [frame.id for frame in run.plan.frames],
    }  # fmt: skip
    return carry_out(
        run.product, "framing", run.of_run(), plan, lambda send: _work(run, send, level), level=level, watch=watch,
        stop=stop,
    )  # fmt: skip


def _work(run: FramingRun, send: Send, level: float) -> Found:
    texts = run.texts()
    answered = send([run.ask(one) for one in texts], "framing")
    read_rows = [_read(run, one, answer) for one, answer in zip(texts, answered, strict=True)]
    rows = [row for row, _ in read_rows]
    found = framing_effects(rows, level=level, draws=run.noise)
    notes = []
    if run.noise == "edits":
        notes.append("The noise floor is what meaningless edits of a text do.")
    elif found.noise.estimate == 0.0:
        notes.append(
            "No neutral answer changed when it was asked again. A model that does not sample may still change with any "
            "word: --noise edits takes meaningless edits for the noise floor."
        )
    if ceiling := ceiling_note(rows):
        notes.append(ceiling)
    return Found(
        headline(found),
        framing_findings(found),
        [record for _, record in read_rows],
        {"framing": plain(found)},
        tuple(notes),
    )


def _read(run: FramingRun, one: Shown, answered: Answered) -> tuple[Row, dict[str, Any]]:
    first, second = labels = run.plan.labels_of(one.question)
    verdict = read(answered.reply, replace(run.prompt.spec, first=first, second=second))
    said = None if verdict.outcome is None else labels["AB".index(verdict.outcome)]
    frame = one.frame
    leads = labels[("first", "second").index(frame.leads)] if frame and frame.leads else None
    row = Row(
        one.question.id, one.name, said, verdict.reason if said is None else None, leads,
        bool(frame and frame.placebo),
    )  # fmt: skip
    record = {
        "question": row.question, "frame": row.frame, "seed": one.draw, "answer": row.answer,
        "answer_reason": row.reason, "leads": row.leads, "placebo": row.placebo, "draws": run.noise, "first": first,
        "second": second, "prompt": answered.ask.messages[-1].content, "reply": answered.reply.text,
        "finish": answered.reply.finish, "fresh": answered.fresh,
    }  # fmt: skip
    return row, record


def read_framed(path: Path) -> tuple[list[Row], str]:
    """Rows of recorded answers, one a draw, and what a draw is: columns `question`, `frame` ("neutral" for the question
    as it is) and `answer` (empty where none could be read), and if need be `answer_reason`, `leads` (the answer to
    which a frame leads), `placebo` and `draws`.

    Raises InputError, naming file, row and field, for what is no such file, no neutral rows, and fewer than five of a
    question.
    """
    path = file_of(path)
    lines, _ = read_rows(path)
    rows = [_recorded(line) for line in lines]
    neutral = [row.question for row in rows if row.frame == NEUTRAL]
    if not neutral:
        raise InputError(
            f"no row is of the frame {NEUTRAL!r}", path=path, field="frame",
            hint="Give the questions without a frame too: a flip is a change from them.",
        )  # fmt: skip
    for question in dict.fromkeys(row.question for row in rows):
        if neutral.count(question) < LEAST_DRAWS:
            raise InputError(
                f"the question {question!r} has {neutral.count(question)} neutral rows", path=path, field="question",
                hint=f"Ask it at least {LEAST_DRAWS} times: a flip says nothing without the noise floor.",
            )  # fmt: skip
    for frame in dict.fromkeys(row.frame for row in rows):
        if len({row.placebo for row in rows if row.frame == frame}) > 1:
            raise InputError(
                f"the frame {frame!r} is a placebo in some rows only", path=path, field="placebo", hint="Correct them."
            )
    return rows, str(lines[0].get("draws") or "repeats")


def _recorded(line: Line) -> Row:
    if "answer" not in line.values:
        line.word("answer")
    answer = (line.text("answer") or "").strip() or None
    leads = (line.text("leads") or "").strip() or None if "leads" in line.values else None
    placebo = line.choice("placebo", _TRUE) if "placebo" in line.values else False
    why = line.get("answer_reason")
    return Row(
        line.word("question"), line.word("frame"), answer.casefold() if answer else None, str(why) if why else None,
        leads.casefold() if leads else None, placebo,
    )  # fmt: skip


def framed_result(rows: Sequence[Row], draws: str, *, level: float = 0.95) -> dict[str, Any]:
    """What recorded answers show, as JSON values."""
    found = framing_effects(rows, level=level, draws=draws)
    ceiling = ceiling_note(rows)
    return {**plain(found), "headline": headline(found), "notes": [ceiling] if ceiling else []}
