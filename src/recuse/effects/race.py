"""Racing: candidates go through validation in stages, and the hopeless ones stop early.

Stopping is for futility only and non-binding: a stopped candidate gets p = 1 and stays in the family (`accept` with
`stopped`), a survivor is tested once, on all groups. Whatever rule stops them, errors of the first kind can only become
rarer. What it costs in power, and saves in calls: experiments/instrument.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from hashlib import blake2b

from scipy.special import ndtr, ndtri

from recuse.effects.contrast import Effect

SHARES = (0.15, 0.3, 0.5, 0.75, 1.0)  # of the groups, after each stage
CHANCE = 0.07
_LEAST = 20  # groups; the standard error of fewer is no guide


def plan_stages(
    groups: Iterable[str], *, shares: Sequence[float] = SHARES, seed: int = 0
) -> tuple[frozenset[str], ...]:
    """The groups that each stage adds: a random order, the same for the same names and seed in any order.

    Raises ValueError unless `shares` rise to 1.
    """
    if list(shares) != sorted(set(shares)) or not shares or shares[0] <= 0 or shares[-1] != 1:
        raise ValueError(f"the shares of the stages must rise to 1, got {', '.join(map(str, shares))}.")
    order = sorted(set(groups), key=lambda name: blake2b(f"{seed}\x1f{name}".encode("utf-8", "surrogatepass")).digest())
    ends = [0, *(round(share * len(order)) for share in shares)]
    return tuple(frozenset(order[start:end]) for start, end in itertools.pairwise(ends))


def futile(
    effect: Effect, groups: int, *, min_effect: float = 0.05, fdr: float = 0.05, chance: float = CHANCE
) -> str | None:
    """Why a candidate may stop, from its effect so far and the number of groups of the full size; None: go on.

    It may where the chance that the final estimate passes is under `chance`: given what was seen, with a flat prior for
    the true effect, the final estimate is normal about the one so far, with its variance times the share of groups that
    is still to come. It passes at `min_effect`, or at the size that is significant at `fdr` without any correction.
    Nothing stops before 20 groups, or without an estimate.
    """
    seen = min(1.0, effect.groups / groups)
    if effect.estimate is None or effect.se is None or seen >= 1 or effect.groups < _LEAST:
        return None
    needed = max(min_effect, -float(ndtri(fdr)) * effect.se * math.sqrt(seen))
    passing = float(ndtr((effect.estimate - needed) / (effect.se * math.sqrt(1 - seen))))
    if passing >= chance:
        return None
    return (
        f"stopped after {effect.groups} of {groups} groups: effect {effect.estimate:.3f}, "
        f"chance to reach {needed:.3f} at the end {passing:.3f}"
    )
