"""P(yes | yes or no): spellings summed, what is not listed bounded, and never a value where nothing was decided."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recuse.errors import InputError
from recuse.probes.extract import build_extractor
from recuse.probes.extract.yes import ALONE, NEITHER, NO_LOGPROBS, folded
from recuse.types import Reply
from recuse.verdict import Spec
from recuse.verdict.logprobs import read_logprobs
from recuse.verdict.menu import menu_of

MEASURED = ("p_yes", "logit_yes", "yes_bounded")


def reply(text: str = "Yes", finish="stop", **tokens: float) -> Reply:
    """Probabilities by token; the underscore stands for a leading blank."""
    listed = tuple((token.replace("_", " "), math.log(p)) for token, p in tokens.items())
    return Reply("k", text, finish=finish, logprobs=listed or None)


def read(of: Reply, **settings):
    return build_extractor("yes", settings).read(of)


def test_spellings_of_a_label_are_summed_whatever_their_case_and_blanks():
    """0.30 + 0.20 + 0.10 of yes, 0.10 + 0.10 of no: 0.75; 0.2 is outside."""
    found = read(reply(Yes=0.30, _yes=0.20, YES_=0.10, no=0.10, _NO=0.10, Maybe=0.15, Nor=0.05))
    assert found["p_yes"].value == pytest.approx(0.75)
    assert found["p_yes"].label == "yes"
    assert found["logit_yes"].value == pytest.approx(math.log(3))
    assert found["yes_outside"].value == pytest.approx(0.2)
    assert found["yes_bounded"].value == 0.0


def test_marks_by_which_tokenizers_write_blanks_are_blanks():
    tokens = {"Ġyes": 0.2, "▁Yes": 0.2, "yesĊ": 0.1, "\u00a0no\n": 0.1, "Ċ": 0.3, "Ġnot": 0.1}
    assert read(reply(**tokens))["p_yes"].value == pytest.approx(0.5 / 0.6)
    assert len({folded(token) for token in ("Yes", " yEs", "ĠYES", "▁yes", "yes\r\n")}) == 1


@pytest.mark.parametrize("token", ["yesterday", "y", "ye", "yes.", "non", "know", "now", "nо"])
def test_a_token_that_is_not_the_label_is_outside(token):
    """The last one has a Cyrillic о."""
    found = read(reply(**{"yes": 0.4, "no": 0.1, token: 0.5}))
    assert found["p_yes"].value == pytest.approx(0.8)
    assert found["yes_outside"].value == pytest.approx(0.5)


def test_a_label_that_is_not_listed_counts_as_the_most_that_the_list_leaves_to_it():
    """The least of the other tokens has 0.01, and 1 - 0.90 - 0.08 - 0.01 = 0.01 is left: no has at most 0.01."""
    found = read(reply(Yes=0.90, Well=0.08, Maybe=0.01))
    assert found["p_yes"].value == pytest.approx(0.90 / 0.91)
    assert found["logit_yes"].value == pytest.approx(math.log(90))
    assert found["yes_bounded"].value == 1.0
    other = read(reply(No=0.90, Well=0.098))  # 0.002 is left, less than any listed token has
    assert other["logit_yes"].value == pytest.approx(-math.log(450))


def test_log_odds_are_cut_where_the_settings_say_and_counted_as_cut():
    near = reply(Yes=0.999, No=1e-6, Well=1e-7)
    free, cut = read(near, clip=20.0), read(near, clip=5.0)
    assert (free["logit_yes"].value, free["yes_bounded"].value) == (pytest.approx(math.log(0.999e6)), 0.0)
    assert (cut["logit_yes"].value, cut["yes_bounded"].value) == (5.0, 1.0)
    assert cut["p_yes"].value == free["p_yes"].value
    assert build_extractor("yes", {"clip": 5.0}).bounds["logit_yes"] == (-5.0, 5.0)


@pytest.mark.parametrize(
    ("given_", "reason"),
    [
        (reply(), NO_LOGPROBS),
        (reply(Yes=1.0), ALONE),
        (reply("I", I=0.6, The=0.3), NEITHER),
        (reply("I'm sorry, but I can't decide on people.", I=0.9, Yes=0.02, No=0.01), "refused"),
        (reply("", "refusal", Yes=0.9, No=0.1), "refused"),
        (reply("", "error", Yes=0.9, No=0.1), "error"),
        (reply("502 Bad Gateway", Yes=0.9, No=0.1), "transport_error"),
    ],
)
def test_a_reply_that_decides_nothing_has_no_probability_and_a_reason(given_, reason):
    found = read(given_)
    assert [found[metric].value for metric in MEASURED] == [None] * 3
    assert {found[metric].reason for metric in MEASURED} == {reason}


def test_the_mass_outside_is_told_even_where_neither_label_is_listed():
    assert read(reply("I", I=0.6, The=0.3))["yes_outside"].value == 1.0
    assert read(reply("Ja"))["yes_outside"].value is None


def test_a_floor_turns_what_is_left_of_a_reply_that_says_something_else_into_a_failure():
    stray = reply("Well", Well=0.95, Yes=0.004, No=0.001)
    assert read(stray)["p_yes"].value == pytest.approx(0.8)
    assert read(stray, least=0.1)["p_yes"].reason == "the labels hold less than 0.1 of the first token's probability"
    assert read(stray, least=0.005)["p_yes"].value == pytest.approx(0.8)


def test_labels_may_be_any_two_words():
    found = read(reply("Ja", Ja=0.6, _nein=0.2, Yes=0.1), yes="ja", no="nein")
    assert (found["p_yes"].value, found["p_yes"].label) == (pytest.approx(0.75), "ja")


@pytest.mark.parametrize(
    ("text", "said"),
    [("Yes.", 1.0), ("**No**", 0.0), (" no, because income is missing", 0.0), ("YES", 1.0), ("Yes\n\nReason: …", 1.0)],
)
def test_the_decision_in_the_text_is_read_where_there_are_no_probabilities(text, said):
    assert read(Reply("k", text))["yes_said"].value == said


@pytest.mark.parametrize(
    ("text", "finish", "reason"),
    [
        ("Not without further papers", "stop", "no_verdict"),
        ("Yesterday was better", "stop", "no_verdict"),
        ("I'm sorry, but I cannot help with that.", "stop", "refused"),
        ("<think>Yes or no? Perhaps", "length", "truncated"),
        ("", "error", "error"),
    ],
)
def test_a_text_without_a_decision_says_neither(text, finish, reason):
    value = read(Reply("k", text, finish))["yes_said"]
    assert (value.value, value.reason) == (None, reason)


PROBABILITY = st.floats(1e-9, 1.0)


@given(yes=PROBABILITY, no=st.none() | PROBABILITY, rest=st.lists(PROBABILITY, min_size=1, max_size=5))
def test_values_stay_in_their_bounds_and_agree_with_the_verdicts_reading(yes, no, rest):
    weights = {"Yes": yes, **({"no": no} if no else {}), **{f"t{i}": p for i, p in enumerate(rest)}}
    total = sum(weights.values())
    given_ = reply(**{token: p / total * 0.999 for token, p in weights.items()})
    extractor = build_extractor("yes", {})
    found = extractor.read(given_)
    assert found.keys() == extractor.bounds.keys()
    for metric, (low, high) in extractor.bounds.items():
        assert low <= found[metric].value <= high
    verdict = read_logprobs(given_, menu_of(Spec("label", "yes", "no")))
    if verdict.p_first is not None:
        assert found["p_yes"].value == verdict.p_first
    # Were the missing label's true probability anywhere below its bound, P(yes) would lie further from the middle.
    if no is None:
        assert found["p_yes"].value <= 1.0
        assert found["p_yes"].value >= 0.5


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"yes": "No"}, "yes and no are the same label"),
        ({"no": "  "}, "extract.yes.no"),
        ({"clip": 0}, "extract.yes.clip"),
        ({"label": "x"}, "unknown key"),
    ],
)
def test_settings_that_cannot_be_are_refused_with_the_key(settings, said):
    with pytest.raises(InputError, match=said):
        build_extractor("yes", settings)
