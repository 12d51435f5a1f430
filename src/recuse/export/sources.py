"""Which biases go into a set, and on what evidence: those that a run confirmed, and any that the user names."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from recuse.assets import digest
from recuse.discovery.transfer import read_run
from recuse.errors import InputError, UsageError
from recuse.known import chosen
from recuse.library import Bias, bias_toml, load_library


@dataclass(frozen=True)
class Source:
    """A bias with what speaks for it. `effect`: the error that it added where it was measured."""

    bias: Bias
    confirmed: bool
    judges: tuple[str, ...] = ()  # on which it was confirmed
    run: str | None = None  # the name of the run folder that it comes from; None: a library
    effect: float | None = None

    @cached_property
    def version(self) -> str:
        """Of the bias as a file, its evidence included."""
        return digest(bias_toml(self.bias).encode())


def sources(
    *, run: Path | None = None, ids: Sequence[str] = (), library: Path | None = None, teacher: bool = False
) -> tuple[Source, ...]:
    """The confirmed biases of `run`, then those of the library that `ids` names; each bias once, as the run has it.

    Confirmed ones stand first, by falling effect. Raises UsageError where that leaves none, for an unknown id, and for
    a bias that cannot be put in: by a teacher without its `inject`, by rule without its `edit`.
    """
    if run is None and not ids:
        raise UsageError("Which biases?", hint="Give --run RUN for the confirmed ones of a run, or --bias ID[,ID].")
    found = {s.bias.id: s for s in (of_run(run, library) if run is not None else ())}
    if not found and not ids:
        raise UsageError(
            f"{run} confirmed no bias.", hint="--bias ID takes any of the library, marked as unconfirmed in every row."
        )
    if ids:
        for bias in chosen(ids, load_library(library), teacher=teacher):
            judges = tuple(dict.fromkeys(e.judge for e in bias.evidence))
            effect = max((e.effect for e in bias.evidence), default=None)
            sure = bias.status == "confirmed"
            found.setdefault(bias.id, Source(bias, sure, judges if sure else (), None, effect))
    for source in found.values():
        _check_injectable(source.bias, teacher=teacher)
    return tuple(sorted(found.values(), key=lambda s: (not s.confirmed, -(s.effect or 0.0))))


def _check_injectable(bias: Bias, *, teacher: bool) -> None:
    if (bias.inject if teacher else bias.edit) is None:
        lacks = "`inject` line for a teacher" if teacher else "rule-based edit"
        raise UsageError(
            f"The bias {bias.id!r} has no {lacks}.", hint="Leave --teacher out." if teacher else "Give a --teacher."
        )


def of_run(run: Path, library: Path | None = None) -> tuple[Source, ...]:
    """What a finished discovery or a finished audit with --biases confirmed; () where it confirmed nothing.

    Raises UsageError for a folder that holds neither, InputError for an audit's bias that the library has no more, or
    has in another form than the one that was measured.
    """
    file = run / "findings.json"
    if not file.is_file():
        raise UsageError(
            f"{run} holds no finished run.", hint="Give the folder of `recuse discover`, or of `recuse audit --biases`."
        )
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        if content.get("kind") == "discovery":
            return _of_discovery(run, content)
        if content.get("kind") is None and any(_is_effect(f) for f in content["findings"]):
            return _of_audit(run, content, library)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"not as recuse writes it ({error})", path=file, hint="Give a run of this version.") from None
    raise UsageError(f"{run} tested no bias.", hint="Give a run of `recuse discover`, or of `recuse audit --biases`.")


def _of_discovery(run: Path, content: Mapping[str, Any]) -> tuple[Source, ...]:
    folder = run / "candidates"
    biases = load_library(folder) if any(folder.glob("*.toml")) else {}
    return tuple(
        Source(b, True, (content["judge"],), run.resolve().name, max((e.effect for e in b.evidence), default=None))
        for b in biases.values()
        if b.status == "confirmed"
    )


def _of_audit(run: Path, content: Mapping[str, Any], library: Path | None) -> tuple[Source, ...]:
    effects = [f for f in content["findings"] if _is_effect(f)]
    accepted = {_bias_of(f): f["estimate"] for f in effects if f["details"].get("status") == "accepted"}
    if not accepted:
        return ()
    known, table = load_library(library), read_run(run)
    tested = table.get("biases", [])
    if missing := [id for id in tested if id not in known]:
        raise InputError(
            f"the library has no bias {missing[0]!r}, which this run tested", path=run,
            hint="Give --library the folder that the run was made with.",
        )  # fmt: skip
    if digest("".join(bias_toml(known[id]) for id in tested).encode()) != table.get("biases_hash"):
        raise InputError(
            "the biases of this run are not those of the library any more", path=run,
            hint="Give --library the folder that the run was made with, or run the audit again.",
        )  # fmt: skip
    name = run.resolve().name
    return tuple(Source(known[id], True, (content["judge"],), name, effect) for id, effect in accepted.items())


def _is_effect(finding: Mapping[str, Any]) -> bool:
    return str(finding["id"]).startswith("bias.") and str(finding["id"]).endswith(".effect")


def _bias_of(finding: Mapping[str, Any]) -> str:
    return str(finding["id"]).removeprefix("bias.").removesuffix(".effect")
