"""How often the judge says something else of the same text: a tenth of the placebo asks, asked again at the end.

On a real engine batches change numbers in the last digits and with them a verdict now and then; a provider may change
the model under one's hands. Both belong to the noise that every effect stands in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from recuse import stats
from recuse.asks import make_asks
from recuse.discovery.deal import rank
from recuse.judgements import judgements
from recuse.lab.bench import Bench, Lab
from recuse.perturb.arms import variants
from recuse.types import Finding, Judgement

ID, TITLE = "noise.floor", "Verdicts on the placebo that differ when asked again"
SHARE = 10  # one in so many


Twice = tuple[Judgement, Judgement]


def ask_again(lab: Lab, bench: Bench, *, seed: int) -> list[Twice]:
    """What the judge said of the same texts, first and again."""
    judged = {(j.pair, j.order): j for j in bench.judged.get("placebo", ())}
    shown = sorted(variants(bench.pairs, bench.rewrites.get("placebo", {})), key=lambda pair: rank(seed, pair.id))
    again = shown[: max(1, len(shown) // SHARE)]
    asks = [replace(ask, repeat=1) for ask in make_asks(again, replace(lab.design, repeats=1), arm="placebo")]
    spec = lab.design.prompt.spec if lab.design.prompt else None
    groups = {pair.id: pair.group for pair in bench.pairs}
    answered = lab.engines.ask("judge", asks, phase=f"{bench.name}: judging a tenth again")
    return [(judged[j.pair, j.order], j) for j in judgements(answered, spec, groups) if (j.pair, j.order) in judged]


def noise_finding(both: Sequence[Twice]) -> Finding:
    """The share of repeated verdicts that are not the first ones, by group, with the change of log odds beside it."""
    if not both:
        return Finding(ID, TITLE, None, reason="nothing was judged twice")
    found = stats.clustered_mean([float(a.prefers != b.prefers) for a, b in both], groups=[a.group for a, _ in both])
    return Finding(
        ID, TITLE, found.estimate, found.interval, found.n, found.groups, method=found.method,
        details={"unit": "verdicts", "largest_change_of_log_odds": _largest(both)},
    )  # fmt: skip


def _largest(both: Sequence[Twice]) -> float | None:
    changes = [abs(a.logit - b.logit) for a, b in both if a.logit is not None and b.logit is not None]
    return max(changes, default=None)
