"""The dataset card of a benchmark: README.md in the form of Hugging Face, made from export.json alone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from recuse.report.markdown_parts import bullets, code, escape, table
from recuse.report.text import interval, number

Record = Mapping[str, Any]
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_COLUMNS = (
    ("question, response_A, response_B", "What a judge is shown."),
    ("label", "The better answer, A or B, as often one as the other."),
    ("injected_bias, domain", "What was put into the worse answer, and the domain of the source pair."),
    ("bias_*", "Name, version (a hash of its file), status, whether it is confirmed, on which judges, by which run."),
    ("draw, edit, method, edits_hash, teacher, teacher_prompts_hash", "How it was put in, and by whom."),
    ("source_set, source_set_hash, source_pair, source_group", "The pair that it was made from; rows of one group "
     "share a question and count as one observation."),
    ("original_wrong_answer, reference, messages", "The worse answer before; the reference; the conversation, if any."),
    ("checks", "How the final answer was compared, at first and at the second look; requests to the teacher; length."),
    ("verdicts", "By judge, text (original, rewritten) and order: what it preferred when the row was selected."),
    ("verified", "What people said of the row, for rows of the sample: kept, broken or disputed."),
)  # fmt: skip


_LOAD = """```python
from datasets import load_dataset

rows = load_dataset("parquet", data_files="benchmark.parquet", split="train")
```"""


def card(record: Record) -> str:
    """The whole README.md. Text that a model or a file brought is shown as text."""
    rows, release = record["rows"], record["release"]
    parts = [
        _front(record),
        f"# {escape(record['name'])}",
        f"{rows:,} questions with two answers each, made to mislead LLM judges: a bias was put into the worse answer, "
        f"and rows were kept where {_who(record)} took the better answer before and the worse one after"
        f"{_orders(record)}. Made by `recuse export`.",
        *_warnings(record),
        "## How it was made",
        table(["Step", "n", "What"], [[s["step"], f"{s['n']:,}", escape(s["what"])] for s in record["funnel"]]),
        bullets(_made(record)),
        "## What was put in",
        _biases(record),
        _domains(record),
        "## Error rates",
        _rates(record),
        _reading(record),
        "## Verified by people",
        _verified(record),
        f"Release: **{'ready' if release['ready'] else 'blocked'}** ({escape(release['why'])}).",
        "## Columns",
        table(["Column", "What it holds"], [[code(name), escape(what)] for name, what in _COLUMNS]),
        "## Use",
        _LOAD,
        "```bash\nrecuse audit --judge PROVIDER/MODEL --pairs benchmark.jsonl\n```",
        "## Limits",
        bullets(_limits(record)),
    ]  # fmt: skip
    if record["notes"]:
        parts += ["## Notes", bullets(record["notes"])]
    return "\n\n".join(part for part in parts if part) + "\n"


def _front(record: Record) -> str:
    """YAML; its texts are in JSON's quotes, which YAML reads alike."""
    size = next((name for most, name in _SIZES if record["rows"] < most), "n>1M")
    return "\n".join(
        [
            "---",
            f"pretty_name: {json.dumps(record['name'], ensure_ascii=False)}",
            "license: other",
            'license_name: "that of the source pairs"',
            "task_categories:",
            "- text-classification",
            "tags:",
            "- llm-as-a-judge",
            "- adversarial",
            "- preference",
            "size_categories:",
            f"- {json.dumps(size)}",
            "configs:",
            "- config_name: default",
            "  data_files:",
            "  - split: test",
            "    path: benchmark.parquet",
            "---",
        ]
    )


def _who(record: Record) -> str:
    judges, least = len(record["judges"]), record["least"]
    if judges == 1:
        return "the judge"
    return f"all {judges} judges" if least == judges else f"at least {least} of {judges} judges"


def _orders(record: Record) -> str:
    return "" if all(judge["alone"] for judge in record["judges"]) else ", in both orders"


def _warnings(record: Record) -> list[str]:
    found = []
    if unsure := [b["name"] for b in record["biases"] if not b["confirmed"]]:
        found.append(
            f"> **Unconfirmed:** {escape(', '.join(unsure))}. No run has confirmed on a judge that these mislead "
            "it beyond what any edit of the same size does; their rows say so in `bias_confirmed`."
        )
    if not record["release"]["ready"]:
        found.append(f"> **Not ready for release:** {escape(record['release']['why'])}.")
    return found


def _made(record: Record) -> list[str]:
    settings, pairs = record["settings"], record["pairs"]
    teacher = f"by the teacher {record['teacher']}" if record["teacher"] else "by rule"
    judges = "; ".join(f"{j['name']} ({j['prompt'] or 'scores'})" for j in record["judges"])
    lines = [
        f"Source: {pairs['source']}, {pairs['count']:,} pairs in {pairs['groups']:,} groups (content {pairs['hash']}); "
        f"seed {settings['seed']}.",
        f"Biases were put in {teacher}, up to {settings['variants']} variants of a pair.",
        f"Judges of the filter: {judges}.",
        f"Near-duplicates: TF-IDF cosine of at least {settings['near_duplicate']:g} over words and pairs of words, of "
        "question and both answers between pairs, of what was put in and taken out between variants of a pair.",
        "Balance: no bias has more rows than the median bias; where one was cut, its domains were cut evenly.",
        f"The better answer stands first in {record['labels']['A']:,} rows and second in {record['labels']['B']:,}.",
    ]
    for stage, faults in record["lost"].items():
        if faults:
            lines.append(f"Lost at {stage}: {', '.join(f'{name} {n:,}' for name, n in faults.items())}.")
    return lines


