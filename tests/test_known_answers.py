"""Published figures come out of `recuse audit --verdicts`, from the recorded verdicts that they were computed from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from recuse.cli import run

pytestmark = pytest.mark.data
OUTPUTS = "judge_outputs"


@pytest.fixture
def audited(data_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
    def call(file: str, *options: str) -> dict[str, dict[str, Any]]:
        where = [word for option in options for word in (("--where", option) if "=" in option else (option,))]
        code = run(["audit", "--verdicts", str(data_dir / file), *where, "--out", str(tmp_path / "run"), "--json"])
        assert code in (0, 1, 3)
        return {f["id"]: f for f in json.loads(capsys.readouterr().out)["findings"]}

    return call


@pytest.mark.parametrize(
    ("judge", "pooled", "consistency"),
    [("o1-mini-2024-09-12", 0.6571, 0.686), ("claude-3-haiku-20240307", 0.3222, 0.500)],
)
def test_judgebench_by_its_own_rule(audited: Any, judge: str, pooled: float, consistency: float) -> None:
    found = audited(f"{OUTPUTS}/judgebench_arena_hard_verdicts.jsonl.gz", f"judge_model={judge}", "--recorded")
    assert found["accuracy.pooled"]["estimate"] == pytest.approx(pooled, abs=5e-5)
    assert found["position.consistency"]["estimate"] == pytest.approx(consistency, abs=5e-4)


@pytest.mark.parametrize(
    ("model", "pooled"),
    [
        ("Skywork/Skywork-Reward-Gemma-2-27B", 0.6429),
        ("internlm/internlm2-20b-reward", 0.6343),
        ("Skywork/Skywork-Reward-Llama-3.1-8B", 0.6229),
        ("internlm/internlm2-7b-reward", 0.5943),
        ("Ray2333/GRM-Gemma-2B-rewardmodel-ft", 0.5943),
    ],
)
def test_judgebench_reward_models(audited: Any, model: str, pooled: float) -> None:
    found = audited(f"{OUTPUTS}/judgebench_reward_model_scores.jsonl.gz", f"judge_model={model}", "--recorded")
    assert found["accuracy.pooled"]["estimate"] == pytest.approx(pooled, abs=5e-5)


@pytest.mark.parametrize(
    ("judge", "style", "subset", "average", "equal"),
    [
        ("GPT-4", "Vanilla", "Natural", 0.955, 0.95),
        ("LLaMA2", "CoT", "Neighbor", 0.3694, 0.6716),
        ("PaLM2", "CoT", "Neighbor", 0.5149, 0.4925),
    ],
)
def test_llmbar(audited: Any, judge: str, style: str, subset: str, average: float, equal: float) -> None:
    options = (f"judge={judge}", f"style={style}", f"subset={subset}", "--recorded")
    found = audited(f"{OUTPUTS}/llmbar_vanilla_cot.jsonl.gz", *options)
    assert found["accuracy.average"]["estimate"] == pytest.approx(average, abs=5e-5)
    assert found["position.consistency"]["estimate"] == pytest.approx(equal, abs=5e-4)


def test_a_parser_fault_that_posed_as_position_bias_shows_beside_the_reading_of_the_text(audited: Any) -> None:
    found = audited(f"{OUTPUTS}/llmbar_vanilla_cot.jsonl.gz", "judge=PaLM2", "style=CoT")
    consistency = found["position.consistency"]
    # Published 0.461 and, read again, 0.685; a pair that never answered counts as equal there and not here, and two
    # texts that name both answers as better are read by their last sentence here.
    assert consistency["details"]["other_reading"]["estimate"] == pytest.approx(0.461, abs=0.003)
    assert consistency["estimate"] == pytest.approx(0.685, abs=0.008)


def test_error_messages_are_transport_errors_and_no_votes(audited: Any) -> None:
    options = ("judge=claude-haiku-4-5", "regime=batched")
    found = audited(f"{OUTPUTS}/amel_llmbar_natural_swapped_repeats.jsonl.gz", *options)
    assert found["failures.rate"]["details"]["reasons"] == {"transport_error": 668}


@pytest.mark.parametrize(("judge", "accuracy"), [("pandalm", 0.6677), ("gpt35", 0.6977)])
def test_pandalm_against_the_majority_of_three_people(audited: Any, judge: str, accuracy: float) -> None:
    found = audited("pandalm/recorded_judgments_999.jsonl", f"judge={judge}")
    assert found["accuracy.three_way"]["estimate"] == pytest.approx(accuracy, abs=5e-5)
    assert found["position.consistency"]["reason"] == "no pair was asked in both orders"
