"""Megabytes a second of blinding, as ratios within one run. Usage: python blinding.py [MEGABYTES]

The texts are made here: biographies of two or three sentences, each with one person's name, pronouns and titles. The
ratio is to a plain copy of the file through the JSON module, since seconds alone say as much about the machine.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from recuse.blinding import Redactor, find_leaks
from recuse.blinding.files import blind_file

GIVEN = ("Anna", "Boris", "Chinwe", "Dalia", "Emeka", "Fatima", "Goran", "Hye-jin", "Ines", "Joaquín")
FAMILY = ("Okafor", "O'Brien", "Petrova", "Smith", "van der Berg", "Kim", "Haddad", "Müller", "Silva", "Lindqvist")
LINES = (
    "{name} was born near the river and studied the history of paper, stone and copper in a quiet town.",
    "After some years {he} moved to the coast, where {his} workshop made lamps for gardens and signals for ships.",
    "{Title} {family} wrote two books about winter; the second, which {he} finished alone, was read widely.",
    "In the spring of that year a letter by {family} was found, and the museum shows it beside the velvet coat.",
)
FORMS = (
    {"he": "he", "his": "his", "Title": "Mr."}, {"he": "she", "his": "her", "Title": "Ms."},
)  # fmt: skip


def main(megabytes: float) -> None:
    rows = _rows(int(megabytes * 1e6))
    size = sum(len(row["text"].encode()) for row in rows) / 1e6
    redactor = Redactor()
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder) / "in.jsonl", Path(folder) / "out.jsonl"
        source.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
        blinded = [redactor.redact({"t": row["text"]}, row["names"]).texts["t"] for row in rows]
        steps: dict[str, Callable[[], object]] = {
            "copy through the JSON module": lambda: out.write_text(
                "".join(json.dumps(json.loads(line)) + "\n" for line in source.read_text(encoding="utf-8").splitlines())
            ),
            "redact": lambda: [redactor.redact({"t": row["text"]}, row["names"]) for row in rows],
            "second check": lambda: [find_leaks(t, row["names"]) for t, row in zip(blinded, rows, strict=True)],
            "whole file: redact, map, check": lambda: blind_file(source, out, text=["text"], names_column="names"),
            "whole file, 100 names for all rows": lambda: blind_file(source, out, text=["text"], names=_everybody()),
        }
        seconds = {name: _cpu(step) for name, step in steps.items()}
    base = seconds["copy through the JSON module"]
    print(f"{len(rows):,} texts, {size:.1f} MB\n\n| step | MB a second of CPU | times the copy |\n| --- | --- | --- |")
    for name, spent in seconds.items():
        print(f"| {name} | {size / spent:.2f} | {spent / base:.0f} |")


def _cpu(step: Callable[[], object]) -> float:
    """The quickest of three, in seconds of CPU: other work on the machine only ever adds."""
    spent = []
    for _ in range(3):
        start = time.process_time()
        step()
        spent.append(time.process_time() - start)
    return min(spent)


def _everybody() -> list[str]:
    return [f"{given} {family}" for given in GIVEN for family in FAMILY]


def _rows(size: int) -> list[dict[str, object]]:
    rng, rows, made = random.Random(1), [], 0
    while made < size:
        given, family = rng.choice(GIVEN), rng.choice(FAMILY)
        lines = " ".join(rng.choices(LINES, k=rng.randint(2, 3)))
        text = lines.format(name=f"{given} {family}", family=family, **rng.choice(FORMS))
        rows.append({"text": text, "names": [f"{given} {family}"]})
        made += len(text.encode())
    return rows


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0)
