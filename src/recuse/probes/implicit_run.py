"""A model goes through the three steps of the implicit-decision probe; see `recuse.probes.implicit`.

Every decision of the plan is a conversation of its own for each of its forms: relative ones with either group named
first, absolute ones for both groups with both tasks. Later steps contain the model's earlier replies. Words are
shuffled anew in every conversation, and which of the two tasks a relative decision asks about alternates.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from recuse.errors import UsageError
from recuse.lab.engines import Watch
from recuse.probes.implicit import (
    CELLS,
    Attribute,
    Group,
    Implicit,
    Measure,
    Row,
    implicit_findings,
    implicit_measures,
    plain,
    sort_words,
)  # fmt: skip
from recuse.probes.implicit_plan import Decision, ImplicitPlan, Pair, Side, load_implicit_plan
from recuse.probes.product import Found, Product, Reached, Send, carry_out, spoken
from recuse.prompts import Prompt, load_prompt
from recuse.types import Ask, Message, Reply
from recuse.verdict.read import read

Variant = Literal["absolute", "relative"]
VARIANTS: tuple[Variant, ...] = ("absolute", "relative")
STEPS = ("words", "profiles", "decisions")
UNITS = "decision"
_PROMPTS = ("implicit_words", "implicit_profile", "implicit_profiles", "implicit_yes", "implicit_assign")
_ENDED = "an earlier step brought no reply"


@dataclass(frozen=True)
class Chain:
    """One conversation. `group`: whom an absolute decision is about, or who is named first in a relative one. `task`:
    whose task the decision is about."""

    pair: Pair
    decision: Decision
    variant: Variant
    group: Group
    task: Group
    draw: int

    @property
    def key(self) -> str:
        return f"{self.pair.id}/{self.decision.id}/{self.variant}/{self.group}/{self.task}/{self.draw}"

    @property
    def attribute(self) -> Attribute:
        return "positive" if self.task == "default" else "negative"

    def side(self, group: Group) -> Side:
        return self.pair.default if group == "default" else self.pair.stigma

    def words(self, seed: int) -> list[str]:
        words = [*self.pair.default.words, *self.pair.stigma.words]
        random.Random(f"{seed}:{self.key}").shuffle(words)
        return words

    @property
    def order(self) -> tuple[Group, Group]:
        return ("default", "stigma") if self.group == "default" else ("stigma", "default")


@dataclass(frozen=True)
class ImplicitRun:
    """A plan and a model that is open; nothing is asked yet."""

    plan: ImplicitPlan
    path: Path | None
    product: Product
    variants: tuple[Variant, ...]
    draws: int
    prompts: dict[str, Prompt]

    @classmethod
    def prepare(
        cls, plan: Path | None, reached: Reached, *, variants: Sequence[Variant] = VARIANTS, draws: int = 1
    ) -> ImplicitRun:
        """Read the plan (None: the shipped one) and open the model. Raises RecuseError for what is wrong with them."""
        if draws < 1 or not variants:
            raise UsageError("There is nothing to ask.", hint="Give at least one draw and one variant.")
        loaded = load_implicit_plan(plan)
        prompts = {name: load_prompt(f"probe/{name}", kinds=("probe",)) for name in _PROMPTS}
        return cls(loaded, plan, Product.open(reached), tuple(variants), draws, prompts)

    def chains(self) -> list[Chain]:
        return [
            Chain(pair, decision, variant, group, task, draw)
            for pair in self.plan.pairs
            for i, decision in enumerate(pair.decisions)
            for variant in self.variants
            for draw in range(self.draws)
            for group, task in _forms(variant, i + draw)
        ]

    def ask(self, chain: Chain, said: Sequence[str]) -> Ask:
        """The next ask of a conversation in which `said` are the model's replies so far."""
        messages: list[Message] = []
        prompt = self.prompts["implicit_words"]
        for step in range(len(said) + 1):
            if step:
                messages.append(Message("assistant", said[step - 1]))
            prompt, values = self._shown(chain, step)
            messages += prompt.fill(**values)
        labels = prompt.spec.labels if prompt.spec.format == "label" else ()
        return Ask(
            f"{chain.key}/{len(said)}", "text", tuple(messages), self.product.sampling(prompt.max_tokens), prompt.hash,
            labels, arm="implicit",
        )  # fmt: skip

    def _shown(self, chain: Chain, step: int) -> tuple[Prompt, dict[str, str]]:
        """The prompt of a step and what stands in its holes."""
        first, second = (chain.side(group) for group in chain.order)
        if step == 0:
            words = chain.words(self.product.reached.seed)
            values = {"first": first.label, "second": second.label, "words": "\n".join(words), "count": str(len(words))}
            return self.prompts["implicit_words"], values
        own, limit = chain.side(chain.group), str(self.plan.limit)
        tasks = {"default": chain.decision.default, "stigma": chain.decision.stigma}
        if chain.variant == "absolute":
            if step == 1:
                return self.prompts["implicit_profile"], {"person": own.person, "limit": limit}
            return self.prompts["implicit_yes"], {"task": tasks[chain.task], "person": own.person}
        people = {"first": first.person, "second": second.person}
        if step == 1:
            return self.prompts["implicit_profiles"], {**people, "limit": limit}
        other = next(task for group, task in tasks.items() if group != chain.task)
        return self.prompts["implicit_assign"], {**people, "task": tasks[chain.task], "other": other}

    def assumed(self) -> Iterator[Ask]:
        """Every ask, with earlier replies of the length that was asked for: what a run may cost at most."""
        for chain in self.chains():
            words = "\n".join(f"{word} - {chain.pair.stigma.label}" for word in chain.words(0))
            profile = "word " * self.plan.limit * (1 if chain.variant == "absolute" else 2)
            for said in ([], [words], [words, profile]):
                yield self.ask(chain, said)

    def of_run(self) -> dict[str, Any]:
        return {
            "plan_hash": self.plan.hash, "variants": list(self.variants), "draws": self.draws,
            "prompts": {name: prompt.hash for name, prompt in self.prompts.items()},
        }  # fmt: skip

    def estimate(self) -> dict[str, Any]:
        return self.product.estimate(list(self.assumed()))

    def close(self) -> None:
        self.product.close()


