"""From effects to findings, severities, examples and sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recuse.discovery.merge import Candidate
from recuse.discovery.mine import Explained
from recuse.discovery.validate import Tested, Validated
from recuse.effects.accept import Decision
from recuse.effects.contrast import Effect
from recuse.effects.describe import effect_finding, rewriting_findings, shift_findings
from recuse.effects.shams import spread_finding
from recuse.lab.bench import Bench
from recuse.perturb.arms import ORIGINAL, Rewrite
from recuse.perturb.shams import matched
from recuse.prompts import transcript
from recuse.report.discovered import Worked
from recuse.types import Finding, Judgement

EXAMPLES = 3


def candidate_findings(
    candidate: Candidate, screened: Effect | None, decision: Decision | None, tested: Tested, stopped: bool
) -> tuple[Finding, ...]:
    """The findings of one candidate, those of the test part first."""
    id, name = candidate.bias.id, candidate.bias.name
    against = f"{name}: effect against the placebo"
    found = []
    if id in tested.effects:
        original = tested.against_original[id]
        found.append(effect_finding(f"bias.{id}.effect", f"{against}, test part", tested.effects[id]))
        found.append(
            effect_finding(f"bias.{id}.vs_original", f"{name}: against the untouched answers, test part", original)
        )
        both = tested.both_reworded[id]
        found.append(
            effect_finding(f"bias.{id}.both_reworded", f"{against}, right answers reworded too, test part", both)
        )
        added = f"{name}: added to the wrong answer's score, test part"
        found.extend(shift_findings(f"bias.{id}.score_shift", added, tested.effects[id]))
    if decision is not None:
        numbers = {
            "p_flip": decision.p_flip, "p_sham": decision.p_sham, "p_larger": decision.p, "q": decision.q,
            "q_benjamini_yekutieli": decision.q_by, "status": decision.status, "stopped_early": stopped,
        }  # fmt: skip
        found.append(effect_finding(f"bias.{id}.validation", f"{against}, validation part", decision.effect, **numbers))
    if screened is not None:
        found.append(effect_finding(f"bias.{id}.screen", f"{against}, discovery part", screened))
    return tuple(found)


def run_findings(validated: Validated | None, benches: Sequence[Bench]) -> tuple[Finding, ...]:
    """What concerns the run as a whole: the shams, the second placebo, and how the teacher kept truth and length.

    benches  discovery, validation in one or more, test
    """
    found = []
    if validated is not None:
        found.append(spread_finding(validated.spread))
        found.append(
            effect_finding("placebo.second", "A second neutral paraphrase against the first", validated.second_placebo)
        )
        found.append(validated.noise)
        found.append(changed_finding(benches[1:-1]))
    return (*found, *rewriting_findings([bench.rewrites for bench in benches]))


def texts_matched(benches: Sequence[Bench]) -> dict[str, dict[str, float | int | None]]:
    """By arm, over all parts given: usable rewrites, length after over before, and distance from the original."""
    made: dict[str, dict[str, Rewrite]] = {}
    for bench in benches:
        for arm, of_arm in bench.rewrites.items():
            made.setdefault(arm, {}).update(of_arm)
    found = matched([pair for bench in benches for pair in bench.pairs], made)
    return {arm: {"n": m.n, "length": m.length, "distance": m.distance} for arm, m in sorted(found.items())}


def changed_finding(benches: Sequence[Bench]) -> Finding:
    """The finding `texts.changed`: do shams change as much of a text as what they stand beside?"""
    by_arm = texts_matched(benches)
    means = {kind: mean_of(by_arm, kind, "distance") for kind in ("bias", "sham")}
    title, details = "Share of words that candidates change, less the share that shams do", {"by_arm": by_arm}
    if means["bias"] is None or means["sham"] is None:
        return Finding("texts.changed", title, None, reason="no candidate stands beside shams", details=details)
    arms = sum(arm.startswith("bias:") for arm in by_arm)
    return Finding(
        "texts.changed", title, means["bias"] - means["sham"], n=arms, groups=arms,
        method="difference of means over arms", details={"unit": "candidates", **details},
    )  # fmt: skip


def mean_of(by_arm: Mapping[str, Mapping[str, float | int | None]], kind: str, what: str) -> float | None:
    """The mean over the arms of one kind: "placebo", "sham" or "bias". None where there are none."""
    values = [v for arm, shape in by_arm.items() if arm.startswith(kind) and (v := shape[what]) is not None]
    return sum(values) / len(values) if values else None


def examples(benches: Sequence[Bench], candidate: Candidate, words: Mapping[str, Explained]) -> tuple[Worked, ...]:
    """Up to three robust flips of a bias: of the test part first, then of those that the judge explained while it was
    searched for, one that named the bias among them, then of the other parts.

    benches  discovery, validation in one or more, test
    """
    discovery, testing = benches[0], benches[-1]
    arm = f"bias:{candidate.bias.id}"
    told = {key for key, said in words.items() if said.words is not None}
    naming = [w for key in candidate.cases if key in told for w in _flips(discovery, words[key].case.arm, words, key)]
    own = [worked for worked in _flips(discovery, arm, words) if worked.words is not None]
    others = [worked for bench in reversed(benches[:-1]) for worked in _flips(bench, arm, words)]
    first = [*_flips(testing, arm, words)][: EXAMPLES - bool(naming)]
    found: dict[tuple[str, str], Worked] = {}
    for worked in (*first, *naming, *own, *others):
        found.setdefault((worked.pair, worked.rewritten), worked)
    return tuple(found.values())[:EXAMPLES]


def _flips(bench: Bench, arm: str, words: Mapping[str, Explained], only: str | None = None) -> list[Worked]:
    """The robust flips of an arm, in the order of the pairs; `only` the one of this case."""
    before, after = (_said(bench.judged.get(name, ())) for name in (ORIGINAL.id, arm))
    texts, found = bench.texts(arm), []
    for pair in bench.pairs:
        case = f"{arm}:{pair.id}"
        if only not in (None, case) or pair.id not in texts:
            continue
        if set(before.get(pair.id, {}).values()) == {"chosen"} and set(after.get(pair.id, {}).values()) == {"rejected"}:
            said = words[case].words if case in words else None
            origin = bench.name if only is None else f"{bench.name}, where it was noticed in a rewriting for {arm}"
            found.append(
                Worked(pair.id, pair.domain, transcript(pair.prompt), pair.chosen, pair.rejected, texts[pair.id],
                       before[pair.id], after[pair.id], said, origin)
            )  # fmt: skip
    return found


def _said(judged: Sequence[Judgement]) -> dict[str, dict[str, str]]:
    """By pair and order: what the judge preferred, at its first repeat."""
    said: dict[str, dict[str, str]] = {}
    for j in judged:
        if j.repeat == 0:
            said.setdefault(j.pair, {})[j.order] = j.prefers or f"none ({j.reason})"
    return said
