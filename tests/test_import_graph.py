"""Imports point one way, down the flow: a module may use what stands before it in this list, never what comes after."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import recuse

FLOW = [
    "errors", "types", "columns", "assets", "extras", "stats", "verdict", "prompts", "library", "hub", "pairs",
    "blinding", "counterfactual", "asks", "prices", "weights", "machine", "backends", "ledger", "batches", "judge",
    "judgements", "recorded", "perturb", "effects", "audits", "calibration", "gate", "report", "run", "lab", "swap",
    "controls", "probes", "conclude", "known", "plan", "examine", "reexamine", "discovery", "export", "explain",
    "harden", "release", "inspect", "pytest", "doctor", "cli",
]  # fmt: skip
SOURCE = Path(recuse.__file__).parent


def _imports(path: Path) -> set[str]:
    """The parts of recuse that a file imports, anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            module = node.module
            found |= {f"{module}.{name.name}" for name in node.names} if module == "recuse" else {module}
    return {name.split(".")[1] for name in found if name.startswith("recuse.")}


def _files() -> list[tuple[str, Path]]:
    named = []
    for path in sorted(SOURCE.rglob("*.py")):
        part = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if part != "__init__" and part != "__main__":
            named.append((part, path))
    return named


def test_every_module_has_its_place_in_the_flow() -> None:
    assert {part for part, _ in _files()} <= set(FLOW)


def test_no_module_imports_what_comes_after_it() -> None:
    wrong = [
        f"{path.relative_to(SOURCE)} imports {other}"
        for part, path in _files()
        for other in _imports(path) & set(FLOW)
        if FLOW.index(other) > FLOW.index(part)
    ]
    assert wrong == []


def test_no_file_is_longer_than_one_sitting() -> None:
    lengths = {
        str(path.relative_to(SOURCE)): len(path.read_text(encoding="utf-8").splitlines()) for _, path in _files()
    }
    assert {name: n for name, n in lengths.items() if n > 450} == {}
    assert sorted(lengths.values())[len(lengths) // 2] < 160


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; from recuse.cli import run; run(['audit', '--help']);"
        "heavy = {'torch','vllm','transformers','scipy','openai','anthropic','numpy','pyarrow','datasets'};"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    assert "--judge" in done.stdout