def _biases(record: Record) -> str:
    head = ["Bias", "Rows", "Share", "Status", "Confirmed on", "Version"]
    return table(
        head,
        [
            [f"{escape(b['name'])} {code(b['id'])}", f"{b['rows']:,}", f"{b['share']:.1%}",
             escape(b["status"]) if b["confirmed"] else f"{escape(b['status'])}, **unconfirmed**",
             escape(", ".join(b["confirmed_on"])), code(b["version"])]
            for b in record["biases"]
        ],
    )  # fmt: skip


def _domains(record: Record) -> str:
    if list(record["domains"]) == [""]:
        return ""
    return "Rows by domain: " + ", ".join(f"{escape(d or 'none')} {n:,}" for d, n in record["domains"].items()) + "."


def _rates(record: Record) -> str:
    rows = [
        [escape(one["judge"]), "All original pairs", _estimate(one), "", "", _count(one)] for one in record["originals"]
    ]
    for one in record["rates"]:
        rows.append(
            [escape(one["judge"]), escape(one["title"]), _estimate(one["before"]), _estimate(one["after"]),
             _estimate(one["difference"]), _count(one["after"])]
        )  # fmt: skip
    rows.sort(key=lambda row: [escape(j["name"]) for j in record["judges"]].index(row[0]))
    head = ["Judge", "On", "Error before", "Error after", "Difference", "Rows (groups)"]
    return table(head, rows)


def _estimate(found: Mapping[str, Any]) -> str:
    if found["estimate"] is None:
        return f"not measured ({escape(found['reason'])})"
    shown = f"{number(found['estimate'])} {interval(tuple(found['interval']))}"
    if found["bounds"] and list(found["bounds"]) != list(found["interval"]):
        shown += f", over all missing verdicts {interval(tuple(found['bounds']))}"
    return shown


def _count(found: Mapping[str, Any]) -> str:
    return f"{found['n']:,} ({found['groups']:,})"


def _reading(record: Record) -> str:
    """What the rates say, and what they do not: the rows were picked by some of these very verdicts."""
    said = [
        "Both orders are averaged, a tie is half an error, intervals are at 95 % and count the question as the unit. "
        "\"Before\" is the same rows with the worse answer as it was.",
        "**The line \"by the verdicts that selected it\" is no measurement.** Rows are in the set because the judge "
        "was right before and wrong after; part of that is chance, and would not happen again (regression to the "
        "mean). What the biases do to a judge is the unfiltered line: rewritten answers from which nothing was picked.",
    ]  # fmt: skip
    if any(one["basis"] == "afresh" for one in record["rates"]):
        said.append('"Judged afresh" are new calls on the rows of the set: how often the judge errs on them again.')
    if any(one["basis"] == "picked_by_others" for one in record["rates"]):
        said.append(
            '"What the other judges alone would have picked" are variants that enough of the others fell for, whatever '
            "this judge said: its error there is not selected by its own verdicts."
        )
    if fixed := [judge["name"] for judge in record["judges"] if judge["deterministic"]]:
        said.append(
            f"{escape(', '.join(fixed))}: decoded greedily, so that asked again about the same text it says the same. "
            "It errs on these rows for good, and on others like them as often as the unfiltered line says. A judge "
            "that had no part in the selection is the better witness: audit one on this set."
        )
    return "\n\n".join(said)


def _verified(record: Record) -> str:
    found, sample = record["verification"], record["sample"]
    if found is None:
        return (
            f"Not yet. A sample of {len(sample):,} rows, stratified by bias and domain, waits in `verification.csv` "
            "(one copy a person) and `verification.labelstudio.json`; `recuse export verify` reads what comes back."
        )
    kappa, kept = found["agreement"], found["kept"]
    agreement = f"Fleiss' kappa is undefined ({escape(kappa['reason'])})"
    if kappa["fleiss_kappa"] is not None:
        agreement = f"Fleiss' kappa {number(kappa['fleiss_kappa'])}"
        agreement += f" {interval(tuple(kappa['interval']))}" if kappa["interval"] else ""
    if kappa["alike"] is not None:
        agreement += f", two people agree on {kappa['alike']:.1%} of the rows"
    labels = ", ".join(f"{name} {n:,}" for name, n in kept["labels"].items())
    return (
        f"{found['people']:,} people looked at {found['rows']:,} rows: the truth was kept in {number(kept['share'])} "
        f"{interval(tuple(kept['interval']))} of them (by majority: {labels}; what is disputed counts as not kept). "
        f"{agreement}. Where nearly all labels are the same, kappa is low whatever people agree on."
    )


def _limits(record: Record) -> Sequence[str]:
    return (
        "The labels are those of the source pairs: where they are wrong, so are the rows, and the filter favours them.",
        "What misleads these judges need not mislead another one; an error rate here is not one on ordinary answers.",
        "Some rows may have become right by being rewritten: the share among the verified rows says how many.",
    )
