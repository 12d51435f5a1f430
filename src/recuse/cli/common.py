"""What several commands share: reading options, stopping cleanly, printing a result."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from recuse.errors import UsageError

if TYPE_CHECKING:
    from recuse.backends import Options
    from recuse.controls import People


Result = TypeVar("Result")


class Plan(Protocol):
    """Something that is ready to run."""

    def estimate(self) -> dict[str, Any]: ...

    def close(self) -> None: ...


def temperature_of(text: str) -> float | None:
    """The number, or None for the provider's default. Raises UsageError for anything else."""
    if text == "default":
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= 10.0:
        raise UsageError(f"--temperature is {text!r}.", hint="Give a number from 0, or 'default'.")
    return value


def columns_of(given: list[str]) -> dict[str, str]:
    """ROLE=COLUMN items as a table. Raises UsageError for an item that is none."""
    return assignments("--column", given, form="ROLE=COLUMN", example="prompt=question")


def assignments(option: str, given: list[str], *, form: str, example: str) -> dict[str, str]:
    """Items such as ROLE=COLUMN as a table. Raises UsageError for an item that is none."""
    found: dict[str, str] = {}
    for item in given:
        name, equals, value = item.partition("=")
        if not (name and equals and value):
            raise UsageError(f"{option} {item!r} is not {form}.", hint=f"For example {option} {example}.")
        found[name] = value
    return found


# How a model is reached: the command's parameter, and the field of Options that it fills.
_REACHED = {
    "base_url": "base_url", "concurrency": "concurrency", "rpm": "requests_per_minute", "tpm": "tokens_per_minute",
    "timeout": "timeout", "attempts": "max_attempts", "max_context": "max_context", "device": "device",
    "tensor_parallel": "tensor_parallel", "memory_share": "memory_share", "trust_remote_code": "trust_remote_code",
    "allow_pickle": "allow_pickle", "batch": "batch",
}  # fmt: skip


def options_of(given: Mapping[str, Any]) -> Options:
    """How the judge is reached, from the parameters of a command; those that it lacks keep their defaults.

    Raises UsageError for batches where no model of the command has them.
    """
    from recuse.backends import Options
    from recuse.prices import has_batches

    asked = [given.get(role) for role in ("judge", "teacher", "model")]  # a command may name several judges
    names = [name for one in asked for name in (one if isinstance(one, list) else [one]) if name]
    if given.get("batch") and names and not any(map(has_batches, names)):
        raise UsageError(f"{names[0]} takes no batches.", hint="Leave --batch out; it is for openai/… and anthropic/….")
    return Options(**{field: given[name] for name, field in _REACHED.items() if name in given})


def names_of(given: str | None) -> tuple[str, ...]:
    """Names by commas; one that holds a comma stands in double quotes, as in CSV."""
    import csv

    found = next(csv.reader([given], skipinitialspace=True), []) if given else []
    return tuple(name.strip() for name in found if name.strip())


def people_of(
    human: Path | None, key: str | None, label: str | None, annotator: str | None, means: list[str] | None
) -> People | None:
    """Where people's labels are. Raises UsageError for options that go with --human alone."""
    from recuse.controls import People

    if human is None:
        if key or label or annotator or means:
            raise UsageError(
                "--key, --label, --annotator and --means go with --human.", hint="Name the file of labels."
            )
        return None
    words = assignments("--means", means or [], form="WORD=LABEL", example="0=tie")
    return People(human, key, names_of(label), annotator, words)


def refuse(mode: str, alien: Mapping[str, object], given: Mapping[str, Any]) -> None:
    """Raise UsageError for an option that means nothing in this mode: it would seem to have been obeyed."""
    for name, default in alien.items():
        if given[name] != default and given[name] is not None:
            option = "--" + name.replace("_", "-")
            raise UsageError(f"{mode} goes without {option}.", hint="Leave one of them out.")


def shown(display: Callable[[], None], folder: Path | None) -> None:
    """Print a result. A reader that went away changes nothing: the run folder holds it all."""
    try:
        display()
        sys.stdout.flush()
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            sys.stderr.write(f"recuse: the result cannot be printed ({error.strerror}); it lies in {folder}.\n")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else the interpreter fails again at its exit


@contextmanager
def stoppable() -> Iterator[threading.Event]:
    """The first Ctrl-C (or SIGTERM) ends the run after the calls in flight, which are paid for; the second at once."""
    stop = threading.Event()

    def handle(number: int, frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        sys.stderr.write("Waiting for the calls in flight; press Ctrl-C again to stop at once.\n")

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def carried_out(
    plan: Plan,
    work: Callable[[Any, Callable[[str, int, int, float], None], threading.Event], Result],
    *,
    told: Callable[[dict[str, Any]], str],
    dry_run: bool,
    as_json: bool,
    quiet: bool,
) -> Result | None:
    """Do what `plan` says under a line of progress, and close it. A dry run prints what it takes, and gives None."""
    import json

    import typer

    from recuse.report.terminal import Phases

    try:
        if dry_run:
            said = plan.estimate()
            typer.echo(json.dumps({"schema": 1, **said}) if as_json else told(said))
            return None
        # What the user's own function prints is not our output.
        with Phases(quiet=quiet or as_json) as phases, stoppable() as stop, redirect_stdout(sys.stderr):
            return work(plan, phases.update, stop)
    finally:
        plan.close()


def taking(said: Mapping[str, Any]) -> str:
    """Tokens and money of one model in a dry run."""
    cost = "no price known" if said["cost"] is None else f"at most about {said['cost']:.4f} US dollars"
    return f"at most about {said['tokens_in']:,} tokens in and {said['tokens_out']:,} out, {cost}."


def already(said: Mapping[str, Any], folder: Path) -> str:
    """How many of the calls a run folder spares; calls for one text count once there."""
    return f" ({said['held']:,} replies are in {folder} already)" if said.get("held") else ""
