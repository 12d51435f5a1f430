"""Arms by rule: an edit that carries a bias, a meaningless edit of the same size beside it, and further ones as shams.

They cost no teacher, keep the final answer by construction, and are the same in every run with the same seed.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from statistics import fmean

from recuse.library import Bias
from recuse.perturb.arms import Arm, ArmKind, Rewrite
from recuse.perturb.checks import check
from recuse.types import Pair

_FIRST_SHAM = 2  # draws 0 and 1 are the placebo and its second draw


def rule_arms(
    biases: Iterable[Bias], *, shams: int, made: Mapping[str, Collection[Rewrite]] | None = None
) -> list[Arm]:
    """For each bias with an edit: the edit, and two draws of a meaningless one of the same size; then the shams.

    A sham is a further draw beside one of the biases. Their hosts are spread evenly over the biases in the order of how
    much text they add, so that shams are as small and as large as what they stand beside.

    made  the rewrites of each bias, by id. Biases that change under half as many pairs as the one that changes most,
          such as those of code, are no hosts, since their shams would say little. None: any may be one, in their order
    """
    carried = [bias for bias in biases if bias.edit is not None]
    hosts = carried if made is None else _hosts(carried, made)
    arms = []
    for bias in carried:
        arms.append(Arm(f"bias:{bias.id}", "bias", bias=bias.id, edit=bias.edit))
        arms.append(_beside(f"placebo:{bias.id}", "placebo", bias.id))
    if carried:
        arms.append(_beside("placebo2", "placebo", hosts[len(hosts) // 2].id))
        spread = [hosts[(2 * i + 1) * len(hosts) // (2 * shams)] for i in range(shams)]
        arms += [_beside(f"sham:{i + 1}", "sham", host.id) for i, host in enumerate(spread)]
    return arms


def _hosts(carried: Sequence[Bias], made: Mapping[str, Collection[Rewrite]]) -> list[Bias]:
    """From the bias that adds least to the one that adds most, by the mean of characters over the pairs it changes."""
    added = {bias.id: [r.after - r.before for r in made[bias.id] if r.text is not None] for bias in carried}
    most = max(map(len, added.values()), default=0)
    common = [bias for bias in carried if added[bias.id] and 2 * len(added[bias.id]) >= most]
    return sorted(common or carried, key=lambda bias: fmean(added[bias.id] or [0]))


def _beside(id: str, kind: ArmKind, bias: str) -> Arm:
    return Arm(id, kind, bias=bias, edit="meaningless", match=f"bias:{bias}")


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
