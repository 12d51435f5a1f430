"""Shams and placebo: enough of them, alike in form to what they stand beside, and measured after the fact."""

from __future__ import annotations

import re
from statistics import fmean

import pytest

from recuse.errors import UsageError
from recuse.library import Bias, load_library
from recuse.perturb.arms import Rewrite
from recuse.perturb.shams import bias_arms, distance, matched, placebo_arms, sham_arms, shams, teacher_arms
from recuse.types import Pair


def bias(**changes: object) -> Bias:
    values = {
        "id": "firm-tone", "name": "Firm tone", "definition": "d", "manifestations": ["m"], "inject": "Sound firm.",
        "family": "social", "source": ["s"], "status": "seed",
    }  # fmt: skip
    return Bias.model_validate(values | changes)


def test_ten_shams_and_ten_further_ones_are_disjoint_and_differ_in_wording() -> None:
    ten, further = sham_arms(10, seed=4), sham_arms(10, seed=4, skip=10)
    assert len({arm.id for arm in ten + further}) == 20
    assert len({arm.instruction for arm in ten + further}) == 20
    assert len({sham.property for sham in shams()}) == len(shams())


def test_the_draw_depends_on_the_seed_alone_and_an_id_names_one_instruction_for_ever() -> None:
    assert sham_arms(10, seed=4) == sham_arms(10, seed=4)
    assert [arm.id for arm in sham_arms(10, seed=4)] != [arm.id for arm in sham_arms(10, seed=5)]
    known = {f"sham:{i}": sham.instruction for i, sham in enumerate(shams(), start=1)}
    assert all(known[arm.id] == arm.instruction for seed in range(5) for arm in sham_arms(10, seed=seed))


def test_more_shams_than_there_are_is_said_in_one_sentence() -> None:
    with pytest.raises(UsageError, match=rf"There are {len(shams())} sham instructions, not {len(shams()) + 1}"):
        sham_arms(len(shams()) + 1, seed=0)


def test_shams_are_as_long_as_the_instructions_of_the_library() -> None:
    told = [len(bias.inject) for bias in load_library().values() if bias.inject and not bias.changes_length]
    if not told:
        pytest.skip("no bias of the library is put in by rewriting")
    lengths = [len(sham.instruction) for sham in shams()]
    assert 0.5 < fmean(lengths) / fmean(told) < 2.0
    assert max(lengths) < 2 * min(lengths)


def test_no_sham_or_placebo_asks_for_what_a_bias_is_about() -> None:
    about = re.compile(
        r"certain|confiden|hedg|doubt|author|expert|citation|source|formal|tone|friendl|prais|emoji|bold|heading|list|"
        r"bullet|markdown|longer text|detail|concrete|complex|technical|simple|novel|popular|majority",
        re.IGNORECASE,
    )
    assert [s.property for s in shams() if about.search(s.instruction)] == []
    # The placebo speaks of these only to keep them.
    for arm in placebo_arms():
        assert arm.instruction is not None
        *asked, kept = re.split(r"(?<=\.) ", arm.instruction)
        assert not about.search(" ".join(asked).replace("neutrally", ""))
        assert re.match(r"Keep |The voice.* stay\.", kept)


def test_the_two_placebo_draws_have_different_wordings() -> None:
    first, second = placebo_arms()
    assert (first.id, second.id, first.kind, second.kind) == ("placebo", "placebo2", "placebo", "placebo")
    assert first.instruction != second.instruction


def test_a_bias_of_length_brings_a_placebo_of_its_own_length() -> None:
    (plain,) = bias_arms(bias())
    assert (plain.id, plain.kind, plain.bias, plain.changes_length) == ("bias:firm-tone", "bias", "firm-tone", False)
    long, placebo = bias_arms(bias(changes_length=True))
    assert long.changes_length
    assert (placebo.id, placebo.kind, placebo.match, placebo.bias) == (
        "placebo:firm-tone", "placebo", "bias:firm-tone", "firm-tone",
    )  # fmt: skip


def test_a_lone_word_does_not_name_the_bias_and_a_phrase_does() -> None:
    assert bias_arms(bias())[0].names == ("firm tone",)
    assert bias_arms(bias(id="authority", name="Authority"))[0].names == ("authority bias",)


def test_a_bias_that_is_not_put_in_by_rewriting_is_refused() -> None:
    with pytest.raises(UsageError, match=r"'position' is not put in by rewriting"):
        bias_arms(bias(id="position", inject=None))


def test_the_teacher_writes_two_placebos_the_shams_and_each_bias() -> None:
    arms = teacher_arms([bias(), bias(id="long", changes_length=True)], shams=5, seed=1)
    assert [arm.id for arm in arms[:2]] == ["placebo", "placebo2"]
    assert [arm.kind for arm in arms[2:7]] == ["sham"] * 5
    assert [arm.id for arm in arms[7:]] == ["bias:firm-tone", "bias:long", "placebo:long"]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("one two three four", "one two three four", 0.0),
        ("one two three four", "five six seven eight", 1.0),
        ("one two three four", "one two 3 four", 1 - 2 * 3 / 8),  # three of four words have a counterpart
        ("one two three four", "one two three four five six", 1 - 2 * 4 / 10),
        ("a b c d", "c d a b", 1 - 2 * 2 / 8),  # order counts: only one half stays in place
    ],
)
def test_distance_is_the_share_of_words_without_a_counterpart(before: str, after: str, expected: float) -> None:
    assert distance(before, after) == pytest.approx(expected)


def test_matched_reports_length_and_distance_of_usable_rewrites_by_arm() -> None:
    pairs = [Pair(f"p{i}", "q", "right", "one two three four", f"g{i}") for i in range(3)]
    texts = ["one two 3 four", "one two three four five", None]
    of_arm = {f"p{i}": Rewrite(f"p{i}", "sham:1", text) for i, text in enumerate(texts)}
    found = matched(pairs, {"sham:1": of_arm, "placebo": {}})
    assert found["sham:1"].n == 2
    assert found["sham:1"].length == pytest.approx((14 / 18 + 23 / 18) / 2)
    assert found["sham:1"].distance == pytest.approx((2 / 8 + 1 / 9) / 2)
    assert (found["placebo"].n, found["placebo"].length, found["placebo"].distance) == (0, None, None)
