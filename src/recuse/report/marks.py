"""Two texts with the words marked in which they differ."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from operator import itemgetter

from recuse.report import text

LONGEST = 4000  # characters of an answer that are compared and shown
_SHORT = 200  # words of a text that is shown whole
_WHOLE, _ENDS = 60, 25  # words of an unchanged stretch that is shown whole; else these many at either end

Piece = tuple[str, bool]  # a stretch of text, and whether it differs


def marked(before: str, after: str) -> tuple[list[Piece], list[Piece]]:
    """Both texts in pieces, words that only one of them has marked; long unchanged stretches are cut in the middle.

    At most `LONGEST` characters of either are compared and shown.
    """
    tokens = [re.findall(r"\S+|\s+", text.visible(whole, limit=LONGEST)) for whole in (before, after)]
    words = [[t for t in side if not t.isspace()] for side in tokens]
    flags = [[True] * len(side) for side in words]
    for a, b, size in SequenceMatcher(None, words[0], words[1], autojunk=False).get_matching_blocks():
        flags[0][a : a + size] = flags[1][b : b + size] = [False] * size
    left, right = (
        [_cut(*p) if len(f) > _SHORT else p for p in _pieces(t, f)] for t, f in zip(tokens, flags, strict=True)
    )
    return left, right


def alike(before: Sequence[Piece], after: Sequence[Piece]) -> float:
    """The share of words that both have, of all words of both; 1 for two empty texts."""
    counts = [(len(piece.split()), differs) for piece, differs in (*before, *after)]
    total = sum(n for n, _ in counts)
    return sum(n for n, differs in counts if not differs) / total if total else 1.0


def _pieces(tokens: Sequence[str], flags: Sequence[bool]) -> Iterator[Piece]:
    """Neighbours of one kind joined; blanks differ where the words on both sides do."""
    kinds, seen = [], 0
    for token in tokens:
        if token.isspace():
            kinds.append(0 < seen < len(flags) and flags[seen - 1] and flags[seen])
        else:
            kinds.append(flags[seen])
            seen += 1
    for kind, run in groupby(zip(kinds, tokens, strict=True), key=itemgetter(0)):
        yield "".join(token for _, token in run), kind


def _cut(stretch: str, changed: bool) -> Piece:
    words = re.findall(r"\s*\S+", stretch)
    if changed or len(words) <= _WHOLE:
        return stretch, changed
    left_out = f" [… {len(words) - 2 * _ENDS:,} words as before …]"
    blank = stretch[len(stretch.rstrip()) :]
    return "".join([*words[:_ENDS], left_out, *words[-_ENDS:], blank]), changed
