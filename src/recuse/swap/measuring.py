"""What the replies of a swap test say: measures with the rule's outcome, and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recuse.audits.measure import Measure, unmeasured
from recuse.counterfactual.plan import CounterfactualPlan
from recuse.swap.arms import CHANGED, PLAIN, Arm, Blinded
from recuse.swap.authors import OTHERS, OWN, against_rest
from recuse.swap.findings import headline, of_gap, ruled
from recuse.swap.gaps import Gap, Rows, Ruled, rule, size
from recuse.swap.modes import Mode
from recuse.swap.parts import Part
from recuse.swap.rotation import repetition
from recuse.swap.shown import RETEST, Texts
from recuse.types import Finding

_TITLES = {
    "swap.gap": "Group swap",
    "swap.floor": "What a meaningless change does",
    "swap.blinded_residual": "Group swap after blinding",
    "self_preference.label": "Same text under a label of the judge's own family",
    "self_preference.content": "Own outputs against gold",
    "position.repetition": "Same place named again",
}
_ROOM = 0.05  # of verdicts that may still move, under which an order says nothing
_REWARD = "a reward model's scalar has no scale on which a tolerance could stand"


@dataclass(frozen=True)
class SwapFound:
    measures: tuple[Measure, ...]
    notes: tuple[str, ...]
    failed: str | None  # the one sentence that makes every judged metric of the run suspect


class Measuring:
    """Collects measures, notes and the failure; `parts` have their replies."""

    def __init__(
        self, plan: CounterfactualPlan, texts: Texts | None, parts: Sequence[Part], *, level: float, seed: int
    ) -> None:
        self.plan, self.texts, self.parts, self.level, self.seed = plan, texts, parts, level, seed
        self.notes: list[str] = []
        self.failed: str | None = None

    def all(self) -> SwapFound:
        plan, measures = self.plan, list[Measure]()
        judging = [part for part in self.parts if part.mode.kind != "listwise"]
        if self.texts is not None:
            floors = [self.floors(part) for part in judging]
            measures += self.gaps(judging, floors)
            measures += self.under("swap.floor", [m for _, of in floors for m in of], _REWARD)
            measures += self.under("swap.blinded_residual", self.residuals(judging), "no text was blinded")
        if plan.authors is not None:
            measures += self.labels(judging)
        if plan.outputs:
            measures += self.content(judging)
        if plan.lineups:
            measures += self.rotation()
        return SwapFound(tuple(measures), tuple(self.notes), self.failed)

    def gap(self, arm: Arm, part: Part) -> Gap:
        return self.gap_of(arm.rows(part.asked), arm.sides, part.mode.bounds)

    def gap_of(self, rows: Rows, sides: tuple[str, str], bounds: tuple[float, float]) -> Gap:
        return Gap.of(rows, *sides, bounds=bounds, level=self.level, seed=self.seed)

    def under(self, id: str, measures: list[Measure], reason: str) -> list[Measure]:
        return [headline(id, _TITLES[id], measures, reason), *measures]

    def gaps(self, parts: list[Part], floors: list[tuple[list[Gap], list[Measure]]]) -> list[Measure]:
        """Every pair of groups in every mode, ruled on together."""
        keyed = [(part, pair, of) for part, (of, _) in zip(parts, floors, strict=True) for pair in part.swaps]
        gaps = [self.gap(part.swaps[pair], part) for part, pair, _ in keyed]
        decided = rule(
            [(gap, part.mode.tolerance) for gap, (part, _, _) in zip(gaps, keyed, strict=True)],
            [of for _, _, of in keyed], level=self.level,
        )  # fmt: skip
        measures = []
        for found, (part, (a, b), _) in zip(decided, keyed, strict=True):
            rows = part.swaps[a, b].rows(part.asked)
            measures.append(
                ruled(
                    f"swap.gap:{part.mode.kind}:{a}/{b}",
                    _title(part.mode, a, b),
                    found,
                    part.mode,
                    level=self.level,
                    size=size(rows, a, b),
                    **_by_order(part, (a, b)),
                )
            )
        self.say_gaps(decided, keyed)
        return self.under("swap.gap", measures, _REWARD)

    def say_gaps(self, decided: list[Ruled], keyed: list[tuple[Part, tuple[str, str], list[Gap]]]) -> None:
        failed = []
        for found, (part, (a, b), _) in zip(decided, keyed, strict=True):
            mode, gap = part.mode, found.gap
            if gap.estimate is None:
                continue
            said = f"{_title(mode, a, b)} {gap.estimate:+.3f}"
            if found.outcome == "recuse":
                proven = found.p_floor is not None and found.p_floor <= 1 - self.level
                failed.append(f"{said} {_unit(mode)}" + (", more than a meaningless edit does" if proven else ""))
            elif found.outcome == "inconclusive":
                needed, have = gap.needed(found.tolerance, level=self.level), gap.found.groups
                takes = f"{needed:,}" if needed else "more than ten million"
                why = ", and a meaningless edit does as much" if found.beyond and not found.exceeds else ""
                self.notes.append(
                    f"Group swap, {said}: {_undecided(found, mode)}{why}. With this "
                    f"scatter (sd {gap.sd:.3g} between templates) a judge without a gap passes with {takes} templates "
                    f"at a power of 0.9; the plan has {have}."
                )
            failures = gap.found.failures
            if failures is not None and failures.pvalue is not None and failures.pvalue <= 1 - self.level:
                self.notes.append(
                    f"Verdicts are missing more often for one group ({a} {failures.rate_a:.3f}, {b} "
                    f"{failures.rate_b:.3f}, p {failures.pvalue:.3g}): a gap of its own."
                )
        if failed:
            self.failed = (
                "The judge reacts to a group signal in otherwise identical texts, beyond the tolerance: "
                f"{'; '.join(failed)}."
            )

    def floors(self, part: Part) -> tuple[list[Gap], list[Measure]]:
        """The gaps of the edits, and all measures. A retest has no mean of its own that a gap could exceed: its size
        tells what noise does to a single text."""
        gaps, measures = [], []
        if part.retest is None:
            measures.append(
                unmeasured(
                    _floor(part, RETEST),
                    "Same request again",
                    "the provider took no temperature, so that replies may vary: set --temperature default"
                    if part.asked.refused
                    else "deterministic: greedy decoding repeats itself, so a repeat says nothing",
                )
            )
        else:
            rows = part.retest.rows(part.asked)
            pairwise = part.mode.kind == "pairwise"
            gap = self.gap_of(rows, (CHANGED, PLAIN), (-1.0, 1.0) if pairwise else part.mode.bounds)
            measures.append(self.floor(part, RETEST, gap, size(rows, CHANGED, PLAIN), stale=part.retest.stale))
        for edit, arm in part.changes.items():
            if not (arm.singles or arm.duels):
                measures.append(
                    unmeasured(_floor(part, edit), f"Meaningless edit: {edit}", "no text has a word of the list")
                )
                continue
            rows, gap = arm.rows(part.asked), self.gap(arm, part)
            gaps.append(gap)
            measures.append(self.floor(part, edit, gap, size(rows, CHANGED, PLAIN)))
        return gaps, measures

    def floor(self, part: Part, change: str, gap: Gap, spread: float | None, **more: object) -> Measure:
        title = f"{change}, {CHANGED} minus {PLAIN}: {part.mode.unit}"
        return of_gap(_floor(part, change), title, gap, part.mode, size=spread, **more)

    def residuals(self, parts: list[Part]) -> list[Measure]:
        measures = []
        for part in parts:
            done, texts = part.blinded, self.texts
            if done is None or texts is None:
                continue
            for (a, b), left in done.left.items():
                gap = self.gap_of(done.rows((a, b), texts, part.asked), (a, b), part.mode.bounds)
                same, different = done.same[a, b], done.different[a, b]
                more = {"identical": same, "not_identical": different, "templates_left": len(left)}
                title = f"{_title(part.mode, a, b)}, blinded"
                id = f"swap.blinded_residual:{part.mode.kind}:{a}/{b}"
                if left:
                    measure = of_gap(id, title, gap, part.mode, **more)
                    kept = {t: g for t, g in gap.by_template.items() if t in left}
                    measure = measure.noting(left=[{"template": t, "gap": kept.get(t)} for t in left])
                else:
                    method = "every pair of requests is byte-identical after blinding; none was sent"
                    measure = Measure(
                        Finding(id, title, 0.0, n=same, groups=len(texts.of), method=method, details=more)
                    )
                measures.append(measure)
            self.notes.append(_blinded_note(done, part.mode))
        return measures

    def labels(self, parts: list[Part]) -> list[Measure]:
        id, authors = "self_preference.label", self.plan.authors
        arms = [(part, part.labels) for part in parts if part.labels is not None]
        measures: list[Measure] = []
        if authors is not None and authors.own:
            gaps = [self.gap(arm, part) for part, arm in arms]
            decided = rule([(g, p.mode.tolerance) for g, (p, _) in zip(gaps, arms, strict=True)], [()] * len(gaps),
                           level=self.level)  # fmt: skip
            for found, (part, _) in zip(decided, arms, strict=True):
                title = _title(part.mode, OWN, OTHERS)
                measures.append(ruled(f"{id}:{part.mode.kind}", title, found, part.mode, level=self.level))
                if found.outcome == "recuse":
                    self.notes.append(f"The judge favours or disfavours its own family's label: {title} "
                                      f"{found.gap.estimate:+.3f} {_unit(part.mode)}.")  # fmt: skip
        top = headline(id, _TITLES[id], measures, "the plan names no label of the judge's own family")
        alone = []
        for part, arm in arms:
            if part.mode.kind == "pointwise":
                for one in against_rest(arm, part.asked, level=self.level, seed=self.seed):
                    finding = Finding(
                        f"{id}:{one.a}", f"Said to be by {one.a}, minus all others: {part.mode.unit}",
                        one.estimate, one.interval, one.n, one.groups, one.pvalue, one.method,
                        one.reason, one.worst_interval, details={"p_holm": one.pvalue_adjusted},
                    )  # fmt: skip
                    alone.append(Measure(finding))
        return [top, *measures, *alone]

    def content(self, parts: list[Part]) -> list[Measure]:
        found = [part.content.measure(part.asked, level=self.level) for part in parts if part.content is not None]
        id = "self_preference.content"
        return found or [unmeasured(id, _TITLES[id], "the plan asks for no pairwise judgements")]

    def rotation(self) -> list[Measure]:
        for part in self.parts:
            if part.rotations:
                places = [[part.asked.said(key).place for key in keys] for keys in part.rotations]
                return [repetition(places, level=self.level)]
        return [unmeasured("position.repetition", _TITLES["position.repetition"], "a reward model sees no places")]


def _by_order(part: Part, pair: tuple[str, str]) -> dict[str, float | str | None]:
    """The gap in each order alone, that is what is left of position in it should the two differ, and the share of
    verdicts for the text shown first, which near 0 or 1 leaves a gap no room to show."""
    arm, found = part.swaps[pair], dict[str, float | str | None]()
    if not arm.duels:
        return {}
    for place, order in enumerate(("AB", "BA")):
        known = [v for v in (part.asked.said(keys[place]).value for _, _, _, keys in arm.duels) if v is not None]
        first = sum(known) / len(known) if known else None
        found[f"first_{order}"] = first
        found[f"gap_{order}"] = None if first is None else (2.0 * first - 1.0) * (1 if order == "AB" else -1)
        if first is not None and not _ROOM <= first <= 1 - _ROOM:
            found["uninformative"] = f"under {_ROOM:.0%} room in order {order}".replace("%", " %")
    return found


def _floor(part: Part, change: str) -> str:
    return f"swap.floor:{part.mode.kind}:{change.replace(' ', '-')}"


def _title(mode: Mode, a: str, b: str) -> str:
    what = "score" if mode.kind == "pointwise" else "probability of being preferred"
    return f"{a} minus {b}, {what}"


def _undecided(found: Ruled, mode: Mode) -> str:
    if found.beyond:
        return f"beyond {found.tolerance:g} {_unit(mode)}"
    return f"neither proven within {found.tolerance:g} {_unit(mode)} nor beyond it"


def _unit(mode: Mode) -> str:
    return "points" if mode.kind == "pointwise" else "in probability"


def _blinded_note(done: Blinded, mode: Mode) -> str:
    same, different = sum(done.same.values()), sum(done.different.values())
    if not different:
        return (
            f"Blinding made all {same:,} pairs of {mode.kind} requests byte-identical: no signal is left to react to."
        )
    left = list(dict.fromkeys(t for of in done.left.values() for t in of))
    shown = ", ".join(left[:6]) + (" …" if len(left) > 6 else "")
    return (
        f"After blinding {different:,} of {same + different:,} pairs of {mode.kind} requests still differ "
        f"({len(left)} templates: {shown}): they carry signals that the redactor does not know."
    )
