"""Arms by rule: an edit that carries a bias, a meaningless edit of the same size beside it, and further ones as shams.

They cost no teacher, keep the final answer by construction, and are the same in every run with the same seed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from recuse.library import Bias
from recuse.perturb.arms import Arm, Rewrite
from recuse.perturb.checks import check
from recuse.types import Pair

_FIRST_SHAM = 2  # draws 0 and 1 are the placebo and its second draw


def rule_arms(biases: Iterable[Bias], *, shams: int, changed: Mapping[str, int] | None = None) -> list[Arm]:
    """For each bias with an edit: the edit, and two draws of a meaningless one of the same size; then the shams.

    Sham i is a further draw beside one of the biases, by turns, so that shams have the sizes and places of all of them.

    changed  how many pairs each bias changes, by id: those that change most have the shams first; None: in their order
    """
    carried = [bias for bias in biases if bias.edit is not None]
    hosts = sorted(carried, key=lambda bias: -(changed or {}).get(bias.id, 0))
    arms = []
    for bias in carried:
        arms.append(Arm(f"bias:{bias.id}", "bias", bias=bias.id, edit=bias.edit))
        arms.append(_beside(f"placebo:{bias.id}", "placebo", bias.id))
    if carried:
        arms.append(_beside("placebo2", "placebo", hosts[0].id))
        arms += [_beside(f"sham:{i + 1}", "sham", hosts[i % len(hosts)].id) for i in range(shams)]
    return arms


def _beside(id: str, kind: str, bias: str) -> Arm:
    return Arm(id, kind, bias=bias, edit="meaningless", match=f"bias:{bias}")  # type: ignore[arg-type]


def edit_all(
    pairs: Sequence[Pair], arms: Sequence[Arm], *, seed: int, run_code: bool = False
) -> dict[str, dict[str, Rewrite]]:
    """Every arm's version of every pair's rejected answer. An edit that finds nothing to do is "unchanged", not used,
    and neither are the meaningless ones beside it. `run_code` as in `checks.check`."""
    made: dict[str, dict[str, Rewrite]] = {}
    edits = {arm.id: arm.edit or "" for arm in arms}
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # tests of code run in processes of their own
        for arm in sorted(arms, key=lambda a: a.match is not None):
            texts = [(pair, _text(arm, pair, edits, made, seed)) for pair in pairs]
            edited = [(pair, text) for pair, text in texts if text is not None]
            made[arm.id] = {r.pair: r for r in pool.map(partial(_checked, arm, run_code), edited)}
    return made


def _checked(arm: Arm, run_code: bool, edited: tuple[Pair, str]) -> Rewrite:
    pair, text = edited
    faults, how = check(pair, arm, text, run_code=run_code)
    return Rewrite(pair.id, arm.id, None if faults else text, faults, 0, len(pair.rejected), len(text), how)


def _text(
    arm: Arm, pair: Pair, edits: Mapping[str, str], made: Mapping[str, Mapping[str, Rewrite]], seed: int
) -> str | None:
    from recuse.perturb.edits import apply_edit, apply_twin

    if arm.match is None:
        return apply_edit(arm.edit or "", pair, seed=seed)
    like = made[arm.match][pair.id].text
    return None if like is None else apply_twin(edits[arm.match], pair, like, seed=seed, draw=_draw(arm))


def _draw(arm: Arm) -> int:
    if arm.kind == "sham":
        return _FIRST_SHAM + int(arm.id.partition(":")[2])
    return 1 if arm.id == "placebo2" else 0
