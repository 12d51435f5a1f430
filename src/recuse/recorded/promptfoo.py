"""promptfoo's results: https://github.com/promptfoo/promptfoo. What `promptfoo eval -o FILE.json` writes (summaries 2
and 3, as of release 0.121), and its .jsonl form, one result a line.

    {"results": {"version": 3, "results": [{"testIdx": 0, "promptIdx": 1, "vars": {...}, "provider": {"id": "..."},
      "response": {"output": "..."}, "testCase": {"metadata": {"pair": "q1", "gold": "A"}, "options": {...}},
      "gradingResult": {"componentResults": [{"pass": true, "score": 1, "reason": "...",
        "assertion": {"type": "select-best", "value": "..."}}]}}]}, "config": {...}}

`select-best` between two outputs of a test is a preference, in the order of the outputs. The same two answers in the
other order in another test are one pair. So both orders are asked by two prompts, "{{first}}" and "{{second}}", the
provider `echo`, and each pair as two tests. A model-graded assertion on each of a test's two outputs (`llm-rubric` and
its kin) is a preference by score. A test's metadata may hold `pair`, `group`, `domain` and `gold` ("A" or "first": its
first output is the better one; "B" or "second"; "tie").

Not taken: outputs of tests that have one or more than two of them, inverse assertions, and those that no model grades.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from recuse.assets import digest
from recuse.prompts import canonical
from recuse.recorded.entry import Gold, Preset, shown
from recuse.recorded.rows import as_text
from recuse.recorded.taken import Graded, Orders, Taken, grade_of, left_alone, paired, table, taken_entry
from recuse.types import Outcome, Reason

COMPARED = "select-best"
_ALONE = {"llm-rubric", "g-eval", "factuality", "model-graded-closedqa", "model-graded-factuality", "answer-relevance"}
_GOLD: Mapping[str, Gold] = {"a": "A", "first": "A", "b": "B", "second": "B", "tie": "tie"}
_DEFAULT = "promptfoo's default grader"

PROMPTFOO = Preset(
    columns=frozenset({"pair", "testIdx", "assertion"}),
    judge="judge",
    entry=taken_entry,
    settings=("assertion",),
    notes=(
        "promptfoo keeps no reply of the judge, so nothing is read again: of select-best it keeps the first number in "
        "the reply as the place of the best answer, and of a rubric the grade and the reason.",
    ),
)


def is_result(row: Mapping[str, Any]) -> bool:
    """Whether a row is one of promptfoo's results."""
    return {"testIdx", "promptIdx", "gradingResult"} <= set(row)


def promptfoo_rows(results: Sequence[tuple[int, Mapping[str, Any]]], config: Mapping[str, Any]) -> Taken:
    """The verdicts on pairs in results by their numbers."""
    tests: dict[str, list[tuple[int, Mapping[str, Any]]]] = defaultdict(list)
    for number, result in results:
        tests[as_text(result.get("testIdx"))].append((number, result))
    default = _name(table(table(config.get("defaultTest")).get("options")).get("provider"))
    orders, rows, graded, uneven = Orders(), [], [], 0
    for index in sorted(tests, key=lambda index: (len(index), index)):  # in the order of their numbers
        outputs = sorted(tests[index], key=lambda found: grade_of(found[1].get("promptIdx")) or 0)
        by_kind: dict[tuple[str, str], list[tuple[int, Mapping[str, Any], Mapping[str, Any]]]] = defaultdict(list)
        for number, result in outputs:
            for component in _components(table(result.get("gradingResult"))):
                assertion = table(component.get("assertion"))
                by_kind[str(assertion.get("type")), as_text(assertion.get("value"))].append((number, result, component))
        for (kind, criterion), found in by_kind.items():
            more = {"assertion": kind, "criterion": criterion, "testIdx": index}
            if kind == COMPARED and len(outputs) == len(found) == 2:
                rows.append(_compared(found, orders, {**more, "judge": _judge(found[0], default)}))
            elif kind == COMPARED:
                uneven += 1
            elif kind in _ALONE:
                begins = outputs[0][0]  # the number of the first output's result
                graded += [_graded(one, one[0] == begins, {**more, "judge": _judge(one, default)}) for one in found]
    two, alone = paired(graded)
    notes = [f"Left out: {uneven:,} comparisons of other than two answers."] if uneven else []
    return Taken([*_numbered(rows), *two], [*notes, *left_alone(alone)])


