"""DeepEval's results: https://github.com/confident-ai/deepeval, as of release 4.3. A test run as it is saved under
DEEPEVAL_RESULTS_FOLDER or .deepeval/, the results of `evaluate` written out, and an arena: the test runs of `compare`.

    {"testCases": [{"name": "test_case_0", "input": "...", "actualOutput": "...", "metadata": {"pair": "q1",
      "gold": true}, "order": 0, "metricsData": [{"name": "Correctness [GEval]", "score": 0.8, "success": true,
      "reason": "...", "evaluationModel": "gpt-4.1", "error": null}]}]}
    {"test_results": [{"input": "...", "actual_output": "...", "metrics_data": [{..., "evaluation_model": "..."}]}]}
    {"testRuns": [{"identifier": "contestant", "testCases": [...]}]}

Two test cases with one input (or one `pair` in their metadata) are a pair, and a metric that a model grades prefers the
one with the higher score. In an arena, a case of two contestants is a pair, and the winner has the score 1.
Metadata may hold `pair`, `group`, `domain` and `gold` (true: this answer is the better one).

Not taken: a test case without a second one to its input, since a pass of one answer is no preference; arenas of more
than two; conversations; metrics that no model grades.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from recuse.recorded.entry import Preset
from recuse.recorded.rows import as_text
from recuse.recorded.taken import Graded, Taken, grade_of, left_alone, paired, table, taken_entry, truth
from recuse.types import Reason

DEEPEVAL = Preset(
    columns=frozenset({"pair", "metric", "input"}),
    judge="judge",
    entry=taken_entry,
    settings=("metric",),
    notes=(
        "DeepEval keeps grades and reasons, not replies, so nothing is read again; and an arena's order is drawn anew "
        "for every case and not kept, so a preference for a place cannot be measured.",
    ),
)


def deepeval_rows(document: Mapping[str, Any]) -> Taken:
    """The verdicts on pairs in one result file."""
    graded = [one for number, case, run in _cases(document) for one in _graded(number, case, run)]
    rows, alone = paired(graded)
    return Taken(rows, left_alone(alone))


def is_deepeval(document: Mapping[str, Any]) -> bool:
    runs = document.get("testRuns")
    if isinstance(runs, list) and runs:
        return isinstance(runs[0], Mapping) and is_deepeval(runs[0])
    cases = document.get("testCases", document.get("test_results"))
    return isinstance(cases, list) and any(isinstance(case, Mapping) and "input" in case for case in cases)


def _cases(document: Mapping[str, Any]) -> Iterator[tuple[int, Mapping[str, Any], str | None]]:
    """Number, case, and the contestant of an arena."""
    runs = [table(run) for run in document.get("testRuns") or [document]]
    number = 0
    for run in runs:
        cases = run.get("testCases", run.get("test_results"))
        for case in cases if isinstance(cases, list) else []:
            number += 1
            yield number, table(case), as_text(run.get("identifier")) if "testRuns" in document else None


def _graded(number: int, case: Mapping[str, Any], contestant: str | None) -> Iterator[Graded]:
    meta = table(_get(case, "metadata", "additionalMetadata"))
    input, answer = as_text(case.get("input")), as_text(_get(case, "actualOutput") or "")
    pair = as_text(meta.get("pair", input))
    if contestant is not None and "pair" not in meta:
        pair = f"{as_text(case.get('order', ''))} {input}"
    metrics = _get(case, "metricsData")
    for data in map(table, metrics if isinstance(metrics, list) else []):
        if _get(data, "evaluationModel") is None:
            continue
        judge, metric = as_text(_get(data, "evaluationModel")), as_text(data.get("name"))
        yield Graded(
            number, (pair, metric, judge), answer, None if data.get("error") else grade_of(data.get("score")),
            truth(meta.get("gold")),
            {"pair": pair, "group": as_text(meta.get("group", input)), "domain": meta.get("domain"), "metric": metric,
             "judge": judge, "input": input},
            _reason(as_text(data.get("error") or "")), as_text(data.get("error") or data.get("reason") or ""),
        )  # fmt: skip


def _reason(error: str) -> Reason | None:
    if not error:
        return None
    return "no_verdict" if "invalid JSON" in error else "transport_error"


def _get(values: Mapping[str, Any], *names: str) -> Any:
    """By a name as in saved runs, or as in Python."""
    for name in names:
        for spelled in (name, "".join(f"_{c.lower()}" if c.isupper() else c for c in name)):
            if values.get(spelled) is not None:
                return values[spelled]
    return None
