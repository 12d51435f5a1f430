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
from recuse.pairs.rows import Position
from recuse.perturb.arms import ORIGINAL
from recuse.plan import rewriting_hash
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


def rows_of(
    plan: ExportPlan,
    items: Sequence[Item],
    places: Sequence[Position],
    judged: Sequence[Mapping[str, Sequence[Judgement]]],
) -> list[Row]:
    """One row an item. `judged`: by judge and arm, the verdicts that selected it."""
    said = [_by_text(of_judge) for of_judge in judged]
    return [_row(plan, item, place, said) for item, place in zip(items, places, strict=True)]


def _by_text(judged: Mapping[str, Sequence[Judgement]]) -> dict[tuple[str, str], list[Judgement]]:
    found: dict[tuple[str, str], list[Judgement]] = {}
    for arm, judgements in judged.items():
        for j in judgements:
            found.setdefault((arm, j.pair), []).append(j)
    return found


def _row(
    plan: ExportPlan, item: Item, place: Position, said: Sequence[Mapping[tuple[str, str], Sequence[Judgement]]]
) -> Row:
    pair, source, teacher = item.pair, plan.by_bias[item.bias], plan.first.config.teacher
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
        "method": "teacher" if teacher else "rule",
        "draw": item.arm,
        "edit": None if teacher else source.bias.edit,
        "edits_hash": None if teacher else edits_hash(),
        "teacher": public_name(teacher) if teacher else None,
        "teacher_prompts_hash": rewriting_hash() if teacher else None,
        "source_set": public_name(plan.first.config.pairs),
        "source_set_hash": plan.first.pairs.hash,
        "source_pair": pair.id,
        "source_group": pair.group,
        "original_wrong_answer": pair.rejected,
        "checks": {
            "final_answer": item.rewrite.checked,
            "looked_again": True,
            "attempts": item.rewrite.attempts,
            "characters_before": item.rewrite.before,
            "characters_after": item.rewrite.after,
        },
        "verdicts": [
            _verdict(plan, i, j)
            for i, of_judge in enumerate(said)
            for arm in (ORIGINAL.id, item.arm)
            for j in of_judge.get((arm, pair.id), ())
        ],
        VERIFIED: None,
    }


def _verdict(plan: ExportPlan, i: int, j: Judgement) -> Row:
    judge = plan.judges[i]
    return {
        "judge": public_name(judge.config.judge),
        "prompt": judge.prompt.id if judge.prompt else None,
        "prompt_hash": judge.prompt.hash if judge.prompt else None,
        "text": "original" if j.arm == ORIGINAL.id else "rewritten",
        "order": j.order,
        "prefers": j.prefers,
        "reason": j.reason,
        "log_odds": j.logit,
    }


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
        [("final_answer", text), ("looked_again", pa.bool_())]
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
