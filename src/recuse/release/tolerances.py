"""The bands of a release, fixed in advance in a file. Its form is that of an audit's gate.toml, and more:

schema = 1

[primary."probe.gap:decision:women/men"]     # the id of a finding of the run
min = -0.05                                  # the whole interval must lie from min to max; give one or both
max = 0.05
max_rise = 0.02                              # against --baseline: by how much it may have risen or fallen
max_fall = 0.02
recuse = true                                # false: it can prevent "pass" and never cause "fail"

[worst_slice]                                # on the findings slice.ratio:TAG=VALUE of the run
floor = 0.8                                  # a ratio to the best slice under it, with p under 1 - level, fails
level = 0.95
smallest = 300                               # any other slice of fewer cases prevents "pass"
by = ["dialect"]                             # the tags that are meant; left out: all

So every gate.toml of an audit can be given here as it is. Its `level` is the one at which the run made its intervals:
a run whose intervals are narrower is refused. Its table `[calibration]` was applied by the audit, which withholds what
its judge may not say; what is withheld never passes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from recuse import assets
from recuse.calibration.verdict import KappaRule
from recuse.errors import InputError, fault_of

# strict: true is no 1, and "0.05" no number
Bound = Annotated[float | None, Field(strict=True, allow_inf_nan=False)]
Drift = Annotated[float | None, Field(strict=True, ge=0.0, allow_inf_nan=False)]
Limits = tuple[float | None, float | None]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Band(_Model):
    min: Bound = None
    max: Bound = None
    max_rise: Drift = None
    max_fall: Drift = None
    recuse: bool = True

    @model_validator(mode="after")
    def _bounded(self) -> Band:
        if self.level is None and self.change is None:
            raise ValueError("give min, max, max_rise or max_fall")
        if self.min is not None and self.max is not None and self.min >= self.max:
            raise ValueError("min must be below max")
        return self

    @property
    def level(self) -> Limits | None:
        """Between what the metric itself must lie; None where the file does not say."""
        return None if self.min is None and self.max is None else (self.min, self.max)

    @property
    def change(self) -> Limits | None:
        """The same for run minus baseline."""
        if self.max_rise is None and self.max_fall is None:
            return None
        return None if self.max_fall is None else -self.max_fall, self.max_rise


class WorstSlice(_Model):
    floor: Annotated[float, Field(gt=0.0, le=1.0)] = 0.8
    level: Annotated[float, Field(gt=0.5, lt=1.0)] = 0.95
    smallest: Annotated[int, Field(ge=1)] = 300
    by: Annotated[list[str], Field(min_length=1)] | None = None


class Tolerances(_Model):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)
    version: Literal[1] = Field(alias="schema")
    level: Annotated[float, Field(gt=0.5, lt=1.0)] = 0.95
    primary: dict[str, Band] = Field(default_factory=dict)
    worst_slice: WorstSlice | None = None
    calibration: KappaRule | None = None

    @model_validator(mode="after")
    def _decides(self) -> Tolerances:
        if not self.primary and self.worst_slice is None:
            raise ValueError('nothing to decide: give a table [primary."finding.id"] or [worst_slice]')
        return self

    def plain(self) -> dict[str, Any]:
        return self.model_dump(by_alias=True, exclude_none=True)


def load_tolerances(path: Path) -> Tolerances:
    """Raises InputError naming the file and the key."""
    try:
        return Tolerances.model_validate(assets.read_toml(path, hint="Give a gate.toml file."))
    except ValidationError as error:
        where, said = fault_of(error)
        raise InputError(said, path=path, field=where, hint="Correct this key." if where else "") from None