def _components(grading: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Results of single assertions, those within sets included."""
    parts = grading.get("componentResults")
    parts = parts if isinstance(parts, list) else []
    for part in parts:
        yield from _components(table(part))
    if not parts and grading.get("assertion"):
        yield grading


def _compared(
    found: Sequence[tuple[int, Mapping[str, Any], Mapping[str, Any]]], orders: Orders, more: Mapping[str, Any]
) -> tuple[int, dict[str, Any]]:
    (_, first, one), (number, second, other) = found
    place: Outcome | None = "A" if one.get("score") == 1 else "B" if other.get("score") == 1 else None
    answers = _output(first), _output(second)
    meta = table(table(first.get("testCase")).get("metadata"))
    question = as_text(meta["pair"]) if "pair" in meta else _question(first, answers)
    order = orders.of((question,), *answers)
    swapped = order == "BA"
    gold = _GOLD.get(as_text(meta.get("gold")).casefold())
    a, b = reversed(answers) if swapped else answers
    return number, {
        **more, **_named(meta, question, (a, b)), "order": order, "verdict": place,
        "reason": None if place else _reason(as_text(one.get("reason"))), "text": as_text(one.get("reason")),
        "gold": shown(gold, swapped), "chars_a": len(a), "chars_b": len(b),
    }  # fmt: skip


def _graded(one: tuple[int, Mapping[str, Any], Mapping[str, Any]], first: bool, more: Mapping[str, Any]) -> Graded:
    number, result, component = one
    meta = table(table(result.get("testCase")).get("metadata"))
    score, failed = grade_of(component.get("score")), bool(table(component.get("metadata")).get("graderError"))
    key = (more["testIdx"], str(more["assertion"]), str(more["criterion"]))
    gold = _GOLD.get(as_text(meta.get("gold")).casefold())
    name = f"{meta.get('pair', 'test')} {more['testIdx']}"
    return Graded(
        number, key, _output(result), None if failed else score,
        right=None if gold is None else gold == "tie" or (gold == "A") == first,
        row={**more, **_named(meta, _question(result, ()), ()), "pair": name},
        reason=_reason(as_text(component.get("reason"))) if failed else None, text=as_text(component.get("reason")),
    )  # fmt: skip


def _named(meta: Mapping[str, Any], question: str, answers: Sequence[str]) -> dict[str, Any]:
    """The names of a pair: answers that were sampled anew are another pair of the same group."""
    name = as_text(meta.get("pair", question[:12]))
    pair = f"{name} {digest(canonical([question, *answers]).encode())[:12]}"
    return {"pair": pair, "group": as_text(meta.get("group", meta.get("pair", question))), "domain": meta.get("domain")}


def _question(result: Mapping[str, Any], answers: Sequence[str]) -> str:
    """The test's variables, other than those that hold the answers."""
    values = {k: v for k, v in table(result.get("vars")).items() if as_text(v) not in answers}
    return digest(canonical(values).encode())


def _numbered(rows: Sequence[tuple[int, dict[str, Any]]]) -> list[tuple[int, dict[str, Any]]]:
    """Rows of one pair and order as repeats of it: promptfoo numbers repeated tests anew."""
    times: dict[tuple[Any, ...], int] = defaultdict(int)
    for _, row in rows:
        key = tuple(row[name] for name in ("judge", "assertion", "criterion", "pair", "order"))
        row["repeat"] = times[key]
        times[key] += 1
    return list(rows)


def _reason(said: str) -> Reason:
    """Why there is no verdict: a reply without one, or, as it stands in the reason too, the provider's error."""
    read = ("Invalid select-best verdict", "No output", "Could not extract JSON")
    return "no_verdict" if said.startswith(read) else "transport_error"


def _judge(found: tuple[int, Mapping[str, Any], Mapping[str, Any]], default: str | None) -> str:
    _, result, component = found
    options = table(table(result.get("testCase")).get("options"))
    return (
        _name(table(component.get("assertion")).get("provider"))
        or _name(options.get("provider"))
        or default
        or _DEFAULT
    )


def _name(provider: Any) -> str | None:
    """A provider as a name, an object with an id, or one by kind of use."""
    if isinstance(provider, Mapping):
        return _name(provider.get("id") or provider.get("text"))
    return provider if isinstance(provider, str) and provider else None


def _output(result: Mapping[str, Any]) -> str:
    return as_text(table(result.get("response")).get("output", ""))
