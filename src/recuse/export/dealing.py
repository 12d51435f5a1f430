"""Which bias goes into which wrong answer: dealt evenly, and another bias where a rewrite did not pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from recuse.discovery.deal import rank
from recuse.lab.bench import Bench
from recuse.library import Bias
from recuse.perturb.arms import Arm, Rewrite, suited
from recuse.perturb.checks import gist
from recuse.types import Pair

Write = Callable[[Bench, Sequence[tuple[Arm, Sequence[Pair]]]], None]  # fills the bench's rewrites, and what is void


@dataclass(frozen=True)
class Dealt:
    """A pair whose rejected answer was rewritten; `rewrite.text` is not None."""

    pair: Pair
    arm: Arm
    rewrite: Rewrite


def deal_out(
    pairs: Sequence[Pair],
    arms: Sequence[Arm],
    biases: Mapping[str, Bias],
    write: Write,
    *,
    per_pair: int,
    seed: int,
) -> tuple[list[Dealt], Bench]:
    """Up to `per_pair` rewritten versions of each pair, each by another arm, in the order of the pairs; and the bench
    with all that was tried.

    Each pair in turn, in an order drawn by `seed`, gets the arm that suits it and has the fewest rows so far. Where its
    rewrite failed a check, or its arm is void, it goes on to another, so that few pairs are lost, biases keep their
    balance and a teacher writes no more than is used.
    """
    bench = Bench("export", tuple(pairs))
    ranked = sorted(pairs, key=lambda pair: (rank(seed, pair.id), pair.id))
    fit = {pair.id: [arm for arm in arms if suited(biases[arm.bias or ""], [pair])] for pair in pairs}
    while work := _next(ranked, fit, bench, per_pair=per_pair):
        write(bench, [(arm, work[arm.id]) for arm in arms if arm.id in work])
    return [dealt for pair in pairs for dealt in _passed(pair, fit[pair.id], bench)], bench


def _next(
    pairs: Sequence[Pair], fit: Mapping[str, Sequence[Arm]], bench: Bench, *, per_pair: int
) -> dict[str, list[Pair]]:
    """The pairs of each arm for the next round, by the arm's id; {} where no pair wants or has another arm."""
    passed = {pair.id: _passed(pair, fit[pair.id], bench) for pair in pairs}
    rows = Counter(dealt.arm.id for of_pair in passed.values() for dealt in of_pair)
    work: dict[str, list[Pair]] = {}
    for pair in pairs:
        left = [a for a in fit[pair.id] if a.id not in bench.void and pair.id not in bench.rewrites.get(a.id, {})]
        if len(passed[pair.id]) < per_pair and left:
            arm = min(left, key=lambda a: rows[a.id])
            rows[arm.id] += 1
            work.setdefault(arm.id, []).append(pair)
    return work


def _passed(pair: Pair, arms: Sequence[Arm], bench: Bench) -> list[Dealt]:
    """What came of a pair so far, without a text that says no more than one that it has already."""
    found, seen = [], {gist(pair.chosen), gist(pair.rejected)}
    for arm in arms:
        rewrite = bench.rewrites.get(arm.id, {}).get(pair.id)
        if arm.id in bench.void or rewrite is None or rewrite.text is None or gist(rewrite.text) in seen:
            continue
        seen.add(gist(rewrite.text))
        found.append(Dealt(pair, arm, rewrite))
    return found
