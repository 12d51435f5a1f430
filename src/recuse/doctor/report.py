"""The whole report, as a table (`recuse/data/doctor.schema.json`) and as lines for people."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from recuse import __version__
from recuse.backends import HEAVY, Options, settled
from recuse.doctor.model import examine_model
from recuse.doctor.packages import look
from recuse.doctor.queue import Pace, advise
from recuse.doctor.smoke import smoke
from recuse.doctor.system import caches, find_gpus, keys, packaged, system
from recuse.errors import RecuseError
from recuse.machine.fit import gb
from recuse.machine.memory import ram

_BY_FOLDER = ("hf", "vllm")  # engines that load the same folder


def examine(
    models: Sequence[tuple[str, Options]],
    *,
    smoking: bool = False,
    calls: int | None = None,
    plan_for: int | None = None,
) -> dict[str, Any]:
    """`models`: judge and teacher, as far as they are given. `plan_for`: bytes of a GPU of another machine."""
    found = look()
    by_name = {package.name: package for package in found}
    gpus, source = find_gpus(by_name["torch"].told)
    smoked = [smoke(name, options) for name, options in _callable(models)] if smoking else []
    works = [name for name, package in (("hf", "transformers"), ("vllm", "vllm")) if by_name[package].state == "works"]
    return {
        "schema": 1,
        "recuse": __version__,
        "python": platform.python_version(),
        "packages": [package.table() for package in found],
        "cuda": by_name["torch"].told.get("cuda"),
        "system": system(gpus, source),
        "keys": keys(),
        "caches": caches(),
        "packaged_weights": packaged(),
        "models": [examine_model(name, o, gpus=gpus, ram=ram(), plan_for=plan_for) for name, o in models],
        "smoke": smoked,
        "queue": advise(works, _paces(models, smoked), calls),
    }


def _callable(models: Sequence[tuple[str, Options]]) -> list[tuple[str, Options]]:
    """What is called: the smallest packaged model, and what was given by name. A model of weights must lie here, and a
    folder is tried on both engines that load one, so that they can be compared."""
    found: list[tuple[str, Options]] = []
    if "smollm2" in packaged() and find_spec("xllamacpp"):
        found.append(("llamacpp/smollm2", Options()))
    for name, options in models:
        try:
            provider, _, model = settled(name, options)[0].partition("/")
        except RecuseError:
            continue
        is_folder = Path(model).expanduser().is_dir()
        if provider in _BY_FOLDER and is_folder:
            engines = [engine for engine, package in (("hf", "transformers"), ("vllm", "vllm")) if find_spec(package)]
            found += [(f"{engine}/{model}", options) for engine in engines]
        elif provider not in HEAVY or is_folder or Path(model).expanduser().is_file():
            found.append((name, replace(options, max_attempts=min(options.max_attempts, 2))))
    return list(dict.fromkeys(found))


def _paces(models: Sequence[tuple[str, Options]], smoked: Sequence[Mapping[str, Any]]) -> dict[str, Pace]:
    """What was measured of one folder on both engines; the first that was given."""
    by_name = {row["name"]: row for row in smoked if row["state"] == "answered" and row["call"]}
    for name, _ in models:
        model = name.partition("/")[2]
        rows = {engine: by_name.get(f"{engine}/{model}") for engine in _BY_FOLDER}
        if all(rows.values()):
            return {engine: Pace(row["start"], row["call"]) for engine, row in rows.items() if row}
    return {}


def told(report: Mapping[str, Any]) -> str:
    """The report as lines for people."""
    here = report["system"]
    memory = f"{gb(here['ram']['available'])} of {gb(here['ram']['total'])} free" if here["ram"] else "not known"
    lines = [f"recuse {report['recuse']}, Python {report['python']}", "", "Machine"]
    disk = here["disk"]["free"]
    lines.append(f"  {here['cores']} cores, memory {memory}, disk {gb(disk) if disk is not None else 'not known'} free")
    lines += [f"  GPU {gpu['name']}: {gb(gpu['free'])} of {gb(gpu['total'])} free" for gpu in here["gpus"]]
    lines.append(
        f"  GPUs: {len(here['gpus'])} ({here['gpu_source']})" if here["gpus"] else f"  GPUs: {here['gpu_source']}"
    )
    lines += ["", "Packages", *(f"  {_package(p, report['cuda'])}" for p in report["packages"])]
    lines += ["", "Keys and caches"]
    lines += [f"  {name} {'is set' if is_set else 'is not set'}" for name, is_set in report["keys"].items()]
    for cache in report["caches"]:
        room = f"{gb(cache['free'])} free" if cache["free"] is not None else "room not known"
        lines.append(
            f"  {cache['name']}: {cache['folder']} ({'there' if cache['exists'] else 'not there yet'}, {room})"
        )
    lines.append(f"  packaged weights: {', '.join(report['packaged_weights']) or 'none'}")
    if report["models"]:
        lines += ["", "Models", *(line for model in report["models"] for line in _model(model))]
    if report["smoke"]:
        lines += ["", "Calls", *(f"  {_smoke(row)}" for row in report["smoke"])]
    return "\n".join([*lines, "", "Engine by length of the queue", *_queue(report["queue"])])


def _package(row: Mapping[str, Any], cuda: str | None) -> str:
    version = f" {row['version']}" if row["version"] else ""
    if row["name"] == "torch" and row["state"] == "works":
        version += f", CUDA {cuda}" if cuda else ", without CUDA"
    said = f": {row['error']}" if row["error"] else ""
    install = f" ({row['install']})" if row["install"] else ""
    return f"{row['name']}{version}: {row['state']}{said}{install}"


def _model(row: Mapping[str, Any]) -> list[str]:
    fits = {"yes": "fits", "no": "does not fit", "unknown": "not known whether it fits", "elsewhere": "nothing to load"}
    lines = [f"  {row['name']}: {fits[row['fits']]}. {row['said']}"]
    if row["weights"] is not None:
        guess = ", a guess" if row["guess"] else ""
        lines.append(
            f"    {row['parameters'] / 1e9:,.2f} billion parameters, {gb(row['weights'])} (from {row['source']}{guess})"
        )
    if row["kv"] is not None:
        lines.append(
            f"    keys and values: {row['kv_token'] / 1024:,.0f} KiB a token, {gb(row['kv'])} for {row['calls']} calls "
            f"of {row['context']:,} tokens"
        )
    if row["gpus_needed"] is not None:
        replica = " a replica" if row["gpus_in_all"] else ""
        lines.append(f"    GPUs of {gb(row['gpu_memory'])}: {row['gpus_needed']}{replica}")
    return lines


def _smoke(row: Mapping[str, Any]) -> str:
    if row["state"] != "answered":
        return f"{row['name']}: {row['state']}: {row['said']}"
    pace = f", then {row['call']:.2f} s a call" if row["call"] else ""
    return f"{row['name']}: answered {row['said']!r}; {row['start']:.1f} s to start, {row['first']:.2f} s{pace}"


def _queue(row: Mapping[str, Any]) -> list[str]:
    paces, number = row["paces"], row["vllm_pays_from"]
    basis = (
        "measured here"
        if row["measured"]
        else "assumed: a small model on two cores; --smoke with --judge vllm/FOLDER measures where both work"
    )
    numbers = ", ".join(f"{name} {p['start']:.0f} s to start and {p['call']:.2f} s a call" for name, p in paces.items())
    pays = "vllm pays at no number of calls" if number is None else f"vllm pays from {number:,} calls on"
    lines = [f"  {pays} ({basis}: {numbers})"]
    if row["calls"] is not None:
        # Assumed paces order the two engines; as hours they would be wrong for another model, and far off on a GPU.
        times = ", ".join(f"{name} {seconds / 60:,.1f} minutes" for name, seconds in row["seconds"].items())
        took = times if row["measured"] else "how long it takes is not known"
        lines.append(f"  {row['calls']:,} calls: {row['engine']}/… is done first ({took})")
    if absent := [name for name in paces if name not in row["installed"]]:
        lines.append(f"  Not installed or not working here: {', '.join(absent)}.")
    return [
        *lines,
        "  Replies of two engines differ, so choose before a run: recuse never changes an engine by itself.",
    ]
