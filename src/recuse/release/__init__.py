"""The release gate: findings of a finished run against bands that were fixed before, as pass, fail or inconclusive."""

from __future__ import annotations

from recuse.release.decide import Release, gate_run
from recuse.release.read import RunRead, read_run
from recuse.release.tolerances import Tolerances, load_tolerances

__all__ = ["Release", "RunRead", "Tolerances", "gate_run", "load_tolerances", "read_run"]
