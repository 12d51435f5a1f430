"""`findings.json` of an explanation (`recuse/data/explain.schema.json`), written and read back:

{"schema": 1, "kind": "explain", "headline": str, "judge": str, "pairs": str, "people": str, "level": number,
 "counts": {kind: int},                               pairs, by kind of disagreement
 "findings": [...],                                   as of an audit, outcome and tolerance null
 "reader": {"verdicts": int, "contradicting": int, "one_sided": int, "line": str,
            "table": [{"recorded": kind, "read": kind, "pairs": int}, ...]} | null,
 "features": {"reason": str | null, "left_out": {id: why}, "n": int, "titles": {id: str}} | null,
 "injected": {"pairs": int, "confirmed": [id, ...]} | null,
 "themes": {"from": str, "by": "words" | "embeddings", "n": int, "none": int, "several": int, "criterion": str,
            "reason": str | null,
            "themes": [{"words": [...], "share": number, "interval": [low, high] | null, "count": int,
                        "stability": number,
                        "right": number | null,       share among explanations of right verdicts
                        "right_interval": [low, high] | null,
                        "change": number | null,      share minus right
                        "difference": [low, high] | null,   of change
                        "reason": str | null, "examples": [{"pair": str, "text": str}]}, ...]},
 "crossed": [{"theme": str, "bias": str, "by": str, "share": number, "others": number | null,
              "change": number | null, "interval": [low, high] | null, "reason": str | null, "n": int}, ...],
 "recommendation": {"paragraph": str | null, "confirmed": [{"id", "name", "effect", "interval", "n", "how"}, ...],
                    "unproven": [str, ...]},
 "examples": {kind: [{"pair": str, "domain": str | null, "people": str, "verdicts": {order: str | null},
                      "question": str | null, "preferred": str | null, "other": str | null,
                      "words": str | null}, ...]},
 "limits": [...], "notes": [...], "usage": {...}, "config": {...}}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from recuse.report.explained import (
    Crossed,
    Example,
    ExplainReport,
    Features,
    Interval,
    Proven,
    Put,
    Reader,
    Recommended,
    Theme,
    Themes,
)
from recuse.report.jsonable import finding_json, plain, read_finding

_PLAIN = ("headline", "judge", "pairs", "people", "level", "counts")
_LAST = ("limits", "notes", "usage", "config")


def explained_json(report: ExplainReport) -> dict[str, Any]:
    """The report as plain JSON values. Raises as `jsonable.findings_json` does."""
    content = {
        "schema": 1,
        "kind": "explain",
        **{name: getattr(report, name) for name in _PLAIN},
        "findings": [finding_json(f) for f in report.findings],
        "reader": report.reader and _reader(report.reader),
        "features": report.features and asdict(report.features),
        "injected": report.injected and asdict(report.injected),
        "themes": _themes(report.themes),
        "crossed": [asdict(cell) for cell in report.crossed],
        "recommendation": asdict(report.recommendation),
        "examples": {kind: [asdict(e) for e in of] for kind, of in report.examples.items()},
        **{name: getattr(report, name) for name in _LAST},
    }
    made: dict[str, Any] = plain(content, "result")
    return made


def explained_text(report: ExplainReport) -> str:
    """`explained_json` as `findings.json` carries it."""
    return json.dumps(explained_json(report), indent=2, allow_nan=False) + "\n"


def _reader(reader: Reader) -> dict[str, Any]:
    rows = [{"recorded": old, "read": new, "pairs": n} for old, new, n in reader.table]
    return {**asdict(reader), "table": rows}


def _themes(themes: Themes) -> dict[str, Any]:
    told = asdict(themes)
    listed = [
        {**asdict(t), "examples": [{"pair": pair, "text": words} for pair, words in t.examples]} for t in themes.themes
    ]
    return {"from": told.pop("source"), **told, "themes": listed}


def read_explained(content: Mapping[str, Any], folder: Path) -> ExplainReport:
    """What `explained_json` made. Raises KeyError, TypeError and AttributeError for what it did not."""
    reader, features, injected = (content[name] for name in ("reader", "features", "injected"))
    given = content["recommendation"]
    proven = tuple(Proven(**_spans(row, "interval")) for row in given["confirmed"])
    return ExplainReport(
        **{name: content[name] for name in (*_PLAIN, "usage", "config")},
        findings=tuple(map(read_finding, content["findings"])),
        reader=reader and Reader(**{**reader, "table": tuple(map(_read_moved, reader["table"]))}),
        features=features and Features(**features),
        injected=injected and Put(injected["pairs"], tuple(injected["confirmed"])),
        themes=_read_themes(content["themes"]),
        crossed=tuple(Crossed(**_spans(row, "interval")) for row in content["crossed"]),
        recommendation=Recommended(given["paragraph"], proven, tuple(given["unproven"])),
        examples={kind: tuple(Example(**row) for row in of) for kind, of in content["examples"].items()},
        limits=tuple(content["limits"]), notes=tuple(content["notes"]), folder=folder,
    )  # fmt: skip


def _read_moved(row: Mapping[str, Any]) -> tuple[str, str, int]:
    return row["recorded"], row["read"], row["pairs"]


def _read_themes(given: Mapping[str, Any]) -> Themes:
    told = {name: value for name, value in given.items() if name not in ("from", "themes")}
    return Themes(given["from"], **told, themes=tuple(map(_read_theme, given["themes"])))


def _read_theme(row: Mapping[str, Any]) -> Theme:
    examples = tuple((one["pair"], one["text"]) for one in row["examples"])
    own = _spans(row, "interval", "right_interval", "difference")
    return Theme(**{**own, "words": tuple(row["words"]), "examples": examples})


def _spans(row: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """With intervals as pairs."""
    spans: dict[str, Interval] = {name: row[name] and tuple(row[name]) for name in names}
    return {**row, **spans}
