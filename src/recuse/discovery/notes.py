"""What a run says about itself beside its numbers: above all what it could not do."""

from __future__ import annotations

from collections.abc import Sequence

from recuse.discovery.config import DiscoverPlan
from recuse.discovery.estimate import too_few_groups
from recuse.discovery.findings import texts_matched
from recuse.discovery.rounds import Discovered
from recuse.discovery.validate import Validated
from recuse.effects.plan import Design, detectable
from recuse.judgements import Unread
from recuse.lab.bench import Bench
from recuse.perturb.arms import ORIGINAL
from recuse.perturb.teacher import tally


def notes(
    plan: DiscoverPlan,
    found: Discovered,
    validated: Validated | None,
    benches: Sequence[Bench],
    unread: Unread,
    *,
    any_accepted: bool,
) -> list[str]:
    """One sentence or two on each matter, in the order of the run."""
    lines = list(plan.notes)
    parts = ", ".join(f"{b.groups} for {b.name}" for b in benches)
    lines.append(f"Groups: {parts}. No group lies in two parts.")
    if few := too_few_groups(plan, given=len(found.candidates) if found.given else None):
        lines.append(few)
    for bench in benches:
        lines += [*_unusable(bench), *_unjudged(bench, unread)]
        lines += [f"The arm {arm} is void in {bench.name}: {why}." for arm, why in sorted(bench.void.items())]
    explained = sum(len(r.mined.explained) for r in found.rounds)
    if explained:
        off = sum(r.mined.disagreed for r in found.rounds)
        lines.append(
            f"Asked for reasons, the judge came to another verdict, or to none, in {off} of {explained} mistakes, "
            "left out."
        )
    if validated is not None:
        lines.append(
            f"Validation took {validated.calls:,} judgements of candidates instead of {validated.fixed:,} without "
            f"stopping, and {validated.shared:,} of the arms that all share."
        )
        shape = texts_matched(benches[1])
        shams = [m for arm, m in shape.items() if arm.startswith("sham:") and m["distance"] is not None]
        if shams:
            mean = sum(float(m["distance"] or 0) for m in shams) / len(shams)
            lines.append(f"Shams differ from the originals in {mean:.2f} of their words on average.")
    if not any_accepted:
        nothing = not any(bench.texts(arm) for bench in benches for arm in bench.rewrites)
        lines.append("Nothing could be tested." if nothing else _power(plan, validated, benches[1]))
    return lines


def _unusable(bench: Bench) -> list[str]:
    """That the teacher's rewrites fail, where half of them or more do."""
    made = tally(rewrite for of_arm in bench.rewrites.values() for rewrite in of_arm.values())
    if not made.asked or 2 * made.usable > made.asked:
        return []
    share = f"Only {made.usable:,}" if made.usable else "None"
    faults = sorted(made.faults.items(), key=lambda item: (-item[1], item[0]))
    why = ", ".join(f"{fault} {count:,}" for fault, count in faults)
    return [f"{share} of the {made.asked:,} rewrites for {bench.name} can be used ({why}): try another --teacher."]


def _unjudged(bench: Bench, unread: Unread) -> list[str]:
    """That the judge gives no verdicts, where half of those on the untouched answers are missing or more."""
    judged = bench.judged.get(ORIGINAL.id, ())
    missing = [j.reason or "none" for j in judged if j.prefers is None]
    if not judged or 2 * len(missing) < len(judged):
        return []
    most = max(sorted(set(missing)), key=missing.count)
    shown = unread.examples.get(most) or "an empty reply"
    return [
        f"The judge gave no verdict in {len(missing):,} of {len(judged):,} judgements of the untouched answers for "
        f"{bench.name} (mostly {most}, for example: {shown})."
    ]


def _power(plan: DiscoverPlan, validated: Validated | None, bench: Bench) -> str:
    """What this design could have found, so that nothing found is not read as nothing there."""
    c = plan.config
    sd = 0.4
    if validated is not None and (errors := [e.se * e.groups**0.5 for e in validated.shams if e.se]):
        sd = min(1.0, max(0.01, sum(errors) / len(errors)))
    spread = (validated.spread.between or 0.0) if validated else 0.0
    number = max(1, len(validated.decisions) if validated else 1)
    least = detectable(
        bench.groups,
        design=Design(gap_sd=sd, sham_sd=spread, shams=c.shams, candidates=number, fdr=c.fdr, min_effect=c.min_effect),
    )
    found = "no effect at all" if least is None else f"an effect of {least:.3f} or more"
    return (
        f"Nothing was accepted. With {bench.groups} validation groups, {number} candidate{'s' * (number != 1)} and "
        f"gaps that scatter by {sd:.2f}, this design finds {found} nine times in ten. A stronger teacher or more "
        "groups find smaller ones; --min-effect 0.03 is exploratory."
    )
