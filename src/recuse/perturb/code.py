"""Run the tests that come with a pair on the code of an answer, in a process with limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def run_tests(code: str, meta: Mapping[str, Any]) -> bool | None:
    """Whether `code` passes the tests in `meta`; None where there are none or they cannot be run."""
    return None
