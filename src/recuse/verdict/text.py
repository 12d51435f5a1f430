"""Text before it is read: invisible characters, other scripts, markup, quotations and thinking taken off."""

from __future__ import annotations

import re
import unicodedata

_INVISIBLE = [
    0xAD,
    0x61C,
    0x180E,
    0xFEFF,
    0x20E3,
    *range(0x200B, 0x2010),
    *range(0x202A, 0x202F),
    *range(0x2060, 0x2070),
]
_INVISIBLE += [*range(0xFE00, 0xFE10), *range(0xE0000, 0xE0080)]
_LETTERS: dict[int, str | None] = dict.fromkeys(_INVISIBLE)
# Decimal digits of other scripts, which NFKC leaves alone: Arabic, Persian, Devanagari, Bengali, Thai.
_LETTERS |= {zero + i: str(i) for zero in (0x660, 0x6F0, 0x966, 0x9E6, 0xE50) for i in range(10)}
# Marks that stand for ASCII ones.
_LETTERS |= {ord(mark): ascii_mark for mark, ascii_mark in zip("【】‘’“”„«»「」『』", "[]''" + '"' * 9, strict=True)}
_LETTERS |= {ord("🅰"): "A", ord("🅱"): "B", ord("≫"): ">>", ord("≪"): "<<"}
_ALONE = re.compile(r"(?<!\w)[АВСΑΒ](?!\w)")  # Cyrillic and Greek letters that look like the Latin labels of a prompt
_LATIN = dict(zip("АВСΑΒ", "ABCAB", strict=True))

_MARKUP = re.compile(r"[*_`#\\$&<~]")
_COMMAND = re.compile(r"\\(?:boxed|fbox|text|textbf|textit|textrm|mathbf|mathrm|emph)\s*\{([^{}]*)\}")
_MATHS = re.compile(r"\$([^$\n]{1,24})\$")
_ESCAPED = re.compile(r"\\+([\[\](){}_*#>$])")
_EMPHASIS = re.compile(r"\*+|~~|(?<![^\W_])_+|_+(?![^\W_])|^[ \t]*#{1,6}[ \t]*", re.MULTILINE)
# HTML, tags such as <answer>, and the special tokens that some servers leave in; not the placeholder <A>.
_HTML = re.compile(r"</?(?:[biups]|[BIUPS]|h[1-6]|[a-z][a-z_]{1,20})\s*/?>|<\|[^|<>\n]{1,24}\|>")
_ENTITIES = {"&gt;": ">", "&lt;": "<", "&quot;": '"', "&#39;": "'", "&nbsp;": " ", "&amp;": "&"}

_CHANNEL = r"<\|channel\|>"
_THINKING_OPENS = re.compile(rf"<(?:think|thinking|thought|reasoning)>|\[THINK\]|{_CHANNEL}analysis\b", re.IGNORECASE)
_THINKING_ENDS = re.compile(
    rf"</(?:think|thinking|thought|reasoning)>|\[/THINK\]|{_CHANNEL}final<\|message\|>", re.IGNORECASE
)

