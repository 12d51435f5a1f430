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
    run.replace("judgements.parquet", _parquet(judgements, table))
    run.replace(CASES, cases_bytes(select(judgements), pair_of, texts or {}, words))
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


def _parquet(judgements: Sequence[Judgement], table: Table) -> bytes:
    """One row a judgement. `gold` says whether its "chosen" is known to be the better answer."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    domains, gold = (dict(zip(table.pairs, of, strict=True)) for of in (table.domain_of, table.gold.tolist()))
    told: dict[str, list[Any]] = {
        "domain": [domains.get(j.pair) for j in judgements],
        "gold": [gold.get(j.pair) for j in judgements],
        "score_chosen": [j.scores and j.scores[0] for j in judgements],
        "score_rejected": [j.scores and j.scores[1] for j in judgements],
    }
    schema = pa.schema([pa.field(name, pa.type_for_alias(kind)) for name, kind in _COLUMNS.items()])
    columns = {name: told[name] if name in told else [getattr(j, name) for j in judgements] for name in _COLUMNS}
    sink = io.BytesIO()
    pq.write_table(pa.table(columns, schema=schema), sink)
    return sink.getvalue()
