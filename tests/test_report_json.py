"""findings.json: strict JSON, unrounded, in a stable order, and as its schema says."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from json_schema import check
from report_example import EXAMPLE, FINDINGS, HOSTILE, hostile

from recuse import assets
from recuse.report.jsonable import findings_json, findings_text
from recuse.report.result import AuditResult
from recuse.types import Finding

SCHEMA = json.loads(Path(assets.data("findings.schema.json")).read_text("utf-8"))


def with_finding(**fields: Any) -> AuditResult:
    return replace(EXAMPLE, findings=(replace(FINDINGS[0], **fields),))


def test_it_comes_back_from_text_as_it_went_in() -> None:
    content = findings_json(EXAMPLE)
    assert json.loads(findings_text(EXAMPLE)) == content
    assert content["schema"] == 1
    assert [f["id"] for f in content["findings"]] == [f.id for f in FINDINGS]
    first = content["findings"][0]
    assert first["estimate"] == 0.4153
    assert first["interval"] == [0.3621, 0.4702]
    assert first["tolerance"] == [None, 0.25]


def test_keys_keep_their_order() -> None:
    content = findings_json(EXAMPLE)
    assert list(content) == SCHEMA["required"]
    assert all(list(f) == SCHEMA["$defs"]["finding"]["required"] for f in content["findings"])


@pytest.mark.parametrize("name", ["example", *HOSTILE])
def test_it_conforms_to_the_schema_and_is_ascii(name: str) -> None:
    result = EXAMPLE if name == "example" else hostile(HOSTILE[name])
    check(findings_json(result), SCHEMA)
    text = findings_text(result)
    assert text.isascii()
    assert "\x1b" not in text


@pytest.mark.parametrize(
    "broken",
    [{"interval": [0.1]}, {"outcome": "good"}, {"estimate": "0.4"}, {"n": 1.5}, {"p": 1.2}, {"details": None}],
)
def test_the_schema_rejects_what_is_wrong(broken: dict[str, Any]) -> None:
    content = findings_json(EXAMPLE)
    content["findings"][0].update(broken)
    with pytest.raises(AssertionError, match="findings\\[0\\]"):
        check(content, SCHEMA)


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"estimate": float("nan")}, r"result\.findings\[0\]\.estimate is nan"),
        ({"interval": (0.1, float("inf"))}, r"result\.findings\[0\]\.interval\[1\] is inf"),
        ({"details": {"gap": {"x": np.float64("-inf")}}}, r"result\.findings\[0\]\.details\.gap\.x is -inf"),
        ({"details": {"all": np.array([1.0, np.nan])}}, r"details\.all\[1\] is nan"),
    ],
)
def test_what_is_not_finite_is_refused_with_its_place(fields: dict[str, Any], place: str) -> None:
    with pytest.raises(ValueError, match=place):
        findings_json(with_finding(**fields))


def test_what_json_cannot_hold_is_refused_with_its_place() -> None:
    with pytest.raises(TypeError, match=r"details\.path is a PosixPath"):
        findings_json(with_finding(details={"path": Path("/x")}))


def test_numpy_values_become_plain_ones_without_rounding() -> None:
    details = {"count": np.int64(3), "flag": np.bool_(True), "all": np.array([0.1, 0.2]), "name": np.str_("x"), 7: None}
    (found,) = findings_json(with_finding(estimate=np.float64(0.1) + np.float64(0.2), details=details))["findings"]
    assert found["estimate"] == 0.30000000000000004
    assert type(found["estimate"]) is float
    assert found["details"] == {"count": 3, "flag": True, "all": [0.1, 0.2], "name": "x", "7": None}
    assert type(found["details"]["flag"]) is bool


def test_a_finding_that_was_not_measured_keeps_its_reason() -> None:
    result = replace(EXAMPLE, findings=(Finding("stability.flip_rate", "Flips", None, reason="no repeats"),))
    (found,) = findings_json(result)["findings"]
    assert (found["estimate"], found["interval"], found["reason"]) == (None, None, "no repeats")
