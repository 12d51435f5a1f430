"""Validation, opened once, and the test part: where a candidate is accepted and how large its effect is reported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from recuse.discovery.config import DiscoverPlan
from recuse.discovery.merge import Candidate
from recuse.discovery.noise import Twice, ask_again, noise_finding
from recuse.effects.accept import Decision, accept
from recuse.effects.contrast import Effect, contrast, core
from recuse.effects.race import SHARES, futile, plan_stages
from recuse.effects.scores import Scores
from recuse.effects.shams import Shams, Spread
from recuse.lab.bench import Bench, Lab
from recuse.lab.truth import Slip, miss_rate, slips
from recuse.perturb.arms import ORIGINAL, Arm
from recuse.perturb.shams import bias_arms, placebo_arms, sham_arms
from recuse.types import Finding


@dataclass(frozen=True)
class Validated:
    """`calls` counts the judgements of candidates' arms, `fixed` about those that there would be if none had stopped,
    at the share of usable rewrites so far, and `shared` those of the arms that all candidates share. `twice` holds what
    the judge said of the same text, first and again."""

    decisions: tuple[Decision, ...]
    shams: tuple[Effect, ...]
    spread: Spread
    second_placebo: Effect
    twice: tuple[Twice, ...]
    noise: Finding
    stopped: Mapping[str, str]
    slips: Mapping[str, Slip]
    calls: int
    fixed: int
    shared: int
    scores: Scores


def validate(plan: DiscoverPlan, lab: Lab, bench: Bench, candidates: Sequence[Candidate]) -> Validated:
    """Test every candidate beside shams and a second placebo, over all of them at once."""
    c = plan.config
    first, second = placebo_arms()
    shams = sham_arms(c.shams, seed=c.judge.seed)
    shared = [first, second, *shams]
    lab.rewrite(bench, [(arm, bench.pairs) for arm in shared])
    lab.judge(bench, [ORIGINAL.id, *(arm.id for arm in shared)])
    stopped = _race(plan, lab, bench, candidates)
    twice = ask_again(lab, bench, seed=c.judge.seed)
    miss = miss_rate(lab, bench)
    scores = bench.scores()
    arms = [_own(candidate) for candidate in candidates]
    found = {arm.id: slips(bench.rewrites[arm.id].values(), miss) for arm in arms}
    sham_effects = tuple(core(scores, arm.id) for arm in shams)
    decisions = accept(
        [bench.effect(scores, arm) for arm in arms], sham_effects, fdr=c.fdr, min_effect=c.min_effect,
        truth_excess={arm: slip.excess for arm, slip in found.items()}, stopped=stopped,
    )  # fmt: skip
    tried = [arm.id for candidate in candidates for arm in bias_arms(candidate.bias) if bench.rewrites.get(arm.id)]
    return Validated(
        decisions=decisions,
        shams=sham_effects,
        spread=Shams.of(sham_effects).spread(),
        second_placebo=contrast(scores, second.id),
        twice=tuple(twice),
        noise=noise_finding(twice),
        stopped=stopped,
        slips=found,
        calls=_judgements(bench, tried),
        fixed=round(sum(_judgements(bench, [arm]) * len(bench.pairs) / len(bench.rewrites[arm]) for arm in tried)),
        shared=_judgements(bench, [ORIGINAL.id, *(arm.id for arm in shared)]),
        scores=scores,
    )


def _judgements(bench: Bench, arms: Iterable[str]) -> int:
    return sum(len(bench.judged.get(arm, ())) for arm in arms)


def _own(candidate: Candidate) -> Arm:
    return bias_arms(candidate.bias)[0]


def _race(plan: DiscoverPlan, lab: Lab, bench: Bench, candidates: Sequence[Candidate]) -> dict[str, str]:
    """Rewrite and judge the candidates stage by stage; the arms that were stopped, and why."""
    c = plan.config
    stages = plan_stages([p.group for p in bench.pairs], shares=SHARES if c.racing else (1.0,), seed=c.judge.seed)
    running, stopped = list(candidates), dict[str, str]()
    for stage in stages:
        pairs = [pair for pair in bench.pairs if pair.group in stage]
        arms = [arm for candidate in running for arm in bias_arms(candidate.bias)]
        if not pairs or not arms:
            continue
        lab.rewrite(bench, [(arm, pairs) for arm in arms])
        lab.judge(bench, [arm.id for arm in arms])
        if stage is stages[-1]:
            break
        scores = bench.scores()
        for candidate in list(running):
            arm = _own(candidate)
            so_far = core(scores, arm.id, bench.reference(arm))
            why = futile(so_far, bench.groups, min_effect=c.min_effect, fdr=c.fdr)
            if why is not None:
                stopped[arm.id] = why
                running.remove(candidate)
    return stopped


_RIGHT = replace(placebo_arms()[0], id="placebo:right")


@dataclass(frozen=True)
class Tested:
    """The effects on the untouched part, by bias id: against the placebo, against the original, and against the placebo
    where the right answers are paraphrased too."""

    effects: Mapping[str, Effect]
    against_original: Mapping[str, Effect]
    both_reworded: Mapping[str, Effect]
    scores: Scores | None


def measure(plan: DiscoverPlan, lab: Lab, bench: Bench, accepted: Sequence[Candidate]) -> Tested:
    """Measure each accepted bias once on pairs that nothing has seen: the effect that the report states."""
    if not accepted:
        return Tested({}, {}, {}, None)
    first = placebo_arms()[0]
    arms = [arm for candidate in accepted for arm in bias_arms(candidate.bias)]
    lab.rewrite(bench, [(arm, bench.pairs) for arm in (first, *arms)])
    lab.judge(bench, [ORIGINAL.id, first.id, *(arm.id for arm in arms)])
    scores = bench.scores()
    own = {arm.bias or "": arm for arm in arms if arm.kind == "bias"}
    both = _both_reworded(lab, bench, [first, *arms])
    seen = both.scores()
    return Tested(
        {id: bench.effect(scores, arm) for id, arm in own.items()},
        {id: contrast(scores, arm.id, ORIGINAL.id) for id, arm in own.items()},
        {id: both.effect(seen, arm) for id, arm in own.items()},
        scores,
    )


def _both_reworded(lab: Lab, bench: Bench, arms: Sequence[Arm]) -> Bench:
    """The same arms beside right answers that the teacher has paraphrased too.

    Elsewhere only the wrong answer bears the teacher's hand, in the placebo arm as in the biased one. A judge to which
    that hand is dear errs more in both, and at a ceiling there is little room left for an effect.
    """
    swapped = tuple(replace(pair, chosen=pair.rejected, rejected=pair.chosen) for pair in bench.pairs)
    right = Bench(f"{bench.name}, right answers", swapped)
    lab.rewrite(right, [(_RIGHT, right.pairs)])
    texts = right.texts(_RIGHT.id)
    pairs = tuple(replace(pair, chosen=texts[pair.id]) for pair in bench.pairs if pair.id in texts)
    kept = {pair.id for pair in pairs}
    rewrites = {arm.id: {id: r for id, r in bench.rewrites[arm.id].items() if id in kept} for arm in arms}
    both = Bench(f"{bench.name}, both reworded", pairs, rewrites, dict(bench.void))
    lab.judge(both, [arm.id for arm in arms])
    return both
