"""A reward model as a judge: it reads one answer at a time and gives a number; the higher one is preferred."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any

from recuse.backends.base import Capabilities, Options
from recuse.backends.chat import messages_of
from recuse.backends.hf import Loaded, Prepared, batch_size, free, in_batches, load, pad, prepare
from recuse.errors import UsageError
from recuse.types import Ask, Call, Reply


def open(model: str, options: Options) -> HFReward:
    """A sequence classifier with a single output. Raises UsageError for another one, and what `hf.load` raises."""
    loaded = load("AutoModelForSequenceClassification", model, options)
    outputs = loaded.model.config.num_labels
    if outputs != 1:
        raise UsageError(
            f"hf-reward/{model} has {outputs} outputs; a reward model has one.",
            hint="Use hf/… for a model that writes.",
        )
    # The model looks for the last token that is no padding.
    loaded.model.config.get_text_config().pad_token_id = loaded.tokenizer.pad_token_id
    return HFReward(f"hf-reward/{model}", loaded, options)


class HFReward:
    """Takes asks whose last message is the assistant's answer. See `Backend` for the contract of each method."""

    def __init__(self, name: str, loaded: Loaded, options: Options) -> None:
        self.name = name
        self.capabilities = Capabilities(
            temperature=False, explains=False, greedy=True, local=True, max_context=loaded.max_context
        )
        self._loaded = loaded
        self._batch = batch_size(loaded, options)

    @staticmethod  # a Ray driver forms requests without the weights
    def body(ask: Ask) -> dict[str, Any]:
        return {"messages": messages_of(ask)}

    def generate(self, calls: Iterable[Call]) -> Iterator[Reply]:
        return in_batches(calls, prepare=self._prepare, run=self._run, size=self._batch)

    def versions(self) -> dict[str, str]:
        return self._loaded.versions()

    def close(self) -> None:
        """Free the weights. Idempotent; nothing can be asked afterwards."""
        free(self)

    def _prepare(self, call: Call) -> Prepared | Reply:
        if call.ask.messages[-1].role != "assistant":
            problem = "a reward model scores an answer, and this ask does not end with one"
            return Reply(call.key, "", "error", error=problem)
        return prepare(call, self._loaded, reply=False)

    def _run(self, batch: list[Prepared]) -> list[Reply]:
        import torch

        started = time.monotonic()
        with torch.inference_mode():
            scores = self._loaded.model(**pad(batch, self._loaded)).logits[:, 0].float().tolist()
        seconds = time.monotonic() - started
        return [
            Reply(
                key=p.call.key,
                text=repr(score),
                score=score,
                tokens_in=len(p.ids),
                tokens_out=0,
                seconds=seconds,
                model=self._loaded.source.rpartition("/")[2],
                notes=p.notes,
            )
            for p, score in zip(batch, scores, strict=True)
        ]
