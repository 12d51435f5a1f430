"""`recuse probe analyse` by names: outlying ones, names as the unit, and templates without any scatter."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from recorded_world import NAMES, analysed, design, recorded, row, scores

from recuse.probes.analyse import analyse


def test_a_planted_outlying_name_is_flagged_and_no_other(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    odd = NAMES["B"][2]
    rows = []
    for t, g, k, s in design(40, 5, 2):
        one = row(t, g, k, s)
        rows.append(one | {"score": rng.normal() + (2.0 if one["name"] == odd else 0.0)})
    found = analysed(tmp_path, rows, "score")
    assert [one.name for one in found.per_name if one.outlying] == [odd]
    [flagged] = [one for one in found.per_name if one.outlying]
    own = np.mean([one["score"] for one in rows if one["name"] == odd])
    others = np.mean([one["score"] for one in rows if one["group"] == "B" and one["name"] != odd])
    assert flagged.mean == pytest.approx(own)
    assert flagged.apart == pytest.approx(own - others)
    assert any(odd in note for note in found.notes)


def test_names_that_do_nothing_are_seldom_called_outlying(tmp_path: Path) -> None:
    flagged = sum(
        any(one.outlying for one in analysed(tmp_path, scores(seed, templates=12, scatter=0.3), "score").per_name)
        for seed in range(25)
    )
    assert flagged <= 4  # of 25 at 0.05; more have a chance of 0.007


def test_a_gap_of_names_is_not_sold_as_one_of_groups(tmp_path: Path) -> None:
    """One of four names moves the mean of its group in every template: sure for these names, not for further ones."""
    rng = np.random.default_rng(8)
    rows = [row(t, g, k, s, score=rng.normal() + 2.0 * ((g, k) == ("A", 0))) for t, g, k, s in design(40, 4, 2)]
    gap = analysed(tmp_path, rows, "score").gap.found
    assert gap.pvalue is not None
    assert gap.pvalue < 0.001
    assert gap.across_names is not None
    assert gap.across_names.pvalue is not None
    assert gap.across_names.pvalue > 0.05


def test_records_without_names_are_taken_and_it_is_said(tmp_path: Path) -> None:
    rows = [{k: v for k, v in one.items() if k != "name"} for one in scores(1, templates=9, names=1, scatter=0.3)]
    found = analysed(tmp_path, rows, "score")
    assert found.gap.found.groups == 9
    assert found.per_name == ()
    assert any("no names" in note for note in found.notes)


@pytest.mark.data
def test_the_call_backs_of_bertrand_and_mullainathan_have_names_as_their_units(data_dir: Path, tmp_path: Path) -> None:
    """235 of 2,435 against 157 of 2,435; which letters went to one employer is not in the file, so that all rows are of
    one template, and what can be said is said of names."""
    with (data_dir / "bertrand_mullainathan" / "resume.csv").open(encoding="utf-8") as file:
        letters = list(csv.DictReader(file))
    rows = [
        {"template_id": "letter", "group": one["race"], "name": one["firstname"], "seed": i, "call": one["call"]}
        for i, one in enumerate(letters)
    ]
    records = recorded(tmp_path, rows, "r.csv")
    found = analyse(records, metric="call", groups=("white", "black"))
    assert found.gap.found.estimate == pytest.approx(235 / 2435 - 157 / 2435)
    assert found.gap.found.interval is None
    further = found.gap.found.across_names
    assert further is not None
    assert further.groups == 36
    assert further.interval == pytest.approx((0.015, 0.049), abs=0.001)  # names as clusters, as published codes have it
    assert any("one template" in note for note in found.notes)


def test_templates_without_any_scatter_have_an_interval_only_with_bounds(tmp_path: Path) -> None:
    rows = [row(t, g, k, s, score=2.0 + (g == "A")) for t, g, k, s in design(30, 4, 1)]
    free, bounded = (analysed(tmp_path, rows, "score", bounds=bounds) for bounds in (None, (1.0, 5.0)))
    assert free.gap.shown.estimate == bounded.gap.shown.estimate == 1.0
    assert free.gap.shown.interval is None
    assert any("give --bounds" in note for note in free.notes)
    # Gaps lie in -4 to 4; a share u of other templates stays unseen in 30 with probability (1 - u)^30 = 0.025.
    unseen = 1 - 0.025 ** (1 / 30)
    assert bounded.gap.shown.interval == pytest.approx((1 - 5 * unseen, 1 + 3 * unseen))
