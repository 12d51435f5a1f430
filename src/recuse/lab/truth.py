"""How many rewrites may have changed the truth unseen, where a model was the check."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from recuse import stats
from recuse.lab.bench import Bench, Lab, writing_room
from recuse.perturb.arms import Arm, Rewrite
from recuse.perturb.checks import BROKEN, VERIFIER, read_verify, verify_ask
from recuse.perturb.shams import placebo_arms
from recuse.perturb.teacher import rewrite_all
from recuse.types import Pair

CONTROLS = 60  # pairs on which the verifier is tried
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

    It is shown texts whose answers are known to differ: the wrong answer as it was, and in place of its rewrite a
    paraphrase of the right one by the same teacher, one pair a group, among the pairs that were left to it. The right
    answer itself would be no trial, since it stands in the prompt for comparison. None where there is no verifier,
    nothing was left to it, or no right answer could be paraphrased.
    """
    left = {r.pair for arm in bench.rewrites.values() for r in arm.values() if r.checked == VERIFIER}
    if lab.verify is None or not left:
        return None
    by_group = {pair.group: pair for pair in sorted(bench.pairs, key=lambda p: p.id, reverse=True) if pair.id in left}
    pairs = sorted(by_group.values(), key=lambda pair: pair.id)[:CONTROLS]
    arm = replace(placebo_arms()[0], id="verify:control")
    texts, sampling = _paraphrased(lab, bench, arm, pairs), lab.brief(lab.verify)
    asks = [verify_ask(pair, arm, texts[pair.id], lab.verify, sampling) for pair in pairs if pair.id in texts]
    if not asks:
        return None
    replies = lab.engines.ask("teacher", asks, phase=f"{bench.name}: trying the verifier")
    missed = sum(not read_verify(a.reply) for a in replies)
    found = stats.clopper_pearson(missed, len(asks), level=_ONE_SIDED)
    return found.interval[1] if found.interval else None


def _paraphrased(lab: Lab, bench: Bench, arm: Arm, pairs: Sequence[Pair]) -> dict[str, str]:
    """The right answers in other words, by pair, where the checks find nothing wrong with them."""
    turned = [replace(pair, chosen=pair.rejected, rejected=pair.chosen, reference=None) for pair in pairs]
    room = max(lab.sampling.max_tokens, writing_room(turned))
    done = rewrite_all(
        [(arm, turned)], lab.send("teacher", f"{bench.name}: paraphrasing right answers"),
        sampling=replace(lab.sampling, max_tokens=room), wording=lab.wording, tight=lab.tight,
    )  # fmt: skip
    return {id: r.text for id, r in done.rewrites[arm.id].items() if r.text is not None}


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
