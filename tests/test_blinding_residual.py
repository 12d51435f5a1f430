"""What blinding leaves: proxies are found and named, chance is not, and texts of one unit never help each other."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedGroupKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from recuse.blinding.residual import _Sample, residual, residual_of_file
from recuse.errors import InputError, UsageError

WORDS = np.array([f"w{i}" for i in range(300)])


def texts(rng: np.random.Generator, n: int) -> list[str]:
    return [" ".join(rng.choice(WORDS, 30)) for _ in range(n)]


def test_pairs_that_blinding_made_equal_are_exactly_at_chance() -> None:
    half = texts(np.random.default_rng(1), 60)
    (left,) = residual(half + half, ["f"] * 60 + ["m"] * 60)
    assert left.auc.estimate == 0.5
    assert (left.auc.n, left.auc.groups) == (120, 60)
    assert (left.outcome, left.words) == ("clear", ())


def test_a_proxy_is_found_and_its_words_named() -> None:
    rng = np.random.default_rng(2)
    labels = ["f", "m"] * 100
    marked = [
        text + " netball captain" * (label == "f" and rng.random() < 0.6)
        for text, label in zip(texts(rng, 200), labels, strict=True)
    ]
    (left,) = residual(marked, labels)
    assert left.outcome == "warn"
    assert 0.7 < left.auc.estimate < 0.85  # 0.8 is what the word alone allows
    assert left.words[0].word in ("netball", "captain", "netball captain")
    assert (left.words[0].towards, left.group, left.against) == ("f", "f", "m")
    assert sum(word.share for word in left.words if "netball" in word.word or "captain" in word.word) > 0.8


def test_the_scores_are_those_of_scikit_learn_across_units() -> None:
    rng = np.random.default_rng(3)
    labels = np.array(["f", "m"] * 50)
    units = np.arange(100) // 4
    marked = [t + " rugby" * (label == "m" and i % 3 > 0) for i, (t, label) in enumerate(zip(texts(rng, 100), labels))]  # noqa: B905
    model = make_pipeline(
        CountVectorizer(token_pattern=r"\w+", ngram_range=(1, 2), min_df=2, binary=True),
        LinearSVC(penalty="l1", dual=False, C=0.1, class_weight="balanced", random_state=0),
    )
    folds = StratifiedGroupKFold(5, shuffle=True, random_state=0)
    scores = cross_val_predict(model, marked, labels == "f", groups=units, cv=folds, method="decision_function")
    (left,) = residual(marked, list(labels), units=list(units))
    assert left.auc.estimate == pytest.approx(roc_auc_score(labels == "f", scores), abs=0.02)


def test_a_unit_never_trains_for_itself() -> None:
    rng = np.random.default_rng(4)
    units = np.repeat(np.arange(12), 20)
    labels = list(np.repeat(rng.permutation(["f", "m"] * 6), 20))
    signed = [f"{text} writer{unit}" for text, unit in zip(texts(rng, 240), units, strict=True)]
    (apart,) = residual(signed, labels, units=list(units))
    (mixed,) = residual(signed, labels, units=list(range(240)))
    assert mixed.outcome == "warn"
    assert mixed.auc.estimate > 0.85
    assert apart.outcome != "warn"
    assert apart.auc.groups == 12


def test_chance_is_seldom_taken_for_a_proxy_and_the_interval_covers_it() -> None:
    rng, warned, covered, runs = np.random.default_rng(5), 0, 0, 80
    for seed in range(runs):
        (left,) = residual(texts(rng, 100), list(rng.permutation(["f", "m"] * 50)), seed=seed)
        warned += left.outcome == "warn"
        covered += left.auc.interval[0] <= 0.5 <= left.auc.interval[1]
    assert warned <= 6  # 3 % of 200 runs when it was measured
    assert covered >= 70


def test_more_groups_are_each_told_from_the_rest_at_a_joint_level() -> None:
    rng = np.random.default_rng(6)
    labels = ["x", "y", "z"] * 40
    marked = [t + " opera" * (label == "y") for t, label in zip(texts(rng, 120), labels, strict=True)]
    found = residual(marked, labels)
    assert [(left.group, left.against) for left in found] == [(name, "the rest") for name in "xyz"]
    assert found[1].auc.estimate > 0.9
    assert found[1].words[0].word == "opera"
    assert {left.auc.level for left in found} == {1 - 0.05 / 3}


def test_marks_and_scripts_without_blanks_carry_too() -> None:
    rng = np.random.default_rng(7)
    shared = ["我们在学校读书", "今天天气很好", "他们去北京开会", "这个报告写得很清楚"]
    labels = ["f", "m"] * 60
    marked = [str(rng.choice(shared)) + str(rng.choice(shared)) + ("绣花" if label == "f" else "") for label in labels]
    (left,) = residual(marked, labels, units=list(range(120)))
    assert left.auc.estimate > 0.95
    assert {"绣", "花", "绣 花"} & {word.word for word in left.words}
    (bang,) = residual(
        [t + " !" * (label == "f") for t, label in zip(texts(rng, 120), labels, strict=True)], labels
    )  # fmt: skip
    assert bang.words[0].word == "!"


def test_too_little_is_said_and_not_guessed() -> None:
    (left,) = residual(["a b", "a c", "b c"], ["f", "m", "m"])
    assert (left.auc.estimate, left.outcome) == (None, "undecided")
    assert left.auc.reason == "f has fewer than two units"
    (empty,) = residual(["", " ", "", " "], ["f", "f", "m", "m"], units=[1, 2, 3, 4])
    assert empty.auc.estimate == 0.5
    (alike,) = residual(["one text"] * 6, ["f", "m"] * 3, units=[1, 1, 2, 2, 3, 3])
    assert (alike.auc.estimate, alike.auc.reason) == (None, "all texts are equal, so that nothing in them can tell")
    with pytest.raises(UsageError, match="1 group;"):
        residual(["a", "b", "c"], ["f"] * 3)
    with pytest.raises(UsageError, match="3 texts, 2 groups"):
        residual(["a", "b", "c"], ["f", "m"])
    with pytest.raises(UsageError, match="21 groups"):
        residual(["a"] * 21, [str(i) for i in range(21)])


def test_a_large_file_is_sampled_in_whole_units() -> None:
    sample = _Sample(100)
    for i in range(3000):
        sample.add(f"unit {i % 600}", (f"text {i}", "f"))
    units, held, _ = sample.rows()
    assert 90 < len(held) <= 100
    assert {unit: units.count(unit) for unit in units} == dict.fromkeys(units, 5)


def test_a_file_gives_what_its_texts_give(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    rows = [{"a": text, "b": None, "who": "fm"[i % 2], "unit": i // 2} for i, text in enumerate(texts(rng, 80))]
    path = tmp_path / "out.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in [*rows, {**rows[0], "who": None}]))
    (left,) = residual_of_file(path, text=["a", "b"], group="who", unit="unit")
    (same,) = residual([r["a"] for r in rows], [r["who"] for r in rows], units=[r["unit"] for r in rows])
    assert left == same
    with pytest.raises(InputError, match="no such column"):
        residual_of_file(path, text=["a"], group="sex")
    path.write_text(json.dumps({"a": "x", "who": ["f"]}) + "\n")
    with pytest.raises(InputError, match="no single value"):
        residual_of_file(path, text=["a"], group="who")
