"""Rows of a Hugging Face data set, read as a stream through `datasets`.

`hf:org/name`, `hf:org/name:split`, `hf:org/name:config:split`; a folder or file on disk may stand for `org/name`.
A single suffix names a configuration if there is one of that name, a split otherwise.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from recuse.errors import InputError
from recuse.extras import require
from recuse.pairs.readers import Rows

_BUILDERS = {".jsonl": "json", ".json": "json", ".csv": "csv", ".tsv": "csv", ".parquet": "parquet"}


def read_hub(source: str) -> Rows:
    """Rows of `source` ("hf:..."), numbered from 1. Raises InputError for an unknown name, configuration or split."""
    datasets = require("datasets", "data")
    name, *suffixes = source.removeprefix("hf:").split(":")
    if not name or len(suffixes) > 2:
        raise InputError("this names no data set", path=source, hint="Write hf:org/name[:config][:split].")
    try:
        parts, split = _parts(datasets, name, suffixes)
        if split is None and len(parts) == 1:
            split = next(iter(parts))
    except (FileNotFoundError, ValueError, ConnectionError, OSError) as error:
        raise InputError(
            f"cannot be loaded ({_brief(error)})", path=source, hint="Check the name and the network."
        ) from None
    if split not in parts:
        wanted = "no split is named" if split is None else f"there is no split {split!r}"
        raise InputError(wanted, path=source, hint=f"Append one of: {', '.join(f':{s}' for s in sorted(parts))}.")
    return _stream(datasets, parts[split], source)


def _stream(datasets: Any, rows: Any, source: str) -> Rows:
    number = 0
    try:
        for number, row in enumerate(rows, start=1):
            yield number, row
    except (OSError, ValueError, datasets.exceptions.DatasetsError) as error:
        reason = _brief(error)
        raise InputError(f"cannot be read on after row {number} ({reason})", path=source, hint="Try again.") from None


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
