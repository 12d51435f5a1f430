"""Formats whose verdict is one label of the menu: label, number, verdict_line, letter_colon, output_letter."""

from __future__ import annotations

import re

from recuse.types import Outcome, Verdict
from recuse.verdict.menu import IS_BETTER, NOUN, Menu, none, taken_back
from recuse.verdict.text import CUE_LEAD, CUES, WEAK_CUES

_SEPARATOR = r"[ \t]*(?:(?:is|was|would be|will be)\b[ \t]*:?|[-=]>|[:=→]|\s[-–—]\s)[ \t]*"
_TAIL = rf"(?:[ \t]+(?:{CUES}|is that|{NOUN}))?(?:[ \t]*\([^()\n]{{0,40}}\))?"
_STRONG = re.compile(rf"{CUE_LEAD}(?:{CUES})\b{_TAIL}(?:{_SEPARATOR}|[^\w\n]*$)", re.IGNORECASE)
_WEAK = re.compile(rf"{CUE_LEAD}(?:{WEAK_CUES}|{CUES})\b{_TAIL}(?:{_SEPARATOR}|[^\w\n]*$)", re.IGNORECASE)
_INSIDE = re.compile(rf"\b(?:my|the|final|overall)\s+(?:{CUES})\b{_SEPARATOR}", re.IGNORECASE)
_CHOOSING = re.compile(
    r"\b(?:reply|respond|answer|choose|select|pick|prefer|vote|go|opt)\b(?:[ \t]+(?:with|for))?[ \t]*:?[ \t]*",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"\b(?:not|cannot|never|neither|nor|if|whether|either|unless|you|please|asks?|tells?|told|wants?|says?|said)\b|n't\b",
    re.IGNORECASE,
)
_HEAD_ENDS = re.compile(rf"[.!,;:。、]*\s*$|\s*[(–—]|\s+-\s|\s+(?:because|since)\b|\s+for\s+(?:{NOUN}\s+)?[A-Z0-9]\b")
_HEAD_GOES_ON = re.compile(rf"[.:),;]+\s+(?P<about>(?:the\s+)?{NOUN}\b|it\b|this\b|because\b|since\b)?", re.IGNORECASE)
_OUTPUT = r"output\s*\(?\s*(?P<label>[a-z0-9])\s*\)?"
_OUTPUT_BETTER = re.compile(rf"\b{_OUTPUT}\s+{IS_BETTER}", re.IGNORECASE)
_OUTPUT_WHOLE = re.compile(rf"[\s\"'(\[]*(?:{_OUTPUT}|\(?(?P<bare>[a-z0-9])\)?)[\s\"')\].]*", re.IGNORECASE)
_COLON_LINE = re.compile(r"^[ \t\"'(\[]*(?P<label>\w{1,12})[\"')\]]*[ \t]*[:.)-](?P<rest>[^\n]*)$", re.MULTILINE)
_COMPARES = re.compile(r"\b(?:better|best|superior|prefer\w*|wins?|neither|both|tie|equal\w*|similar)\b", re.IGNORECASE)


def read_label(text: str, menu: Menu) -> Verdict:
    """The reply is a label, alone or among few words.

    By rank: the whole reply or its last line is a label; the last line such as "Verdict: A"; "I choose A" on the first
    or last line; the reply begins with a label, then text; one outcome is said in words to be better.
    """
    if found := _line(text, menu, weak=(0, -1)):
        return found
    lines = text.split("\n")
    for line in (lines[-1], lines[0]):
        if found := _chosen(line, menu):
            return found
    if found := _head(text, menu):
        return found
    return _said_better(text, menu)


def read_number(text: str, menu: Menu) -> Verdict:
    """As `read_label`, without sentences in words: the verdict is the number."""
    found = _line(text, menu, weak=(0, -1))
    lines = text.split("\n")
    found = found or _chosen(lines[-1], menu) or _chosen(lines[0], menu) or _head(text, menu)
    return found or none("no_verdict", "no lone number of the menu")


def read_verdict_line(text: str, menu: Menu) -> Verdict:
    """Reasoning, then a line such as "Verdict: A". The last such line counts, whatever stands in it."""
    if found := _line(text, menu, weak=(-1,)):
        return found
    last = text.rsplit("\n", 1)[-1]
    for match in reversed(list(_INSIDE.finditer(last))):
        value = menu.whole.fullmatch(last, match.end())
        if value and not _DENIED.search(last, 0, match.start()):
            return _verdict(menu, value["label"], f'the last line ends in "{last[match.start() :].strip()}"')
    return none("no_verdict", "no verdict line")


