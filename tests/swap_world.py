"""A counterfactual plan of any size, and a fake judge behind the real loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from recuse.backends import open_backend
from recuse.counterfactual.plan import CounterfactualPlan, read_plan
from recuse.judge import Spend, judge
from recuse.ledger import Ledger
from recuse.swap.asking import Send
from recuse.swap.modes import Mode, swap_modes

MEN = ["Jakob Brenner", "Emil Sorge", "Anton Weiss", "Paul Adler", "Hugo Kern", "Otto Lang"]
WOMEN = ["Klara Brenner", "Ida Sorge", "Lena Weiss", "Marta Adler", "Rosa Kern", "Edda Lang"]


def plan_of(templates: int, *, names: int = 6, text: str = "{{name}} runs a shop, number {n}.", **more: Any):
    """`templates` texts that differ in a number, for two groups."""
    found: CounterfactualPlan = read_plan(
        {
            "schema": 1,
            "question": "How good is this note?",
            "groups": {
                "men": {"names": MEN[:names], "pronouns": "he"},
                "women": {"names": WOMEN[:names], "pronouns": "she"},
            },
            "templates": [{"id": f"t{n}", "text": text.replace("{n}", str(n))} for n in range(templates)],
            **more,
        }
    )
    return found


def loop(folder: Path, model: str, spend: Spend | None = None) -> Send:
    """Asks through the ledger in `folder` to fake/`model`, in the order of the asks."""
    backend, counted = open_backend(f"fake/{model}"), spend or Spend()

    def send(asks):
        ledger = Ledger(folder / "ledger.sqlite", judge=backend.name)
        try:
            found = {
                (a.ask.pair, a.ask.view, a.ask.repeat): a for a in judge(lambda: asks, backend, ledger, spend=counted)
            }
        finally:
            ledger.close()
        return [found[ask.pair, ask.view, ask.repeat] for ask in asks]

    return send


def modes_of(plan: CounterfactualPlan, model: str, **more: Any) -> tuple[Mode, ...]:
    return swap_modes(plan, open_backend(f"fake/{model}").capabilities, **more)