def _forms(variant: Variant, turn: int) -> list[tuple[Group, Group]]:
    groups: tuple[Group, Group] = ("default", "stigma")
    if variant == "absolute":
        return [(group, "default" if attribute == "positive" else "stigma") for group, attribute in CELLS]
    return [(group, groups[(i + turn) % 2]) for i, group in enumerate(groups)]


def run_implicit(
    run: ImplicitRun,
    *,
    level: float = 0.95,
    watch: Watch = lambda phase, done, total, cost: None,
    stop: threading.Event | None = None,
) -> tuple[dict[str, Any], Path]:
    """Ask, measure and write the run folder; see `product.carry_out`."""
    plan = {
        "path": str(run.path) if run.path else "shipped", "hash": run.plan.hash, "pairs": len(run.plan.pairs),
        "decisions": sum(len(pair.decisions) for pair in run.plan.pairs),
    }  # fmt: skip
    return carry_out(
        run.product, "implicit", run.of_run(), plan, lambda send: _work(run, send, level), level=level, watch=watch,
        stop=stop,
    )  # fmt: skip


def _work(run: ImplicitRun, send: Send, level: float) -> Found:
    chains = run.chains()
    replies: dict[str, list[Reply]] = {chain.key: [] for chain in chains}
    for number, step in enumerate(STEPS):
        going = [c for c in chains if len(replies[c.key]) == number and all(map(spoken, replies[c.key]))]
        asks = [run.ask(chain, [spoken(reply) for reply in replies[chain.key]]) for chain in going]
        for chain, answered in zip(going, send(_apart(asks, run.product.varies), step), strict=True):
            replies[chain.key].append(answered.reply)
    read_rows = [_read(run, chain, replies[chain.key]) for chain in chains]
    found = implicit_measures([row for row, _ in read_rows], limit=run.plan.limit, level=level)
    return Found(
        headline(found), implicit_findings(found, UNITS), [record for _, record in read_rows],
        {"implicit": plain(found, UNITS)},
    )  # fmt: skip


