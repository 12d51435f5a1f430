"""Candidates for which a round has no room wait for the next one, and keep what named them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from recuse.asks import Design
from recuse.discovery import rounds
from recuse.discovery.merge import Candidate, Embed, Proposal
from recuse.discovery.mine import Mined
from recuse.discovery.notes import notes
from recuse.discovery.rounds import Discovered, play
from recuse.effects.contrast import Effect
from recuse.judge import Answered
from recuse.judgements import Unread
from recuse.lab.bench import Bench, Lab
from recuse.perturb.teacher import load_wording
from recuse.prompts import load_prompt
from recuse.types import Pair, Reply, Sampling


def named(name: str, *cases: int) -> list[Proposal]:
    return [Proposal(name, f"about {name}", "shows", f"do {name}", f"bias:tone:{case}") for case in cases]


# What a teacher names in each round: the numbers are the cases.
ROUNDS = (
    [*named("Axes", 1, 2, 3), *named("Bells", 4, 5), *named("Clouds", 6, 7), *named("Dust", 8), *named("Eels", 9)],
    [*named("Clouds", 7, 10), *named("Foam", 11, 12, 13, 14)],
    [],
)


def searched(
    monkeypatch: pytest.MonkeyPatch,
    script: Sequence[Sequence[Proposal]],
    *,
    passes: str,
    most: int = 2,
    embed: Embed | None = None,
    **more: Any,
) -> tuple[Discovered, list[str]]:
    """The rounds of a search with this script, whose screen lets these initials pass; and what the teacher is told."""
    told: list[str] = []

    def extract(explained: object, *, known: str, **_: object) -> Mined:
        told.append(known)
        return Mined(tuple(script[len(told) - 1]), (), 0, 0)

    def screen(plan: object, lab: object, bench: object, new: Sequence[Candidate]) -> dict[str, Effect]:
        return {
            c.bias.id: Effect(f"bias:{c.bias.id}", "placebo", 0.2 if c.bias.name[0] in passes else 0.0) for c in new
        }

    def ask(role: str, asks: Sequence[Any], *, phase: str) -> list[Answered]:
        return [Answered(a, Reply("key", '{"same_as": null}'), fresh=True) for a in asks]

    monkeypatch.setattr(rounds, "extract", extract)
    monkeypatch.setattr(rounds, "_screen", screen)
    judge = SimpleNamespace(judge="a judge", seed=0)
    config = SimpleNamespace(
        judge=judge, teacher="a teacher", rounds=len(script), most_candidates=most, min_effect=0.05, explain_steps=0
    )
    prompts = SimpleNamespace(
        reason=load_prompt("pairwise/reason"), deeper=None, extract=load_prompt("extract/case", kinds=("extract",)),
        merge=load_prompt("merge/same", kinds=("merge",)),
    )  # fmt: skip
    plan: Any = SimpleNamespace(config=config, start=(), library={}, prompts=prompts, reasoning=10, similarity=embed)
    design = Design(load_prompt("pairwise/label"), Sampling())
    lab = Lab(SimpleNamespace(ask=ask), design, Sampling(), load_wording(), None)  # type: ignore[arg-type]
    return play(plan, lab, Bench("discovery", ()), **more), told


def new(found: Discovered) -> list[list[tuple[str, int]]]:
    return [[(c.bias.name, c.support) for c in r.new] for r in found.rounds]


def test_what_a_round_has_no_room_for_competes_in_the_next_with_all_that_named_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found, told = searched(monkeypatch, ROUNDS, passes="ABCDEF")
    # Clouds: cases 6 and 7, then 7 again and 10, are three; it comes second to Foam, and Dust and Eels come last.
    assert new(found) == [[("Axes", 3), ("Bells", 2)], [("Foam", 4), ("Clouds", 3)], [("Dust", 1), ("Eels", 1)]]
    assert [[(c.bias.name, c.support) for c in r.spare] for r in found.rounds] == [
        [("Clouds", 2), ("Dust", 1), ("Eels", 1)], [("Dust", 1), ("Eels", 1)], [],
    ]  # fmt: skip
    assert found.candidates["clouds"].cases == ("bias:tone:10", "bias:tone:6", "bias:tone:7")
    assert found.rounds[1].known == {"clouds": 2}
    # The teacher may name again what waits, and nothing else that was named before.
    assert ["Axes" in known for known in told] == [False, True, True]
    assert ["Clouds" in known for known in told] == [False, False, True]


def test_what_waits_does_not_hang_on_the_order_of_the_proposals(monkeypatch: pytest.MonkeyPatch) -> None:
    first, _ = searched(monkeypatch, ROUNDS, passes="ABCDEF")
    for seed in range(10):
        shuffled = [random.Random(seed).sample(named, len(named)) for named in ROUNDS]
        again, _ = searched(monkeypatch, shuffled, passes="ABCDEF")
        assert new(again) == new(first)
        assert list(again.candidates.values()) == list(first.candidates.values())


def test_the_search_goes_on_while_anything_waits_and_stops_when_nothing_does(monkeypatch: pytest.MonkeyPatch) -> None:
    tested: list[list[str]] = []

    def accept(candidates: Sequence[Candidate]) -> list[str]:
        tested.append([c.bias.id for c in candidates])
        return []

    script = [ROUNDS[0], [], [], []]
    found, _ = searched(monkeypatch, script, passes="C", accept=accept)
    assert new(found) == [[("Axes", 3), ("Bells", 2)], [("Clouds", 2), ("Dust", 1)], [("Eels", 1)]]
    assert [r.advanced for r in found.rounds] == [(), ("clouds",), ()]
    assert tested == [["clouds"]]  # a round of which nothing passes the screen opens no block of validation


def test_what_still_waits_at_the_end_is_listed_with_its_support(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = searched(monkeypatch, ROUNDS[:2], passes="")
    assert list(found.waiting) == ["dust", "eels"]
    assert "dust" not in found.candidates
    plan: Any = SimpleNamespace(notes=(), splits=SimpleNamespace(groups=lambda part: 100_000))
    plan.config = SimpleNamespace(rounds=2, most_candidates=2, shams=10, fdr=0.05, min_effect=0.05, online=False)
    bench = Bench("discovery", (Pair("p", "q", "right", "wrong", "g"),))
    said = notes(plan, found, None, [bench], Unread(), any_accepted=True)
    assert (
        "Named too seldom for a place in any round, and not tested (cases that named it): Dust (1), Eels (1)." in said
    )


def test_a_search_compares_new_wordings_by_the_embeddings_of_its_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[list[str]] = []

    def embed(texts: Sequence[str]) -> np.ndarray:
        compared.append(list(texts))
        return np.eye(len(texts))

    searched(monkeypatch, [ROUNDS[0], ROUNDS[1]], passes="ABCDEF", embed=embed)
    assert [len(texts) for texts in compared] == [5, 2 + 5]  # in the second round beside all five of the first
    assert compared[0][0] == "Axes: about Axes"
