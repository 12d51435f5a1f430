"""TRL itself prepares a preference set and trains on it: `experiments/export/trl_check.py` on a set made here."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from recuse.export.preference_plan import PreferenceConfig
from recuse.export.preferences import preferences

SCRIPT = Path(__file__).parents[2] / "experiments/export/trl_check.py"


@pytest.mark.engine
@pytest.mark.skipif(importlib.util.find_spec("trl") is None, reason="needs TRL: pip install 'trl>=1.16,<2'")
def test_dpo_takes_every_row_of_both_forms_with_its_own_words_and_trains(tmp_path: Path) -> None:
    preferences(PreferenceConfig("demo", tmp_path / "set", biases=("authority", "emoji", "certainty")))
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(tmp_path / "set")], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    said = json.loads(done.stdout.strip().split("\n")[-1])
    for form in ("conversational", "standard"):
        assert (said[form]["rows"], said[form]["prepared"], said[form]["same_text"]) == (108, 108, 108)
        assert (said[form]["test_prepared"], said[form]["steps"]) == (12, 3)
    assert (said["conversational"]["conversational"], said["standard"]["conversational"]) == (True, False)
    assert "not a prefix" not in done.stdout + done.stderr  # TRL's warning where tokens merge over the boundary
