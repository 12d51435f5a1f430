"""The nouns. Reading this file is reading the architecture.

    pairs -> asks -> ledger -> backend -> ledger -> replies -> verdicts -> judgements -> findings -> report

A `Pair` becomes one `Ask` per arm, view and repeat. A backend turns asks into `Reply` facts, which are kept for
ever. A `Verdict` is what a reply says, computed on reading. A `Judgement` maps verdicts back to the pair. A `Finding`
is one measured statement over many judgements.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

# How a pair is shown. "AB": the chosen (better) answer first; "BA": the rejected answer first;
# "chosen" and "rejected": that answer alone, for judges that score one answer at a time; "text": the reply is a text
# (a rewrite, an explanation, a list of candidates), not a verdict.
View = Literal["AB", "BA", "chosen", "rejected", "text"]
Outcome = Literal["A", "B", "tie"]  # positions as shown to the judge: A is the first answer
Preference = Literal["chosen", "rejected", "tie"]

# Why a reply has no verdict.
Reason = Literal[
    "refused",  # the model or a filter declined
    "truncated",  # cut by the token limit before a verdict
    "no_verdict",  # text without a verdict in the declared format
    "conflicting",  # final tags that name different outcomes
    "transport_error",  # the text of a failed request, recorded as if it were a reply
    "error",  # the provider rejected this request for good
    "missing",  # never asked or not recorded
]
Finish = Literal["stop", "length", "refusal", "error"]


@dataclass(frozen=True, slots=True)
class Message:
    role: str  # "system", "user" or "assistant"
    content: str


@dataclass(frozen=True, slots=True)
class Pair:
    """Two answers to one prompt, one of which is better.

    `group` names pairs that share a source question and count as one observation. `gold` says where the better
    answer stood in the source ("A" or "B"), for the report on label balance only.
    """

    id: str  # hash of prompt, chosen, rejected and reference
    prompt: str | tuple[Message, ...]
    chosen: str
    rejected: str
    group: str
    domain: str | None = None
    reference: str | None = None
    gold: Literal["A", "B"] | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sampling:
    temperature: float | None = 0.0  # None: the provider's own default
    max_tokens: int = 16
    seed: int | None = None
    top_logprobs: int = 0  # alternatives asked for at each decoded token; 0: none
    choice: bool = False  # let the engine restrict the reply to the ask's labels, where it can


@dataclass(frozen=True, slots=True)
class Ask:
    """One question to a judge, before a backend gives it the form in which it is sent."""

    pair: str  # Pair.id
    view: View
    messages: tuple[Message, ...]
    sampling: Sampling
    prompt: str  # hash of the prompt file
    labels: tuple[str, ...] = ()  # spellings that a verdict may take: first, second, then a tie if there is one
    schema: Mapping[str, Any] | None = None  # JSON schema of the reply, where the format is JSON
    arm: str = "original"
    repeat: int = 0


@dataclass(frozen=True, slots=True)
class Call:
    """An ask as one backend will send it. `key` identifies it for ever (see `ledger.call_key`)."""

    key: str
    ask: Ask
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """A provider's answer as it came. Refusals and permanent errors are replies; transport errors never are."""

    key: str  # Call.key
    text: str
    finish: Finish = "stop"
    thinking: str | None = None  # reasoning that the provider delivered apart from the text
    logprobs: tuple[tuple[str, float], ...] | None = None  # alternatives at the first decoded token of the text
    score: float | None = None  # a reward model's scalar
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    seconds: float = 0.0
    model: str | None = None  # the version that the provider reported
    error: str | None = None  # with finish "error": what the provider said
    notes: tuple[str, ...] = ()  # settings that were refused or ignored, e.g. "temperature not accepted"
    batched: bool = False  # came out of a batch file, at half the price


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a reply says: an outcome or a score, or neither and the reason. Never stored as truth."""

    outcome: Outcome | None = None
    score: float | None = None  # of a single answer
    scores: tuple[float, float] | None = None  # of both answers, first shown first
    strength: int | None = None  # 1 slightly, 2 much; where the format has it
    p_first: float | None = None  # P(first shown) over the label tokens
    outside: float | None = None  # probability mass outside the label tokens
    bounded: bool = False  # p_first rests on a bound: one label was not among the listed alternatives
    reason: Reason | None = None
    why: str = ""  # for people: which rule read it, on which words


@dataclass(frozen=True, slots=True)
class Judgement:
    pair: str
    group: str
    order: Literal["AB", "BA", "-"]  # "-": a judge that sees one answer at a time
    prefers: Preference | None
    arm: str = "original"
    repeat: int = 0
    reason: Reason | None = None
    logit: float | None = None  # log odds that the judge prefers the chosen answer
    outside: float | None = None  # probability mass outside the label tokens
    fresh: bool = True  # a call of this run; a hit in a shared cache is never counted as a repeat
    bounded: bool = False  # the log odds rest on a bound (Verdict.bounded)
    scores: tuple[float, float] | None = None  # of the chosen and the rejected answer, on the judge's own scale


@dataclass(frozen=True, slots=True)
class Finding:
    """One measured statement. `estimate` None means not measured, and `reason` says why."""

    id: str
    title: str
    estimate: float | None
    interval: tuple[float, float] | None = None
    n: int = 0  # observations (pairs, unless `unit` says otherwise)
    groups: int = 0  # independent units
    p: float | None = None
    method: str = ""
    reason: str | None = None
    bounds: tuple[float, float] | None = None  # the interval widened over all completions of the missing verdicts
    tolerance: tuple[float | None, float | None] | None = None
    outcome: str | None = None  # "fit", "recuse", "inconclusive"; None for what is not a primary
    details: Mapping[str, Any] = field(default_factory=dict)
