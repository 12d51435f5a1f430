"""What blinding refuses, in one sentence that says what to do and never the secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from recuse.blinding import BlindSettings, Redactor, Signal, Span, load_signals, unblind
from recuse.errors import InputError, UsageError


@pytest.mark.parametrize("name", ["", " ", "\u200b", "123", "-", "**"])
def test_a_name_without_letters_is_refused_by_its_place(name: str) -> None:
    with pytest.raises(InputError, match="name 2 of the list is empty"):
        Redactor().redact({"text": "text"}, ["Anna", name])


@pytest.mark.parametrize("name", ["He", "they", "HERS", "Xe", "h\u200ber"])
def test_a_name_that_is_a_pronoun_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="name 1 of the list is also a pronoun") as error:
        Redactor().redact({"text": "text"}, [name])
    assert str(error.value).endswith("Give the full name of that person.")


def test_a_pronoun_may_be_a_part_of_a_name() -> None:
    blinded = Redactor().redact({"text": "He Yan came. He saw Yan He, he did."}, ["He Yan"]).texts["text"]
    assert blinded == "[PERSON_1] came. [PRONOUN] saw [PERSON_1], [PRONOUN] did."


def test_a_pronoun_of_the_settings_goes_and_is_no_name() -> None:
    redactor = Redactor(BlindSettings(pronouns=("ve", "vis", "ver")))
    assert redactor.redact({"text": "Ve took vis."}).texts["text"] == "[PRONOUN] took [PRONOUN]."
    with pytest.raises(InputError, match="also a pronoun"):
        redactor.redact({"text": "text"}, ["Ve"])


def test_unknown_settings_and_empty_words_are_refused() -> None:
    with pytest.raises(UsageError, match="ordinary_words is position or redact"):
        Redactor(BlindSettings(ordinary_words="maybe"))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="pronoun of the settings is empty"):
        Redactor(BlindSettings(pronouns=("",)))
    for kind, words in (("school", ("",)), ("school", ()), ("a b", ("x",)), ("pronoun", ("x",)), ("person_1", ("x",))):
        with pytest.raises(UsageError):
            Signal(kind, words)


def test_a_map_of_another_text_is_refused() -> None:
    found = Redactor().redact({"text": "She came."})
    with pytest.raises(InputError, match="does not fit the text at character 0"):
        unblind("He came.", found.spans)
    overlapping = (Span("text", 0, 4, "noun", "a", "abcd"), Span("text", 2, 4, "noun", "b", "cd"))
    with pytest.raises(InputError, match="character 2"):
        unblind("abcd", overlapping)


def test_signals_are_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "signals.toml"
    path.write_text('[school]\nwords = ["Howard University"]\n[age]\nwords = ["# years old"]\n', encoding="utf-8")
    signals = load_signals(path)
    assert signals == (Signal("school", ("Howard University",)), Signal("age", ("# years old",)))
    blinded = Redactor(signals=signals).redact({"text": "At Howard University, 45 years old."}).texts["text"]
    assert blinded == "At [SCHOOL], [AGE]."


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "has no signals"),
        (b"school = 3", "field 'school'"),
        (b"[school]\nwords = 3", "field 'school.words'"),
        (b"[school]\nword = []", "field 'school.word': unknown key"),
        (b'[school]\nwords = ["a"]\nmore = 1', "field 'school.more'"),
        (b'[school]\nwords = [""]', "has an empty word"),
        (b'[pronoun]\nwords = ["a"]', "placeholder of its own"),
        (b"[school", "not TOML"),
        (b"\xff\xfe\x00", "not UTF-8"),
    ],
)
def test_a_file_of_signals_that_is_none_is_refused_by_its_name(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "signals.toml"
    path.write_bytes(content)
    with pytest.raises(InputError, match=said) as error:
        load_signals(path)
    assert "signals.toml" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_of_signals_that_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        load_signals(tmp_path / "none.toml")
