"""`recuse report` and `recuse compare` on finished runs of `recuse explain` and `recuse harden`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from explain_world import recuse, studied_pairs, write_pairs
from json_schema import check

from recuse import assets

JUDGE = "fake/skill=1.5,likes=study,like=2.5,seed=3"
TOLD = (("html", "report.html"), ("md", "report.md"), ("json", "findings.json"))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An audit of 60 pairs that tested a bias, two explanations of it, and two comparisons of judges."""
    folder = tmp_path_factory.mktemp("world")
    pairs = write_pairs(folder / "pairs.jsonl", studied_pairs(60))
    new = write_pairs(folder / "new.jsonl", studied_pairs(40, seed=9))
    audit = ("audit", "--judge", JUDGE, "--pairs", pairs, "--biases", "authority", "--shams", 5)
    assert recuse(*audit, "--out", folder / "audit").code == 1
    explain = ("explain", pairs, "--judge-run", folder / "audit")
    for name, more in (("asked", ("--judge", JUDGE, "--biases", "authority,emoji")), ("read", ())):
        assert recuse(*explain, *more, "--out", folder / name).code == 0
    for name, variant in (("warned", 'library = ["authority"]'), ("both", "tie_on_disagreement = true")):
        (folder / f"{name}.toml").write_text(f'[[variants]]\nid = "mild"\n{variant}\n')
        done = recuse("harden", "--judge", JUDGE, "--like", folder / "audit", "--pairs", new, "--bias", "authority",
                      "--variants", folder / f"{name}.toml", "--out", folder / name)  # fmt: skip
        assert done.code == 0, done.err
    return folder


@pytest.mark.parametrize("run", ["asked", "read", "warned", "both"])
def test_every_form_is_the_one_that_the_run_wrote_and_no_model_is_needed(
    world: Path, run: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recuse.plan.open_backend", None)
    monkeypatch.setattr("recuse.harden.config.open_backend", None)
    for form, name in TOLD:
        assert recuse("report", world / run, "--format", form, "--out", tmp_path / name).code == 0
        assert (tmp_path / name).read_bytes() == (world / run / name).read_bytes()
    assert recuse("report", world / run, "--format", "junit", "--out", tmp_path / "report.xml").code == 0
    content = json.loads((world / run / "findings.json").read_text())
    check(content, json.loads(assets.data(f"{content['kind']}.schema.json").read_text("utf-8")))


def test_two_explanations_are_held_together_and_what_differs_is_named(world: Path) -> None:
    done = recuse("compare", world / "read", world / "asked", "--json")
    assert done.code == 0, done.err
    assert {row["key"] for row in done.json["differs"]} >= {"asked.judge", "steps", "most"}
    rows = {row["id"]: row for row in done.json["findings"]}
    told = [
        {f["id"]: f for f in json.loads((world / run / "findings.json").read_text())["findings"]}
        for run in ("read", "asked")
    ]
    assert set(rows) == set(told[0]) | set(told[1])
    kind = rows["explain.kind.content"]
    assert kind["a"]["estimate"] == kind["b"]["estimate"] == told[0]["explain.kind.content"]["estimate"]
    put = rows["explain.turned.authority"]
    assert put["a"] is None
    assert put["b"]["estimate"] == told[1]["explain.turned.authority"]["estimate"]
    assert "keep no verdicts by pair" in done.json["notes"][0]


def test_two_comparisons_are_held_together_and_what_differs_is_named(world: Path) -> None:
    done = recuse("compare", world / "warned", world / "both", "--json")
    assert done.code == 0, done.err
    differs = {row["key"]: (row["a"], row["b"]) for row in done.json["differs"]}
    assert differs["rivals.mild.rule"] == ("alone", "both orders")
    assert "like" not in differs
    rows = {row["id"]: row for row in done.json["findings"]}
    assert rows["mild:accuracy.error_rate"]["b"]["estimate"] == 0.0  # half an error either way
    assert rows["mild:position.consistency"]["b"]["estimate"] > rows["mild:position.consistency"]["a"]["estimate"]
    shown = recuse("compare", world / "warned", world / "both")
    assert "rivals.mild.rule: alone in A, both orders in B" in shown.out


def test_runs_of_two_kinds_are_refused_by_name(world: Path) -> None:
    names = {"audit": "an audit", "asked": "an explanation", "warned": "a comparison of judges"}
    for one, other in (("asked", "warned"), ("warned", "audit"), ("audit", "asked")):
        done = recuse("compare", world / one, world / other)
        assert done.code == 2
        assert f"{world / one} holds {names[one]}" in done.err
        assert f"{world / other} {names[other]}" in done.err
        assert done.err.count("\n") == 1
