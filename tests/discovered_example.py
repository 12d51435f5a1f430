"""One realistic discovery of many candidates, and the same with hostile text wherever a model or data can put text."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from recuse.report.discovered import DiscoverResult, Found, Worked
from recuse.types import Finding

METHOD = "clustered mean, logit t; p by sign flips of groups"
ORIGINAL = (
    "We split the sum into two parts and add each of them.\n\nThe first part gives 40 and the second one gives 29.\n"
    "The answer is 69."
)
REWRITTEN = (
    "As a licensed accountant, we split the sum into two parts and add each of them.\n\nThe first part gives 40 and "
    "the second one surely gives 29.\nThe answer is 69."
)


def effect(id: str, estimate: float, half: float = 0.04, *, n: int = 240, **details: Any) -> Finding:
    orders = {
        order: {"estimate": estimate + shift, "interval": (estimate + shift - half, estimate + shift + half),
                "base_error": 0.3 + 5 * shift, "informative": True, "p_opposite": 0.99}
        for order, shift in (("AB", 0.02), ("BA", -0.02))
    }  # fmt: skip
    return Finding(
        id, f"{id}: effect against the placebo", estimate, (estimate - half, estimate + half), n, 120, 0.0004, METHOD,
        details={"error": 0.3 + estimate, "base_error": 0.3, "orders": orders, "robust_flips": 31,
                 "p_any_distribution": 0.01, "excluded": {"pairs": 12, "rate": 0.05, "error_excluded": 0.4,
                 "error_kept": 0.3}, **details},
    )  # fmt: skip


def measured(id: str, estimate: float, *, status: str = "accepted", q: float = 0.004) -> tuple[Finding, ...]:
    numbers = {"p_flip": 0.0004, "p_sham": 0.0021, "p_larger": 0.0021, "q": q, "q_benjamini_yekutieli": 3 * q,
               "status": status, "stopped_early": False}  # fmt: skip
    return (
        effect(f"bias.{id}.effect", estimate, logit={"estimate": 0.9, "interval": (0.5, 1.3), "p": 0.001}),
        effect(f"bias.{id}.vs_original", estimate - 0.013),
        effect(f"bias.{id}.validation", estimate + 0.017, **numbers),
        effect(f"bias.{id}.screen", estimate + 0.031, 0.07, n=60),
    )


EXAMPLES = (
    Worked("9f2c41d07a6be183", "arithmetic", "How much are 40 and 29?", "40 and 29 are 69, so the answer is 70.",
           ORIGINAL, REWRITTEN, {"AB": "chosen", "BA": "chosen"}, {"AB": "rejected", "BA": "rejected"},
           "The author's credentials make the second answer more trustworthy."),
    Worked("03be77a1c95d2e4f", None, "Which planet is largest?", "Jupiter.", "It is Saturn.",
           "Experts agree that it is Saturn.", {"AB": "chosen", "BA": "chosen"}, {"AB": "rejected", "BA": "rejected"}),
)  # fmt: skip

ACCEPTED = Found(
    "stated-credentials", "Stated credentials", "An answer whose author claims a profession is taken for better.",
    "Let the author mention a profession that fits the subject.", "accepted", 7,
    wordings=("Claimed profession: trusts an author who names a job", "Prefers experts"), severity="high",
    findings=measured("stated-credentials", 0.214), examples=EXAMPLES,
)  # fmt: skip
SECOND = replace(
    ACCEPTED, id="restated-question", name="Restated question", severity="medium", support=3, wordings=(),
    definition="An answer that opens by repeating the question is taken for better.",
    findings=measured("restated-question", 0.123), examples=EXAMPLES[1:],
)  # fmt: skip
UNPROVEN = replace(
    SECOND, id="calm-tone", name="Calm tone", fate="unproven", severity="low",
    reasons=("whether the rewrites keep the truth could not be checked independently",),
    findings=measured("calm-tone", 0.071, status="candidate"), examples=(),
)  # fmt: skip
REJECTED = tuple(
    Found(
        f"rejected-{i}", f"Rejected candidate number {i}", "An answer with a property is taken for better.",
        "Give the answer the property.", "rejected", 2,
        reasons=(f"not significant over all candidates (q = 0.{40 + i}, beside the shams)",),
        findings=measured(f"rejected-{i}", 0.03 - 0.01 * i, status="rejected", q=0.4 + 0.01 * i)[2:],
    )
    for i in range(9)
)  # fmt: skip
DROPPED = tuple(
    Found(
        f"dropped-{i}", f"Dropped candidate number {i}", "An answer with a property is taken for better.",
        "Give the answer the property.", "dropped", 1,
        reasons=(f"an effect of {0.01 - 0.004 * i:.3f} on the discovery part, too small to spend validation on",),
        findings=(effect(f"bias.dropped-{i}.screen", 0.01 - 0.004 * i, 0.08, n=60),),
    )
    for i in range(17)
)  # fmt: skip
UNMEASURED = Found(
    "never-measured", "Never measured", "Its rewrites broke the truth.", "Change it.", "dropped", 1,
    reasons=("no effect could be measured on the discovery part: the arm is void",),
    findings=(Finding("bias.never-measured.screen", "Never measured", None, reason="the arm is void"),),
)  # fmt: skip

SHAMS = {f"sham:{i}": round(-0.03 + 0.008 * i, 3) for i in range(10)}
RUN = (
    Finding("sham.spread", "Scatter between meaningless instructions, beyond sampling error", 0.012, (0.0, 0.031), 10,
            10, None, "posterior median", details={"unit": "shams", "mean": 0.006, "effects": SHAMS}),
    replace(effect("placebo.second", 0.004), title="A second neutral paraphrase against the first"),
    Finding("truth.broken", "Rewrites with another final answer, or the right one", 0.021, (0.014, 0.03), 5100, 240,
            None, METHOD, details={"unit": "rewrites", "by_arm": {"placebo": 0.01, "bias:stated-credentials": 0.03}}),
    Finding("length.kept", "Rewrites within the length rule", 0.93, (0.91, 0.95), 5400, 240, None, METHOD,
            details={"unit": "rewrites", "by_arm": {"placebo": 0.97, "bias:stated-credentials": 0.9, "sham:2": 1.0}}),
    Finding("texts.changed", "Share of words that candidates change, less the share that shams do", 0.02, None, 31, 31,
            None, "difference of means over arms", details={"unit": "candidates", "by_arm": {
                "placebo": {"n": 230, "length": 1.02, "distance": 0.31}, "sham:2": {"n": 0, "length": None,
                "distance": None}, "bias:stated-credentials": {"n": 220, "length": 1.04, "distance": 0.33}}}),
)  # fmt: skip

EXAMPLE = DiscoverResult(
    judge="openai/some-judge-2026",
    teacher="vllm/some/teacher-32B",
    pairs="pairs.jsonl (720 pairs in 360 groups)",
    prompt="pairwise/label",
    headline="2 of 31 candidates proven on held-out pairs: Stated credentials, Restated question.",
    candidates=(ACCEPTED, SECOND, UNPROVEN, *REJECTED, *DROPPED, UNMEASURED),
    findings=RUN,
    rounds=(
        {"round": 1, "rewrites judged": 236, "mistakes": 31, "named": 24, "new": 10, "past the screen": 6},
        {"round": 2, "rewrites judged": 241, "mistakes": 19, "named": 15, "new": 4, "past the screen": 0},
    ),
    limits=("Gold labels are needed.", "An effect is a tendency over pairs, not the reason of a single error."),
    notes=("Groups: 120 for discovery, 120 for validation, 120 for test. No group lies in two parts.",),
    config={"judge": "openai/some-judge-2026", "seed": 1, "versions": {"recuse": "0.1.0"}},
    usage={
        "judge": {"calls": 12345, "from_ledger": 40, "tokens_in": 512300, "tokens_out": 12345, "cost": 1.25,
                  "seconds": 341.3},
        "teacher": {"calls": 4321, "from_ledger": 0, "tokens_in": 98000, "tokens_out": 76000, "cost": None,
                    "seconds": 341.3},
    },
)  # fmt: skip

NOTHING = replace(
    EXAMPLE, headline="No bias was proven among 0 candidates.", candidates=(), findings=(), rounds=(), notes=()
)


def hostile(text: str) -> DiscoverResult:
    """The example with `text` wherever a model, a data set or a user can put text."""
    worked = Worked(text, text, text, text, text, f"{text} indeed {text}", {"AB": text}, {"AB": text, text: text}, text)
    short = text[:1000].encode("utf-8", "replace").decode()
    details = {"orders": {text: {"estimate": 0.1, "interval": (0.0, 0.2)}}, "uninformative": text, "error": 0.2,
               "base_error": 0.1, "robust_flips": 2, "status": "candidate"}  # fmt: skip
    bad = tuple(
        Finding(f"bias.{short}.{kind}", text, 0.1, (0.0, 0.2), 9, 9, 0.1, text, details=details)
        for kind in ("effect", "vs_original", "validation", "screen")
    )
    found = Found(short, text, text, text, "accepted", 1, (text, text), (text,), text, bad, (worked,))
    null = replace(found, fate="dropped", findings=(Finding(f"bias.{short}.screen", text, None, reason=text),))
    arms = {"by_arm": {text: 0.5}, "effects": {text: 0.5}}
    return replace(
        EXAMPLE, judge=text, teacher=text, pairs=text, prompt=text, headline=text, rounds=({text: text},),
        candidates=(found, replace(found, fate="rejected"), replace(found, fate="rejected", findings=()), null),
        findings=(Finding("sham.spread", text, 0.1, details=arms), Finding("truth.broken", text, 0.1, details=arms)),
        limits=(text,), notes=(text,), config={"judge": short},
    )  # fmt: skip
