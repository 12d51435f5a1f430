"""The dataset card of a preference set: README.md in the form of Hugging Face, made from export.json alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from recuse.export.preference_rows import FORMS
from recuse.report.markdown_parts import bullets, code, escape, table

Record = Mapping[str, Any]
_COLUMNS = (
    ("prompt, chosen, rejected", "Three lists of messages (conversational) or three texts (standard)."),
    ("kind", "rewritten: the rejected answer carries a bias. untouched: it is that of the source."),
    ("injected_bias, bias_*", "What was put in: id, name, version (a hash of its file), status, whether it is "
     "confirmed, on which judges, by which run."),
    ("method, edit, edits_hash, teacher, teacher_prompts_hash", "How it was put in, and by whom."),
    ("source_set, source_set_hash, source_pair, source_group", "The pair that the row was made from."),
    ("original_wrong_answer", "The rejected answer before."),
    ("checks", "How the final answer was compared with the one before, how often the teacher was asked, and sizes."),
)  # fmt: skip


def preference_card(record: Record) -> str:
    """The whole README.md. Text that a file or a model brought is shown as text."""
    pairs, parts = record["pairs"], record["parts"]
    by = f"the teacher {record['teacher']}" if record["teacher"] else "rule"
    rows = sum(part["rows"] for part in parts.values())
    blocks = [
        _front(record),
        f"# {escape(record['name'])}",
        f"{rows:,} preferences for training a judge or a reward model against biases (DPO): the better answer is "
        f"`chosen`, and in rewritten rows a bias was put into the `rejected` one by {escape(by)}, with its final "
        "answer kept. Made by `recuse export`.",
        _unconfirmed(record),
        "## Rows",
        table(
            ["Part", "Rows", "Rewritten", "Untouched", "Source pairs", "Families"],
            [[name, *(f"{p[key]:,}" for key in ("rows", "rewritten", "untouched", "pairs", "families"))]
             for name, p in parts.items()],
        ),
        "Pairs that share a group, or have a question or an answer that is the same or nearly so, form a family, and a "
        "family lies in one part. The share of untouched rows that was asked for is "
        f"{record['settings']['mix']:g}; where one kind was scarce, less was taken of the other.",
        "## What was put in",
        _biases(record),
        _faults(record),
        "## What was kept out",
        f"Of {pairs['count']:,} pairs of {code(pairs['source'])}, {pairs['left_out']:,} were left out:",
        _left(record),
        "## Columns",
        table(["Column", "What it holds"], [[_names(names), escape(what)] for names, what in _COLUMNS]),
        "In the standard form each prompt ends in a line break, since trainers join prompt and answer as they stand.",
        "## Use",
        _use(record),
        "## Limits",
        bullets(_limits(record)),
    ]  # fmt: skip
    if record["notes"]:
        blocks += ["## Notes", bullets(record["notes"])]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _names(columns: str) -> str:
    return ", ".join(code(name) for name in columns.split(", "))


def _front(record: Record) -> str:
    """YAML; its texts are in JSON's quotes, which YAML reads alike."""
    parts = [name for name, part in record["parts"].items() if part["rows"]]
    lines = [
        "---", f"pretty_name: {json.dumps(record['name'])}", "license: other",
        'license_name: "that of the source pairs"', "task_categories:", "- reinforcement-learning", "tags:", "- dpo",
        "- preference", "- llm-as-a-judge", "configs:",
    ]  # fmt: skip
    for form in FORMS:
        lines += [f"- config_name: {form}", *(["  default: true"] if form == FORMS[0] else []), "  data_files:"]
        for part in parts:
            lines += [f"  - split: {part}", f"    path: {form}-{part}.parquet"]
    return "\n".join([*lines, "---"])


def _unconfirmed(record: Record) -> str:
    unsure = [bias["name"] for bias in record["biases"] if not bias["confirmed"]]
    if not unsure:
        return ""
    return (
        f"> **Unconfirmed:** {escape(', '.join(unsure))}. No run has confirmed on a judge that these mislead it; their "
        "rows say so in `bias_confirmed`."
    )


def _biases(record: Record) -> str:
    rows = [
        [code(b["id"]), escape(b["name"]), _status(b), escape(b["run"] or ""), f"{b['tried']:,}", f"{b['passed']:,}",
         f"{b['train']:,}", f"{b['test']:,}", code(b["version"])]
        for b in record["biases"]
    ]  # fmt: skip
    return table(["Bias", "Name", "Status", "Run", "Tried", "Passed", "Train", "Test", "Version"], rows)


def _status(bias: Mapping[str, Any]) -> str:
    if bias["confirmed"]:
        return f"confirmed on {escape(', '.join(bias['confirmed_on']))}"
    return f"unconfirmed ({escape(bias['status'])})"


def _faults(record: Record) -> str:
    if not record["faults"]:
        return "Every rewritten answer passed the checks."
    said = ", ".join(f"{fault} {n:,}" for fault, n in record["faults"].items())
    return f"Why rewritten answers failed the checks, or were dealt another bias: {escape(said)}."


def _left(record: Record) -> str:
    if not record["left_out"]:
        return "Nothing was named to be kept out."
    rows = [[escape(one["name"]), escape(one["what"]), f"{one['same']:,}", f"{one['near']:,}"]
            for one in record["left_out"]]  # fmt: skip
    head = ["Where they stand", "What", "Same pair or question", "Nearly the same question or answer"]
    return table(head, rows) + "\n\nEach count has the families of such pairs in it."


def _use(record: Record) -> str:
    return (
        "```python\nfrom datasets import load_dataset\nfrom trl import DPOConfig, DPOTrainer\n\n"
        'data = load_dataset("PATH OR NAME OF THIS SET", "conversational")  # or "standard"\n'
        'trainer = DPOTrainer(model, args=DPOConfig(...), train_dataset=data["train"], processing_class=tokenizer)\n```'
    )


def _limits(record: Record) -> list[str]:
    limits = [
        "The better answer is better by the labels of the source; their errors are errors here.",
        "Rows of one family are not independent.",
        "A judge that is trained on this set is to be examined on pairs that are not in it: those that were left out "
        "for a run serve that.",
    ]
    if record["teacher"]:
        limits.append("The rejected answers bear the hand of one teacher, and the chosen ones do not.")
    return limits
