"""Words of one group's explanations: a planted word is found by template, and where nothing is planted nothing is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest, false_discovery_control

from recuse import stats
from recuse.errors import InputError, UsageError
from recuse.probes.plan import read_probe_plan
from recuse.probes.records import read_records, write_records
from recuse.probes.words import group_words, overrepresented, words_of_records

VOCABULARY = [f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(60)]
Rows = tuple[list[str], list[str], list[str]]


def world(templates: int, replies: int, *, seed: int, planted: float = 0.0, burst: bool = False) -> Rows:
    """Explanations whose words depend on the template. `planted`: how much more often "charming" stands in group a;
    `burst`: one template's replies for a all have "dazzling"."""
    rng = np.random.default_rng(seed)
    usual = rng.beta(0.7, 2.0, size=len(VOCABULARY))
    texts, template, group = [], [], []
    for i in range(templates):
        own = np.clip(usual * rng.uniform(0, 2, len(VOCABULARY)), 0, 0.95)
        for side in ("a", "b"):
            for _ in range(replies):
                words = [VOCABULARY[k] for k in np.flatnonzero(rng.random(len(VOCABULARY)) < own)]
                if rng.random() < 0.1 + planted * (side == "a"):
                    words.append("charming")
                if burst and i == 0 and side == "a":
                    words.append("dazzling")
                texts.append("The " + " ".join(words) + ".")
                template.append(f"t{i}")
                group.append(side)
    return texts, template, group


def compare(rows: Rows, **more):
    texts, template, group = rows
    return overrepresented(texts, template=template, group=group, a="a", b="b", **more)


def test_a_planted_word_is_found_with_its_size_and_its_group() -> None:
    found = compare(world(40, 6, seed=1, planted=0.3))
    assert [row.word for row in found.found] == ["charming"]
    row = found.found[0]
    assert row.more_in == "a"
    assert row.gap == pytest.approx(0.3, abs=0.08)
    assert row.gap == pytest.approx(row.rate_a - row.rate_b)
    assert found.templates == 40


def test_without_a_plant_the_chance_of_any_word_keeps_the_level() -> None:
    runs = 60
    false = sum(bool(compare(world(16, 3, seed=seed)).found) for seed in range(runs))
    assert binomtest(false, runs, 0.05, alternative="greater").pvalue > 0.01


def test_a_word_that_fills_one_template_is_one_observation() -> None:
    rows = world(20, 30, seed=3, burst=True)
    texts, _, group = rows
    having = [sum("dazzling" in text for text, side in zip(texts, group, strict=True) if side == own) for own in "ab"]
    assert having == [30, 0]
    pooled = stats.two_proportion_test(30, 600, 0, 600)
    assert pooled.pvalue is not None
    assert pooled.pvalue < 1e-6  # replies counted as independent call it certain
    row = next(row for row in compare(rows, least_templates=1).rows if row.word == "dazzling")
    assert row.p == 1.0
    assert not row.found
    assert "dazzling" not in [row.word for row in compare(rows).rows]  # under the minimum of templates


def test_rates_p_and_correction_agree_with_a_count_by_hand_and_with_scipy() -> None:
    # Eight templates, one reply a group: "calm" in a only in all eight, "brisk" in b only in seven and in both in one.
    texts, template, group = [], [], []
    for i in range(8):
        for side, words in (("a", "calm" + (" brisk" if i == 0 else "")), ("b", "brisk")):
            texts.append(f"He is {words}, is {words}.")
            template.append(str(i))
            group.append(side)
    found = compare((texts, template, group))
    rows = {row.word: row for row in found.rows}
    assert set(rows) == {"calm", "brisk", "is"}
    assert rows["calm"].p == pytest.approx(2 / 2**8)
    assert rows["brisk"].p == pytest.approx(2 / 2**7)
    assert rows["is"].p == 1.0
    assert (rows["brisk"].rate_a, rows["brisk"].rate_b, rows["brisk"].more_in) == (1 / 8, 1.0, "b")
    assert (rows["calm"].replies_a, rows["calm"].replies_b, rows["calm"].templates) == (8, 0, 8)
    ps = [row.p for row in found.rows]
    assert [row.p_adjusted for row in found.rows] == pytest.approx(list(false_discovery_control(ps)))
    assert found.left_out == ("he",)


def test_names_pronouns_and_slots_are_left_out_with_their_possessives() -> None:
    plan = read_probe_plan({
        "schema": 1, "question": "Why?",
        "groups": {
            "women": {"names": ["Ida Sorge", "Lena Weiss", "Mia Kern", "Eva Holt"], "pronouns": "she",
            "words": {"kin": "aunt"}},
            "men": {"names": ["Jan Sorge", "Emil Weiss", "Tom Kern", "Max Holt"], "pronouns": "he",
            "words": {"kin": "uncle"}},
        },
        "templates": [{"id": "t", "text": "{{name}} is an {{kin}}."}],
    })  # fmt: skip
    texts = ["Ida's plan: she, an aunt, is Mrs Sorge.", "Jan's plan: he, an uncle, is Mr Sorge."] * 8
    template = [str(i // 2) for i in range(16)]
    found = overrepresented(
        texts, template=template, group=["women", "men"] * 8, a="women", b="men", leave_out=group_words(plan)
    )
    assert {row.word for row in found.rows} == {"plan", "an", "is"}
    assert {"ida", "jan", "aunt", "uncle", "she", "mrs", "sorge"} <= set(found.left_out)


def test_missing_explanations_and_one_sided_templates_do_not_count() -> None:
    texts = ["calm man", None, "", "calm woman", "calm", "<think>calm</think>wise"]
    found = overrepresented(
        texts, template=["1", "1", "1", "1", "2", "3"], group=["a", "a", "b", "b", "a", "b"], a="a", b="b",
        least_replies=1, least_templates=1,
    )  # fmt: skip
    assert found.templates == 1
    assert found.excluded == ("2", "3")
    assert [(row.word, row.rate_a, row.rate_b, row.gap) for row in found.rows] == [("calm", 1.0, 1.0, 0.0)]
    assert found.rows[0].more_in is None


def test_records_give_the_same_with_their_names_left_out(tmp_path: Path) -> None:
    rows = [
        {"template_id": str(i), "group": side, "name": name, "seed": 0, "reply": f"{name} is {word}.", "m": 1}
        for i in range(8)
        for side, name, word in (("a", "Ann", "calm"), ("b", "Bob", "brisk"))
    ]
    records = read_records(write_records(tmp_path / "r.jsonl", rows))
    found = words_of_records(records, a="a", b="b")
    assert {row.word for row in found.found} == {"calm", "brisk"}
    assert found.left_out == ("ann", "bob")
    with pytest.raises(InputError, match="'because'"):
        words_of_records(records, a="a", b="b", column="because")


def test_bad_questions_are_refused() -> None:
    rows = world(2, 1, seed=0)
    with pytest.raises(InputError, match="no explanations for the group 'c'"):
        overrepresented(rows[0], template=rows[1], group=rows[2], a="a", b="c")
    with pytest.raises(UsageError, match="compared with itself"):
        overrepresented(rows[0], template=rows[1], group=rows[2], a="a", b="a")
    with pytest.raises(UsageError, match="under 1"):
        compare(rows, least_templates=0)