CUES = (
    "verdict|decision|judge?ment|choice|winner|preference|selection|"
    "判定|結論|最终判断|最终裁决|结论|裁决|вердикт|решение|veredicto|decisión|décision|urteil|entscheidung|판정"
)
WEAK_CUES = (
    "answer|response|reply|result|conclusion|label|output|best|better|preferred|rating|score|"
    "better answer|better response|better one|"
    "評価|答え|回答|选择|答案|ответ|respuesta|réponse|antwort|정답|답변"
)
_LEAD = r"(?:(?:so|thus|therefore|hence|and|in conclusion|my|the|our|final|overall|最終|最终)\b[\s,:]*){0,5}"
CUE_LEAD = rf"[^\w\n]*(?:\d{{1,2}}[.)][^\w\n]*)?{_LEAD}"
_QUOTED = re.compile(r'"[^"\n]*"')
_BEFORE_QUOTED_VERDICT = re.compile(
    rf"{CUE_LEAD}(?:{CUES}|answer|rating|score|評価|答え|回答|答案|ответ)\s*(?:is|would be|[:=])?\s*[\[(]*",
    re.IGNORECASE,
)
_FENCE = re.compile(r"^[ \t]*```[^\n`]*\n(.*?)(?:^[ \t]*```[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_BLOCKQUOTE = re.compile(r"^[ \t]*>[^\n]*(?:\n|$)", re.MULTILINE)


def visible(text: str) -> str:
    """`text` without zero-width characters, in NFKC (full-width and circled letters become plain ones), with the
    digits and look-alike letters of other scripts as ASCII. ASCII text comes back as it is."""
    if text.isascii():
        return text
    text = unicodedata.normalize("NFKC", text.translate(_LETTERS)).translate(_LETTERS)
    return _ALONE.sub(lambda match: _LATIN[match[0]], text)


def plain(text: str) -> str:
    """`text` as a reader would see it: `visible`, with Markdown, LaTeX and HTML taken off, and without quotations.

    Code spans count as quotations. What is quoted (a quotation, a block quote, a fenced block beside other text) is
    somebody else's words, such as the judged answer or the instruction, unless it is the value of a verdict line.
    """
    text = visible(text)
    if _MARKUP.search(text):
        text = _strip_markup(text)
    if ">" in text:
        text = _BLOCKQUOTE.sub("", text) or text
    if '"' in text:
        text = _drop_quotations(text)
    return text.strip()


def _strip_markup(text: str) -> str:
    if "```" in text:
        text = _open_fences(text)
    if "&" in text:
        for entity, character in _ENTITIES.items():
            text = text.replace(entity, character)
    if "\\" in text:
        for _ in range(3):  # commands nest: \boxed{\text{A}}
            text = _COMMAND.sub(r"\1", text)
        text = _ESCAPED.sub(r"\1", text)
    if "<" in text:
        text = _HTML.sub("", text)
    return _EMPHASIS.sub("", _MATHS.sub(r"\1", text)).replace("`", '"')


def _open_fences(text: str) -> str:
    """Unwrap a fence that is the whole reply, or a last one of one short line; drop others: they hold quotations."""
    outside = _FENCE.sub("", text).strip()

    def keep(match: re.Match[str]) -> str:
        last = not text[match.end() :].strip()
        inside = match[1].strip()
        return match[1] if not outside or (last and len(inside) <= 60 and "\n" not in inside) else ""

    return _FENCE.sub(keep, text)


def _drop_quotations(text: str) -> str:
    def keep(match: re.Match[str]) -> str:
        before = text[max(0, match.start() - 80) : match.start()].rstrip(" \t\n")
        line = before[before.rfind("\n") + 1 :]  # the words before it, or the line above
        if len(match[0]) <= 120 and line.strip(' "') and _BEFORE_QUOTED_VERDICT.fullmatch(line):
            return match[0][1:-1]
        return match[0] if match.start() == 0 and match.end() >= len(text.rstrip(" \t\n.!")) else " … "

    return _QUOTED.sub(keep, text)


def split_thinking(text: str) -> tuple[str, bool]:
    """The reply without its thinking, and whether a block of thinking was left open (the reply was cut inside it)."""
    if "<" not in text and "[" not in text:
        return text, False
    kept: list[str] = []
    at = 0
    while opening := _THINKING_OPENS.search(text, at):
        ending = _THINKING_ENDS.search(text, opening.end())
        if ending is None:
            line = text[text.rfind("\n", 0, opening.start()) + 1 : opening.start()]
            if line.strip():  # the words "<think>" within a sentence
                break
            return "".join([*kept, text[at : opening.start()]]).strip(), True
        kept.append(text[at : opening.start()])
        at = ending.end()
    answer = "".join([*kept, text[at:]])
    endings = list(_THINKING_ENDS.finditer(answer))  # the template of some models opens the block inside the prompt
    return answer[endings[-1].end() if endings else 0 :].strip(), False
