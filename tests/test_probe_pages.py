"""The reports of probes with findings of their own: every family of findings has its section, and foreign text opens
no markup."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recuse.cli import run
from recuse.probes.pages import write_pages
from recuse.report.text import estimate
from recuse.run import RunFolder
from recuse.types import Finding


def test_every_finding_has_a_row_in_the_section_of_its_family(tmp_path: Path) -> None:
    ids = ["bbq.s_amb", "bbq.s_amb:Age", "bbq.unparsed", "framing.noise", "odd.one:x"]
    findings = [Finding(id, f"title of {id}", 0.25, (0.125, 0.375), 8, 4, method="m") for id in ids]
    content = {"model": "<b>m</b>|", "plan": {"path": "p"}, "headline": "h", "notes": ["n"], "config": {}, "usage": {}}
    with RunFolder(tmp_path / "run", {"probe": "bbq"}) as folder:
        folder.kept = True
        write_pages(folder, content, findings, level=0.95)
    told = (tmp_path / "run/report.md").read_text()
    headings = [line for line in told.splitlines() if line.startswith("## ")]
    assert headings[:4] == [
        "## BBQ: bias where the context does not tell", "## BBQ: answers that could not be read",
        "## Answers that change by asking again", "## odd.one",
    ]  # fmt: skip
    assert all(f"title of {id}".replace("_", "\\_") in told for id in ids)
    page = (tmp_path / "run/report.html").read_text()
    assert "<b>m</b>" not in page
    assert "&lt;b&gt;m&lt;/b&gt;" in page


def test_a_framing_probe_writes_its_report_with_the_numbers_of_findings_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("follows_the_asker.py").write_text(
        "def ask(messages):\n    return 'Yes' if 'the answer is yes' in messages[-1]['content'] else 'No'\n"
    )
    assert run(["probe", "framing", "--model", "python/follows_the_asker:ask", "--out", "run", "--json"]) == 0
    findings = json.loads(Path("run/findings.json").read_text())["findings"]
    told, page = Path("run/report.md").read_text(), Path("run/report.html").read_text()
    (led,) = [f for f in findings if f["id"] == "framing.flip_rate:for"]
    shown = estimate(Finding(led["id"], "", led["estimate"], tuple(led["interval"])))
    assert shown in told
    assert shown.replace(", ", ",&nbsp;") in page
    assert led["estimate"] > 0.9
