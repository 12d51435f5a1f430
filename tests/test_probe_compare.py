"""`recuse probe compare`: the bare model and the deployed chain on one plan, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recorded_world import Row, design, recorded, row, said_by
from scipy.stats import ttest_1samp, ttest_ind

from recuse.cli import run
from recuse.probes.compare import Comparison, compare
from recuse.probes.records import write_records


def compared(path: Path, old: Sequence[Row], new: Sequence[Row], metric: str = "score", **settings: Any) -> Comparison:
    both = [recorded(path, rows, name) for rows, name in ((old, "old.jsonl"), (new, "new.jsonl"))]
    return compare(*both, metric=metric, groups=("A", "B"), **settings)


def chain(seed: int, *, templates: int = 40, added: float = 0.0, lowered: float = 0.0) -> tuple[list[Row], list[Row]]:
    """A bare model whose gap differs much from template to template, and the same with a chain around it, which adds to
    the gap and takes something off every score."""
    rng = np.random.default_rng(seed)
    gaps = rng.normal(0.0, 1.0, templates)
    old, new = [], []
    for t, g, k, s in design(templates, 4, 2):
        x = (gaps[t] if g == "A" else 0.0) + rng.normal(0.0, 0.3)
        old.append(row(t, g, k, s, score=x))
        new.append(row(t, g, k, s, score=x + (added if g == "A" else 0.0) - lowered + rng.normal(0.0, 0.3)))
    return old, new


def template_gaps(rows: Sequence[Row], templates: int) -> np.ndarray:
    means = np.array([[one["score"] for one in rows if one["group"] == g] for g in "AB"]).reshape(2, templates, -1)
    return means.mean(axis=2)[0] - means.mean(axis=2)[1]


def test_the_change_is_the_mean_difference_of_the_template_gaps(tmp_path: Path) -> None:
    old = [row(t, g, k, 0, score=x) for t, g, k, x in [
        (0, "A", 0, 3.0), (0, "A", 1, 5.0), (0, "B", 0, 2.0), (0, "B", 1, 2.0), (1, "A", 0, 1.0), (1, "B", 0, 1.0),
    ]]  # fmt: skip
    new = [one | {"score": one["score"] + more} for one, more in zip(old, [1.0, 0.0, 0.0, -1.0, 0.0, 2.0], strict=True)]
    found = compared(tmp_path, old, new, least_names=1)
    # t0: 2 before and 4.5 - 1.5 = 3 now; t1: 0 before and 1 - 3 = -2 now.
    assert found.change.found.estimate == pytest.approx((1 - 2) / 2)
    assert [(one.template_id, one.old, one.new, one.difference) for one in found.per_template] == [
        ("t001", 0.0, -2.0, -2.0),
        ("t000", 2.0, 3.0, 1.0),
    ]
    assert (found.matched, found.only_old, found.only_new) == (6, 0, 0)


def test_interval_and_p_agree_with_scipys_paired_test_and_are_sharper_than_two_gaps(tmp_path: Path) -> None:
    old, new = chain(1, added=0.15)
    change = compared(tmp_path, old, new).change.found
    before, after = template_gaps(old, 40), template_gaps(new, 40)
    paired = ttest_1samp(after - before, 0.0)
    low, high = paired.confidence_interval(0.95)
    assert change.interval == pytest.approx((low, high), abs=0.15 * (high - low))
    assert change.interval is not None
    assert 0 < change.interval[0] < 0.15 < change.interval[1]
    assert change.pvalue is not None
    assert change.pvalue < 0.01
    assert ttest_ind(after, before).pvalue > 0.3  # what is seen without matching


def test_a_chain_that_changes_nothing_about_groups_is_seldom_said_to(tmp_path: Path) -> None:
    rejected = 0
    for seed in range(25):
        p = compared(tmp_path, *chain(100 + seed, templates=12, lowered=1.0)).change.found.pvalue
        assert p is not None
        rejected += p <= 0.05
    assert rejected <= 4  # of 25 at 0.05; more have a chance of 0.007


def test_a_fall_for_everybody_is_told_apart_from_a_change_of_the_gap(tmp_path: Path) -> None:
    found = compared(tmp_path, *chain(4, lowered=1.0))
    assert found.change.found.interval is not None
    assert found.change.found.interval[0] < 0 < found.change.found.interval[1]
    for level in (found.level_a, found.level_b):
        assert level.estimate == pytest.approx(-1.0, abs=0.05)
        assert level.interval is not None
        assert level.interval[1] < -0.9


def test_a_chain_that_refuses_one_group_is_found_in_the_failures(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    old = [row(t, g, k, s, approved=int(rng.random() < 0.5)) for t, g, k, s in design(40, 4, 3)]
    new = [one | {"approved": None if one["group"] == "B" and rng.random() < 0.2 else one["approved"]} for one in old]
    found = compared(tmp_path, old, new, "approved")
    gone = np.mean([one["approved"] is None for one in new if one["group"] == "B"])
    assert found.failures.estimate == pytest.approx(-gone)
    assert found.failures.pvalue is not None
    assert found.failures.pvalue < 1e-4
    assert found.change.shown.estimate == 0.0
    assert found.change.careful is not None
    assert found.change.careful.worst is not None
    low, high = found.change.careful.worst
    # Every answer that is missing was 0 or 1 before: the chain's could be any.
    assert low < -0.05 < 0.05 < high
    assert any("change of its own" in note for note in found.notes)


def test_rows_of_one_set_only_are_counted_and_left_out(tmp_path: Path) -> None:
    old, new = chain(4)
    kept = compared(tmp_path, old[:-16], new[:-16])
    found = compared(tmp_path, old[:-16], new)
    assert (found.matched, found.only_old, found.only_new) == (624, 0, 16)
    assert found.change.found.estimate == kept.change.found.estimate
    assert any("0 rows are in the old records only and 16 in the new ones only" in note for note in found.notes)


def test_one_gap_proven_and_the_other_not_is_no_change(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    gaps = {"old": rng.normal(0.30, 0.8, 40), "new": rng.normal(0.20, 0.8, 40)}
    sets = [
        [row(t, g, k, s, score=(gap[t] if g == "A" else 0.0)) for t, g, k, s in design(40, 4, 1)]
        for gap in (gaps["old"] - gaps["old"].mean() + 0.3, gaps["new"] - gaps["new"].mean() + 0.2)
    ]
    found = compared(tmp_path, *sets)
    p = [side.gap.found.pvalue for side in (found.old, found.new)]
    assert None not in p
    assert p[0] is not None
    assert p[1] is not None
    assert p[0] < 0.05 < p[1]
    assert any("only one" in note.lower() and "says nothing about a change" in note for note in found.notes)


def test_the_object_has_both_analyses_and_the_difference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = chain(6, templates=12, added=0.5)
    files = [write_records(tmp_path / name, rows) for name, rows in (("o.csv", old), ("n.parquet", new))]
    said = said_by(capsys, "compare", *files, "--metric", "score", "--groups", "A,B")
    before, after = template_gaps(old, 12), template_gaps(new, 12)
    assert said["gap_old"] == pytest.approx(before.mean())
    assert said["gap_new"] == pytest.approx(after.mean())
    assert said["difference"] == pytest.approx((after - before).mean())
    assert said["interval"][0] < said["difference"] < said["interval"][1]
    assert said["old"]["gap"] == said["gap_old"]
    assert {one["template_id"]: one["difference"] for one in said["per_template"]} == pytest.approx(
        {f"t{t:03}": x for t, x in enumerate(after - before)}
    )
    assert run(["probe", "compare", *map(str, files), "--metric", "score", "--groups", "A,B"]) == 0
    assert "score, A minus B, new minus old: +0.5" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ({"template_id": "elsewhere"}, "field 'template_id': no row has a counterpart in "),
        ({"prompt": "Another text."}, "row 1, field 'prompt': the prompt is not that of row 1 in "),
        ({"group": "C"}, "field 'group': no rows in the group 'A'"),
    ],
)
def test_sets_that_cannot_be_compared_give_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fault: dict[str, str], sentence: str
) -> None:
    old = [row(0, g, k, 0, score=k, prompt="A text.") for g in "AB" for k in range(4)]
    new = [one | (fault if "group" not in fault or one["group"] == "A" else {}) for one in old]
    files = [write_records(tmp_path / name, rows) for name, rows in (("o.jsonl", old), ("n.jsonl", new))]
    assert run(["probe", "compare", *map(str, files), "--metric", "score", "--groups", "A,B"]) == 2
    err = capsys.readouterr().err
    assert sentence in err
    assert err.count("\n") == 1
