"""The cases of an audit as a list that a script filters; without the script the first of them, in the same form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from recuse.report import marks, text
from recuse.report.case import OUTCOMES, UNTOUCHED, Case, Said
from recuse.report.html_parts import data, folded, safe, table
from recuse.report.result import AuditResult

_FIRST = 12  # cases that the page shows without its script
_LONGEST = 20_000  # characters of any text
_BYTES = 12_000_000  # of all texts together, so that the page stays under 15 MB
_SHORT = 100  # characters of texts of cases that went well, where not all texts fit
_TOLD = 26  # bytes that tell the length of a text that is cut
_WELL = ("right", "steady")
_BEGIN = 140  # characters of a question in the line of its case
_ALIKE = 0.3  # share of words in common below which marking what differs would mark nearly everything
_TURNED = "turned"  # a filter beside the outcomes: right untouched, wrong in this arm
_COLOURS = {"wrong": "recuse", "flips": "recuse", "right": "fit"}


def cases_section(result: AuditResult) -> str:
    """Everything between the heading and the next section; empty without cases."""
    if not result.cases:
        return ""
    cases, limit, short = _bounded(result.cases)
    total = result.of_cases or len(cases)
    parts = [
        *(f"<p>{sentence}</p>" for sentence in _said(result.cases, total, limit, short)),
        _filters(cases),
        f'<p id="case-count" role="status">{_count(min(_FIRST, len(cases)), len(cases))}</p>',
        '<ol id="case-list">\n' + "\n".join(f"<li>{case_html(case)}</li>" for case in cases[:_FIRST]) + "\n</ol>",
        '<nav id="case-pages" aria-label="Pages of cases" hidden><button type="button">Previous cases</button> '
        '<button type="button">Next cases</button></nav>',
        data(_plain(cases), "case-data"),
    ]
    return "\n".join(part for part in parts if part)


def _said(cases: Sequence[Case], total: int, limit: int, short: int) -> list[str]:
    said = []
    if total > len(cases):
        said.append(f"The page holds {len(cases):,} of {total:,} cases, the worst first; all verdicts are in "
                    "judgements.parquet.")  # fmt: skip
    if not any(case.question for case in cases):
        said.append("The texts of these pairs are not known: the file of verdicts is without them.")
    else:
        of_well = f" ({short:,} in cases that went well)" if short < limit else ""
        said.append(f"Texts over {limit:,} characters{of_well} are cut here, and whole in cases.parquet.")
    return said


def _count(shown: int, of: int) -> str:
    return f"The first {shown:,} of {of:,} cases, worst first." if shown < of else f"{of:,} cases, worst first."


def _texts(case: Case) -> Iterable[str]:
    given = (case.question, case.chosen, case.rejected, case.untouched)
    return [t for t in (*given, *(reply for said in case.said for reply in said.replies)) if t is not None]


def _bounded(cases: Sequence[Case]) -> tuple[list[Case], int, int]:
    """The cases with every text made visible, and cut so that all together keep within the budget; with the limit of
    most texts, and that of texts of cases that went well, which are cut first."""
    worse = {t for case in cases if case.outcome not in _WELL for t in _texts(case)}
    well = {t for case in cases if case.outcome in _WELL for t in _texts(case)} - worse
    limit = short = _LONGEST
    while True:
        seen = {t: text.visible(t, limit=limit) for t in worse} | {t: text.visible(t, limit=short) for t in well}
        size = sum(len(t.encode()) + t.count("\n") + t.count('"') + 5 * t.count("<") for t in seen.values())
        if size <= _BYTES:
            return [_replaced(case, seen) for case in cases], limit, short
        if short > _SHORT:
            short = _SHORT
            room = _BYTES - sum(min(len(t), short + _TOLD) for t in well)
            limit = _limit([len(t) + _TOLD for t in sorted(worse, key=len)], room)
        else:
            limit, short = (int(0.95 * old * _BYTES / size) for old in (limit, short))


def _limit(lengths: Sequence[int], room: int) -> int:
    """The greatest limit at which texts of these lengths, in rising order, fit into the room."""
    many = len(lengths)
    for i, length in enumerate(lengths):
        if length * (many - i) > room:
            return max(_SHORT, min(_LONGEST, room // (many - i)))
        room -= length
    return _LONGEST


def _replaced(case: Case, seen: dict[str, str]) -> Case:
    def of(t: str | None) -> str | None:
        return None if t is None else seen[t]

    said = tuple(
        Said(s.order, text.visible(s.says), s.repeat, s.p, tuple(seen[reply] for reply in s.replies)) for s in case.said
    )
    return Case(
        text.visible(case.pair), text.visible(case.arm), case.domain and text.visible(case.domain), of(case.question),
        of(case.chosen), of(case.rejected), of(case.untouched), said, case.before, case.gold,
    )  # fmt: skip


def _plain(cases: Sequence[Case]) -> dict[str, Any]:
    """What the script reads: lists without names, texts and names by their place in a table."""
    texts: dict[str, int] = {}
    arms, domains = _arms(cases), _domains(cases)

    def at(t: str | None) -> int:
        return -1 if t is None else texts.setdefault(t, len(texts))

    rows = [
        [
            case.pair, arms.index(case.arm), domains.index(case.domain or ""), case.outcome, case.label,
            int(case.turned), int(case.gold), at(case.question), at(case.chosen), at(case.rejected), at(case.untouched),
            [_one(case, said, at) for said in case.said],
        ]
        for case in cases
    ]  # fmt: skip
    named = ["" if arm == UNTOUCHED else arm for arm in arms]
    return {"arms": named, "domains": domains, "cases": rows, "texts": list(texts)}


def _one(case: Case, said: Said, at: Callable[[str | None], int]) -> list[Any]:
    """What the judge said once: order, call, what it prefers, P(better answer), what it preferred of the untouched
    answers, and its words."""
    return [
        at(case.order(said.order)), said.repeat, at(text.preferred(case, said.says)),
        None if said.p is None else text.number(said.p), at(_before(case, said)), [at(words) for words in said.replies],
    ]  # fmt: skip


def _before(case: Case, said: Said) -> str:
    return text.preferred(case, (case.before or {}).get(said.order, ""))


def _arms(cases: Sequence[Case]) -> list[str]:
    """The untouched answers first."""
    return sorted({case.arm for case in cases}, key=lambda arm: (arm != UNTOUCHED, arm))


def _domains(cases: Sequence[Case]) -> list[str]:
    return sorted({case.domain or "" for case in cases})


def _filters(cases: Sequence[Case]) -> str:
    outcomes = Counter(case.outcome for case in cases)
    named = [(str(outcome), label, outcomes[outcome]) for outcome, label in OUTCOMES.items() if outcomes[outcome]]
    if turned := sum(case.turned for case in cases):
        named.append((_TURNED, "Right untouched, wrong in its arm", turned))
    arms, domains = Counter(case.arm for case in cases), Counter(case.domain or "" for case in cases)
    chosen = [
        _select("outcome", "Outcome", named),
        _select("arm", "Answers", [
            (str(i), "as they are" if arm == UNTOUCHED else arm, arms[arm]) for i, arm in enumerate(_arms(cases))
        ]),
        _select("domain", "Domain", [
            (str(i), domain or "(none)", domains[domain]) for i, domain in enumerate(_domains(cases))
        ]),
    ]  # fmt: skip
    return (
        '<div id="case-filters" role="search" aria-label="Filter the cases" hidden>\n'
        + "\n".join(part for part in chosen if part)
        + '\n<p><label for="case-text">Text</label><input type="search" id="case-text" autocomplete="off"></p>\n'
        '<p><button type="button" id="case-reset">Show all</button></p>\n</div>'
    )


def _select(name: str, label: str, options: Sequence[tuple[str, str, int]]) -> str:
    """A menu; empty where there is nothing to choose."""
    if len(options) < 2:
        return ""
    shown = "".join(f'<option value="{value}">{safe(words)} ({count:,})</option>' for value, words, count in options)
    return (
        f'<p><label for="case-{name}">{label}</label><select id="case-{name}"><option value="*">All</option>'
        f"{shown}</select></p>"
    )


def case_html(case: Case, *, more: str = "") -> str:
    """The same elements as the script makes. `more`: HTML at its end."""
    about = " · ".join(part for part in (case.pair, case.domain, "" if case.arm == UNTOUCHED else case.arm) if part)
    begin = (case.question or "").replace("\n", " ")[:_BEGIN]
    summary = (
        f'<span class="badge {_COLOURS.get(case.outcome, "inconclusive")}">{case.label}</span> '
        f'<span class="about">{safe(about)}</span> <span class="begin" dir="auto">{safe(begin)}</span>'
    )
    left, right, note = _marked(case)
    told = [
        _text("Question", safe(case.question, marks.LONGEST)) if case.question is not None else "",
        f'<div class="beside">\n{_text(text.answer(case, "chosen"), left)}\n'
        f"{_text(text.answer(case, 'rejected'), right)}\n</div>{note}"
        if case.chosen is not None or case.rejected is not None
        else "",
        _verdicts(case),
        _replies(case),
        more,
    ]
    return folded(summary, "\n".join(part for part in told if part), kind="case")


def _text(heading: str, shown: str) -> str:
    return f'<div><h3>{heading}</h3><p class="text" dir="auto">{shown}</p></div>'


def _marked(case: Case) -> tuple[str, str, str]:
    """Both answers with the words marked in which they differ, and a note. A changed answer is compared with itself
    before the change."""
    chosen, rejected = case.chosen or "", case.rejected or ""
    before, after = marks.marked(chosen if case.untouched is None else case.untouched, rejected)
    if not rejected or marks.alike(before, after) < _ALIKE:
        few = '<p class="note">The answers have few words in common: what differs is not marked.</p>'
        return safe(chosen, marks.LONGEST), safe(rejected, marks.LONGEST), few if chosen and rejected else ""
    if case.untouched is None:
        return _highlighted(before), _highlighted(after), ""
    note = '<p class="note">Marked: what was changed in the worse answer.</p>'
    return safe(chosen, marks.LONGEST), _highlighted(after), note


def _highlighted(pieces: Sequence[marks.Piece]) -> str:
    shown = ((safe(piece, 2 * marks.LONGEST), differs) for piece, differs in pieces)
    return "".join(f"<mark>{piece}</mark>" if differs else piece for piece, differs in shown)


def _verdicts(case: Case) -> str:
    head = ("Order", "Call", "Prefers", "P(better answer)", "Untouched")
    repeats = any(s.repeat for s in case.said)
    rows = [
        [case.order(s.order), str(s.repeat + 1) if repeats else "", safe(text.preferred(case, s.says)),
         "" if s.p is None else text.number(s.p), safe(_before(case, s))]
        for s in case.said
    ]  # fmt: skip
    return table("What the judge said", head, rows) if rows else ""


def _replies(case: Case) -> str:
    shown = [
        f'<h4>{case.order(s.order)}</h4><pre class="text" dir="auto">{safe(reply, marks.LONGEST)}</pre>'
        for s in case.said
        for reply in s.replies
    ]
    return folded("Raw replies", "\n".join(shown), kind="reply") if shown else ""
