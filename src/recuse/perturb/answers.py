"""The final answer of a text, where it can be told by rule, and whether a rewrite kept it.

Letters of a multiple-choice question, numbers, \\boxed{} results, letters repeated on request (JudgeBench), answers set
in ***stars*** on request (LiveBench), code, and answers so short that they are their own final answer.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from recuse.perturb.code import run_tests
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


def final_answer(text: str, pair: Pair | None = None) -> Answer | None:
    """The final answer of `text`, the last one announced; the question of `pair` tells the options and the form asked.

    None where no rule finds one: free text, mostly.
    """
    question = transcript(pair.prompt) if pair else ""
    options = options_of(question)
    shown = _shown(text)
    if (code := code_of(text)) is not None and not options:
        return Answer("code", _code_value(code))
    finders: list[Callable[[], Answer | None]] = [
        lambda: _repeated(shown, options),
        lambda: _boxed(text, options),
        lambda: _marked(text, question),
        lambda: _letter(shown, options),
        lambda: _number(shown, question),
        lambda: _exact(shown),
    ]
    found = [answer for find in finders if (answer := find()) is not None]
    return next((a for a in found if a.stated), found[0] if found else None)


def same_answer(before: str, after: str, pair: Pair, *, run_code: bool = False) -> Compared:
    """Whether `after`, a rewrite of `before`, has the same final answer to the question of `pair`.

    Code is compared by the pair's tests where `run_code` allows it (both fail, or both pass: the same), otherwise by
    its syntax tree without docstrings, comments and annotations. A short answer is the same where the rewrite says it
    word for word and neither denies it nor says the chosen one too.
    """
    first = final_answer(before, pair)
    if first is None:
        return Compared(None, "verifier")
    if first.kind == "code":
        return _same_code(before, after, first, pair, run_code=run_code)
    if first.kind == "exact":
        return _same_words(first.value, after, pair)
    second = final_answer(after, pair)
    if second is None or second.kind in ("code", "exact"):
        return Compared(None, "verifier")
    if first.value == second.value:
        return Compared(True, first.kind)
    if not (first.stated and second.stated):
        return Compared(None, "verifier")
    return Compared(False, first.kind, repaired=second.value in _right(pair))


def _right(pair: Pair) -> set[str]:
    answers = [final_answer(text, pair) for text in (pair.chosen, pair.reference) if text]
    options = options_of(transcript(pair.prompt))
    leading = re.match(r"\s*\(?([A-Z])\)?(?:[).:\s]|$)", pair.reference or "")  # "(B) The bond", "B"
    named = {leading[1]} if leading and leading[1] in options else set()
    return {answer.value for answer in answers if answer} | named


# Multiple choice

_OPTION_LINE = re.compile(r"^[ \t]*(?:\(([A-Z])\)|([A-Z])[).:])[ \t]*(\S[^\n]*)$", re.MULTILINE)
_OPTION_INLINE = re.compile(r"\(([A-Z])\)[ \t]*([^\n]*?)(?=\s*\([A-Z]\)|$)", re.MULTILINE)
_ONE = r"(?:\(\s*([A-Z])\s*\)|\[\s*([A-Z])\s*\]|([A-Z])(?=\s*(?:$|[\n.,;:)!]))|([B-HJ-Z])(?!\w|['’]))"
_ONE_PLAIN = r"(?:\([A-Z]\)|\[[A-Z]\]|[A-Z](?![\w'’]))"
_CUE = r"(?:answer|option|choice|guess|conclusion|solution|statement|selection|pick|choose|select|letter|candidate)s?\b"
_FILLER = r"(?:[^\w\n()\[\]]|\b(?:is|are|be|was|would|will|should|must|seems|appears|likely|probably|to|as|the|option|letter|choice|answer|therefore|thus|so|hence|only|indeed|clearly|definitely|final|correct|best|most|with|number)\b){1,40}?"
_ANNOUNCED = re.compile(rf"(?i:{_CUE})(?i:{_FILLER})(?P<first>{_ONE})(?P<more>(?:\s*(?:,|and|&|or)\s*{_ONE_PLAIN})*)")
_VERDICT_LATE = re.compile(
    r"\((?P<letter>[A-Z])\)[^\n.]{0,80}?\b(?:is|are) (?:the )?(?:\w+ )?(?:correct|right|best|answer)"
)
_ALONE = re.compile(r"^[^\w\n]*([A-Z])[^\w\n]*$", re.MULTILINE)
_REPEATED = re.compile(r"(?<![A-Za-z])([A-Z])(?:[\s,-]?\1){4}(?![A-Za-z])")
_BRACKETED = re.compile(r"\(([A-Z])\)")


def options_of(question: str) -> dict[str, str]:
    """The options of a multiple-choice question by letter, from A on without a gap; {} where there are none."""
    for pattern in (_OPTION_LINE, _OPTION_INLINE):
        found: dict[str, str] = {}
        for match in pattern.finditer(question):
            *letters, words = match.groups()
            letter = next(x for x in letters if x)
            if letter == chr(ord("A") + len(found)):
                found[letter] = words.strip()
        if len(found) >= 2:
            return found
    return {}


def _repeated(shown: str, options: Mapping[str, str]) -> Answer | None:
    letters = [m[1] for m in _REPEATED.finditer(shown) if not options or m[1] in options]
    return Answer("repeated", letters[-1]) if letters else None


def _letter(shown: str, options: Mapping[str, str]) -> Answer | None:
    announced = [(m.start(), _letters(m["first"] + m["more"])) for m in _ANNOUNCED.finditer(shown)]
    announced += [(m.start(), m["letter"]) for m in _VERDICT_LATE.finditer(shown)]
    if not options:
        bracketed = [(at, value) for at, value in announced if f"({value[0]})" in shown[at:]]
        return Answer("letter", max(bracketed)[1]) if bracketed else None
    on_menu = [(at, value) for at, value in announced if set(value.split(",")) <= set(options)]
    if on_menu:
        return Answer("letter", max(on_menu)[1])
    lines = shown.strip().splitlines()
    last = lines[-1] if lines else ""
    if (alone := _ALONE.fullmatch(last)) and alone[1] in options:
        return Answer("letter", alone[1])
    opening = re.match(r"\s*\(([A-Z])\)|\s*([A-Z])[.):]\s", shown)
    if opening and (letter := opening[1] or opening[2]) in options and len(lines) == 1:
        return Answer("letter", letter)
    ending = _last_sentence(shown)
    letters = set(_BRACKETED.findall(ending)) & set(options)
    named = {letter for letter, words in options.items() if _says(ending, words)}
    # An option whose words are part of another's: the longer one was meant.
    named = {x for x in named if not any(x != y and _says(options[y], options[x]) for y in named)}
    if len(letters | named) == 1:
        return Answer("letter", next(iter(letters | named)), stated=False)
    return None


def _letters(text: str) -> str:
    return ",".join(sorted(set(re.findall(r"(?<!\w)[A-Z](?!\w)", text))))


# Numbers, boxes and marks

_NUMERAL = r"[-+−]?(?:\$\s*)?\d[\d,]*(?:\.\d+)?(?:\s*/\s*\d+)?"
_NUMBER_STATED = re.compile(
    rf"(?:^\s*A\s*:|^\s*#{{3,4}}(?!#)|^\s*Answer\s*\n|(?i:\banswer\b\s*(?:is|equals|:|=|to be|would be|should be))"
    rf"|(?i:\bfinal (?:result|value)\b\s*(?:is|:|=)))\s*(?:approximately |about |exactly )?[=:≈]?\s*(?P<n>{_NUMERAL})",
    re.MULTILINE,
)
_ANY_NUMBER = re.compile(rf"(?<![\w.])(?P<n>{_NUMERAL})(?![\w]*[\d])")
_WANTS_NUMBER = re.compile(
    r"\bhow (?:many|much|old|long|far|tall|fast)\b|\b(?:calculate|compute|evaluate|estimate)\b|\bfind (?:the|all)\b"
    r"|\bwhat(?:'s| is| was| are)\b[^?\n]{0,60}\b(?:value|sum|number|total|product|probability|percent\w*|price|cost"
    r"|area|volume|average|mean|ratio|distance|remainder)\b",
    re.IGNORECASE,
)


def _number(shown: str, question: str) -> Answer | None:
    whole = _ANY_NUMBER.fullmatch(shown.strip(" \n.$%"))
    stated = list(_NUMBER_STATED.finditer(shown))
    if whole or stated:
        value = _as_number((whole or stated[-1])["n"])
        return Answer("number", value) if value else None
    if _WANTS_NUMBER.search(question):
        last = list(_ANY_NUMBER.finditer(_last_sentence(shown)))
        value = _as_number(last[-1]["n"]) if last else None
        return Answer("number", value, stated=False) if value else None
    return None


def _as_number(text: str) -> str | None:
    digits = re.sub(r"[\s,$]|\.$", "", text.replace("−", "-"))
    try:
        return str(Fraction(digits))
    except (ValueError, ZeroDivisionError):
        return None


def _boxed(text: str, options: Mapping[str, str]) -> Answer | None:
    at = text.rfind("\\boxed")
    inside = _braced(text, at + len("\\boxed")) if at >= 0 else None
    if inside is None:
        return None
    value = re.sub(r"\\(?:text|mathrm|textbf|mathbf|mbox)\s*\{([^{}]*)\}", r"\1", inside)
    value = re.sub(r"\\[!,;: ]|\\left|\\right|\\displaystyle|[$\s]", "", value.replace("\\dfrac", "\\frac"))
    value = value.replace("\\tfrac", "\\frac").replace("{,}", ",").rstrip(".").removesuffix("\\%")
    if (letter := value.strip("()")) in options:
        return Answer("letter", letter)
    plain = re.sub(r"\\frac\{?(\d+)\}?\{?(\d+)\}?", r"\1/\2", value)
    number = _as_number(plain) if re.fullmatch(_NUMERAL, plain) else None
    return Answer("boxed", number or value) if value else None


def _braced(text: str, at: int) -> str | None:
    """What stands in the braces that open at `at`, with the braces in it; None where they never close."""
    opening = re.compile(r"\s*\{").match(text, at)
    if opening is None:
        return None
    depth = 1
    for i in range(opening.end(), len(text)):
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        if depth == 0:
            return text[opening.end() : i].strip()
    return None


def _marked(text: str, question: str) -> Answer | None:
    if not re.search(r"\*\*\*?\w[^*\n]*\*\*|\bin (?:\*\*)?bold\b", question):
        return None
    marks = re.findall(r"\*{2,3}([^*\n]+)\*{2,3}", text)
    value = re.sub(r"\s+", " ", marks[-1]).strip(" .:").casefold() if marks else ""
    return Answer("marked", value) if value else None


# Words and code

_FENCE = re.compile(r"^[ \t]*```[^\n`]*\n(.*?)(?:^[ \t]*```[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_CODE_LINE = re.compile(
    r"^\s*(?:def |class |import |from \w[\w.]* import |return\b|for .+:|while .+:|if .+:|#include|(?:public|private|static)"
    r" |(?:const|let|var|func|fn|function) \w|[\w.\[\]]+ [-+*/]?= .+|.*[;{}]\s*$)"
)
_DENIALS = re.compile(
    r"\b(?:not|no|never|myths?|false\w*|incorrect\w*|wrong\w*|untrue|contrary|mistaken\w*|misconceptions?|actually|"
    r"instead|rather|however|although|unlikely|doubt\w*|fail\w*|den(?:y|ies|ied)|deb?unk\w*)\b|n['’]t\b",
    re.IGNORECASE,
)


def code_of(text: str) -> str | None:
    """The code of an answer: its fenced blocks, or the whole text where it is code; None where it has none."""
    blocks = [match[1] for match in _FENCE.finditer(text) if match[1].strip()]
    if blocks:
        return "\n".join(blocks)
    lines = [line for line in text.splitlines() if line.strip() and not line.strip().startswith(("#", "//"))]
    looks = sum(bool(_CODE_LINE.match(line)) for line in lines)
    return text if len(lines) >= 2 and looks >= 0.5 * len(lines) and _CODE_LINE.match(lines[0]) else None


def _code_value(code: str) -> str:
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "\n".join(" ".join(line.split()) for line in code.splitlines() if line.strip())
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
            for arg in ast.walk(node.args):
                if isinstance(arg, ast.arg):
                    arg.annotation = None
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                node.body = node.body[1:]
    return ast.dump(tree)


def _same_code(before: str, after: str, first: Answer, pair: Pair, *, run_code: bool) -> Compared:
    old, new = code_of(before), code_of(after)
    if old is None or new is None:
        return Compared(None, "verifier")
    if run_code:
        passed, passes = run_tests(old, pair.meta), run_tests(new, pair.meta)
        if passed is not None and passes is not None:
            return Compared(passed == passes, "code", repaired=passes and not passed)
    if _code_value(new) == first.value:
        return Compared(True, "code")
    return Compared(None, "verifier")


def _exact(shown: str) -> Answer | None:
    text = shown.strip()
    if not text or len(text) > SHORT or "\n" in text or re.search(r"[.!?]\s+\S", text):
        return None
    return Answer("exact", _words(text))


def _same_words(value: str, after: str, pair: Pair) -> Compared:
    words = _words(_shown(after))
    if not re.search(rf"(?<!\w){re.escape(value)}(?!\w)", words):
        return Compared(None, "verifier")
    rest = words.replace(value, " ", 1)
    right = {_words(_shown(text)) for text in (pair.chosen, pair.reference) if text}
    if _DENIALS.search(rest) or any(answer and _says(rest, answer) for answer in right):
        return Compared(None, "verifier")
    return Compared(True, "exact")


def _words(text: str) -> str:
    return " ".join(text.split()).strip(" .!?\"'").casefold()


def _says(text: str, words: str) -> bool:
    wanted = _words(words)
    return bool(wanted) and re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", _words(text)) is not None


def _last_sentence(text: str) -> str:
    sentences = [s for s in re.split(r"(?<=[.!?])\s+|\n+", text.strip()) if s.strip(" *_#`$")]
    return sentences[-1] if sentences else ""


def _shown(text: str) -> str:
    """The text as a reader sees it: no Markdown or LaTeX around words; line breaks stay."""
    text = visible(text)
    text = re.sub(r"\\(?:text|textbf|mathbf|mathrm|boxed)\s*\{([^{}]*)\}", r"\1", text)
    text = re.sub(r"\\[\[\]()!,;]|\$(?!\d)|[*`]|^[ \t]*#{1,2}[ \t]+", "", text, flags=re.MULTILINE)
    return text
