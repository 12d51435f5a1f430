"""The recommendation: a paragraph for the judge's prompt, of nothing but what was confirmed on this judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from recuse.calibration.runs import Run
from recuse.errors import UsageError
from recuse.explain.inject import Injected
from recuse.library import Bias, load_library
from recuse.types import Finding

FILE = "recommendation.md"
POSITION = "position"  # the bias that is measured by showing answers in both orders
_CHANGED = "wrong answers were changed in one respect"
_PLACED = "the same answers were shown in both orders"
_OPENING = (
    "Decide by which answer is correct and does what was asked. Tests of this judge, in which {tests}, found what is "
    'listed below; "the judge" is you. None of it says anything about which answer is better: where it speaks for an '
    "answer, set it aside and look again at what the answer says."
)


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A bias that was proven on this judge, and by what."""

    bias: Bias
    effect: float
    interval: tuple[float, float] | None
    n: int
    how: str


def from_injection(found: Injected | None, library: Mapping[str, Bias]) -> list[Confirmed]:
    effects = found.confirmed if found else {}
    return [
        _confirmed(library[id], f, "put by rule into wrong answers of pairs that the judge had right")
        for id, f in effects.items()
        if id in library
    ]


def from_run(run: Run | None, library: Mapping[str, Bias]) -> list[Confirmed]:
    """What the audit with `--biases` accepted."""
    found = []
    for id, f in (run.findings if run else {}).items():
        name = id.removeprefix("bias.").removesuffix(".effect")
        if id == f"bias.{name}.effect" and f["details"].get("status") == "accepted" and name in library:
            ends = f["interval"]
            found.append(
                Confirmed(library[name], f["estimate"], (ends[0], ends[1]) if ends else None, f["n"],
                          "in the audit of this judge")
            )  # fmt: skip
    return found


def from_discovery(folder: Path | None, judge: str) -> tuple[list[Confirmed], list[str]]:
    """What a discovery confirmed on this judge; notes on what it confirmed on another. Raises UsageError for a folder
    that is no finished discovery."""
    if folder is None:
        return [], []
    if not (folder / "candidates").is_dir():
        raise UsageError(f"{folder} holds no candidates.", hint="Give the folder of a finished `recuse discover` run.")
    if not any((folder / "candidates").glob("*.toml")):
        return [], [f"{folder} found no candidates."]
    found, notes = [], []
    for bias in load_library(folder / "candidates").values():
        if bias.status != "confirmed" or not bias.evidence:
            continue
        own = [e for e in bias.evidence if e.judge == judge]
        if own:
            found.append(Confirmed(bias, own[0].effect, own[0].interval, own[0].n, "discovered on held-out pairs"))
        else:
            notes.append(f"{bias.name} was confirmed on {bias.evidence[0].judge}, not on {judge}: not recommended.")
    return found, notes


def from_position(first: Finding, library: Mapping[str, Bias]) -> list[Confirmed]:
    """The preference for a place, where the share preferring the first answer is not a half."""
    if first.estimate is None or first.interval is None or first.p is None or POSITION not in library:
        return []
    if first.p > 0.05 or first.interval[0] <= 0.5 <= first.interval[1]:
        return []
    ends = (first.interval[0] - 0.5, first.interval[1] - 0.5)
    place = "first" if first.estimate > 0.5 else "second"
    return [Confirmed(library[POSITION], first.estimate - 0.5, ends, first.n,
                      f"verdicts for the answer shown {place}, beyond a half")]  # fmt: skip


def _confirmed(bias: Bias, f: Finding, how: str) -> Confirmed:
    return Confirmed(bias, f.estimate or 0.0, f.interval, f.n, how)


def merged(*sources: Sequence[Confirmed]) -> tuple[Confirmed, ...]:
    """Each bias once, by the first source that has it, the strongest first."""
    found: dict[str, Confirmed] = {}
    for one in (c for source in sources for c in source):
        found.setdefault(one.bias.id, one)
    return tuple(sorted(found.values(), key=lambda c: (-abs(c.effect), c.bias.id)))


def paragraph(confirmed: Sequence[Confirmed]) -> str | None:
    """The paragraph; None where nothing was confirmed. It can open no hole of a prompt."""
    if not confirmed:
        return None
    lines = [f"- {_line(c.bias.name)}: {_line(c.bias.definition)}" for c in confirmed]
    places = {c.bias.id == POSITION for c in confirmed}
    tests = " and ".join(said for said, there in ((_CHANGED, False in places), (_PLACED, True in places)) if there)
    return "\n".join([_OPENING.format(tests=tests), *lines])


def _line(text: str) -> str:
    return " ".join(text.split()).replace("{{", "{ {").replace("}}", "} }")


def recommendation(said: str, *, judge: str) -> str:
    """`recommendation.md`: a heading and the paragraph, as a variants file of `recuse harden` takes it."""
    return f"# Recommendation for {' '.join(judge.split())}\n\n{said}\n"
