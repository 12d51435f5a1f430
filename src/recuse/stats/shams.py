"""Is a new effect more than what meaningless changes do? Its predictive p-value, given the effects of shams."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from recuse.stats.inputs import number, numbers
from recuse.stats.results import Alternative, Estimate, check_alternative, check_level
from recuse.stats.root import decreasing_root

_GRID = 600
_TINY = 1e-9  # an error under this share of the scatter is none
_FAR = 1e100  # scales from the shams; farther off nothing is left of p
_METHOD = "predictive p under the scatter of shams (reference prior)"


@dataclass(frozen=True, slots=True)
class Prediction(Estimate):
    """A new effect beside what another sham would show.

    `estimate` is the effect less the mean of the shams, and `interval` the effect less what one more sham shows with
    probability `level`: it lies wholly above zero exactly when p for "greater" is under (1 - level) / 2. `n` and
    `groups` count the shams. All are None where there are too few shams to tell, and `reason` says so.
    """

    effect: float = 0.0
    sham_mean: float | None = None
    between: float | None = None  # standard deviation between shams beyond sampling error, posterior median


def predictive_pvalue(
    effect: float,
    se: float,
    sham_effects: ArrayLike,
    sham_ses: ArrayLike,
    *,
    alternative: Alternative = "greater",
    level: float = 0.95,
) -> Prediction:
    """Probability that one more sham, measured with the standard error `se`, shows an effect as large.

    sham_effects and sham_ses: (shams,), in the unit of `effect` and `se`. Shams have a common mean, which is what any
    such instruction does, and scatter about it with the standard deviation tau beyond their sampling errors. Both are
    unknown: the mean is integrated out flatly, tau under the reference prior of the random-effects model (Bodnar et al.
    2017, Statistics in Medicine 36:378), tau sqrt(sum (tau^2 + se_i^2)^-2). With equal errors and large tau that is
    the prediction of Student's t with k - 1 degrees of freedom, exactly; as tau^2 cannot be negative, its level with
    equal errors is never above the nominal one for one-sided p under 1/2.

    Measured one-sided level at 0.05, for 5, 10 and 20 shams, tau from 0 to 3 standard errors, equal errors, errors from
    0.5 to 2 and one of 4, a new one of 0.5, 1 or 2 (4,000 runs a cell): 0.041 to 0.055 at tau = 3 (Monte-Carlo error
    0.009), and far below where tau is small beside the errors (0.006 for five shams, 0.03 for twenty, at tau = 0): few
    shams cannot show that shams do not scatter. At 0.01: at most 0.011. The usual t prediction from the
    DerSimonian-Laird variance with the Hartung-Knapp error reached 0.07. Normal scatter is assumed.

    Fewer than two shams give None. Raises ValueError unless all numbers are finite, with positive standard errors; a
    sham in which nothing varies has no estimated error, so give it that of its exact bound.
    """
    check_alternative(alternative, ("two-sided", "greater", "less"))
    check_level(level)
    new_effect, new_se = number(effect, "the effect"), number(se, "its standard error")
    y, s = numbers(sham_effects, "sham_effects"), numbers(sham_ses, "sham_ses")
    if y.shape != s.shape:
        raise ValueError(f"there must be one standard error for each sham effect, got {y.size} effects and {s.size}.")
    if new_se <= 0 or (s <= 0).any():
        raise ValueError("standard errors must be positive; give a sham without scatter an exact bound's.")
    if y.size < 2:
        return Prediction(None, None, y.size, y.size, _METHOD, level, reason="fewer than two shams", effect=new_effect)

    scale = max(float(s.max()), float(np.ptp(y)), new_se)
    first = float(y[0])
    distance = float(np.clip((new_effect - first) / scale, -_FAR, _FAR))
    new, y, s = new_se / scale, (y - first) / scale, np.maximum(s / scale, _TINY)
    # The prior falls like tau below the errors and the posterior like tau**-k above the scatter: beyond these ends
    # there is less than a millionth.
    tau = np.geomspace(1e-3 * s.min(), 1e6, _GRID)[:, None]
    weights = 1 / (s**2 + tau**2)
    total = weights.sum(axis=1)
    means = weights @ y / total
    log_density = (
        0.5 * (np.log(weights).sum(axis=1) - np.log(total) - (weights * (y - means[:, None]) ** 2).sum(axis=1))
        + 0.5 * np.log((weights**2).sum(axis=1))
        + 2 * np.log(tau[:, 0])  # once for the prior, once because the grid is even in log tau
    )
    share = np.exp(log_density - log_density.max())
    share /= share.sum()
    spread = np.sqrt(tau[:, 0] ** 2 + new**2 + 1 / total)

    def above(x: float) -> float:
        """Probability that one more sham exceeds x, in units of the scale."""
        return float(share @ ndtr((means - x) / spread))

    p = {"greater": above(distance), "less": float(share @ ndtr((distance - means) / spread))}
    p["two-sided"] = min(1.0, 2 * min(p.values()))
    median = int(np.searchsorted(np.cumsum(share), 0.5))
    center, alpha = float(share @ means), (1 - level) / 2
    least, most = (_crossing(above, chance, center, float(spread[median])) for chance in (1 - alpha, alpha))
    return Prediction(
        new_effect - first - scale * center,
        (new_effect - first - scale * most, new_effect - first - scale * least),
        y.size,
        y.size,
        _METHOD,
        level,
        p[alternative],
        effect=new_effect,
        sham_mean=first + scale * center,
        between=scale * float(tau[median, 0]),
    )


def _crossing(above: Callable[[float], float], chance: float, center: float, reach: float) -> float:
    """The x at which `above`, which falls, is `chance`; looked for ever farther out from `center` +- `reach`."""
    below = reach
    while above(center - below) < chance:
        below *= 2
    while above(center + reach) > chance:
        reach *= 2
    return decreasing_root(
        lambda x: above(x) - chance, center - below, center + reach, xtol=1e-12 * (below + reach), ftol=1e-9 * chance
    )
