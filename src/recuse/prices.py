"""What a million tokens cost: a small dated table that ships with recuse, and the user's own before it."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from recuse import assets
from recuse.errors import InputError, UsageError

BATCHES = frozenset({"openai", "anthropic"})  # providers that take calls in batch files
_BATCHED = 0.5  # share of the price that such a call costs, at each of them
_VERSION = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8}|latest)$")


@dataclass(frozen=True, slots=True)
class Price:
    """Money for a million tokens, in the currency of the price table."""

    input: float
    output: float
    batched: bool = False  # whether calls are to go out in batch files

    def of(self, tokens_in: int, tokens_out: int, *, batched: bool | None = None) -> float:
        """What tokens cost, in a batch file or not; None: as calls are to go out."""
        share = _BATCHED if (self.batched if batched is None else batched) else 1.0
        return share * (tokens_in * self.input + tokens_out * self.output) / 1e6


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid")
    input: float = Field(ge=0)
    output: float = Field(ge=0)


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid")
    date: str = ""
    models: dict[str, _Entry]


def price_of(name: str, path: Path | None = None) -> Price | None:
    """The price of the judge `name` ("openai/gpt-4o-mini") in the table at `path` or the shipped one; None if unknown.

    A dated version costs what its model costs, unless it has an entry of its own. Raises InputError for a table that
    cannot be read.
    """
    for source in (path, assets.data("prices.toml")):
        if source is None:
            continue
        models = _read(source).models
        entry = models.get(name) or models.get(_VERSION.sub("", name))
        if entry is not None:
            return Price(entry.input, entry.output)
    return None


def priced(name: str, path: Path | None, *, local: bool, capped: bool, batched: bool = False) -> Price | None:
    """What the table says, even of a server on this machine, which may be a proxy; what runs here is free otherwise.

    `batched`: its calls go out in batch files, if its provider takes them.
    Raises UsageError where there is no price and the cost is capped.
    """
    price = price_of(name, path) or (Price(0.0, 0.0) if local else None)
    if price is None and capped:
        raise UsageError(
            f"There is no price for {name}, so --max-cost cannot hold.", hint="Give one with --prices FILE."
        )
    return replace(price, batched=batched and has_batches(name)) if price else None


def has_batches(name: str) -> bool:
    """Whether the provider of `name` ("openai/gpt-4o-mini") takes calls in batch files."""
    return name.partition("/")[0] in BATCHES


def date_of(path: Path | None = None) -> str:
    """The date of the table at `path`, or of the shipped one; empty where the table has none."""
    return _read(path or assets.data("prices.toml")).date


def _read(path: Path) -> _Table:
    try:
        return _Table.model_validate(tomllib.loads(path.read_text("utf-8")))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path, hint="Check --prices.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"is not TOML: {error}", path=path, hint="Correct it.") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        form = '"openai/NAME" = { input = 1.0, output = 2.0 }'
        raise InputError(str(first["msg"]), path=path, field=where, hint=f"Write under [models]: {form}.") from None
