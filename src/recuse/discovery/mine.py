"""From a judge's mistakes to proposals: the judge explains itself step by step, and the teacher names what misled it.

A case is a pair that the judge got right in both orders as it was and wrong in both orders as rewritten. Explanations
select proposals and prove nothing: what a proposal is worth is measured on other pairs, with the deployed prompt.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import BaseModel, ConfigDict, ValidationError

from recuse.asks import Design, make_asks
from recuse.discovery.merge import Proposal
from recuse.judge import Answered
from recuse.lab.engines import Send
from recuse.prompts import Prompt, transcript
from recuse.types import Ask, Judgement, Message, Pair, Sampling, View
from recuse.verdict import read
from recuse.verdict.objects import last_object
from recuse.verdict.text import split_thinking

NO_WORDS = "(The judge gives no reasons.)"
_REASONING = frozenset({"verdict_line", "json_verdict", "bracket", "letter_colon", "output_letter", "bracket_strength"})


@dataclass(frozen=True, slots=True)
class Case:
    """A mistake that a rewrite caused: the pair as it was, the rejected answer as rewritten, in which arm."""

    pair: Pair
    rewritten: str
    arm: str

    @property
    def key(self) -> str:
        return f"{self.arm}:{self.pair.id}"


@dataclass(frozen=True, slots=True)
class Explained:
    """What the judge said of a case, step by step; `words` is None where its reasons led to another verdict."""

    case: Case
    view: View
    words: str | None
    orders: int = 1  # in which it was asked for reasons; 0: this judge gives none, so nothing was asked of it


@dataclass(frozen=True)
class Mined:
    """The proposals of one round and what became of its cases."""

    proposals: tuple[Proposal, ...]
    explained: tuple[Explained, ...]
    nothing: int  # cases for which the teacher named nothing
    unread: int  # replies of the teacher that are not what was asked for

    @property
    def disagreed(self) -> int:
        """Cases whose explained verdict is not the mistake that was to be explained."""
        return sum(e.words is None for e in self.explained)


def robust_flips(
    before: Sequence[Judgement],
    after: Sequence[Judgement],
    pairs: Mapping[str, Pair],
    texts: Mapping[str, str],
    arm: str,
) -> list[Case]:
    """Cases of one arm, in the order of `pairs`: right in every order before, wrong in every order after."""
    right, wrong = _unanimous(before, "chosen"), _unanimous(after, "rejected")
    return [Case(pair, texts[id], arm) for id, pair in pairs.items() if id in right and id in wrong and id in texts]


def _unanimous(found: Sequence[Judgement], preference: str) -> set[str]:
    """The pairs whose every judgement prefers the one, in both orders where there are two."""
    said: dict[str, set[str | None]] = {}
    orders: dict[str, set[str]] = {}
    for j in found:
        said.setdefault(j.pair, set()).add(j.prefers)
        orders.setdefault(j.pair, set()).add(j.order)
    return {
        pair for pair, all_said in said.items() if all_said == {preference} and orders[pair] in ({"AB", "BA"}, {"-"})
    }


def explain(cases: Sequence[Case], *, design: Design, reason: Prompt, deeper: Prompt, steps: int, send: Send,
            sampling: Sampling) -> list[Explained]:  # fmt: skip
    """DeeperExplain: the judge's reasons for each mistake, then `steps` further steps, each explaining those before.

    A judge whose deployed prompt asks for reasons explains its own reply; any other is asked again with `reason`, a
    prompt that asks for reasons before the verdict. The order in which a case is shown is drawn by a hash. A mistake
    was made in both orders, so where the reasons lead to another verdict in the one, they are asked for in the other.
    """
    own = reasoning(design, reason=reason, sampling=sampling)
    if own is None or (prompt := own.prompt) is None:
        return [Explained(case, "AB", NO_WORDS, orders=0) for case in cases]
    shown = [_drawn_first(case, own) for case in cases]
    talks = _reasons([first for first, _ in shown], prompt, send)
    off = [i for i, talk in enumerate(talks) if not talk.agreed]
    for i, talk in zip(off, _reasons([shown[i][1] for i in off], prompt, send), strict=True):
        talks[i] = talk
    for step in range(1, steps + 1):
        _go_deeper(cases, talks, prompt, deeper, step, send, sampling)
    return [
        Explained(case, talk.ask.view, talk.told, orders=1 if talk.ask is first else 2)
        for case, talk, (first, _) in zip(cases, talks, shown, strict=True)
    ]


def reasoning(design: Design, *, reason: Prompt, sampling: Sampling) -> Design | None:
    """How a judge is asked for its reasons: as it is deployed where that gives them, else by the prompt `reason`; None
    for one that sees one answer at a time."""
    asking = design.prompt
    if asking is None or asking.kind != "pairwise":
        return None
    return Design(asking, design.sampling) if asking.spec.format in _REASONING else Design(reason, sampling)


@dataclass
class _Talk:
    """A conversation with the judge on one case, in one order."""

    ask: Ask
    agreed: bool  # its verdict is the mistake that is to be explained
    messages: list[Message]
    words: list[str]

    @property
    def told(self) -> str | None:
        said = "\n\n".join(w.strip() for w in self.words if w.strip()) or NO_WORDS
        return said if self.agreed else None


def _drawn_first(case: Case, design: Design) -> tuple[Ask, Ask]:
    """The case in both orders, with its reasons asked for; a hash draws which comes first."""
    one, other = make_asks([replace(case.pair, rejected=case.rewritten)], design, arm=f"explain:0:{case.arm}")
    draw = hashlib.sha256(f"order:{case.key}".encode("utf-8", "surrogatepass")).digest()[0]
    return (other, one) if draw % 2 else (one, other)


def _reasons(asks: Sequence[Ask], prompt: Prompt, send: Send) -> list[_Talk]:
    talks = []
    for ask, answer in zip(asks, send(asks), strict=True):
        agreed = read(answer.reply, prompt.spec).outcome == ("B" if ask.view == "AB" else "A")
        said = _spoken(answer)
        talks.append(_Talk(ask, agreed, [*ask.messages, Message("assistant", said)], [said]))
    return talks


def _go_deeper(
    cases: Sequence[Case], talks: Sequence[_Talk], prompt: Prompt, deeper: Prompt, step: int, send: Send,
    sampling: Sampling,
) -> None:  # fmt: skip
    """One further step of every conversation that came to the mistake."""
    going = [(case, talk) for case, talk in zip(cases, talks, strict=True) if talk.agreed]
    asks = []
    for case, talk in going:
        label = prompt.spec.second if talk.ask.view == "AB" else prompt.spec.first
        talk.messages.extend(deeper.fill(choice=label))
        arm = f"explain:{step}:{talk.ask.view}:{case.arm}"
        asks.append(Ask(case.pair.id, "text", tuple(talk.messages), sampling, deeper.hash, arm=arm))
    for (_, talk), answer in zip(going, send(asks), strict=True):
        said = _spoken(answer)
        talk.messages.append(Message("assistant", said))
        talk.words.append(said)


def _spoken(answer: Answered) -> str:
    """A reply without what a judge thinks before it speaks, which is not among its reasons."""
    return split_thinking(answer.reply.text)[0]


class _Named(BaseModel):
    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True, str_min_length=1)
    name: str
    definition: str
    manifestation: str
    instruction: str
    changes_length: bool = False  # weak models leave it out


def extract(explained: Sequence[Explained], *, prompt: Prompt, known: str, send: Send, sampling: Sampling) -> Mined:
    """What the teacher names for each case that was explained; it may name nothing."""
    cases = [e for e in explained if e.words is not None]
    asks = []
    for e in cases:
        case, pair = e.case, e.case.pair
        values = {
            "question": transcript(pair.prompt), "chosen": pair.chosen, "rejected": case.rewritten,
            "original": pair.rejected, "explanation": e.words or "", "known": known,
        }  # fmt: skip
        asks.append(
            Ask(pair.id, "text", prompt.fill(**values), sampling, prompt.hash, schema=prompt.schema,
                arm=f"extract:{case.arm}")
        )  # fmt: skip
    proposals: list[Proposal] = []
    nothing = unread = 0
    for e, answer in zip(cases, send(asks), strict=True):
        found, said = read_bias(answer.reply.text)
        if not said:
            unread += 1
        elif found is None:
            nothing += 1
        else:
            proposals.append(
                Proposal(found.name, found.definition, found.manifestation, found.instruction, e.case.key,
                         found.changes_length)
            )  # fmt: skip
    return Mined(tuple(proposals), tuple(explained), nothing, unread)


def read_bias(text: str) -> tuple[_Named | None, bool]:
    """The bias that a reply names, None for none; and whether the reply is what was asked for."""
    value = last_object(text, "bias")
    if value is None:
        return None, False
    if value["bias"] in (None, {}, "none", "None", "null"):
        return None, True
    try:
        return _Named.model_validate(value["bias"]), True
    except ValidationError:
        return None, False
