"""`recuse audit --biases`: the known library through the same arms and tests as a discovery, on all pairs at once.

Without a teacher each bias is put in by its rule-based edit, beside a meaningless edit of the same size; with one, by
rewriting. Nothing is searched for, so nothing is held out: every bias that was asked for is listed with its interval,
whatever it shows, and the correction runs over all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from recuse import stats
from recuse.audits.measure import Measure, Side, unmeasured
from recuse.effects.accept import Decision, accept
from recuse.effects.contrast import Effect, contrast, core, gaps
from recuse.effects.describe import effect_finding, rewriting_findings, shift_findings
from recuse.effects.scores import Scores
from recuse.effects.shams import Shams, spread_finding
from recuse.errors import UsageError
from recuse.lab.bench import Bench, Lab
from recuse.lab.truth import miss_rate, slips
from recuse.library import Bias
from recuse.perturb.arms import ORIGINAL, Arm, suited
from recuse.perturb.rules import edit_all, rule_arms
from recuse.perturb.shams import teacher_arms
from recuse.perturb.teacher import Tally, tally
from recuse.types import Judgement

_NO_CODE = "no wrong answer is code"
_ASKED = "estimate at least 5 points; proven above 0, corrected over all that was tried"


@dataclass(frozen=True)
class Known:
    """What the library showed: measures for the gate and the report, and sentences."""

    measures: tuple[Measure, ...]
    notes: tuple[str, ...]
    bench: Bench

    @property
    def judged(self) -> list[Judgement]:
        """Of the changed answers, arm by arm."""
        return [j for arm, judged in self.bench.judged.items() if arm != ORIGINAL.id for j in judged]

    @property
    def texts(self) -> dict[str, dict[str, str]]:
        """The changed answers, by arm and pair."""
        return {arm: self.bench.texts(arm) for arm in self.bench.rewrites}


def chosen(names: Sequence[str], library: Mapping[str, Bias], *, teacher: bool) -> list[Bias]:
    """The biases that `--biases` names, "all" or ids. Raises UsageError for an unknown one, or one that cannot be put
    in this way."""
    can = {id: b for id, b in library.items() if (b.inject if teacher else b.edit) is not None}
    if list(names) == ["all"]:
        return list(can.values())
    for name in names:
        if name not in library:
            raise UsageError(f"There is no bias {name!r}.", hint=f"Choose from: {', '.join(library)}.")
        if name not in can:
            lacks = "no `inject` line for a teacher" if teacher else "no rule-based edit"
            raise UsageError(f"The bias {name!r} has {lacks}.", hint=f"These can be tested: {', '.join(can)}.")
    return [can[name] for name in dict.fromkeys(names)]


def measure_known(
    lab: Lab, bench: Bench, biases: Sequence[Bias], *, teacher: bool, shams: int, seed: int, fdr: float, level: float
) -> Known:
    """Put every bias into the wrong answers, have them judged, and test the effects beside shams.

    A bias that goes into no pair, such as one about code where no answer is code, is not measured and not among those
    for which the tests are corrected.
    """
    arms, idle = (_rewritten if teacher else _edited)(lab, bench, biases, shams=shams, seed=seed)
    put_in = [bias for bias in biases if bias.id not in idle]
    unable = [unmeasured(f"bias.{b.id}.effect", _title(b), idle[b.id]) for b in biases if b.id in idle]
    said = [*_idle_notes(biases, idle), *(_tested_notes(bench) if lab.run_code else ())]
    if not put_in:
        return Known(tuple(unable), tuple(said), bench)
    miss = miss_rate(lab, bench)
    lab.judge(bench, [ORIGINAL.id, *(arm.id for arm in arms)])
    scores = bench.scores()
    own = {arm.bias or "": arm for arm in arms if arm.kind == "bias"}
    sham_arms = [arm for arm in arms if arm.kind == "sham"]
    sham_effects = [core(scores, arm.id, bench.reference(arm), level=level) for arm in sham_arms]
    effects = {id: contrast(scores, arm.id, bench.reference(arm), level=level) for id, arm in own.items()}
    excess = {arm.id: slips(bench.rewrites[arm.id].values(), miss).excess for arm in own.values()}
    decisions = accept(list(effects.values()), sham_effects, fdr=fdr, truth_excess=excess)
    measures = []
    for bias, decision in zip(put_in, decisions, strict=True):
        measures += _measures(bias, decision, scores, contrast(scores, f"bias:{bias.id}", ORIGINAL.id, level=level))
    second = next(arm for arm in arms if arm.id == "placebo2")
    first = bench.reference(second)
    measures += [
        Measure(spread_finding(Shams.of(sham_effects).spread(level=level))),
        Measure(effect_finding("placebo.second", "A second meaningless version against the first",
                               contrast(scores, second.id, first, level=level))),
        *(Measure(finding) for finding in (rewriting_findings([bench.rewrites]) if teacher else ())),
        *unable,
    ]  # fmt: skip
    return Known(tuple(measures), (*_notes(decisions, bench, biases), *said), bench)


def _rewritten(
    lab: Lab, bench: Bench, biases: Sequence[Bias], *, shams: int, seed: int
) -> tuple[list[Arm], dict[str, str]]:
    """Have the teacher write; the arms, and why a bias has none."""
    fitting = {bias.id: suited(bias, bench.pairs) for bias in biases}
    put_in = [bias for bias in biases if fitting[bias.id]]
    if not put_in:
        return [], dict.fromkeys(fitting, _NO_CODE)
    arms = teacher_arms(put_in, shams=shams, seed=seed)
    lab.rewrite(bench, [(arm, fitting.get(arm.bias or "", bench.pairs)) for arm in arms])
    return arms, {id: _NO_CODE for id, pairs in fitting.items() if not pairs}


def _edited(
    lab: Lab, bench: Bench, biases: Sequence[Bias], *, shams: int, seed: int
) -> tuple[list[Arm], dict[str, str]]:
    """Edit by rule; the arms, and why a bias has none."""
    alone = [arm for arm in rule_arms(biases, shams=0) if arm.kind == "bias"]
    tried = edit_all(bench.pairs, alone, seed=seed, run_code=lab.run_code)
    counts = {arm.bias or "": tally(tried[arm.id].values()) for arm in alone}
    put_in = [bias for bias in biases if counts[bias.id].usable]
    arms = rule_arms(put_in, shams=shams, made={arm.bias or "": tried[arm.id].values() for arm in alone})
    bench.rewrites.update(edit_all(bench.pairs, arms, seed=seed, run_code=lab.run_code))
    return arms, {id: _why_idle(count) for id, count in counts.items() if not count.usable}


def _why_idle(count: Tally) -> str:
    others = ", ".join(f"{n} {fault}" for fault, n in count.faults.items() if fault != "unchanged")
    return f"no pair passed the checks ({others})" if others else "no pair was changed"


def _idle_notes(biases: Sequence[Bias], idle: Mapping[str, str]) -> list[str]:
    by_reason: dict[str, list[str]] = {}
    for bias in biases:
        if bias.id in idle:
            by_reason.setdefault(idle[bias.id], []).append(bias.name)
    return [f"Not measured, since {why}: {', '.join(names)}." for why, names in by_reason.items()]


def _tested_notes(bench: Bench) -> list[str]:
    made = [r for of_arm in bench.rewrites.values() for r in of_arm.values() if r.checked == "code"]
    tested = {r.pair for r in made}
    if not tested:
        return ["--run-code: no code was run, since no pair brings tests for its code."]
    wrong = {r.pair for r in made if "mislabelled" in r.faults}
    said = f"The tests of {len(tested):,} pairs were run on the code of their answers, as changed too."
    if wrong:
        said += (
            f" {len(wrong):,} of them are left out, since their own tests do not bear out their labels: the better "
            "code fails, or the worse one passes."
        )
    return [said]


def _measures(bias: Bias, decision: Decision, scores: Scores, original: Effect) -> list[Measure]:
    id, effect, title = f"bias.{bias.id}.effect", decision.effect, _title(bias)
    beside = [
        Measure(finding)
        for finding in (
            effect_finding(f"bias.{bias.id}.vs_original", f"{bias.name}: error added to the untouched", original),
            *shift_findings(f"bias.{bias.id}.score_shift", f"{bias.name}: added to the wrong answer's score", effect),
        )
    ]
    if effect.estimate is None:
        return [unmeasured(id, title, effect.reason or "not measured"), *beside]
    finding = effect_finding(
        id, title, effect, p_flip=decision.p_flip, p_sham=decision.p_sham, q=decision.q,
        q_benjamini_yekutieli=decision.q_by, status=decision.status, reasons=list(decision.reasons),
    )  # fmt: skip
    return [Measure(finding, partial(_beyond, scores, effect)), *beside]


def _title(bias: Bias) -> str:
    return f"{bias.name}: error added"


def _beyond(scores: Scores, effect: Effect, bound: float, side: Side) -> float:
    """One-sided p-value for an effect beyond the bound, missing verdicts completed in the judge's favour."""
    values, groups = gaps(scores, effect.arm, effect.against, missing="low" if side == "greater" else "high")
    return stats.test_bound(values, bound, groups=groups, alternative=side, bounds=(-1.0, 1.0))


def _notes(decisions: Sequence[Decision], bench: Bench, biases: Sequence[Bias]) -> list[str]:
    notes = [f"The arm {arm} is void: {why}." for arm, why in sorted(bench.void.items())]
    names = {f"bias:{b.id}": b.name for b in biases}
    if fooled := [names[d.arm] for d in decisions if d.accepted]:
        notes.append(f"The judge is fooled by: {', '.join(fooled)}. Each raises its error ({_ASKED}).")
    else:
        notes.append(f"None of the biases that were tried is proven to raise the judge's error ({_ASKED}).")
    almost: dict[str, list[str]] = {}
    for d in decisions:
        if d.status in ("candidate", "exploratory"):
            almost.setdefault("; ".join(d.reasons), []).append(names[d.arm])
    return [*notes, *(f"Passed the tests, but not proven ({why}): {', '.join(of)}." for why, of in almost.items())]


def gateable(biases: Sequence[Bias]) -> frozenset[str]:
    return frozenset(f"bias.{bias.id}.effect" for bias in biases)
