"""The rounds on the discovery part: deal, rewrite, judge, keep mistakes, explain, name, merge, screen.

Nothing here is a finding. A round collects candidates; the screen between rounds only spares calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from recuse.discovery.config import DiscoverPlan
from recuse.discovery.deal import deal, rank
from recuse.discovery.merge import Candidate, Decide, by_support, merge, numbered, read_same, strengthened
from recuse.discovery.mine import Case, Explained, Mined, explain, extract, robust_flips
from recuse.effects.contrast import Effect
from recuse.lab.bench import Bench, Lab
from recuse.library import Bias
from recuse.perturb.arms import ORIGINAL, Arm, suited
from recuse.perturb.shams import bias_arms, placebo_arms
from recuse.prompts import Prompt
from recuse.types import Ask, Pair

SCREEN_SHARE = 0.5  # of the minimum effect: a real one of twice that seldom falls short of it, half of the nulls do


Accept = Callable[[Sequence[Candidate]], Sequence[str]]


@dataclass(frozen=True)
class Round:
    """What one round found. `screened` holds the effect of each new candidate on the discovery part."""

    number: int
    dealt: int  # pairs with a usable rewrite
    cases: int
    mined: Mined
    new: tuple[Candidate, ...]  # those that it adds, among them what waited since an earlier one
    spare: tuple[Candidate, ...]  # beyond the most that a round may add, by support: they wait for the next one
    known: Mapping[str, int]  # cases that named a bias which was known already
    screened: Mapping[str, Effect]
    advanced: tuple[str, ...]


@dataclass
class Discovered:
    """Everything the rounds brought, by candidate id."""

    rounds: list[Round] = field(default_factory=list)
    candidates: dict[str, Candidate] = field(default_factory=dict)
    waiting: dict[str, Candidate] = field(default_factory=dict)  # named, and crowded out of every round so far
    screened: dict[str, Effect] = field(default_factory=dict)
    words: dict[str, Explained] = field(default_factory=dict)  # by case
    given: bool = False  # no round was played: the candidates come from elsewhere

    @property
    def advanced(self) -> list[Candidate]:
        """What goes to validation."""
        if self.given:
            return list(self.candidates.values())
        return [self.candidates[id] for r in self.rounds for id in r.advanced]


def play(plan: DiscoverPlan, lab: Lab, bench: Bench, accept: Accept | None = None) -> Discovered:
    """All rounds, until one adds nothing that passes the screen and leaves nothing waiting.

    `accept` tests a round's candidates that did on pairs of their own and names those that may be dealt in the next
    round; without it all of them are, and are tested after the last round.
    """
    found = Discovered()
    placebo = placebo_arms()[0]
    lab.rewrite(bench, [(placebo, bench.pairs)])
    lab.judge(bench, [ORIGINAL.id, placebo.id])
    dealt = {bias.id: bias for bias in plan.start}
    for turn in range(plan.config.rounds):
        this = _round(plan, lab, bench, dealt, found, turn)
        found.rounds.append(this)
        if not this.advanced and not found.waiting:
            break
        advanced = [found.candidates[id] for id in this.advanced]
        kept = accept(advanced) if accept and advanced else this.advanced
        dealt |= {id: found.candidates[id].bias for id in kept}
    return found


def _round(
    plan: DiscoverPlan, lab: Lab, bench: Bench, dealt: Mapping[str, Bias], found: Discovered, turn: int
) -> Round:
    hands = deal(bench.pairs, sorted(dealt), seed=plan.config.judge.seed, turn=turn)
    arms = {arm.id: arm for id in sorted(hands) for arm in bias_arms(dealt[id]) if arm.kind == "bias"}
    work = [(arm, suited(dealt[arm.bias or ""], hands[arm.bias or ""])) for arm in arms.values()]
    lab.rewrite(bench, work)
    lab.judge(bench, arms)
    cases = _cases(bench, work)
    explained = explain(
        cases, design=lab.design, reason=plan.prompts.reason, deeper=plan.prompts.deeper,
        steps=plan.config.explain_steps, send=lab.send("judge", f"round {turn + 1}: explaining"),
        sampling=replace(lab.design.sampling, max_tokens=plan.reasoning, top_logprobs=0, choice=False),
    )  # fmt: skip
    found.words.update({e.case.key: e for e in explained})
    known = {**plan.library, **{id: c.bias for id, c in found.candidates.items()}}
    mined = extract(
        explained, prompt=plan.prompts.extract, known=numbered([f"{b.name}: {b.definition}" for b in known.values()]),
        send=lab.send("teacher", f"round {turn + 1}: naming"),
        sampling=lab.brief(plan.prompts.extract),
    )  # fmt: skip
    # What waits is no secret to the merge, and none that the teacher must keep: naming it again is support.
    waiting = {id: c.bias for id, c in found.waiting.items()}
    merged = merge(
        mined.proposals, known | waiting, decide=_decide(lab, plan.prompts.merge, turn), embed=plan.similarity,
        source=f"found by recuse discover: judge {plan.config.judge.judge}, teacher {plan.config.teacher}",
    )  # fmt: skip
    for pool in (found.candidates, found.waiting):
        for id in merged.again.keys() & pool.keys():
            pool[id] = strengthened(pool[id], merged.again[id])
    rivals = by_support([*merged.candidates, *found.waiting.values()])
    most = plan.config.most_candidates
    new, spare = rivals[:most], rivals[most:]
    found.candidates.update({c.bias.id: c for c in new})
    found.waiting = {c.bias.id: c for c in spare}
    screened = _screen(plan, lab, bench, new)
    found.screened.update(screened)
    enough = SCREEN_SHARE * plan.config.min_effect
    advanced = tuple(id for id, e in screened.items() if e.estimate is not None and e.estimate >= enough)
    usable = sum(len(bench.texts(arm)) for arm in arms)
    return Round(turn + 1, usable, len(cases), mined, new, spare, merged.known, screened, advanced)


def _cases(bench: Bench, work: Sequence[tuple[Arm, Sequence[Pair]]]) -> list[Case]:
    before = bench.judged.get(ORIGINAL.id, [])
    cases: list[Case] = []
    for arm, pairs in work:
        id = arm.id
        if id in bench.void:
            continue
        by_id = {pair.id: pair for pair in pairs}
        cases += robust_flips(before, bench.judged.get(id, []), by_id, bench.texts(id), id)
    return cases


def _screen(plan: DiscoverPlan, lab: Lab, bench: Bench, new: Sequence[Candidate]) -> dict[str, Effect]:
    """The effect of each new candidate against placebo, on discovery pairs that did not name it."""
    if not new:
        return {}
    named = {c.bias.id: {case.rpartition(":")[2] for case in c.cases} for c in new}
    order = sorted({pair.group for pair in bench.pairs}, key=lambda group: rank(plan.config.judge.seed, group))
    chosen = set(order[: plan.config.screen_groups])
    arms = [arm for c in new for arm in bias_arms(c.bias)]
    lab.rewrite(
        bench,
        [(arm, [p for p in bench.pairs if p.group in chosen and p.id not in named[arm.bias or ""]]) for arm in arms],
    )
    lab.judge(bench, [arm.id for arm in arms])
    scores = bench.scores()
    return {arm.bias or "": bench.effect(scores, arm) for arm in arms if arm.kind == "bias"}


def _decide(lab: Lab, prompt: Prompt, turn: int) -> Decide:
    """Whether a wording is one of those listed, by the teacher."""

    def decide(asked: Sequence[tuple[str, Sequence[str]]]) -> list[int | None]:
        asks = [
            Ask("merge", "text", prompt.fill(candidate=text, known=numbered(listed)), lab.brief(prompt), prompt.hash,
                schema=prompt.schema, arm=f"merge:{turn + 1}:{i}")
            for i, (text, listed) in enumerate(asked)
        ]  # fmt: skip
        replies = lab.engines.ask("teacher", asks, phase=f"round {turn + 1}: merging")
        return [read_same(a.reply.text, len(listed)) for a, (_, listed) in zip(replies, asked, strict=True)]

    return decide
