"""Replies that are no answer: refusals, and messages of failed requests that were recorded as if they were replies.

Both are told by how the text begins, so that a judge may write about errors and about what an answer cannot do.
"""

from __future__ import annotations

import re

from recuse.verdict.text import visible


def _any(*patterns: str) -> str:
    return "(?:" + "|".join(patterns) + ")"


_STATUS = r"[45]\d\d\b"
_STATUS_WORDS = _any(
    "too many requests", "internal server error", "bad gateway", "service (?:temporarily )?unavailable",
    "gateway time-?out", "unauthorized", "forbidden", "not found", "bad request", "payment required",
    "request time-?out", "overloaded", "server error", "client error", "unprocessable", "payload too large",
)  # fmt: skip
_EXCEPTION = _any(
    "RateLimit", "API", "HTTP", "Connect", "Timeout", "ReadTimeout", "Service", "InternalServer", "Overloaded",
    "BadGateway", "SSL", "Remote", "ClientResponse", "JSONDecode", "MaxRetr",
) + r"\w*(?:Error|Exception|Timeout)\b"  # fmt: skip
_FAILED = re.compile(
    r"\W{0,3}"
    + _any(
        r"\$ERROR\$",
        r"(?-i:ERROR\b)",
        r"<!doctype\s+html|<html",
        r"traceback \(most recent",
        rf"(?:[a-z_]+\.)*{_EXCEPTION}",
        rf"(?:error:\s*)?(?:client|server) error '?{_STATUS}",
        r"(?:error:\s*)?(?:http(?:/\d(?:\.\d)?)?|(?:http )?status(?: code)?|error(?: code)?)(?: error)?"
        rf"[\s:=#-]*{_STATUS}",
        rf"(?:error:\s*)?{_STATUS}[\s:-]+{_STATUS_WORDS}",
    ),
    re.IGNORECASE,
)
_FAILED_WORDS = re.compile(
    r"\W{0,3}(?:error[\s:-]+)?"
    + _any(
        r"rate[\s_-]?limit",
        _STATUS_WORDS,
        "you exceeded your current quota",
        r"(?:request|read|connection) timed out",
        "connection (?:error|refused|reset|aborted)",
        "max retries exceeded",
        r"curl: \(",
        r"the (?:server|engine|model)\b[^.\n]{0,60}\b(?:overloaded|had an error|unavailable)",
        "upstream (?:connect|request|error)",
        "failed to (?:connect|fetch|establish)",
        "overloaded_error",
        r"error\s*[:.]?\s*$",
    ),
    re.IGNORECASE,
)
_FAILED_JSON = re.compile(
    r"\{\s*[\"']"
    + _any(
        r"errors?[\"']\s*:\s*(?:\{|[\"'][^\"'])",
        r"(?:type|object)[\"']\s*:\s*[\"']error[\"']",
        rf"(?:status|code|status_?code)[\"']\s*:\s*[\"']?{_STATUS}",
        r"detail[\"']\s*:",
        r"message[\"']\s*:\s*[\"'][^\"']*(?:rate.limit|too many|internal server|timed out|unavailable|overloaded)",
    ),
    re.IGNORECASE,
)


def is_error_text(text: str, *, wide: bool = False) -> bool:
    """Whether a recorded reply is the message of a failed request: a status line, an exception, an error page.

    `wide` adds what a judge might also begin with ("Rate limits are ...", a JSON object with a key "error"): ask for it
    where no verdict was found, or none could be told from such a text.
    """
    if _FAILED.match(text):
        return True
    return wide and bool(_FAILED_WORDS.match(text) or _FAILED_JSON.match(text))


_CANNOT = _any("can'?t", "can ?not", "could(?: not|n't)", "won't", "will not") + "|" + _any("am", "'m") + (
    " (?:unable|not able|not comfortable)"
)  # fmt: skip
_TASK = _any(
    "help", "assist", "provide", "comply", "fulfil", "evaluat", "judg", "compar", "rat", "scor", "answer", "respond",
    "engage", "support", "encourag", "promot", "participat", "generat", "creat", "continu", "discuss", "process",
    "complet", "select", "choos", "pick", "do", "be part", "satisfy", "recommend", "offer", "giv", "endors", "condon",
    "facilitat", "with",
)  # fmt: skip
_AS_AN_AI = r"as an? (?:ai|large language|language|assistant)[^.,\n]{0,60}"
_OPENING = rf"\W*(?:(?:unfortunately|sadly|hello|hi|{_AS_AN_AI})[\s,.!-]+){{0,3}}"
_REFUSAL = re.compile(
    _OPENING
    + _any(
        r"(?:(?:i'm|i am|we're|we are) (?:\w+ )?sorry|sorry|i (?:\w+ )?apologi[sz]e|my apologies|apologies)\b"
        rf"(?:[^\n]{{0,120}}?(?:\b(?:{_CANNOT})|\b(?:unable|decline|not able|not comfortable|not allowed))|[^\w\n]*$)",
        rf"i ?(?:{_CANNOT})\s+(?:\w+\s+){{0,2}}?(?:to )?{_TASK}\w*",
        r"i (?:must|have to|need to|will|would have to)? ?(?:respectfully |politely )?(?:decline|refuse)\b",
        r"(?:this|the|your) (?:request|content|prompt|question|conversation|response)\b[^.\n]{0,60}\b"
        r"(?:violat\w+|goes against|flagged|blocked|filtered|content (?:management )?policy)",
        "申し訳", "すみませんが", "抱歉", "很抱歉", "对不起", "無法", "无法", "죄송", "عذرا", "أعتذر",
        "извините", "я не могу", "к сожалению", "lo siento", "no puedo", "je suis désolé", "je ne peux pas",
        "es tut mir leid", "mi dispiace", "desculpe", "sinto muito",
    ),
    re.IGNORECASE,
)  # fmt: skip


def is_refusal(text: str) -> bool:
    """Whether a reply begins by declining the task. "I cannot" further inside is reasoning."""
    return bool(_REFUSAL.match(visible(text)))
