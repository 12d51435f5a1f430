"""Code is found, compared and run against its tests, and nothing that it does lasts longer or reaches further."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from recuse.perturb import code as module
from recuse.perturb.answers import same_answer
from recuse.perturb.code import code_form, code_of, run_tests
from recuse.types import Pair

ADD = "def add(a, b):\n    return a + b\n"
WRONG = "def add(a, b):\n    return a - b\n"
TESTS = {"tests": ["assert add(1, 2) == 3", "assert add(0, 0) == 0"]}


@pytest.mark.parametrize(
    "meta",
    [
        TESTS,
        {"test_list": TESTS["tests"], "test_setup_code": "import math"},
        {"test": "def check(candidate):\n    assert candidate(1, 2) == 3\n", "entry_point": "add"},
        {"test": "assert add(1, 2) == 3"},
        {"tests": '["assert add(1, 2) == 3"]'},
    ],
)
def test_the_published_forms_of_tests_tell_right_from_wrong(meta: dict[str, object]) -> None:
    assert run_tests(ADD, meta) is True
    assert run_tests(WRONG, meta) is False


def test_programs_are_compared_by_what_they_print() -> None:
    meta = {"tests": [{"input": "1 2\n", "output": "3"}, {"input": "5 5", "output": "10\n"}]}
    assert run_tests("a, b = map(int, input().split())\nprint(a + b)", meta) is True
    assert run_tests("print(3)", meta) is False


def test_without_tests_nothing_is_run() -> None:
    assert run_tests("raise SystemExit(1)", {}) is None
    assert run_tests("raise SystemExit(1)", {"tests": [], "test": " "}) is None


@pytest.mark.parametrize("leave", ["import sys; sys.exit(0)", "import os; os._exit(0)", "raise SystemExit"])
def test_code_that_leaves_before_its_tests_has_not_passed_them(leave: str) -> None:
    assert run_tests(f"{WRONG}\n{leave}", TESTS) is False


def test_code_is_stopped_in_time_and_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SECONDS", 0.2)
    began = time.monotonic()
    assert run_tests("while True: pass", {"test": "pass  # a"}) is False
    assert run_tests("import time; time.sleep(60)", {"test": "pass  # b"}) is False
    assert time.monotonic() - began < 10
    assert run_tests("x = bytearray(3 << 30)", {"test": "pass"}) is False


def test_code_sees_no_secret_and_leaves_no_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "very-secret")
    monkeypatch.chdir(tmp_path)
    spy = "import os\nopen('left.txt', 'w').write('x')"
    assert run_tests(spy, {"test": "assert 'secret' not in repr(dict(os.environ))"}) is True
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not module._walls(), reason="this system gives an ordinary user no walls (unshare)")
def test_code_reaches_no_network_where_the_system_can_take_it_away() -> None:
    names = "import socket\nnames = [name for _, name in socket.if_nameindex()]"
    assert run_tests(names, {"test": "assert names == ['lo'], names"}) is True


def test_what_code_started_ends_with_it(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    late = f"import time; time.sleep(1.5); open({str(mark)!r}, 'w')"
    code = f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', {late!r}])"
    assert run_tests(code, {"test": "pass"}) is True
    time.sleep(2.5)
    assert not mark.exists()


def test_code_is_found_in_fences_and_without() -> None:
    assert code_of(f"Here you are:\n```python\n{ADD}```\nEnjoy.") == ADD
    assert code_of(ADD) == ADD
    assert code_of("    if x > 1 {\n        return true\n    }\n    return false") is not None
    assert code_of("Quinn = 30 years old\nJane = 27 years old\nSo Trent is 32.") is None
    assert code_of("We have \\begin{align*}\nx &= 3 \\\\\ny &= 4\\end{align*}") is None


def test_docstrings_comments_and_annotations_leave_the_form_and_a_changed_sign_does_not() -> None:
    dressed = '"""Sums."""\ndef add(a: int, b: int = 1) -> int:\n    """Add."""\n    # plus\n    return (a + b)\n'
    assert code_form(dressed) == code_form("def add(a, b=1):\n    return a + b")
    assert code_form(ADD) != code_form(WRONG)
    assert code_form("if (x) {\n  y;\n}") == code_form("if (x)   {\n\n    y;\n}")


@pytest.mark.parametrize(
    ("after", "allowed", "same", "repaired"),
    [
        ("def add(first, second):\n    return first - second\n", True, True, False),
        (ADD, True, False, True),
        (ADD, False, None, False),
        (f'def add(a, b):\n    """Add."""\n{WRONG.splitlines()[1]}', False, True, False),
        ("It subtracts one from the other, which is what was asked for.", True, None, False),
    ],
)
def test_a_bug_must_survive_a_rewrite(after: str, allowed: bool, same: bool | None, repaired: bool) -> None:
    pair = Pair("p", "Write add.", ADD, WRONG, "g", meta=TESTS)
    found = same_answer(WRONG, after, pair, run_code=allowed)
    assert (found.same, found.repaired) == (same, repaired)
