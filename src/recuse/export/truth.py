"""The second look at the truth of what passed the filter, since the filter selects for rewrites that became right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from recuse.export.select import Item
from recuse.lab.bench import Lab
from recuse.perturb.answers import same_answer
from recuse.perturb.arms import Arm, Fault
from recuse.perturb.checks import VERIFIER, by_tests, read_verify, verify_ask


def look_again(items: Sequence[Item], arms: Mapping[str, Arm], lab: Lab) -> dict[tuple[str, str], tuple[Fault, ...]]:
    """By arm and pair: what a second look at a rewrite finds; () where its truth is kept.

    By rule: the final answer is still that of the wrong answer and has not become that of the better one; with
    `lab.run_code` the pair's own tests. Where a model had to say so at first, it is asked once more with the two texts
    exchanged: only what is the same both ways counts as the same.
    """
    found = {item.key: _by_rule(item, run_code=lab.run_code) for item in items}
    unsure = [item for item in items if item.rewrite.checked == VERIFIER and not found[item.key]]
    if not unsure:
        return found
    assert lab.verify is not None
    asks = []
    for item in unsure:
        exchanged = replace(item.pair, rejected=item.text)
        arm = replace(arms[item.arm], id=_again(item.arm))
        asks.append(verify_ask(exchanged, arm, item.pair.rejected, lab.verify, lab.brief(lab.verify)))
    replies = lab.engines.ask("teacher", asks, phase="export: verifying again")
    said = {(a.ask.arm, a.ask.pair): read_verify(a.reply) for a in replies}
    return found | {item.key: said[_again(item.arm), item.pair.id] for item in unsure}


def _again(arm: str) -> str:
    return f"again:{arm}"


def _by_rule(item: Item, *, run_code: bool) -> tuple[Fault, ...]:
    pair, text = item.pair, item.text
    if run_code and (tested := by_tests(pair, text)) is not None:
        return tested
    kept = same_answer(pair.rejected, text, pair)
    if kept.same is False:
        return ("repaired",) if kept.repaired else ("answer_changed",)
    # Two answers may differ in quality alone and end in the same result: then that says nothing.
    if same_answer(pair.chosen, pair.rejected, pair).same is False and same_answer(pair.chosen, text, pair).same:
        return ("repaired",)
    return ()
