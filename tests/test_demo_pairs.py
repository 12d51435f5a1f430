"""The demo pairs are balanced, and their right answers are right where a machine can tell."""

from __future__ import annotations

import json
import re
import sqlite3
import statistics
from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import pytest

from recuse import assets

PAIRS = [json.loads(line) for line in assets.data("demo_pairs.jsonl").read_text(encoding="utf-8").splitlines()]
DOMAINS = ["arithmetic", "code", "facts", "instructions", "translation"]


def of(domain: str) -> dict[str, tuple[str, str]]:
    """(chosen, rejected) by prompt."""
    return {p["prompt"]: (p["chosen"], p["rejected"]) for p in PAIRS if p["domain"] == domain}


def test_sixty_short_distinct_pairs_twelve_a_domain():
    assert len(PAIRS) == 60
    assert Counter(p["domain"] for p in PAIRS) == dict.fromkeys(DOMAINS, 12)
    assert len({re.sub(r"\W+", " ", p["prompt"]).casefold() for p in PAIRS}) == 60
    for p in PAIRS:
        assert set(p) == {"prompt", "chosen", "rejected", "domain"}
        assert all(p[key] == p[key].strip() != "" for key in p)
        assert p["chosen"] != p["rejected"]
        assert len(p["prompt"]) + len(p["chosen"]) + len(p["rejected"]) <= 300


def test_length_says_nothing_about_right_and_wrong():
    for domain in DOMAINS:
        differences = [len(chosen) - len(rejected) for chosen, rejected in of(domain).values()]
        assert sum(d > 0 for d in differences) == sum(d < 0 for d in differences) == 6, domain
        assert abs(statistics.mean(differences)) <= 3, domain
    chosen = statistics.mean(len(p["chosen"]) for p in PAIRS)
    assert chosen == pytest.approx(statistics.mean(len(p["rejected"]) for p in PAIRS), rel=0.02)


# Each form of question with the way to its answer, apart from the pairs themselves.
ARITHMETIC: list[tuple[str, Callable[..., Fraction]]] = [
    (r"What is (\d+) \+ (\d+)\?", lambda a, b: a + b),
    (r"What is (\d+) - (\d+)\?", lambda a, b: a - b),
    (r"What is (\d+) × (\d+)\?", lambda a, b: a * b),
    (r"What is (\d+) ÷ (\d+)\?", lambda a, b: a / b),
    (r"What is (\d+) × \((\d+) \+ (\d+)\)\?", lambda a, b, c: a * (b + c)),
    (r"What is (\d+)% of (\d+)\?", lambda a, b: a * b / 100),
    (r"What is the square of (\d+)\?", lambda a: a * a),
    (r"What is (\d+) to the power of (\d+)\?", lambda a, b: a ** int(b)),
    (r"What is the remainder when (\d+) is divided by (\d+)\?", lambda a, b: a % b),
    (
        r"What is the sum of the whole numbers from (\d+) to (\d+)\?",
        lambda a, b: Fraction(sum(range(int(a), int(b) + 1))),
    ),
    (r"How many minutes are there in (\d+) hours and (\d+) minutes\?", lambda a, b: 60 * a + b),
    (r"What is (\d+/\d+) \+ (\d+/\d+), written as a fraction\?", lambda a, b: a + b),
]


def test_arithmetic_is_right_in_the_right_answer_only():
    for prompt, answers in of("arithmetic").items():
        ((found, solve),) = [(m, f) for form, f in ARITHMETIC if (m := re.fullmatch(form, prompt))]
        truth = solve(*map(Fraction, found.groups()))
        given = [Fraction(re.findall(r"\d+(?:/\d+)?", answer)[-1]) for answer in answers]
        assert given[0] == truth, prompt
        assert given[1] != truth, prompt


def words(text: str) -> list[str]:
    return re.findall(r"[A-Za-z]+", text)


def is_json(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None


INSTRUCTIONS: dict[str, Callable[[str], bool]] = {
    "exactly five words": lambda a: len(words(a)) == 5 and a.endswith(".") and "rain" in a.casefold(),
    "start with the letter C": lambda a: (
        len(animals := [w for w in words(a) if w != "and"]) == 3 and all(w[0] in "cC" for w in animals)
    ),
    "capital letters only": lambda a: a == a.upper() and "WHITE" in a,
    "apple backwards": lambda a: "apple"[::-1] in words(a),
    "Count down from 5": lambda a: [n.strip() for n in a.split(",")] == [str(n) for n in range(5, 0, -1)],
    "without the letter a": lambda a: "a" not in a.casefold() and a.count(".") == 1,
    "ends with the word home": lambda a: words(a)[-1] == "home",
    "alphabetical order": lambda a: words(a)[-4:] == sorted(["pear", "fig", "apple", "lemon"]),
    "question about cats": lambda a: a.endswith("?") and "cat" in a.casefold(),
    "exactly four times": lambda a: a.split() == ["yes"] * 4,
    "JSON object": lambda a: is_json(a) == {"city": "Rome"},
    "single word": lambda a: [w.casefold() for w in words(a)] == ["cold"],
}


def test_instructions_are_followed_by_the_right_answer_only():
    checked = set()
    for prompt, (chosen, rejected) in of("instructions").items():
        ((name, follows),) = [(n, f) for n, f in INSTRUCTIONS.items() if n in prompt]
        assert follows(chosen), prompt
        assert not follows(rejected), prompt
        checked.add(name)
    assert checked == set(INSTRUCTIONS)


# Name of the function, then calls and what they must give.
CODE: dict[str, list[tuple[tuple[object, ...], object]]] = {
    "is_even": [((4,), True), ((7,), False)],
    "last": [(([1, 2, 3],), 3)],
    "reverse": [(("abc",), "cba")],
    "vowels": [(("banana",), 3), (("try",), 0)],
    "factorial": [((0,), 1), ((5,), 120)],
    "mean": [(([1, 2, 6],), 3)],
    "largest": [(([2, 9, 4],), 9)],
    "gap": [((2, 5), 3), ((5, 2), 3)],
    "squares": [((3,), [1, 4, 9])],
    "fahrenheit": [((100,), 212), ((0,), 32)],
}


def passes(source: str, name: str) -> bool:
    scope: dict[str, Callable[..., object]] = {}
    exec(source, scope)
    try:
        return all(scope[name](*arguments) == expected for arguments, expected in CODE[name])
    except (IndexError, RecursionError):
        return False


def query(sql: str) -> list[tuple[object, ...]]:
    with sqlite3.connect(":memory:") as db:
        db.executescript(
            "CREATE TABLE users(name, age); INSERT INTO users VALUES ('Ann', 31), ('Bo', 30), ('Cy', 20), ('Di', 60);"
            "CREATE TABLE orders(id); INSERT INTO orders VALUES (7), (8);"
        )
        found = db.execute(sql).fetchall()
    db.close()
    return found


def test_code_works_in_the_right_answer_only():
    checked = set()
    for prompt, (chosen, rejected) in of("code").items():
        if "SQL" in prompt:
            expected = [("Ann",), ("Di",)] if "users" in prompt else [(2,)]
            assert query(chosen) == expected, prompt
            assert query(rejected) != expected, prompt
            continue
        name = re.search(r"function (\w+)\(", prompt)[1]
        assert passes(chosen, name), prompt
        assert not passes(rejected, name), prompt
        checked.add(name)
    assert checked == set(CODE)
