"""What a prompt declares about its replies: the verdict format and the label menu."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spec:
    """The verdict format of a prompt, from its front matter.

    `first`, `second` and `tie` are the labels by which the prompt names the answer shown first, the one shown second
    and a tie (None: the prompt offers no tie). `scale` bounds a score.
    """

    format: str
    first: str = "A"
    second: str = "B"
    tie: str | None = None
    scale: tuple[float, float] | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        return (self.first, self.second) if self.tie is None else (self.first, self.second, self.tie)
