"""`recuse audit --swap PLAN --human LABELS`: what the controls find decides, in every report."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from sklearn.metrics import cohen_kappa_score

from recuse.cli import run
from recuse.examine import run_audit
from recuse.plan import AuditConfig, plan_audit
from recuse.swap.run import Swap

EASY = "schema = 1\n[primary]\n'failures.rate' = {max = 0.9}\n"
MEN = ["Jakob Brenner", "Emil Sorge", "Anton Weiss", "Paul Adler"]
WOMEN = ["Klara Brenner", "Ida Sorge", "Lena Weiss", "Marta Adler"]


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """120 pairs with answers a and b, people agree with the gold nine times in ten."""
    pairs, labels = [], []
    for i in range(120):
        better, worse = f"It is {i + 1}.", f"It is {i + 3}."
        at_a = i % 4 < 3
        a, b = (better, worse) if at_a else (worse, better)
        pairs.append({"prompt": f"What is {i} plus 1?", "a": a, "b": b, "label": "A" if at_a else "B", "id": f"k{i}"})
        labels.append({"id": f"k{i}", "label": "A" if at_a != (i % 10 == 0) else "B"})
    _write(tmp_path / "pairs.jsonl", pairs)
    _write(tmp_path / "labels.jsonl", labels)
    templates = "".join(
        f'[[templates]]\nid = "t{i}"\ntext = "{{{{name}}}} runs shop {i}. {{{{They}}}} asked for a loan."\n'
        for i in range(12)
    )
    (tmp_path / "plan.toml").write_text(
        "schema = 1\nquestion = 'How well does this note make the case?'\n"
        f"[judge]\nmodes = ['pairwise']\n[groups.men]\nnames = {MEN}\npronouns = 'he'\n"
        f"[groups.women]\nnames = {WOMEN}\npronouns = 'she'\n{templates}"
    )
    (tmp_path / "gate.toml").write_text(EASY)
    return tmp_path


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def audit(here: Path, *options: str, judge: str = "fake/skill=9", out: str = "run") -> int:
    return run([
        "audit", "--judge", judge, "--pairs", str(here / "pairs.jsonl"), "--gate", str(here / "gate.toml"),
        "--out", str(here / out), "--quiet", *options,
    ])  # fmt: skip


def people(here: Path) -> tuple[str, ...]:
    return "--human", str(here / "labels.jsonl"), "--key", "id"


def findings(here: Path, out: str = "run") -> dict[str, Any]:
    return {f["id"]: f for f in json.loads((here / out / "findings.json").read_text())["findings"]}


def reports(here: Path, out: str = "run") -> list[str]:
    return [(here / out / name).read_text() for name in ("report.md", "report.html", "findings.json")]


def test_a_judge_that_agrees_with_people_is_fit_and_its_win_rate_is_shown(here: Path) -> None:
    assert audit(here, *people(here)) == 0
    found = findings(here)
    labels = [json.loads(line)["label"] for line in (here / "labels.jsonl").read_text().splitlines()]
    better = [json.loads(line)["label"] for line in (here / "pairs.jsonl").read_text().splitlines()]
    # Both told by place as shown, in both orders: BA shows the better answer second.
    judged = ["A"] * 120 + ["B"] * 120
    told = ["A" if x == y else "B" for x, y in zip(labels, better, strict=True)]
    told += ["B" if x == "A" else "A" for x in told]
    kappa = found["calibration.kappa"]
    assert kappa["estimate"] == pytest.approx(cohen_kappa_score(judged, told))
    assert kappa["outcome"] == "fit"
    assert kappa["tolerance"] == [0.6, None]
    assert found["judged.win_rate"]["estimate"] == pytest.approx(0.75)
    assert "suspect" not in found["judged.win_rate"]["details"]
    assert (found["calibration.agreement"]["estimate"], found["calibration.agreement"]["n"]) == (
        pytest.approx(0.9),
        120,
    )


def test_what_a_judge_says_that_disagrees_with_people_is_withheld_everywhere(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit(here, *people(here), judge="fake/skill=0.5") == 1
    assert capsys.readouterr().out.startswith("RECUSE: calibration.kappa: kappa with people 0.")
    win = findings(here)["judged.win_rate"]
    assert (win["estimate"], win["interval"], win["bounds"]) == (None, None, None)
    assert win["reason"].startswith("withheld: kappa with people 0.")
    for report in reports(here):
        assert "withheld: kappa with people 0." in report


def test_a_judge_that_always_says_the_same_is_constant_and_withheld(here: Path) -> None:
    assert audit(here, *people(here), judge="fake/always=first") == 1
    found = findings(here)
    assert found["calibration.kappa"]["outcome"] == "recuse"
    assert (
        found["judged.win_rate"]["reason"]
        == "withheld: the judge is constant: every verdict that it gave is the first answer"
    )


def test_too_few_labels_are_inconclusive_and_say_how_many_would_settle_it(here: Path) -> None:
    (here / "labels.jsonl").write_text("".join((here / "labels.jsonl").read_text().splitlines(keepends=True)[1:9]))
    assert audit(here, *people(here), judge="fake/skill=1.6") == 3
    found = findings(here)
    assert found["calibration.kappa"]["outcome"] == "inconclusive"
    needed = found["calibration.kappa"]["details"]["labels_needed"]
    assert needed is None or needed > 8
    assert found["judged.win_rate"]["estimate"] is not None
    assert found["judged.win_rate"]["details"]["suspect"].startswith("not settled: kappa with people")


def test_refusals_leave_kappa_whole_on_what_was_answered_and_open_its_bounds(here: Path) -> None:
    labels = [json.loads(line) for line in (here / "labels.jsonl").read_text().splitlines()]
    better = {row["id"]: row["label"] for row in map(json.loads, (here / "pairs.jsonl").read_text().splitlines())}
    _write(here / "labels.jsonl", [{**row, "label": better[row["id"]]} for row in labels])
    assert audit(here, *people(here), judge="fake/skill=40,refuse=0.4") == 3
    kappa = findings(here)["calibration.kappa"]
    assert kappa["estimate"] == 1.0
    assert kappa["bounds"][0] < 0.5
    assert 0.3 < kappa["details"]["missing"] / 240 < 0.5


def test_a_judge_that_reacts_to_a_group_makes_every_judged_metric_suspect(here: Path) -> None:
    favours = "|".join(name.split()[0] for name in WOMEN)
    judge = f"fake/skill=9,favours={favours},favour=3"
    assert audit(here, "--swap", str(here / "plan.toml"), *people(here), judge=judge) == 1
    found = findings(here)
    gap = found["swap.gap"]
    assert gap["outcome"] == "recuse"
    assert gap["details"]["of"] == "swap.gap:pairwise:men/women"
    assert gap["estimate"] < -0.2
    assert found["swap.blinded_residual"]["estimate"] == 0.0
    assert found["judged.win_rate"]["estimate"] == pytest.approx(0.75)
    for report in reports(here):
        assert "Every judged metric of this run is suspect." in report
    for report in reports(here)[:2]:
        assert "suspect: The judge reacts to a group signal" in report  # beside the metric itself
    assert "otherwise identical texts" in found["judged.win_rate"]["details"]["suspect"]


def test_an_undecided_swap_test_prevents_fit_and_says_how_many_templates_it_takes(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit(here, "--swap", str(here / "plan.toml")) == 3
    assert "swap.gap" in capsys.readouterr().out
    assert "templates would show that there is none" in reports(here)[0]
    assert "Klara Brenner" in reports(here)[1]


def test_a_swap_test_that_cannot_be_made_prevents_fit(here: Path) -> None:
    """A reward model has no scale on which a tolerance could stand."""
    config = AuditConfig("fake/skill=9", str(here / "pairs.jsonl"), gate=here / "gate.toml", out=here / "run",
                         swap=here / "plan.toml")  # fmt: skip
    plan = plan_audit(config)
    assert plan.swap is not None
    result = run_audit(replace(plan, swap=Swap.prepare(plan.swap.plan, ())))
    gap = next(f for f in result.findings if f.id == "swap.gap")
    assert (gap.estimate, gap.outcome, result.outcome) == (None, "inconclusive", "inconclusive")
    assert "swap.gap was not measured (a reward model's scalar has no scale" in result.headline


def test_labels_that_come_later_cost_nothing(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert audit(here) == 0
    assert audit(here, *people(here)) == 0
    usage = json.loads((here / "run/findings.json").read_text())["usage"]
    assert (usage["calls"], usage["from_ledger"]) == (0, 240)


def test_the_dry_run_counts_the_swap_test(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    audit(here, "--dry-run", "--json")
    plain = json.loads(capsys.readouterr().out)
    audit(here, "--swap", str(here / "plan.toml"), "--dry-run", "--json")
    swapped = json.loads(capsys.readouterr().out)
    assert audit(here, "--swap", str(here / "plan.toml")) == 3
    usage = json.loads((here / "run/findings.json").read_text())["usage"]
    assert plain["calls"] == 240
    assert swapped["calls"] == usage["calls"] > 240
    assert swapped["tokens_in"] > plain["tokens_in"]


def test_a_run_with_another_plan_is_another_run(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    audit(here, "--swap", str(here / "plan.toml"))
    (here / "plan.toml").write_text((here / "plan.toml").read_text().replace("asked for a loan", "wants a loan"))
    assert audit(here, "--swap", str(here / "plan.toml")) == 2
    assert "swap.hash" in capsys.readouterr().err


def test_the_run_folder_keeps_labels_and_every_judgement_for_a_comparison(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    audit(here, *people(here))
    audit(here, *people(here), judge="fake/skill=0.2,seed=3", out="new")
    rows = pq.read_table(here / "run/judgements.parquet").to_pylist()
    assert {row["gold"] for row in rows} == {True}
    capsys.readouterr()
    assert run(["calibrate", "compare", str(here / "run"), str(here / "run")]) == 0
    assert run(["calibrate", "compare", str(here / "run"), str(here / "new")]) == 1
    assert "FAIL: agreement with people -0." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--human", "{0}/none.jsonl"], "none.jsonl"),
        (["--human", "{0}/strange.jsonl", "--key", "id"], "strange.jsonl"),
        (["--human", "{0}/twice.jsonl", "--key", "id"], "row 2: this pair is labelled rejected, and chosen in row 1"),
        (["--human", "{0}/labels.jsonl", "--key", "absent"], "absent"),
        (["--human", "{0}/labels.jsonl", "--key", "id", "--means", "x"], "--means 'x' is not WORD=LABEL"),
        (["--key", "id"], "go with --human"),
        (["--swap", "{0}/none.toml"], "none.toml"),
        (["--swap", "{0}/gate.toml"], "gate.toml"),
        (["--swap", "{0}/mute.toml"], "mute.toml, field 'question': the template 't0' has no question for the judge"),
    ],
)
def test_bad_controls_are_one_sentence_before_anything_is_asked(
    here: Path, options: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _write(here / "strange.jsonl", [{"id": "zz", "label": "A"}])
    _write(here / "twice.jsonl", [{"id": "k1", "label": "A"}, {"id": "k1", "label": "B"}])
    (here / "mute.toml").write_text("schema = 1\n[judge]" + (here / "plan.toml").read_text().partition("[judge]")[2])
    assert audit(here, *(option.format(here) for option in options)) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1
    assert not (here / "run").exists()


@pytest.mark.data
def test_the_recorded_verdicts_of_pandalm_are_held_against_its_people_and_withheld(
    data_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = data_dir / "pandalm/recorded_judgments_999.jsonl"
    common = ["audit", "--verdicts", str(source), "--human", str(source), "--key", "idx", "--label", "annotators",
              "--means", "0=tie", "--out", str(tmp_path / "run"), "--quiet"]  # fmt: skip
    assert run([*common, "--where", "judge=pandalm"]) == 1
    rows = [json.loads(line) for line in source.read_text().splitlines()]
    told = [Counter(row["annotators"]).most_common(1)[0][0] for row in rows]
    judged = [0 if row["pandalm_result"] == "tie" else int(row["pandalm_result"]) for row in rows]
    found = findings(tmp_path)
    assert found["calibration.kappa"]["estimate"] == pytest.approx(cohen_kappa_score(judged, told))
    assert found["calibration.kappa"]["interval"] == pytest.approx([0.387, 0.482], abs=1e-3)
    assert found["judged.win_rate"]["reason"].startswith("withheld")
    kept = pq.read_table(tmp_path / "run/judgements.parquet").to_pylist()
    assert len(kept) == 999
    assert {row["gold"] for row in kept} == {True, False}  # ties of the people have no better answer
