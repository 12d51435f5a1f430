"""What belongs together, directly or through others, and by what a question is known."""

from __future__ import annotations

import hashlib
import unicodedata

from recuse.prompts import transcript
from recuse.types import Message


class Families:
    """Names in families, each called after its first name by alphabet, so that the order of joining changes nothing."""

    def __init__(self) -> None:
        self._above: dict[str, str] = {}

    def of(self, name: str) -> str:
        while (above := self._above.setdefault(name, name)) != name:
            self._above[name] = self._above[above]
            name = above
        return name

    def join(self, one: str, other: str) -> None:
        first, second = sorted((self.of(one), self.of(other)))
        self._above[second] = first


def question_key(prompt: str | tuple[Message, ...]) -> str:
    """20 hex digits of SHA-256 over a question's text after NFKC, casefolding and collapsing of white space: the group
    that `load_pairs` gives its pairs."""
    text = " ".join(unicodedata.normalize("NFKC", transcript(prompt)).casefold().split())
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:20]
