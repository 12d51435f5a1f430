"""What a discovery may take, before anything is sent: calls, tokens, money, time, and what it can find."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from recuse.asks import make_asks
from recuse.discovery.config import DiscoverPlan
from recuse.discovery.merge import MOST_LISTED
from recuse.discovery.noise import SHARE
from recuse.effects.plan import Design, detectable, groups_needed
from recuse.judge import estimate_tokens
from recuse.lab.effort import TOLD, Work, lengths, mean, rewriting, total
from recuse.lab.engines import LEDGERS, Role
from recuse.lab.truth import CONTROLS
from recuse.ledger import Ledger
from recuse.perturb.teacher import TRIES
from recuse.prices import Price
from recuse.types import Pair

_SHARED = 3  # the original and two placebo draws
_SAMPLE = 50  # pairs of each part, from which lengths are taken
WANTED = 0.10  # the effect for which the groups are told: a medium bias
_NOTE = (
    "upper guesses: every round as full as it may be, every answer a mistake, every candidate through all of "
    f"validation, and {TRIES} requests for every rewrite"
)
# Measured on 400 pairs of RewardBench with made-up models: ten before the first round, five and more in each.
_IN_BATCHES = (
    "In batches every step waits for its own file, minutes to a day, and a discovery takes them one after the other: "
    "ten before the first round, five or more in each round, more for each candidate."
)


def estimate(
    plan: DiscoverPlan, *, given: int | None = None, rates: Mapping[Role, float] | None = None
) -> dict[str, Any]:
    """At most about how much; how many candidates there will be nobody knows, so their most is taken.

    With a number of `given` candidates there are no rounds. `rates` are replies a second as somebody measured them;
    without one for a model the run folder's own pace is taken, where it has replies already.
    """
    c, s = plan.config, plan.splits
    pairs = {name: len(getattr(s, name)) for name in ("discovery", "validation", "test")}
    candidates = _most(plan) if given is None else given
    screened = min(pairs["discovery"], c.screen_groups)
    texts = {
        "rounds": pairs["discovery"] * (1 + c.rounds) + candidates * screened,
        "validation": pairs["validation"] * (2 + c.shams + candidates),
        "test": pairs["test"] * (2 + candidates),  # the placebo of wrong and of right answers among them
    }
    if given is not None:
        texts["rounds"] = 0
    # Evenly spaced, since files are often sorted: in RewardBench the first 50 wrong answers have 450 characters on
    # average and the others 741.
    sample = [pair for part in (s.discovery, s.validation, s.test) for pair in part[:: -(-len(part) // _SAMPLE)]]
    work: dict[Role, dict[str, Work]] = {
        "judge": _judging(plan, sample, pairs, candidates, texts["rounds"]),
        "teacher": _teaching(plan, sample, texts, pairs),
    }
    prices: dict[Role, Price | None] = {"judge": plan.audit.price, "teacher": plan.teacher_price}
    found: dict[str, Any] = {"note": _NOTE, "candidates": candidates}
    for role, parts in work.items():
        calls, tokens_in, tokens_out = total(parts)
        price, rate = prices[role], (rates or {}).get(role)
        pace = 1 / rate if rate else _pace(c.judge.out, role)
        found[role] = {
            "calls": calls, "tokens_in": tokens_in, "tokens_out": tokens_out,
            "cost": price.of(tokens_in, tokens_out) if price else None,
            "hours": calls * pace / 3600 if pace else None, "rate": rate,
            "calls_by_kind": {kind: part.calls for kind, part in parts.items()},
        }  # fmt: skip
    blocks, groups = _blocks(plan), s.groups("validation")
    return {
        **found,
        "batches": c.judge.options.batch or c.teacher_options.batch,
        "validation_groups": groups,
        "validation_blocks": blocks,
        "detectable_effect": detectable(groups // blocks, design=_design(plan, candidates)),
        "detectable_first": detectable(groups // blocks, design=_design(plan, 1)) if c.online else None,
        "groups_for": {"effect": WANTED, "validation_groups": _groups_for_wanted(plan, candidates)},
    }


def too_few_groups(plan: DiscoverPlan, *, given: int | None = None) -> str | None:
    """That validation has fewer groups than a medium bias needs, and how many it needs; None where it has enough."""
    candidates = _most(plan) if given is None else given
    groups, needed = plan.splits.groups("validation"), _groups_for_wanted(plan, candidates)
    if needed is not None and groups >= needed:
        return None
    most = "up to " if given is None else ""
    online = f" in {_blocks(plan)} blocks by e-LOND" if plan.config.online else ""
    return (
        f"Too few groups for an effect of {WANTED:g}: validation has {groups}, and finding it nine times in ten among "
        f"{most}{candidates} candidate{'s' * (candidates != 1)} takes {needed or 'over 100,000'}{online}."
    )


def _most(plan: DiscoverPlan) -> int:
    return plan.config.rounds * plan.config.most_candidates


def _design(plan: DiscoverPlan, candidates: int) -> Design:
    c = plan.config
    return Design(shams=c.shams, candidates=candidates, fdr=c.fdr, min_effect=c.min_effect, stream=c.online)


def _groups_for_wanted(plan: DiscoverPlan, candidates: int) -> int | None:
    """Groups of validation, over all its blocks; None: too many to say."""
    of_block = groups_needed(WANTED, design=_design(plan, candidates)).n
    return None if of_block is None else of_block * _blocks(plan)


def _judging(
    plan: DiscoverPlan, sample: list[Pair], pairs: Mapping[str, int], candidates: int, in_rounds: int
) -> dict[str, Work]:
    """What the judge is asked for: verdicts, reasons for its mistakes, and some verdicts a second time."""
    c, per_pair = plan.config, plan.audit.design.calls_per_pair
    verdicts = pairs["validation"] * (_SHARED + c.shams + candidates) + pairs["test"] * (3 + 2 * candidates)
    if in_rounds:
        verdicts += in_rounds + pairs["discovery"]
    prompt = plan.audit.prompt
    explains = bool(in_rounds) and prompt is not None and prompt.kind == "pairwise"
    tokens = [estimate_tokens(ask) for ask in make_asks(sample, plan.audit.design)]
    reading, saying = (mean([t[i] for t in tokens]) for i in (0, 1))
    steps, words = c.explain_steps, plan.prompts.deeper.max_tokens
    blocks = _blocks(plan)
    again = blocks * max(1, -(-pairs["validation"] // blocks) // SHARE)
    return {
        "verdicts": Work(verdicts * per_pair, reading, saying),
        "reasons": Work(pairs["discovery"] * c.rounds * (2 + steps) if explains else 0,  # in both orders at first
                        reading + words * (1 + steps) / 2, words),
        "again": Work(again * per_pair, reading, saying),
    }  # fmt: skip


def _teaching(
    plan: DiscoverPlan, sample: list[Pair], texts: Mapping[str, int], pairs: Mapping[str, int]
) -> dict[str, Work]:
    """What the teacher is asked for. Every mistake is taken to name a bias in words of its own."""
    c, prompts = plan.config, plan.prompts
    question, answer = lengths(sample)
    known = sum(len(f"{b.name}: {b.definition}") for b in plan.library.values()) / 3
    listed = known * min(1.0, MOST_LISTED / max(1, len(plan.library)))
    explained = prompts.deeper.max_tokens * (1 + c.explain_steps)
    mistakes = pairs["discovery"] * c.rounds if texts["rounds"] else 0
    controls = min(CONTROLS * _blocks(plan), pairs["validation"]) if c.verify else 0
    return {
        **rewriting(sample, sum(texts.values()) + controls, verify=c.verify),
        "naming": Work(mistakes, TOLD + question + 3 * answer + explained + known, prompts.extract.max_tokens),
        "merging": Work(mistakes, TOLD + listed, prompts.merge.max_tokens),
    }


def _blocks(plan: DiscoverPlan) -> int:
    """Parts into which validation is cut."""
    return plan.config.rounds if plan.config.online else 1


def _pace(folder: Path | None, role: Role) -> float | None:
    """Seconds a reply of those that the run folder holds already, as they came one after the other; breaks of over a
    minute are not counted. None without a few of them."""
    if folder is None or not (folder / LEDGERS[role]).is_file():
        return None
    with closing(Ledger.existing(folder / LEDGERS[role])) as known:
        at = known.times()
    gaps = [b - a for a, b in itertools.pairwise(at) if b - a < 60]
    return sum(gaps) / len(gaps) if len(gaps) >= 20 else None


def told(said: Mapping[str, Any]) -> str:
    """The estimate as lines for people."""
    lines = []
    for role in ("judge", "teacher"):
        part = said[role]
        cost = f", about {part['cost']:.2f} US dollars" if part["cost"] else ""
        lines.append(
            f"{role}: at most about {part['calls']:,} calls, {part['tokens_in']:,} tokens in and "
            f"{part['tokens_out']:,} out{cost}{_time(part)}"
        )
    if said["batches"]:
        lines.append(_IN_BATCHES)
    least, wanted = said["detectable_effect"], said["groups_for"]
    finds = "no effect at all" if least is None else f"effects from {least:.3f} on, nine times in ten"
    blocks = f" in {said['validation_blocks']} blocks, by e-LOND," if said["validation_blocks"] > 1 else ""
    lines.append(f"{said['validation_groups']} validation groups{blocks} find {finds}.")
    if first := said["detectable_first"]:
        lines.append(
            f"Of the first candidate of the stream they find effects from {first:.3f} on; later ones need more."
        )
    lines.append(f"An effect of {wanted['effect']:g} needs {wanted['validation_groups'] or 'over 100,000'} of them.")
    return "\n".join([*lines, f"({said['note']}) Nothing was asked."])


def _time(part: Mapping[str, Any]) -> str:
    if part["hours"] is None:
        return ""
    hours = "under 0.1 hours" if part["hours"] < 0.1 else f"about {part['hours']:,.1f} hours"
    return f", {hours} at {part['rate']:g} replies a second" if part["rate"] else f", {hours} at the pace so far"
