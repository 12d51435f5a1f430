"""Any causal language model through transformers: batched with left padding, exact probabilities of the labels."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from itertools import islice
from pathlib import Path
from typing import Any

from recuse import hub, weights
from recuse.backends.base import Capabilities, Options, require
from recuse.backends.chat import free_cores, render, settings, spellings, too_long
from recuse.errors import ProviderError
from recuse.machine import fit
from recuse.types import Ask, Call, Reply

# Asks in one forward pass; halved whenever the GPU's memory does not hold them.
_BATCH_CPU = 8
_BATCH_GPU = 32
_AHEAD = 8  # batches that are sorted by length together: padding is wasted work


@dataclass(frozen=True)
class Loaded:
    """A model with its tokenizer on its device."""

    model: Any
    tokenizer: Any
    source: str
    device: str
    max_context: int | None

    def versions(self) -> dict[str, str]:
        found = {name: metadata.version(name) for name in ("torch", "transformers")}
        dtype = str(self.model.dtype).removeprefix("torch.")
        found |= {"device": self.device, "dtype": dtype}
        if (path := Path(self.source)).is_dir():
            found["weights"] = weights.fingerprint(path)
        elif commit := getattr(self.model.config, "_commit_hash", None):
            found["weights"] = commit
        return found


@dataclass(frozen=True)
class Prepared:
    """A call as token ids, ready for a batch."""

    call: Call
    ids: list[int]
    notes: tuple[str, ...]


def open(model: str, options: Options) -> HF:
    """A local folder, or a name on the hub. See `load` for what is raised."""
    return HF(f"hf/{model}", load("AutoModelForCausalLM", model, options), options)


def load(kind: str, model: str, options: Options, **arguments: Any) -> Loaded:
    """Load the weights with transformers' class `kind`: bfloat16 on a GPU, float32 on a CPU.

    Pickled weights and code from the model's repository are refused unless the options allow them. Raises MissingExtra,
    InputError for a folder that is missing or no model, UnknownModel for a hub name that cannot be had, ProviderError
    for a model that is too large for the memory.
    """
    source = weights.model_source(model)
    transformers = require("transformers", "hf")
    torch = require("torch", "hf")
    device = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
    if device == "cpu" or device.startswith("cuda"):
        fit.check(f"hf/{model}", source, gpu=device != "cpu")
    if device == "cpu" and "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(free_cores())
    common: dict[str, Any] = {"trust_remote_code": options.trust_remote_code}
    transformers.utils.logging.disable_progress_bar()
    try:
        with hub.errors_only("huggingface_hub"):
            tokenizer = transformers.AutoTokenizer.from_pretrained(source, padding_side="left", **common)
            found = getattr(transformers, kind).from_pretrained(
                source,
                dtype=torch.float32 if device == "cpu" else torch.bfloat16,
                use_safetensors=None if options.allow_pickle else True,
                **common,
                **arguments,
            )
    except (OSError, ValueError) as error:
        if Path(source).is_dir():
            said = " ".join(str(error).split())[:300]
            raise ProviderError(f"transformers cannot load {source}: {said}") from None
        raise weights.unknown(model, error) from None
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    found.to(device).eval()
    limit = getattr(found.config.get_text_config(), "max_position_embeddings", None)
    limits = [n for n in (options.max_context, limit) if n]
    return Loaded(found, tokenizer, source, device, min(limits, default=None))


def free(backend: object) -> None:
    """Drop the weights that a backend holds, on a GPU too, so that another model may be loaded."""
    import gc

    import torch

    if vars(backend).pop("_loaded", None) is not None:
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


class HF:
    """See `Backend` for the contract of each method."""

    def __init__(self, name: str, loaded: Loaded, options: Options) -> None:
        self.name = name
        self.capabilities = Capabilities(
            logprobs=True, seed=True, greedy=True, local=True, max_context=loaded.max_context
        )
        self._loaded = loaded
        self._batch = batch_size(loaded, options)
        self._spellings: dict[tuple[str, ...], list[int]] = {}
        # Only where a reply ends is taken from the model's own settings, which may reshape probabilities otherwise.
        ends = loaded.model.generation_config.eos_token_id or loaded.tokenizer.eos_token_id
        self._ends = ends if isinstance(ends, list) else [ends]

    @staticmethod  # a Ray driver forms requests without the weights
    def body(ask: Ask) -> dict[str, Any]:
        return settings(ask)

    def generate(self, calls: Iterable[Call]) -> Iterator[Reply]:
        return in_batches(calls, prepare=self._prepare, run=self._run, size=self._batch)

    def versions(self) -> dict[str, str]:
        return self._loaded.versions()

    def close(self) -> None:
        """Free the weights. Idempotent; nothing can be asked afterwards."""
        free(self)

    def _prepare(self, call: Call) -> Prepared | Reply:
        return prepare(call, self._loaded, reply=True)

    def _run(self, batch: list[Prepared]) -> list[Reply]:
        import torch
        from transformers import GenerationConfig, LogitsProcessorList

        started = time.monotonic()
        tokenizer = self._loaded.tokenizer
        inputs = pad(batch, self._loaded)
        sampler = _Sampler([p.call for p in batch])
        with torch.inference_mode():
            out = self._loaded.model.generate(
                **inputs,
                generation_config=GenerationConfig(
                    do_sample=False,  # the sampler has added each row's noise, so that the largest value is the draw
                    max_new_tokens=batch[0].call.ask.sampling.max_tokens,
                    eos_token_id=self._ends,
                    pad_token_id=tokenizer.pad_token_id,
                ),
                logits_processor=LogitsProcessorList([sampler]),
            )
        new = out[:, inputs["input_ids"].shape[1] :].tolist()
        first = torch.log_softmax(sampler.first, dim=-1)
        seconds = time.monotonic() - started
        return [self._reply(p, ids, first[i], seconds) for i, (p, ids) in enumerate(zip(batch, new, strict=True))]

    def _reply(self, prepared: Prepared, ids: list[int], first: Any, seconds: float) -> Reply:
        ask = prepared.call.ask
        end = next((i for i, token in enumerate(ids) if token in self._ends), None)
        return Reply(
            key=prepared.call.key,
            text=self._loaded.tokenizer.decode(ids[:end], skip_special_tokens=True),
            finish="length" if end is None else "stop",
            logprobs=self._logprobs(ask, ids[0], first) if ask.sampling.top_logprobs else None,
            tokens_in=len(prepared.ids),
            tokens_out=len(ids) if end is None else end + 1,
            seconds=seconds,
            model=self._loaded.source.rpartition("/")[2],
            notes=prepared.notes,
        )

    def _logprobs(self, ask: Ask, written: int, first: Any) -> tuple[tuple[str, float], ...]:
        """The token that was written, the likeliest ones, then all other spellings of the labels.

        `first`: log-probabilities of all tokens, shape (tokens,).
        """
        if ask.labels not in self._spellings:
            self._spellings[ask.labels] = spellings(self._loaded.tokenizer, ask.labels)
        top = first.topk(ask.sampling.top_logprobs).indices.tolist()
        ids = list(dict.fromkeys([written, *top, *self._spellings[ask.labels]]))
        texts = self._loaded.tokenizer.batch_decode([[i] for i in ids])
        return tuple(zip(texts, first[ids].tolist(), strict=True))


class _Sampler:
    """Keeps the first logits and makes the largest value of each row a draw from softmax(logits / temperature).

    That is the Gumbel-max trick (Gumbel 1954). A generator a row makes a seeded draw independent of the batch around
    it; the library's own sampling has one generator for all.
    """

    def __init__(self, calls: list[Call]) -> None:
        import torch

        self.first: Any = None
        self._temperatures = [float(call.body["temperature"]) for call in calls]
        self._generators = []
        for call in calls:
            generator = torch.Generator()
            if "seed" in call.body:
                generator.manual_seed(call.body["seed"])
            else:
                generator.seed()
            self._generators.append(generator)

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        import torch

        scores = scores.float()
        if self.first is None:
            self.first = scores.clone()
        for i, temperature in enumerate(self._temperatures):
            if temperature > 0:
                noise = torch.empty(scores.shape[1]).exponential_(generator=self._generators[i]).log_()
                scores[i] = scores[i] / temperature - noise.to(scores.device)
        return scores


def prepare(call: Call, loaded: Loaded, *, reply: bool) -> Prepared | Reply:
    """The call as token ids, or the reply that says why it can have none."""
    try:
        ids, notes = render(loaded.tokenizer, call.body["messages"], reply=reply)
    except ValueError as error:
        return Reply(call.key, "", "error", error=str(error))
    if problem := too_long(len(ids), call.ask.sampling.max_tokens if reply else 0, loaded.max_context):
        return Reply(call.key, "", "error", tokens_in=len(ids), error=problem)
    return Prepared(call, ids, notes)


def pad(batch: list[Prepared], loaded: Loaded) -> Any:
    """Tensors of token ids and mask, (batch, longest), on the model's device; padded where the tokenizer says."""
    padded = loaded.tokenizer.pad({"input_ids": [p.ids for p in batch]}, return_tensors="pt")
    return {name: padded[name].to(loaded.device) for name in ("input_ids", "attention_mask")}


