"""Pairs and a prompt become asks: both orders of a pair side by side, so that they share the question as prefix."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from recuse.errors import InputError
from recuse.prompts import Prompt, transcript
from recuse.types import Ask, Message, Pair, Sampling, View

SCORES_ONLY = "reward"  # stands for the prompt's hash where a reward model sees the conversation itself


@dataclass(frozen=True, slots=True)
class Design:
    """How each pair is asked. `prompt` None: a reward model gets the conversation with one answer at its end."""

    prompt: Prompt | None
    sampling: Sampling
    repeats: int = 1

    @property
    def views(self) -> tuple[View, View]:
        pairwise = self.prompt is not None and self.prompt.kind == "pairwise"
        return ("AB", "BA") if pairwise else ("chosen", "rejected")

    @property
    def calls_per_pair(self) -> int:
        return len(self.views) * self.repeats


def make_asks(pairs: Iterable[Pair], design: Design, *, arm: str = "original") -> Iterator[Ask]:
    """All asks of `pairs`, in a fixed order: pair by pair, view by view, repeat by repeat."""
    prompt = design.prompt
    labels = prompt.spec.labels if prompt else ()
    digest = prompt.hash if prompt else SCORES_ONLY
    schema = prompt.schema if prompt else None
    for pair in pairs:
        for view in design.views:
            messages = _fill(prompt, pair, view) if prompt else _conversation(pair, view)
            for repeat in range(design.repeats):
                yield Ask(pair.id, view, messages, design.sampling, digest, labels, schema, arm, repeat)


def by_prefix(asks: Iterable[Ask]) -> list[Ask]:
    """The asks in the order of their texts: those that begin alike stand side by side, equal ones stay in their order.

    A server that keeps the last prompt it read, or more of them, then reads every common beginning once: no order does
    better (Zheng et al. 2024, arXiv 2312.07104, theorem 3.1). What an ask is never depends on its place.
    """
    return sorted(asks, key=lambda ask: [(message.role, message.content) for message in ask.messages])


def _fill(prompt: Prompt, pair: Pair, view: View) -> tuple[Message, ...]:
    reference = pair.reference
    if reference is None and "reference" in prompt.holes:
        raise InputError(
            f"pair {pair.id} has no reference answer, which the prompt {prompt.id!r} shows",
            hint="Name the column with --column reference=NAME, or choose a prompt without {{reference}}.",
        )
    values = {"question": transcript(pair.prompt), "reference": reference or ""}
    if view == "AB":
        return prompt.fill(**values, first=pair.chosen, second=pair.rejected)
    if view == "BA":
        return prompt.fill(**values, first=pair.rejected, second=pair.chosen)
    return prompt.fill(**values, answer=pair.chosen if view == "chosen" else pair.rejected)


def _conversation(pair: Pair, view: View) -> tuple[Message, ...]:
    asked = (Message("user", pair.prompt),) if isinstance(pair.prompt, str) else pair.prompt
    return (*asked, Message("assistant", pair.chosen if view == "chosen" else pair.rejected))
