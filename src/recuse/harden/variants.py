"""What a variants file says: how each variant differs from the present judge, and what is to be decided.

    primary = "accuracy.error_rate"        # what a variant must do better in; or bias.ID.effect ...
    margin = 0.05                          # how much worse the rest may be, as a fraction
    cost_ratio = 3.0                       # tokens of a pair beside the present judge's, at most; absent: only reported

    [margins]                              # of single measures
    "failures.rate" = 0.02

    [[variants]]
    id = "warned"
    paragraph = "recommendation.md"        # a text, or a file: at the end of the prompt's system message
    library = ["authority", "citation"]    # or "confirmed", or "all": a list of warnings, after the paragraph

Paths are relative to the file.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from recuse.assets import read_toml
from recuse.errors import InputError

PRIMARY, MARGIN, PRESENT = "accuracy.error_rate", 0.05, "present"
_Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
_Id = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]*$", max_length=40)]
_Margin = Annotated[float, Field(gt=0.0, lt=1.0)]


class Blind(BaseModel):
    """As `recuse audit` has it: a column of names, a file of names, a file of further signals."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    names: _Text | None = None
    names_file: Path | None = None
    signals: Path | None = None

    @model_validator(mode="after")
    def _something(self) -> Blind:
        if not (self.names or self.names_file or self.signals):
            raise ValueError("names nothing: give names, names_file or signals")
        return self


class Variant(BaseModel):
    """One changed judge. What is not given is as the present judge has it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: _Id
    judge: _Text | None = None  # another model, provider/model
    base_url: _Text | None = None  # of that model
    prompt: _Text | None = None  # a file, or a prompt that ships with recuse
    paragraph: _Text | None = None  # a text, or a file with one
    library: Literal["all", "confirmed"] | list[_Id] | None = None
    reference: bool = False  # a prompt that shows the reference answer
    reasons_first: bool = False  # a prompt that has the judge reason before its verdict
    tie_on_disagreement: bool = False  # both orders are asked; where they differ the verdict is a tie
    panel: list[_Text] | None = Field(default=None, min_length=2)  # models whose majority is the verdict
    blind: Blind | None = None
    temperature: float | Literal["default"] | None = Field(default=None)
    max_tokens: int | None = Field(default=None, ge=1)
    choice: bool | None = None

    @model_validator(mode="after")
    def _sound(self) -> Variant:
        if self.id == PRESENT:
            raise ValueError(f"{PRESENT!r} is the name of the judge as it is")
        if self.panel and (self.judge or self.base_url):
            raise ValueError("a panel names its judges itself: leave judge and base_url out")
        if self.panel and len(set(self.panel)) < len(self.panel):
            raise ValueError("the panel names a judge twice, who would have two votes")
        if self.base_url and not self.judge:
            raise ValueError("base_url goes with judge")
        if self.reference and self.reasons_first and self.prompt is None:
            raise ValueError("reference and reasons_first each bring a prompt: give `prompt` a file that does both")
        if isinstance(self.temperature, float) and not 0.0 <= self.temperature <= 10.0:
            raise ValueError('temperature is a number from 0 on, or "default"')
        if isinstance(self.library, list) and not self.library:
            raise ValueError("the library list is empty")
        if self.model_fields_set == {"id"}:
            raise ValueError("the variant changes nothing: say what is different in it")
        return self


class Variants(BaseModel):
    """All that is to be tried, and the rule by which one of them wins."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    primary: _Text = PRIMARY
    margin: _Margin = MARGIN
    margins: dict[str, _Margin] = {}
    cost_ratio: float | None = Field(default=None, gt=0.0)
    variants: list[Variant] = Field(min_length=1)

    @model_validator(mode="after")
    def _distinct(self) -> Variants:
        if twice := _twice(variant.id for variant in self.variants):
            raise ValueError(f"two variants have the id {twice!r}")
        return self


def load_variants(path: Path) -> Variants:
    """The variants of a TOML file, its relative paths resolved. Raises InputError for a file that is none such."""
    content = read_toml(path, hint="Give --variants a TOML file.")
    try:
        found = Variants.model_validate(content)
    except ValidationError as error:
        raise _wrong(error, content, path) from None
    folder = path.resolve().parent
    return found.model_copy(update={"variants": [_resolved(variant, folder) for variant in found.variants]})


def default_variants(*, pairwise: bool, references: bool, biases: bool) -> Variants:
    """Where no file is given: a warning of the confirmed biases, reasons first, both orders with a tie where they
    differ, and reference answers where every pair has one; of these what suits the judge's prompt."""
    chosen = [Variant(id="warned", library="confirmed")] if biases else []
    if pairwise:
        chosen += [Variant(id="reasons-first", reasons_first=True), Variant(id="both-orders", tie_on_disagreement=True)]
    if references:
        chosen.append(Variant(id="reference", reference=True))
    return Variants(variants=chosen)


def _resolved(variant: Variant, folder: Path) -> Variant:
    """With the files that lie beside the variants file named in full."""
    changes: dict[str, Any] = {}
    for name in ("prompt", "paragraph"):
        given = getattr(variant, name)
        if given is not None and (found := _file(folder, given)) is not None:
            changes[name] = str(found)
    if variant.blind is not None:
        own = {"names_file": variant.blind.names_file, "signals": variant.blind.signals}
        changes["blind"] = variant.blind.model_copy(update={k: folder / v for k, v in own.items() if v is not None})
    return variant.model_copy(update=changes)


def _file(folder: Path, given: str) -> Path | None:
    if "\n" in given or len(given) > 400:
        return None
    return folder / given if (folder / given).is_file() else None


def _twice(names: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _wrong(error: ValidationError, content: dict[str, Any], path: Path) -> InputError:
    """The first fault in one sentence, with the variant's id in place of its number."""
    first = error.errors()[0]
    parts = [str(part) for part in first["loc"] if "[" not in str(part) and part not in ("float", "constrained-str")]
    if len(parts) > 1 and parts[0] == "variants" and parts[1].isdigit():
        entries = content.get("variants")
        entry = entries[int(parts[1])] if isinstance(entries, list) else None
        named = entry.get("id") if isinstance(entry, dict) else None
        parts[1] = str(named) if named else f"number {int(parts[1]) + 1}"
    message = str(first["msg"]).removeprefix("Value error, ")
    return InputError(
        message[0].lower() + message[1:], path=path, field=".".join(parts) or None, hint="Correct the variants file."
    )
