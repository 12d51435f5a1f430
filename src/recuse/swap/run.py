"""The swap test of one judge: everything that is asked, then everything that the replies say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from recuse.counterfactual.plan import CounterfactualPlan, load_plan
from recuse.judgements import Unread
from recuse.swap.asking import Send
from recuse.swap.measuring import Measuring, SwapFound
from recuse.swap.modes import Mode, swap_modes
from recuse.swap.parts import Part
from recuse.swap.shown import Redacts, Texts, questions_of
from recuse.types import Ask

__all__ = ["GATEABLE", "Swap", "SwapFound", "load_swap", "run_swap", "swap_modes"]

GATEABLE = frozenset({"swap.gap", "self_preference.label", "self_preference.content"})  # what a gate may name


@dataclass
class Swap:
    """A plan that is ready to be asked about: one round for each mode."""

    plan: CounterfactualPlan
    texts: Texts | None
    parts: list[Part]

    @classmethod
    def prepare(cls, plan: CounterfactualPlan, modes: Sequence[Mode], redactor: Redacts | None = None) -> Swap:
        """Nothing is asked yet; `asks` says what would be. Raises InputError for a template without a question."""
        texts = Texts.build(plan) if plan.templates else None
        return cls(plan, texts, [Part.prepare(mode, plan, texts, redactor) for mode in modes])

    @property
    def asks(self) -> list[Ask]:
        """Every request once, mode by mode."""
        return [ask for part in self.parts for ask in part.asked.asks]

    def run(self, send: Send, *, unread: Unread | None = None, level: float = 0.95, seed: int = 0) -> SwapFound:
        """Ask and measure. `send` gives every ask back with its reply, as `lab.engines.Engines.ask` does.

        Raises what `send` raises; what was paid for is in its ledger.
        """
        for part in self.parts:
            if part.asked.asks:
                part.asked.send(send, unread if unread is not None else Unread())
        return Measuring(self.plan, self.texts, self.parts, level=level, seed=seed).all()


def load_swap(path: Path) -> CounterfactualPlan:
    """The plan at `path`, whose templates all have a question. Raises InputError naming the file."""
    plan = load_plan(path)
    questions_of(plan, path)
    return plan


def run_swap(
    plan: CounterfactualPlan,
    send: Send,
    modes: Sequence[Mode],
    *,
    redactor: Redacts | None = None,
    unread: Unread | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> SwapFound:
    """`Swap.prepare` and `Swap.run` in one."""
    return Swap.prepare(plan, modes, redactor).run(send, unread=unread, level=level, seed=seed)
