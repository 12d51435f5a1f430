"""Rewritten wrong answers for a set: the top biases put into every pair, by rule or by a teacher, and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from recuse.export.sources import Source
from recuse.lab.bench import Bench, Lab
from recuse.perturb.arms import Arm, Rewrite, suited
from recuse.perturb.rules import edit_all
from recuse.perturb.shams import bias_arms
from recuse.types import Pair

MOST = 10  # variants of one pair


@dataclass(frozen=True)
class Variants:
    """What was made of the wrong answers. `usable` has those that passed the checks, of no arm that is void."""

    arms: tuple[Arm, ...]
    made: Mapping[str, Mapping[str, Rewrite]]  # by arm and pair: all that were tried
    usable: Mapping[str, Mapping[str, Rewrite]]
    void: Mapping[str, str]  # arms that broke the truth too often, and how often
    repeated: int = 0  # further draws that gave a text which the pair has already

    @property
    def tried(self) -> int:
        return sum(len(of_arm) for of_arm in self.made.values())

    @property
    def passed(self) -> int:
        return sum(len(of_arm) for of_arm in self.usable.values())

    def bias_of(self, arm: str) -> str:
        return next(a.bias or "" for a in self.arms if a.id == arm)


def arms_of(sources: Sequence[Source], *, most: int, teacher: bool) -> tuple[Arm, ...]:
    """The arms by which a pair gets up to `most` variants: one a bias, the first `most` of them.

    By rule fewer biases are drawn from more than once, by turns, until there are so many: each further draw is another
    wording. A teacher that writes greedily would write the same again.
    """
    top = sources[:most]
    if teacher:
        return tuple(bias_arms(source.bias)[0] for source in top)
    first = [Arm(f"bias:{s.bias.id}", "bias", bias=s.bias.id, edit=s.bias.edit) for s in top]
    arms = list(first)
    while len(arms) < most:
        draw, place = divmod(len(arms), len(first))
        arms.append(replace(first[place], id=f"{first[place].id}:{draw + 1}"))
    return tuple(arms)


def edited(pairs: Sequence[Pair], arms: Sequence[Arm], *, seed: int, run_code: bool = False) -> Variants:
    """Variants by rule. A further draw that says what an earlier one said of the same pair is left out, and counted."""
    made: dict[str, dict[str, Rewrite]] = {}
    seen: set[tuple[str, str]] = set()
    repeated = 0
    for arm in arms:
        of_arm = edit_all(pairs, [arm], seed=seed + draw_of(arm), run_code=run_code)[arm.id]
        fresh = {id: r for id, r in of_arm.items() if r.text is None or (id, r.text) not in seen}
        repeated += len(of_arm) - len(fresh)
        seen |= {(id, r.text) for id, r in fresh.items() if r.text is not None}
        made[arm.id] = fresh
    return Variants(tuple(arms), made, _usable(made, {}), {}, repeated)


def draw_of(arm: Arm) -> int:
    """Which draw of its bias's edit an arm is, from 0 on."""
    _, _, number = arm.id.removeprefix("bias:").partition(":")
    return int(number) - 1 if number else 0


def rewritten(lab: Lab, pairs: Sequence[Pair], arms: Sequence[Arm], sources: Sequence[Source]) -> Variants:
    """Variants by the lab's teacher, who is asked for what no ledger holds; biases of code only where there is code."""
    bench = Bench("export", tuple(pairs))
    biases = {source.bias.id: source.bias for source in sources}
    lab.rewrite(bench, [(arm, suited(biases[arm.bias or ""], pairs)) for arm in arms])
    made = {arm.id: bench.rewrites.get(arm.id, {}) for arm in arms}
    return Variants(tuple(arms), made, _usable(made, bench.void), dict(bench.void))


def _usable(made: Mapping[str, Mapping[str, Rewrite]], void: Mapping[str, str]) -> dict[str, dict[str, Rewrite]]:
    return {
        arm: {} if arm in void else {id: r for id, r in of_arm.items() if r.text is not None}
        for arm, of_arm in made.items()
    }
