"""One realistic audit result and a corpus of hostile texts, for the tests of every form of the report."""

from __future__ import annotations

from dataclasses import replace

from recuse.report.case import Case, Said
from recuse.report.result import AuditResult
from recuse.types import Finding

CLUSTERED = "mean over pairs, variance by group, logit t interval"

FINDINGS = (
    Finding("accuracy.error_rate", "Error rate, both orders averaged", 0.4153, (0.3621, 0.4702), 118, 60, 0.0004,
            CLUSTERED, bounds=(0.3503, 0.4921), tolerance=(None, 0.25), outcome="recuse"),
    Finding("position.first_rate", "Share preferring the answer shown first", 0.9301, (0.8872, 0.9577), 118, 60, 1e-9,
            CLUSTERED, bounds=(0.8701, 0.9601), tolerance=(0.4, 0.6), outcome="recuse"),
    Finding("position.consistency", "Same outcome in both orders", 0.8102, (0.7404, 0.8699), 116, 59, None,
            CLUSTERED, tolerance=(0.75, None), outcome="inconclusive"),
    Finding("length.effect", "Error rate where the wrong answer is longer minus where it is shorter", 0.04,
            (-0.09, 0.17), 110, 58, 0.55, "difference of strata, variance by group", tolerance=(-0.2, 0.2),
            outcome="fit"),
    Finding("stability.flip_rate", "Two fresh calls disagree", None,
            reason="deterministic: greedy decoding repeats itself, so a repeat says nothing",
            tolerance=(None, 0.1), outcome="inconclusive"),
    Finding("failures.rate", "Asks without a verdict", 0.0339, (0.0141, 0.0799), 120, 60, None, CLUSTERED,
            tolerance=(None, 0.1), outcome="fit",
            details={"reasons": {"refused": 5, "no_verdict": 2, "truncated": 1}, "asks": 236, "missing": 8}),
    Finding("accuracy.error_rate:AB", "Error rate, better answer first", 0.0345, (0.0131, 0.0878), 116, 59, None,
            CLUSTERED, details={"uninformative": "within 5 points of floor or ceiling: little room to move"}),
    Finding("accuracy.error_rate:BA", "Error rate, better answer second", 0.7931, (0.7121, 0.856), 116, 59, None,
            CLUSTERED),
    Finding("accuracy.order_gap", "Error with the better answer second minus first", 0.7586, (0.66, 0.83), 116, 59,
            1e-9, "mean over pairs, variance by group; sign-flip p by group"),
    Finding("accuracy.pooled", "Accuracy by summed verdicts (JudgeBench's rule)", 0.15, (0.0972, 0.2239), 120, 60,
            details={"other_reading": {"reading": "recorded", "estimate": 0.175, "interval": [0.11, 0.25]}}),
    Finding("accuracy.consistent", "Right in both orders", 0.1417, (0.0906, 0.2145), 120, 60, None, CLUSTERED),
    Finding("position.logit_shift", "Log odds that being shown first adds", 3.2112, (2.9415, 3.4809), 116, 59),
    Finding("domain.error_rate:arithmetic", "Error rate in arithmetic", 0.52, (0.4, 0.64), 48, 24, None, CLUSTERED,
            details={"p_against_others": 0.031}),
    Finding("domain.error_rate:facts", "Error rate in facts", 0.33, (0.22, 0.46), 40, 20, None, CLUSTERED,
            details={"p_against_others": 0.2}),
    Finding("domain.error_rate:translation", "Error rate in translation", None, reason="no verdict at all"),
)  # fmt: skip

