"""The published forms of recorded verdicts, one short function each. See `plain` for a form of one's own."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from recuse.assets import digest
from recuse.prompts import canonical
from recuse.recorded.deepeval import DEEPEVAL
from recuse.recorded.entry import TRUTH, Entry, Gold, Preset, by_score, decided, reread, shown
from recuse.recorded.inspect_log import INSPECT
from recuse.recorded.promptfoo import PROMPTFOO
from recuse.recorded.rows import Row
from recuse.types import Finish, Outcome
from recuse.verdict.spec import Spec

_ORDER = {"original": False, "swapped": True}
_BETTER: Mapping[str, Gold] = {"A>B": "A", "B>A": "B"}
_DECISION: Mapping[str, Outcome | None] = {"A>B": "A", "B>A": "B", "A=B": "tie", "null": None}
_ONE_TWO: Mapping[str, Gold] = {"1": "A", "2": "B"}
_WINNER: Mapping[str, Outcome | None] = {"1": "A", "2": "B", "null": None}
_FINISH: Mapping[str, Finish] = {
    "null": "stop",
    "stop": "stop",
    "length": "length",
    "content_filter": "refusal",
    "content management policy": "refusal",
}
_OWN_GROUP = "The file does not hold the questions: every pair counts as a group of its own."

# JudgeBench, arena-hard judges: https://github.com/ScalerLab/JudgeBench. Label in the original order,
# decision as shown.


def _judgebench_outputs(row: Row) -> Entry:
    return Entry(
        row=row,
        pair=row.word("pair_id"),
        group=row.word("pair_id"),
        swapped=row.choice("order", _ORDER),
        gold=row.choice("label", _BETTER),
        recorded=decided(row.choice("decision", _DECISION)),
        reread=reread(row.text("text"), Spec("bracket_strength")),
    )


def _judgebench_scores(row: Row) -> Entry:
    scores = row.get("scores")
    if isinstance(scores, str):
        scores = _numbers(scores)
    if not (isinstance(scores, list) and len(scores) == 2 and all(_finite(score) for score in scores)):
        raise row.fail(
            "not two finite numbers", field="scores", hint="Give the scores of the first and second answer shown."
        )
    first, second = float(scores[0]), float(scores[1])
    # The scores are logits of a Bradley-Terry model: their difference is the log odds.
    return replace(_judgebench_outputs(row), reread=by_score(first, second), logit=first - second)


def _numbers(text: str) -> object:
    """A list as CSV files hold it."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _finite(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


# LLMBar: https://github.com/princeton-nlp/LLMBar. Winner and label in the original order; the
# subset is the item's name.


def _llmbar_columns(row: Row) -> list[Row]:
    return [row.adding(subset=row.word("item").rsplit("_", 1)[0])]


def _llmbar(row: Row) -> Entry:
    item = row.word("item")
    entry = Entry(
        row=row,
        pair=item,
        group=item,
        swapped=None,
        gold=row.choice("label", _ONE_TWO),
        recorded=None,
        reread=None,
        domain=row.word("subset"),
    )
    if "text_1" in row.values:
        # One answer was rated at a time; where the ratings are equal, the two winners name different answers.
        first, second = row.choice("winner", _WINNER), row.choice("winner_swapped", _WINNER)
        return replace(
            entry,
            recorded=decided(first if first == second else "tie"),
            reread=by_score(_rating(row, "text_1"), _rating(row, "text_2")),
        )
    swapped = row.choice("swap", TRUTH)
    finish = row.choice("finish", _FINISH) if "finish" in row.values else "stop"
    return replace(
        entry,
        swapped=swapped,
        recorded=decided(shown(row.choice("winner", _WINNER), swapped)),
        reread=reread(row.text("text"), Spec("output_letter", "a", "b"), finish=finish),
    )


def _rating(row: Row, field: str) -> float | None:
    return reread(row.text(field), Spec("score", scale=(0, 9))).score


# AMEL: https://github.com/chutapp/amel-llmbar-audit. The true label is that after the swap.


def _amel(row: Row) -> Entry:
    item = row.word("item_id")
    swapped = row.choice("swap", TRUTH)
    first_is_better = row.choice("truth_label_after_swap", {"1": True, "2": False})
    return Entry(
        row=row,
        # The source's two files give the same numbers to different calls.
        pair=f"{item} ({row.word('file')})" if "file" in row.values else item,
        group=item,
        swapped=swapped,
        gold="B" if first_is_better == swapped else "A",
        recorded=decided(row.choice("parsed_label", _WINNER)),
        reread=reread(row.text("raw_response"), Spec("number", "1", "2")),
        repeat=row.whole("repetition", default=0),
    )


# PandaLM: https://github.com/WeOpenML/PandaLM. Two judges a row, one order, three people of whom two or three agree.

_PANDALM_RESULT: Mapping[str, Outcome | None] = {"1": "A", "2": "B", "0": "tie", "tie": "tie", "garbage": None}


def _pandalm_columns(row: Row) -> list[Row]:
    return [
        row.adding(judge=judge, result=row.get(f"{judge}_result"), reason=row.get(f"{judge}_reason"))
        for judge in ("gpt35", "pandalm")
        if f"{judge}_result" in row.values
    ]


