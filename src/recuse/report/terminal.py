"""The terminal: progress while the judge works (standard error), then a table and the outcome in one line."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TextIO

from recuse.report import text
from recuse.report.discovered import DiscoverResult
from recuse.report.discovered_words import part
from recuse.report.result import AuditResult
from recuse.types import Finding

if TYPE_CHECKING:
    from rich.console import Console

_COLOURS = {"fit": "blue", "recuse": "red", "inconclusive": "yellow"}


def print_result(result: AuditResult, console: Console) -> None:
    """A table of all findings, primaries first, as wide as the console allows, then the outcome in one line."""
    from rich.table import Table
    from rich.text import Text

    wide, narrow = console.width >= 100, console.width < 60
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("Measure", overflow="fold")
    table.add_column(f"Estimate, {text.intervals(result.level)}" if wide else "Estimate", overflow="fold")
    if wide:
        table.add_column("Tolerance", overflow="fold")
        table.add_column("n (groups)", justify="right")
    table.add_column("Outcome", no_wrap=True)
    first = {finding.id for finding in result.primaries}
    for finding in (*result.primaries, *(f for f in result.findings if f.id not in first and _told(f))):
        name = _text(_folded(finding.id) if narrow else finding.id, newline="\n")
        cells = [name, _text(text.estimate(finding))]
        if wide:
            cells += [_text(text.tolerance(finding)), _text(text.size(finding))]
        said = finding.outcome or text.doubt(finding)
        table.add_row(*cells, Text(said, style=_COLOURS.get(said, "yellow" if said else "")))
    console.print(table)
    console.print()
    line = Text(text.outcome_line(result), style=f"bold {_COLOURS[result.outcome]}")
    console.print(line, soft_wrap=True)


def print_discovered(result: DiscoverResult, console: Console) -> None:
    """A table of all candidates, the accepted ones first, then what else there is to know, then the headline."""
    from rich.table import Table
    from rich.text import Text

    wide = console.width >= 100
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("Candidate", overflow="fold")
    table.add_column(f"Effect, {text.intervals(result.level)}" if wide else "Effect", overflow="fold")
    if wide:
        table.add_column("Part")
        table.add_column("n (groups)", justify="right")
    table.add_column("Fate", no_wrap=True)
    for found in result.candidates:
        first = found.findings[0] if found.findings else None
        cells = [_text(found.id), _text(text.estimate(first) if first else "not measured")]
        if wide:
            cells += [_text(part(first) if first else ""), _text(text.size(first) if first else "")]
        fate = f"{found.fate}, {found.severity}" if found.severity and wide else found.fate
        table.add_row(*cells, Text(text.visible(fate), style="bold red" if found.fate == "accepted" else ""))
    if result.candidates:
        console.print(table)
        console.print()
    for note in result.notes:
        console.print(_text(f"- {note}"), soft_wrap=True)
    console.print(Text(text.visible(result.headline, newline=" "), style="bold"), soft_wrap=True)


def _told(finding: Finding) -> bool:
    """Whether a finding has its place on the terminal; the rest stands in the report."""
    apart = ("swap.", "self_preference.", "calibration.kappa:", "judged.win_rate:")
    if finding.id.startswith(apart) and ":" in finding.id:
        return False
    return not finding.id.endswith((".vs_original", ".score_shift"))


def _folded(id: str) -> str:
    """The id with its parts below one another, so that a narrow column does not break inside a word."""
    return re.sub(r"(?<=[.:])", "\n", " ".join(id.split()))


def _text(content: str, newline: str = " ") -> Any:
    from rich.text import Text

    return Text(text.visible(content, limit=200, newline=newline))


class _Live:
    """A line about what is going on: a live bar on a terminal, else a plain line at most every `every` seconds and the
    last one at the end; `quiet` shows nothing."""

    def __init__(
        self,
        *,
        quiet: bool = False,
        stream: TextIO | None = None,
        every: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._quiet, self._every, self._clock = quiet, every, clock
        self._stream = stream or sys.stderr
        self._bar: Any = None
        self._task: Any = None
        self._shown = float("-inf")
        self._counts: tuple[int, int | None] = (0, None)
        self._pending: Callable[[], str] | None = None  # writes the newest line, which is not shown yet

    def __enter__(self) -> Self:
        if not self._quiet and self._stream.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, SpinnerColumn, TextColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                SpinnerColumn(),
                BarColumn(bar_width=None),
                TextColumn("{task.description}", markup=False),
                console=Console(file=self._stream),
                redirect_stdout=False,  # standard output carries the result, the bar lives on standard error
            )
            self._bar.start()
            self._task = self._bar.add_task("waiting for the judge", total=None)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pending is not None:
            self._show(self._pending())
        if self._bar is not None:
            self._bar.stop()

    def _tell(self, line: Callable[[], str], done: int, total: int | None) -> None:
        if self._quiet:
            return
        now = self._clock()
        self._counts, self._pending = (done, total), line
        if now - self._shown >= (self._every if self._bar is None else 0.1):
            self._shown = now
            self._show(line())

    def _show(self, line: str) -> None:
        self._pending = None
        if self._bar is None:
            self._stream.write(line + "\n")
            self._stream.flush()
        else:
            done, total = self._counts
            self._bar.update(self._task, completed=done, total=total, description=line)


class Progress(_Live):
    """Shows how a judge run proceeds: rate, time left, failures and cost. The rate counts fresh replies only, since
    those from the ledger come at once.

        with Progress() as progress:
            progress.update(done, total, failures=2, cost=0.1, from_ledger=40)
    """

    _begun: tuple[float, int] | None = None  # time and fresh replies at the first update

    def update(
        self,
        done: int,
        total: int | None,
        failures: int = 0,
        cost: float | None = None,
        from_ledger: int = 0,
        spread: str = "",
    ) -> None:
        """Tell the state: `done` of `total` asks answered, `from_ledger` of them without a call; `spread`: by whom."""
        now = self._clock()
        if self._begun is None:
            self._begun = (now, done - from_ledger)
        seconds, fresh = now - self._begun[0], done - from_ledger - self._begun[1]
        rate = fresh / seconds if seconds > 0 else 0.0
        said = f", {spread}" if spread else ""
        self._tell(lambda: state(done, total, failures, cost, from_ledger, rate) + said, done, total)


class Phases(_Live):
    """Shows how a run of several phases proceeds.

    with Phases() as phases:
        phases.update("round 1: naming", done, total, cost)
    """

    def update(self, phase: str, done: int, total: int, cost: float) -> None:
        """Tell the state: `done` of the `total` asks of this phase answered, `cost` US dollars spent on the run."""
        self._tell(lambda: phase_state(phase, done, total, cost), done, total)


def phase_state(phase: str, done: int, total: int, cost: float) -> str:
    """One line: `round 1: naming, 120/400, $0.0300`; a run that costs nothing shows no cost."""
    said = f"{text.visible(phase, limit=100, newline=' ')}, {done:,}/{total:,}"
    return f"{said}, ${cost:.4f}" if cost else said


def state(done: int, total: int | None, failures: int, cost: float | None, from_ledger: int, rate: float) -> str:
    """One line: `120/400, 40 from the ledger, 3.2/s, 1:28 left, 2 failures, $0.03`. `rate`: fresh replies a second."""
    parts = [f"{done:,}/{total:,}" if total is not None else f"{done:,}"]
    if from_ledger:
        parts.append(f"{from_ledger:,} from the ledger")
    if rate > 0:
        parts.append(f"{rate:.1f}/s" if rate >= 0.1 else f"{60 * rate:.1f}/min")
        if total is not None and done < total:
            parts.append(f"{_clock_time((total - done) / rate)} left")
    parts.append("1 failure" if failures == 1 else f"{failures:,} failures")
    if cost is not None:
        parts.append(f"${cost:.4f}")
    return ", ".join(parts)


def _clock_time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
