"""The published forms of pairs, recognised by their columns.

A single preset serves all chosen/rejected forms; the row's values tell plain answers, message lists and transcripts
("\\n\\nHuman: ... \\n\\nAssistant: ...") apart.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import cached_property

from recuse.errors import UsageError
from recuse.pairs.rows import (
    BadRow,
    Draft,
    Position,
    Row,
    Unusable,
    label,
    messages,
    optional,
    place,
    plain,
    prompt,
    text,
)
from recuse.prompts import transcript
from recuse.types import Message

_PROMPTS = ("prompt", "question", "instruction", "input")
_ASSISTANT = "\n\nAssistant:"
_TURN = re.compile(r"\n\n(Human|Assistant):")


@dataclass(frozen=True)
class Preset:
    name: str
    forms: tuple[tuple[str, ...], ...]  # columns that it needs; several sets where a publication has several forms
    read: Callable[[Row], Draft]
    uses: tuple[str, ...] = ()  # further columns that it reads; all columns beyond these go to Pair.meta
    keeps: tuple[str, ...] = ()  # columns that go to Pair.meta although it needs them
    votes: bool = False  # rows are votes: one pair may be in several rows, and the majority of its rows counts
    leaves_out: frozenset[str] = frozenset()  # reasons of BadRow that this publication is known for: counted, no error

    def missing(self, columns: Collection[str]) -> str | None:
        """The first column that is wanting, or None where one of the forms is complete."""
        wanting = [next((name for name in form if name not in columns), None) for form in self.forms]
        return None if None in wanting else wanting[0]

    @cached_property
    def taken(self) -> frozenset[str]:
        return frozenset(self.uses).union(*self.forms).difference(self.keeps)


def chosen_rejected(row: Row, asked: str | None, chosen: str, rejected: str) -> Draft:
    if isinstance(row.get(chosen), list) and isinstance(row.get(rejected), list):
        return _conversation(row, asked, chosen, rejected)
    better, worse = text(row, chosen), text(row, rejected)
    if asked is not None:
        return Draft(prompt(row, asked), better, worse)
    if better.lstrip().startswith("Human:") and worse.lstrip().startswith("Human:"):
        return _transcripts("\n\n" + better.lstrip(), "\n\n" + worse.lstrip(), rejected)
    raise BadRow("missing field", f"there is no prompt (looked for {', '.join(_PROMPTS)})", "prompt")


def _conversation(row: Row, asked: str | None, chosen: str, rejected: str) -> Draft:
    better, worse = messages(row, chosen), messages(row, rejected)
    history = better[:-1]
    if history != worse[:-1]:
        raise BadRow(
            "more than the last answer differs", "the conversations differ before their last message", rejected
        )
    if better[-1].role != "assistant" or worse[-1].role != "assistant":
        raise BadRow("wrong type", "the last message is not the assistant's", chosen)
    if asked is not None:
        before = prompt(row, asked)
        opening = (Message("user", before),) if isinstance(before, str) else before
        if not any(history[i : i + len(opening)] == opening for i in range(len(history))):
            history = opening + history
    if not history:
        raise BadRow("missing field", "the conversations hold no question", chosen)
    return Draft(plain(history), better[-1].content, worse[-1].content)


def _transcripts(better: str, worse: str, field: str) -> Draft:
    """Whole dialogues as text. They part in the assistant's turn that begins last within their common prefix."""
    same = next(
        (i for i, (x, y) in enumerate(zip(better, worse, strict=False)) if x != y), min(len(better), len(worse))
    )
    cut = better.rfind(_ASSISTANT, 0, same)
    pieces = _TURN.split(better[:cut])[1:] if cut > 0 else []
    if not pieces:
        raise BadRow("more than the last answer differs", "the two transcripts share no question", field)
    turns = zip(pieces[::2], pieces[1::2], strict=True)
    history = tuple(Message("user" if who == "Human" else "assistant", said.strip()) for who, said in turns)
    answers = {"chosen": better[cut + len(_ASSISTANT) :].strip(), "rejected": worse[cut + len(_ASSISTANT) :].strip()}
    return Draft(plain(history), text(answers, "chosen"), text(answers, "rejected"))


def _plain(row: Row) -> Draft:
    asked = next((name for name in _PROMPTS if name in row), None)
    draft = chosen_rejected(row, asked, "chosen", "rejected")
    return replace(draft, domain=optional(row, "domain"), reference=optional(row, "reference"))


def _rewardbench(row: Row) -> Draft:
    domain = optional(row, "domain", "subset")
    if "response_A" in row:
        return two(row, "question", "response_A", "response_B", domain=domain)
    return replace(chosen_rejected(row, "prompt", "chosen", "rejected"), domain=domain)


def two(row: Row, asked: str, a: str, b: str, *, by: str = "label", domain: str | None = None) -> Draft:
    better = label(row, by)
    return place(prompt(row, asked), text(row, a), text(row, b), better, domain=domain)


def _a_b_label(row: Row) -> Draft:
    draft = two(row, "prompt", "a", "b", domain=optional(row, "domain"))
    return replace(draft, reference=optional(row, "reference"))


def _judgebench(row: Row) -> Draft:
    """The JSONL form has no domain column; the article derives the domain from the source as done here."""
    source = optional(row, "source") or ""
    known = {
        "livebench-reasoning": "reason",
        "livebench-math": "math",
        "livecodebench": "code",
        "mmlu-pro-math": "math",
    }
    derived = known.get(source) or ("knowledge" if source.startswith("mmlu-pro-") else source or None)
    return two(row, "question", "response_A", "response_B", domain=optional(row, "domain") or derived)


