"""How a judge is asked in a swap test: one text at a time for a score, or two texts for a preference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from recuse.backends import Capabilities
from recuse.counterfactual.plan import CounterfactualPlan
from recuse.errors import UsageError
from recuse.prompts import Prompt, load_prompt
from recuse.types import Sampling

Kind = Literal["pointwise", "pairwise", "listwise"]
UNITS = {"pointwise": "points", "pairwise": "probability", "listwise": "probability"}
_TOP_LOGPROBS = 20
_BY_LABEL = ("label", "number")  # formats whose verdict is the first token


@dataclass(frozen=True)
class Mode:
    kind: Kind
    prompt: Prompt
    sampling: Sampling
    bounds: tuple[float, float]  # between which values lie: the scale, or a probability
    tolerance: float  # within which a gap counts as none, in the same unit
    varies: bool  # a repeated call may bring another reply

    @property
    def unit(self) -> str:
        return UNITS[self.kind]


def swap_modes(
    plan: CounterfactualPlan,
    can: Capabilities,
    *,
    prompt: Prompt | None = None,
    temperature: float | None = 0.0,
    seed: int | None = None,
    room: int = 0,
) -> tuple[Mode, ...]:
    """The modes that the plan asks for, and "listwise" where it has lineups.

    prompt  the one of the audit, which takes the place of the plan's of the same kind
    room    tokens that every reply may take where a model may think first

    None for a judge that writes no text: a reward model's scalar has no scale on which a tolerance could stand.
    Raises UsageError for a prompt of the wrong kind or without a scale.
    """
    if not can.explains:
        return ()
    names: list[tuple[Kind, str]] = [
        (kind, plan.judge.pointwise if kind == "pointwise" else plan.judge.pairwise) for kind in plan.judge.modes
    ]
    if plan.lineups:
        names.append(("listwise", "listwise/label"))
    found = []
    for kind, name in names:
        chosen = prompt if prompt is not None and prompt.kind == kind else load_prompt(name, kinds=(kind,))
        found.append(_mode(kind, chosen, can, plan, temperature=temperature, seed=seed, room=room))
    return tuple(found)


def _mode(
    kind: Kind,
    prompt: Prompt,
    can: Capabilities,
    plan: CounterfactualPlan,
    *,
    temperature: float | None,
    seed: int | None,
    room: int,
) -> Mode:
    if "reference" in prompt.holes:
        raise UsageError(f"The prompt {prompt.id} wants a reference.", hint="Choose one without {{reference}}.")
    bounds, tolerance = (0.0, 1.0), plan.tolerance.probability
    if kind == "pointwise":
        if prompt.spec.scale is None:
            raise UsageError(
                f"The prompt {prompt.id} states no scale.", hint="Add scale = [1, 10] to its front matter."
            )
        bounds, tolerance = prompt.spec.scale, plan.tolerance.score
    labels: Sequence[str] = prompt.spec.labels if prompt.spec.format in _BY_LABEL else digits(prompt)
    logprobs = can.logprobs and bool(labels)
    one_token = logprobs and can.greedy and all(len(label) == 1 for label in labels)
    temperature = temperature if can.temperature else None
    sampling = Sampling(
        temperature=temperature,
        max_tokens=1 if one_token else max(prompt.max_tokens, room),
        seed=seed if can.seed and temperature != 0.0 else None,
        top_logprobs=_TOP_LOGPROBS if logprobs else 0,
    )
    return Mode(kind, prompt, sampling, bounds, tolerance, varies=temperature != 0.0)


def digits(prompt: Prompt) -> tuple[str, ...]:
    """The replies to a prompt that wants one digit and nothing else; none where it may want more."""
    spec = prompt.spec
    if spec.format != "score" or spec.scale is None or spec.scale[0] < 0 or spec.scale[1] > 9:
        return ()
    return tuple(str(digit) for digit in range(int(spec.scale[0]), int(spec.scale[1]) + 1))
