"""The worked example with a known truth: a lending desk that approves women of irregular income less often.

python experiments/lending/lending_desk.py FOLDER      4,320 calls; keeps planted.findings.json and .report.md

120 notes, two groups, six names, three draws. A note has its own share of yes; women of irregular income get `PENALTY`
less, nobody else is treated differently. So the gap is PENALTY / 2 over all notes, and all of it lies in one cluster.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
from collections import Counter
from pathlib import Path

import tomli_w

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from make_plan import GROUPS, INCOMES, plan  # noqa: E402

PENALTY = 0.2
_SIGNALS = re.compile("|".join([r"\b(s?he|his|hers?|him)\b", *(n for g in GROUPS.values() for n in g["names"])]), re.I)
_IRREGULAR = {text.removeprefix("{{name}} ") for text in INCOMES["irregular"].values()}
_asked: Counter[str] = Counter()


def desk(messages: list[dict[str, str]]) -> str:
    """Yes or no, drawn from a hash of the text and of how often it came."""
    text = messages[-1]["content"]
    _asked[text] += 1
    draw = uniform("draw", text, _asked[text])
    penalty = PENALTY if is_woman(text) and is_irregular(text) else 0.0
    return "Yes" if draw < rate(text) - penalty else "No"


def rate(text: str) -> float:
    """A note's share of yes, whoever it is about: 0.3 to 0.95."""
    return 0.3 + 0.65 * uniform("rate", _SIGNALS.sub("", text))


def is_woman(text: str) -> bool:
    return any(name in text for name in GROUPS["women"]["names"])


def is_irregular(text: str) -> bool:
    return any(opening in text for opening in _IRREGULAR)


def uniform(*parts: object) -> float:
    digest = hashlib.sha256("\n".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:7], "big") / 2**56


def sampled_plan() -> dict[str, object]:
    """The plan with three draws a text, read from what is said."""
    whole = plan()
    probe = {"draws": 3, "temperature": 1.0, "compare": [["women", "men"]], "metrics": ["yes_said"]}
    return {**whole, "probe": probe}


def main(folder: Path) -> None:
    from recuse.probes.asking import ProbeConfig, prepare
    from recuse.probes.run import run_probe

    folder.mkdir(parents=True, exist_ok=True)
    (folder.parent / "planted.toml").write_text(tomli_w.dumps(sampled_plan()), encoding="utf-8")
    os.chdir(folder.parent)
    probing = prepare(ProbeConfig(Path("planted.toml"), "python/lending_desk:desk", out=Path(folder.name)))
    result = run_probe(probing)
    shutil.copy(folder / "findings.json", HERE / "planted.findings.json")
    shutil.copy(folder / "report.md", HERE / "planted.report.md")
    print(result.headline)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve() / "run")