def _mmlu(row: Row) -> Draft:
    better = label(row, "label")
    options = row["options"]
    if not isinstance(options, list) or not all(isinstance(option, str) for option in options):
        raise BadRow("wrong type", "the options are not a list of texts", "options")
    lines = [f"({chr(65 + i)}) {option}" for i, option in enumerate(options)]
    question = "\n".join([text(row, "question"), "", *lines])
    reference = next((line for line in lines if line[1] == row.get("answer")), None)
    first, second = text(row, "response_A"), text(row, "response_B")
    return place(question, first, second, better, domain=optional(row, "category"), reference=reference)


def _pandalm(row: Row) -> Draft:
    votes = [row[f"annotator{i}"] for i in (1, 2, 3)]
    for i, vote in enumerate(votes, start=1):
        if isinstance(vote, bool) or str(vote) not in {"0", "1", "2"}:
            raise BadRow("label outside the menu", f"{vote!r} is not 0 (tie), 1 or 2", f"annotator{i}")
    names = [str(vote) for vote in votes]
    winner = max(names, key=names.count)
    if names.count(winner) < 2:
        raise Unusable("the annotators have no majority")
    if winner == "0":
        raise Unusable("a tie names no better answer")
    extra = optional(row, "input")
    question = text(row, "instruction") + (f"\n\n{extra}" if extra else "")
    return place(question, text(row, "response1"), text(row, "response2"), "A" if winner == "1" else "B")


def _alpaca(row: Row) -> Draft:
    value = row["preference"]
    if value is None:
        raise Unusable("no preference is recorded")
    try:
        preference = float("nan") if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        preference = float("nan")
    if not 1 <= preference <= 2:
        raise BadRow("label outside the menu", f"{value!r} is not a preference from 1 to 2", "preference")
    if preference == 1.5:
        raise Unusable("a tie names no better answer")
    better: Position = "A" if preference < 1.5 else "B"
    return place(text(row, "instruction"), text(row, "output_1"), text(row, "output_2"), better)


def _mt_bench(row: Row) -> Draft:
    """Turn 1 ends after the first answer. In turn 2 the models' first answers differ too, so that what is compared is
    all that follows the first question."""
    better = label(row, "winner")
    turn = row.get("turn") or 1
    if turn not in (1, 2):
        raise BadRow("wrong type", f"{turn!r} is not turn 1 or 2", "turn")
    a, b = _turns(row, "conversation_a", turn), _turns(row, "conversation_b", turn)
    if a[::2] != b[::2]:
        raise BadRow("different questions", "the two conversations ask different questions", "conversation_b")
    first, second = (m[1].content if turn == 1 else transcript(m[1:]) for m in (a, b))
    return place(a[0].content, first, second, better)


def _turns(row: Row, field: str, turn: int) -> tuple[Message, ...]:
    if not isinstance(row[field], list):
        raise BadRow("wrong type", "this is not a list of messages", field)
    found = messages(row, field)[: 2 * turn]
    if [m.role for m in found] != ["user", "assistant"] * turn:
        raise BadRow("wrong type", f"{turn} question(s) and answer(s) by turns are needed", field)
    return found


def _truthfulqa(row: Row) -> Draft:
    wrong = text(row, "Incorrect Answers").split(";")[0].strip()
    if not wrong:
        raise BadRow("empty text", "the first incorrect answer is empty", "Incorrect Answers")
    return Draft(text(row, "Question"), text(row, "Best Answer"), wrong, domain=optional(row, "Category"))


_AB = ("question", "response_A", "response_B", "label")
PRESETS: tuple[Preset, ...] = (  # the more special before the more general: the first that fits is taken
    Preset("mt-bench", (("conversation_a", "conversation_b", "winner"),), _mt_bench, votes=True),
    Preset(
        "pandalm",
        (("instruction", "response1", "response2", "annotator1", "annotator2", "annotator3"),),
        _pandalm,
        uses=("input",),
        votes=True,
        leaves_out=frozenset({"empty text", "wrong type"}),
    ),
    Preset("alpaca-eval", (("instruction", "output_1", "output_2", "preference"),), _alpaca, votes=True),
    Preset(
        "llmbar",
        (("input", "output_1", "output_2", "label"),),
        lambda row: two(row, "input", "output_1", "output_2", domain=optional(row, "subset")),
    ),
    Preset("mmlu-pro-pairs", ((*_AB, "options"),), _mmlu),
    Preset(
        "rewardbench", (("prompt", "chosen", "rejected", "subset"), (*_AB, "subset")), _rewardbench, keeps=("subset",)
    ),
    Preset("judgebench", (_AB,), _judgebench),
    Preset(
        "evalbiasbench",
        (("instruction", "response1", "response2", "label"),),
        lambda row: two(row, "instruction", "response1", "response2", domain=optional(row, "bias")),
    ),
    Preset("truthfulqa", (("Question", "Best Answer", "Incorrect Answers"),), _truthfulqa),
    Preset("chosen-rejected", (("chosen", "rejected"),), _plain, uses=(*_PROMPTS, "domain", "reference")),
    Preset("a-b-label", (("prompt", "a", "b", "label"),), _a_b_label, uses=("domain", "reference")),
)


def named(name: str) -> Preset:
    for preset in PRESETS:
        if preset.name == name:
            return preset
    raise UsageError(f"There is no preset {name!r}.", hint=f"Use one of: {', '.join(p.name for p in PRESETS)}.")


def detect(columns: Collection[str]) -> Preset | None:
    return next((preset for preset in PRESETS if preset.missing(columns) is None), None)
