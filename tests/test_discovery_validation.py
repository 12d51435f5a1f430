"""What validation counts, and how a stream of candidates over blocks is decided and summed up."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from garden import BIAS, good, lab, pairs
from instrument import Judge, simulate

from recuse.discovery.merge import Candidate
from recuse.discovery.online import Stream
from recuse.discovery.validate import Validated, validate
from recuse.effects.accept import UNCHECKED, Decision
from recuse.effects.contrast import core
from recuse.lab.bench import Bench, Lab
from recuse.lab.truth import Slip
from recuse.types import Reply

SPLENDID = Candidate(BIAS, 1, ("splendid words",), ("case",))
DULL = Candidate(BIAS.model_copy(update={"id": "dull", "inject": "Be dull."}), 1, ("dull words",), ("case",))


def plan(*, racing: bool = True) -> Any:
    config = SimpleNamespace(shams=5, fdr=0.05, min_effect=0.05, racing=racing, judge=SimpleNamespace(seed=0))
    return SimpleNamespace(config=config)


def declining(own: Lab, *ids: str) -> Lab:
    """The same lab, whose teacher declines to write the candidates' versions of these pairs."""
    ask = own.engines.ask

    def answered(role: Any, asks: Any, *, phase: str) -> Any:
        for a in ask(role, asks, phase=phase):
            no = role == "teacher" and a.ask.arm.startswith("bias:") and a.ask.pair in ids
            yield type(a)(a.ask, Reply("key", "", finish="refusal"), a.fresh) if no else a

    own.engines.ask = lambda role, asks, phase: list(answered(role, asks, phase=phase))  # type: ignore[method-assign]
    return own


@pytest.mark.parametrize(("prompt", "each"), [("pairwise/label", 2), ("pointwise/score", 1)])
def test_without_a_stop_as_many_judgements_are_made_as_the_fixed_design_has_whatever_failed(
    prompt: str, each: int
) -> None:
    # Two orders are two judgements; two answers scored one at a time are two calls, and one judgement.
    bench = Bench("validation", pairs(12))
    found = validate(plan(), declining(lab(good, prompt=prompt), "p0-0", "p1-0", "p2-0"), bench, [SPLENDID])
    assert (found.calls, found.fixed, found.shared) == (each * 9, each * 9, each * 12 * (1 + 2 + 5))


def test_a_candidate_that_stopped_is_counted_as_if_its_rewrites_went_on_as_before() -> None:
    bench = Bench("validation", pairs(200))
    found = validate(plan(), declining(lab(good), *(p.id for p in bench.pairs if p.group.endswith("0"))), bench, [DULL])
    dealt, judged = len(bench.rewrites["bias:dull"]), len(bench.judged["bias:dull"])
    assert set(found.stopped) == {"bias:dull"}
    assert dealt < 200
    assert found.calls == judged
    assert found.fixed == round(judged * 200 / dealt)
    assert found.fixed == pytest.approx(2 * 180, rel=0.1)


def settled(status: str, reasons: tuple[str, ...], excess: float | None) -> Decision:
    """What a stream makes of a candidate with a clear effect that validation decided on like this."""
    scores = simulate(Judge(), [0.3], np.random.default_rng(0), shams=5)
    effect = core(scores, "bias:0")
    decision = Decision("bias:0", effect, status, reasons, 1e-9, 1e-9, None, 1e-9, 0.2, 0.5)  # type: ignore[arg-type]
    fields: dict[str, Any] = dict.fromkeys(Validated.__dataclass_fields__)
    slips = {"bias:0": Slip(300, 300, 0, excess)}
    found = Validated(**{**fields, "decisions": (decision,), "stopped": {}, "slips": slips, "scores": scores})
    stream = Stream(plan(), None, [Bench("validation 1", ())])  # type: ignore[arg-type]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("recuse.discovery.online.validate", lambda *_: found)
        stream.decide([SPLENDID])
    return stream.decisions[BIAS.id]


LATE = "not significant over all candidates (q = 0.2, by sign flips)"


@pytest.mark.parametrize(
    ("status", "reasons", "excess", "after"),
    [
        ("accepted", (), 0.0, ("accepted", ())),
        ("rejected", (LATE,), 0.0, ("accepted", ())),
        ("rejected", (LATE,), None, ("candidate", (UNCHECKED,))),
        ("candidate", (UNCHECKED,), None, ("candidate", (UNCHECKED,))),
        ("rejected", (LATE, "effect 0.04 under the screen"), None, ("rejected", ("effect 0.04 under the screen",))),
    ],
)
def test_a_stream_replaces_the_correction_and_nothing_else(
    status: str, reasons: tuple[str, ...], excess: float | None, after: tuple[str, tuple[str, ...]]
) -> None:
    decided = settled(status, reasons, excess)
    assert (decided.status, decided.reasons) == after


def test_a_stream_sums_up_the_shams_and_the_noise_of_all_its_blocks() -> None:
    every = pairs(40)
    blocks = [Bench("validation 1", every[:20]), Bench("validation 2", every[20:])]
    stream = Stream(plan(), lab(good), blocks)
    assert stream.summary() is None
    stream.decide([SPLENDID])
    stream.decide([DULL])
    found = stream.summary()
    assert found is not None
    assert [effect.groups for effect in found.shams] == [40] * 5
    assert found.second_placebo.groups == 40
    assert found.noise.n == 2 * (20 // 10) * 2
    assert set(found.slips) == {"bias:splendour", "bias:dull"}
    assert found.shared == sum(test.shared for test in stream.tests) == 2 * 40 * 8
    assert [d.effect.groups for d in found.decisions] == [20, 20]
    one = Bench("validation", every)
    at_once = validate(plan(), lab(good), one, [SPLENDID])
    assert [effect.estimate for effect in found.shams] == [effect.estimate for effect in at_once.shams]
