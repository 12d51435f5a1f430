"""Three answers in rotation: does the judge name the same place again, whatever stands there?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from recuse import stats
from recuse.audits.measure import Measure, unmeasured
from recuse.counterfactual.plan import Lineup
from recuse.swap.asking import Key, Round
from recuse.types import Finding

ID, TITLE = "position.repetition", "Same place named again beyond what a judge blind to places would"


def ask(lineups: Sequence[Lineup], asked: Round) -> list[list[Key]]:
    return [asked.rotations(one.question, one.answers) for one in lineups]


def repetition(places: Sequence[Sequence[int | None]], *, level: float) -> Measure:
    """Repetition bias over items, each with k >= 3 answers shown in k rotations.

    places  by item and rotation: the place that was named, 0 the first; in rotation r, answer (place + r) mod k stands
            there. None: no verdict.

    For two rotations of an item, R says whether both verdicts name the same place and S whether both name the same
    answer; never both. A judge that does not look at places names, where it changes its mind, each of the other k - 1
    answers' places alike over the rotations, so that R has the mean (1 - S) / (k - 1). The estimate is the mean of
    R - (1 - S) / (k - 1), times (k - 1) / (k - 2): 0 for such a judge, however unsure it is, and 1 for one that names
    one place always. With two answers R is 1 - S whatever the judge does, which is why it takes three.

    An item counts if all its rotations have a verdict; otherwise it may be anything in the bounds. The p-value is a
    sign-flip test over items. Raises ValueError for items with fewer than three rotations.
    """
    if any(len(of) < 3 for of in places):
        raise ValueError("repetition takes at least three rotations of each item.")
    whole = [[p for p in of if p is not None] for of in places if None not in of]
    if not whole:
        return unmeasured(ID, TITLE, "no item has a verdict in every rotation")
    values = np.array([_item(of) for of in whole])
    # Least where another answer and another place are named each time.
    bounds = (-1.0 / (min(len(of) for of in places) - 2), 1.0)
    found = stats.clustered_mean(values, bounds=bounds, level=level)
    completed = [
        stats.clustered_mean(np.r_[values, np.full(len(places) - len(whole), end)], bounds=bounds, level=level).interval
        for end in bounds
    ]
    hull = [found.interval, *completed]
    flat = np.concatenate([np.array(of) for of in whole])
    k = max(len(of) for of in whole)
    details = {
        "share_by_place": [float((flat == place).mean()) for place in range(k)],
        "same_answer_always": float(np.mean([len(set(_answers(of))) == 1 for of in whole])),
        "same_place_always": float(np.mean([len(set(of)) == 1 for of in whole])),
        "without_verdict": len(places) - len(whole),
    }
    limits = [interval for interval in hull if interval is not None]
    return Measure(
        Finding(
            ID,
            TITLE,
            found.estimate,
            found.interval,
            len(whole),
            len(whole),
            stats.sign_flip_test(values).pvalue,
            found.method,
            bounds=(min(i[0] for i in limits), max(i[1] for i in limits)) if limits else None,
            details=details,
        )
    )


def _item(places: Sequence[int]) -> float:
    k, answers = len(places), _answers(places)
    pairs = [(r, s) for r in range(k) for s in range(r)]
    same_place = sum(places[r] == places[s] for r, s in pairs) / len(pairs)
    same_answer = sum(answers[r] == answers[s] for r, s in pairs) / len(pairs)
    return (same_place - (1 - same_answer) / (k - 1)) * (k - 1) / (k - 2)


def _answers(places: Sequence[int]) -> list[int]:
    return [(place + r) % len(places) for r, place in enumerate(places)]
