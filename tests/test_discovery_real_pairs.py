"""Discovery on published pairs, whose chosen answer always stands first in the source."""

from __future__ import annotations

from pathlib import Path

import pytest

from recuse.discovery.config import DiscoverConfig, plan_discovery
from recuse.discovery.run import run_discovery
from recuse.plan import AuditConfig

LIBRARY = """id = "tone"
name = "Friendly tone"
definition = "Prefers friendliness."
manifestations = ["warm words"]
inject = "Give the answer a friendlier tone."
family = "social"
status = "seed"
source = ["a paper"]
"""


@pytest.mark.data
@pytest.mark.parametrize("seed", [1, 3])
def test_a_judge_that_reacts_to_content_position_and_wording_but_has_no_bias_yields_none(
    data_dir: Path, tmp_path: Path, seed: int
) -> None:
    """Its verdicts follow quality, place and wording of the answers, by texts alone; a teacher that slips words of
    its own into a third of all rewrites, and an explainer that always has something to say, tempt the search."""
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "tone.toml").write_text(LIBRARY)
    judge = f"fake/skill=1.5,pair_sd=1,position=0.8,rewrite_sd=0.5,explain=0.8,seed={seed}"
    config = DiscoverConfig(
        AuditConfig(
            judge, str(data_dir / "biasscope/rewardbench_filtered.parquet"), limit=400, seed=seed, out=tmp_path / "out"
        ),
        f"fake/teacher=1,accuracy=0.8,carry=0.35,seed={seed}",
        library=tmp_path / "library", rounds=2, screen_groups=40,
    )  # fmt: skip
    plan = plan_discovery(config)
    try:
        result = run_discovery(plan)
    finally:
        plan.close()
    assert result.of("accepted") == ()
    assert sum(row["mistakes"] for row in result.rounds) > 0  # there was something to be tempted by
    spread = next(f for f in result.findings if f.id == "truth.broken")
    assert spread.n > 100