def _line(text: str, menu: Menu, *, weak: tuple[int, ...]) -> Verdict | None:
    """A last line that is a label and nothing more, or the last line of the form "Verdict: ...".

    A line that only offers the menu ("Verdict: A or B") is an echo and passed over; any other value that is not on the
    menu ends the search, so that an off-menu verdict never falls back to an earlier mention. "Answer:" may introduce
    the judge's own solution, so weaker words count only on the lines `weak`: 0 is the first, -1 the last.
    """
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines:
        return None
    alone = menu.whole.fullmatch(lines[-1])
    if alone and not (len(lines) > 1 and menu.whole.fullmatch(lines[-2])):
        return _verdict(
            menu, alone["label"], f'the {"last line" if len(lines) > 1 else "reply"} is "{_short(lines[-1])}"'
        )
    for i in range(len(lines) - 1, -1, -1):
        line = lines[i]
        pattern = _WEAK if i in weak or i - len(lines) in weak else _STRONG
        match = pattern.match(line)
        if not match:
            continue
        value, at = (line, match.end()) if match.end() < len(line) else (lines[i + 1] if i + 1 < len(lines) else "", 0)
        if menu.several.match(value, at) or not value[at:].strip():
            continue
        found = menu.value.match(value, at)
        if not found and (phrase := _WEAK.match(value, at)):  # "Verdict: the better answer is B"
            found = menu.value.match(value, phrase.end())
        if found:
            return _verdict(menu, found["label"], f'the line "{_short(line)}"')
        if choice := _chosen(value[at:], menu):
            return choice
        if pattern is _STRONG or _STRONG.match(line):
            return none("no_verdict", f'the line "{_short(line)}" names nothing on the menu')
    return None


def _chosen(line: str, menu: Menu) -> Verdict | None:
    for match in reversed(list(_CHOOSING.finditer(line))):
        found = menu.value.match(line, match.end())
        if found and not menu.several.match(line, match.end()) and not _DENIED.search(line, 0, match.start()):
            return _verdict(menu, found["label"], f'the words "{_short(line[match.start() : found.end()])}"')
    return None


def _head(text: str, menu: Menu) -> Verdict | None:
    """A reply that begins with its label. A list or headings of the labels ("A: wrong. B: right.") are no verdict."""
    match = menu.head.match(text)
    if not match or menu.several.match(text):
        return None
    outcome = menu.find(match["label"])
    for other in menu.listed.finditer(text, match.end("label")):
        if menu.find(other["label"]) != outcome:
            return None
    rest = match["rest"].lstrip(" \t\"']}>") if match["rest"][:1] != " " else match["rest"]
    if not _HEAD_ENDS.match(rest) and not _HEAD_ENDS.match(rest.lstrip(")")):
        on = _HEAD_GOES_ON.match(rest)
        # An enumeration begins with the first label too: "1. First, I compare ..."
        if not on or (outcome == "A" and not on["about"]):
            return None
    return _verdict(menu, match["label"], f'the reply begins with "{_short(text)}"')


def _said_better(text: str, menu: Menu) -> Verdict:
    said = [m for m in menu.better.finditer(text) if not taken_back(text, m.start())]
    outcomes = {menu.find(m["label"]) for m in said}
    if len(outcomes) == 1:
        return _verdict(menu, said[-1]["label"], f'the words "{_short(said[-1][0])}"')
    why = "both answers are said to be better" if said else "no label stands where a verdict would"
    return none("no_verdict", why)


def read_letter_colon(text: str, menu: Menu) -> Verdict:
    """ "A: Feedback 1 is significantly better.": a line that begins with a label and compares. The last such line
    counts; lines that list the whole menu one below the other are an echo."""
    whole = menu.whole.fullmatch(text)
    if whole:
        return _verdict(menu, whole["label"], "the reply is the label")
    lines = [m for m in _COLON_LINE.finditer(text) if _COMPARES.search(m["rest"])]
    lines = [m for m in lines if len(m["label"]) == 1 or menu.find(m["label"])]
    kept = [
        m
        for i, m in enumerate(lines)
        if not any(
            0 <= j < len(lines)
            and lines[j]["label"] != m["label"]
            and _adjacent(text, lines[min(i, j)], lines[max(i, j)])
            for j in (i - 1, i + 1)
        )
    ]
    if not kept:
        return none("no_verdict", "no line begins with a label and says which is better")
    return _verdict(menu, kept[-1]["label"], f'the line "{_short(kept[-1][0])}"')


def _adjacent(text: str, first: re.Match[str], second: re.Match[str]) -> bool:
    return text[first.end() : second.start()] == "\n"


def read_output_letter(text: str, menu: Menu) -> Verdict:
    """ "Output (a)": the whole reply, its first or its last line, or else the last sentence "Output (x) is better"."""
    lines = text.split("\n")
    whole = _OUTPUT_WHOLE.fullmatch(text)
    if whole:
        return _verdict(menu, whole["label"] or whole["bare"], f'the reply is "{_short(text)}"')
    said = [m for m in _OUTPUT_BETTER.finditer(text) if not taken_back(text, m.start())]
    if said:
        return _verdict(menu, said[-1]["label"], f'the sentence "{_short(said[-1][0])}"')
    for line in (lines[-1], lines[0]):
        match = _OUTPUT_WHOLE.fullmatch(line)
        if match and match["label"] and not _lists_outputs(text):
            return _verdict(menu, match["label"], f'the line "{_short(line)}"')
    return _line(text, menu, weak=()) or none("no_verdict", 'no sentence "Output (x) is better"')


def _lists_outputs(text: str) -> bool:
    heads = re.findall(r"^\W*output\s*\(?\s*(\w)\s*\)?\s*:?\s*$", text, re.IGNORECASE | re.MULTILINE)
    return len(set(heads)) > 1


def _verdict(menu: Menu, label: str, why: str) -> Verdict:
    outcome: Outcome | None = menu.find(label)
    if outcome is None:
        return none("no_verdict", f"{why}: not on the menu")
    return Verdict(outcome=outcome, why=why)


def _short(text: str) -> str:
    text = " ".join(text[:120].split())
    return text if len(text) <= 60 else text[:57] + "..."
