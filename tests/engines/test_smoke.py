"""`recuse doctor --smoke` on real weights: an engine that works is said to answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from recuse.backends import Options
from recuse.doctor.smoke import LOCAL_CALLS, smoke

pytestmark = pytest.mark.engine


def check_answer(name: str) -> None:
    row = smoke(name, Options(max_context=1024))
    assert (row["state"], row["calls"]) == ("answered", 1 + LOCAL_CALLS), row["said"]
    assert row["said"] in ("A", "B")
    assert row["start"] > 0
    assert row["call"] > 0


def test_llama_cpp_answers(smollm2: Path) -> None:
    pytest.importorskip("xllamacpp", reason="needs xllamacpp: pip install 'recuse[llamacpp]'")
    check_answer("llamacpp/smollm2")


def test_transformers_answers(smollm2_folder: Path) -> None:
    pytest.importorskip("transformers", reason="needs transformers: pip install 'recuse[hf]'")
    check_answer(f"hf/{smollm2_folder}")
