"""The terminal: a table at any width, one line with the outcome, and progress that never floods a log."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest
from report_example import EXAMPLE, FINDINGS, HOSTILE, hostile
from rich.console import Console

from recuse.report.terminal import Phases, Progress, phase_state, print_result, state


def printed(result: object, width: int) -> str:
    stream = io.StringIO()
    print_result(result, Console(file=stream, width=width))  # type: ignore[arg-type]
    return stream.getvalue()


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_the_table_fits_the_width_and_the_outcome_is_one_line(width: int) -> None:
    *table, line = printed(EXAMPLE, width).splitlines()
    assert max(len(row) for row in table) <= width
    assert (
        line
        == "Recuse: it prefers the answer shown first in 0.93 [0.89, 0.96] of all asks; the gate allows 0.4 to 0.6."
    )


@pytest.mark.parametrize("width", [80, 120])
def test_every_finding_is_named_with_estimate_and_interval(width: int) -> None:
    text = printed(EXAMPLE, width)
    assert all(finding.id in text for finding in FINDINGS)
    assert "0.930 [0.887, 0.958]" in text


def test_at_sixty_columns_the_primaries_are_whole() -> None:
    rows = printed(EXAMPLE, 60).splitlines()
    row = next(row for row in rows if row.startswith("position.consistency"))
    assert row.split() == ["position.consistency", "0.81", "[0.74,", "0.87]", "inconclusive"]


def test_at_forty_columns_a_name_folds_between_its_parts() -> None:
    names = [row[:12].strip() for row in printed(EXAMPLE, 40).splitlines()[1:-2]]
    shown = "".join(names)
    assert shown == "".join(finding.id for finding in (*EXAMPLE.primaries, *(f for f in FINDINGS if not f.outcome)))
    assert {"position.", "consistency", "error_rate:", "translation"} <= set(names)


def test_a_wide_table_names_the_level_of_the_gate() -> None:
    assert "Estimate, 90 % interval" in printed(replace(EXAMPLE, gate={"level": 0.9}), 120)


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_moves_the_cursor_or_colours_the_terminal(name: str) -> None:
    text = printed(hostile(HOSTILE[name]), 100)
    assert not any((ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160 or c in "\u202e\u2066\u200f" for c in text)
    assert name != "rich" or "[bold red]" in text


def test_a_log_gets_a_line_at_most_every_ten_seconds_and_the_last_state() -> None:
    stream, clock = io.StringIO(), Clock()
    with Progress(stream=stream, clock=clock) as progress:
        for done in range(1, 301):  # ten a second for half a minute
            progress.update(done, 300, failures=done // 100, cost=done / 1000)
            clock.now += 0.1
    assert stream.getvalue().splitlines() == [
        "1/300, 0 failures, $0.0010",
        "101/300, 10.0/s, 0:20 left, 1 failure, $0.1010",
        "201/300, 10.0/s, 0:10 left, 2 failures, $0.2010",
        "300/300, 10.0/s, 3 failures, $0.3000",
    ]


def test_replies_from_the_ledger_do_not_count_for_the_rate() -> None:
    stream, clock = io.StringIO(), Clock()
    with Progress(stream=stream, clock=clock) as progress:
        progress.update(1, 1000, from_ledger=1)
        clock.now += 1
        progress.update(500, 1000, from_ledger=500)
        clock.now += 99
        progress.update(550, 1000, from_ledger=500)
    assert stream.getvalue().splitlines()[-1] == "550/1,000, 500 from the ledger, 0.5/s, 15:00 left, 0 failures"


def test_quiet_writes_nothing() -> None:
    for stream in (io.StringIO(), Terminal()):
        with Progress(quiet=True, stream=stream) as progress:
            progress.update(1, 2)
        assert stream.getvalue() == ""


def test_a_terminal_gets_a_bar_that_ends_with_the_last_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "120")
    stream = Terminal()
    with Progress(stream=stream) as progress:
        progress.update(1, 400, failures=0, cost=0.01)
        progress.update(400, 400, failures=3, cost=0.5)
    last = re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", stream.getvalue()).rstrip().splitlines()[-1]
    assert "400/400" in last
    assert "3 failures, $0.5000" in last


def test_an_error_inside_passes_through_after_the_last_state() -> None:
    stream = io.StringIO()

    def interrupted() -> None:
        with Progress(stream=stream, clock=Clock()) as progress:
            progress.update(1, 9)
            progress.update(5, 9)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert stream.getvalue().splitlines()[-1].startswith("5/9")


def test_slow_judges_are_told_by_the_minute_and_long_waits_in_hours() -> None:
    assert state(10, 400, 0, None, 0, 0.05) == "10/400, 3.0/min, 2:10:00 left, 0 failures"
    assert state(10, None, 1, None, 0, 2.0) == "10, 2.0/s, 1 failure"


def test_a_log_of_phases_gets_a_line_at_most_every_ten_seconds_and_the_last_state() -> None:
    stream, clock = io.StringIO(), Clock()
    with Phases(stream=stream, clock=clock) as phases:
        for phase in ("round 1: explaining", "round 1: naming"):
            for done in range(1, 81):  # ten a second, eight seconds a phase
                phases.update(phase, done, 80, done / 1000)
                clock.now += 0.1
    assert stream.getvalue().splitlines() == [
        "round 1: explaining, 1/80, $0.0010",
        "round 1: naming, 21/80, $0.0210",
        "round 1: naming, 80/80, $0.0800",
    ]


def test_phases_on_a_terminal_end_with_the_last_state_and_quiet_ones_say_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "120")
    live, silent = Terminal(), Terminal()
    for stream, quiet in ((live, False), (silent, True)):
        with Phases(stream=stream, quiet=quiet) as phases:
            phases.update("validation: judging", 1, 400, 0.0)
            phases.update("test: judging", 7, 400, 0.0)
    last = re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", live.getvalue()).rstrip().splitlines()[-1]
    assert last.rstrip().endswith("test: judging, 7/400")
    assert silent.getvalue() == ""


def test_a_phase_says_nothing_that_moves_the_cursor() -> None:
    assert phase_state("\x1b[2Jjudging\nx", 1, 2, 0.0) == "⟨U+001B⟩[2Jjudging x, 1/2"


@pytest.mark.parametrize(
    ("why", "word"),
    [("The judge reacts to a group signal.", "suspect"), ("not settled: 4 labels", "not settled"), ("", "")],
)
def test_a_value_in_doubt_says_so_where_outcomes_stand(why: str, word: str) -> None:
    win = replace(FINDINGS[0], id="judged.win_rate", outcome=None, details={"suspect": why} if why else {})
    text = printed(replace(EXAMPLE, findings=(*FINDINGS, win)), 120)
    [row] = [line for line in text.splitlines() if line.startswith("judged.win_rate")]
    assert row.rstrip().endswith(word or ")")
