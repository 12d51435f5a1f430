"""What a teacher says about its own rewriting: a wrapper around the text, or talk of the task inside it."""

from __future__ import annotations

import re
from collections.abc import Iterable

_DONE = r"(?:re-?written|revised|rephrased|paraphrased|reworded|edited|modified|updated|improved|altered|adjusted)"
_TEXT = r"(?:answer|response|version|text|reply|solution|passage|code)"
_ABOUT = (
    rf"(?:(?:the|an?|my) )?(?:\w+ ){{0,2}}?"
    rf"(?:{_DONE} (?:\w+ )?{_TEXT}|{_TEXT} (?:\w+ )?{_DONE}|rewrite|rewording|paraphrase)"
)
# A line that only announces the text: "Here is the rewritten answer:", "**Revised answer**", "Sure! New version: ...".
_ANNOUNCEMENT = re.compile(
    r"[\s*_#>]*(?:(?:sure|certainly|of course|okay|ok|absolutely)\b[\s,.!:-]*)?"
    rf"(?:(?:here(?:'s| is| are)|below is|this is)\s+{_ABOUT}[^\n:]{{0,80}}|{_ABOUT}(?=\s*[*_]*\s*(?::|\n)))"
    r"[\s*_]*(?::[*_]*|\n)\s*",
    re.IGNORECASE,
)
_TAGS = re.compile(
    r"\s*<(answer|rewrite|rewritten|rewritten_answer|text|output)>(.*?)</\1>\s*", re.DOTALL | re.IGNORECASE
)
_QUOTES = {'"': '"', "“": "”"}
_FENCED = re.compile(r"\s*```[\w+-]*\n(.*?)\n?```\s*", re.DOTALL)

_TALK = re.compile(
    "|".join(
        (
            rf"\bhere(?:'s| is) {_ABOUT}\b",
            rf"\b{_DONE} (?:answer|response|version)\b",
            r"\b(?:i|we)(?:'ve| have)? (?:re-?wr[oi]te\w*|rephrased?|paraphrased?|reworded)\b",
            r"\b(?:i|we)(?:'ve| have)? kept the (?:final )?answer\b",
            r"\boriginal (?:answer|response|text|wording)\b",
            r"\b(?:as|per) (?:you )?(?:requested|instructed|the instructions?)\b",
            r"\bwithin (?:the )?(?:length|character|word) (?:limit|range|count)s?\b",
            r"\b(?:word|character) count\b|[\[(]\s*\d+ (?:characters|words|chars)\s*[\])]",
            r"\b(?:the )?final answer (?:is |was |has been )?(?:kept|left|remains|stays|unchanged)\b",
            r"^[ \t*_(\[]*note[ \t]*:[^\n]*\b(?:re-?w\w+|instruct\w+|original|length|unchanged|tone)\b",
            r"</?(?:answer|question|instruction|rewrite|rewritten|rewritten_answer)\b[^>]*>",
            r"\{\{\s*[a-z_]+\s*\}\}",
        )
    ),
    re.IGNORECASE | re.MULTILINE,
)  # fmt: skip


def unwrap(text: str, *, original: str) -> str:
    """`text` without what a teacher puts around a rewrite: announcement line, answer tags, a fence, quotation marks.

    Wrappers that `original` has too belong to the answer and stay. Idempotent; never empties a text.
    """
    for _ in range(4):  # wrappers nest: an announcement, then tags, then a fence
        before = text = text.strip()
        for pattern, group in ((_TAGS, 2), (_FENCED, 1)):
            match = pattern.fullmatch(text)
            if match and "```" not in match[group] and not pattern.fullmatch(original):
                text = match[group].strip("\n")
        announced = _ANNOUNCEMENT.match(text)
        if announced and not _ANNOUNCEMENT.match(original) and text[announced.end() :].strip():
            text = text[announced.end() :]
        closing = _QUOTES.get(text[:1])
        if closing and len(text) > 2 and text.endswith(closing) and not original.strip().startswith(text[0]):
            inside = text[1:-1]
            text = text if closing in inside or text[0] in inside else inside
        if text.strip() in ("", before):
            return before
    return text.strip()


def speaks_of_rewriting(text: str, *, original: str) -> str | None:
    """The words by which `text` speaks of its own rewriting, or None. What `original` says as well does not count."""
    known = {match[0].casefold() for match in _TALK.finditer(original)}
    return next((match[0] for match in _TALK.finditer(text) if match[0].casefold() not in known), None)


def spoken_names(text: str, names: Iterable[str], *, known: str) -> tuple[str, ...]:
    """Those of `names` that are in `text` as whole words, in singular or plural, and not in `known`."""
    found = []
    for name in names:
        words = r"[\s_-]+".join(map(re.escape, name.split()))
        word = re.compile(rf"(?<!\w){words}(?:e?s)?(?!\w)", re.IGNORECASE)
        if word.search(text) and not word.search(known):
            found.append(name)
    return tuple(found)
