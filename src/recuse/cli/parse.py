"""`recuse parse`: what each recorded reply is read as, and why."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recuse.errors import InputError, UsageError

if TYPE_CHECKING:
    from recuse.pairs.readers import Rows
    from recuse.types import Finish, Verdict

# How providers and collectors write the end of a reply, in lower case.
_FINISH: Mapping[str, Finish] = {
    **dict.fromkeys(("stop", "stop_sequence", "end_turn", "eos", "eos_token", "tool_use", "tool_calls"), "stop"),
    **dict.fromkeys(("length", "max_tokens", "max_output_tokens", "model_context_window_exceeded"), "length"),
    **dict.fromkeys(("refusal", "recitation", "blocklist", "prohibited_content", "spii"), "refusal"),
    "error": "error",
}


@dataclass(frozen=True)
class _Recorded:
    row: int  # as `recuse.pairs.readers` counts
    text: str
    finish: Finish
    logprobs: tuple[tuple[str, float], ...] | None


def parse(
    replies: Annotated[
        Path,
        typer.Argument(help="JSONL, JSON, CSV or Parquet with one reply a row, .txt with one a line, or - for JSONL."),
    ],
    format: Annotated[
        str, typer.Option(help="The verdict format, as in a prompt's front matter; a wrong name lists all.")
    ],
    first: Annotated[str, typer.Option(help="Label of the answer shown first.")] = "A",
    second: Annotated[str, typer.Option(help="Label of the answer shown second.")] = "B",
    tie: Annotated[str | None, typer.Option(help="Label of a tie, where the prompt offers one.")] = None,
    scale: Annotated[str | None, typer.Option(help="Lowest and highest score, such as 1,10.")] = None,
    field: Annotated[str, typer.Option(help="The field that holds the reply.")] = "text",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Print what each recorded reply is read as and why.

    A row may also say its `finish` ("length", "refusal", "content_filter") and `top_logprobs` or `logprobs` of its
    first token: {"A": -0.1}, pairs, or objects with token and logprob. Nothing is printed before all rows are read.
    """
    from recuse.prompts import label_fault
    from recuse.types import Reply
    from recuse.verdict import FORMATS, Spec, read

    if format not in FORMATS:
        known = "; ".join(f"{name} ({form.about})" for name, form in FORMATS.items())
        raise UsageError(f"There is no verdict format {format!r}.", hint=f"Use one of: {known}.")
    if fault := label_fault(first, second, tie):
        raise UsageError(f"--{fault[0]}: {fault[1]}.", hint="Give every outcome a label of its own.")
    spec = Spec(format, first, second, tie, _scale(scale))
    rows: list[dict[str, Any]] = []
    lines: list[str] = []
    counts: Counter[str] = Counter()
    for recorded in _replies(replies, field):
        reply = Reply("", recorded.text, finish=recorded.finish, logprobs=recorded.logprobs)
        verdict = read(reply, spec)
        counts[_short(verdict)] += 1
        if as_json:
            rows.append(_row(recorded.row, verdict))
        else:
            lines.append(f"{recorded.row}\t{_short(verdict)}{_amount(verdict)}\t{' '.join(verdict.why.split())}")
    ordered = dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
    if as_json:
        typer.echo(json.dumps({"schema": 1, "format": format, "replies": rows, "counts": ordered}, ensure_ascii=False))
    else:
        total = f"{counts.total()} {'reply' if counts.total() == 1 else 'replies'}"
        lines.append(f"{total}: " + ", ".join(f"{name} {n}" for name, n in ordered.items()))
        typer.echo("\n".join(lines))


def _short(verdict: Verdict) -> str:
    if verdict.reason is not None:
        return verdict.reason
    return verdict.outcome or "score"


def _amount(verdict: Verdict) -> str:
    if verdict.scores is not None:
        return f" {verdict.scores[0]:g} {verdict.scores[1]:g}"
    return f" {verdict.score:g}" if verdict.score is not None else ""


def _row(row: int, verdict: Verdict) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "row": row,
        "outcome": verdict.outcome,
        "score": verdict.score,
        "scores": list(verdict.scores) if verdict.scores else None,
        "reason": verdict.reason,
        "why": verdict.why,
    }
    measured = {"strength": verdict.strength, "p_first": verdict.p_first, "outside": verdict.outside}
    return shown | {name: value for name, value in measured.items() if value is not None}


