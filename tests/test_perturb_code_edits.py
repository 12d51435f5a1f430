"""Edits of code change how an answer looks and not what it does: the bug stays, as its own tests prove."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest

from recuse.library import load_bias
from recuse.pairs import load_pairs
from recuse.perturb.arms import Arm, suited
from recuse.perturb.checks import by_tests, check
from recuse.perturb.code import code_form, code_of, code_spans, run_tests
from recuse.perturb.code_edits import CODE_EDITS
from recuse.perturb.edits import apply_edit, apply_twin
from recuse.perturb.rules import edit_all, rule_arms
from recuse.types import Pair

ALL = list(CODE_EDITS)
# Every edit finds something here: no docstrings, short names, plain loops, no hints. The bug: it counts from 2 on.
BUGGY = """def small_words(text, limit=4):
    res = []
    for w in text.split(" "):
        if len(w) <= limit:
            res.append(w.lower())
    n = 2
    for w in res:
        if not w in ("a", "an"):
            n = n + 1
    if n > limit:
        return "many"
    else:
        return str(n)


def in_order(a, b, c):
    if a < b and b < c:
        return True
    return False
"""
RIGHT = BUGGY.replace("n = 2", "n = 0")
TESTS = {
    "tests": [
        'assert small_words("It is a cat") == "3"',
        'assert small_words("One an") == "1"',
        "assert in_order(1, 2, 3) is True",
        "assert in_order(1, 3, 2) is False",
    ]
}
QUESTION = "Write small_words(text, limit) and in_order(a, b, c)."
BODY = """    res = []
    for e in numbers:
        res.append(e + 1)
    t = len(res)
    return t - 1
