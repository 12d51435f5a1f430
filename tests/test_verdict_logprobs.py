"""Verdicts by the probabilities of the first token, computed by hand."""

from __future__ import annotations

import math
from math import exp, isfinite, log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recuse.types import Reply
from recuse.verdict import Spec, read

AB = Spec("label")


def alternatives(**chances: float) -> tuple[tuple[str, float], ...]:
    return tuple((token.replace("_", " ").replace("G", "Ġ"), log(chance)) for token, chance in chances.items())


def test_all_spellings_are_summed_and_what_is_left_is_outside() -> None:
    tokens = (
        ("A", log(0.3)),
        (" A", log(0.1)),
        ("ĠB", log(0.15)),
        ("▁b", log(0.05)),
        ("The", log(0.2)),
        ("A\n", log(0.1)),
    )
    got = read(Reply("k", "A", logprobs=tokens), AB)
    assert got.p_first == pytest.approx(0.4 / 0.6)
    assert got.outside == pytest.approx(0.4)
    assert got.outcome == "A"


def test_the_more_probable_label_decides_not_the_sampled_one() -> None:
    got = read(Reply("k", "B", logprobs=alternatives(A=0.6, B=0.4)), AB)
    assert (got.outcome, got.p_first) == ("A", pytest.approx(0.6))


def test_labels_that_differ_by_case_only_stay_apart() -> None:
    got = read(Reply("k", "m", logprobs=alternatives(m=0.2, M=0.7, _m=0.1)), Spec("label", "m", "M"))
    assert (got.outcome, got.p_first) == ("B", pytest.approx(0.3))


def test_a_tie_label_counts_as_label_mass_and_may_win() -> None:
    tie = read(Reply("k", "C", logprobs=alternatives(A=0.2, B=0.3, C=0.45)), Spec("label", tie="C"))
    assert (tie.outcome, tie.p_first, tie.outside) == ("tie", pytest.approx(0.4), pytest.approx(0.05))
    assert read(Reply("k", "C", logprobs=alternatives(A=0.2, B=0.3, C=0.45)), AB).outside == pytest.approx(0.5)


def test_exactly_even_labels_are_a_tie() -> None:
    got = read(Reply("k", "A", logprobs=(("A", -0.7), ("B", -0.7))), AB)
    assert (got.outcome, got.p_first) == ("tie", 0.5)


def test_an_absent_label_is_bounded_by_the_smallest_listed_and_says_so() -> None:
    got = read(Reply("k", "A", logprobs=alternatives(A=0.9, The=0.08, Both=0.01)), AB)
    assert got.p_first == pytest.approx(0.9 / 0.91)
    assert got.bounded
    assert got.outside == pytest.approx(0.1)


def test_the_mass_that_is_left_over_bounds_an_absent_label_too() -> None:
    got = read(Reply("k", "A", logprobs=(("A", math.log(0.6)), (" A", math.log(0.3)), ("The", math.log(0.08)))), AB)
    assert got.p_first == pytest.approx(0.9 / 0.92)  # B has at most 1 - 0.98


def test_a_list_of_the_sampled_token_alone_leaves_the_text_to_decide() -> None:
    got = read(Reply("k", "B", logprobs=(("B", -0.01),)), AB)
    assert (got.outcome, got.p_first) == ("B", None)


def test_masked_tokens_count_as_not_listed() -> None:
    got = read(Reply("k", "A", logprobs=(("A", -0.1), ("The", -3.0), ("B", -9999.0))), AB)
    assert got.bounded
    assert got.outcome == "A"
    left = 1 - math.exp(-0.1) - math.exp(-3.0)
    assert got.p_first == pytest.approx(math.exp(-0.1) / (math.exp(-0.1) + left))


def test_with_little_mass_on_the_labels_the_text_decides() -> None:
    got = read(Reply("k", "The better one is B.", logprobs=alternatives(The=0.95, A=0.04)), AB)
    assert (got.outcome, got.p_first, got.outside) == ("B", None, pytest.approx(0.96))
    silent = read(Reply("k", "The two are long.", logprobs=alternatives(The=0.95, A=0.04)), AB)
    assert (silent.outcome, silent.reason) == (None, "no_verdict")


def test_formats_whose_reply_is_not_the_label_are_read_as_text() -> None:
    got = read(Reply("k", "A is long.\nVerdict: B", logprobs=alternatives(A=0.9, B=0.1)), Spec("verdict_line"))
    assert (got.outcome, got.p_first) == ("B", None)


def test_numbers_have_probabilities_too() -> None:
    got = read(Reply("k", "2", logprobs=(("1", log(0.2)), ("2", log(0.6)))), Spec("number"))
    assert (got.outcome, got.p_first) == ("B", pytest.approx(0.25))
    longer = read(Reply("k", "12 facts are wrong", logprobs=(("1", log(0.9)), ("2", log(0.1)))), Spec("number"))
    assert (longer.outcome, longer.reason) == (None, "no_verdict")


def test_a_refusal_or_an_error_has_no_probabilities() -> None:
    for finish in ("refusal", "error"):
        got = read(Reply("k", "A", finish=finish, logprobs=alternatives(A=0.9, B=0.1)), AB)
        assert (got.outcome, got.p_first) == (None, None)


def test_a_cut_after_one_token_is_still_a_verdict() -> None:
    got = read(Reply("k", "A", finish="length", logprobs=alternatives(A=0.9, B=0.1)), AB)
    assert (got.outcome, got.p_first) == ("A", pytest.approx(0.9))


@given(
    st.lists(
        st.tuples(st.sampled_from(["A", " A", "B", "ĠB", "C", "The", "\n"]), st.floats(-9999.0, 0.0)),
        min_size=1,
        max_size=20,
    )
)
@settings(max_examples=200, deadline=None)
def test_the_logit_is_finite_and_probabilities_stay_in_range(tokens: list[tuple[str, float]]) -> None:
    got = read(Reply("k", "A", logprobs=tuple(tokens)), Spec("label", tie="C"))
    assert got.outside is None or 0.0 <= got.outside <= 1.0
    if got.p_first is not None:
        assert isfinite(log(got.p_first / (1 - got.p_first)))
        mass = sum(exp(chance) for token, chance in tokens if token.strip(" Ġ") in ("A", "B", "C"))
        assert mass >= 0.1 - 1e-9


def test_what_follows_a_label_on_its_own_line_does_not_undo_it() -> None:
    likely = alternatives(A=0.5, B=0.2, The=0.1)
    for text in ("A\nB", "A\n\nThe second is worse than the", "A.\nB."):
        got = read(Reply("k", text, "length", logprobs=likely), AB)
        assert (got.outcome, got.p_first) == ("A", pytest.approx(0.5 / 0.7)), text
    for text in ("A careful comparison shows that B", "As an AI"):
        assert read(Reply("k", text, "length", logprobs=likely), AB).outcome != "A", text
