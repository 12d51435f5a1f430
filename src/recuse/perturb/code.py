"""The code of an answer: found in the text, compared with another, and run against the tests that come with a pair."""

from __future__ import annotations

import ast
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

SECONDS = 10  # processor time of one run; three times as long on the clock, for a busy machine
MEMORY = 1 << 30  # bytes
_OUTPUT = 1 << 24  # bytes that a program may write to one file, its output included

_FENCE = re.compile(r"^[ \t]*```[^\n`]*\n(.*?)(?:^[ \t]*```[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_CODE_LINE = re.compile(
    r"\s*(?:@\w|def \w|class \w|import \w|from \w[\w.]* import |return\b"
    r"|(?:for|while|if|elif|with|else|try)\b.*[:)]\s*$|#include"
    r"|(?:public|private|static|const|let|var|func|fn|function) \w"
    r"|[\w.\[\], ]+ :?[-+*/]?= (?:.*[(\[{'\"]|\S+;?(?: [-+*/%|&<>]+ \S+)*$)|[\w.]+\(.*\)$|.*[;{}]\s*$)"
)
_FORMULA = re.compile(r"\\[a-z]+[{\b]|\$[^{]|&=|<<\d")


def code_of(text: str) -> str | None:
    """The code of an answer: its fenced blocks, or the whole text where it is code; None where it has none."""
    spans = code_spans(text)
    return "\n".join(text[start:end] for start, end in spans) if spans else None


def code_spans(text: str) -> list[tuple[int, int]]:
    """Where the code of an answer stands: characters from and to, of each fenced block or of the whole text."""
    blocks = [match.span(1) for match in _FENCE.finditer(text) if match[1].strip()]
    if blocks:
        return blocks
    lines = [line for line in text.splitlines() if line.strip() and not line.strip().startswith(("#", "//"))]
    if len(lines) == 1 and re.match(r"[ \t]{4}\s*return\b", lines[0]) and parsed(text) is not None:
        return [(0, len(text))]  # all of a function but its head, as in HumanEval
    if len(lines) < 2 or any(_FORMULA.search(line) for line in lines):
        return []
    like = sum(bool(_CODE_LINE.match(line)) for line in lines)
    return [(0, len(text))] if like > 0 and (like >= 0.5 * len(lines) or parsed(text) is not None) else []


def code_form(code: str) -> str:
    """What two codes have in common that do the same by construction: for Python the syntax tree without docstrings
    and annotations of functions, otherwise the words line by line. Comments and blank lines never count in Python."""
    tree = parsed(code)
    if tree is None:
        return "\n".join(" ".join(line.split()) for line in code.splitlines() if line.strip())
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
        if isinstance(node, ast.arg):
            node.annotation = None
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module) and ast.get_docstring(
            node, clean=False
        ):
            node.body = node.body[1:]
    return ast.dump(tree)


def parsed(code: str) -> ast.Module | None:
    """The syntax tree of Python, lines indented alike included; None for anything else."""
    try:
        with warnings.catch_warnings(action="ignore"):  # about escapes such as "\d"
            return ast.parse(textwrap.dedent(code))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def run_tests(code: str, meta: Mapping[str, Any]) -> bool | None:
    """Whether Python `code` passes the tests in `meta`; None where there are none, or no way to limit a process.

    test         source that is run after the code; where it defines check(candidate), as HumanEval does, that is
                 called with the function named by `entry_point`
    tests        a list of statements that are run after the code, as in MBPP (there: test_list), or of {"input": ...,
                 "output": ...}: what the program reads and has to print, white space between words not counted;
                 also as JSON, from a table that holds no lists
    setup        source that is run before the code, such as imports (MBPP: test_setup_code)

    The code runs in a process of its own with limits of time, memory and output, an empty environment and folder and,
    where the system lets an ordinary user have that, no network and no view of other processes. It can still read the
    user's files: run code of models that you would run yourself. Time-outs and crashes are failures.
    """
    tests = _list(meta.get("tests") or meta.get("test_list"))
    setup = str(meta.get("setup") or meta.get("test_setup_code") or "")
    if os.name != "posix":
        return None
    if isinstance(tests, list) and tests and all(isinstance(t, Mapping) and "output" in t for t in tests):
        dialogues = tuple((str(t.get("input", "")), str(t["output"])) for t in tests)
        return _passes(f"{setup}\n{code}", "", dialogues)
    source = str(meta.get("test") or "")
    if isinstance(tests, list) and all(isinstance(t, str) for t in tests):
        source = "\n".join([source, *tests])
    if not source.strip():
        return None
    if "entry_point" in meta and re.search(r"^def check\(", source, re.MULTILINE):
        source += f"\ncheck({meta['entry_point']})\n"
    return _passes(f"{setup}\n{code}", source, ())


def _list(tests: Any) -> Any:
    if isinstance(tests, str):
        with suppress(ValueError):
            return json.loads(tests)
    return tests


@lru_cache(maxsize=4096)  # the original answer is compared with its rewrite in every arm
def _passes(code: str, source: str, dialogues: tuple[tuple[str, str], ...]) -> bool:
    if dialogues:
        return all((said := _output(code, read)) is not None and said.split() == out.split() for read, out in dialogues)
    # A code that leaves early ends well too: only the words after the last test prove that all were run.
    done = secrets.token_hex(16)
    said = _output(f"{code}\n{source}\nprint({done!r})\n", "")
    return said is not None and said.rstrip().endswith(done)


_RUNNER = """
import json, resource, sys
for name, value in json.loads(sys.argv[1]).items():
    try:
        resource.setrlimit(getattr(resource, name), (value, value))
    except (ValueError, OSError):
        pass  # some systems have a lower limit or none of this kind
sys.argv = ["program.py"]
exec(compile(open("program.py", encoding="utf-8").read(), "program.py", "exec"), {"__name__": "__main__"})
"""
_LIMITS = {"RLIMIT_CPU": SECONDS, "RLIMIT_AS": MEMORY, "RLIMIT_FSIZE": _OUTPUT, "RLIMIT_CORE": 0, "RLIMIT_NOFILE": 64}


def _output(program: str, read: str) -> str | None:
    """What the program writes; None where it fails or takes too long."""
    with tempfile.TemporaryDirectory(prefix="recuse-") as folder:
        place = Path(folder)
        for name, text in (("program.py", program), ("input", read)):
            (place / name).write_text(text, encoding="utf-8", errors="replace")
        with (place / "input").open("rb") as stdin, (place / "output").open("wb") as stdout:
            process = subprocess.Popen(
                [*_walls(), sys.executable, "-I", "-c", _RUNNER, json.dumps(_LIMITS)],
                stdin=stdin,
                stdout=stdout,
                stderr=subprocess.DEVNULL,
                cwd=folder,
                env={"HOME": folder, "PATH": os.defpath},
                start_new_session=True,
            )
            try:
                failed = process.wait(timeout=3 * SECONDS) != 0
            except subprocess.TimeoutExpired:
                failed = True
            finally:
                _end(process)
        return None if failed else (place / "output").read_text(encoding="utf-8", errors="replace")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process with all that it started, also what outlived it."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@lru_cache(maxsize=1)
def _walls() -> Sequence[str]:
    """The command that takes network and foreign processes away, or nothing where the system refuses it."""
    unshare = shutil.which("unshare")
    if unshare is None:
        return ()
    walls = (unshare, "--map-root-user", "--net", "--pid", "--fork", "--kill-child")
    tried = subprocess.run([*walls, "true"], capture_output=True, check=False)
    return walls if tried.returncode == 0 else ()
