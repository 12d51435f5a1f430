"""`recuse probe analyse`: template-level gaps, what else could explain them, and the mistakes that are not repeated."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from recorded_world import NAMES, TRUE_GAP, Row, analysed, design, lending, recorded, row, said_by, scores
from scipy.stats import permutation_test, ttest_1samp, ttest_ind
from statsmodels.stats.multitest import multipletests

from recuse.cli import run
from recuse.probes.analyse import analyse
from recuse.probes.records import write_records


def gaps_by_hand(rows: Sequence[Row], metric: str) -> dict[str, float]:
    values: dict[tuple[str, str], list[float]] = {}
    for one in rows:
        if one[metric] is not None:
            values.setdefault((one["template_id"], one["group"]), []).append(one[metric])
    templates = dict.fromkeys(template for template, _ in values)
    return {t: float(np.mean(values[t, "A"]) - np.mean(values[t, "B"])) for t in templates}


# The worked example of a lending assistant


def test_the_pooled_analysis_is_sure_where_the_templates_are_not(tmp_path: Path) -> None:
    found = analysed(tmp_path, lending(13), by=["income"])
    gap, pooled = found.gap.found, found.pooled
    assert pooled.pvalue is not None
    assert pooled.pvalue < 0.001
    assert pooled.interval is not None
    assert pooled.interval[0] > 0
    assert gap.interval is not None
    assert gap.interval[0] < 0 < TRUE_GAP < gap.interval[1]
    assert gap.pvalue is not None
    assert gap.pvalue > 0.05
    assert gap.interval[1] - gap.interval[0] > 1.5 * (pooled.interval[1] - pooled.interval[0])
    assert any("4,320 independent replies" in note and "over 120 templates" in note for note in found.notes)


def test_the_pooled_interval_misses_the_truth_and_the_interval_over_templates_does_not(tmp_path: Path) -> None:
    held = {"pooled": 0, "templates": 0}
    for seed in range(20):
        rows = [{k: v for k, v in one.items() if k != "stratum"} for one in lending(seed)]
        found = analysed(tmp_path, rows)
        for kind, interval in (("pooled", found.pooled.interval), ("templates", found.gap.found.interval)):
            assert interval is not None
            held[kind] += interval[0] <= TRUE_GAP <= interval[1]
    assert held["templates"] >= 17  # fewer have a chance of 0.016 at a coverage of 0.95
    assert held["pooled"] <= 16


def test_sorting_by_gap_finds_the_cluster_of_irregular_incomes(tmp_path: Path) -> None:
    found = analysed(tmp_path, lending(13), by=["income"])
    first = [one.labels["income"] for one in found.per_template[:15]]
    share = first.count("irregular") / 15
    assert share >= 0.8  # 0.125 of all templates
    assert [one.gap for one in found.per_template] == sorted((one.gap for one in found.per_template), reverse=True)
    irregular, steady = found.cuts["income"]
    assert (irregular.value, steady.value) == ("irregular", "steady")
    inside, outside = irregular.gap.found, steady.gap.found
    assert inside.interval is not None
    assert outside.interval is not None
    assert inside.interval[0] <= 0.6 <= inside.interval[1]
    assert outside.interval[0] <= 0.0 <= outside.interval[1]
    assert irregular.p_adjusted is not None
    assert irregular.p_adjusted < 0.01


def test_where_the_gap_is_negative_its_cluster_comes_first_too(tmp_path: Path) -> None:
    found = analyse(recorded(tmp_path, lending(13)), metric="approved", groups=("B", "A"), by=["income"])
    first = [one.labels["income"] for one in found.per_template[:15]]
    assert first.count("irregular") >= 12
    assert found.per_template[0].gap is not None
    assert found.per_template[0].gap < -0.3


# The numbers, against hands and other libraries


def test_the_gap_is_the_mean_over_templates_whatever_their_rows(tmp_path: Path) -> None:
    rows = [
        *(row(0, "A", k, 0, score=x) for k, x in enumerate([3.0, 5.0, 4.0, 4.0])),  # 4
        *(row(0, "B", k, 0, score=x) for k, x in enumerate([1.0, 2.0, 3.0, 2.0])),  # 2: a gap of 2
        *(row(1, "A", k, 0, score=x) for k, x in enumerate([1.0, None])),  # 1
        *(row(1, "B", k, 0, score=x) for k, x in enumerate([2.0, 2.5])),  # 2.25: a gap of -1.25
        row(2, "A", 0, 0, score=5.0),  # no counterpart
        row(2, "B", 0, 0, score=None),
    ]
    found = analysed(tmp_path, rows, "score")
    gap = found.gap.found
    assert gap.estimate == pytest.approx((2 - 1.25) / 2)
    assert (gap.groups, gap.excluded) == (2, ("t002",))
    assert [(one.template_id, one.gap) for one in found.per_template] == [
        ("t000", 2.0), ("t001", -1.25), ("t002", None),
    ]  # fmt: skip
    assert found.per_template[2].missing_b == 1
    assert gap.failures is not None
    assert gap.failures.estimate == pytest.approx(1 / 7 - 1 / 7)
    assert any("t002" in note for note in found.notes)


def test_interval_and_p_agree_with_scipy_on_the_template_gaps(tmp_path: Path) -> None:
    rows = scores(3, templates=60, gap=0.3, scatter=0.6)
    gap = analysed(tmp_path, rows, "score").gap.found
    by_hand = list(gaps_by_hand(rows, "score").values())
    t = ttest_1samp(by_hand, 0.0)
    low, high = t.confidence_interval(0.95)
    assert gap.estimate == pytest.approx(np.mean(by_hand))
    assert gap.interval == pytest.approx((low, high), abs=0.12 * (high - low))
    flips = permutation_test((by_hand,), np.mean, permutation_type="samples", n_resamples=20_000, rng=1)
    assert gap.pvalue == pytest.approx(flips.pvalue, rel=0.5, abs=0.002)
    assert gap.pvalue == pytest.approx(t.pvalue, rel=0.5, abs=0.002)


def test_the_pooled_figure_is_welchs_and_says_that_it_is_wrong(tmp_path: Path) -> None:
    rows = scores(4, templates=20, scatter=1.0)
    pooled = analysed(tmp_path, rows, "score").pooled
    sides = [[one["score"] for one in rows if one["group"] == g] for g in "AB"]
    welch = ttest_ind(*sides, equal_var=False)
    assert pooled.pvalue == pytest.approx(welch.pvalue)
    assert pooled.interval == pytest.approx(tuple(welch.confidence_interval(0.95)))
    assert "wrong, for comparison only" in pooled.method


def test_a_stratum_apart_is_the_analysis_of_its_rows_and_p_is_holms(tmp_path: Path) -> None:
    rows = lending(2, templates=45, names=4, seeds=1)
    found = analysed(tmp_path, rows)
    alone = {
        value: analysed(tmp_path, [one for one in rows if one["stratum"] == value]).gap.found
        for value in ("borderline", "clear")
    }
    assert {cut.value: (cut.gap.found.estimate, cut.gap.found.pvalue) for cut in found.cuts["stratum"]} == {
        value: (gap.estimate, gap.pvalue) for value, gap in alone.items()
    }
    holm = multipletests([alone[v].pvalue for v in ("borderline", "clear")], method="holm")[1]
    assert [cut.p_adjusted for cut in found.cuts["stratum"]] == pytest.approx(holm)


def test_templates_of_a_later_batch_are_labelled_and_told_apart(tmp_path: Path) -> None:
    rows = [one | {"batch": "spring" if one["template_id"] > "t029" else None} for one in lending(2, templates=40)]
    found = analysed(tmp_path, rows)
    assert [(cut.value, cut.gap.found.groups) for cut in found.cuts["batch"]] == [("(none)", 30), ("spring", 10)]
    assert {one.labels["batch"] for one in found.per_template} == {None, "spring"}


def test_neither_the_order_of_rows_nor_the_form_of_the_file_changes_a_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        one | {"approved": None if i % 17 == 0 else one["approved"]} for i, one in enumerate(lending(5, templates=16))
    ]
    shuffled = [rows[i] for i in np.random.default_rng(0).permutation(len(rows))]
    for name, content in (("a.jsonl", rows), ("b.csv", shuffled), ("c.parquet", shuffled)):
        write_records(tmp_path / name, content)
    said = [
        said_by(capsys, "analyse", tmp_path / name, "--metric", "approved", "--groups", "A,B")
        for name in ("a.jsonl", "b.csv", "c.parquet")
    ]
    assert said[0] == said[1] == said[2]


# Failures


def refusing(seed: int) -> list[Row]:
    """A model that gives everybody the same answers and refuses group B three times as often."""
    rng = np.random.default_rng(seed)
    rows = []
    for t, g, k, s in design(60, 4, 3):
        gone = rng.random() < (0.24 if g == "B" else 0.08)
        rows.append(row(t, g, k, s, approved=None if gone else int(rng.random() < 0.6)))
    return rows


def test_a_model_that_refuses_one_group_more_often_is_found_in_the_failure_gap(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write_records(tmp_path / "r.jsonl", rows := refusing(1))
    said = said_by(capsys, "analyse", file, "--metric", "approved", "--groups", "A,B")
    assert said["interval"][0] < 0 < said["interval"][1]
    assert said["p"] > 0.05
    rates = [np.mean([one["approved"] is None for one in rows if one["group"] == g]) for g in "AB"]
    assert said["failure_gap"] == pytest.approx(rates[0] - rates[1])
    assert said["failure_gap"] == pytest.approx(-0.16, abs=0.04)
    assert said["failures"]["p"] < 0.001
    assert said["failures"]["interval"][1] < -0.05
    assert any("missing more often for one group" in note for note in said["notes"])


def test_the_bounds_hold_what_dropped_failures_hide(tmp_path: Path) -> None:
    """Where no template differs, the model declines every fifth of group B, half of which it words as a refusal."""
    truth, rows, whole = -0.0, [], []
    for t, g, k, s in design(40, 4, 5):
        declined = g == "B" and s == 0
        unread = declined and k % 2 == 0
        whole.append(0.0 if declined else 1.0)
        rows.append(row(t, g, k, s, approved=None if unread else int(not declined)))
    truth = 1.0 - float(np.mean([x for x, one in zip(whole, rows, strict=True) if one["group"] == "B"]))
    found = analysed(tmp_path, rows)
    dropped = found.gap.shown.estimate
    assert truth == pytest.approx(0.2)
    assert dropped == pytest.approx(2 / 18)  # 2 of the 18 answers that could be read: half of the gap is gone
    assert found.gap.careful is not None
    assert found.gap.careful.worst is not None
    assert found.gap.careful.worst == pytest.approx((0.1, 0.2))
    assert found.gap.careful.worst_interval is not None
    assert found.gap.careful.worst_interval[0] <= truth <= found.gap.careful.worst_interval[1]


def test_a_group_that_never_answers_has_no_gap_and_a_failure_gap_of_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [row(t, g, k, s, approved=None if g == "B" else 1) for t, g, k, s in design(10, 4, 2)]
    file = write_records(tmp_path / "r.jsonl", rows)
    said = said_by(capsys, "analyse", file, "--metric", "approved", "--groups", "A,B")
    assert (said["gap"], said["interval"], said["p"], said["templates"]) == (None, None, None, 0)
    assert said["failure_gap"] == -1.0
    assert "no template has values in both groups" in said["reason"]


def test_without_bounds_the_analysis_says_that_it_cannot_bound_what_is_missing(tmp_path: Path) -> None:
    rows = scores(1, templates=10, scatter=0.5)
    rows[0]["score"] = None
    assert any("give --bounds" in note for note in analysed(tmp_path, rows, "score").notes)
    bounded = analysed(tmp_path, rows, "score", bounds=(-50.0, 50.0))
    assert bounded.gap.careful is not None
    assert bounded.gap.careful.worst is not None
    assert bounded.gap.careful.worst[1] - bounded.gap.careful.worst[0] == pytest.approx(100 / 8 / 10)


# The mistakes of published analyses


def test_a_bootstrap_of_the_pooled_sample_is_no_interval_of_the_difference(tmp_path: Path) -> None:
    """Drawing both groups from the pooled rows makes the difference 0 in expectation, whatever the data: such an
    "interval" surrounds 0 and not the gap."""
    rows = scores(6, templates=60, gap=0.8, scatter=0.3)
    rng = np.random.default_rng(1)
    everything = np.array([one["score"] for one in rows])
    half = len(everything) // 2
    fake = np.quantile(
        [np.subtract(*(rng.choice(everything, half).mean() for _ in range(2))) for _ in range(500)], [0.025, 0.975]
    )
    assert fake[0] < 0 < fake[1] < 0.8
    gap = analysed(tmp_path, rows, "score").gap.found
    assert gap.interval is not None
    assert 0 < gap.interval[0] < 0.8 < gap.interval[1]
    assert gap.pvalue is not None
    assert gap.pvalue < 1e-4


def test_a_t_test_over_generations_rejects_far_too_often_where_there_is_no_gap(tmp_path: Path) -> None:
    """Twenty replies to a template pose as twenty observations; templates differ in their gaps, whose mean is zero."""
    runs, rejected = 50, {"generations": 0, "templates": 0}
    for seed in range(runs):
        found = analysed(tmp_path, scores(seed, templates=16, names=4, seeds=5, scatter=1.0), "score")
        for kind, p in (("generations", found.pooled.pvalue), ("templates", found.gap.found.pvalue)):
            assert p is not None
            rejected[kind] += p <= 0.05
    # Of 50 at a level of 0.05, more than 7 have a chance of 0.004.
    assert rejected["templates"] <= 7
    assert rejected["generations"] >= 15  # half of 1,000 such runs


# The command


def test_the_object_has_the_promised_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_records(tmp_path / "r.jsonl", rows := lending(1, templates=12, names=4, seeds=1))
    said = said_by(capsys, "analyse", file, "--metric", "approved", "--groups", "A,B")
    assert list(said)[:6] == ["templates", "gap", "interval", "p", "method", "failure_gap"]
    assert said["templates"] == 12
    assert said["gap"] == pytest.approx(np.mean(list(gaps_by_hand(rows, "approved").values())))
    assert {one["name"] for one in said["per_name"]} == {*NAMES["A"][:4], *NAMES["B"][:4]}
    assert {one["template_id"]: one["gap"] for one in said["per_template"]} == pytest.approx(
        gaps_by_hand(rows, "approved")
    )
    assert all(one["stratum"] in ("clear", "borderline") for one in said["per_template"])
    assert said["pooled"]["p"] is not None


def test_a_run_folder_is_analysed_as_its_records_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_records(tmp_path / "records.parquet", lending(1, templates=12, names=4, seeds=1))
    arguments = ("--metric", "approved", "--groups", "A,B")
    assert said_by(capsys, "analyse", tmp_path, *arguments) == said_by(capsys, "analyse", file, *arguments)


def test_the_text_shows_hostile_names_harmless(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [one | {"name": one["name"] + "\x1b[2J\u202e"} for one in lending(1, templates=6, names=4, seeds=1)]
    file = write_records(tmp_path / "r.jsonl", rows)
    assert run(["probe", "analyse", str(file), "--metric", "approved", "--groups", "A,B"]) == 0
    shown = capsys.readouterr().out
    assert "naively pooled, for comparison only" in shown
    assert "⟨U+202E⟩" in shown
    assert "\x1b" not in shown


def test_a_group_with_a_comma_is_named_in_quotes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = lending(1, templates=6, names=4, seeds=1)
    comma = [{**one, "group": "A, or so"} if one["group"] == "A" else one for one in plain]
    found = [
        said_by(capsys, "analyse", write_records(tmp_path / f"{i}.jsonl", rows), "--metric", "approved", "--groups", g)
        for i, (rows, g) in enumerate(((plain, "A,B"), (comma, '"A, or so",B')))
    ]
    assert found[1]["groups"] == ["A, or so", "B"]
    assert found[1]["gap"] == found[0]["gap"] == pytest.approx(np.mean(list(gaps_by_hand(plain, "approved").values())))


@pytest.mark.parametrize("unit", [1e-60, 1e120])
def test_the_pooled_test_does_not_depend_on_the_unit_of_the_metric(tmp_path: Path, unit: float) -> None:
    rows = [{**one, "approved": one["approved"] * unit} for one in lending(1, templates=6, names=4, seeds=1)]
    found = analysed(tmp_path, rows).pooled
    sides = [[one["approved"] / unit for one in rows if one["group"] == group] for group in ("A", "B")]
    assert found.pvalue == pytest.approx(ttest_ind(*sides, equal_var=False).pvalue)


@pytest.mark.parametrize(
    ("rows", "options", "sentence"),
    [
        ({}, {"--groups": "A,C"}, "field 'group': no rows in the group 'C'. It has: A, B."),
        ({}, {"--groups": "A"}, "--groups is 'A'. Name two groups by a comma"),
        ({}, {"--groups": "A,A"}, "'A' is compared with itself"),
        ({"names": 1}, {}, "field 'name': the group 'A' has 1 name. At least 4 a group are needed: with fewer"),
        ({"names": 3}, {}, "the group 'A' has 3 names"),
        ({}, {"--metric": "aproved"}, "field 'aproved': missing column"),
        ({}, {"--metric": "income"}, "field 'income': 'irregular' is not a number"),
        ({}, {"--bounds": "0"}, "--bounds is '0'. Give two numbers by a comma"),
        ({}, {"--bounds": "1,0"}, "The bounds are 1 and 0. Give the lower one first."),
        ({}, {"--bounds": "0,0.5"}, "field 'approved': 1 lies outside 0 to 0.5"),
        ({}, {"--by": "region"}, "field 'region': missing column"),
    ],
)
def test_bad_input_gives_one_sentence_and_exit_2(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    rows: dict[str, int],
    options: dict[str, str],
    sentence: str,
) -> None:
    file = write_records(tmp_path / "r.jsonl", lending(1, **{"templates": 6, "names": 4, "seeds": 1, **rows}))
    given = {"--metric": "approved", "--groups": "A,B", **options}
    assert run(["probe", "analyse", str(file), *(part for item in given.items() for part in item)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert sentence in err
    assert err.count("\n") == 1
    assert "Traceback" not in err


def test_one_name_a_group_is_analysed_where_it_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_records(tmp_path / "r.jsonl", lending(1, templates=12, names=1, seeds=2))
    said = said_by(capsys, "analyse", file, "--metric", "approved", "--groups", "A,B", "--least-names", "1")
    assert said["templates"] == 12
    assert said["further_names"]["interval"] is None
    assert "one name in a group says nothing about other names" in said["further_names"]["reason"]
