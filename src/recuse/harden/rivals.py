"""Variants made ready to be asked: which model, with which prompt and settings, and by which rule verdicts follow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from recuse.asks import Design
from recuse.backends import Capabilities, Options, settled
from recuse.blinding.pairs import Blinds
from recuse.errors import InputError, UsageError
from recuse.harden.like import Like
from recuse.harden.variants import PRESENT, Variant
from recuse.harden.wording import Wording, read_paragraph, read_wording, told, warnings
from recuse.lab.engines import Described, Model
from recuse.library import Bias, load_library
from recuse.plan import AuditConfig, sampling_of
from recuse.types import Pair

Rule = Literal["alone", "both orders", "majority"]
APPLY: dict[Rule, str] = {
    "both orders": "Ask the judge about (first, second) and about (second, first). Where both verdicts name the same "
    "answer, that is the verdict; otherwise it is a tie.",
    "majority": "Ask every judge of the panel. The outcome with most votes is the verdict; where two have as many, it "
    "is a tie.",
}  # fmt: skip


@dataclass(frozen=True)
class Seat:
    """One model that gives verdicts."""

    model: Model
    described: Described

    @property
    def can(self) -> Capabilities:
        return self.described.capabilities


@dataclass(frozen=True)
class Asker:
    """One way to ask one model."""

    seat: Seat
    design: Design
    config: AuditConfig  # settings as the user gives them
    blinds: Blinds | None = None  # beyond what the present judge is not shown

    @property
    def calls_a_verdict(self) -> int:
        """One for a comparison, two where each answer is scored alone."""
        return 1 if self.design.views[0] == "AB" else 2


@dataclass(frozen=True)
class Rival:
    """The present judge, or a variant of it."""

    id: str
    what: str  # how it differs, for people
    askers: tuple[Asker, ...]  # one, or a panel
    rule: Rule = "alone"
    wording: Wording | None = None  # None: a reward model

    @property
    def calls_a_verdict(self) -> int:
        return sum(asker.calls_a_verdict for asker in self.askers) * (2 if self.rule == "both orders" else 1)

    def table(self) -> dict[str, Any]:
        """All that determines its verdicts."""
        repeats = self.askers[0].design.repeats
        return {
            **({"repeats": repeats} if repeats > 1 else {}),
            "rule": self.rule,
            "prompt": self.wording.name if self.wording else None,
            "prompt_hash": self.wording.prompt.hash if self.wording else None,
            "judges": [asker.seat.model.name for asker in self.askers],
            "engines": [dict(asker.seat.described.versions) for asker in self.askers],
            "sampling": [_settings(asker) for asker in self.askers],
            "blinded": self.askers[0].blinds.table() if self.askers[0].blinds else None,
        }


def _settings(asker: Asker) -> dict[str, Any]:
    sampling = asker.design.sampling
    return {
        "temperature": "provider default" if sampling.temperature is None else sampling.temperature,
        "max_tokens": sampling.max_tokens, "top_logprobs": sampling.top_logprobs, "choice": sampling.choice,
    }  # fmt: skip


Seats = Callable[[str, Options], Seat]  # the seat of a model, opened where it is new


def models_of(variant: Variant, present: AuditConfig) -> list[tuple[str, Options]]:
    """The models that a variant asks, with how they are reached: the present one as it is."""
    elsewhere = replace(present.options, base_url=variant.base_url)
    names = variant.panel or [variant.judge or present.judge]
    wanted = [settled(name, elsewhere) for name in names]
    return [
        (name, present.options if name == present.judge and not variant.base_url else reached)
        for name, reached in wanted
    ]


def present_rival(config: AuditConfig, design: Design, seat: Seat) -> Rival:
    wording = read_wording(config.prompt) if design.prompt else None
    return Rival(PRESENT, "the judge as it is", (Asker(seat, design, config),), wording=wording)


def make_rival(
    variant: Variant, present: Rival, *, seats: Seats, like: Like, pairs: Sequence[Pair], library: Path | None
) -> Rival:
    """Raises RecuseError, naming the variant, for what cannot be: a prompt that is none, a bias that nobody knows,
    pairs without the references that a prompt shows."""
    config = present.askers[0].config
    wording = _wording(variant, present, like, library)
    _check(variant, wording, pairs)
    changes: dict[str, Any] = {
        name: value for name in ("max_tokens", "choice") if (value := getattr(variant, name)) is not None
    }
    if variant.temperature is not None:
        changes["temperature"] = None if variant.temperature == "default" else variant.temperature
    if variant.max_tokens is None and wording.prompt.spec.format != present.askers[0].design.prompt.spec.format:  # type: ignore[union-attr]
        changes["max_tokens"] = None  # a limit set for a label would cut reasons off
    asked = replace(config, prompt=wording.name, **changes)
    blinds = None
    if variant.blind is not None:
        if config.blinds is not None:
            raise UsageError(f"Variant {variant.id!r}: the present judge is blinded already.", hint="Leave blind out.")
        blinds = Blinds(variant.blind.names, variant.blind.names_file, variant.blind.signals)
    rule: Rule = "majority" if variant.panel else "both orders" if variant.tie_on_disagreement else "alone"
    askers = []
    for name, options in models_of(variant, config):
        seat = seats(name, options)
        if not seat.can.explains:
            raise UsageError(f"Variant {variant.id!r}: {name} is a reward model and takes no prompt.",
                             hint="Name a model that writes.")  # fmt: skip
        own = replace(asked, judge=name, options=options)
        askers.append(Asker(seat, Design(wording.prompt, sampling_of(own, wording.prompt, seat.can)), own, blinds))
    return Rival(variant.id, describe(variant), _repeated(askers, config.repeats), rule, wording)


def _repeated(askers: Sequence[Asker], repeats: int) -> tuple[Asker, ...]:
    """Asked as often as was wished, where any of them may say something else the next time."""
    if repeats == 1 or all(asker.design.sampling.temperature == 0.0 for asker in askers):
        return tuple(askers)
    return tuple(replace(asker, design=replace(asker.design, repeats=repeats)) for asker in askers)


def _wording(variant: Variant, present: Rival, like: Like, library: Path | None) -> Wording:
    if present.wording is None:
        raise UsageError("The present judge is a reward model, which takes no prompt: there are no variants of it.")
    pointwise = present.wording.prompt.kind == "pointwise"
    name = variant.prompt
    if name is None and variant.reasons_first:
        name = "pairwise/reason"
    if name is None and variant.reference and "reference" not in present.wording.prompt.holes:
        name = "pointwise/reference" if pointwise else "pairwise/label_reference"
    base = present.wording if name is None else read_wording(name)
    more = [read_paragraph(variant.paragraph)] if variant.paragraph else []
    if variant.library is not None:
        more.append(warnings(_warned(variant, like, library)))
    return told(base, more, as_=variant.id)


def _warned(variant: Variant, like: Like, library: Path | None) -> list[Bias]:
    found = {source.bias.id: source.bias for source in like.sources}
    if variant.library == "confirmed":
        return list(found.values())
    known = {**load_library(library), **found}
    if variant.library == "all":
        return list(known.values())
    ids = list(variant.library or ())
    if unknown := [id for id in ids if id not in known]:
        raise UsageError(
            f"Variant {variant.id!r}: there is no bias {unknown[0]!r}.", hint=f"Choose from: {', '.join(known)}."
        )
    return [known[id] for id in ids]


def _check(variant: Variant, wording: Wording, pairs: Sequence[Pair]) -> None:
    who = f"Variant {variant.id!r}"
    holes = wording.prompt.holes
    if variant.reference and "reference" not in holes:
        raise UsageError(f"{who}: the prompt {wording.name} has no {{{{reference}}}}.", hint="Give one that shows it.")
    bare = next((pair for pair in pairs if pair.reference is None), None)
    if "reference" in holes and bare is not None:
        raise InputError(
            f"{who}: pair {bare.id} has no reference answer",
            hint="Name the column with --column reference=NAME, or leave the variant out.",
        )
    if variant.tie_on_disagreement and wording.prompt.kind != "pairwise":
        raise UsageError(f"{who}: tie_on_disagreement needs a prompt that shows both answers.", hint="Leave it out.")
    if variant.panel and variant.tie_on_disagreement:
        raise UsageError(f"{who}: a panel with tie_on_disagreement is two rules at once.", hint="Choose one of them.")


_PLAIN: Mapping[str, str] = {
    "judge": "model {}", "base_url": "at {}", "prompt": "prompt {}", "max_tokens": "at most {} tokens",
    "temperature": "temperature {}",
}  # fmt: skip


def describe(variant: Variant) -> str:
    """How a variant differs, in a few words."""
    said = [form.format(value) for name, form in _PLAIN.items() if (value := getattr(variant, name)) is not None]
    if variant.paragraph:
        said.append("a paragraph of advice")
    if variant.library is not None:
        listed = variant.library if isinstance(variant.library, str) else ", ".join(variant.library)
        said.append(f"warned of biases ({listed})")
    flags = {
        "reference": "shown the reference answer", "reasons_first": "reasons before the verdict",
        "tie_on_disagreement": "both orders, a tie where they differ", "choice": "replies restricted to the labels",
    }  # fmt: skip
    said += [words for name, words in flags.items() if getattr(variant, name)]
    if variant.choice is False:
        said.append("replies not restricted to the labels")
    if variant.panel:
        said.append(f"majority of {', '.join(variant.panel)}")
    if variant.blind:
        said.append("blinded")
    return "; ".join(said)
