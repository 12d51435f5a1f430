"""`recuse probe slices`: known answers through the command line, failures kept apart, and what it refuses."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.proportion import proportion_confint, proportions_ztest

from recuse.cli import run
from recuse.probes.outcomes import read_outcomes
from recuse.probes.sliced import slice_findings, slice_outcomes
from recuse.probes.slices import cut

Row = Mapping[str, Any]
Printed = pytest.CaptureFixture[str]


def _write(path: Path, rows: Sequence[Row]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def _counts(counts: Mapping[str, tuple[int, int]]) -> list[Row]:
    """k of n positive for each value of the tag `side`."""
    return [{"side": side, "y": int(i < k)} for side, (k, n) in counts.items() for i in range(n)]


def _json(capsys: Printed, path: Path, *options: str, by: str = "side", outcome: str = "y") -> dict[str, Any]:
    assert run(["probe", "slices", str(path), "--outcome", outcome, "--by", by, "--json", *options]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_the_articles_example_of_82_and_124_of_200(tmp_path: Path, capsys: Printed) -> None:
    slices = _json(capsys, _write(tmp_path / "t.jsonl", _counts({"a": (82, 200), "b": (124, 200)})))["slices"]
    assert list(slices) == ["side=a", "side=b"]  # the worst first
    low, best = slices.values()
    assert low["p"] == pytest.approx(0.000026, abs=5e-7)
    assert low["interval"] == pytest.approx((0.344, 0.479), abs=5e-4)
    assert best["interval"] == pytest.approx((0.551, 0.684), abs=5e-4)
    assert round(low["ratio"], 2) == 0.66
    assert (low["rate"], low["n"], low["flag"]) == (0.41, 200, "review")
    assert (best["ratio"], best["p"], best["flag"]) == (1.0, None, "ok")
    # The same by another library.
    assert low["p"] == pytest.approx(proportions_ztest([82, 124], [200, 200])[1], rel=1e-9)
    assert low["interval"] == pytest.approx(proportion_confint(82, 200, method="wilson"), rel=1e-9)


def test_thirty_cases_tell_little(tmp_path: Path, capsys: Printed) -> None:
    slices = _json(capsys, _write(tmp_path / "t.jsonl", _counts({"a": (12, 30), "b": (18, 30)})))["slices"]
    assert slices["side=a"]["interval"] == pytest.approx((0.246, 0.577), abs=5e-4)
    assert slices["side=a"]["p"] == pytest.approx(0.12, abs=5e-3)
    assert slices["side=a"]["ratio"] == pytest.approx(2 / 3)
    assert {one["flag"] for one in slices.values()} == {"review"}  # fewer than a hundred, both
    wide = _json(capsys, _write(tmp_path / "t.jsonl", _counts({"a": (240, 600), "b": (240, 600)})))["slices"]
    assert wide["side=a"]["interval"] == pytest.approx((0.36, 0.44), abs=5e-3)


@pytest.mark.data
def test_call_backs_of_bertrand_and_mullainathan(data_dir: Path, capsys: Printed) -> None:
    path = data_dir / "bertrand_mullainathan" / "resume.csv"
    found = _json(capsys, path, "--group", "firstname", outcome="call", by="race")
    black, white = found["slices"]["race=black"], found["slices"]["race=white"]
    assert [(one["positive"], one["n"]) for one in (black, white)] == [(157, 2435), (235, 2435)]
    assert black["ratio"] == pytest.approx(157 / 235)
    assert black["p"] == pytest.approx(proportions_ztest([157, 235], [2435, 2435])[1], rel=1e-9)
    assert found["cuts"]["race"]["worst_slice"]["slices"] == ["race=black"]
    # Eighteen names a side say little of names that were not sent.
    assert [one["clustered"]["clusters"] for one in (black, white)] == [18, 18]
    assert found["cuts"]["race"]["worst_slice"]["slices_clustered"] == []
    assert any("more clusters narrow them, not more rows" in note for note in found["notes"])


def test_clusters_give_the_p_of_a_regression_with_clustered_errors(tmp_path: Path, capsys: Printed) -> None:
    """Eighty people a side, six rows each: what one person got is near to all or nothing."""
    rng = np.random.default_rng(2)
    rows = [
        {"side": side, "who": f"{side}{person}", "y": int(rng.random() < share)}
        for side, rate in (("a", 0.35), ("b", 0.55))
        for person in range(80)
        for share in [rng.beta(rate, 1 - rate)]
        for _ in range(6)
    ]
    path = _write(tmp_path / "t.jsonl", rows)
    found = _json(capsys, path, "--group", "who")["slices"]["side=a"]
    side = np.array([row["side"] == "a" for row in rows], dtype=float)
    fit = OLS([row["y"] for row in rows], np.column_stack([np.ones_like(side), side])).fit(
        cov_type="cluster", cov_kwds={"groups": np.unique([row["who"] for row in rows], return_inverse=True)[1]}
    )
    assert math.log10(found["clustered"]["p"]) == pytest.approx(math.log10(fit.pvalues[1]), abs=0.5)
    assert found["clustered"]["p"] > 10 * found["p"]
    assert found["clustered"]["clusters"] == 80


def test_the_worst_slice_rule_blocks_exactly_where_it_names_a_slice(tmp_path: Path) -> None:
    rng, seen = random.Random(4), set()
    for _ in range(60):
        sizes = [rng.choice([20, 90, 150, 400]) for _ in range(4)]
        counts = {str(i): (rng.randint(n // 4, n // 2), n) for i, n in enumerate(sizes)}
        table = read_outcomes(_write(tmp_path / "t.jsonl", _counts(counts)), outcome="y", by=["side"])
        found = cut(table, ("side",))
        assert found.blocks == bool(found.blocking)
        seen.add(found.blocks)
    assert seen == {True, False}


def test_intersections_show_what_each_tag_hides(tmp_path: Path, capsys: Printed) -> None:
    """Half of old men and young women, all others never: by either tag alone no gap is seen."""
    rows = [
        {"sex": sex, "age": age, "y": int((sex == "m") == (age == "old") and i % 2)}
        for sex in "mw"
        for age in ("old", "young")
        for i in range(200)
    ]
    found = _json(capsys, _write(tmp_path / "t.jsonl", rows), by="sex,age")
    assert set(found["cuts"]) == {"sex", "age", "sex,age"}
    assert [found["cuts"][by]["worst_slice"]["blocks"] for by in ("sex", "age", "sex,age")] == [False, False, True]
    assert found["slices"]["sex=m"]["ratio"] == 1.0
    hidden = found["slices"]["sex=w,age=old"]
    assert (hidden["rate"], hidden["ratio"], hidden["tags"]) == (0.0, 0.0, {"sex": "w", "age": "old"})
    assert next(iter(found["slices"])) in ("sex=w,age=old", "sex=m,age=young")


def test_a_slice_that_fails_more_often_is_found_though_its_answers_are_alike(tmp_path: Path, capsys: Printed) -> None:
    rows = [{"side": side, "y": i % 2 if i >= refused else None} for side, refused in (("a", 60), ("b", 0))
            for i in range(300)]  # fmt: skip
    found = _json(capsys, _write(tmp_path / "t.jsonl", rows))
    a, b = found["slices"]["side=a"], found["slices"]["side=b"]
    assert (a["rate"], b["rate"]) == (0.5, 0.5)
    assert (a["n"], a["rows"], a["failures"], a["failure_rate"]) == (240, 300, 60, 0.2)
    assert a["failure_gap"]["estimate"] == pytest.approx(0.2)
    low, high = a["failure_gap"]["interval"]
    assert 0.15 < low < 0.2 < high < 0.25
    assert (a["flag"], a["reasons"]) == ("review", ["more failures than elsewhere"])
    assert b["flag"] == "ok"
    # Were all failures refusals of a yes or of a no, the ratio would be 120/300 or 180/300 to one half.
    low, high = a["ratio_bounds"] or b["ratio_bounds"]
    assert low < 0.8
    assert high > 1.2
    assert any("60 of 600 rows have no outcome" in note for note in found["notes"])


@pytest.mark.parametrize("written", ['""', "null", '"nan"', '"None"', "NaN"])
def test_every_spelling_of_a_missing_outcome_is_a_failure_and_no_zero(
    tmp_path: Path, capsys: Printed, written: str
) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"side": "a", "y": 1}\n{"side": "b", "y": 1}\n{"side": "a", "y": ' + written + "}\n")
    found = _json(capsys, path)
    assert (found["slices"]["side=a"]["rate"], found["slices"]["side=a"]["failures"]) == (1.0, 1)


def test_labels_count_by_the_one_that_is_named(tmp_path: Path, capsys: Printed) -> None:
    labels = ["hire", "no hire", "Hire ", "unsure"]
    rows = [{"side": side, "y": label} for side in "ab" for label in labels]
    found = _json(capsys, _write(tmp_path / "t.jsonl", rows), "--positive", "hire")
    assert found["slices"]["side=a"]["rate"] == 0.5  # "no hire" holds "hire", and is none
    assert found["outcome"]["as_written"] == {"hire": 2, "no hire": 2, "Hire": 2, "unsure": 2}


def test_csv_and_parquet_give_what_jsonl_gives(tmp_path: Path, capsys: Printed) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [
        {"side": side, "y": y, "day": date(2026, 1, d)}
        for side in "ab"
        for d, y in ((5, True), (12, None), (13, False))
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "t.parquet")
    shown = [{**row, "day": row["day"].isoformat()} for row in rows]
    _write(tmp_path / "t.jsonl", shown)
    (tmp_path / "t.csv").write_text(
        "side,y,day\n" + "".join(f"{r['side']},{'' if r['y'] is None else r['y']},{r['day']}\n" for r in shown)
    )
    found = [_json(capsys, tmp_path / f"t.{form}", "--time", "day") for form in ("jsonl", "csv", "parquet")]
    for one in found:
        del one["records"], one["outcome"]
    assert found[0] == found[1] == found[2]
    assert [week["week"] for week in found[0]["cuts"]["side"]["weeks"]] == ["2026-W02", "2026-W03"]


def test_the_table_for_people_has_n_beside_every_p_and_calls_four_fifths_an_alarm(
    tmp_path: Path, capsys: Printed
) -> None:
    path = _write(tmp_path / "t.jsonl", _counts({"a": (82, 200), "b": (124, 200)}))
    assert run(["probe", "slices", str(path), "--outcome", "y", "--by", "side"]) == 0
    out = capsys.readouterr().out
    assert "side=a  0.410  [0.34, 0.48]  200  0       0.66   2.6e-05  review (ratio under 0.8)" in out
    assert "is an alarm, not law" in out
    assert "29 CFR 1607.4(D)" in out
    assert "planned for November 2026" in out
    assert "Worst-slice rule: blocks, for side=a." in out


def test_findings_bear_the_ids_and_figures_that_the_gate_reads(tmp_path: Path) -> None:
    path = _write(tmp_path / "t.jsonl", _counts({"a": (82, 200), "b": (124, 200)}))
    finding, best = slice_findings(slice_outcomes(read_outcomes(path, outcome="y", by=["side"])))
    assert (best.id, best.estimate, best.n, best.p) == ("slice.ratio:side=b", 1.0, 200, None)
    assert (finding.id, finding.n) == ("slice.ratio:side=a", 200)
    assert finding.estimate == pytest.approx(82 / 124)
    assert finding.p == pytest.approx(proportions_ztest([82, 124], [200, 200])[1], rel=1e-9)


def test_without_any_gap_the_output_says_how_often_its_rules_ring(tmp_path: Path, capsys: Printed) -> None:
    """The figures of the articles: 11.5 % and 47 %, in the tables that they are about."""
    eight = _counts({str(i): (150, 300) for i in range(8)})
    chance = _json(capsys, _write(tmp_path / "t.jsonl", eight))["cuts"]["side"]["by_chance"]
    assert (chance["n"], chance["rate"]) == (300, 0.5)
    assert chance["worst_slice"] == pytest.approx(0.115, abs=0.002)
    two = _counts({"a": (12, 30), "b": (12, 30)})
    chance = _json(capsys, _write(tmp_path / "t.jsonl", two))["cuts"]["side"]["by_chance"]
    assert chance["four_fifths"] == pytest.approx(0.47, abs=0.005)


def test_a_rate_of_zero_everywhere_has_no_ratio_and_blocks_nothing(tmp_path: Path, capsys: Printed) -> None:
    found = _json(capsys, _write(tmp_path / "t.jsonl", _counts({"a": (0, 200), "b": (0, 200)})))
    assert found["slices"]["side=a"]["ratio"] is None
    assert found["slices"]["side=a"]["reasons"] == ["no slice has a positive rate, so there is no ratio"]
    assert found["cuts"]["side"]["worst_slice"]["blocks"] is False


GOOD = [{"side": "a", "y": 1, "day": "2026-01-05", "who": "p"}, {"side": "b", "y": 0, "day": "2026-01-06", "who": "q"}]


@pytest.mark.parametrize(
    ("rows", "options", "said"),
    [
        ([*GOOD, {"side": "", "y": 1}], [], "row 3, field 'side': the tag is missing"),
        ([*GOOD, {"y": 1}], [], "row 3, field 'side': the tag is missing"),
        ([*GOOD, {"side": "a", "y": "approve"}], [], "row 3, field 'y': the outcome 'approve' is neither 0 nor 1"),
        ([*GOOD, {"side": "a", "y": 0.7}], [], "row 3, field 'y': the outcome '0.7' is neither 0 nor 1"),
        ([], [], "no rows"),
        (GOOD, ["--outcome", "z"], "field 'z': no such column. There are: side, y, day, who."),
        (GOOD, ["--by", "sides"], "field 'sides': no such column"),
        (GOOD, ["--gold", "truth"], "field 'truth': no such column"),
        (GOOD[:1] * 3, [], "all 3 rows have side = 'a', and one slice has nothing to be compared with"),
        ([{**row, "y": None} for row in GOOD], [], "field 'y': no row has an outcome"),
        (GOOD, ["--expect", "side=c"], "no row has side=c, which --expect names. There are: a, b."),
        (GOOD, ["--expect", "age=old"], "--expect 'age=old' is not TAG=VALUE of a tag in --by"),
        (GOOD, ["--positive", "yes"], "no row has the outcome 'yes' that --positive names. There are: 1, 0"),
        ([*GOOD, {"side": "a", "y": 1}], ["--group", "who"], "row 3, field 'who': the cluster is missing"),
        ([*GOOD, {"side": "a", "y": 1, "day": "soon"}], ["--time", "day"], "row 3, field 'day': 'soon' is no date"),
        (GOOD, ["--by", "side,side"], "The tag 'side' is named twice."),
        (GOOD, ["--by", "side,y"], "'y' is both a tag and an outcome."),
        ([{"side": str(i), "y": 1} for i in range(201)], [], "field 'side': 201 values in 201 rows are no slices"),
    ],
)  # fmt: skip
def test_bad_input_is_told_in_one_sentence(
    tmp_path: Path, capsys: Printed, rows: list[Row], options: list[str], said: str
) -> None:
    path = _write(tmp_path / "t.jsonl", rows)
    assert run(["probe", "slices", str(path), "--outcome", "y", "--by", "side", "--json", *options]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("recuse: ")
    assert len(err.splitlines()) == 1
    assert said in err


def test_an_expected_slice_may_have_an_equals_sign_in_its_tag(tmp_path: Path, capsys: Printed) -> None:
    rows = [{"a=b": row["side"], "y": row["y"]} for row in _counts({"x": (30, 60), "y": (20, 60)})]
    path = _write(tmp_path / "t.jsonl", rows)
    asked = ["probe", "slices", str(path), "--outcome", "y", "--by", "a=b"]
    assert run([*asked, "--expect", "a=b=x"]) == 0
    assert run([*asked, "--expect", "a=b=z"]) == 2
    assert "no row has a=b=z" in capsys.readouterr().err


def test_a_folder_without_records_is_told(tmp_path: Path, capsys: Printed) -> None:
    assert run(["probe", "slices", str(tmp_path), "--outcome", "y", "--by", "side"]) == 2
    assert "no records.parquet in this folder" in capsys.readouterr().err


def test_a_missing_file_is_told(tmp_path: Path, capsys: Printed) -> None:
    assert run(["probe", "slices", str(tmp_path / "none.csv"), "--outcome", "y", "--by", "side"]) == 2
    assert "no such file" in capsys.readouterr().err
