"""The plan of a framing probe, as TOML; one ships with recuse (`recuse/data/framing.toml`).

schema = 1
labels = ["yes", "no"]                     # the answers; a question may have its own two
edits = ["{{text}}", "Hello. {{text}}"]    # meaningless ones, at least five: the noise of a model that does not sample

[[frames]]
id = "for"
text = "I am sure that the answer is {{first}}. {{question}}"      # {{first}}, {{second}}: the labels; {{who}}
leads = "first"                            # the answer to which it leads; left out for one that leads nowhere
[[frames]]
id = "chat"
text = "It is raining here. {{question}}"
placebo = true                             # more text and no lead: what any other frame has to exceed

[[questions]]
id = "bees"
text = "Should every school keep bees?"
who = "a beekeeper"                        # for frames with {{who}}
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from recuse import assets
from recuse.counterfactual.plan import Key, Strict, Text, of_form
from recuse.counterfactual.slots import fill, holes, skeleton, stray
from recuse.errors import InputError
from recuse.prompts import canonical

NEUTRAL = "neutral"
LEAST_QUESTIONS = 2
LEAST_DRAWS = 5  # of every text, as every flip rate is held against what asking again does
_SLOTS = {"question", "first", "second", "who"}
_EDITS = ("{{text}}", "Question: {{text}}", "Here is a question. {{text}}", "{{text}}\n\nThank you.", "Hello. {{text}}")
Labels = Annotated[list[Text], Field(min_length=2, max_length=2)]


class Frame(Strict):
    id: Key
    text: Text
    leads: Literal["first", "second"] | None = None
    placebo: bool = False


class Question(Strict):
    id: Key
    text: Text
    labels: Labels | None = None
    who: Text | None = None


class FramingPlan(Strict):
    schema_: Literal[1] = Field(alias="schema")
    labels: Labels = Field(default_factory=lambda: ["yes", "no"])
    edits: Annotated[list[Text], Field(min_length=LEAST_DRAWS)] = Field(default_factory=lambda: list(_EDITS))
    frames: Annotated[list[Frame], Field(min_length=1)]
    questions: Annotated[list[Question], Field(min_length=LEAST_QUESTIONS)]

    @property
    def hash(self) -> str:
        """Of what the plan says, whatever its layout and comments."""
        return assets.digest(canonical(self.model_dump(by_alias=True)).encode())

    def labels_of(self, question: Question) -> tuple[str, str]:
        first, second = question.labels or self.labels
        return first, second

    def shown(self, question: Question, frame: Frame | None, edit: str = "{{text}}") -> str:
        """The question in a frame (None: as it is), under an edit."""
        first, second = self.labels_of(question)
        values = {"question": question.text, "first": first, "second": second, "who": question.who or ""}
        text = question.text if frame is None else fill(frame.text, values)[0]
        return fill(edit, {"text": text})[0]


def load_framing_plan(path: Path | None = None) -> FramingPlan:
    """The plan at `path`, or the shipped one. Raises InputError naming the file, the key and what to do."""
    path = assets.data("framing.toml") if path is None else path
    plan = of_form(FramingPlan, assets.read_toml(path, hint="Give a plan in TOML."), path)
    for where, ids in (("frames", [f.id for f in plan.frames]), ("questions", [q.id for q in plan.questions])):
        for i, id in enumerate(ids):
            if id in ids[:i] or id == NEUTRAL:
                what = f"the id {id!r} stands in number {ids.index(id) + 1} too" if id in ids[:i] else (
                    f"{NEUTRAL!r} is what the question without a frame is called"
                )  # fmt: skip
                raise InputError(what, path=path, field=f"{where}.{i}.id", hint="Choose another id.")
    for frame in plan.frames:
        field = f"frames.{frame.id}"
        _slots(frame.text, _SLOTS, "question", path, f"{field}.text")
        if frame.placebo and frame.leads:
            raise InputError("a placebo that leads", path=path, field=field, hint="Remove leads or placebo.")
        lacking = [q.id for q in plan.questions if q.who is None] if "who" in holes(frame.text) else []
        if lacking:
            raise InputError(
                f"the question {lacking[0]!r} says nothing for {{{{who}}}}", path=path, field=f"{field}.text",
                hint="Give every question a who, or take the slot out of the frame.",
            )  # fmt: skip
    for i, edit in enumerate(plan.edits):
        _slots(edit, {"text"}, "text", path, f"edits.{i}")
    if len({skeleton(edit).strip() for edit in plan.edits}) < len(plan.edits):
        raise InputError("an edit stands twice", path=path, field="edits", hint="A copy is no second draw: keep one.")
    for question in plan.questions:
        first, second = (" ".join(label.casefold().split()) for label in plan.labels_of(question))
        if first == second:
            raise InputError(
                f"both labels are {first!r}", path=path, field=f"questions.{question.id}",
                hint="Give two that differ by more than their case.",
            )  # fmt: skip
    _distinct(plan, path)
    return plan


def _slots(text: str, allowed: set[str], needed: str, path: object, field: str) -> None:
    if (braces := stray(text)) is not None:
        raise InputError(f"{braces} that belongs to no slot", path=path, field=field, hint="Write {{question}}.")
    if unknown := [slot for slot in holes(text) if slot not in allowed]:
        raise InputError(
            f"the slot {{{{{unknown[0]}}}}} is not known", path=path, field=field,
            hint=f"Use: {', '.join(sorted(allowed))}.",
        )  # fmt: skip
    if needed not in holes(text):
        raise InputError(
            f"no slot {{{{{needed}}}}}", path=path, field=field,
            hint="Without it the model never sees what it is asked about.",
        )  # fmt: skip


def _distinct(plan: FramingPlan, path: object) -> None:
    seen: dict[str, str] = {"{{question}}": NEUTRAL}
    for frame in plan.frames:
        text = skeleton(frame.text).strip()
        if text in seen:
            raise InputError(
                f"the frames {seen[text]!r} and {frame.id!r} have one text", path=path, field=f"frames.{frame.id}.text",
                hint="Keep one.",
            )  # fmt: skip
        seen[text] = frame.id
