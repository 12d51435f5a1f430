"""A table of slices as a finished run, so that `recuse gate` can hold a release to it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from recuse.probes.sliced import Sliced, slice_findings, sliced_json
from recuse.run import RunFolder


def keep_slices(found: Sliced, folder: Path, *, asked: Mapping[str, Any], level: float = 0.95) -> None:
    """Write findings.json and run.toml into `folder`; `asked` says how the table was read.

    The same table may be cut anew in place; the records may have grown, for they are what is measured. Raises
    ConfigMismatch for a folder that holds another question.
    """
    config = {"probe": "slices", **asked}
    with RunFolder(folder, config) as run:
        run.kept = True
        table = sliced_json(found)
        content = {
            "schema": 1, "kind": "probe", "headline": _headline(found), "model": "",
            "plan": {"records": found.table.path}, "level": level,
            "findings": [asdict(finding) for finding in slice_findings(found)],
            "tables": {"slices": table["slices"], "cuts": table["cuts"], "outcome": table["outcome"]},
            "notes": list(found.notes), "usage": {"calls": 0},
            "config": {key: value for key, value in config.items() if value is not None},
        }  # fmt: skip
        run.write("findings.json", json.dumps(content, indent=2, allow_nan=False) + "\n")


def _headline(found: Sliced) -> str:
    rated = [one for one in found.slices if one.rates.ratio is not None]
    if not rated:
        return "No slice has a rate."
    worst = rated[0]
    ratio, n = worst.rates.ratio, worst.rates.n
    return f"The lowest of {len(rated):,} slices is {worst.name}: {ratio:.3f} of the best, n {n:,}."
