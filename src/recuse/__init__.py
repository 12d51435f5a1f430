"""Examine an LLM judge before you trust it.

    import recuse

    result = recuse.audit("openai/gpt-4o-mini", "pairs.jsonl", limit=200)
    print(result.outcome, result.headline)

Names load what they need on first use, so that `import recuse` stays quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recuse.discovery.run import discover
    from recuse.examine import audit
    from recuse.pairs import load_pairs
    from recuse.probes.run import probe
    from recuse.reexamine import audit_recorded

__all__ = ["__version__", "audit", "audit_recorded", "discover", "load_pairs", "probe"]

_HOMES = {
    "audit": "recuse.examine",
    "audit_recorded": "recuse.reexamine",
    "discover": "recuse.discovery.run",
    "load_pairs": "recuse.pairs",
    "probe": "recuse.probes.run",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("recuse")
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'recuse' has no attribute {name!r}")
