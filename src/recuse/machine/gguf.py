"""The header of a GGUF file: what the model is, and its tensors, without reading the weights.

The form is that of ggml's `docs/gguf.md`, versions 2 and 3, little-endian.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from recuse.errors import InputError

_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_LONGEST = 1 << 20  # bytes of a name or a text, items of a list that is kept


@dataclass(frozen=True)
class Header:
    """`values`: the metadata by name; a list longer than a model has layers (its vocabulary) is left out."""

    values: dict[str, Any]
    parameters: int
    weight_bytes: int  # of this file


def read_header(path: Path) -> Header:
    """Raises InputError for a file that is no GGUF of a known version, or that ends within its header."""
    try:
        with path.open("rb") as file:
            return _read(file, path)
    except (struct.error, UnicodeDecodeError, ValueError, KeyError):
        raise InputError("its GGUF header is damaged", path=path, hint="Download it again.") from None


def _read(file: BinaryIO, path: Path) -> Header:
    if file.read(4) != b"GGUF":
        raise InputError("not a GGUF file", path=path, hint="Use hf/… for a folder in the form of transformers.")
    if (version := _number(file, "I")) not in (2, 3):
        raise InputError(f"GGUF version {version}, and 2 and 3 can be read", path=path)
    tensors, count = _number(file, "Q"), _number(file, "Q")
    values = {}
    for _ in range(count):
        name = _text(file)
        values[name] = _value(file, _number(file, "I"))
    parameters = 0
    for _ in range(tensors):
        _text(file)
        shape = [_number(file, "Q") for _ in range(_number(file, "I"))]
        parameters += math.prod(shape)
        _number(file, "I"), _number(file, "Q")  # its type, and where it begins
    start = -(-file.tell() // int(values.get("general.alignment", 32))) * int(values.get("general.alignment", 32))
    return Header({k: v for k, v in values.items() if v is not None}, parameters, path.stat().st_size - start)


def _value(file: BinaryIO, kind: int) -> Any:
    """A value of the metadata; None for a long list, which is passed over."""
    if kind == _STRING:
        return _text(file)
    if kind != _ARRAY:
        return _number(file, _NUMBERS[kind])
    kind, count = _number(file, "I"), _number(file, "Q")
    if kind in (_STRING, _ARRAY):
        for _ in range(count):
            _value(file, kind)
        return None
    size = struct.calcsize("<" + _NUMBERS[kind])
    if count * size > _LONGEST:
        file.seek(count * size, 1)
        return None
    return list(struct.unpack(f"<{count}{_NUMBERS[kind]}", file.read(count * size)))


def _number(file: BinaryIO, form: str) -> Any:
    return struct.unpack("<" + form, file.read(struct.calcsize("<" + form)))[0]


def _text(file: BinaryIO) -> str:
    length = _number(file, "Q")
    if length > _LONGEST:
        raise ValueError("longer than any name")
    content = file.read(length)
    if len(content) < length:
        raise ValueError("the file ends within a text")
    return content.decode("utf-8", "replace")
