"""Verdicts: what a reply says under the format that its prompt declares, or why it says nothing."""

from recuse.verdict.read import FORMATS, Format, read, read_text
from recuse.verdict.spec import Spec

__all__ = ["FORMATS", "Format", "Spec", "read", "read_text"]