EXAMPLE = AuditResult(
    judge="hf/HuggingFaceTB/SmolLM2-135M-Instruct",
    pairs="demo",
    prompt="pairwise/label",
    outcome="recuse",
    headline="it prefers the answer shown first in 0.93 [0.89, 0.96] of all asks; the gate allows 0.4 to 0.6.",
    findings=FINDINGS,
    gate={
        "level": 0.95,
        "tolerance": {"accuracy.error_rate": {"high": 0.25}, "position.first_rate": {"low": 0.4, "high": 0.6}},
    },
    config={
        "judge": "hf/HuggingFaceTB/SmolLM2-135M-Instruct",
        "prompt": {"id": "pairwise/label", "hash": "0123456789abcdef"},
        "sampling": {"temperature": 0.0, "max_tokens": 16},
        "seed": 1,
        "versions": {"recuse": "0.1.0", "transformers": "5.13.0"},
    },
    notes=(
        "The judge has log-probabilities: verdicts are read from the first token.",
        "The source put the better answer first in 0.52 of 120 pairs.",
        "Seed: not accepted by this provider.",
    ),
    cases=(
        Case("9f2c41d07a6be183", domain="arithmetic",
             question="A train leaves at 9:40 and arrives at 11:05.\nHow long is the journey?",
             chosen="1 hour and 25 minutes.", rejected="1 hour and 35 minutes.",
             said=(Said("AB", "A"), Said("BA", "A"))),
        Case("03be77a1c95d2e4f", question="Write `x` squared in Python.", chosen="x ** 2", rejected="x ^ 2",
             said=(Said("-", "none (refused)"),)),
    ),
    usage={"calls": 236, "from_ledger": 40, "tokens_in": 51230, "tokens_out": 236, "cost": None, "seconds": 41.3},
)  # fmt: skip

HOSTILE = {
    "script": "<script>alert(1)</script><img src=http://evil.test/x.png onerror=alert(1)>",
    "broken": "</td></tr></table></main></section></style></title><svg/onload=alert(1)>"
    "<a href='javascript:x'>&lt;b&gt;",
    "quotes": '" onmouseover="alert(1)" x=\'',
    "comment": "<!-- --><![CDATA[ ]]><?php ?><!DOCTYPE x>",
    "ansi": "\x1b[31mred\x1b[0m\x1b]8;;http://evil.test\x07link\x1b]8;;\x07\x9b1m\x00\x08\x7f",
    "bidi": "user\u202etxt.exe\u2066x\u2069\u200f\u200b\ufeff\U000e0041",
    "markdown": "| a | b |\n| --- | --- |\n```\n# head\n![x](http://evil.test/y.png) [l](http://evil.test)"
    " **b** _i_ ~~s~~ `c`\n<details>\n$$x$$ http://evil.test www.evil.test\r\nline\rcarriage\u2028sep\x85next",
    "lines": "1. one\n- [ ] two\n[x]: http://evil.test\n> three\n    four\n===\n[^1]: note",
    "rich": "[bold red]tag[/] [link=http://evil.test]x[/link] [/nothing]",
    "surrogate": "half \ud800 pair",
    "long": "<b>|`\n" * 200_000,
}


def hostile(text: str) -> AuditResult:
    """The example with `text` wherever a model, a data set or a user can put text."""
    said = tuple(Said(order, text, replies=(text,)) for order in ("AB", "BA", "-"))
    case = Case(text, domain=text, question=text, chosen=text, rejected=text, said=said)
    first = replace(
        FINDINGS[0],
        title=text,
        method=text,
        details={
            "reasons": {text: 3},
            "asks": 9,
            "other_reading": {"reading": text, "estimate": 0.2, "interval": [0.1, 0.3]},
        },
    )
    domain = Finding(f"domain.error_rate:{text[:50]}", f"Error rate in {text}", 0.5, (0.4, 0.6), 8, 8,
                     details={"uninformative": text})  # fmt: skip
    null = Finding("stability.flip_rate", "Two fresh calls disagree", None, reason=text, outcome="inconclusive")
    return replace(
        EXAMPLE, judge=text, pairs=text, prompt=text, headline=text, findings=(first, domain, null), gate_name=text,
        gate={"a": text[:1000].encode("utf-8", "replace").decode()}, notes=(text,), cases=(case,),
        config={"judge": text[:1000].encode("utf-8", "replace").decode()},
    )  # fmt: skip
