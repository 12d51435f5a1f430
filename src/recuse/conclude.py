"""The common end of every audit: judgements are measured, decided, and written down as the run folder's results."""

from __future__ import annotations

import io
import platform
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

from recuse.audits import Measure, Table, measure_all
from recuse.columns import BOUNDED, FRESH, HAS_LOGIT, HAS_OUTSIDE, HAS_SCORES, ORDERS, PREFERS, Judgements, as_arrow
from recuse.controls import Controls
from recuse.gate import Gate, decide
from recuse.report.casefile import CASES, Words, cases_bytes, read_cases, select
from recuse.report.result import AuditResult
from recuse.run import RunFolder
from recuse.types import Finding, Judgement, Pair

_COLUMNS = {
    "pair": "string", "group": "string", "domain": "string", "arm": "string", "order": "string", "repeat": "int32",
    "prefers": "string", "reason": "string", "logit": "float64", "outside": "float64", "fresh": "bool",
    "bounded": "bool", "score_chosen": "float64", "score_rejected": "float64", "gold": "bool",
}  # fmt: skip
_ROWS = 1 << 16  # a part of judgements.parquet is made of so many


def conclude(
    run: RunFolder,
    judgements: Sequence[Judgement],
    *,
    table: Table,
    gate: Gate,
    gate_name: str,
    judge: str,
    pairs: str,
    prompt: str,
    usage: Mapping[str, Any],
    notes: Iterable[str],
    provider: Mapping[str, Any],
    pair_of: Callable[[str], Pair] | None = None,
    texts: Mapping[str, Mapping[str, str]] | None = None,
    words: Words | None = None,
    extra: Sequence[Measure] = (),
    controls: Controls | None = None,
    other: Table | None = None,
    other_name: str = "",
) -> AuditResult:
    """Measure `table`, add the `extra` measures and those of the `controls`, apply `gate`, and write the results into
    the run folder.

    `judgements` are all that the run has, those of pairs without a better answer and those of rewritten answers too;
    `texts` are the latter, by arm and pair, and `pair_of` gives a pair by its id where its texts are known. `words` are
    what a recorded judge wrote. `other` is a second reading of the same verdicts; its estimates stand beside those that
    differ. Every call is recorded as a look in run.toml.
    """
    controls = controls or Controls()
    decided = decide([*measure_all(table, level=gate.level), *extra, *controls.measures], gate)
    findings = controls.mark(decided.findings)
    if other is not None:
        findings = _beside(findings, [m.finding for m in measure_all(other, level=gate.level)], other_name)
    looks = [*run.read().get("looks", []), {"at": int(time.time()), "outcome": decided.outcome, "pairs": table.n}]
    config = run.record(
        gate=gate.plain(), provider=provider, looks=looks,
        versions={"python": platform.python_version(), **{p: version(p) for p in ("recuse", "numpy", "scipy")}},
    )  # fmt: skip
    result = AuditResult(
        judge=judge, pairs=pairs, prompt=prompt, outcome=decided.outcome, headline=decided.headline, findings=findings,
        gate=gate.plain(), gate_name=gate_name, config=config, notes=(*controls.notes, *notes), usage=usage,
        looks=len(looks), folder=run.path,
    )  # fmt: skip
    kept = Judgements.of(judgements)
    run.replace("judgements.parquet", _parquet(kept, table))
    run.replace(CASES, cases_bytes(select(kept), pair_of, texts or {}, words))
    cases, of_cases = read_cases(run.path)  # as `recuse report` reads them
    result = replace(result, cases=cases, of_cases=of_cases)
    _write(run, result)
    return result


def _beside(findings: Sequence[Finding], others: Sequence[Finding], name: str) -> tuple[Finding, ...]:
    known = {f.id: f for f in others}
    merged = []
    for finding in findings:
        twin = known.get(finding.id)
        if twin is not None and twin.estimate != finding.estimate:
            reading = {"reading": name, "estimate": twin.estimate, "interval": twin.interval and list(twin.interval)}
            finding = replace(finding, details={**finding.details, "other_reading": reading})
        merged.append(finding)
    return tuple(merged)


def _write(run: RunFolder, result: AuditResult) -> None:
    from recuse.report.html import html
    from recuse.report.jsonable import findings_text
    from recuse.report.markdown import markdown

    run.write("report.md", markdown(result))
    run.write("report.html", html(result))
    run.write("findings.json", findings_text(result))  # last: its existence means that the folder is complete


def _parquet(judgements: Judgements, table: Table) -> bytes:
    """One row a judgement. `gold` says whether its "chosen" is known to be the better answer."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([pa.field(name, pa.type_for_alias(kind)) for name, kind in _COLUMNS.items()])
    place = {pair: i for i, pair in enumerate(table.pairs)}
    at = pa.array([place.get(pair) for pair in judgements.pairs.texts], type=pa.int32())
    of_pair = {
        "pair": as_arrow(judgements.pairs.texts),
        "group": as_arrow(judgements.groups[pair] for pair in judgements.pairs.texts),
        "domain": pa.array(table.domain_of, type=pa.string()).take(at),
        "gold": pa.array(table.gold).take(at),
    }
    of_code = {
        "arm": pa.array(judgements.arms.texts), "order": pa.array(ORDERS), "prefers": pa.array(PREFERS),
        "reason": pa.array(judgements.reasons.texts, type=pa.string()),
    }  # fmt: skip
    numbers = {"logit": HAS_LOGIT, "outside": HAS_OUTSIDE, "chosen": HAS_SCORES, "rejected": HAS_SCORES}
    columns = {name: judgements.column(name) for name in (*of_code, *numbers, "pair", "repeat", "marks")}
    sink = io.BytesIO()
    with pq.ParquetWriter(sink, schema) as writer:
        for start in range(0, len(judgements), _ROWS):
            part = {name: column[start : start + _ROWS] for name, column in columns.items()}
            lacks = {bit: (part["marks"] & bit) == 0 for bit in (FRESH, BOUNDED, *numbers.values())}
            found = {name: texts.take(pa.array(part["pair"])) for name, texts in of_pair.items()}
            found |= {name: texts.take(pa.array(part[name])) for name, texts in of_code.items()}
            found |= {name: pa.array(part[name], mask=lacks[bit]) for name, bit in numbers.items()}
            found["score_chosen"], found["score_rejected"] = found.pop("chosen"), found.pop("rejected")
            found |= {"fresh": pa.array(~lacks[FRESH]), "bounded": pa.array(~lacks[BOUNDED])}
            found["repeat"] = pa.array(part["repeat"])
            writer.write_table(pa.table({name: found[name] for name in _COLUMNS}, schema=schema))
    return sink.getvalue()
