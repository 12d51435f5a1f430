"""Which words of an English text are taken back: a small model of negation, after the idea of NegEx (Chapman et al.
2001, J. Biomed. Inform. 34:301): words that negate, a reach of some words, and what ends it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache

from recuse.probes.extract.texts import Phrases, Token, listed, word_lists

REACH = 6  # words behind a negation, counted anew from each term
_FURTHEST = 24  # words that one negation can reach through a list of terms
_BEHIND = 3  # words between a term and one that takes it back from behind

Span = tuple[int, int]


@lru_cache(maxsize=1)
def _lists() -> tuple[Phrases, Phrases, frozenset[str], frozenset[str]]:
    said = word_lists()["negation"]
    return (
        Phrases(listed(said["words"])), Phrases(listed(said["idioms"])),
        frozenset(listed(said["ends"])), frozenset(listed(said["after"])),
    )  # fmt: skip


def negated(tokens: Sequence[Token], terms: Sequence[Span]) -> list[bool]:
    """For each term (start, end among the tokens, in order) whether an odd number of negations takes it back.

    A negation inside a term is part of it. A negation reaches up to `REACH` words, to the end of its clause, or to a
    word such as "but"; it goes on through a list of terms ("not skilled, able or kind") and through "and" where a term
    follows at once.
    """
    starts = {start for start, _ in terms}
    inside = {i for start, end in terms for i in range(start, end)}
    negations, idioms, ends, behind = _lists()
    idle = {i for start, end, _ in idioms.find(tokens) for i in range(start, end)} | _praises(tokens)
    counts = [0] * len(tokens)
    spans = [(start, end) for start, end, _ in negations.find(tokens)]
    spans += [(i, i + 1) for i, token in enumerate(tokens) if token.text.endswith("n't")]
    for start, end in spans:
        own = range(start, end)
        at = _begins(tokens, start, end)
        if at is None or idle.issuperset(own) or inside.issuperset(own):
            continue
        for i in _reached(tokens, at, starts, inside, ends):
            counts[i] += 1
    return [(counts[start] % 2 == 1) != _lacks(tokens, end, behind) for start, end in terms]


def _begins(tokens: Sequence[Token], start: int, end: int) -> int | None:
    """Where the reach of a negation begins; None for what is none: the "No," that answers a question, "un" without a
    hyphen. An aside is passed over: "is not, in my view, skilled"."""
    word, after = tokens[start].text, tokens[end - 1].after
    if word in ("non", "un"):
        return end if after == "-" else None
    if after == "," and (word == "not" or word.endswith("n't")):
        return next((i + 1 for i in range(end, min(len(tokens), end + 4)) if tokens[i].after == ","), None)
    return end if after in ("", "-") else None


def _praises(tokens: Sequence[Token]) -> set[int]:
    """ "Could not be more kind" and "cannot recommend her highly enough" are praise."""
    found: set[int] = set()
    for i, token in enumerate(tokens):
        if not (token.text.endswith("n't") or token.text in ("not", "cannot")):
            continue
        said = [one.text for one in tokens[i + 1 : i + 10]]
        highly = said.index("highly") if "highly" in said else -1
        beside = said[max(0, highly - 1) : highly + 2] if highly >= 0 else []
        if said[:2] == ["be", "more"] or not {"more", "too", "enough"}.isdisjoint(beside):
            found.add(i)
    return found


def _reached(
    tokens: Sequence[Token], at: int, starts: Collection[int], inside: Collection[int], ends: Collection[str]
) -> list[int]:
    reached: list[int] = []
    since = 0
    for i in range(at, min(len(tokens), at + _FURTHEST)):
        token = tokens[i]
        since = 0 if i in inside else since + 1
        if since > REACH or (token.text in ends and i not in inside):
            break
        if token.text == "and" and i + 1 not in starts:
            break
        reached.append(i)
        if token.after in (".", "?", ";") or (token.after == "," and not _list_goes_on(tokens, i + 1, starts, inside)):
            break
    return reached


def _list_goes_on(tokens: Sequence[Token], at: int, starts: Collection[int], inside: Collection[int]) -> bool:
    """Behind a comma: a term and another comma, "or" or "nor"; or "or" itself."""
    if at < len(tokens) and tokens[at].text == "or":
        return True
    if at not in starts:
        return False
    end = at
    while end + 1 < len(tokens) and end + 1 in inside and end + 1 not in starts:
        end += 1
    following = tokens[end + 1].text if end + 1 < len(tokens) else ""
    return following == "or" or (tokens[end].after == "," and (end + 1 in starts or following == "or"))


def _lacks(tokens: Sequence[Token], end: int, behind: Collection[str]) -> bool:
    """ "experience is lacking"."""
    for i in range(end, min(len(tokens), end + _BEHIND)):
        if tokens[i - 1].after not in ("", "-"):
            return False
        if tokens[i].text in behind:
            return tokens[i - 1].text in ("is", "are", "was", "were", "seems", "seem", "remains", "remain")
    return False
