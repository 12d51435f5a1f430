"""Prices: the shipped table, the user's own before it, and None where nobody knows."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from recuse.errors import InputError
from recuse.prices import Price, date_of, price_of


def test_a_known_model_has_the_published_price() -> None:
    assert price_of("openai/gpt-4o-mini") == Price(0.15, 0.60)
    assert price_of("anthropic/claude-haiku-4-5") == Price(1.0, 5.0)


def test_a_dated_version_costs_what_its_model_costs() -> None:
    assert price_of("openai/gpt-4o-mini-2024-07-18") == price_of("openai/gpt-4o-mini")
    assert price_of("anthropic/claude-sonnet-4-5-20250929") == price_of("anthropic/claude-sonnet-4-5")


def test_a_longer_name_is_another_model() -> None:
    assert price_of("openai/gpt-4o-audio-preview") is None
    assert price_of("openai/gpt-5.4-pro") is None


def test_an_unknown_model_has_no_price() -> None:
    assert price_of("openai/meta/llama") is None


def test_the_shipped_table_says_from_when_it_is() -> None:
    assert date(2026, 1, 1) <= date.fromisoformat(date_of())


def test_the_users_table_goes_before_the_shipped_one(tmp_path: Path) -> None:
    own = tmp_path / "prices.toml"
    own.write_text(
        '[models]\n"openai/gpt-4o-mini" = { input = 9, output = 8 }\n"openai/mine" = { input = 0, output = 0 }\n'
    )
    assert price_of("openai/gpt-4o-mini", own) == Price(9, 8)
    assert price_of("openai/mine", own) == Price(0, 0)
    assert price_of("openai/gpt-4o", own) == Price(2.5, 10.0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[models", "is not TOML"),
        ('[models]\n"a/b" = { input = 1 }', "models.a/b.output"),
        ('[models]\n"a/b" = { input = -1, output = 1 }', "greater than or equal to 0"),
        ('[models]\n"a/b" = { input = 1, output = 1, cache = 2 }', "models.a/b.cache"),
        ("[prices]", "models"),
    ],
)
def test_a_broken_table_is_named_with_its_field(tmp_path: Path, text: str, said: str) -> None:
    own = tmp_path / "prices.toml"
    own.write_text(text)
    with pytest.raises(InputError, match=said) as caught:
        price_of("a/b", own)
    assert str(own) in str(caught.value)


def test_a_missing_table_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        price_of("a/b", tmp_path / "none.toml")
