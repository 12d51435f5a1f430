"""Rows of a preference set in the two forms that trainers read, each with where it comes from.

Standard: three texts, which a trainer joins as they stand, so that a prompt ends in one line break. On 569 pairs of
JudgeBench and HH-RLHF the tokens of such a prompt begin those of prompt and answer for tokenizers that split as GPT-2's
or as Llama 3's do; with a blank line on none for the first, without a break on 563 and 561. Conversational: three lists
of messages, to which a chat template is applied. No column has a name that TRL gives a meaning of its own (completion,
messages, label, image, images, tools, chat_template_kwargs).
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from recuse.assets import digest
from recuse.discovery.deal import rank
from recuse.export.config import edits_hash
from recuse.export.dealing import Dealt
from recuse.export.rows import jsonl, public_name
from recuse.export.sources import Source
from recuse.plan import rewriting_hash
from recuse.prompts import canonical, transcript
from recuse.types import Pair

Form = Literal["conversational", "standard"]
FORMS: tuple[Form, ...] = ("conversational", "standard")  # the first is what `load_dataset` gives without a name
Row = dict[str, Any]
_COUNTS = ("attempts", "characters_before", "characters_after")


@dataclass(frozen=True)
class Origin:
    """What all rows of a set share."""

    pairs: str  # as the user named them
    pairs_hash: str
    teacher: str | None
    sources: Mapping[str, Source]  # by Bias.id


def rows_of(rewritten: Sequence[Dealt], untouched: Sequence[Pair], origin: Origin, *, seed: int) -> list[Row]:
    """Rows without prompt and answers in a form, in an order drawn by `seed`, so that kinds and biases are mixed."""
    rows = [_row(d.pair, origin, d) for d in rewritten] + [_row(pair, origin, None) for pair in untouched]
    return sorted(rows, key=lambda row: (rank(seed, row["id"]), row["id"]))


def _row(pair: Pair, origin: Origin, dealt: Dealt | None) -> Row:
    text = dealt.rewrite.text if dealt is not None and dealt.rewrite.text is not None else pair.rejected
    question = transcript(pair.prompt)
    source = origin.sources[dealt.arm.bias or ""] if dealt is not None else None
    by_teacher = dealt is not None and dealt.arm.edit is None
    return {
        "id": digest(canonical([question, pair.chosen, text]).encode()),
        "prompt": pair.prompt,
        "chosen": pair.chosen,
        "rejected": text,
        "kind": "rewritten" if dealt else "untouched",
        "injected_bias": source.bias.id if source else None,
        "bias_name": source.bias.name if source else None,
        "bias_version": source.version if source else None,
        "bias_status": source.bias.status if source else None,
        "bias_confirmed": source.confirmed if source else None,
        "bias_confirmed_on": [public_name(judge) for judge in source.judges] if source else [],
        "bias_run": source.run if source else None,
        "method": ("teacher" if by_teacher else "rule") if dealt else None,
        "edit": dealt.arm.edit if dealt else None,
        "edits_hash": edits_hash() if dealt and not by_teacher else None,
        "teacher": public_name(origin.teacher) if by_teacher and origin.teacher else None,
        "teacher_prompts_hash": rewriting_hash() if by_teacher else None,
        "source_set": public_name(origin.pairs),
        "source_set_hash": origin.pairs_hash,
        "source_pair": pair.id,
        "source_group": pair.group,
        "original_wrong_answer": pair.rejected if dealt else None,
        "domain": pair.domain,
        "checks": _checks(dealt) if dealt else None,
    }


def _checks(dealt: Dealt) -> Row:
    """How the final answer was compared with that of the original wrong answer, and the sizes of both."""
    r = dealt.rewrite
    return {
        "final_answer": r.checked or "unverified", "attempts": r.attempts, "characters_before": r.before,
        "characters_after": r.after,
    }  # fmt: skip


def in_form(row: Row, form: Form) -> Row:
    """A row as it is published."""
    prompt: str | tuple[Any, ...] = row["prompt"]
    if form == "standard":
        whose = "" if isinstance(prompt, str) else "\n\nAssistant:"
        return {**row, "prompt": f"{transcript(prompt).rstrip()}{whose}\n"}
    turns = [("user", prompt)] if isinstance(prompt, str) else [(m.role, m.content) for m in prompt]
    return {
        **row,
        "prompt": [{"role": role, "content": content} for role, content in turns],
        "chosen": [{"role": "assistant", "content": row["chosen"]}],
        "rejected": [{"role": "assistant", "content": row["rejected"]}],
    }


def files_of(parts: Mapping[str, Sequence[Row]]) -> dict[str, bytes]:
    """The files of all parts that have rows, in both forms, as Parquet and as JSONL."""
    files = {}
    for form in FORMS:
        for part, rows in parts.items():
            if rows:
                formed = [in_form(row, form) for row in rows]
                files[f"{form}-{part}.parquet"] = _parquet(formed, form)
                files[f"{form}-{part}.jsonl"] = jsonl(formed)
    return files


def _parquet(rows: Sequence[Row], form: Form) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    text = pa.string()
    talk = pa.list_(pa.struct([("role", text), ("content", text)])) if form == "conversational" else text
    checks = pa.struct([("final_answer", text), *((name, pa.int64()) for name in _COUNTS)])
    kinds = {
        "prompt": talk, "chosen": talk, "rejected": talk, "bias_confirmed": pa.bool_(),
        "bias_confirmed_on": pa.list_(text), "checks": checks,
    }  # fmt: skip
    schema = pa.schema([(name, kinds.get(name, text)) for name in rows[0]])
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), sink)
    return sink.getvalue()
