"""One file a provider behind one protocol. `open_backend` turns a name such as "openai/gpt-4o-mini" into a backend."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from importlib import import_module

from recuse.backends.base import Backend, Capabilities, Options, require
from recuse.errors import UsageError

__all__ = [
    "HEAVY", "PROVIDERS", "Backend", "Capabilities", "Options", "open_backend", "progress_of", "require", "settle",
    "settled",
]  # fmt: skip

# provider -> module that has `open(model: str, options: Options) -> Backend`
PROVIDERS = {
    "openai": "recuse.backends.openai",
    "anthropic": "recuse.backends.anthropic",
    "vllm": "recuse.backends.vllm",
    "hf": "recuse.backends.hf",
    "hf-reward": "recuse.backends.hf_reward",
    "llamacpp": "recuse.backends.llamacpp",
    "python": "recuse.backends.python",
    "fake": "recuse.backends.fake",
}
# Those that hold weights in the process in which they are open. Their `body` is a function of the ask alone.
HEAVY = frozenset({"vllm", "hf", "hf-reward", "llamacpp"})
# The variable by which a provider's SDK is sent elsewhere, and where it goes without one.
_ADDRESSES = {
    "openai": ("OPENAI_BASE_URL", "https://api.openai.com/v1"),
    "anthropic": ("ANTHROPIC_BASE_URL", "https://api.anthropic.com"),
}
_REPLICAS = re.compile(r"ray/(?:([0-9]{1,4})-)?([0-9]{1,4})\*(?!ray/)(.+)", re.DOTALL)


def settled(name: str, options: Options) -> tuple[str, Options]:
    """The model of `ray/3*provider/model` or `ray/1-8*provider/model`, with how many replicas among its options, and
    with the address that the environment gives: another server's answers are another run's.

    Raises UsageError for replicas that nobody can count.
    """
    if not name.startswith("ray/"):
        return name, _addressed(name, options)
    found = _REPLICAS.fullmatch(name)
    most = int(found[2]) if found else 0
    fewest = int(found[1] or most) if found else 0
    if found is None or not 1 <= fewest <= most:
        raise UsageError(
            f"{name!r} does not say how many replicas there are of what.",
            hint="Write ray/3*provider/model, or ray/1-8*provider/model for as many as there are, up to 8.",
        )
    if options.batch:
        raise UsageError("--batch goes without ray/…: a provider's batches need one sender.", hint="Leave one out.")
    return found[3], replace(_addressed(found[3], options), replicas=(fewest, most))


def _addressed(name: str, options: Options) -> Options:
    variable, own = _ADDRESSES.get(name.partition("/")[0], ("", ""))
    address = os.environ.get(variable, "")
    if options.base_url is not None or not address or address.rstrip("/") == own:
        return options
    return replace(options, base_url=address)


def settle(config: object, name: str, options: str) -> None:
    """`settled` for two fields of a frozen configuration, before anything is done with it.

    So no run, ledger or price knows on how many machines a model was asked.
    """
    if (given := getattr(config, name)) is not None:
        model, reached = settled(given, getattr(config, options))
        object.__setattr__(config, name, model)
        object.__setattr__(config, options, reached)


def open_backend(name: str, options: Options | None = None) -> Backend:
    """The backend for `provider/model`, or for several of it: `ray/3*provider/model`.

    Raises UsageError for an unknown one, MissingExtra for a missing package.
    """
    name, options = settled(name, options or Options())
    provider, slash, model = name.partition("/")
    if not slash or not model or provider not in PROVIDERS:
        known = ", ".join(f"{p}/…" for p in PROVIDERS)
        raise UsageError(f"{name!r} does not name a judge.", hint=f"Write provider/model with one of: {known}.")
    spread = options.replicas is not None
    module = import_module("recuse.backends.ray" if spread else PROVIDERS[provider])
    backend: Backend = module.open(name if spread else model, options)
    return backend


def progress_of(backend: Backend) -> str:
    """What a backend has to say of its replicas or of the batches that it waits for, in a few words; else empty."""
    return str(getattr(backend, "progress", ""))