def _pandalm(row: Row) -> Entry:
    votes = row.get("annotators")
    votes = _numbers(votes) if isinstance(votes, str) else votes
    if not isinstance(votes, list) or not votes or any(vote not in (0, 1, 2) for vote in votes):
        raise row.fail("not a list of 0, 1 and 2", field="annotators")
    vote, count = Counter(votes).most_common(1)[0]
    golds: tuple[Gold, Gold, Gold] = ("tie", "A", "B")
    return Entry(
        row=row,
        pair=row.word("idx"),
        group=row.word("idx"),
        swapped=False,
        gold=golds[vote] if 2 * count > len(votes) else None,
        recorded=decided(row.choice("result", _PANDALM_RESULT)),
        reread=None,
    )


# AlpacaEval: https://github.com/tatsu-lab/alpaca_eval. No gold. The reply names the answers by their place in the
# prompt (model_1 or m is first), the preference by the source's order: below 1.5 the first, above it the second.

_ALPACA_SPECS = {
    "alpaca_eval_gpt4": Spec("ranking", "model_1", "model_2"),
    "weighted_alpaca_eval_gpt4_turbo": Spec("label", "m", "M"),
}


def _alpaca_eval(row: Row) -> Entry:
    spec = _ALPACA_SPECS.get(row.word("annotator"), Spec("ranking", "m", "M"))
    verdict = reread(row.text("raw"), spec)
    winner = _alpaca_winner(row)
    swapped = _alpaca_swapped(row, spec.first, winner, verdict.outcome)
    question = row.word("instruction")
    answers = canonical([question, row.word("generator_1"), row.word("generator_2")])
    return Entry(
        row=row,
        pair=digest(answers.encode()),
        group=digest(question.encode()),
        swapped=swapped,
        gold=None,
        recorded=decided(shown(winner, swapped)),
        reread=verdict,
    )


def _alpaca_winner(row: Row) -> Outcome | None:
    preference = row.get("preference")
    if preference is None:
        return None
    try:
        value = float(preference)
    except (TypeError, ValueError):
        value = math.nan
    if not 1 <= value <= 2:
        raise row.fail("not a number from 1 to 2", field="preference")
    return "tie" if value == 1.5 else "A" if value < 1.5 else "B"


def _alpaca_swapped(row: Row, first: str, winner: Outcome | None, said: Outcome | None) -> bool | None:
    """Whether the second answer was shown first. Older files do not say so, yet it follows from the place that the
    reply names and the answer that the preference names."""
    references = row.get("referenced_models")
    if isinstance(references, dict) and first in references:
        return bool(references[first] == "output_2")
    if winner in ("A", "B") and said in ("A", "B"):
        return winner != said
    return None


# MT-bench: https://github.com/lm-sys/FastChat. No gold. In game g2 the answer of model_2 stands first.


def _mt_bench_columns(row: Row) -> list[Row]:
    if row.get("kind") == "single" or "game" not in row.values:
        return []
    judge = row.get("judge")
    if isinstance(judge, list) and len(judge) == 2:
        return [row.adding(judge=judge[0], judge_prompt=judge[1])]
    return [row]


def _mt_bench(row: Row) -> Entry:
    question = row.word("question_id")
    swapped = row.choice("game", {"g1": False, "g2": True})
    text = row.text("text")
    failed = text == "$ERROR$"  # what the source writes after its last retry
    winners: Mapping[str, Outcome | None] = {"model_1": "A", "model_2": "B", "tie": "tie", "error": None}
    return Entry(
        row=row,
        pair=f"{question}/{row.word('turn')} {row.word('model_1')} {row.word('model_2')}",
        group=question,
        swapped=swapped,
        gold=None,
        recorded=decided(
            shown(row.choice("winner", winners), swapped), reason="transport_error" if failed else "no_verdict"
        ),
        reread=reread(text, Spec("bracket", "A", "B", "C"), failed=failed),
    )


PRESETS: Mapping[str, Preset] = {
    "judgebench-outputs": Preset(
        columns=frozenset({"pair_id", "label", "order", "text", "decision"}),
        judge="judge_model",
        entry=_judgebench_outputs,
        notes=(_OWN_GROUP,),
    ),
    "judgebench-scores": Preset(
        columns=frozenset({"pair_id", "label", "order", "scores", "decision"}),
        judge="judge_model",
        entry=_judgebench_scores,
        notes=(_OWN_GROUP,),
    ),
    "llmbar": Preset(
        columns=frozenset({"item", "judge", "style", "label", "winner"}),
        judge="judge",
        entry=_llmbar,
        settings=("style", "stage"),
        derive=_llmbar_columns,
    ),
    "amel": Preset(
        columns=frozenset({"item_id", "swap", "truth_label_after_swap", "raw_response", "parsed_label"}),
        judge="judge",
        entry=_amel,
        settings=("regime",),
        notes=("The source collected in two files; an item counts as a pair in each and as one group.",),
    ),
    "pandalm": Preset(
        columns=frozenset({"idx", "annotators", "gpt35_result"}),
        judge="judge",
        entry=_pandalm,
        derive=_pandalm_columns,
        notes=(_OWN_GROUP, "The better answer is the one that the majority of the annotators prefers."),
    ),
    "alpaca-eval": Preset(
        columns=frozenset({"annotator", "instruction", "preference", "generator_1", "generator_2", "raw"}),
        judge="annotator",
        entry=_alpaca_eval,
        notes=(
            "Where the order shown is not recorded, it follows from the place that the reply names and the answer that "
            "the recorded preference names; so such rows cannot differ between the readings.",
        ),
    ),
    "mt-bench": Preset(
        columns=frozenset({"question_id", "turn", "model_1", "model_2", "game", "winner"}),
        judge="judge",
        entry=_mt_bench,
        derive=_mt_bench_columns,
    ),
    "promptfoo": PROMPTFOO,
    "deepeval": DEEPEVAL,
    "inspect": INSPECT,
}
