"""On LLMBar's recorded verdicts the reader's fault and the preference for a place come apart, with known numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from explain_world import recuse

pytestmark = pytest.mark.data


def explained(data_dir: Path, out: Path, judge: str, *more: object) -> Any:
    done = recuse(
        "explain", *more, "--verdicts", data_dir / "judge_outputs" / "llmbar_vanilla_cot.jsonl.gz", "--where",
        f"judge={judge}", "--where", "style=CoT", "--out", out, "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    return done.json


def test_palm2s_reader_is_told_from_its_preference_for_a_place(data_dir: Path, tmp_path: Path) -> None:
    said = explained(data_dir, tmp_path / "out", "PaLM2")
    found = {f["id"]: f for f in said["findings"]}
    # 144 contradictions of the recount and two replies that name both outputs (see test_recorded_known)
    assert (said["reader"]["verdicts"], said["reader"]["contradicting"]) == (838, 146)
    assert found["explain.consistency.recorded"]["estimate"] == pytest.approx(0.461, abs=5e-4)
    assert found["explain.consistency.read"]["estimate"] == pytest.approx(0.685, abs=2.5 / 419)  # by those two
    moved = {(row["recorded"], row["read"]): row["pairs"] for row in said["reader"]["table"]}
    as_recorded = sum(n for (old, _), n in moved.items() if old == "position")
    as_read = sum(n for (_, new), n in moved.items() if new == "position")
    assert (as_recorded, as_read, moved["position", "position"]) == (222, 130, 121)
    # what remains is a preference of the judge's own for the first place, a third as strong as it looked
    assert found["explain.first.recorded"]["estimate"] == pytest.approx(0.756, abs=5e-4)
    assert found["explain.first.read"]["interval"][0] > 0.55
    assert found["explain.first.read"]["interval"][1] < found["explain.first.recorded"]["interval"][0]
    assert found["explain.disagreement.by_reader"]["interval"][0] > 0.1
    assert [c["id"] for c in said["recommendation"]["confirmed"]] == ["position"]


def test_a_judge_without_a_reader_fault_is_left_as_it_is(data_dir: Path, tmp_path: Path) -> None:
    said = explained(data_dir, tmp_path / "out", "GPT-4")
    assert said["reader"]["contradicting"] <= 2
    assert said["counts"]["agrees"] > 300


def test_a_failed_request_that_was_read_as_a_vote_is_the_readers_fault(data_dir: Path, tmp_path: Path) -> None:
    """AMEL: the record has a vote for each of the 668 rows whose text is an HTTP error; 132 are as recorded."""
    done = recuse(
        "explain", "--verdicts", data_dir / "judge_outputs" / "amel_llmbar_natural_swapped_repeats.jsonl.gz",
        "--where", "judge=claude-haiku-4-5", "--where", "regime=batched", "--out", tmp_path / "out", "--json",
    )  # fmt: skip
    reader = done.json["reader"]
    assert (reader["verdicts"], reader["contradicting"], reader["one_sided"]) == (800, 0, 668)
    assert "in 668 more only one of the two names any" in reader["line"]


def test_chatgpt_goes_by_length_beside_every_other_feature(data_dir: Path, tmp_path: Path) -> None:
    """LLMBar's wrong answers are the longer ones by design, and weak judges are known to fall for them."""
    said = explained(data_dir, tmp_path / "out", "ChatGPT", data_dir / "llmbar" / "llmbar_419.jsonl")
    found = {f["id"]: f for f in said["findings"]}
    length = found["explain.feature.length"]
    assert length["details"]["found"]
    assert length["interval"][0] > 0.4
    assert length["details"]["people_more"] < 0.4
    assert not found["explain.feature.coverage"]["details"]["found"]
    assert "length" not in str(said["recommendation"]["confirmed"])  # it goes with errors; nothing proves it
