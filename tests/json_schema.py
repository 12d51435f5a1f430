"""Checks a value against a JSON schema of ours."""

from __future__ import annotations

from typing import Any

import numpy as np

TYPES: dict[str, Any] = {
    "object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "null": type(None),
}  # fmt: skip
KNOWN = {"$schema", "title", "description", "$defs", "$ref", "const", "enum", "type", "minimum", "maximum", "required",
         "properties", "items", "minItems", "maxItems"}  # fmt: skip


def check(value: Any, schema: dict[str, Any], where: str = "result", *, whole: dict[str, Any] | None = None) -> None:
    """The part of JSON Schema that our schema uses; an unknown keyword fails, so that none is passed over."""
    assert set(schema) <= KNOWN, where
    whole = whole or schema
    if "$ref" in schema:
        check(value, whole["$defs"][schema["$ref"].removeprefix("#/$defs/")], where, whole=whole)
    if "const" in schema:
        assert value == schema["const"], where
    if "enum" in schema:
        assert value in schema["enum"], where
    if "type" in schema:
        names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        assert isinstance(value, tuple(np.hstack([TYPES[n] for n in names]))), where
        assert not isinstance(value, bool), where
    if isinstance(value, int | float):
        assert schema.get("minimum", value) <= value <= schema.get("maximum", value), where
    if isinstance(value, dict):
        assert set(schema.get("required", [])) <= set(value), where
        for key, part in schema.get("properties", {}).items():
            if key in value:
                check(value[key], part, f"{where}.{key}", whole=whole)
    if isinstance(value, list):
        assert schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)), where
        for i, item in enumerate(value):
            check(item, schema.get("items", {}), f"{where}[{i}]", whole=whole)
