"""From effects to findings, severities, examples and sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recuse.discovery.merge import Candidate
from recuse.discovery.mine import Explained
from recuse.discovery.validate import Tested, Validated
from recuse.effects.accept import Decision
from recuse.effects.contrast import Effect
from recuse.effects.describe import effect_finding, rewriting_findings
from recuse.effects.shams import spread_finding
from recuse.lab.bench import Bench
from recuse.perturb.arms import ORIGINAL
from recuse.perturb.shams import matched
from recuse.prompts import transcript
from recuse.report.discovered import Worked
from recuse.types import Finding, Judgement

SEVERITIES = ((0.20, "high"), (0.10, "medium"), (0.05, "low"))
EXAMPLES = 3


def severity(effect: float | None) -> str | None:
    """high from 20 points on, medium from 10, low from 5; "under 5 points" below; None where nothing was measured."""
    if effect is None:
        return None
    return next((name for least, name in SEVERITIES if effect >= least), "under 5 points")


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
    """What concerns the run as a whole: the shams, the second placebo, and how the teacher kept truth and length."""
    found = []
    if validated is not None:
        found.append(spread_finding(validated.spread))
        found.append(
            effect_finding("placebo.second", "A second neutral paraphrase against the first", validated.second_placebo)
        )
        found.append(validated.noise)
    return (*found, *rewriting_findings([bench.rewrites for bench in benches]))


def texts_matched(bench: Bench) -> dict[str, dict[str, float | int | None]]:
    """By arm: usable rewrites, length after over before, and distance from the original."""
    found = matched(bench.pairs, bench.rewrites)
    return {arm: {"n": m.n, "length": m.length, "distance": m.distance} for arm, m in sorted(found.items())}


def examples(bench: Bench, candidate: Candidate, words: Mapping[str, Explained]) -> tuple[Worked, ...]:
    """Up to three robust flips of a bias, in the order of the pairs."""
    arm = f"bias:{candidate.bias.id}"
    before, after = (_said(bench.judged.get(name, ())) for name in (ORIGINAL.id, arm))
    texts = bench.texts(arm)
    found = []
    for pair in bench.pairs:
        if set(before.get(pair.id, {}).values()) == {"chosen"} and set(after.get(pair.id, {}).values()) == {"rejected"}:
            told = words.get(f"{arm}:{pair.id}")
            found.append(
                Worked(pair.id, pair.domain, transcript(pair.prompt), pair.chosen, pair.rejected, texts[pair.id],
                       before[pair.id], after[pair.id], told.words if told else None)
            )  # fmt: skip
        if len(found) == EXAMPLES:
            break
    return tuple(found)


def _said(judged: Sequence[Judgement]) -> dict[str, dict[str, str]]:
    """By pair and order: what the judge preferred, at its first repeat."""
    said: dict[str, dict[str, str]] = {}
    for j in judged:
        if j.repeat == 0:
            said.setdefault(j.pair, {})[j.order] = j.prefers or f"none ({j.reason})"
    return said
