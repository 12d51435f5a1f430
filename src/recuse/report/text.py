"""Words and numbers that every form of the report writes the same way."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from recuse.report.case import Case
from recuse.report.result import AuditResult
from recuse.types import Finding

LONGEST = 600  # characters of a model's text that a report shows

# Control, format (bidi overrides, zero width, tags), surrogate, line and paragraph separators.
_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def visible(text: object, *, limit: int = LONGEST, newline: str = "\n") -> str:
    """`text` without anything that acts instead of being seen, cut to `limit` characters with its length stated.

    Control, bidi and zero-width characters become ⟨U+202E⟩ and the like; line ends become `newline`, tabs a blank.
    """
    whole = str(text)
    shown = whole[:limit].replace("\r\n", "\n").replace("\t", " ")
    if not shown.isprintable():  # whatever is unseen is not printable; most lines are
        lines = (line if line.isprintable() else "".join(map(_mark, line)) for line in shown.split("\n"))
        shown = newline.join(lines)
    return f"{shown}… ({len(whole):,} characters)" if len(whole) > limit else shown


def _mark(character: str) -> str:
    return f"⟨U+{ord(character):04X}⟩" if unicodedata.category(character) in _UNSEEN else character


def number(value: float, decimals: int = 3) -> str:
    shown = f"{value:.{decimals}f}"
    return shown.lstrip("-") if float(shown) == 0 else shown


def interval(ends: tuple[float, float]) -> str:
    decimals = _decimals(ends)
    return f"[{number(ends[0], decimals)}, {number(ends[1], decimals)}]"


def _decimals(ends: tuple[float, float] | None) -> int:
    """Two decimals for a wide interval, more where the width would vanish in the rounding."""
    if ends is None:
        return 3
    width = ends[1] - ends[0]
    return 2 if width >= 0.1 else 3 if width >= 0.01 else 4


def estimate(finding: Finding) -> str:
    """The estimate as a fraction with its interval, or why there is none."""
    if finding.estimate is None and "withheld" in finding.details:
        return str(finding.reason)
    if finding.estimate is None:
        return f"not measured ({finding.reason or 'no reason given'})"
    shown = number(finding.estimate, _decimals(finding.interval))
    return shown if finding.interval is None else f"{shown} {interval(finding.interval)}"


def tolerance(finding: Finding) -> str:
    low, high = finding.tolerance or (None, None)
    if low is not None and high is not None:
        return f"{low:g} to {high:g}"
    if high is not None:
        return f"at most {high:g}"
    return "" if low is None else f"at least {low:g}"


def size(finding: Finding) -> str:
    """Observations, and in brackets the independent groups where they are told."""
    return f"{finding.n:,} ({finding.groups:,})" if finding.groups else f"{finding.n:,}"


def p_value(p: float | None) -> str:
    if p is None:
        return ""
    return "below 0.001" if p < 0.001 else f"{p:.3f}"


def reason_rows(result: AuditResult) -> list[tuple[str, str]]:
    """Failures by reason: the reason, and on how many asks."""
    total = "" if result.asks is None else f" of {result.asks:,}"
    return [(str(reason), f"{count:,}{total}") for reason, count in result.reasons.items()]


def bounds(finding: Finding) -> str:
    """The interval widened over all completions of the missing verdicts; empty where that changes nothing."""
    if finding.bounds is None or finding.bounds == finding.interval:
        return ""
    return f"{interval(finding.bounds)} over all completions"


def other_reading(finding: Finding) -> str:
    """What the same verdicts give when they are read another way, where that differs."""
    other = finding.details.get("other_reading")
    if other is None:
        return ""
    reason = None if other["estimate"] is not None else "no verdict in that reading"
    twin = replace(finding, estimate=other["estimate"], interval=other["interval"], reason=reason)
    return f"{other['reading']}: {estimate(twin)}"


def intervals(level: float) -> str:
    """What an interval of that confidence is called: "95 % interval"."""
    return f"{100 * level:.6g} % interval"


def cells(finding: Finding, *, level: float) -> dict[str, str]:
    """The row of a finding after its name: column -> text, not yet escaped. Tables leave out columns without text."""
    measured = finding.estimate is not None  # a p beside "not measured" would test something that nobody sees
    return {
        f"Estimate, {intervals(level)}": estimate(finding),
        "Tolerance": tolerance(finding),
        "n (groups)": size(finding),
        "p": p_value(finding.p) if measured else "",
        "p against the others": p_value(finding.details.get("p_against_others")) if measured else "",
        "Outcome": finding.outcome or "",
        "With missing verdicts": bounds(finding),
        "Other reading": other_reading(finding),
        "Remark": str(finding.details.get("uninformative") or _in_doubt(finding)),
        "Method": finding.method,
    }


def doubt(finding: Finding) -> str:
    """In a word or two, whether the controls of the run put the value in doubt: "suspect", "not settled" or ""."""
    reason = finding.details.get("suspect")
    return "" if not reason else "not settled" if str(reason).startswith("not settled") else "suspect"


def _in_doubt(finding: Finding) -> str:
    reason = str(finding.details.get("suspect") or "")
    return f"suspect: {reason}" if doubt(finding) == "suspect" else reason


def outcome_line(result: AuditResult) -> str:
    """The outcome and its reason in one line."""
    headline = visible(result.headline, newline=" ")
    if headline.casefold().startswith(result.outcome):
        return headline[0].upper() + headline[1:]
    return f"{result.outcome.capitalize()}: {headline}"


def usage_line(usage: Mapping[str, Any]) -> str:
    forms = {
        "calls": "{:,} calls",
        "from_ledger": "{:,} replies from the ledger",
        "tokens_in": "{:,} tokens in",
        "tokens_out": "{:,} tokens out",
        "cost": "{:.4g} US dollars",
        "seconds": "{:,.0f} seconds",
    }
    return ", ".join(form.format(usage[key]) for key, form in forms.items() if usage.get(key) is not None)


def case_name(case: Case) -> str:
    return f"{case.pair} ({case.domain})" if case.domain else case.pair


def case_rows(case: Case) -> list[tuple[str, str]]:
    """What a case shows, as label and text."""
    texts = {"Question": case.question, answer(case, "chosen"): case.chosen, answer(case, "rejected"): case.rejected}
    told = {f"Judge, {case.order(s.order).lower()}": s.says for s in case.said if s.repeat == 0}
    return [(label, content) for label, content in {**texts, **told}.items() if content is not None]


def answer(case: Case, which: str) -> str:
    """What an answer of a case is called."""
    if not case.gold:
        return "Answer A" if which == "chosen" else "Answer B"
    return "Better answer" if which == "chosen" else "Worse answer"


def preferred(case: Case, says: str) -> str:
    """What the judge said, in words; a verdict that failed as it is."""
    if says not in ("chosen", "rejected"):
        return says
    name = answer(case, says)
    return f"the {name.lower()}" if case.gold else name


def toml(content: Mapping[str, Any]) -> str:
    """`content` as TOML for a code block, with unseen characters made visible."""
    import tomli_w

    return visible(tomli_w.dumps(dict(content)), limit=1_000_000).strip()
