"""Where an edit may touch an answer: it only inserts, and never inside code, formulas, tables or the last unit."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from recuse.perturb.answers import final_answer
from recuse.perturb.code import code_of
from recuse.types import Pair


@dataclass(frozen=True, slots=True)
class Insertion:
    """`text` goes before the character `at` of the original."""

    at: int
    text: str


@dataclass(frozen=True, slots=True)
class Unit:
    """A sentence or a line of prose, characters `start` to `end` without white space around. `opens`: starts a line."""

    start: int
    end: int
    opens: bool


def insert(text: str, insertions: Iterable[Insertion]) -> str:
    pieces, done = [], 0
    for one in sorted(insertions, key=lambda i: i.at):
        pieces += [text[done : one.at], one.text]
        done = one.at
    return "".join([*pieces, text[done:]])


_FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
_UNDER_HEADING = re.compile(r"(?:^[ \t]*#+[^\n]*\n+|^[ \t]*\*\*[^\n*]*\*\*:?[ \t]*\n+)?^[^\n]+\s*\Z", re.MULTILINE)
_DISPLAY = re.compile(r"\\\[.*?\\\]|\$\$.*?\$\$|\\begin\{.*?\\end\{[^}]*\}", re.DOTALL)
_INLINE = re.compile(r"\$[^$\n]+\$|\\\(.*?\\\)|`[^`\n]+`|https?://\S+")
_PROSE = re.compile(r"[ \t]*[\w\"'“(]")
_LISTED = re.compile(r"[ \t]*(?:[-*+•#>|]|\d+[.)]\s|\(?[A-Za-z][.)]\s)")
_BREAK = re.compile(
    r"(?<=[.!?])(?<!\b\w[.])(?<!\d[.])(?<!\b(?:Dr|Mr|Ms|St|vs|cf|al|eg|ie|No)[.])(?<!\bMrs[.])[ \t]+(?=[A-Z\"“(])"
)


def units(text: str) -> list[Unit]:
    """The sentences of prose in `text`, in order. Lines of lists, headings and tables are left out, and so are those
    with code or displayed formulas; no formula, link or code in a line is cut in two."""
    if is_bare_code(text):
        return []
    closed = [m.span() for m in _DISPLAY.finditer(text)]
    found, fenced = [], False
    for line in re.finditer(r"[^\n]+", text):
        if _FENCE.match(line[0]):
            fenced = not fenced
            continue
        inside = any(a < line.end() and line.start() < b for a, b in closed)
        if fenced or inside or not _PROSE.match(line[0]) or _LISTED.match(line[0]):
            continue
        whole = [m.span() for m in _INLINE.finditer(line[0])]
        starts = [m.span() for m in _BREAK.finditer(line[0]) if not any(a < m.start() < b for a, b in whole)]
        left = [0, *(end for _, end in starts)]
        right = [*(start for start, _ in starts), len(line[0].rstrip())]
        indent = len(line[0]) - len(line[0].lstrip())
        found += [
            Unit(line.start() + (a or indent), line.start() + b, opens=a == 0) for a, b in zip(left, right, strict=True)
        ]
    return found


def is_bare_code(text: str) -> bool:
    """Whether the whole answer is code, without a fence around it."""
    return code_of(text) is not None and "```" not in text


def unclosed(text: str) -> bool:
    """Whether a fence of code is still open at the end."""
    return len(_FENCE.findall(text)) % 2 == 1


def foot(pair: Pair) -> int:
    """Where a text after the answer goes: its end, or before its last line, with the heading that may stand above it,
    where the final answer can only be read off the end."""
    text = pair.rejected
    found = final_answer(text, pair)
    ending = _UNDER_HEADING.search(text)
    last = ending.start() if ending else 0
    if found is None or found.kind in ("code", "exact") or not last:
        return len(text)
    with_more = final_answer(f"{text.rstrip()}\n\nSo much for this.", pair)
    return len(text) if with_more is not None and with_more.value == found.value else last


def insertions_of(before: str, after: str) -> list[Insertion]:
    """What was put into `before` to get `after`, in the fewest pieces.

    Raises ValueError where `after` is not `before` with something put in.
    """
    if after.endswith(before):
        return [Insertion(0, after[: len(after) - len(before)])] if after != before else []
    if after.startswith(before):
        return [Insertion(len(before), after[len(before) :])]
    pieces = []
    previous = 0
    for i, spot in enumerate([*_spots(before, after), len(after)]):
        if spot > previous:
            pieces.append(Insertion(i, after[previous:spot]))
        previous = spot + 1
    ends = [piece.at for piece in pieces[1:]] + [len(before) + 1]
    found: list[Insertion] = []
    for piece, end in zip(pieces, ends, strict=True):
        found.append(_settled(before, piece, found[-1].at + 1 if found else 0, end))
    return found


def _settled(before: str, piece: Insertion, lowest: int, end: int) -> Insertion:
    """The same change of the text, told so that the piece stands between words where it can: what it shares with the
    text beside it may be counted to either."""
    at, chunk = piece.at, piece.text
    while at > lowest and before[at - 1] == chunk[-1]:
        at, chunk = at - 1, chunk[-1] + chunk[:-1]
    told = [Insertion(at, chunk)]
    while at + 1 < end and before[at] == chunk[0]:
        at, chunk = at + 1, chunk[1:] + chunk[0]
        told.append(Insertion(at, chunk))
    outside = [one for one in told if one.at in (0, len(before))]
    between = [one for one in told if one.text[0].isspace() or before[one.at - 1].isspace()]
    return next(iter(outside + between), piece)


def _spots(before: str, after: str) -> list[int]:
    """For each character of `before` its place in `after`, so that the fewest pieces are put between them.

    Dynamic programming over how many characters were put in so far, one row a character of `before`.
    """
    import numpy as np

    room, n = len(after) - len(before), len(before)
    if room < 0:
        raise ValueError("the second text is shorter than the first")
    old = np.frombuffer(before.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    new = np.frombuffer(after.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    never = np.uint16(60_000)
    rows = np.full((n + 1, room + 1), never, dtype=np.uint16)
    rows[0, 0] = 0
    for i in range(n):
        jumped = np.full(room + 1, never, dtype=np.uint16)
        jumped[1:] = np.minimum.accumulate(rows[i])[:-1] + 1
        best = np.minimum(rows[i], jumped)
        rows[i + 1] = np.where((new[i : i + room + 1] == old[i]) & (best < never), best, never)
    last = rows[n].astype(int) + (np.arange(room + 1) < room)
    d = int(last.argmin())
    if last[d] >= never:
        raise ValueError("the second text is not the first with something put in")
    spots = []
    for i in range(n, 0, -1):
        spots.append(i - 1 + d)
        if rows[i - 1, d] != rows[i, d]:
            d = int(rows[i - 1, :d].argmin())
    return spots[::-1]