def _apart(asks: Sequence[Ask], varies: bool) -> list[Ask]:
    """Asks of one text in several conversations are calls of their own, where a call may bring another reply."""
    seen: Counter[tuple[Message, ...]] = Counter()
    numbered = []
    for ask in asks:
        numbered.append(replace(ask, repeat=seen[ask.messages]) if varies else ask)
        seen[ask.messages] += 1
    return numbered


def _read(run: ImplicitRun, chain: Chain, replies: Sequence[Reply]) -> tuple[Row, dict[str, Any]]:
    texts = [spoken(reply) for reply in replies]
    words = [*((word, "positive") for word in chain.pair.default.words),
             *((word, "negative") for word in chain.pair.stigma.words)]  # fmt: skip
    labels = {chain.pair.default.label: "default", chain.pair.stigma.label: "stigma"}
    given = sort_words(texts[0], dict(words), labels)  # type: ignore[arg-type]
    why = None if given.association is not None else given.reason if texts[0] else _unsaid(replies[0])
    profile = texts[1] if len(texts) > 1 and texts[1] else None
    chosen: str | None = None
    value, reason = None, _ENDED
    if len(replies) == len(STEPS):
        spec = run.prompts["implicit_yes" if chain.variant == "absolute" else "implicit_assign"].spec
        verdict = read(replies[-1], spec)
        reason = verdict.reason or ""
        if verdict.outcome is not None:
            chosen = {"A": spec.first, "B": spec.second}[verdict.outcome]
            first = verdict.outcome == "A"
            value = float(first if chain.variant == "absolute" else chain.order[0 if first else 1] == chain.task)
    absolute = chain.variant == "absolute"
    row = Row(
        chain.pair.id, chain.decision.id, chain.variant, chain.group if absolute else None,
        chain.attribute if absolute else None, value, None if value is not None else reason, True,
        given.association, why, len(profile.split()) if profile else None, 1 if absolute else 2,
    )  # fmt: skip
    shown = run.ask(chain, texts[: len(replies) - 1]).messages
    record = {
        "category": row.category, "unit": row.unit, "variant": row.variant, "group": row.group,
        "attribute": row.attribute, "first": chain.order[0], "task": chain.task, "seed": chain.draw,
        "decision": chosen, "decision_reason": row.reason, "consistent": None if absolute else value,
        "association": row.association, "association_reason": row.association_reason, "profile": profile,
        "profile_words": row.profile_words, "words": texts[0] or None,
        "prompt": "\n\n".join(m.content for m in shown if m.role == "user"),
        "reply": replies[-1].text, "finish": replies[-1].finish,
    }  # fmt: skip
    return row, record


def _unsaid(reply: Reply) -> str:
    return "refused" if reply.finish == "refusal" else "error" if reply.finish == "error" else "empty reply"


def headline(found: Implicit) -> str:
    """What the rows show over category pairs, direction included."""
    names: dict[Measure, tuple[str, str]] = {
        "consistent": ("relative decisions follow the stereotype", "1 = always, 0.5 = no preference"),
        "gap": ("yes to what it expects minus yes to the opposite", "0 = no difference"),
        "yes": ("share of yes", "1 = always yes"),
        "association": ("association of words", "0 = none"),
    }
    said = []
    for name, (title, ends) in names.items():
        if name in found.overall and (of := found.overall[name].found).estimate is not None:
            interval = f", {of.interval[0]:.2f} to {of.interval[1]:.2f}" if of.interval else ""
            said.append(f"{title} {of.estimate:.2f}{interval} ({ends})")
    text = "; ".join(said)
    return f"{text[0].upper()}{text[1:]}." if said else "Nothing could be read."
