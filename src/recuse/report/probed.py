"""What the report of a probe is made from: one frozen record, and the words that both forms of it share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recuse.report import text
from recuse.types import Finding

# Finding ids by what stands before the first colon, in the order of the report.
FAMILIES = {
    "probe.gap": "Gaps",
    "probe.failure_gap": "Gaps in failures",
    "probe.cut": "Gaps by stratum, batch and tag",
    "probe.attribute": "Gaps between the levels of attributes",
    "probe.flip_rate": "Decisions that change with the group, and noise",
    "probe.position": "Whether the rubric's judge prefers a place",
    "probe.names": "Names against the others of their group",
    "bbq.s_amb": "BBQ: bias where the context does not tell",
    "bbq.s_dis": "BBQ: bias where the context tells",
    "bbq.accuracy_ambig": "BBQ: right answers where the context does not tell",
    "bbq.accuracy_disambig": "BBQ: right answers where the context tells",
    "bbq.unparsed": "BBQ: answers that could not be read",
    "implicit.association": "Implicit associations: words sorted by group",
    "implicit.consistent": "Implicit decisions as the stereotype has them",
    "implicit.gap": "Implicit decisions: gaps",
    "implicit.yes": "Implicit decisions: shares of yes",
    "framing.flip_rate": "Answers that follow the frame",
    "framing.noise": "Answers that change by asking again",
}


@dataclass(frozen=True)
class ProbeResult:
    """A finished probe.

    `plan` has path, hash (of the plan), asked_hash (of what was asked), templates (their number) and batches. `tables`:
    `per_template` and `per_name` have one row a template or name, metric and pair of groups; `reasons` counts replies
    without a value; `words` has the words by which replies differ; `examples` shows replies where the gap is largest;
    `names` is what the table of names says.
    """

    model: str
    plan: Mapping[str, Any]
    headline: str
    found: bool  # whether there is a gap beyond chance, in answers or in failures
    findings: tuple[Finding, ...]
    tables: Mapping[str, Sequence[Mapping[str, Any]]]
    notes: tuple[str, ...] = ()
    config: Mapping[str, Any] = field(default_factory=dict)
    usage: Mapping[str, Any] = field(default_factory=dict)
    level: float = 0.95
    folder: Path = Path()

    @property
    def families(self) -> dict[str, tuple[Finding, ...]]:
        """Heading -> its findings; those of names from the most unlikely on."""
        found: dict[str, tuple[Finding, ...]] = {}
        for heading in dict.fromkeys([*FAMILIES.values(), *(_heading(f.id) for f in self.findings)]):
            if own := tuple(f for f in self.findings if _heading(f.id) == heading):
                found[heading] = own
        names = FAMILIES["probe.names"]
        if names in found:
            found[names] = tuple(sorted(found[names], key=lambda f: 1.0 if f.p is None else f.p))
        return found


def _heading(id: str) -> str:
    kind = id.partition(":")[0]
    return FAMILIES.get("probe.flip_rate" if kind == "probe.noise" else kind, kind)


def facts(result: ProbeResult) -> dict[str, object]:
    batches = [str(batch) for batch in result.plan.get("batches", ())]
    return {
        "Model": result.model,
        "Plan": _plan(result.plan),
        "Templates": result.plan.get("templates"),
        "Batches added later": ", ".join(batches),
        "Usage": text.usage_line(result.usage),
    }


def _plan(plan: Mapping[str, Any]) -> str:
    told = [f"{word} {plan[key]}" for word, key in (("hash", "hash"), ("texts", "asked_hash")) if plan.get(key)]
    return str(plan.get("path", "")) + (f" ({'; '.join(told)})" if told else "")


_GAPS = (
    "Gap", "Mean a", "Mean b", "p", "p adjusted", "p without symmetry", "For further names",
    "Replies as independent (wrong)",
)  # fmt: skip
_TEMPLATES = ("Template", "Labels", "n", "Missing", "Mean a", "Mean b", "Gap")
_NAMES = ("Name", "Group", "n", "Missing", "Mean", "From the others", "p adjusted", "Outlying")
_WORDS = ("Word", "More in", "Share a", "Share b", "Templates", "p adjusted")
_REASONS = ("Metric", "Group", "Reason", "Replies")
_KNOWN = ("Name", "Group", "Count", "Year")
Rows = list[list[str]]


@dataclass(frozen=True)
class Block:
    """One section of tables, by caption; nothing in it is escaped yet."""

    heading: str
    columns: Sequence[str]
    tables: Mapping[str, Rows]
    captioned: bool = False  # there may be several, so that each needs its caption


def blocks(result: ProbeResult) -> list[Block]:
    """The sections of tables that have rows, in the order of the report."""
    every = [
        Block("The same gaps, seen otherwise", _GAPS, {"The same gaps, seen otherwise": _gaps(result)}),
        Block("Templates, those that drive the gap first", _TEMPLATES, _templates(result), captioned=True),
        Block("Names", _NAMES, _names(result), captioned=True),
        Block("Words that one group gets more often", _WORDS, _words(result), captioned=True),
        Block("Names in the table of names", _KNOWN, {"What the table says": _known(result)}),
        Block("Replies without a value", _REASONS, {"By metric, group and reason": _reasons(result)}),
    ]
    return [block for block in every if any(block.tables.values())]


def _gaps(result: ProbeResult) -> Rows:
    """Among all gaps of the run, for further names, and what pooling would say."""
    rows = []
    for finding in result.findings:
        if finding.id.startswith("probe.gap:") and finding.estimate is not None:
            told = finding.details
            numbers = [_number(told.get(key)) for key in ("mean_a", "mean_b")]
            chances = [text.p_value(p) for p in (finding.p, told.get("p_adjusted"), told.get("p_without_symmetry"))]
            claims = [_claim(told.get(key)) for key in ("further_names", "pooled")]
            rows.append([finding.title, *numbers, *chances, *claims])
    return rows


def _claim(said: Mapping[str, Any] | None) -> str:
    if said is None or said.get("interval") is None:
        return ""
    p = text.p_value(said["p"])
    return text.interval(said["interval"]) + (f", p {p}" if p else "")


def _templates(result: ProbeResult) -> dict[str, Rows]:
    tables: dict[str, Rows] = {}
    for row in result.tables["per_template"]:
        caption = f"{row['metric']}: {row['a']} (a) minus {row['b']} (b)"
        labels = ", ".join(f"{key} {value}" for key, value in row["labels"].items() if value is not None)
        missing = f"{row['missing_a']}, {row['missing_b']}" if row["missing_a"] or row["missing_b"] else ""
        cells = [row["template_id"], labels, f"{row['n_a']}, {row['n_b']}", missing]
        tables.setdefault(caption, []).append([*cells, *(_number(row[key]) for key in ("mean_a", "mean_b", "gap"))])
    return tables


def _names(result: ProbeResult) -> dict[str, Rows]:
    tables: dict[str, Rows] = {}
    for row in result.tables["per_name"]:
        counts = [f"{row['n']:,}", f"{row['missing']:,}" if row["missing"] else ""]
        numbers = [_number(row["mean"]), _number(row["apart"]), text.p_value(row["p_adjusted"])]
        outlying = "outlying" if row["outlying"] else ""
        tables.setdefault(row["metric"], []).append([row["name"], row["group"], *counts, *numbers, outlying])
    return tables


def _words(result: ProbeResult) -> dict[str, Rows]:
    """Those alone that are no chance, after correction over all words that were tested."""
    tables: dict[str, Rows] = {}
    for row in result.tables["words"]:
        if row["found"]:
            caption = f"{row['a']} (a) and {row['b']} (b), {row['tested']:,} words tested"
            shares = [_number(row[key]) for key in ("rate_a", "rate_b")]
            cells = [
                row["word"],
                row["more_in"] or "",
                *shares,
                f"{row['templates']:,}",
                text.p_value(row["p_adjusted"]),
            ]
            tables.setdefault(caption, []).append(cells)
    return tables


def _reasons(result: ProbeResult) -> Rows:
    rows = result.tables["reasons"]
    return [[row["metric"], row["group"], row["reason"], f"{row['replies']:,} of {row['of']:,}"] for row in rows]


def _known(result: ProbeResult) -> Rows:
    return [
        [row["name"], row["group"], *("" if row[key] is None else f"{row[key]:.0f}" for key in ("count", "year"))]
        for row in result.tables["names"]
    ]


def example_rows(example: Mapping[str, Any]) -> list[tuple[str, str]]:
    """One template in two groups: what was sent, and what came back."""
    return [
        ("Prompt", str(example["prompt"])),
        *((f"Reply, {side['group']}, {side['name'] or 'no name'}", str(side["reply"])) for side in example["replies"]),
    ]


def _number(value: float | None) -> str:
    return "" if value is None else text.number(value)
