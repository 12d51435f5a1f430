"""From a reply to a verdict: what is no answer at all is told apart first, then the declared format is read."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from recuse.errors import UsageError
from recuse.types import Finish, Reply, Verdict
from recuse.verdict.labels import read_label, read_letter_colon, read_number, read_output_letter, read_verdict_line
from recuse.verdict.logprobs import read_logprobs, sampled_label, stands_alone
from recuse.verdict.menu import Menu, menu_of, none
from recuse.verdict.noanswer import is_error_text, is_refusal
from recuse.verdict.scores import read_number_pair, read_score
from recuse.verdict.spec import Spec
from recuse.verdict.structured import read_json_score, read_json_scores, read_json_verdict, read_ranking
from recuse.verdict.tags import read_bracket, read_bracket_score, read_bracket_strength
from recuse.verdict.text import plain, split_thinking


@dataclass(frozen=True, slots=True)
class Format:
    """How one format is read.

    `loose` formats have no mark of their own, so a reply that begins like a refusal or an error is not searched for a
    verdict. `logprobs`: the verdict is the first token, so its probabilities count.
    """

    about: str
    read: Callable[[str, Menu], Verdict]
    gives: str = "outcome"  # "outcome", "score" (one answer) or "scores" (both, and the outcome)
    loose: bool = False
    logprobs: bool = False
    data: bool = False  # JSON or Python literals: quotation marks and markup belong to the form


FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "label": Format(
            "the reply is a label of the menu, alone or among few words", read_label, loose=True, logprobs=True
        ),
        "verdict_line": Format('reasoning, then a last line such as "Verdict: A"', read_verdict_line),
        "json_verdict": Format('a JSON object such as {"verdict": "A"}, fenced or not', read_json_verdict, data=True),
        "bracket": Format("[[A]], [[B]], and the tie label, such as [[C]]", read_bracket),
        "bracket_strength": Format("[[A>>B]], [[A>B]], [[A=B]], [[B>A]], [[B>>A]]", read_bracket_strength),
        "output_letter": Format('"Output (a)", or reasoning with "Output (a) is better"', read_output_letter),
        "letter_colon": Format('"A: Feedback 1 is significantly better", reasons after it', read_letter_colon),
        "number": Format("a lone 1 or 2, text may follow", read_number, loose=True, logprobs=True),
        "number_pair": Format(
            'two scores: "8 9", "(8, 9)", "Answer 1: 8, Answer 2: 9"', read_number_pair, "scores", loose=True
        ),
        "score": Format('a number, alone or as in "Score: 7"', read_score, "score", loose=True),
        "bracket_score": Format("[[7]]", read_bracket_score, "score"),
        "json_score": Format('a JSON object such as {"score": 7}', read_json_score, "score", data=True),
        "json_scores": Format(
            'a JSON object with both scores by label: {"A": 7, "B": 5}', read_json_scores, "scores", data=True
        ),
        "ranking": Format('a list of {"model": label, "rank": 1}', read_ranking, data=True),
    }
)


def read(reply: Reply, spec: Spec) -> Verdict:
    """What `reply` says under `spec`: an outcome or a score, or none and the reason. Nothing is guessed.

    First-token probabilities decide in formats whose reply is the label, where the labels hold at least 0.1 of them. A
    text that is a refusal, an error, or one that merely begins with a label ("A careful ...") overrules them; lines
    after one that is the label alone do not.
    Raises UsageError for a format that is not in `FORMATS`.
    """
    if reply.score is not None and reply.finish == "stop":
        if math.isfinite(reply.score):
            return Verdict(score=reply.score, why="the reward model's scalar")
        return none("no_verdict", "the reward model's scalar is not a number")
    spoken = read_text(reply.text, spec, finish=reply.finish)
    if not reply.logprobs or not format_of(spec).logprobs or spoken.reason in ("refused", "error", "transport_error"):
        if spoken.reason == "error" and reply.error:
            return replace(spoken, why=reply.error)
        return spoken
    menu = menu_of(spec)
    measured = read_logprobs(reply, menu)
    if measured is None:
        return spoken
    said = sampled_label(reply, menu)
    if said is not None and spoken.outcome is None and stands_alone(reply.text, menu):
        said = None  # whatever a small model rambles on the next lines, its first token was the label and no word
    if measured.outcome is None or (said is not None and said != spoken.outcome):
        return replace(spoken, outside=measured.outside)
    return measured


def read_text(text: str, spec: Spec, *, finish: Finish = "stop") -> Verdict:
    """`read` for a recorded text without probabilities.

    The reasons: "refused" (the finish says so, or the text declines), "error" (the finish says so), "transport_error"
    (the text of a failed request), "truncated" (the finish is "length", thinking was left open, or JSON was),
    "conflicting" (final tags that name different outcomes), else "no_verdict".
    """
    form = format_of(spec)
    if finish == "refusal":
        return none("refused", "the provider reports a refusal")
    if finish == "error":
        return none("error", "the provider rejected the request")
    menu = menu_of(spec)
    if form.logprobs and (verdict := menu.verdicts.get(text)) is not None:
        return verdict
    text, open_thought = split_thinking(text.strip())
    if is_error_text(text, wide=form.loose):
        return none("transport_error", "the text of a failed request")
    if form.loose and is_refusal(text):
        return none("refused", "the reply begins by declining")
    words = text if form.data else plain(text)
    if not words:
        return (
            none("truncated", "cut before an answer")
            if open_thought or finish == "length"
            else none("no_verdict", "empty reply")
        )
    found = form.read(words, menu)
    cut = finish == "length" or open_thought
    if found.reason is None:
        if cut and _number_may_go_on(words, found, spec):
            return none("truncated", "cut inside the number")
        return found
    if found.reason in ("conflicting", "truncated"):
        return found
    if is_refusal(text):
        return none("refused", "the reply begins by declining")
    if is_error_text(text, wide=True):
        return none("transport_error", "the text of a failed request")
    return none("truncated", f"cut by the token limit: {found.why}") if cut else found


def _number_may_go_on(words: str, found: Verdict, spec: Spec) -> bool:
    """Whether a score at the very end of a cut reply may be the beginning of a longer one: the 1 of 10."""
    last = found.score if found.score is not None else found.scores[1] if found.scores else None
    if last is None or not words[-1:].isdigit() or last != int(last):
        return False
    return spec.scale is None or last * 10 <= spec.scale[1]


def format_of(spec: Spec) -> Format:
    """The format that `spec` names. Raises UsageError for an unknown one."""
    form = FORMATS.get(spec.format)
    if form is None:
        raise UsageError(f"There is no verdict format {spec.format!r}.", hint=f"Use one of: {', '.join(FORMATS)}.")
    return form
