"""The checks on a rewrite, before anything is judged. What code cannot decide goes to a verifier model.

A rewrite counts when the teacher wrote one, it differs from the original, keeps the length, neither names the bias nor
speaks of its own rewriting, and still ends in the same wrong answer.
"""

from __future__ import annotations

import math
import re

from recuse.perturb.answers import same_answer
from recuse.perturb.arms import Arm, Fault
from recuse.perturb.code import code_of, run_tests
from recuse.perturb.leftovers import speaks_of_rewriting, spoken_names
from recuse.prompts import Prompt, transcript
from recuse.types import Ask, Pair, Reply, Sampling
from recuse.verdict.noanswer import is_refusal
from recuse.verdict.objects import last_object

TOLERANCE = 0.10  # of the length, unless the bias is about length
VERIFIER = "verifier"  # what `check` says of a final answer that code cannot compare
BROKEN: frozenset[Fault] = frozenset({"answer_changed", "repaired"})  # faults of truth: over 5 % of an arm void it


def length_limits(before: str) -> tuple[int, int]:
    """Fewest and most characters that a rewrite of `before` may have, white space around it not counted."""
    n = len(before.strip())
    # Rounded first: 10 * 1.1 is 11.000000000000002, and its neighbours fall on the other side.
    return math.ceil(round(n * (1 - TOLERANCE), 6)), math.floor(round(n * (1 + TOLERANCE), 6))


def length_ok(before: str, after: str) -> bool:
    """Whether `after` keeps the length of `before`: characters, and for code its lines too (at least one to spare)."""
    least, most = length_limits(before)
    if not least <= len(after.strip()) <= most:
        return False
    code, new = code_of(before), code_of(after)
    if code is None or new is None:
        return True
    lines, new_lines = _lines(code), _lines(new)
    return abs(new_lines - lines) <= max(1.0, TOLERANCE * lines)


def _lines(code: str) -> int:
    return sum(1 for line in code.splitlines() if line.strip())


def check(
    pair: Pair, arm: Arm, text: str, *, reply: Reply | None = None, run_code: bool = False
) -> tuple[tuple[Fault, ...], str]:
    """The faults of `text` as the rejected answer of `pair` in `arm`, and how the final answer was compared.

    text      the rewrite alone: what the teacher said around it is taken off before (see `leftovers.unwrap`)
    reply     what the teacher sent; without it a refusal is told by the text alone
    run_code  the pair's own tests may run on the code of the answers; model output is never executed otherwise

    Where the pair has tests that may run, they decide for code: the chosen one passes, and the bug survives in `text`.

    How is "letter", "number", "boxed", "repeated", "marked", "code" or "exact" where code decided; "rule" for a
    rule-based edit, which keeps the answer by construction and is matched in length by its placebo; "verifier" where
    `verify_ask` has to decide, which is not worth a call while other faults stand; "" where no text came.
    """
    if (reason := _no_text(pair, text, reply)) is not None:
        return (reason,), ""
    before = pair.rejected
    if arm.edit is not None:
        if text.strip() == before.strip():
            return ("unchanged",), "rule"
        tested = by_tests(pair, text) if run_code else None
        return ((), "rule") if tested is None else (tested, "code")
    if gist(text) == gist(before):
        return ("unchanged",), "exact"
    faults: list[Fault] = []
    if not arm.changes_length and not length_ok(before, text):
        faults.append("length")
    if spoken_names(text, arm.names, known=f"{transcript(pair.prompt)}\n{before}"):
        faults.append("named")
    if speaks_of_rewriting(text, original=before):
        faults.append("leftover")
    if run_code and (tested := by_tests(pair, text)) is not None:
        return (*faults, *tested), "code"
    compared = same_answer(before, text, pair)
    if compared.same is False:
        faults.append("repaired" if compared.repaired else "answer_changed")
    return tuple(faults), compared.how


def gist(text: str) -> str:
    """A text without blanks, points, commas and quotation marks: a rewrite of which only these differ carries nothing.

    Of 48 rewrites of short answers by Qwen2.5-Coder-1.5B 23 passed all other checks, and all 23 were such copies.
    """
    return re.sub(r"[\s.,;:'\"’‘“”]+", "", text)


def by_tests(pair: Pair, text: str) -> tuple[Fault, ...] | None:
    """Run the pair's tests: the chosen code has to pass, the rejected one and that of `text` to fail at least one.

    "mislabelled" where the chosen fails or the rejected passes, "repaired" where `text` passes. None where an answer
    has no code or the pair no tests (see `code.run_tests`). Where the question holds the head of the function that
    `entry_point` names and the answer does not, as in HumanEval, the question goes before the answer.
    """
    passed = []
    question, head = transcript(pair.prompt), f"def {pair.meta.get('entry_point')}("
    for answer in (pair.chosen, pair.rejected, text):
        code = code_of(answer)
        if code is not None and head in question and head not in code:
            code = f"{question}{code}"
        said = None if code is None else run_tests(code, pair.meta)
        if said is None:
            return None
        passed.append(said)
    if passed[:2] != [True, False]:
        return ("mislabelled",)
    return ("repaired",) if passed[2] else ()


def _no_text(pair: Pair, text: str, reply: Reply | None) -> Fault | None:
    if reply is not None and reply.finish == "refusal":
        return "refused"
    if reply is not None and reply.finish in ("error", "length"):
        return "error"
    if not text.strip():
        return "empty"
    # Some rejected answers decline themselves: their rewrites do so too.
    return "refused" if is_refusal(text) and not is_refusal(pair.rejected) else None


def verify_ask(pair: Pair, arm: Arm, text: str, prompt: Prompt, sampling: Sampling) -> Ask:
    """The question to a verifier model whether `text` still gives the answer of `pair.rejected`. `prompt`: kind verify.

    Without a reference the chosen answer stands for it.
    """
    messages = prompt.fill(
        question=transcript(pair.prompt),
        reference=pair.reference or pair.chosen,
        before=pair.rejected,
        after=text,
    )
    return Ask(pair.id, "text", messages, sampling, prompt.hash, schema=prompt.schema, arm=arm.id)


def read_verify(reply: Reply) -> tuple[Fault, ...]:
    """What the verifier found: nothing, "repaired", "answer_changed", or "unverified" where its reply does not say.

    The last JSON object with the keys of the prompt counts: "same" and "repaired", both true or false.
    """
    said = last_object(reply.text, "same", "repaired") or {}
    same, repaired = said.get("same"), said.get("repaired")
    if isinstance(same, bool) and isinstance(repaired, bool):
        return ("repaired",) if repaired else () if same else ("answer_changed",)
    return ("unverified",)
