"""A judge's scores against people's ratings: weighted, as other libraries have it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from recuse.calibration.ratings import calibrate_ratings, load_ratings
from recuse.cli import run
from recuse.errors import InputError, UsageError


def _write(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_ratings_in_rows_columns_and_lists_are_the_same(tmp_path: Path) -> None:
    rows = _write(
        tmp_path / "rows.jsonl", [{"id": 1, "annotator": p, "rating": r} for p, r in (("x", 3), ("y", "4.5"))]
    )
    wide = _write(tmp_path / "wide.jsonl", [{"id": "1", "x": 3, "y": 4.5}])
    cells = _write(tmp_path / "cells.jsonl", [{"id": "1", "rating": [3, 4.5, None]}])
    assert load_ratings(rows, key="id") == load_ratings(wide, key="id", column=("x", "y")) == {"1": {"x": 3, "y": 4.5}}
    assert list(load_ratings(cells, key="id")["1"].values()) == [3, 4.5, None]


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([{"id": "1", "rating": "good"}], "'good' is no rating"),
        ([{"id": "1", "rating": 3}, {"id": "1", "rating": 4}], "4.0 here, and 3.0 by the same person before"),
        ([{"id": "1", "score": 3}], "there is no column 'rating'"),
    ],
)
def test_what_is_no_rating_is_refused(tmp_path: Path, rows: list[Any], says: str) -> None:
    with pytest.raises((InputError, UsageError), match=says):
        load_ratings(_write(tmp_path / "r.jsonl", rows), key="id")


def test_kappa_is_scikit_learns_quadratic_one_against_the_median() -> None:
    rng = np.random.default_rng(0)
    people = {str(i): {p: float(x) for p, x in zip("abc", rng.integers(1, 6, 3), strict=True)} for i in range(80)}
    medians = {item: sorted(ratings.values())[1] for item, ratings in people.items()}
    scores = {item: float(np.clip(m + rng.integers(-1, 2), 1, 5)) for item, m in medians.items()}
    (kappa, _), decided = calibrate_ratings(scores, people)
    expected = cohen_kappa_score(
        [int(s) for s in scores.values()], [int(m) for m in medians.values()], weights="quadratic"
    )
    assert kappa.finding.estimate == pytest.approx(expected)
    same = np.mean([scores[item] == medians[item] for item in scores])
    assert kappa.finding.details["same_rating"] == pytest.approx(same)
    assert decided.decision == "pass"
    constant = calibrate_ratings(dict.fromkeys(scores, 3.0), people)[1]
    assert (constant.decision, constant.reason) == (
        "withheld",
        "the judge is constant: every verdict that it gave is 3.0",
    )


def test_missing_scores_enter_by_all_completions() -> None:
    people = {str(i): {"a": float(i % 3)} for i in range(30)}
    scores = {item: ratings["a"] if int(item) >= 3 else None for item, ratings in people.items()}
    (kappa, alone), _ = calibrate_ratings(scores, people)
    worst = min(
        cohen_kappa_score([x, y, z] + [i % 3 for i in range(3, 30)], [i % 3 for i in range(30)], weights="quadratic")
        for x in range(3) for y in range(3) for z in range(3)
    )  # fmt: skip
    assert kappa.finding.estimate == 1.0
    assert kappa.finding.details["completions"] == pytest.approx([worst, 1.0])
    assert alone.finding.reason == "no item has ratings of two people"


def test_nothing_rated_is_refused() -> None:
    with pytest.raises(InputError, match="no scored item has a rating"):
        calibrate_ratings({"1": 3.0}, {"1": {"a": None}, "2": {"a": 3.0}})


@pytest.mark.data
def test_one_reader_of_newsroom_as_the_judge_of_the_others(data_dir: Path) -> None:
    path = data_dir / "judge_bench_multiannotator" / "newsroom.jsonl.gz"
    with gzip.open(path, "rt") as file:
        rows = [json.loads(line)["annotations"]["Coherence"]["individual_human_scores"] for line in file]
    people = {str(i): {str(k): float(v) for k, v in enumerate(row[1:])} for i, row in enumerate(rows)}
    (kappa, alpha), _ = calibrate_ratings({str(i): float(row[0]) for i, row in enumerate(rows)}, people)
    lower = [int(min(row[1:])) for row in rows]
    expected = cohen_kappa_score([int(row[0]) for row in rows], lower, weights="quadratic")
    assert kappa.finding.estimate == pytest.approx(expected)
    matrix = np.array([row[1:] for row in rows], dtype=float)
    others = krippendorff.alpha(reliability_data=matrix.T, level_of_measurement="interval")
    assert alpha.finding.estimate == pytest.approx(others)


def _rated(n: int = 90) -> list[dict[str, Any]]:
    """A judge that is mostly a point off at the ends, and one that names numbers at random."""
    draw = np.random.default_rng(5)
    truth = draw.integers(1, 6, n)
    return [
        {"id": f"i{i}", "q": f"q{i // 2}", "judge": int(np.clip(t + draw.integers(0, 2), 1, 5)),
         "wild": int(draw.integers(1, 6)), "ann": int(t), "bob": int(np.clip(t + draw.integers(-1, 2), 1, 5))}
        for i, t in enumerate(truth)
    ]  # fmt: skip


@pytest.mark.parametrize(("column", "code", "said"), [("judge", 0, "PASS: kappa"), ("wild", 1, "WITHHELD: kappa")])
def test_the_command_weighs_scores_against_ratings(
    column: str, code: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = _rated()
    path = str(_write(tmp_path / "rated.jsonl", rows))
    common = ["calibrate", "ratings", path, "--score", column, "--human", "ann,bob", "--key", "id", "--group", "q"]
    assert run(common) == code
    assert capsys.readouterr().out.startswith(said)
    assert run([*common, "--json"]) == code
    found = json.loads(capsys.readouterr().out)
    told = [min(row["ann"], row["bob"]) for row in rows]  # the lower median of two
    kappa = found["findings"][0]
    assert kappa["estimate"] == pytest.approx(cohen_kappa_score([r[column] for r in rows], told, weights="quadratic"))
    assert (kappa["n"], kappa["groups"]) == (90, 45)
    alpha = krippendorff.alpha([[r["ann"] for r in rows], [r["bob"] for r in rows]], level_of_measurement="interval")
    assert found["findings"][1]["estimate"] == pytest.approx(alpha)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--score", "none", "--human", "ann"], "no column 'none'"),
        (["--score", "judge", "--human", "none"], "no column 'none'"),
        (["--score", "q", "--human", "ann"], "is no rating"),
        (["--score", "judge", "--human", "ann", "--group", "none"], "no column 'none'"),
    ],
)
def test_ratings_that_cannot_be_read_are_one_sentence(
    options: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(_write(tmp_path / "rated.jsonl", _rated(8)))
    assert run(["calibrate", "ratings", path, "--key", "id", *options]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
