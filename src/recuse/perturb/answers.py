"""The final answer of a text, where it can be told by rule, and whether a rewrite kept it.

Letters of a multiple-choice question, numbers, \\boxed{} results, letters repeated on request (JudgeBench), answers set
in ***stars*** on request (LiveBench), code, and answers so short that they are their own final answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from recuse.perturb.code import code_form, code_of, run_tests
from recuse.perturb.options import announced_letter, option_named, options_of, repeated_letter, says, words_of
from recuse.prompts import transcript
from recuse.types import Pair
from recuse.verdict.text import visible

AnswerKind = Literal["letter", "repeated", "boxed", "marked", "number", "code", "exact"]
SHORT = 100  # characters up to which a text of one sentence is its own final answer


@dataclass(frozen=True, slots=True)
class Answer:
    """`value` is canonical: letters "B" or "B,J", numbers as fractions, other words in lower case without markup.

    `stated`: the text announces it. Otherwise it was found by its place alone (the last number, the option named in the
    last sentence): enough to see that two answers agree, not that they differ.
    """

    kind: AnswerKind
    value: str
    stated: bool = True


@dataclass(frozen=True, slots=True)
class Compared:
    """Whether two texts have one final answer. None: rules cannot tell, and `how` is "verifier"."""

    same: bool | None
    how: str
    repaired: bool = False  # not the same, and now that of the chosen answer or the reference


_UNKNOWN = Compared(None, "verifier")


def final_answer(text: str, pair: Pair | None = None) -> Answer | None:
    """The final answer of `text`; the question of `pair` tells the options and the form asked for.

    None where no rule finds one: free text, mostly.
    """
    question = transcript(pair.prompt) if pair else ""
    options = options_of(question)
    shown = _shown(text)
    if letter := repeated_letter(shown, options):
        return Answer("repeated", letter)
    if value := _boxed(text) or _headed(text):
        return Answer("letter" if value in options else "boxed", value)
    if value := _marked(text, question):
        return Answer("marked", value)
    if not options and (code := code_of(text)) is not None:
        return Answer("code", code_form(code))
    if letter := announced_letter(shown, options):
        return Answer("letter", letter)
    if value := _stated_number(shown):
        return Answer("number", value)
    ending = _last_sentence(shown)
    if options:
        named = option_named(ending, options)
        return Answer("letter", named, stated=False) if named else None
    if words := _short(shown):
        return Answer("exact", words)
    if _WANTS_NUMBER.search(question) and (value := _numbers(ending)):
        return Answer("number", value, stated=False)
    return None


def same_answer(before: str, after: str, pair: Pair, *, run_code: bool = False) -> Compared:
    """Whether `after`, a rewrite of `before`, has the same final answer to the question of `pair`.

    Code is compared by the pair's tests where `run_code` allows it (both fail, or both pass: the same), otherwise by
    its form. A short answer is the same where the rewrite says it word for word and neither denies it nor says the
    chosen one too.
    """
    first = final_answer(before, pair)
    if first is None:
        return _UNKNOWN
    if first.kind == "code":
        return _same_code(before, after, pair, run_code=run_code)
    if first.kind == "exact":
        return _same_words(first.value, after, pair)
    second = final_answer(after, pair)
    if second is None or second.kind in ("code", "exact"):
        return _UNKNOWN
    if first.value == second.value:
        return Compared(True, first.kind)
    if not (first.stated and second.stated):
        return _UNKNOWN
    return Compared(False, first.kind, repaired=second.value in _right(pair))


def _right(pair: Pair) -> set[str]:
    """The values of the right answer, as far as rules find any."""
    found = {answer.value for text in (pair.chosen, pair.reference) if text and (answer := final_answer(text, pair))}
    leading = re.match(r"\s*\(?([A-Z])\)?(?:[).:\s]|$)", pair.reference or "")  # "(B) The bond", "B"
    return found | {leading[1]} if leading else found


def _same_code(before: str, after: str, pair: Pair, *, run_code: bool) -> Compared:
    old, new = code_of(before), code_of(after)
    if old is None or new is None:
        return _UNKNOWN
    if run_code:
        passed, passes = run_tests(old, pair.meta), run_tests(new, pair.meta)
        if passed is not None and passes is not None:
            return Compared(passed == passes, "code", repaired=passes and not passed)
    return Compared(True, "code") if code_form(old) == code_form(new) else _UNKNOWN


_DENIALS = re.compile(
    r"\b(?:not|no|never|myths?|false\w*|incorrect\w*|wrong\w*|untrue|contrary|mistaken\w*|misconceptions?|actually|"
    r"instead|rather|however|although|unlikely|doubt\w*|fail\w*|den(?:y|ies|ied)|deb?unk\w*)\b|n['’]t\b",
    re.IGNORECASE,
)


def _same_words(value: str, after: str, pair: Pair) -> Compared:
    words = words_of(_shown(after))
    if not says(words, value):
        return _UNKNOWN
    rest = words.replace(value, " ", 1)
    right = [words_of(_shown(text)) for text in (pair.chosen, pair.reference) if text]
    # The chosen answer may contain the rejected one, and the other way round.
    if _DENIALS.search(rest) or any(says(rest if says(value, answer) else words, answer) for answer in right):
        return _UNKNOWN
    return Compared(True, "exact")


_NUMERAL = r"[-+−]?(?:\$\s*)?\d[\d,]*(?:\.\d+)?(?:\s*/\s*\d+)?"
_STATED = re.compile(
    r"(?:^[ \t]*A[ \t]*:|^[ \t]*#{3,4}(?!#)|^[# \t]*Answer\s*\n"
    r"|(?i:\banswer\b\s*(?:is|equals|:|=|to be|would be|should be))"
    r"|(?i:\bfinal (?:result|value)\b\s*(?:is|:|=)))\s*(?:approximately |about |exactly )?[=:≈]?\s*"
    rf"(?P<n>{_NUMERAL})",
    re.MULTILINE,
)
_ANY_NUMBER = re.compile(rf"(?<![\w.]){_NUMERAL}(?!\w*\d)")
_WANTS_NUMBER = re.compile(
    r"\bhow (?:many|much|old|long|far|tall|fast)\b|\b(?:calculate|compute|evaluate|estimate)\b|\bfind (?:the|all)\b"
    r"|\bwhat(?:'s| is| was| are)\b[^?\n]{0,60}\b(?:value|sum|number|total|product|probability|percent\w*|price|cost"
    r"|area|volume|average|mean|ratio|distance|remainder)\b",
    re.IGNORECASE,
)


def _stated_number(shown: str) -> str | None:
    alone = shown.strip(" \n.$%")
    if _ANY_NUMBER.fullmatch(alone):
        return _fraction(alone)
    stated = list(_STATED.finditer(shown))
    return _fraction(stated[-1]["n"]) if stated else None


def _numbers(sentence: str) -> str | None:
    """All numbers of a sentence without formulas: which of them answers, no rule can tell."""
    if "\\" in sentence or "^" in sentence:
        return None
    return ",".join(_fraction(number) or "" for number in _ANY_NUMBER.findall(sentence)) or None


def _fraction(text: str) -> str | None:
    try:
        return str(Fraction(re.sub(r"[\s,$]", "", text.replace("−", "-"))))
    except (ValueError, ZeroDivisionError):
        return None


def _boxed(text: str) -> str | None:
    at = text.rfind("\\boxed")
    value = _braced(text, at + len("\\boxed")) if at >= 0 else None
    return _formula(value) if value else None


def _headed(text: str) -> str | None:
    """The last line, where it stands under a heading "Answer"."""
    match = re.search(r"^#+[ \t]*(?:final )?answer[ \t]*:?[ \t]*\n+([^\n]+)\s*\Z", text, re.IGNORECASE | re.MULTILINE)
    return _formula(match[1]) if match else None


def _formula(value: str) -> str | None:
    """One spelling of a formula, without blanks and marks of layout; numbers and simple fractions as numbers."""
    value = re.sub(r"\\(?:text|mathrm|textbf|mathbf|mbox)\s*\{([^{}]*)\}", r"\1", value)
    value = re.sub(r"\\[!,;: ]|\\left|\\right|\\displaystyle|\\?\$|\s", "", value.replace("{,}", ","))
    value = re.sub(r"\\[dt]frac", r"\\frac", value).rstrip(".").removesuffix("\\%")
    if re.fullmatch(r"\([A-Z]\)", value):
        return value[1]
    plain = re.sub(r"\\frac\{?(\d+)\}?\{?(\d+)\}?", r"\1/\2", value)
    return (_fraction(plain) if re.fullmatch(_NUMERAL, plain) else None) or value or None


def _braced(text: str, at: int) -> str | None:
    """What stands in the braces that open at `at`; None where none open or they never close."""
    opening = re.compile(r"\s*\{").match(text, at)
    depth = 1
    for i in range(opening.end() if opening else len(text), len(text)):
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        if opening and depth == 0:
            return text[opening.end() : i].strip()
    return None


def _marked(text: str, question: str) -> str | None:
    if not re.search(r"\*\*\*\w[^*\n]*\*\*\*|\bin \*{0,3}bold\b", question):
        return None
    marks = re.findall(r"\*{2,3}([^*\n]+)\*{2,3}", text)
    return words_of(marks[-1]).strip(" :") or None if marks else None


def _short(shown: str) -> str | None:
    """The words of an answer that is its own final answer: one sentence on one line."""
    text = shown.strip()
    if len(text) > SHORT or "\n" in text or re.search(r"[.!?]\s+\S", text):
        return None
    return words_of(text) or None


def _last_sentence(text: str) -> str:
    sentences = [s for s in re.split(r"(?<=[.!?])\s+|\n+", text.strip()) if s.strip(" *_#`$")]
    return sentences[-1] if sentences else ""


def _shown(text: str) -> str:
    """The text as a reader sees it: no Markdown or LaTeX around words; line breaks stay."""
    text = re.sub(r"\\(?:text|textbf|mathbf|mathrm|boxed)\s*\{([^{}]*)\}", r"\1", visible(text))
    return re.sub(r"\\[\[\]()!,;]|\$(?!\d)|[*`]|^[ \t]*#{1,2}[ \t]+", "", text, flags=re.MULTILINE)
