"""Rows of a benchmark as they are published: two answers, which one is better, and where all of it comes from."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from recuse.assets import digest
from recuse.export.config import ExportPlan, edits_hash
from recuse.export.select import Item
from recuse.export.sources import Source
from recuse.pairs.rows import Position
from recuse.perturb.arms import ORIGINAL
from recuse.perturb.checks import VERIFIER
from recuse.plan import Plan, rewriting_hash
from recuse.prompts import canonical, transcript
from recuse.types import Judgement

Row = dict[str, Any]
# What people said of a row of the sample, for all other rows nothing: the one column that changes after the export.
VERIFIED = "verified"


def public_name(name: str) -> str:
    """A file or model as a published row names it: a path on this machine keeps its last part alone.

    "llamacpp//home/me/judge.gguf" is "llamacpp/judge.gguf"; "hf:org/name" and "vllm/ORG/NAME" stay.
    """
    provider, slash, rest = name.partition("/")
    if name.startswith("hf:"):
        return name
    if not slash or Path(name).is_absolute() or Path(name).exists() or name.startswith((".", "~")):
        return Path(name).name
    if rest.startswith(("/", ".", "~")) or Path(rest).exists():
        return f"{provider}/{Path(rest).name}"
    return name


def names_of(plan: ExportPlan) -> tuple[str, ...]:
    """The judges as they are published; equal names are numbered."""
    given = [public_name(judge.config.judge) for judge in plan.judges]
    return tuple(f"{n} ({given[: i + 1].count(n)})" if given.count(n) > 1 else n for i, n in enumerate(given))


def rows_of(
    plan: ExportPlan,
    items: Sequence[Item],
    places: Sequence[Position],
    judged: Sequence[Mapping[str, Sequence[Judgement]]],
) -> list[Row]:
    """One row an item. `judged`: by judge and arm, the verdicts that selected it."""
    said, config = [_by_text(of_judge) for of_judge in judged], plan.first.config
    judges = [_asked(judge, name) for judge, name in zip(plan.judges, names_of(plan), strict=True)]
    common = {
        "method": "teacher" if config.teacher else "rule",
        "edits_hash": None if config.teacher else edits_hash(),
        "teacher": public_name(config.teacher) if config.teacher else None,
        "teacher_prompts_hash": rewriting_hash() if config.teacher else None,
        "source_set": public_name(config.pairs),
        "source_set_hash": plan.first.pairs.hash,
    }
    rows = []
    for item, place in zip(items, places, strict=True):
        verdicts = [
            {**judges[i], **_verdict(j)}
            for i, of_judge in enumerate(said)
            for arm in (ORIGINAL.id, item.arm)
            for j in of_judge.get((arm, item.pair.id), ())
        ]
        rows.append(_row(item, place, plan.by_bias[item.bias], common, verdicts))
    return rows


def _by_text(judged: Mapping[str, Sequence[Judgement]]) -> dict[tuple[str, str], list[Judgement]]:
    found: dict[tuple[str, str], list[Judgement]] = {}
    for arm, judgements in judged.items():
        for j in judgements:
            found.setdefault((arm, j.pair), []).append(j)
    return found


def _row(item: Item, place: Position, source: Source, common: Mapping[str, Any], verdicts: list[Row]) -> Row:
    pair = item.pair
    question, better, worse = transcript(pair.prompt), pair.chosen, item.text
    talk = None
    if not isinstance(pair.prompt, str):
        talk = [{"role": message.role, "content": message.content} for message in pair.prompt]
    return {
        "id": digest(canonical([question, better, worse]).encode()),
        "question": question,
        "response_A": better if place == "A" else worse,
        "response_B": worse if place == "A" else better,
        "label": place,
        "injected_bias": item.bias,
        "domain": pair.domain,
        "reference": pair.reference,
        "messages": talk,
        "bias_name": source.bias.name,
        "bias_version": source.version,
        "bias_status": source.bias.status,
        "bias_confirmed": source.confirmed,
        "bias_confirmed_on": [public_name(judge) for judge in source.judges],
        "bias_run": source.run,
        "draw": item.arm,
        "edit": source.bias.edit if common["method"] == "rule" else None,
        **common,
        "source_pair": pair.id,
        "source_group": pair.group,
        "original_wrong_answer": pair.rejected,
        "checks": {
            "final_answer": item.rewrite.checked,
            "second_look": VERIFIER if item.rewrite.checked == VERIFIER else "rule",
            "attempts": item.rewrite.attempts,
            "characters_before": item.rewrite.before,
            "characters_after": item.rewrite.after,
        },
        "verdicts": verdicts,
        VERIFIED: None,
    }


def _asked(judge: Plan, name: str) -> Row:
    prompt = judge.prompt
    return {"judge": name, "prompt": prompt and prompt.id, "prompt_hash": prompt and prompt.hash}


def _verdict(j: Judgement) -> Row:
    shown = "original" if j.arm == ORIGINAL.id else "rewritten"
    return {"text": shown, "order": j.order, "prefers": j.prefers, "reason": j.reason, "log_odds": j.logit}


def row_digest(row: Mapping[str, Any]) -> str:
    """Of all that a row holds when it is exported."""
    return digest(canonical({name: value for name, value in row.items() if name != VERIFIED}).encode())


def jsonl(rows: Sequence[Row]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode("utf-8")


def parquet(rows: Sequence[Row]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    text = pa.string()
    talk = pa.list_(pa.struct([("role", text), ("content", text)]))
    checks = pa.struct(
        [("final_answer", text), ("second_look", text)]
        + [(name, pa.int64()) for name in ("attempts", "characters_before", "characters_after")]
    )
    names = ("judge", "prompt", "prompt_hash", "text", "order", "prefers", "reason")
    verdict = pa.struct([*((name, text) for name in names), ("log_odds", pa.float64())])
    kinds = {
        "messages": talk, "bias_confirmed": pa.bool_(), "bias_confirmed_on": pa.list_(text), "checks": checks,
        "verdicts": pa.list_(verdict),
    }  # fmt: skip
    schema = pa.schema([(name, kinds.get(name, text)) for name in rows[0]])
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), sink)
    return sink.getvalue()
