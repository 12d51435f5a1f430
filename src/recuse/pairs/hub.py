"""Rows of a Hugging Face data set, read as a stream through `datasets`.

`hf:org/name`, `hf:org/name:split`, `hf:org/name:config:split`; a folder or file on disk may stand for `org/name`.
A single suffix names a configuration if there is one of that name, a split otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from recuse.errors import InputError
from recuse.extras import require
from recuse.hub import errors_only, unreachable
from recuse.pairs.readers import Rows

_REACH = 10  # seconds for the first answer of the hub; the libraries' own retries take 24 s where nothing listens
_BUILDERS = {".jsonl": "json", ".json": "json", ".csv": "csv", ".tsv": "csv", ".parquet": "parquet"}


def read_hub(source: str) -> Rows:
    """Rows of `source` ("hf:..."), numbered from 1, without a word of the libraries on the terminal.

    Raises InputError for an unknown name, configuration or split, and for a hub that cannot be reached.
    """
    datasets = require("datasets", "data")
    with quiet(datasets):
        yield from _rows(datasets, source)


@contextmanager
def quiet(datasets: Any) -> Iterator[None]:
    """Errors only from the loggers of both libraries and no progress bars, until the end; then as it was before."""
    import huggingface_hub.utils as hub

    with_bars = [bars for bars in (datasets, hub) if not bars.are_progress_bars_disabled()]
    for bars in with_bars:
        bars.disable_progress_bars()
    try:
        with errors_only("datasets", "huggingface_hub"):
            yield
    finally:
        for bars in with_bars:
            bars.enable_progress_bars()


def _rows(datasets: Any, source: str) -> Rows:
    name, *suffixes = source.removeprefix("hf:").split(":")
    if not name or len(suffixes) > 2:
        raise InputError("this names no data set", path=source, hint="Write hf:org/name[:config][:split].")
    if not Path(name).exists():
        _check_hub(name, source)
    try:
        parts, split = _parts(datasets, name, suffixes)
        if split is None and len(parts) == 1:
            split = next(iter(parts))
    except (FileNotFoundError, ValueError, ConnectionError, OSError) as error:
        raise InputError(f"cannot be loaded ({_brief(error)})", path=source, hint=_advice()) from None
    if split not in parts:
        wanted = "no split is named" if split is None else f"there is no split {split!r}"
        raise InputError(wanted, path=source, hint=f"Append one of: {', '.join(f':{s}' for s in sorted(parts))}.")
    yield from _stream(datasets, parts[split], source)


def _check_hub(name: str, source: str) -> None:
    """Raises InputError where `name` cannot be on the hub, and where the hub does not answer. Asks nothing offline."""
    try:
        import_module("huggingface_hub.utils").validate_repo_id(name)
    except ValueError:
        raise InputError(
            "cannot be loaded: there is no such folder, and this cannot name a data set on the hub",
            path=source, hint="Write hf:org/name[:config][:split].",
        ) from None  # fmt: skip
    if (said := unreachable(seconds=_REACH)) is not None:
        raise InputError(said, path=source, hint="Check the network, or give a file.")


def _stream(datasets: Any, rows: Any, source: str) -> Rows:
    number = 0
    try:
        for number, row in enumerate(rows, start=1):
            yield number, row
    except (OSError, ValueError, datasets.exceptions.DatasetsError) as error:
        reason = _brief(error)
        raise InputError(f"cannot be read on after row {number} ({reason})", path=source, hint="Try again.") from None


def _advice() -> str:
    from huggingface_hub import constants

    offline = constants.HF_HUB_OFFLINE
    return "HF_HUB_OFFLINE is set: unset it, or give a file." if offline else "Check the name and the network."


def _brief(error: Exception) -> str:
    return str(error).strip().split("\n")[0].rstrip(".") or type(error).__name__


def _parts(datasets: Any, name: str, suffixes: list[str]) -> tuple[dict[str, Any], str | None]:
    """The splits by name, and the one that the suffixes ask for."""
    path = Path(name)
    if (path / "state.json").is_file():  # written by Dataset.save_to_disk
        return {"train": datasets.load_from_disk(name)}, suffixes[-1] if suffixes else None
    if (path / "dataset_dict.json").is_file():
        return dict(datasets.load_from_disk(name)), suffixes[-1] if suffixes else None
    if path.is_file():
        suffix = Path(path.name.removesuffix(".gz")).suffix
        if suffix not in _BUILDERS:
            raise ValueError(f"the ending {suffix!r} is not known")
        more = {"delimiter": "\t"} if suffix == ".tsv" else {}
        parts = datasets.load_dataset(_BUILDERS[suffix], data_files=name, streaming=True, **more)
        return dict(parts), suffixes[-1] if suffixes else None
    config, split = None, None
    if len(suffixes) == 2:
        config, split = suffixes
    elif suffixes:
        is_config = suffixes[0] in datasets.get_dataset_config_names(name)
        config, split = (suffixes[0], None) if is_config else (None, suffixes[0])
    return dict(datasets.load_dataset(name, config, streaming=True)), split
