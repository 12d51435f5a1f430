"""What a run says about itself beside its numbers: above all what it could not do."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from textwrap import shorten

from recuse.discovery.config import DiscoverPlan
from recuse.discovery.estimate import too_few_groups
from recuse.discovery.fates import SET_IN_ADVANCE
from recuse.discovery.findings import mean_of, texts_matched
from recuse.discovery.merge import by_support
from recuse.discovery.rounds import Discovered
from recuse.discovery.validate import Validated
from recuse.effects.accept import MIN_SHAMS
from recuse.effects.plan import Design, detectable
from recuse.judgements import Unread
from recuse.lab.bench import Bench
from recuse.perturb.arms import ORIGINAL
from recuse.perturb.teacher import tally

MOST_NAMED = 20  # waiting candidates that are listed by name


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
    tested = len(validated.decisions) if validated else len(found.candidates) if found.given else None
    if few := too_few_groups(plan, given=tested):
        lines.append(few)
    for bench in benches:
        lines += [*_unusable(bench), *_unjudged(bench, unread)]
        lines += [f"The arm {arm} is void in {bench.name}: {why}." for arm, why in sorted(bench.void.items())]
    if asked := [case for r in found.rounds for case in r.mined.explained if case.orders]:
        once, twice = sum(case.orders > 1 for case in asked), sum(case.words is None for case in asked)
        lines.append(
            f"Asked for reasons, the judge came to another verdict, or to none, in {once} of {len(asked)} mistakes, "
            f"and in the other order too in {twice}, left out."
        )
    if found.waiting:
        lines.append(_waiting(found))
    if validated is not None:
        lines.append(
            f"Validation took {validated.calls:,} judgements of candidates instead of {validated.fixed:,} without "
            f"stopping, and {validated.shared:,} of the arms that all share."
        )
        lines += _matched(benches[1:-1])
    if not any_accepted:
        if (why := _untested(found, validated, benches)) is not None:
            lines.append(why)
        elif validated is not None:
            lines.append(_power(plan, validated, benches[1:-1]))
    return lines


def _matched(benches: Sequence[Bench]) -> list[str]:
    """How much of a text candidates, shams and placebos change, and to what length they bring it."""
    by_arm = texts_matched(benches)
    told = []
    for kind, name in (("bias", "candidates"), ("sham", "shams"), ("placebo", "the placebos")):
        changed, length = (mean_of(by_arm, kind, what) for what in ("distance", "length"))
        if changed is not None and length is not None:
            told.append(f"{name} {changed:.2f} at {length:.2f} of the length")
    return [f"Share of words changed in the originals for validation: {', '.join(told)}."] if told else []


def _waiting(found: Discovered) -> str:
    """The candidates for which no round had room, with the number of cases that named each."""
    left = by_support(found.waiting.values())
    names = ", ".join(f"{shorten(c.bias.name, 60)} ({c.support})" for c in left[:MOST_NAMED])
    more = f" and {len(left) - MOST_NAMED} more" if len(left) > MOST_NAMED else ""
    return f"Named too seldom for a place in any round, and not tested (cases that named it): {names}{more}."


def _untested(found: Discovered, validated: Validated | None, benches: Sequence[Bench]) -> str | None:
    """Why nothing could be tested, so that nothing accepted is not read as a test that was passed; None: it could."""
    if not any(bench.texts(arm) for bench in benches for arm in bench.rewrites):
        return "Nothing could be tested: there is no usable rewrite."
    if validated is None:
        if not found.candidates:
            return "Nothing could be tested: the search named no candidate."
        number = len(found.candidates)
        which = "the only candidate was dropped" if number == 1 else f"all {number} candidates were dropped"
        return f"Nothing could be tested on the validation part: {which} at the screen."
    unmeasured = [d.effect.reason or "not measured" for d in validated.decisions if d.effect.estimate is None]
    if len(unmeasured) == len(validated.decisions):
        most = max(sorted(set(unmeasured)), key=unmeasured.count)
        return f"Nothing could be tested: no candidate has an effect on the validation part ({most})."
    if (usable := validated.spread.shams) < MIN_SHAMS:
        return f"Nothing could be tested: {usable} shams are usable, and acceptance needs {MIN_SHAMS}."
    return None


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


def _power(plan: DiscoverPlan, validated: Validated, validation: Sequence[Bench]) -> str:
    """What this design could have found, so that nothing found is not read as nothing there."""
    c = plan.config
    measured = [e for e in validated.shams if e.estimate is not None]
    groups = round(median(e.groups for e in measured))
    errors = [(e.se or 0.0) * e.groups**0.5 for e in measured]
    sd = min(1.0, max(0.01, sum(errors) / len(errors)))
    number = len(validated.decisions)
    design = Design(
        gap_sd=sd, sham_sd=validated.spread.between or 0.0, shams=validated.spread.shams,
        candidates=number, fdr=c.fdr, min_effect=c.min_effect, stream=c.online,
        missing=min(0.99, (validated.second_placebo.failure_rates or (0.0, 0.0))[1]),
    )  # fmt: skip
    of_block, tested = " in each block" if c.online else "", f"{number} candidate{'s' * (number != 1)}"
    if c.online:
        groups = max(1, groups // sum(bool(bench.judged) for bench in validation))
        tested = f"{tested}, one by one by e-LOND,"
    least = detectable(groups, design=design)
    finds = "no effect at all" if least is None else f"an effect of {least:.3f} or more"
    said = (
        f"Nothing was accepted. With {groups} usable validation groups{of_block}, {tested} and gaps that "
        f"scatter by {sd:.2f}, this design finds {finds} nine times in ten. A stronger teacher or more "
        "groups find smaller ones"
    )
    return f"{said}; --min-effect 0.03 is exploratory." if c.min_effect >= SET_IN_ADVANCE else f"{said}."
