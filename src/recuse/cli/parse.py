"""`recuse parse`: what each recorded reply is read as, and why."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recuse.errors import InputError, UsageError

if TYPE_CHECKING:
    from recuse.types import Verdict


@dataclass(frozen=True)
class _Recorded:
    row: int  # 1 is the first line of the file
    text: str
    finish: str
    logprobs: tuple[tuple[str, float], ...] | None


def parse(
    replies: Annotated[Path, typer.Argument(help="JSONL with one reply a row, or .txt with one reply a line.")],
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
    first token, as pairs or as objects with token and logprob.
    """
    from recuse.types import Reply
    from recuse.verdict import FORMATS, Spec, read

    if format not in FORMATS:
        known = "; ".join(f"{name} ({form.about})" for name, form in FORMATS.items())
        raise UsageError(f"There is no verdict format {format!r}.", hint=f"Use one of: {known}.")
    spec = Spec(format, first, second, tie, _scale(scale))
    rows: list[dict[str, Any]] = []
    counts: Counter[str] = Counter()
    for recorded in _replies(replies, field):
        reply = Reply("", recorded.text, finish=recorded.finish, logprobs=recorded.logprobs)  # type: ignore[arg-type]
        verdict = read(reply, spec)
        counts[_short(verdict)] += 1
        if as_json:
            rows.append(_row(recorded.row, verdict))
        else:
            typer.echo(f"{recorded.row}\t{_short(verdict)}{_amount(verdict)}\t{' '.join(verdict.why.split())}")
    ordered = dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
    if as_json:
        typer.echo(json.dumps({"schema": 1, "format": format, "replies": rows, "counts": ordered}, ensure_ascii=False))
    else:
        typer.echo(f"{counts.total()} replies: " + ", ".join(f"{name} {n}" for name, n in ordered.items()))


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
    """The replies of a file, one at a time. Raises InputError naming file, row and field."""
    if path.is_dir():
        raise InputError("a directory, not a file", path=path, hint="Give a JSONL or .txt file.")
    if not path.is_file():
        raise InputError("no such file", path=path, hint="Give a JSONL or .txt file.")
    found = False
    with path.open("rb") as lines:
        for number, raw in enumerate(lines, start=1):
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
            except UnicodeDecodeError as error:
                raise InputError(
                    f"not UTF-8 (byte {error.start} of the row)", path=path, row=number, hint="Save the file as UTF-8."
                ) from None
            if path.suffix == ".txt":
                found = True
                yield _Recorded(number, line, "stop", None)
            elif line.strip():
                found = True
                yield _recorded(line, field, path=path, row=number)
    if not found:
        raise InputError("no rows", path=path, hint="Give a file with at least one reply.")


def _recorded(line: str, field: str, *, path: Path, row: int) -> _Recorded:
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON: {error}", path=path, row=row, hint="Give one JSON object a row.") from None
    if isinstance(value, str):
        return _Recorded(row, value, "stop", None)
    if not isinstance(value, dict):
        raise InputError("neither an object nor a text", path=path, row=row, hint="Give one JSON object a row.")
    if field not in value:
        names = ", ".join(str(name) for name in value) or "none"
        raise InputError(
            f"there is no such field (fields: {names})", path=path, row=row, field=field, hint="Name it with --field."
        )
    text = value[field]
    if text is not None and not isinstance(text, str):
        text = json.dumps(text, ensure_ascii=False)  # replies that their collector stored as parsed JSON
    finish = _finish(str(value.get("finish") or value.get("finish_reason") or "stop").lower())
    logprobs = _logprobs(value.get("top_logprobs") or value.get("logprobs"), path=path, row=row)
    return _Recorded(row, text or "", finish, logprobs)


def _finish(recorded: str) -> str:
    """The finish in our words; providers write a filter's stop as content_filter, SAFETY, "content policy"."""
    if recorded in ("length", "max_tokens", "max_output_tokens"):
        return "length"
    if any(word in recorded for word in ("refusal", "filter", "safety", "policy")):
        return "refusal"
    return "error" if recorded == "error" else "stop"


def _logprobs(value: Any, *, path: Path, row: int) -> tuple[tuple[str, float], ...] | None:
    if value is None:
        return None
    try:
        pairs = [(item["token"], item["logprob"]) if isinstance(item, dict) else (item[0], item[1]) for item in value]
        return tuple((str(token), float(logprob)) for token, logprob in pairs)
    except (KeyError, IndexError, TypeError, ValueError):
        raise InputError(
            "not the alternatives of one token", path=path, row=row, field="logprobs",
            hint='Give a list of {"token": ..., "logprob": ...}.',
        ) from None  # fmt: skip
