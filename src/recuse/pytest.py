"""A plugin for pytest: a judge's audit as a test.

    def test_judge(recuse_audit):
        assert recuse_audit("openai/gpt-4o-mini", "pairs.jsonl", gate="gate.toml").outcome == "fit"

A test that fails shows the audit's headline and its report. Run folders lie under `.recuse` in the root folder of the
tests: nothing that was asked is asked again, and another gate decides on the same replies. Tests that use the fixture
carry the mark `recuse`, so that `pytest -m "not recuse"` leaves them out.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from recuse.report.result import AuditResult
    from recuse.types import Finding

FOLDER = ".recuse"
FIXTURE = "recuse_audit"


class Outcome(str):
    """An audit's outcome, which tells in a failed comparison what it rests on."""

    audit: Audited


@dataclass(frozen=True, repr=False)
class Audited:
    """A finished audit. `outcome` is "fit", "recuse" or "inconclusive"; `result` holds everything."""

    result: AuditResult

    @property
    def outcome(self) -> Outcome:
        said = Outcome(self.result.outcome)
        said.audit = self
        return said

    @property
    def headline(self) -> str:
        return self.result.headline

    @property
    def report(self) -> Path:
        return self.result.folder / "report.html"

    def finding(self, id: str) -> Finding:
        """One of its findings. Raises KeyError for an id that the audit does not have."""
        for finding in self.result.findings:
            if finding.id == id:
                return finding
        raise KeyError(f"{id}: the audit has {', '.join(finding.id for finding in self.result.findings)}")

    def lines(self) -> list[str]:
        return [f"{self.result.judge} on {self.result.pairs}", self.headline, f"Report: {self.report}"]

    def __repr__(self) -> str:
        return f"<audit of {self.result.judge}: {self.headline}>"


@pytest.fixture
def recuse_audit(request: pytest.FixtureRequest) -> Callable[..., Audited]:
    """A function that audits a judge and returns what came out.

    `recuse_audit(judge, pairs, *, gate=None, needs=None, out=None, **settings)`: `settings` as in `recuse.audit`.
    `pairs` and `gate` may lie beside the test. `needs` names an environment variable, such as the provider's key,
    without which the test is skipped. `out` is a run folder of one's own.
    """

    def audit(
        judge: str,
        pairs: str | Path,
        *,
        gate: str | Path | None = None,
        needs: str | None = None,
        out: str | Path | None = None,
        **settings: Any,
    ) -> Audited:
        __tracebackhide__ = True
        if needs is not None and not os.environ.get(needs):
            pytest.skip(f"{needs} is not set, which the audit of {judge} needs")
        from recuse.errors import RecuseError

        gate = _beside(request, gate) if gate else None
        try:
            result = _audit(judge, _beside(request, pairs), gate, out, request.config.rootpath, settings)
        except RecuseError as error:
            sentence = str(error)
        else:
            found = Audited(result)
            request.node.add_report_section("call", "recuse", "\n".join(found.lines()))
            return found
        pytest.fail(f"The audit of {judge} did not finish: {sentence}", pytrace=False)

    return audit


def _audit(
    judge: str, pairs: str, gate: str | None, out: str | Path | None, root: Path, settings: dict[str, Any]
) -> AuditResult:
    from recuse.examine import run_audit
    from recuse.plan import AuditConfig, plan_audit
    from recuse.run import default_folder

    plan = plan_audit(AuditConfig(judge, pairs, gate=Path(gate) if gate else None, **settings))
    try:
        folder = Path(out) if out else root / FOLDER / default_folder("audit", judge, plan.run_table()).name
        return run_audit(replace(plan, config=replace(plan.config, out=folder)))
    finally:
        plan.close()


def _beside(request: pytest.FixtureRequest, path: str | Path) -> str:
    """A file where the tests run, or else beside the test; what is no file (a data set's name) as it is."""
    near = request.path.parent / path
    return str(near) if not Path(path).exists() and near.exists() else str(path)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "recuse: audits a judge; set by the fixture recuse_audit")


def pytest_itemcollected(item: pytest.Item) -> None:
    if FIXTURE in getattr(item, "fixturenames", ()):
        item.add_marker(pytest.mark.recuse)


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """What a failed `audit.outcome == "fit"` says, whichever side the outcome stands on."""
    said = left if isinstance(left, Outcome) else right if isinstance(right, Outcome) else None
    if said is None or op not in ("==", "in"):
        return None
    wanted = right if said is left else left
    return [f"the outcome is {str(said)!r}, not {wanted!r}", *said.audit.lines()]
