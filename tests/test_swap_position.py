"""Position by difficulty: the place decides where the judge sees little between the answers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from recuse.audits import Table
from recuse.audits.position import position
from recuse.types import Judgement


def table(gaps, shift: float) -> Table:
    """A judge of log odds `gap` for the better answer, plus `shift` for the first one, without noise."""
    rows = []
    for i, gap in enumerate(gaps):
        for order, sign in (("AB", 1), ("BA", -1)):
            logit = gap + sign * shift
            rows.append(Judgement(f"p{i}", f"p{i}", order, "chosen" if logit > 0 else "rejected", logit=logit))
    return Table.build(rows)


def found(gaps, shift):
    return {m.finding.id: m.finding for m in position(table(gaps, shift), level=0.95)}


def test_thirds_are_by_the_judges_own_gap_and_counted_by_hand():
    """Gaps 0.1 to 0.9, shift 0.45: the place decides the four pairs with a smaller gap, all three close ones."""
    gaps = [0.9, -0.1, 0.5, 0.2, -0.7, 0.3, 0.6, 0.4, 0.8]
    by_id = found(gaps, 0.45)
    thirds = by_id["position.by_difficulty"].details["thirds"]
    assert [t["by_place"] for t in thirds] == pytest.approx([1.0, 1 / 3, 0.0])
    assert [t["gap"] for t in thirds] == pytest.approx([0.2, 0.5, 0.8])
    assert [t["first_rate"] for t in thirds] == pytest.approx([1.0, 0.5 + 1 / 6, 0.5])
    assert by_id["position.by_difficulty"].estimate == 1.0
    assert by_id["position.first_rate"].details["decided_by_place"] == pytest.approx(4 / 9)


def test_without_a_preference_for_places_difficulty_makes_no_difference():
    gaps = np.random.default_rng(0).normal(0.5, 1.0, 90)
    assert found(gaps, 0.0)["position.by_difficulty"].estimate == 0.0


def test_the_share_that_the_place_decides_is_that_of_gaps_under_the_shift():
    gaps = np.random.default_rng(1).logistic(0.0, 1.0, 300)
    by_id = found(gaps, 0.7)
    assert by_id["position.first_rate"].details["decided_by_place"] == pytest.approx((np.abs(gaps) < 0.7).mean())
    assert by_id["position.logit_shift"].estimate == pytest.approx(0.7)
    assert (np.abs(gaps) < 0.7).mean() == pytest.approx(2 / (1 + math.exp(-0.7)) - 1, abs=0.09)


def test_without_log_probabilities_difficulty_is_not_measured():
    rows = [Judgement(f"p{i}", f"p{i}", order, "chosen") for i in range(9) for order in ("AB", "BA")]
    by_id = {m.finding.id: m.finding for m in position(Table.build(rows), level=0.95)}
    assert "log-probabilities" in by_id["position.by_difficulty"].reason
