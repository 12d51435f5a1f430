"""Published figures recomputed from recorded verdicts, by loops that share nothing with the audits."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest

from recuse.recorded import load_recorded
from recuse.types import Judgement

pytestmark = pytest.mark.data

_POINTS = {"chosen": 1, "rejected": -1, "tie": 0, None: 0}


def pooled(judgements: Sequence[Judgement]) -> float:
    """JudgeBench's rule: right +1, wrong -1, tie or missing 0; a pair is right if its sum is positive."""
    sums: Counter[str] = Counter()
    for j in judgements:
        sums[j.pair] += _POINTS[j.prefers]
    return sum(total > 0 for total in sums.values()) / len(sums)


def accuracy(judgements: Sequence[Judgement]) -> float:
    """Over all verdicts; a missing one is wrong."""
    return sum(j.prefers == "chosen" for j in judgements) / len(judgements)


def same(judgements: Sequence[Judgement], *, both_missing: bool = False) -> int:
    """Pairs with one outcome in both orders, ties included; with `both_missing`, also pairs with two missing ones."""
    pairs: dict[str, list[Judgement]] = defaultdict(list)
    for j in judgements:
        pairs[j.pair].append(j)
    count = 0
    for two in pairs.values():
        assert sorted(j.order for j in two) == ["AB", "BA"]
        count += two[0].prefers == two[1].prefers and (two[0].prefers is not None or both_missing)
    return count


@pytest.mark.parametrize("reading", ["reread", "recorded"])
@pytest.mark.parametrize(
    ("judge", "right", "consistent", "pairs"),
    [("o1-mini-2024-09-12", 0.6571, 0.686, 350), ("claude-3-haiku-20240307", 0.3222, 0.500, 270)],
)
def test_judgebench_judges(
    data_dir: Path, judge: str, right: float, consistent: float, pairs: int, reading: str
) -> None:
    path = data_dir / "judge_outputs" / "judgebench_arena_hard_verdicts.jsonl.gz"
    found = load_recorded(path, where={"judge": judge}, reading=reading)  # type: ignore[arg-type]
    assert pooled(found.judgements) == pytest.approx(right, abs=5e-5)
    # a tie in both orders counts as the same, a missing verdict does not; over all pairs
    assert same(found.judgements) / pairs == pytest.approx(consistent, abs=5e-4)
    assert found.contradict == 0  # where a decision was recorded, the text says the same


@pytest.mark.parametrize("reading", ["reread", "recorded"])
@pytest.mark.parametrize(
    ("judge", "right"),
    [
        ("Skywork/Skywork-Reward-Gemma-2-27B", 0.6429),
        ("internlm/internlm2-20b-reward", 0.6343),
        ("Skywork/Skywork-Reward-Llama-3.1-8B", 0.6229),
        ("internlm/internlm2-7b-reward", 0.5943),
        ("Ray2333/GRM-Gemma-2B-rewardmodel-ft", 0.5943),
    ],
)
def test_judgebench_reward_models(data_dir: Path, judge: str, right: float, reading: str) -> None:
    path = data_dir / "judge_outputs" / "judgebench_reward_model_scores.jsonl.gz"
    found = load_recorded(path, where=[f"judge_model={judge}"], reading=reading)  # type: ignore[arg-type]
    assert found.preset == "judgebench-scores"
    assert pooled(found.judgements) == pytest.approx(right, abs=5e-5)


@pytest.mark.parametrize("style", ["Vanilla", "CoT"])
@pytest.mark.parametrize("judge", ["GPT-4", "ChatGPT", "ChatGPT-0301", "LLaMA2", "PaLM2", "Falcon"])
def test_llmbar_statistics_as_published(data_dir: Path, judge: str, style: str) -> None:
    published = json.loads((data_dir / "llmbar" / "published_evaluator_statistics.json").read_text())
    path = data_dir / "judge_outputs" / "llmbar_vanilla_cot.jsonl.gz"
    found = load_recorded(path, where=[f"judge={judge}", f"style={style}"], reading="recorded")
    for subset in ("Natural", "Neighbor", "GPTInst", "GPTOut", "Manual"):
        judgements = [j for j in found.judgements if found.domains[j.pair] == subset]
        name = "LLMBar/Natural" if subset == "Natural" else f"LLMBar/Adversarial/{subset}"
        statistics = published[f"{name}|{judge}|{style}"]
        assert 100 * accuracy(judgements) == pytest.approx(float(statistics["correct_average"].rstrip("%")))
        # LLMBar counts two missing winners as equal (five pairs in all sixty runs)
        assert same(judgements, both_missing=True) == int(statistics["equal"].split("/")[0])


