"""Blinding: take names and the signs of a group out of a text, prove that none is left, and put them back."""

from recuse.blinding.redact import Blinded, Redactor, Span, unblind
from recuse.blinding.settings import BlindSettings, Signal, load_signals
from recuse.blinding.verify import Leak, find_leaks

__all__ = ["BlindSettings", "Blinded", "Leak", "Redactor", "Signal", "Span", "find_leaks", "load_signals", "unblind"]
