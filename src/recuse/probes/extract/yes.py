"""P(yes | yes or no) from the probabilities of the first token, and the yes or no that the reply says.

Of the first token's alternatives all spellings of a label are summed, whatever their case and blanks. The share of yes
among yes and no is a finer measure than a sampled decision: one call shows what many draws would only estimate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from recuse.probes.extract.base import Bounds, Value
from recuse.types import Outcome, Reply
from recuse.verdict import Spec
from recuse.verdict.logprobs import first_token
from recuse.verdict.noanswer import is_error_text, is_refusal
from recuse.verdict.read import read_text
from recuse.verdict.text import split_thinking

_BLANKS = " \t\r\n\u00a0ĠĊ▁"  # with the marks by which tokenizers write blanks and line breaks
_Label = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]

NO_LOGPROBS = "no log-probabilities"
ALONE = "a single alternative is listed, which says nothing of the others"
NEITHER = "neither label is among the alternatives of the first token"


def folded(token: str) -> str:
    """A token without blanks around it and without case: " Yes", "ĠYES" and "▁yes" are one."""
    return token.strip(_BLANKS).casefold()


class YesSettings(BaseModel):
    """yes, no  the labels; each has to be one token of the model's, since only the first is looked at
    clip     log odds beyond which values are cut, so that one near-certain reply does not decide a mean
    least    probability that both labels must hold together; below, the reply counts as failed
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    yes: _Label = "yes"
    no: _Label = "no"
    clip: Annotated[float, Field(gt=0.0, le=27.0)] = 10.0
    least: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.0

    @model_validator(mode="after")
    def _apart(self) -> YesSettings:
        if folded(self.yes) == folded(self.no):
            raise ValueError("yes and no are the same label: case and blanks do not tell labels apart")
        return self


class YesNo:
    """Metrics of one reply; see `Extractor`.

    p_yes        P(yes) / (P(yes) + P(no)) at the first token
    logit_yes    its log odds, cut at `clip` on either side
    yes_outside  probability of the first token that is on neither label
    yes_bounded  1 where `logit_yes` is no measured value but a limit: one label is not listed, so that its
                 probability counts as the most that the list leaves to it, or the log odds were cut; else 0
    yes_said     1 or 0, the decision in the reply's text: the metric where a backend has no log-probabilities

    The first four are None with the reason where nothing can be read: no usable alternatives, neither label among
    them, a refusal or an error in the text. An unlisted label makes `p_yes` and `logit_yes` lean to the middle, never
    away from it.
    """

    def __init__(self, settings: YesSettings) -> None:
        self.settings = settings
        self.bounds: Mapping[str, Bounds] = {
            "p_yes": (0.0, 1.0),
            "logit_yes": (-settings.clip, settings.clip),
            "yes_outside": (0.0, 1.0),
            "yes_bounded": (0.0, 1.0),
            "yes_said": (0.0, 1.0),
        }
        self._outcomes: dict[str, Outcome] = {folded(settings.yes): "A", folded(settings.no): "B"}
        self._spec = Spec("label", settings.yes, settings.no)

    def read(self, reply: Reply, *, base: Reply | None = None) -> Mapping[str, Value]:
        return {**self._measured(reply), "yes_said": self._said(reply)}

    def _measured(self, reply: Reply) -> dict[str, Value]:
        found = first_token(reply, lambda token: self._outcomes.get(folded(token)))
        reason = declined(reply)
        if reason is None and found is None:
            reason = ALONE if reply.logprobs and len(reply.logprobs) == 1 else NO_LOGPROBS
        if reason is None and found is not None:
            if not found.labels:
                reason = NEITHER
            elif found.labels < self.settings.least:
                reason = f"the labels hold less than {self.settings.least:g} of the first token's probability"
        outside = Value(None, reason=reason) if found is None else Value(found.outside)
        if found is None or reason is not None:
            none = Value(None, reason=reason)
            return {"p_yes": none, "logit_yes": none, "yes_outside": outside, "yes_bounded": none}
        p, clip = found.p_first, self.settings.clip
        logit = math.log(p) - math.log1p(-p)
        label = self.settings.yes if p > 0.5 else self.settings.no if p < 0.5 else None
        return {
            "p_yes": Value(p, label),
            "logit_yes": Value(min(max(logit, -clip), clip), label),
            "yes_outside": outside,
            "yes_bounded": Value(float(found.bounded or abs(logit) > clip)),
        }

    def _said(self, reply: Reply) -> Value:
        verdict = read_text(reply.text, self._spec, finish=reply.finish)
        if verdict.outcome is None:
            return Value(None, reason=verdict.reason)
        yes = verdict.outcome == "A"
        return Value(float(yes), self.settings.yes if yes else self.settings.no)


def declined(reply: Reply) -> str | None:
    """Why a reply decides nothing, whatever its probabilities: it is refused, or an error; else None."""
    if reply.finish == "refusal":
        return "refused"
    if reply.finish == "error":
        return "error"
    text, _ = split_thinking(reply.text.strip())
    if is_error_text(text):
        return "transport_error"
    return "refused" if is_refusal(text) else None
