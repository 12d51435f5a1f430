"""What endless data would show of a planted judge, by Monte Carlo."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from recuse.backends.fake_judge import EXTREME, Planted


@dataclass(frozen=True, slots=True)
class TrueEffects:
    """What an audit with endless pairs would find. Ties are half an error and half a first answer."""

    error_rate: float
    first_rate: float
    consistency: float  # same outcome in both orders
    length_effect: (
        float | None
    )  # error where the wrong answer is longer, minus where the right one is; None: one kind only
    n: int


def true_effects(
    planted: Planted,
    lengths: Sequence[tuple[int, int]],
    *,
    likes: Sequence[tuple[bool, bool]] | None = None,
    n: int = 200_000,
    seed: int = 0,
) -> TrueEffects:
    """Effects of a planted judge over pairs of the given (chosen, rejected) lengths, by Monte Carlo over pair effects.

    `likes` says for each pair which answers contain the word. Each pair appears equally often (n is rounded up), and
    verdicts are averaged exactly given the pair effect, so that the error is far below 1 / sqrt(n): exact without one.
    Missing verdicts are drawn independently of all else and leave these rates as they are.
    """
    import numpy as np

    copies = -(-n // len(lengths))
    chosen, rejected = np.repeat(np.asarray(lengths, dtype=float), copies, axis=0).T
    spread = math.hypot(planted.pair_sd, planted.question_sd, planted.rewrite_sd)
    z = planted.skill + spread * np.random.default_rng(seed).standard_normal(len(chosen))
    z += planted.length * np.sign(chosen - rejected)
    z += planted.slope * np.log(np.maximum(chosen, 1) / np.maximum(rejected, 1))
    if likes is not None:
        has_chosen, has_rejected = np.repeat(np.asarray(likes, dtype=float), copies, axis=0).T
        z += planted.like * (has_chosen - has_rejected)
    ab, ba = (
        (1 - planted.noise) / (1 + np.exp(-np.clip(z + sign * planted.position, -EXTREME, EXTREME))) + planted.noise / 2
        for sign in (1, -1)
    )
    decided = 1 - planted.tie
    error = decided * (1 - (ab + ba) / 2) + planted.tie / 2
    longer_wrong, longer_right = rejected > chosen, chosen > rejected
    both = bool(longer_wrong.any() and longer_right.any())
    return TrueEffects(
        error_rate=float(error.mean()),
        first_rate=float((decided * (ab + 1 - ba) / 2 + planted.tie / 2).mean()),
        consistency=float((decided**2 * (ab * ba + (1 - ab) * (1 - ba)) + planted.tie**2).mean()),
        length_effect=float(error[longer_wrong].mean() - error[longer_right].mean()) if both else None,
        n=len(chosen),
    )


@dataclass(frozen=True, slots=True)
class TrueContrast:
    """What endless pairs would show of one arm against another, in error rate: positive misleads the judge."""

    effect: float
    error: float  # of the arm
    against: float  # error of the other arm
    by_order: tuple[float, float]  # effect in the orders AB and BA
    logit: float  # mean shift of the log odds towards the wrong answer
    gap_sd: float  # of one pair's difference, its orders averaged, with one call an order
    n: int


def true_contrast(
    planted: Planted,
    arm: Sequence[tuple[str, str]],
    against: Sequence[tuple[str, str]],
    *,
    shift: float = 0.0,
    n: int = 200_000,
    seed: int = 0,
) -> TrueContrast:
    """The effect of rewriting: `arm` and `against` hold (chosen, rejected) as shown in each arm, pair by pair.

    So the same pairs under a bias and under a placebo give the bias's true effect for these texts, over pair effects,
    wordings and draws; a teacher's slips are in the texts. `shift`: what `arm_effect` gives to the arm. Texts are drawn
    in equal numbers (n is rounded up); an error rate is exact up to 0.4 / sqrt(n) and the effect closer, since both
    arms share the pair effects. Wordings are taken as different in the two arms. Missing verdicts are left out.
    """
    import numpy as np

    copies = -(-n // len(arm))
    rng = np.random.default_rng(seed)
    pair = math.hypot(planted.pair_sd, planted.question_sd) * rng.standard_normal(copies * len(arm))
    own = [_own_odds(planted, texts) for texts in (arm, against)]
    errors, spread = [], 0.0
    for odds, moved in zip(own, (shift, 0.0), strict=True):
        wording = planted.rewrite_sd * rng.standard_normal(len(pair))
        z = planted.skill + pair + np.repeat(odds, copies) - wording - moved
        by_order = []
        for sign in (1, -1):
            right = (1 - planted.noise) / (1 + np.exp(-np.clip(z + sign * planted.position, -EXTREME, EXTREME)))
            right += planted.noise / 2
            wrong = (1 - planted.tie) * (1 - right) + planted.tie / 2
            by_order.append(wrong)
            spread += float((wrong - planted.tie / 4 - wrong**2).mean()) / 4  # of an outcome that is 0, 1/2 or 1
        errors.append(by_order)
    gaps = [a - b for a, b in zip(*errors, strict=True)]
    return TrueContrast(
        effect=float((gaps[0] + gaps[1]).mean() / 2),
        error=float((errors[0][0] + errors[0][1]).mean() / 2),
        against=float((errors[1][0] + errors[1][1]).mean() / 2),
        by_order=(float(gaps[0].mean()), float(gaps[1].mean())),
        logit=(1 - planted.noise) * float((own[1] - own[0]).mean() + shift),
        gap_sd=math.sqrt(float(((gaps[0] + gaps[1]) / 2).var()) + spread),
        n=len(pair),
    )


def _own_odds(planted: Planted, texts: Sequence[tuple[str, str]]) -> Any:
    """Log odds that each pair's texts themselves give to the chosen answer: length, slope and liked word."""
    import numpy as np

    size = np.array([(len(chosen), len(rejected)) for chosen, rejected in texts], dtype=float)
    word = planted.likes.casefold()
    has = np.array([[bool(word) and word in text.casefold() for text in pair] for pair in texts], dtype=float)
    ratio = np.log(np.maximum(size, 1))
    return (
        planted.length * np.sign(size[:, 0] - size[:, 1])
        + planted.slope * (ratio[:, 0] - ratio[:, 1])
        + planted.like * (has[:, 0] - has[:, 1])
    )
