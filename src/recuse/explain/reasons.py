"""What the judge said for its verdicts: replies in a file of recorded verdicts, replies in a run's ledger, or, where it
can be asked, its own step-by-step explanation of the mistake (DeeperExplain)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from recuse.discovery.mine import NO_WORDS, Case, explain
from recuse.lab.bench import Lab
from recuse.ledger import Ledger
from recuse.prompts import load_prompt
from recuse.recorded import Recorded
from recuse.types import Pair, Sampling
from recuse.verdict.noanswer import is_error_text, is_refusal
from recuse.verdict.text import split_thinking

ARM = "original"
_FEWEST = 8  # words, under which a reply is a verdict and no reason


@dataclass(frozen=True)
class Reasons:
    """`words` by pair; both orders together where both gave reasons."""

    words: Mapping[str, str]
    source: str
    notes: tuple[str, ...] = ()


def from_record(found: Recorded) -> Reasons:
    """The replies in a file of recorded verdicts."""
    said: dict[str, list[str]] = {}
    for (pair, _, repeat), reply in found.words.items():
        if repeat == 0:
            said.setdefault(pair, []).append(reply)
    return Reasons(_spoken(said), "the recorded replies")


def from_ledger(run: Path) -> Reasons:
    """The replies on the untouched answers. Empty for a run without a ledger, such as one of recorded verdicts."""
    if not (run / "ledger.sqlite").is_file():
        return Reasons({}, "none: the run holds no replies")
    ledger = Ledger.existing(run)
    said: dict[str, dict[str, str]] = {}
    try:
        for row in ledger.rows():
            if row["arm"] == ARM and row["view"] in ("AB", "BA") and row["repeat"] == 0:
                said.setdefault(row["pair"], {})[row["view"]] = row["reply_text"]
    finally:
        ledger.close()
    return Reasons(_spoken({pair: [by[v] for v in sorted(by)] for pair, by in said.items()}), "the run's own replies")


def _spoken(said: Mapping[str, Sequence[str]]) -> dict[str, str]:
    found = {}
    for pair, texts in said.items():
        plain = [split_thinking(text)[0].strip() for text in texts]
        kept = [t for t in plain if len(t.split()) >= _FEWEST and not is_refusal(t) and not is_error_text(t)]
        if kept:
            found[pair] = "\n\n".join(kept)
    return found


def ask_deeper(lab: Lab, pairs: Sequence[Pair], *, steps: int, sampling: Sampling) -> Reasons:
    """The judge's reasons for preferring the rejected answer of each pair, asked for step by step.

    Reasons that led to another verdict explain no mistake and are left out; `notes` counts them.
    """
    cases = [Case(pair, pair.rejected, ARM) for pair in pairs]
    told = explain(
        cases, design=lab.design, reason=load_prompt("pairwise/reason", kinds=("pairwise",)),
        deeper=load_prompt("explain/deeper", kinds=("explain",)), steps=steps,
        send=lab.send("judge", "explaining"), sampling=sampling,
    )  # fmt: skip
    words = {e.case.pair.id: e.words for e in told if e.words is not None and e.words != NO_WORDS}
    notes = []
    if otherwise := sum(e.words is None for e in told):
        notes.append(
            f"Asked for its reasons, the judge came to another verdict in {otherwise:,} of {len(told):,} cases in both "
            "orders: these are not explained."
        )
    if any(e.orders == 0 for e in told):
        notes.append("This judge sees one answer at a time and gives no reasons.")
    return Reasons(words, f"the judge's own explanation in {steps + 1} steps", tuple(notes))
