"""From how many calls on an engine that starts slowly and reads quickly pays.

recuse never changes an engine by itself: replies of two engines differ, and the engine is a part of what a run is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Pace:
    """Seconds until an engine takes its first call, and of each call where many are in flight."""

    start: float
    call: float

    def total(self, calls: int) -> float:
        return self.start + calls * self.call


# SmolLM2-135M, prompts of 420 tokens and one token of reply, two cores without a GPU. Where nothing was measured on the
# machine at hand they stand for it, and are called assumed.
ASSUMED = {"hf": Pace(5.0, 1.25), "vllm": Pace(28.0, 1.0)}


def pays_from(early: Pace, late: Pace) -> int | None:
    """The fewest calls at which `late`, which starts later, is done before `early`; None: at no number.

    start_l + n call_l < start_e + n call_e, so that n > (start_l - start_e) / (call_e - call_l).
    """
    if late.call >= early.call:
        return None
    return max(0, math.floor((late.start - early.start) / (early.call - late.call)) + 1)


def advise(works: Sequence[str], measured: Mapping[str, Pace], calls: int | None) -> dict[str, Any]:
    """`works`: of hf and vllm, which are here; `measured`: what a smoke call of the same model showed. Both are needed
    for a measured answer, since a model on one engine says nothing of another."""
    known = all(name in measured for name in ASSUMED)
    paces = {name: measured[name] if known else ASSUMED[name] for name in ASSUMED}
    from_calls = pays_from(paces["hf"], paces["vllm"])
    best = min(paces, key=lambda name: paces[name].total(calls)) if calls is not None else None
    return {
        "measured": known,
        "paces": {name: {"start": pace.start, "call": pace.call} for name, pace in paces.items()},
        "vllm_pays_from": from_calls, "calls": calls, "engine": best,
        "seconds": {name: pace.total(calls) for name, pace in paces.items()} if calls is not None else None,
        "installed": list(works),
    }  # fmt: skip
