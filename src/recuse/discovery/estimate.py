"""What a discovery may take, before anything is sent: calls, tokens, money, time, and what it can find."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from recuse.asks import make_asks
from recuse.discovery.config import DiscoverPlan
from recuse.effects.plan import Design, detectable, groups_needed
from recuse.judge import estimate_tokens
from recuse.lab.engines import LEDGERS, Role
from recuse.ledger import Ledger
from recuse.prices import Price
from recuse.types import Pair

_SHARED = 3  # the original and two placebo draws
WANTED = 0.10  # the effect for which the groups are told: a medium bias
_TRIES = 1.3  # requests a rewrite, those asked again for their length included
_NOTE = "upper guesses: every round as full as it may be, every candidate through all of validation"


def estimate(plan: DiscoverPlan, *, given: int | None = None) -> dict[str, Any]:
    """At most about how much; how many candidates there will be nobody knows, so their most is taken.

    With a number of `given` candidates there are no rounds.
    """
    c, s = plan.config, plan.splits
    pairs = {name: len(getattr(s, name)) for name in ("discovery", "validation", "test")}
    candidates = _most(plan) if given is None else given
    screened = min(pairs["discovery"], c.screen_groups)
    texts = {
        "rounds": pairs["discovery"] * (1 + c.rounds) + candidates * screened,
        "validation": pairs["validation"] * (2 + c.shams + candidates),
        "test": pairs["test"] * (1 + candidates),
    }
    per_pair = plan.audit.design.calls_per_pair
    judged = {
        "rounds": (texts["rounds"] + pairs["discovery"]) * per_pair,
        "validation": pairs["validation"] * (_SHARED + c.shams + candidates) * per_pair,
        "test": pairs["test"] * (2 + candidates) * per_pair,
    }
    if given is not None:
        texts["rounds"] = judged["rounds"] = 0
    sample = [pair for part in (s.discovery, s.validation, s.test) for pair in part[:50]]
    teacher_calls = round(_TRIES * sum(texts.values()))
    calls: dict[Role, int] = {"judge": sum(judged.values()), "teacher": teacher_calls}
    tokens: dict[Role, tuple[float, float]] = {
        "judge": _judge_tokens(plan, sample),
        "teacher": _teacher_tokens(plan, sample),
    }
    prices: dict[Role, Price | None] = {"judge": plan.audit.price, "teacher": plan.teacher_price}
    found: dict[str, Any] = {"note": _NOTE, "candidates": candidates}
    for role, count in calls.items():
        tokens_in, tokens_out = (round(count * part) for part in tokens[role])
        price = prices[role]
        found[role] = {
            "calls": count, "tokens_in": tokens_in, "tokens_out": tokens_out,
            "cost": price.of(tokens_in, tokens_out) if price else None, "hours": _hours(c.judge.out, role, count),
        }  # fmt: skip
    groups = s.groups("validation")
    return {
        **found,
        "validation_groups": groups,
        "detectable_effect": detectable(groups, design=_design(plan, candidates)),
        "groups_for": {
            "effect": WANTED,
            "validation_groups": groups_needed(WANTED, design=_design(plan, candidates)).n,
        },
    }


def too_few_groups(plan: DiscoverPlan, *, given: int | None = None) -> str | None:
    """That validation has fewer groups than a medium bias needs, and how many it needs; None where it has enough."""
    candidates = _most(plan) if given is None else given
    groups, needed = plan.splits.groups("validation"), groups_needed(WANTED, design=_design(plan, candidates)).n
    if needed is not None and groups >= needed:
        return None
    return (
        f"Too few groups for an effect of {WANTED:g}: validation has {groups}, and finding it nine times in ten among "
        f"{candidates} candidate{'s' * (candidates != 1)} takes {needed or 'over 100,000'}."
    )


def _most(plan: DiscoverPlan) -> int:
    return plan.config.rounds * plan.config.most_candidates


def _design(plan: DiscoverPlan, candidates: int) -> Design:
    c = plan.config
    return Design(shams=c.shams, candidates=candidates, fdr=c.fdr, min_effect=c.min_effect)


def _judge_tokens(plan: DiscoverPlan, sample: list[Pair]) -> tuple[float, float]:
    """Mean tokens in and out of one judgement."""
    tokens = [estimate_tokens(ask) for ask in make_asks(sample, plan.audit.design)]
    return sum(t[0] for t in tokens) / len(tokens), sum(t[1] for t in tokens) / len(tokens)


def _teacher_tokens(plan: DiscoverPlan, sample: list[Pair]) -> tuple[float, float]:
    """Mean tokens in and out of one rewrite: question, answer and some 300 tokens of instruction; the answer."""
    reading = replace(plan.audit.design, repeats=1)
    judged = [estimate_tokens(ask)[0] for ask in make_asks(sample, reading)]
    written = [len(pair.rejected) / 3 for pair in sample]
    return 300 + sum(judged) / len(judged), sum(written) / len(written)


def _hours(folder: Path | None, role: Role, calls: int) -> float | None:
    """By the pace of the replies that the run folder holds already; None without a few of them."""
    pace = _pace(folder / LEDGERS[role]) if folder else None
    return calls * pace / 3600 if pace else None


def _pace(ledger: Path) -> float | None:
    """Seconds a reply, as they came one after the other; breaks of over a minute are not counted."""
    if not ledger.is_file():
        return None
    with closing(Ledger.existing(ledger)) as known:
        at = known.times()
    gaps = [b - a for a, b in itertools.pairwise(at) if b - a < 60]
    return sum(gaps) / len(gaps) if len(gaps) >= 20 else None


def told(said: Mapping[str, Any]) -> str:
    """The estimate as lines for people."""
    lines = []
    for role in ("judge", "teacher"):
        part = said[role]
        cost = f", about {part['cost']:.2f} US dollars" if part["cost"] else ""
        hours = f", about {part['hours']:.1f} hours at the pace so far" if part["hours"] else ""
        lines.append(
            f"{role}: at most about {part['calls']:,} calls, {part['tokens_in']:,} tokens in and "
            f"{part['tokens_out']:,} out{cost}{hours}"
        )
    least, wanted = said["detectable_effect"], said["groups_for"]
    finds = "no effect at all" if least is None else f"effects from {least:.3f} on, nine times in ten"
    lines.append(f"{said['validation_groups']} validation groups find {finds}.")
    lines.append(f"An effect of {wanted['effect']:g} needs {wanted['validation_groups'] or 'over 100,000'} of them.")
    return "\n".join([*lines, f"({said['note']}) Nothing was asked."])
