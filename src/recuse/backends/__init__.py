"""One file a provider behind one protocol. `open_backend` turns a name such as "openai/gpt-4o-mini" into a backend."""

from __future__ import annotations

from importlib import import_module

from recuse.backends.base import Backend, Capabilities, Options, require
from recuse.errors import UsageError

__all__ = ["PROVIDERS", "Backend", "Capabilities", "Options", "open_backend", "require"]

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


def open_backend(name: str, options: Options | None = None) -> Backend:
    """The backend for `provider/model`. Raises UsageError for an unknown one, MissingExtra for a missing package."""
    provider, slash, model = name.partition("/")
    if not slash or not model or provider not in PROVIDERS:
        known = ", ".join(f"{p}/…" for p in PROVIDERS)
        raise UsageError(f"{name!r} does not name a judge.", hint=f"Write provider/model with one of: {known}.")
    module = import_module(PROVIDERS[provider])
    backend: Backend = module.open(model, options or Options())
    return backend
