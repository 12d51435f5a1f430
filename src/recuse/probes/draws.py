"""How often each prompt has to be decided: once where probabilities are read, else as often as the power asks for."""

from __future__ import annotations

import math
from dataclasses import dataclass

from recuse import stats
from recuse.backends.base import Capabilities
from recuse.stats.planning import fraction, whole
from recuse.types import Sampling

MOST = 30  # draws a prompt; beyond, more templates are the better use of calls
TOP_LOGPROBS = 20
_POWER = 0.9  # that a gap of the tolerance is found; a product without a gap then passes with 0.8


@dataclass(frozen=True, slots=True)
class Draws:
    """Decisions a prompt, a prompt being a template filled with one name.

    n         draws to take
    needed    draws that the power calculation asks for; None where no number up to 200 is enough, or none is needed
    gap       the smallest gap that n draws find with the power asked for; None where probabilities are read
    calls     over all templates, two groups and all names
    sampling  settings of every draw; the repeats of an ask are its draws
    why       the number in words
    """

    n: int
    needed: int | None
    gap: float | None
    calls: int
    sampling: Sampling
    why: str


def decision_draws(
    can: Capabilities,
    *,
    tolerance: float,
    sd_template: float,
    templates: int,
    names: int,
    sd_name: float = 0.0,
    rate: float = 0.5,
    temperature: float | None = 1.0,
    max_tokens: int = 8,
    seed: int | None = None,
    most: int = MOST,
    level: float = 0.95,
    power: float = _POWER,
) -> Draws:
    """Draws of a yes or no for each prompt, so that a gap of `tolerance` between two groups is found with `power`.

    With log-probabilities one call shows the probability itself. Without, decisions are sampled at `temperature` (None:
    the provider's default), as often as `stats.design_for_gap` asks for, and at most `most` times. Greedy decoding
    repeats itself, so that further draws would add nothing.

    sd_template  standard deviation of the gap between templates, sd_name of a name's own effect within a template,
                 both in probability
    rate         share of yes that is expected; 0.5 is the worst case
    names        of each group, in every template

    The scatter is a guess made in advance: `stats.power_paired_gap` simulates the power of a design. Raises ValueError
    for a tolerance or rate outside (0, 1), counts under 1, fewer than two templates.
    """
    tolerance, rate = fraction(tolerance, "the tolerance"), fraction(rate, "the rate")
    templates, names, most = whole(templates=templates, names=names, most=most)
    prompts = 2 * templates * names
    if can.logprobs:
        sampling = Sampling(0.0 if can.temperature else None, max_tokens, top_logprobs=TOP_LOGPROBS)
        why = "One call a prompt: the probabilities of its first token are read, which no number of draws would better."
        return Draws(1, None, None, prompts, sampling, why)
    scatter = {"sd_template": sd_template, "sd_name": sd_name, "sd_seed": math.sqrt(rate * (1 - rate))}
    kept = temperature if can.temperature else None
    sampling = Sampling(kept, max_tokens, seed=seed if can.seed and kept != 0.0 else None)
    asked = stats.design_for_gap(
        tolerance, templates=templates, names=names, seeds=None, level=level, power=power, **scatter
    )
    repeats = not (can.greedy and kept == 0.0)
    n = min(asked.seeds or most, most) if repeats else 1
    found = stats.detectable_gap(templates, names=names, seeds=n, level=level, power=power, **scatter)
    aim = f"a gap of {tolerance:g} is found with a power of {power:g}"
    finds = f"the smallest found with {n} is {found.gap:.3g}"
    if not repeats:
        why = f"One draw a prompt: greedy decoding repeats itself. It finds a gap of {found.gap:.3g}."
    elif asked.seeds is None:
        why = (
            f"No number of draws up to 200 is enough that {aim} with {templates} templates and {names} names a group; "
            f"{finds}. Add templates."
        )
    elif asked.seeds > most:
        why = f"{_draws(asked.seeds)} a prompt are needed so that {aim}; the cap is {most}, and {finds}. Add templates."
    else:
        why = (
            f"{_draws(n)} a prompt, so that {aim}: {templates} templates, {names} names a group, gaps that scatter by "
            f"{sd_template:g} between templates, a share of yes near {rate:g}."
        )
    return Draws(n, asked.seeds, found.gap, prompts * n, sampling, why)


def _draws(n: int) -> str:
    return "One draw" if n == 1 else f"{n} draws"
