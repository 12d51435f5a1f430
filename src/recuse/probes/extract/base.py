"""What an extractor is: one reply in, a number (or none and the reason) for each of its metrics out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pydantic import BaseModel, ValidationError

from recuse.errors import InputError, fault_of
from recuse.types import Reply

Bounds = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Value:
    """What was read for one metric. `value` None: nothing could be read, and `reason` says why."""

    value: float | None
    label: str | None = None  # the value in words: the decision's label, the words that were counted
    reason: str | None = None


class Extractor(Protocol):
    @property
    def bounds(self) -> Mapping[str, Bounds]:
        """Metric -> the range of its values, infinite where it is open. Every metric stands here."""
        ...

    def read(self, reply: Reply, *, base: Reply | None = None) -> Mapping[str, Value]:
        """All metrics of one reply. Never raises, whatever the text. `base` is the reply to the profile without a
        signal, in the same template and draw."""
        ...


# Name in a plan's [extract.NAME] -> its settings and what builds it from them; filled by `recuse.probes.extract`.
EXTRACTORS: dict[str, tuple[type[BaseModel], Callable[[Any], Extractor]]] = {}


def build_extractor(name: str, settings: Mapping[str, object], *, path: object = None) -> Extractor:
    """The extractor of a plan's table `[extract.NAME]`; `path` is the plan, for messages and for files beside it.

    Raises InputError naming the key for an unknown extractor and for settings that it does not take.
    """
    if name not in EXTRACTORS:
        raise InputError(
            f"there is no extractor {name!r}", path=path, field=f"extract.{name}",
            hint=f"Use one of: {', '.join(EXTRACTORS)}.",
        )  # fmt: skip
    form, build = EXTRACTORS[name]
    try:
        made = form.model_validate(settings)
        if isinstance(path, str | Path):
            made = made.model_copy(update={k: Path(path).parent / v for k, v in made if isinstance(v, Path)})
        return build(made)
    except ValidationError as error:
        where, said = fault_of(error)
        place = ".".join(["extract", name, *([where] if where else [])])
        hint = f"It takes: {', '.join(form.model_fields)}." if said == "unknown key" else "Correct this key."
        raise InputError(said, path=path, field=place, hint=hint) from None
