"""The label menu of a prompt, compiled once: which words a verdict may be, and where a label may stand in a phrase."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from recuse.types import Outcome, Reason, Verdict
from recuse.verdict.spec import Spec

NOUN = (
    r"(?:answer|response|reply|assistant|option|output|candidate|model|choice|text|solution|summary|completion|feedback|"
    r"version|number|回答|回應|アシスタント|助手|ответ|respuesta|réponse|antwort)"
)
# A word boundary of Latin script: 回答Bの方が names B although の is a letter too.
END = r"(?![0-9A-Za-z_\u00c0-\u024f])"
OPEN = r"[ \t\"'(\[{<]*"
CLOSE = r"[ \t\"')\]}>]*"
_ADVERB = r"(?!hardly|barely|scarcely|only|supposed|alleged|reported)\w+ly|much|far|also|still|overall|the|a"
IS_BETTER = (
    rf"(?:wins\b|(?:is|was)\s+(?:(?:{_ADVERB})\s+){{0,3}}(?:better|best|superior|preferred|preferable|stronger|winner)\b)"
    r"(?!\s*(?:if|when|only|or)\b|\s*\?)"
)
# Words before "X is better" that take the statement back, open a choice or report somebody else's.
_TAKEN_BACK = re.compile(
    rf"\b(?:or|nor|neither|either|whether|if|not|why|how|which|unless|claims|claiming|says|saying|states|stating)"
    rf"(?:\s+that)?\s+(?:the\s+)?(?:{NOUN}\s*)?\(?$",
    re.IGNORECASE,
)


def none(reason: Reason, why: str) -> Verdict:
    return Verdict(reason=reason, why=why)


def taken_back(text: str, start: int) -> bool:
    """Whether the statement that begins at `start` follows a word such as "whether", "or", "neither"."""
    return bool(_TAKEN_BACK.search(text[max(0, start - 60) : start]))


@dataclass(frozen=True)
class Menu:
    """The labels of a `Spec` and the patterns made of them."""

    spec: Spec
    outcomes: dict[str, Outcome]  # spelling (folded unless labels differ by case only) -> outcome
    verdicts: dict[str, Verdict]  # the bare labels as whole replies: the common case, answered by one look-up
    case: bool  # labels differ by case only
    whole: re.Pattern[str]  # a text that is a label and nothing more
    value: re.Pattern[str]  # what follows "Verdict:", from its beginning
    several: re.Pattern[str]  # labels named as a choice, "A or B": an echo of the instruction
    head: re.Pattern[str]  # a reply that begins with its label, and the rest of its first line
    listed: re.Pattern[str]  # a line that begins with a label, as in a list or under a heading
    better: re.Pattern[str]  # "Answer A is better"

    def find(self, label: str) -> Outcome | None:
        """The outcome that a label names, None off the menu."""
        label = label.strip()
        return self.outcomes.get(label if self.case else label.casefold())


@lru_cache(maxsize=256)
def menu_of(spec: Spec) -> Menu:
    """Compile the menu of `spec`. Formats whose labels are written in a fixed way take them from that way:
    "number" has 1 and 2 unless other labels were given, bracket labels lose their brackets, "Output (a)" is a."""
    first, second, tie = _written(spec)
    case = len({label.casefold() for label in (first, second)}) < 2
    outcomes: dict[str, Outcome] = {}
    named: list[tuple[str, Outcome]] = [(first, "A"), (second, "B")]
    if tie is not None:
        named += [(tie, "tie"), ("tie", "tie"), ("draw", "tie")]
    for label, outcome in named:
        outcomes.setdefault(label if case else label.casefold(), outcome)
    bare = dict(named[:3])
    words = "|".join(re.escape(label) for label in sorted(outcomes, key=len, reverse=True))
    # "The second answer": behind words only, since "A response" is an article and a noun.
    tail = "" if any(len(word) == 1 for word in outcomes) else rf"(?:[ \t]+{NOUN}\b)?"
    label = rf"(?P<label>{words}){END}{tail}"
    noun = rf"(?:the\s+)?(?:{NOUN}[ \t]*)?"
    before = rf"{OPEN}{noun}{OPEN}"
    flags = re.NOFLAG if case else re.IGNORECASE
    ends = r"[ \t]*[.!,;:。、]*\s*"
    stop = rf"(?=$|\n|[.,;:!。、](?:\s|$)|\s+-\s|\s*[–—(]|\s+(?:because|since|over)\b|\s+{IS_BETTER}|です|입니다)"
    # In a sentence a single letter counts in the menu's own case only: "a is better" may be an article gone astray.
    exact = "|".join(rf"(?-i:{re.escape(text)})" if len(text) == 1 else re.escape(text) for text in bare)
    return Menu(
        spec=spec,
        outcomes=outcomes,
        verdicts={
            text: Verdict(outcome=outcome, why=f'the reply is the label "{text}"') for text, outcome in bare.items()
        },
        case=case,
        whole=re.compile(rf"{before}{label}{CLOSE}{ends}", flags),
        value=re.compile(rf"{before}{label}{CLOSE}{stop}", flags),
        several=re.compile(
            rf"{before}(?:{words}){END}{CLOSE}(?:,|/|\||;|\bor\b|\bvs\b\.?|\band\b)\s*(?:(?:or|and)\s+)?"
            rf"{before}(?:{words}){END}{CLOSE}(?:$|\s*[.,;/|?)]|\s*\bor\b)",
            flags,
        ),
        head=re.compile(rf"{before}{label}(?P<rest>[^\n]*)", flags),
        listed=re.compile(rf"^[ \t\-•]*{before}{label}{CLOSE}(?:[.:)]|[ \t]*$)", flags | re.MULTILINE),
        better=re.compile(rf"(?:\b{NOUN}\s*)?(?<![\w'.]){OPEN}(?P<label>{exact}){END}{CLOSE}\s+{IS_BETTER}", flags),
    )


def _written(spec: Spec) -> tuple[str, str, str | None]:
    first, second, tie = spec.first.strip(), spec.second.strip(), spec.tie.strip() if spec.tie else None
    if spec.format == "number" and (first, second) == ("A", "B"):
        return "1", "2", tie
    if spec.format.startswith("bracket"):
        return first.strip("[] "), second.strip("[] "), tie.strip("[] ") if tie else None
    if spec.format == "output_letter":
        first, second = (re.sub(r"(?i)^output|[\s()]", "", label) for label in (first, second))
    return first, second, tie
