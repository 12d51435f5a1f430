"""`recuse harden --repeats`: what several calls say is their mean, and as many calls are made as were wished."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from harden_world import EFFORT, SWAYED, Done, recuse, write_pairs

from recuse.backends import Capabilities, fake
from recuse.effects.scores import Scores
from recuse.harden.asking import Judged
from recuse.harden.measures import CONSISTENCY, ERROR, TIES, compare, compare_kappa, measures_of
from recuse.harden.rivals import Rival
from recuse.types import Judgement, Preference

BY_ID = {m.id: m for m in measures_of([], people=False)}
LETTERS: dict[str, Preference | None] = {"c": "chosen", "r": "rejected", "t": "tie", "-": None}


def judged(name: str, *pairs: tuple[str, str]) -> Judged:
    """A judge asked several times; by pair what it said with the better answer first and second, a letter a call."""
    rows = [
        Judgement(f"p{i}", f"g{i}", order, LETTERS[letter], repeat=k, reason=None if LETTERS[letter] else "refused")  # type: ignore[arg-type]
        for i, both in enumerate(pairs)
        for order, letters in zip(("AB", "BA"), both, strict=True)
        for k, letter in enumerate(letters)
    ]  # fmt: skip
    groups = {f"p{i}": f"g{i}" for i in range(len(pairs))}
    return Judged(Rival(name, "", ()), tuple(rows), Scores.build(rows, list(groups), groups, {}), EFFORT)


# Two calls an order: the first pair is never the same twice, the second always, of the third one call is missing.
PRESENT = judged("present", ("cr", "rc"), ("cc", "cc"), ("c-", "rr"))
STEADY = judged("v", ("cc", "cc"), ("ct", "ct"), ("cc", "cc"))


def test_measures_are_means_over_calls_and_a_split_is_no_tie() -> None:
    same = compare(PRESENT, STEADY, BY_ID[CONSISTENCY], margin=0.05)
    # Call by call: 0 of 2, 2 of 2, and 0 of the one call of the third pair that is there in both orders.
    assert (same.base.estimate, same.own.estimate) == (pytest.approx(1 / 3), 1.0)
    ties = compare(PRESENT, STEADY, BY_ID[TIES], margin=0.05)
    assert (ties.base.estimate, ties.own.estimate) == (0.0, pytest.approx(1 / 6))
    error = compare(PRESENT, STEADY, BY_ID[ERROR], margin=0.05)
    # 1/2, 0, 1/2 before; 0, 1/4, 0 now.
    assert (error.base.estimate, error.own.estimate) == (pytest.approx(1 / 3), pytest.approx(1 / 12))
    assert error.finding.estimate == pytest.approx(-1 / 4)


def test_kappa_counts_every_call() -> None:
    found = compare_kappa(PRESENT, STEADY, BY_ID["agreement.kappa"], None, margin=0.05)
    assert found.finding.n == 11  # 3 pairs, 2 orders, 2 calls, one of which says nothing
    once = compare_kappa(judged("present", ("c", "r")), judged("v", ("cc", "cc")), BY_ID["agreement.kappa"], None,
                         margin=0.05)  # fmt: skip
    assert once.finding.n == 2  # the calls that both made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("repeats")
    write_pairs(folder / "seen.jsonl", 40)
    write_pairs(folder / "new.jsonl", 30, seed=7)
    (folder / "v.toml").write_text(
        '[[variants]]\nid = "warned"\nlibrary = ["authority"]\n[[variants]]\nid = "cold"\ntemperature = 0.0\n'
    )
    done = recuse("audit", "--judge", SWAYED, "--pairs", folder / "seen.jsonl", "--biases", "authority", "--shams", 5,
                  "--out", folder / "run", "-q")  # fmt: skip
    assert done.code in (0, 1, 3)
    return folder


@pytest.fixture
def warm(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted judges take a temperature, which changes nothing in them."""
    monkeypatch.setattr(fake, "Capabilities", lambda **can: Capabilities(**{**can, "temperature": True}))


def harden(folder: Path, *more: object) -> Done:
    return recuse("harden", "--judge", SWAYED, "--like", folder / "run", "--pairs", folder / "new.jsonl", "--variants",
                  folder / "v.toml", "--bias", "authority", "--json", *more)  # fmt: skip


@pytest.mark.usefixtures("warm")
def test_every_judge_that_can_say_something_else_is_asked_again(folder: Path, tmp_path: Path) -> None:
    wished = ("--repeats", 3, "--temperature", 1)
    told = harden(folder, *wished, "--dry-run").json
    texts = 30 * 2 * 3  # orders; as they are, with the bias and with its placebo
    assert [one["calls"] for one in told["rivals"]] == [3 * texts, 3 * texts, texts]
    done = harden(folder, *wished, "--out", tmp_path / "h")
    assert done.code == 0, done.err
    rows = sqlite3.connect(tmp_path / "h/ledger.sqlite").execute("SELECT max(repeat), count(*) FROM replies").fetchall()
    assert rows[0][0] == 2
    assert done.json["config"]["run"]["repeats"] == 3
    assert "repeats" not in done.json["config"]["run"]["rivals"]["cold"]
    assert done.variant("warned")["effort"]["calls"] == 1  # of one verdict
    again = harden(folder, *wished, "--out", tmp_path / "h")
    assert again.json["usage"]["judge"]["calls"] == 0
    assert again.json["variants"] == done.json["variants"]


@pytest.mark.usefixtures("warm")
def test_at_temperature_0_a_repeat_is_not_paid_for(folder: Path) -> None:
    told = harden(folder, "--repeats", 3, "--dry-run").json
    assert {one["calls"] for one in told["rivals"]} == {30 * 2 * 3}
