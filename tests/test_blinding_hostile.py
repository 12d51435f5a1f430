"""No text makes blinding or its check slow: time grows with the length and not with its square."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from recuse.blinding import Redactor, Signal, find_leaks, unblind

NAMES = [
    "Anna Lee",
    "Will May",
    "José García-López",
    "王芳",
    "J. R. Novak",
    "أحمد علي",
    "Carlos de la Sota",
    "Sean O'Brien",
]
SIGNALS = (Signal("school", ("Howard University", "#-year-old")),)
REDACTOR = Redactor(signals=SIGNALS)
SHORT, LONG = 4_000, 32_000  # a quadratic step would take 64 times as long on the longer, a linear one 8 times
HOSTILE = [
    "a", " ", "\n", "*", "a*", "_", "'", "-", ".", "\u200b", "e\u0301", "\u0301", "Ａ", "ß", "Anna ", "anna", "Anna\n",
    "J. R. ", "A.", "Lee, ", "de la ", "Annas' ", "'s ", "they ", "are they ", "Mr ", "mr\n", "Dr. ", "woman", "Will ",
    "will ", "May 2 ", "May and ", "王芳", "ولأ",
    "Howard ", "1-year-", "[PERSON_", "[PERSON_1] Jr", "**Anna**Lee", "O'",
    "a*\u200b", "JRN ", "&", "&a", "&#39;", "&eacute;", "a-\n", "-\n", "M. ", "Sig.", "Anna Q. ",
]  # fmt: skip


def seconds(work: Callable[[], object]) -> float:
    """The least processor time of two tries, which other work on the machine cannot lengthen much."""
    taken = []
    for _ in range(2):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


@pytest.mark.parametrize("unit", HOSTILE)
def test_time_grows_with_the_length_only(unit: str) -> None:
    texts = {size: (unit * (size // len(unit) + 1))[:size] for size in (SHORT, LONG)}
    blinded = {size: REDACTOR.redact({"text": text}, NAMES).texts["text"] for size, text in texts.items()}
    for work in (
        lambda size: REDACTOR.redact({"text": texts[size]}, NAMES),
        lambda size: find_leaks(blinded[size], NAMES, signals=SIGNALS),
    ):
        short = seconds(lambda: work(SHORT))  # noqa: B023
        long = seconds(lambda: work(LONG))  # noqa: B023
        assert long < 24 * short + 0.05


@pytest.mark.slow
def test_a_line_of_ten_megabytes_takes_seconds() -> None:
    sentence = "The committee met on Tuesday, the report of Anna Lee was read and she will answer in due time; "
    line = sentence * (10_000_000 // len(sentence))
    start = time.process_time()
    found = REDACTOR.redact({"text": line}, NAMES)
    assert find_leaks(found.texts["text"], NAMES, signals=SIGNALS) == ()
    assert time.process_time() - start < 40  # 8 on an idle core
    assert unblind(found.texts["text"], found.spans) == line


def test_a_list_of_thousands_of_names_costs_no_more_for_each_word() -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    names = [
        f"{letters[i % 26]}{letters[i // 26 % 26]}{letters[i // 676]}ov {letters[i % 23]}ivanen" for i in range(5000)
    ]
    text = "The report of the committee was read in March and the answer is due in June. " * 200
    few = seconds(lambda: REDACTOR.redact({"text": text}, NAMES))
    many = seconds(lambda: REDACTOR.redact({"text": text}, names))
    assert many < 6 * few + 0.1
    few = seconds(lambda: find_leaks(text, NAMES))
    many = seconds(lambda: find_leaks(text, names))
    assert many < 6 * few + 0.1