def test_llmbar_palm2_read_again_is_consistent_where_its_record_is_not(data_dir: Path) -> None:
    path = data_dir / "judge_outputs" / "llmbar_vanilla_cot.jsonl.gz"
    where = ["judge=PaLM2", "style=CoT"]
    again = load_recorded(path, where=where)
    taken = load_recorded(path, where=where, reading="recorded")
    assert again.rows == 838
    assert again.other == taken.judgements
    # 144 texts have one reading, and it is not the recorded one. Two more say both "Output (b) is better" and then
    # "Output (a) is better"; the last statement is read, the recount behind the figures kept the record there.
    both = [("GPTInst_3", "BA"), ("Natural_35", "BA")]
    settled = [
        old if (new.pair, new.order) in both else new
        for new, old in zip(again.judgements, taken.judgements, strict=True)
    ]
    contradicting = [
        (new.pair, new.order)
        for new, old in zip(again.judgements, taken.judgements, strict=True)
        if None not in (new.prefers, old.prefers) and new.prefers != old.prefers
    ]
    assert len(contradicting) == again.contradict == 146
    assert set(both) < set(contradicting)
    # the figures count the one pair without a verdict in either order as consistent
    assert same(taken.judgements, both_missing=True) / 419 == pytest.approx(0.461, abs=5e-4)
    assert same(settled, both_missing=True) / 419 == pytest.approx(0.685, abs=5e-4)
    assert (same(taken.judgements), same(again.judgements)) == (192, 284)
    natural = {pair for pair, subset in again.domains.items() if subset == "Natural"}
    assert accuracy([j for j in taken.judgements if j.pair in natural]) == pytest.approx(0.730)
    assert accuracy([j for j in settled if j.pair in natural]) == pytest.approx(0.805)


@pytest.mark.parametrize(("judge", "published"), [("pandalm", 0.6677), ("gpt35", 0.6977)])
def test_pandalm_agreement_with_the_majority(data_dir: Path, judge: str, published: float) -> None:
    path = data_dir / "pandalm" / "recorded_judgments_999.jsonl"
    found = load_recorded(path, where={"judge": judge})
    assert len(found.three_way) == 999
    assert sum(row.right for row in found.three_way) / 999 == pytest.approx(published, abs=5e-5)
    assert sum(row.missing for row in found.three_way) == (25 if judge == "gpt35" else 0)
    assert len(found.judgements) + len(found.without_gold) == 999


def test_amel_error_rows_are_transport_errors(data_dir: Path) -> None:
    path = data_dir / "judge_outputs" / "amel_llmbar_natural_swapped_repeats.jsonl.gz"
    reasons: Counter[str | None] = Counter()
    votes: Counter[str | None] = Counter()
    for regime in ("fresh", "batched"):
        found = load_recorded(path, where=["judge=claude-haiku-4-5", f"regime={regime}"])
        reasons += Counter(j.reason for j in found.judgements)
        assert found.other is not None
        votes += Counter(
            other.prefers
            for j, other in zip(found.judgements, found.other, strict=True)
            if j.reason == "transport_error"
        )
    assert reasons["transport_error"] == 668
    assert votes[None] == 0  # the record holds a vote for each of them


@pytest.mark.parametrize(
    ("judge", "rows", "read"),
    [
        ("weighted_alpaca_eval_gpt4_turbo", 320, 320),
        ("alpaca_eval_gpt4", 378, 359),
        ("alpaca_eval_gpt4_turbo_fn", 102, 100),
        ("alpaca_eval_cot_gpt4_turbo_fn", 364, 360),
    ],
)
def test_alpaca_eval_replies_are_read_as_the_preference_says(data_dir: Path, judge: str, rows: int, read: int) -> None:
    path = data_dir / "judge_outputs" / "alpaca_eval_raw_annotations.jsonl.gz"
    found = load_recorded(path, where={"annotator": judge})
    assert found.rows == rows
    assert sum(j.prefers is not None for j in found.judgements) == read
    # one row of the last annotator names m first while its preference and its table of names say the other
    assert found.contradict == (judge == "alpaca_eval_cot_gpt4_turbo_fn")


def test_mt_bench_pairs_are_read_as_recorded(data_dir: Path) -> None:
    found = load_recorded(data_dir / "judge_outputs" / "mtbench_gpt4_judgments.jsonl")
    assert (found.preset, found.rows, found.differ, found.gold) == ("mt-bench", 150, 0, False)
    assert Counter(j.reason for j in found.judgements) == {None: 147, "transport_error": 3}
    assert Counter(j.prefers for j in found.judgements) == {"rejected": 62, "chosen": 60, "tie": 25, None: 3}
