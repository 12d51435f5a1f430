"""Arms by rule: which biases the shams stand beside."""

from __future__ import annotations

from collections import Counter

from recuse.library import Bias
from recuse.perturb.arms import Rewrite
from recuse.perturb.rules import rule_arms


def bias(id: str) -> Bias:
    return Bias(
        id=id, name=id, definition=f"Prefers {id}.", manifestations=["m"], edit="padding", family="formal",
        source=["a paper"], status="seed",
    )  # fmt: skip


def added(characters: int, *, pairs: int = 10) -> list[Rewrite]:
    return [Rewrite(f"p{i}", "bias:x", "text", before=100, after=100 + characters) for i in range(pairs)]


# In the order of the alphabet the long ones come first: sizes 200, 190, ..., 10.
SIZES = {f"b{i:02d}": 200 - 10 * i for i in range(20)}
BIASES = [bias(id) for id in SIZES]
MADE = {id: added(size) for id, size in SIZES.items()}


def hosts(shams: int, made: dict[str, list[Rewrite]]) -> list[str]:
    return [arm.bias or "" for arm in rule_arms(BIASES, shams=shams, made=made) if arm.kind == "sham"]


def test_shams_are_as_small_and_as_large_as_the_biases_whatever_these_are_called() -> None:
    assert [SIZES[id] for id in hosts(10, MADE)] == list(range(20, 201, 20))
    assert [SIZES[id] for id in hosts(5, MADE)] == [30, 70, 110, 150, 190]


def test_more_shams_than_biases_go_round_evenly() -> None:
    assert set(Counter(hosts(40, MADE)).values()) == {2}
    assert len({arm.id for arm in rule_arms(BIASES, shams=40, made=MADE)}) == 20 + 20 + 1 + 40


def test_a_bias_that_changes_few_pairs_has_no_sham_beside_it() -> None:
    made = MADE | {"b00": added(200, pairs=4), "b01": added(190, pairs=5), "b19": []}
    found = hosts(18, made)
    assert sorted(found) == [f"b{i:02d}" for i in range(1, 19)]