"""


def pair(rejected: str = BUGGY, chosen: str = RIGHT, question: str = QUESTION, id: str = "p") -> Pair:
    return Pair(id, question, chosen, rejected, "g", meta=TESTS)


def arm(name: str) -> Arm:
    return Arm(f"bias:{name}", "bias", edit=name)


@pytest.mark.parametrize("name", ALL)
def test_the_bug_survives_the_edit_and_its_twin_and_right_code_stays_right(name: str) -> None:
    assert by_tests(pair(), RIGHT) == ("repaired",)  # the tests tell
    edited = apply_edit(name, pair(), seed=0)
    assert edited != BUGGY
    assert check(pair(), arm(name), edited, run_code=True) == ((), "code")
    assert check(pair(), arm(name), apply_twin(name, pair(), edited, seed=0, draw=0), run_code=True) == ((), "code")
    other = pair(rejected=RIGHT, chosen=BUGGY)
    better = apply_edit(name, other, seed=1)
    twin = apply_twin(name, other, better, seed=1, draw=1)
    assert run_tests(f"{better}\nassert True", TESTS) is run_tests(f"{twin}\nassert True", TESTS) is True


def test_nothing_is_run_unless_it_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recuse.perturb.checks.run_tests", lambda code, meta: pytest.fail("it was run"))
    monkeypatch.setattr("recuse.perturb.answers.run_tests", lambda code, meta: pytest.fail("it was run"))
    edited = apply_edit("code_names", pair(), seed=0)
    assert check(pair(), arm("code_names"), edited) == ((), "rule")
    assert check(pair(), Arm("bias:x", "bias"), BUGGY.replace("n = 2", "n = 3"))[1] == "verifier"


def test_a_pair_whose_tests_deny_its_labels_is_told_apart_from_a_repair() -> None:
    edited = apply_edit("code_comments", pair(), seed=0)
    assert by_tests(pair(chosen=BUGGY + "\n"), edited) == ("mislabelled",)  # the chosen code fails
    assert by_tests(pair(rejected=RIGHT + "\n"), edited) == ("mislabelled",)  # the rejected one passes
    assert by_tests(replace(pair(), meta={}), edited) is None
    assert by_tests(pair(chosen="It is not hard."), edited) is None


def test_a_teachers_rewrite_of_code_is_held_to_the_tests_too() -> None:
    by_teacher = Arm("bias:x", "bias", changes_length=True)
    assert check(pair(), by_teacher, BUGGY.replace('" "', "None"), run_code=True) == ((), "code")
    assert check(pair(), by_teacher, RIGHT, run_code=True) == (("repaired",), "code")


@pytest.mark.parametrize("name", ALL)
def test_the_twin_says_nothing_in_the_same_size_and_draws_differ(name: str) -> None:
    edited = apply_edit(name, pair(), seed=2)
    twins = [apply_twin(name, pair(), edited, seed=2, draw=draw) for draw in range(4)]
    assert len({BUGGY, edited, *twins}) == 6
    assert apply_twin(name, pair(), edited, seed=2, draw=3) == twins[3]
    for twin in twins:
        if name == "code_idiom":  # idiom is shorter: its twin renames as many characters and keeps the length
            assert len(twin) == len(BUGGY)
        else:
            assert len(twin) == len(edited)


@pytest.mark.parametrize("name", ["code_docstrings", "code_comments", "code_types"])
def test_what_is_put_in_is_gone_in_the_syntax_tree(name: str) -> None:
    edited = apply_edit(name, pair(), seed=3)
    form = code_form(BUGGY)
    without_import = edited.replace("from typing import Any\n\n", "")
    assert code_form(without_import) == form
    twin = apply_twin(name, pair(), edited, seed=3, draw=0)
    assert code_form(twin) == form
    assert ast.dump(ast.parse(twin)) == ast.dump(ast.parse(BUGGY))  # comments alone


def test_each_edit_does_what_it_is_named_after() -> None:
    made = {name: apply_edit(name, pair(), seed=0) for name in ALL}
    functions = [n for n in ast.walk(ast.parse(made["code_docstrings"])) if isinstance(n, ast.FunctionDef)]
    assert all(ast.get_docstring(function) for function in functions)
    assert "limit" in (ast.get_docstring(functions[0]) or "")
    assert made["code_comments"].count("# ") == 10
    names = {n.id for n in ast.walk(ast.parse(made["code_names"])) if isinstance(n, ast.Name)}
    assert names.isdisjoint({"res", "w", "n"})
    assert {"text", "limit", "a", "b", "c"} <= names  # parameters are part of what the function is to others
    assert sum(isinstance(n, ast.Import | ast.ImportFrom) for n in ast.parse(made["code_imports"]).body) == 3
    assert 'res = [w.lower() for w in text.split(" ") if len(w) <= limit]' not in made["code_idiom"]  # w is used again
    for words in ('if w not in ("a", "an")', "n += 1", 'return "many" if n > limit else str(n)'):
        assert words in made["code_idiom"].replace(":", "")
    assert "def small_words(text: str, limit: int = 4) -> " in made["code_types"]
    assert "def in_order(a: Any, b: Any, c: Any) -> bool:" in made["code_types"]


def idiom(source: str, question: str = "Write f(x).") -> str:
    return apply_edit("code_idiom", pair(source, question=question), seed=0)


@pytest.mark.parametrize(
    ("plain", "said"),
    [
        ("r = []\n    for e in x:\n        r.append(e * 2)\n    return r", "r = [e * 2 for e in x]\n    return r"),
        ("r = []\n    for e in x:\n        if e:\n            r.append(1)\n", "r = [1 for e in x if e]\n"),
        ("t = x[0]\n    x[0] = x[1]\n    x[1] = t\n    return x", "x[0], x[1] = x[1], x[0]\n    return x"),
        ("if x in (1, 2):\n        return False\n    return True", "return not (x in (1, 2))"),
        ("if x:\n        y = 1\n    else:\n        y = 2\n    return y", "y = 1 if x else 2\n    return y"),
        ("y = range(0, x)\n    return list(map(str, y))", "y = range(x)\n    return [str(item) for item in y]"),
        ("y = list()\n    return y, dict()", "y = []\n    return y, {}"),
    ],
)  # fmt: skip
def test_idioms_stand_for_plain_forms(plain: str, said: str) -> None:
    assert idiom(f"def f(x):\n    {plain}\n") == f"def f(x):\n    {said}\n"


@pytest.mark.parametrize(
    "kept",
    [
        "r = []\n    for e in x:\n        r.append(len(r))\n    return r",  # the list is read while it grows
        "r = []\n    for e in x:\n        r.append(e)\n    return r, e",  # the variable outlives the loop
        "r = []\n    for e in x:\n        r.append(lambda: e)\n    return r",  # bound late
        "try:\n        r = []\n        for e in x:\n            r.append(1 / e)\n    finally:\n        g(r)",
        "global r\n    r = []\n    for e in x:\n        r.append(g(e))\n    return r",  # g may look at it
        "t = x[0]\n    x[0] = x[1]\n    x[1] = t\n    return t",  # the helper is used
        "i = x[0]\n    t = i\n    i = x[i]\n    x[i] = t\n    return x",  # one place depends on the other
        "y = x\n    y = y + 1\n    return y",  # may be an array that others hold
        "range = g\n    return range(0, x)",
        "list = g\n    return list()",
        "if x:  # a reason\n        return 1\n    return 2",
    ],
)  # fmt: skip
def test_what_is_not_sure_to_do_the_same_is_left(kept: str) -> None:
    source = f"def f(x):\n    {kept}\n"
    assert idiom(source) == source


@pytest.mark.parametrize(
    "kept",
    [
        "def f(x):\n    i = 1\n    return eval('i')\n",
        "def f(i):\n    i = i + 1\n    return i\n",  # callers may name it
        "def f(x):\n    i = 1\n    return f'{i=}'\n",
        "def f(x):\n    global i\n    i = x\n    return i\n",
        "def f(x, g=lambda: i):\n    i = 1\n    return g()\n" + "i = 2\n",  # the default knows another i
        "i = 1\nprint(i)\n",  # others may import it
        "def f(x):\n    import math as m\n    return m.pi\n",
        "def f(x):\n    class A:\n        i = 1\n    i = 2\n    return A\n",
    ],
)
def test_names_that_others_may_know_are_kept(kept: str) -> None:
    assert apply_edit("code_names", pair(kept), seed=0) == kept


def test_a_nested_function_shares_the_new_name_of_what_it_closes_over() -> None:
    source = "def f(x):\n    n = 0\n    def g(y):\n        return n + y\n    n = 2\n    return g(x)\n"
    edited = apply_edit("code_names", pair(source), seed=0)
    assert edited != source
    assert run_tests(edited, {"test": "assert f(1) == 3"}) is True


def test_a_body_without_its_head_takes_no_name_for_its_own_that_the_question_shows() -> None:
    told = pair(BODY, BODY + "\n", "Write f(numbers, t) that counts.")
    edited = apply_edit("code_names", told, seed=0)
    assert "t = len(" in edited  # t is a parameter
    assert "res =" not in edited
    assert edited.startswith("    ")
    assert (
        apply_edit("code_names", replace(told, prompt="Count them."), seed=0) == BODY
    )  # no signature: nothing is known
    for name in ("code_docstrings", "code_comments", "code_imports", "code_idiom"):
        other = apply_edit(name, told, seed=0)
        assert other != BODY
        assert run_tests(code_of(other) or "", {"setup": "def f(numbers, t=None):\n", "test": "assert f([1, 2]) == 1"})


def test_only_the_python_of_an_answer_is_touched() -> None:
    text = f"Here is *my* code:\n\n```python\n{BUGGY}```\n\nIt prints\n\n```\n1 2 3\n```\nand `i = i + 1` too."
    for name in ALL:
        edited = apply_edit(name, pair(text), seed=0)
        assert edited != text
        start, end = code_spans(text)[0]
        assert edited.startswith(text[:start])
        assert edited.endswith(text[end:])
    for other in (
        "Let i be one. Return it.",
        "```js\nlet i = 1;\nfunction f() { return i; }\n```",
        "x = 1 = 2\nfoo(\n",
    ):
        assert all(apply_edit(name, pair(other), seed=0) == other for name in ALL)


def test_an_import_that_would_mend_the_code_is_not_among_those_put_in() -> None:
    missing = "def f(x):\n    y = math.sqrt(x) + re.X + sys.maxsize\n    return functools.reduce(y)\n"
    for seed in range(20):
        edited = apply_edit("code_imports", pair(missing), seed=seed)
        found = [n for n in ast.parse(edited).body if isinstance(n, ast.Import | ast.ImportFrom)]
        names = {alias.name for n in found for alias in n.names}
        assert len(found) == 3
        assert names.isdisjoint({"math", "re", "sys", "functools", "reduce"})


def test_a_hint_is_never_a_name_that_the_code_gave_another_meaning_or_lacks() -> None:
    source = "str = None\n\n\ndef f(s, Any=1):\n    return s.split()\n"
    edited = apply_edit("code_types", pair(source), seed=0)
    assert "s: str" not in edited
    assert ": Any" not in edited
    assert run_tests(edited, {"test": "assert f('a b') == ['a', 'b']"}) is True


def test_biases_of_code_are_suited_to_code_alone_and_their_arms_are_empty_elsewhere() -> None:
    prose = Pair("q", "What is gold?", "A metal.", "A kind of very heavy water.", "h")
    bias = load_bias("code-names")
    assert suited(bias, [pair(), prose]) == [pair()]
    assert suited(load_bias("emoji"), [pair(), prose]) == [pair(), prose]
    made = edit_all([pair(), prose], rule_arms([bias], shams=3), seed=0)
    assert made["bias:code-names"]["q"].faults == ("unchanged",)
    for of_arm in made.values():
        assert {id for id, rewrite in of_arm.items() if rewrite.text is not None} == {"p"}
    assert len({of_arm["p"].text for of_arm in made.values()}) == 6


@pytest.mark.data
def test_on_real_code_every_edit_and_twin_is_valid_python_and_what_is_put_in_changes_no_tree(data_dir: Path) -> None:
    every = load_pairs(str(data_dir / "biasscope/rewardbench_filtered.parquet"))
    pairs = [p for p in every if p.meta.get("subset") == "hep-python"][::4]
    changed = dict.fromkeys(ALL, 0)
    for p in pairs:
        for name in ALL:
            edited = apply_edit(name, p, seed=0)
            if edited == p.rejected:
                continue
            changed[name] += 1
            for text in (edited, apply_twin(name, p, edited, seed=0, draw=0)):
                ast.parse("def f():\n" + text if text.startswith(" ") else text)
                if name in ("code_docstrings", "code_comments"):
                    assert code_form(text) == code_form(p.rejected)
    assert min(changed[name] for name in ("code_docstrings", "code_comments", "code_imports")) > 0.9 * len(pairs)
    assert changed["code_names"] > 10


def test_a_question_that_is_the_head_of_the_function_goes_before_the_answer() -> None:
    head = 'def f(numbers):\n    """Count them."""\n'
    told = Pair("p", head, "    n = len(numbers)\n    return n\n", "    n = len(numbers)\n    return n + 1\n", "g")
    tests = {"entry_point": "f", "test": "def check(candidate):\n    assert candidate([1, 2]) == 2\n"}
    told = replace(told, meta=tests)
    assert by_tests(told, apply_edit("code_comments", told, seed=0)) == ()
    assert by_tests(told, told.chosen + "    # done\n") == ("repaired",)
