"""Find the names of persons in free text, where no list of them is at hand.

A detector proposes names; the redactor replaces every form of them. It misses some, and what it misses no check can
know: where names are known, give them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from recuse.errors import InputError, UsageError
from recuse.extras import require

_BATCH = 16  # windows in one forward pass
_OVERLAP = 0.25  # of a window is seen again in the next: a name on the border is whole in one of them
# A label's last part, without its B- or I-: named-entity models have PER, models for personal data the longer ones.
_PERSON = {"per", "pers", "person", "name", "fullname", "givenname", "firstname", "middlename", "surname", "lastname"}
UNPARTED = r"\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff"  # scripts that write words without blanks between them
_LETTER = rf"[^\W{UNPARTED}]"
_WORD = re.compile(rf"[{UNPARTED}]|{_LETTER}(?:(?:{_LETTER}|['’.-])*{_LETTER})?")
_POSSESSIVE = re.compile(r"['’]s\Z")


class NamesDetector(Protocol):
    """Anything that proposes names; `recuse.blinding.files.blind_file` takes one."""

    def find(self, texts: Sequence[str]) -> list[tuple[str, ...]]:
        """For each text the names of persons in it, as written there, each once. The order means nothing."""
        ...


def load_detector(model: str, *, threshold: float = 0.5, device: str | None = None) -> TokenClassifier:
    """A token-classification model of transformers: a local folder, or a name on the hub.

    threshold   a word is part of a name where the model gives the labels of persons at least this much together; lower
                finds more
    device      "cpu", "cuda" ...; default: a GPU where there is one

    Only safetensors are loaded and no code of the repository is run. Raises MissingExtra without transformers,
    InputError for a folder that is missing or holds no such model, UsageError for other wrong options.
    """
    if not 0.0 < threshold < 1.0:
        raise UsageError(f"The threshold {threshold} is not between 0 and 1.")
    if not Path(model).is_dir() and (model.startswith((".", "/", "~")) or model.count("/") != 1):
        raise InputError("there is no such folder", path=model, hint="Give a model's folder, or owner/model on a hub.")
    transformers, torch = require("transformers", "hf"), require("torch", "hf")
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(model)
        found = transformers.AutoModelForTokenClassification.from_pretrained(
            model, use_safetensors=True, dtype=torch.float32
        )
    except (OSError, ValueError) as error:
        said = " ".join(str(error).split())[:200]
        raise InputError(f"this is no model that finds names ({said})", path=model, hint="Name another one.") from None
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    if not tokenizer.is_fast:
        raise InputError("its tokenizer does not tell where tokens stand", path=model, hint="Use one that is fast.")
    persons = [i for i, label in found.config.id2label.items() if _kind(label) in _PERSON]
    if not persons:
        listed = ", ".join(sorted(found.config.id2label.values()))[:120]
        raise InputError(f"none of its labels ({listed}) is a person's", path=model, hint="Name another model.")
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    return TokenClassifier(tokenizer, found.to(device).eval(), tuple(persons), threshold)


def _kind(label: str) -> str:
    return re.sub(r"^[BIESLU][-_]", "", label).replace("_", "").replace("-", "").casefold()


@dataclass(frozen=True)
class TokenClassifier:
    """See `load_detector`."""

    tokenizer: Any
    model: Any
    persons: tuple[int, ...]  # ids of the labels of persons
    threshold: float

    def find(self, texts: Sequence[str]) -> list[tuple[str, ...]]:
        """Names as they stand in each text. Long texts are read in windows that overlap; nothing is cut off."""
        spans: list[set[tuple[int, int]]] = [set() for _ in texts]
        windows = (window for i, text in enumerate(texts) for window in self._windows(i, text))
        while batch := list(islice(windows, _BATCH)):
            for window, marked in zip(batch, self._marked(batch), strict=True):
                spans[window.text] |= marked
        return [
            tuple(dict.fromkeys(_POSSESSIVE.sub("", name) for name in _names(text, found)))
            for text, found in zip(texts, spans, strict=True)
        ]

    def _windows(self, index: int, text: str) -> Iterator[_Window]:
        limits = (self.tokenizer.model_max_length, getattr(self.model.config, "max_position_embeddings", 512) - 2)
        size = min(512, *(limit for limit in limits if limit > 2))
        coded = self.tokenizer(
            text, truncation=True, max_length=size, stride=int(size * _OVERLAP), return_overflowing_tokens=True,
            return_offsets_mapping=True, return_special_tokens_mask=True,
        )  # fmt: skip
        for ids, offsets, special in zip(
            coded["input_ids"], coded["offset_mapping"], coded["special_tokens_mask"], strict=True
        ):
            yield _Window(index, ids, [None if s else (a, b) for (a, b), s in zip(offsets, special, strict=True)])

    def _marked(self, batch: Sequence[_Window]) -> list[set[tuple[int, int]]]:
        """The characters of the tokens that are part of a name, for each window."""
        import torch

        padded = self.tokenizer.pad({"input_ids": [w.ids for w in batch]}, return_tensors="pt").to(self.model.device)
        with torch.inference_mode():
            logits = self.model(input_ids=padded["input_ids"], attention_mask=padded["attention_mask"]).logits
        chance = logits.float().softmax(-1)[..., list(self.persons)].sum(-1)
        left = self.tokenizer.padding_side == "left"
        marked = []
        for window, row in zip(batch, chance.tolist(), strict=True):
            values = row[-len(window.ids) :] if left else row[: len(window.ids)]
            pairs = zip(window.places, values, strict=True)
            marked.append({place for place, value in pairs if place and value >= self.threshold})
        return marked


@dataclass(frozen=True, slots=True)
class _Window:
    text: int  # which of the texts
    ids: list[int]
    places: list[tuple[int, int] | None]  # the characters of each token; None for special tokens


def _names(text: str, marked: Iterable[tuple[int, int]]) -> Iterator[str]:
    """Whole words that a marked token touches; neighbours with only a blank between them are one name.

    A name that follows another without a mark between them is thus joined to it; the redactor knows the parts too.
    """
    spans, start, end = sorted(marked), -1, -1
    position = 0
    for word in _WORD.finditer(text):
        while position < len(spans) and spans[position][1] <= word.start():
            position += 1
        touched = position < len(spans) and spans[position][0] < word.end()
        if touched and start >= 0 and not text[end : word.start()].strip():
            end = word.end()
            continue
        if start >= 0:
            yield text[start:end]
            start = -1
        if touched:
            start, end = word.span()
    if start >= 0:
        yield text[start:end]
