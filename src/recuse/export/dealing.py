"""Which bias goes into which wrong answer: dealt by turns, and on to the next bias where a rewrite did not pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from recuse.discovery.deal import rank
from recuse.lab.bench import Bench
from recuse.library import Bias
from recuse.perturb.arms import Arm, Rewrite, suited
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

    Pairs take turns, in an order drawn by `seed`, over the arms that suit them. A pair whose rewrite failed a check, or
    whose arm is void, goes to its next arm, so that few pairs are lost and a teacher writes no more than is used.
    """
    bench, orders = Bench("export", tuple(pairs)), _orders(pairs, arms, biases, seed=seed)
    tried = Counter[str]()
    while work := _next(pairs, orders, bench, tried, per_pair=per_pair):
        write(bench, [(arm, work[arm.id]) for arm in arms if arm.id in work])
    return [dealt for pair in pairs for dealt in _passed(pair, orders[pair.id], bench)], bench


def _orders(
    pairs: Sequence[Pair], arms: Sequence[Arm], biases: Mapping[str, Bias], *, seed: int
) -> dict[str, tuple[Arm, ...]]:
    """For each pair its arms, from the first that it tries. Pairs that the same arms suit take turns over them."""
    turns, orders = Counter[tuple[Arm, ...]](), {}
    for pair in sorted(pairs, key=lambda pair: (rank(seed, pair.id), pair.id)):
        fit = tuple(arm for arm in arms if suited(biases[arm.bias or ""], [pair]))
        first = turns[fit] % len(fit) if fit else 0
        turns[fit] += 1
        orders[pair.id] = fit[first:] + fit[:first]
    return orders


def _next(
    pairs: Sequence[Pair], orders: Mapping[str, tuple[Arm, ...]], bench: Bench, tried: Counter[str], *, per_pair: int
) -> dict[str, list[Pair]]:
    """The pairs of each arm for the next round, by the arm's id; {} where no pair wants or has another arm."""
    work: dict[str, list[Pair]] = {}
    for pair in pairs:
        order = orders[pair.id]
        while tried[pair.id] < len(order) and order[tried[pair.id]].id in bench.void:
            tried[pair.id] += 1
        if len(_passed(pair, order, bench)) < per_pair and tried[pair.id] < len(order):
            work.setdefault(order[tried[pair.id]].id, []).append(pair)
            tried[pair.id] += 1
    return work


def _passed(pair: Pair, order: Sequence[Arm], bench: Bench) -> list[Dealt]:
    """What came of a pair so far, without a text that it has already."""
    found, seen = [], {pair.chosen.strip(), pair.rejected.strip()}
    for arm in order:
        rewrite = bench.rewrites.get(arm.id, {}).get(pair.id)
        if arm.id in bench.void or rewrite is None or rewrite.text is None or rewrite.text.strip() in seen:
            continue
        seen.add(rewrite.text.strip())
        found.append(Dealt(pair, arm, rewrite))
    return found
