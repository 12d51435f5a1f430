"""Known answers on recorded verdicts and real labels, recomputed with other libraries."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pytest
from calibration_world import judged
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import aggregate_raters, cohens_kappa
from statsmodels.stats.inter_rater import fleiss_kappa as fleiss

from recuse import stats
from recuse.calibration import Calibrated, Labels, calibrate, known_recorded, load_labels
from recuse.recorded import load_recorded
from recuse.types import Finding

pytestmark = pytest.mark.data


def rows_of(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        return [json.loads(line) for line in file]


def finding(result: Calibrated, id: str = "calibration.kappa") -> Finding:
    return next(m.finding for m in result.measures if m.finding.id == id)


@pytest.fixture
def pandalm(data_dir: Path) -> Path:
    return data_dir / "pandalm" / "recorded_judgments_999.jsonl"


def _calibrated(path: Path, judge: str) -> Calibrated:
    found = load_recorded(path, where={"judge": judge})
    labels = load_labels(path, known_recorded(found), key="idx", column=("annotators",), values={"0": "tie"})
    return calibrate([*found.judgements, *found.without_gold], labels)


def test_the_three_people_of_pandalm(pandalm: Path) -> None:
    result = _calibrated(pandalm, "pandalm")
    people = finding(result, "calibration.people_alpha")
    kappas = people.details["two_by_two"].values()
    assert sorted(kappas) == pytest.approx([0.852, 0.862, 0.879], abs=5e-4)
    matrix = np.array([row["annotators"] for row in rows_of(pandalm)])
    alpha = krippendorff.alpha(reliability_data=matrix.T, level_of_measurement="nominal")
    assert people.estimate == pytest.approx(alpha)
    assert finding(result, "calibration.people_fleiss").estimate == pytest.approx(fleiss(aggregate_raters(matrix)[0]))


@pytest.mark.parametrize(("judge", "agreement", "missing"), [("pandalm", 0.6677, 0), ("gpt35", 0.6977, 25)])
def test_the_judges_of_pandalm(pandalm: Path, judge: str, agreement: float, missing: int) -> None:
    result = _calibrated(pandalm, judge)
    found = finding(result)
    said = {"tie": "tie", "0": "tie", "1": "A", "2": "B"}
    judged, told = [], []
    for row in rows_of(pandalm):
        value = str(row[f"{judge}_result"]).lower()
        if value in said:
            judged.append(said[value])
            told.append(said[str(Counter(row["annotators"]).most_common(1)[0][0])])
    assert found.estimate == pytest.approx(cohen_kappa_score(judged, told))
    table = np.array(found.details["confusion"]["judge_by_people"])
    assert found.estimate == pytest.approx(cohens_kappa(table).kappa)
    assert (found.n, found.details["missing"]) == (999 - missing, missing)
    assert np.trace(table) / 999 == pytest.approx(agreement, abs=5e-5)
    assert result.decision == "withheld"
    assert found.interval is not None
    assert found.interval[1] < 0.6


def test_a_judge_of_pandalm_that_always_names_the_first_is_withheld(pandalm: Path, tmp_path: Path) -> None:
    rows = [{**row, "pandalm_result": 1} for row in rows_of(pandalm)]
    path = tmp_path / "constant.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = _calibrated(path, "pandalm")
    assert result.decision == "withheld"
    assert result.reason == "the judge is constant: every verdict that it gave is the first answer"
    assert finding(result).estimate == pytest.approx(0.0)
    assert finding(result).details["agreement"] == pytest.approx(0.422, abs=5e-4)  # what raw agreement would hide


@pytest.mark.parametrize("judge", ["o1-mini-2024-09-12", "claude-3-haiku-20240307"])
def test_judgebench_judges_against_its_labels(data_dir: Path, judge: str) -> None:
    path = data_dir / "judge_outputs" / "judgebench_arena_hard_verdicts.jsonl.gz"
    found = load_recorded(path, where={"judge": judge}, reading="recorded")
    labels = load_labels(path, known_recorded(found), key="pair_id", column=("label",))
    result = calibrate(found.judgements, labels)
    # decisions are as shown; the label is in the original order
    turned = {"A>B": "B>A", "B>A": "A>B"}
    rows = [r for r in rows_of(path) if r["judge_model"] == judge and r["decision"] is not None]
    told = [r["label"] if r["order"] == "original" else turned[r["label"]] for r in rows]
    assert finding(result).estimate == pytest.approx(cohen_kappa_score([r["decision"] for r in rows], told))
    assert finding(result).n == len(rows)
    assert finding(result).bounds is not None
    assert "labels stand twice in the file, alike" in " ".join(result.notes)


def _ratings(data_dir: Path, name: str, metric: str) -> list[list[Any]]:
    path = data_dir / "judge_bench_multiannotator" / f"{name}.jsonl.gz"
    return [row["annotations"][metric]["individual_human_scores"] for row in rows_of(path)]


@pytest.mark.parametrize("metric", ["Informativeness", "Relevance", "Fluency", "Coherence"])
def test_people_on_newsroom(data_dir: Path, metric: str) -> None:
    rows = _ratings(data_dir, "newsroom", metric)
    matrix = np.array([[np.nan if v is None else v for v in row] for row in rows], dtype=float)
    for scale in ("nominal", "ordinal", "interval"):
        expected = krippendorff.alpha(reliability_data=matrix.T, level_of_measurement=scale)
        assert stats.krippendorff_alpha(rows, metric=scale).estimate == pytest.approx(expected)
    assert stats.fleiss_kappa(rows).estimate == pytest.approx(fleiss(aggregate_raters(matrix.astype(int))[0]))


def test_people_on_recipes_and_dices_with_unlike_numbers_of_raters(data_dir: Path) -> None:
    for name, metric, scale in (("recipes", "grammar", "ordinal"), ("dices_350_crowdsourced", "safety", "nominal")):
        rows = _ratings(data_dir, name, metric)
        names = sorted({v for row in rows for v in row if v is not None})
        counts = np.array([[row.count(v) for v in names] for row in rows])
        domain = np.array(names, dtype=float) if scale == "ordinal" else np.array(names)
        expected = krippendorff.alpha(value_counts=counts, value_domain=domain, level_of_measurement=scale)
        assert stats.krippendorff_alpha(rows, metric=scale).estimate == pytest.approx(expected)  # type: ignore[arg-type]


def test_two_raters_who_always_agree(data_dir: Path) -> None:
    rows = _ratings(data_dir, "inferential_strategies", "Sound Reasoning")
    words = {"yes": "chosen", "no": "rejected"}
    votes = {str(i): {"one": words[row[0]], "two": words[row[1]]} for i, row in enumerate(rows)}
    result = calibrate(judged(dict.fromkeys(votes, "c"), orders="AB"), Labels(votes, {}, "", ""))  # type: ignore[arg-type]
    matrix = np.array([[v == "yes" for v in row] for row in rows], dtype=float)
    people = finding(result, "calibration.people_alpha")
    alpha = krippendorff.alpha(reliability_data=matrix.T, level_of_measurement="nominal")
    assert people.estimate == pytest.approx(alpha)
    assert people.details["two_by_two"]["one / two"] == pytest.approx(cohen_kappa_score(matrix[:, 0], matrix[:, 1]))
    assert result.decision == "withheld"
