"""Examine an LLM judge before you trust it."""

from importlib.metadata import version as _version

__version__ = _version("recuse")
