"""Arguments and exit codes only. `main` is the one place where errors become messages.

Exit codes: 0 fit, 1 recuse, 2 usage or configuration, 3 inconclusive, 4 incomplete and resumable, 70 internal error,
130 interrupted (resumable).
"""

from __future__ import annotations

import os
import sys

import typer

from recuse.cli.audit import audit
from recuse.cli.blind import blind
from recuse.cli.calibrate import calibrate
from recuse.cli.compare import compare
from recuse.cli.discover import discover
from recuse.cli.doctor import doctor
from recuse.cli.explain import explain
from recuse.cli.export import export
from recuse.cli.gate import gate
from recuse.cli.harden import harden
from recuse.cli.ledger import ledger
from recuse.cli.library import library
from recuse.cli.parse import parse
from recuse.cli.probe import probe
from recuse.cli.report import report
from recuse.errors import RecuseError

app = typer.Typer(
    help="Examine an LLM judge before you trust it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(audit)
app.command()(blind)
app.command()(doctor)
app.command()(explain)
app.command()(compare)
app.command()(gate)
app.command()(harden)
app.command()(parse)
app.command()(report)
app.add_typer(calibrate, name="calibrate")
app.add_typer(discover, name="discover")
app.add_typer(export, name="export")
app.add_typer(ledger, name="ledger")
app.add_typer(library, name="library")
app.add_typer(probe, name="probe")


def _version(shown: bool) -> None:
    if shown:
        from recuse import __version__

        print(f"recuse {__version__}")  # noqa: T201
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version and exit."
    ),
) -> None:
    """Examine an LLM judge before you trust it."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code; expected errors become one sentence on standard error."""
    _stand_in()
    try:
        code = app(args=arguments, standalone_mode=False, prog_name="recuse")
    except RecuseError as error:
        _say(f"recuse: {error}")
        return error.exit_code
    except KeyboardInterrupt:
        _say("recuse: interrupted. Run the same command again to resume.")
        return 130
    except Exception as error:  # noqa: BLE001 - the last resort: whatever it is, say it and exit with 70
        if hasattr(error, "format_message") and hasattr(error, "exit_code"):  # click's usage errors
            if message := str(error.format_message()).strip():  # empty where click has shown the help instead
                command = getattr(getattr(error, "ctx", None), "command_path", "recuse")
                _say(f"recuse: {message.rstrip('.')}. See {command} --help.")
            return 2
        return _internal(error)
    return code if isinstance(code, int) else 0


def _stand_in() -> None:
    """A stream that the caller closed swallows what is written: it must not change the exit code."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115, PTH123 - open as long as the process lives


def _internal(error: Exception) -> int:
    import traceback

    traceback.print_exception(error)
    _say(f"recuse: internal error ({type(error).__name__}). What was paid for is kept; please report the lines above.")
    return 70


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
