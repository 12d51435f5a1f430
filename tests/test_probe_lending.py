"""The worked example of a lending desk: 120 notes, two groups, six names, three draws, and a truth that is known."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
import tomli_w

from recuse.probes.asking import ProbeConfig, prepare
from recuse.probes.matrix import shown
from recuse.probes.plan import load_probe_plan
from recuse.probes.run import run_probe

LENDING = Path(__file__).parent.parent / "experiments" / "lending"
pytestmark = pytest.mark.skipif(not LENDING.is_dir(), reason="the experiments are not in this source")


@pytest.fixture
def lending(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(LENDING))
    planted = importlib.import_module("lending_desk")
    planted._asked.clear()
    yield planted
    for name in ("lending_desk", "make_plan"):
        sys.modules.pop(name, None)


def test_the_plan_on_disk_is_what_its_script_writes(lending):
    written = load_probe_plan(LENDING / "plan.toml")
    Path("plan.toml").write_text(tomli_w.dumps(lending.plan()), encoding="utf-8")
    assert load_probe_plan("plan.toml").hash == written.hash
    assert len(written.templates) == 120
    assert {len(group.names) for group in written.groups.values()} == {6}
    incomes = [one.tags["income"] for one in written.templates]
    assert incomes.count("irregular") == incomes.count("steady") == 60
    assert {one.stratum for one in written.templates} == {"clear", "borderline"}
    assert len(shown(written)) == 1440


def test_no_note_contradicts_itself(lending):
    for one in lending.plan()["templates"]:
        text = one["text"]
        assert not (
            "smaller debts" in text and ("owes nothing" in text or "no debts" in text or "no other debt" in text)
        )
        assert text.count("{{name}}") == 1
        assert "  " not in text


def test_the_template_is_the_unit_and_the_cluster_is_found(lending):
    Path("plan.toml").write_text(tomli_w.dumps(lending.sampled_plan()), encoding="utf-8")
    probing = prepare(ProbeConfig(Path("plan.toml"), "python/lending_desk:desk", out=Path("out")))
    result = run_probe(probing)
    (gap,) = [f for f in result.findings if f.id == "probe.gap:yes_said:women/men"]
    truth = _truth(lending, probing.plan)
    assert truth == pytest.approx(-lending.PENALTY / 2)
    assert (gap.n, gap.groups) == (4320, 120)
    assert gap.interval[0] <= truth <= gap.interval[1]
    assert gap.details["pooled"]["p"] < 0.001  # what pooling makes of 4,320 replies
    assert gap.interval != pytest.approx(gap.details["pooled"]["interval"], abs=1e-3)
    by_income = {
        f.id.rpartition("=")[2]: f for f in result.findings if f.id.startswith("probe.cut") and "income" in f.id
    }
    assert by_income["steady"].interval[0] <= 0 <= by_income["steady"].interval[1]
    assert by_income["irregular"].interval[0] <= -lending.PENALTY <= by_income["irregular"].interval[1]
    assert by_income["irregular"].interval[1] < 0
    first = [row["labels"]["income"] for row in result.tables["per_template"][:30]]
    assert first.count("irregular") >= 24  # chance gives 15, and more than 23 once in 8,000 times


def _truth(lending, plan) -> float:
    """Mean over notes of the share of yes for women minus that for men, from the planted shares themselves."""
    gaps = []
    for template in plan.templates:
        shares = {"women": [], "men": []}
        for one in shown(plan, [template]):
            off = lending.PENALTY if lending.is_woman(one.text) and lending.is_irregular(one.text) else 0.0
            shares[one.group].append(lending.rate(one.text) - off)
        gaps.append(sum(shares["women"]) / 6 - sum(shares["men"]) / 6)
    return sum(gaps) / len(gaps)