def batch_size(loaded: Loaded, options: Options) -> int:
    return options.concurrency or (_BATCH_CPU if loaded.device == "cpu" else _BATCH_GPU)


def in_batches(
    calls: Iterable[Call],
    *,
    prepare: Callable[[Call], Prepared | Reply],
    run: Callable[[list[Prepared]], list[Reply]],
    size: int,
) -> Iterator[Reply]:
    """Yield replies batch by batch, calls of like length together, from a look-ahead of `_AHEAD` batches.

    A batch that the GPU's memory does not hold is halved, and so are those that follow.
    """
    from torch.cuda import OutOfMemoryError, empty_cache

    calls = iter(calls)
    while chunk := list(islice(calls, size * _AHEAD)):
        prepared = []
        for call in chunk:
            one = prepare(call)
            if isinstance(one, Reply):
                yield one
            else:
                prepared.append(one)
        prepared.sort(key=lambda p: (p.call.ask.sampling.max_tokens, len(p.ids)), reverse=True)
        while prepared:
            longest = prepared[0].call.ask.sampling.max_tokens  # all rows of a batch write as many tokens
            batch = [p for p in prepared[:size] if p.call.ask.sampling.max_tokens == longest]
            try:
                replies = run(batch)
            except OutOfMemoryError:
                if size == 1:
                    raise ProviderError(
                        f"A prompt of {len(prepared[0].ids)} tokens does not fit into the GPU's memory.",
                        hint="Choose a smaller model, or --device cpu.",
                    ) from None
                size //= 2
                empty_cache()
                continue
            del prepared[: len(batch)]
            yield from replies
