"""What meaningless instructions do: the scatter that a candidate's effect must stand out from."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import chdtri

from recuse import stats
from recuse.effects.contrast import Effect
from recuse.effects.scores import Floats
from recuse.types import Finding

_LEAST = 0.1  # share of an effect's variance that is its own at least, however much of it the shams share


@dataclass(frozen=True)
class Spread:
    """How far meaningless instructions scatter about their mean, beyond sampling error (a standard deviation)."""

    between: float | None
    interval: tuple[float, float] | None
    mean: float | None
    shams: int
    observed: float | None  # standard deviation of the estimates themselves
    effects: Mapping[str, float]
    reason: str | None = None


@dataclass(frozen=True, eq=False)
class Shams:
    """The effects of shams against one placebo, with sampling errors free of what all of them share.

    All effects, the candidates' too, must come from the same `Scores`.

    The placebo's own sampling error moves all effects against it alike, and cancels where a candidate is compared with
    shams. `stats.predictive_pvalue` takes independent errors, so each effect gets its own: the variance of its
    distance to the mean of the (other) shams, less what that mean adds. Shared variance that is left in would make the
    test conservative.
    """

    effects: tuple[Effect, ...]

    @classmethod
    def of(cls, effects: Sequence[Effect]) -> Shams:
        """Those that have an estimate."""
        return cls(tuple(effect for effect in effects if effect.estimate is not None))

    @property
    def n(self) -> int:
        return len(self.effects)

    @cached_property
    def estimates(self) -> Floats:
        return np.array([effect.estimate for effect in self.effects], dtype=np.float64)

    @cached_property
    def errors(self) -> Floats:
        """Each sham's own standard error."""
        variance = np.array([effect.se for effect in self.effects], dtype=np.float64) ** 2
        with_others = (self._products.sum(axis=1) - np.diag(self._products)) / max(1, self.n - 1)
        own: Floats = np.sqrt(np.maximum(variance - 2 * with_others + self._shared, _LEAST * variance))
        return own

    def pvalue(self, effect: Effect) -> float:
        """Predictive one-sided p of a candidate that has an estimate: would one more sham show as large an effect?"""
        found = stats.predictive_pvalue(effect.estimate or 0.0, self._error(effect), self.estimates, self.errors)
        return 1.0 if found.pvalue is None else found.pvalue

    def spread(self, *, level: float = 0.95) -> Spread:
        """The scatter between shams: posterior median, and the Q-profile interval (Viechtbauer 2007), widened where it
        does not hold that median: for shams closer together than their errors allow it is empty."""
        y, own = self.estimates, self.errors
        effects = {effect.arm: float(value) for effect, value in zip(self.effects, y, strict=True)}
        if self.n < 2:
            return Spread(None, None, None, self.n, None, effects, "fewer than two usable shams")
        found = stats.predictive_pvalue(0.0, float(own.mean()), y, own)
        between, tail = found.between or 0.0, (1 - level) / 2
        interval = (min(_q_profile(y, own, tail), between), max(_q_profile(y, own, 1 - tail), between))
        return Spread(between, interval, found.sham_mean, self.n, float(y.std(ddof=1)), effects)

    @cached_property
    def _influence(self) -> Floats:
        return np.array([effect.influence for effect in self.effects], dtype=np.float64)

    @cached_property
    def _products(self) -> Floats:
        """Covariances of the shams' effects, by sham and sham."""
        products: Floats = self._influence @ self._influence.T
        return products

    @cached_property
    def _shared(self) -> float:
        """Mean covariance between two shams."""
        return float(self._products.sum() - np.trace(self._products)) / max(1, self.n * (self.n - 1))

    def _error(self, effect: Effect) -> float:
        """The distance to the mean of k shams has the variance v - 2 cov(new, shams) + c + mean(own) / k, where c is
        the shams' shared covariance; the last term is what the prediction adds itself."""
        with_shams = float((self._influence @ effect.influence).mean())
        whole = (effect.se or 0.0) ** 2
        return math.sqrt(max(whole - 2 * with_shams + self._shared, _LEAST * whole))


def spread_finding(spread: Spread) -> Finding:
    """The finding `sham.spread`."""
    return Finding(
        "sham.spread",
        "Scatter between meaningless instructions, beyond sampling error",
        spread.between,
        spread.interval,
        n=spread.shams,
        groups=spread.shams,
        method="posterior median under the reference prior; interval by Q-profile",
        reason=spread.reason,
        details={"unit": "shams", "mean": spread.mean, "observed_sd": spread.observed, "effects": spread.effects},
    )


def _q_profile(y: Floats, errors: Floats, tail: float) -> float:
    """The scatter at which Cochran's Q is exceeded with probability `tail`; 0 where none is needed."""
    target = float(chdtri(y.size - 1, tail))

    def q(tau: float) -> float:
        weights = 1 / (errors**2 + tau**2)
        return float(weights @ (y - weights @ y / weights.sum()) ** 2)

    low, high = 0.0, 100.0 * (float(np.ptp(y)) + float(errors.max()))
    if q(low) <= target:
        return 0.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if q(middle) > target else (low, middle)
    return (low + high) / 2
