"""Any text is read without an exception, within the bounds, and in time that grows with its length alone."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recuse.errors import InputError
from recuse.probes.extract import EXTRACTORS, build_extractor
from recuse.types import Reply

SETTINGS = {
    "decision": {"labels": ["hire", "no hire"], "positive": "hire"},
    "refusal": {},
    "description": {},
    "service": {"facts": ["EUR 500", "objection"], "against_base": True},
}
MADE = {name: build_extractor(name, given) for name, given in SETTINGS.items()}
PIECES = [
    "hire", "no hire", "not ", "Decision: ", "skilled, ", "and ", "or ", '"', "**", "```\n", "[", "](",
    "{", '{"decision": ',
    "\n", ". ", "? ", ": ", "- ", "1. ", "20,000 ", "€", "2 March ", "%", "<think>", "</think>", "I'm sorry ", "’",
    "ß", "\u0000",
    "\ud800", "é", "漢字", "Ａ", "0" * 9, "n't ", "_", "<b>", "&amp;", "\\", "may ", "-",
]  # fmt: skip
texts = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(PIECES), max_size=30).map("".join))


@settings(max_examples=150, deadline=None)
@given(texts, texts, st.sampled_from(["stop", "length", "refusal", "error"]))
def test_any_text_gives_every_metric_a_value_within_its_bounds_or_a_reason(text: str, base: str, finish) -> None:
    for name, extractor in MADE.items():
        found = extractor.read(Reply("key", text, finish), base=Reply("base", base))
        assert found.keys() == extractor.bounds.keys(), name
        for metric, value in found.items():
            low, high = extractor.bounds[metric]
            assert (value.value is None) == (value.reason is not None)
            assert value.value is None or low <= value.value <= high + 1e-9


@pytest.mark.parametrize("piece", [
    "not ", "not hire ", "if I hire ", "hire or no hire ",
    "decision: ", '"hire" "', "not skilled, ", '{"decision": ', "[[[[",
    "\n ", " - -", "1,", "1 may ", "<a ", "[a](", "aeiou", "a'", "```\n", "? ", "Decision\n", "- hire\n", "I would ",
])  # fmt: skip
def test_hostile_repetition_costs_time_by_length_alone(piece: str) -> None:
    def seconds(length: int) -> float:
        text = (piece * (length // len(piece) + 1))[:length]
        started = time.process_time()
        for extractor in MADE.values():
            extractor.read(Reply("key", text), base=Reply("base", text))
        return time.process_time() - started

    # What grows with the square of the length takes 64 times as long, what grows with it 8 times.
    short, long = (min(seconds(length) for _ in range(4)) for length in (1_500, 12_000))
    assert long < 24 * max(short, 0.01)


def test_an_unknown_extractor_is_refused_with_the_known_ones() -> None:
    with pytest.raises(
        InputError, match=r"plan\.toml, field 'extract\.guess': there is no extractor 'guess'\. Use one of: "
    ) as caught:
        build_extractor("guess", {}, path="plan.toml")
    assert all(name in str(caught.value) for name in EXTRACTORS)


@pytest.mark.parametrize("name", SETTINGS)
def test_an_unknown_key_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(InputError, match=rf"extract\.{name}\.height': unknown key\. It takes: \w+"):
        build_extractor(name, {**SETTINGS[name], "height": 1})