def _scale(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        low, high = 1.0, 0.0
    if not low < high:
        raise UsageError(
            f"--scale {text!r} is not a scale.", hint="Give the lowest and the highest score, such as 1,10."
        )
    return low, high


def _replies(path: Path, field: str) -> Iterator[_Recorded]:
    """The replies of a file or of standard input, one at a time. Raises InputError naming file, row and field."""
    from recuse.pairs.rows import BadRow

    source = "standard input" if path == Path("-") else str(path)
    found = False
    for number, row in _rows(path, field):
        if isinstance(row, BadRow):
            raise InputError(str(row), path=source, row=number, field=row.field, hint="Correct the row.")
        found = True
        yield _recorded(row, field, path=source, number=number)
    if not found:
        raise InputError("no rows", path=source, hint="Give at least one reply.")


def _rows(path: Path, field: str) -> Rows:
    from recuse.pairs.readers import read_file

    if path == Path("-"):
        with TemporaryDirectory() as folder:
            copy = Path(folder) / "replies.jsonl"
            copy.write_bytes(sys.stdin.buffer.read())
            yield from read_file(copy, preset=None)
    elif not path.exists():
        raise InputError("no such file", path=path, hint="Give a file of replies, or - for standard input.")
    elif path.suffix == ".txt" and path.is_file():
        yield from _lines(path, field)
    else:
        yield from read_file(path, preset=None)


def _lines(path: Path, field: str) -> Rows:
    with path.open("rb") as lines:
        for number, raw in enumerate(lines, start=1):
            try:
                yield number, {field: raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")}
            except UnicodeDecodeError as error:
                raise InputError(
                    f"not UTF-8 (byte {error.start + 1} of the row)",
                    path=path,
                    row=number,
                    hint="Save the file as UTF-8.",
                ) from None


def _recorded(row: Mapping[str, Any], field: str, *, path: str, number: int) -> _Recorded:
    if field not in row:
        what = f"there is no such field (fields: {', '.join(row) or 'none'})"
        raise InputError(what, path=path, row=number, field=field, hint="Name it with --field.")
    text = _filled(row, field) or ""
    if not isinstance(text, str):
        text = json.dumps(text, ensure_ascii=False, default=str)  # replies that their collector stored as parsed JSON
    try:
        return _Recorded(number, text, _finish(row), _logprobs(_filled(row, "top_logprobs", "logprobs")))
    except UsageError as error:
        raise InputError(str(error), path=path, row=number) from None


def _filled(row: Mapping[str, Any], *fields: str) -> Any:
    """The first of `fields` that holds a value; table libraries write NaN, which is not itself, for an empty cell."""
    values = (row.get(field) for field in fields)
    return next((value for value in values if value not in (None, "") and value == value), None)


def _finish(row: Mapping[str, Any]) -> Finish:
    """The finish in our words; providers write a filter's stop as content_filter, SAFETY, "content policy"."""
    recorded = _filled(row, "finish", "finish_reason") or "stop"
    name = str(recorded).strip().lower()
    if any(word in name for word in ("refusal", "filter", "safety", "policy")):
        return "refusal"
    if name not in _FINISH:
        raise UsageError(f"the finish {recorded!r} is not known", hint=f"Write one of: {', '.join(_FINISH)}.")
    return _FINISH[name]


def _logprobs(value: Any) -> tuple[tuple[str, float], ...] | None:
    """Alternatives of the first token, as an object, as pairs, as objects with token and logprob, or as their JSON."""
    try:
        value = json.loads(value) if isinstance(value, str) else value
        if not value:
            return None
        if isinstance(value, Mapping):  # Parquet gives every row the tokens of all rows, absent ones as null
            value = [(token, logprob) for token, logprob in value.items() if logprob is not None]
        pairs = ((item["token"], item["logprob"]) if isinstance(item, Mapping) else item for item in value)
        return tuple((str(token), float(logprob)) for token, logprob in pairs)
    except (KeyError, TypeError, ValueError):
        raise UsageError(
            "logprobs are not the alternatives of one token",
            hint='Give {"A": -0.1, "B": -2.4} or a list of {"token": ..., "logprob": ...}.',
        ) from None
