"""How many rewrites may have changed the truth unseen, where a model was the check."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from recuse import stats
from recuse.lab.bench import Bench, Lab
from recuse.perturb.arms import Arm, Rewrite
from recuse.perturb.checks import BROKEN, VERIFIER, read_verify, verify_ask

_CONTROLS = 60  # pairs on which the verifier is tried
_USELESS = 0.5  # a verifier that may miss more than this is none
_ONE_SIDED = 0.9  # level of a two-sided interval whose upper limit is one-sided at 95 %


@dataclass(frozen=True, slots=True)
class Slip:
    """Rewrites of one arm that passed: how many a model checked, and at most what share of all has a changed answer.

    `excess` None: it cannot be told, because nothing independent checked them.
    """

    passed: int
    by_model: int
    unchecked: int
    excess: float | None


def miss_rate(lab: Lab, bench: Bench) -> float | None:
    """At most how often the verifier calls two different answers the same (95 % upper limit).

    It is shown pairs whose answers are known to differ: the wrong answer as it was, and the right one in place of the
    rewrite. None where there is no verifier, or where nothing was left to it.
    """
    by_model = any(r.checked == VERIFIER for arm in bench.rewrites.values() for r in arm.values())
    if lab.verify is None or not by_model:
        return None
    arm = Arm("verify:control", "bias")
    pairs = sorted(bench.pairs, key=lambda pair: pair.id)[:_CONTROLS]
    sampling = lab.brief(lab.verify)
    asks = [verify_ask(pair, arm, pair.chosen, lab.verify, sampling) for pair in pairs]
    replies = lab.engines.ask("teacher", asks, phase=f"{bench.name}: trying the verifier")
    missed = sum(not read_verify(a.reply) for a in replies)
    found = stats.clopper_pearson(missed, len(asks), level=_ONE_SIDED)
    return found.interval[1] if found.interval else None


def slips(rewrites: Iterable[Rewrite], miss: float | None) -> Slip:
    """What may have slipped through in one arm, if the verifier misses a share `miss` of changed answers at most.

    With a share b of answers changed, the verifier flags b (1 - m) and lets b m pass, so what passed is the flagged
    share times m / (1 - m). Both are taken at their upper limits, and the placebo's own slips as none.
    """
    every = list(rewrites)
    passed = [r for r in every if r.text is not None]
    unchecked = sum("unverified" in r.faults for r in passed)
    by_model = sum(r.checked == VERIFIER for r in passed)
    flagged = sum(r.checked == VERIFIER and not BROKEN.isdisjoint(r.faults) for r in every)
    if unchecked or (by_model and (miss is None or miss > _USELESS)):
        return Slip(len(passed), by_model, unchecked, None)
    if not by_model or miss is None:
        return Slip(len(passed), by_model, unchecked, 0.0)
    found = stats.clopper_pearson(flagged, flagged + by_model, level=_ONE_SIDED)
    share = found.interval[1] if found.interval else 1.0
    return Slip(len(passed), by_model, unchecked, share * miss / (1 - miss) * by_model / len(passed))
