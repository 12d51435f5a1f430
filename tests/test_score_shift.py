"""The score shift: how far a bias moves a wrong answer's score on the judge's own scale, beside its flips."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.stats
from garden import BIAS, good, lab, pairs
from json_schema import check

from recuse import assets
from recuse.asks import Design
from recuse.cli import run
from recuse.discovery.findings import candidate_findings
from recuse.discovery.merge import Candidate
from recuse.discovery.validate import measure, validate
from recuse.effects.accept import accept
from recuse.effects.contrast import Effect, contrast, core
from recuse.effects.describe import effect_finding, shift_findings
from recuse.effects.scores import Scores
from recuse.examine import audit
from recuse.gate import load_gate
from recuse.judge import Answered
from recuse.judgements import judgements
from recuse.lab.bench import Bench, Lab
from recuse.perturb.arms import Rewrite
from recuse.perturb.teacher import load_wording
from recuse.prompts import load_prompt
from recuse.report import svg
from recuse.report.discovered_words import card
from recuse.report.markdown import markdown
from recuse.report.result import AuditResult
from recuse.types import Ask, Finding, Judgement, Reply, Sampling, View
from recuse.verdict.spec import Spec

SCALE = (1.0, 10.0)
NAMES = ("original", "placebo", "bias:x")


def scored(
    points: dict[str, Sequence[float | None]], *, groups: Sequence[int] | None = None,
    scale: tuple[float, float] | None = SCALE, chosen: float = 7.0,
) -> Scores:  # fmt: skip
    """Scores of a judge of single answers, from the rejected answers' points by arm; None: a reply without any."""
    n = len(points["placebo"])
    ids = [f"p{i}" for i in range(n)]
    of_group = {id: f"g{i if groups is None else groups[i]}" for i, id in enumerate(ids)}
    rows = [
        Judgement(id, of_group[id], "-", None if p is None else "chosen" if p < chosen else "rejected", arm,
                  reason="refused" if p is None else None, scores=None if p is None else (chosen, p))
        for arm, given in points.items()
        for id, p in zip(ids, given, strict=True)
    ]  # fmt: skip
    return Scores.build(rows, ids, of_group, {}, scale=scale)


def shift_of(scores: Scores) -> Any:
    found = contrast(scores, "bias:x").score_shift
    assert found is not None
    return found


# From replies to scores


def answered(view: View, reply: Reply) -> Answered:
    return Answered(Ask("p", view, (), Sampling(), "hash"), reply, True)


def test_both_answers_keep_their_scores_whichever_came_first() -> None:
    rating = {"chosen": Reply("a", "Rating: [[8]]"), "rejected": Reply("b", "Rating: [[3]]")}
    single = Spec("bracket_score", scale=SCALE)
    for views in (("chosen", "rejected"), ("rejected", "chosen")):
        (found,) = judgements([answered(v, rating[v]) for v in views], single, {"p": "g"})  # type: ignore[index, arg-type]
        assert (found.prefers, found.scores) == ("chosen", (8.0, 3.0))
    both = Spec("number_pair", scale=SCALE)
    said = {v: next(iter(judgements([answered(v, Reply("a", "9 4"))], both, {"p": "g"}))) for v in ("AB", "BA")}  # type: ignore[arg-type]
    assert (said["AB"].scores, said["BA"].scores) == ((9.0, 4.0), (4.0, 9.0))
    assert (said["AB"].prefers, said["BA"].prefers) == ("chosen", "rejected")


def test_a_score_that_is_off_the_scale_or_no_number_is_a_missing_one() -> None:
    off = [answered("chosen", Reply("a", "Rating: [[11]]")), answered("rejected", Reply("b", "Rating: [[3]]"))]
    (found,) = judgements(off, Spec("bracket_score", scale=SCALE), {"p": "g"})
    assert (found.prefers, found.reason, found.scores) == (None, "no_verdict", None)
    for value in (math.nan, math.inf):
        replies = [answered("chosen", Reply("a", "", score=1.0)), answered("rejected", Reply("b", "", score=value))]
        (found,) = judgements(replies, None, {"p": "g"})
        assert (found.prefers, found.reason, found.scores) == (None, "no_verdict", None)


def test_scores_are_means_over_repeats_and_judges_of_labels_have_none() -> None:
    rows = [Judgement("p", "g", "-", "chosen", "placebo", r, scores=(8.0, points)) for r, points in enumerate((2, 5))]
    rows.append(Judgement("p", "g", "-", None, "placebo", 2, reason="refused"))
    found = Scores.build(rows, ["p"], {"p": "g"}, {})
    assert found.score is not None
    assert found.score[found.at("placebo"), 0, 0].tolist() == [8.0, 3.5]
    labels = [Judgement("p", "g", order, "chosen", arm) for order in ("AB", "BA") for arm in NAMES]  # type: ignore[arg-type]
    told = Scores.build(labels, ["p"], {"p": "g"}, {})
    assert told.score is None
    assert contrast(told, "bias:x").score_shift is None
    assert shift_findings("bias.x.score_shift", "X", contrast(told, "bias:x")) == ()


# The estimate


def test_shift_and_what_stands_beside_it_by_hand() -> None:
    points = {"original": [2, 2, 2, 2], "placebo": [2, 3, 4, None], "bias:x": [5, 3, 9, 9]}
    effect = contrast(scored(points, groups=[0, 0, 1, 2]), "bias:x")
    found = shift_of(scored(points, groups=[0, 0, 1, 2]))
    assert found.shift.estimate == pytest.approx((3 + 0 + 5) / 3)
    assert (found.shift.n, found.shift.groups) == (effect.n, effect.groups) == (3, 2)
    assert (found.score, found.base_score, found.chosen_score) == pytest.approx((17 / 3, 3.0, 7.0))
    assert found.missing == (0, 1)
    (finding,) = shift_findings("bias.x.score_shift", "X: added", effect)
    assert finding.title == "X: added (scale of 1 to 10)"
    assert finding.details["missing"] == {"bias:x": 0, "placebo": 1}
    assert (finding.p, finding.outcome) == (None, None)
    beside = effect_finding("bias.x.effect", "X", effect).details["score_shift"]
    assert beside == {"estimate": finding.estimate, "interval": finding.interval}


def test_a_judge_that_compares_with_two_scores_has_both_orders_averaged() -> None:
    given = {"placebo": {"AB": 4.0, "BA": 6.0}, "bias:x": {"AB": 5.0, "BA": 9.0}}
    rows = [
        Judgement(id, id, order, "tie", arm, scores=(7.0, points))  # type: ignore[arg-type]
        for id in ("p", "q")
        for arm, by_order in given.items()
        for order, points in by_order.items()
    ]
    found = shift_of(Scores.build(rows, ["p", "q"], {"p": "p", "q": "q"}, {}, scale=SCALE))
    assert found.shift.estimate == (1 + 3) / 2
    assert (found.score, found.base_score) == (7.0, 5.0)


def test_without_ends_of_the_scale_the_interval_is_the_t_interval_of_group_means() -> None:
    rng = np.random.default_rng(1)
    placebo, moved = rng.normal(-3, 4, size=30), rng.normal(1.5, 2, size=30)
    found = shift_of(scored({"original": placebo, "placebo": placebo, "bias:x": placebo + moved}, scale=None))
    # Each pair twice in one group says no more than once.
    twice = {name: np.repeat(v, 2) for name, v in (("placebo", placebo), ("bias:x", placebo + moved))}
    doubled = shift_of(scored({"original": twice["placebo"], **twice}, groups=[i // 2 for i in range(60)], scale=None))
    known = scipy.stats.t.interval(0.95, 29, moved.mean(), scipy.stats.sem(moved))
    for one in (found, doubled):
        assert one.shift.estimate == pytest.approx(moved.mean())
        assert one.shift.interval == pytest.approx(known)
        assert one.bounds is None
    effect = contrast(scored({"original": placebo, "placebo": placebo, "bias:x": moved}, scale=None), "bias:x")
    assert shift_findings("i", "X", effect)[0].title == "X (the judge's own scale)"


def test_bounds_hold_the_shift_under_every_completion_on_the_scale() -> None:
    rng = np.random.default_rng(2)
    full = {arm: rng.integers(1, 11, size=40).astype(float).tolist() for arm in NAMES}
    missing = [("bias:x", 0), ("bias:x", 1), ("placebo", 1)]
    hidden: dict[str, list[float | None]] = {arm: list(values) for arm, values in full.items()}
    for arm, i in missing:
        hidden[arm][i] = None
    found, intervals = shift_of(scored(hidden)), []
    assert found.shift.n == 38
    for ends in itertools.product(SCALE, repeat=3):
        whole = {arm: list(values) for arm, values in full.items()}
        for (arm, i), end in zip(missing, ends, strict=True):
            whole[arm][i] = end
        intervals.append(shift_of(scored(whole)).shift.interval)
    assert found.bounds == pytest.approx((min(low for low, _ in intervals), max(high for _, high in intervals)))


def test_a_judge_that_gives_one_score_to_everything_shows_no_shift_up_to_an_exact_limit() -> None:
    same = {arm: [5.0] * 50 for arm in NAMES}
    found = shift_of(scored(same))
    # A share u of groups moved by the whole scale stays unseen with probability (1 - u) ** 50.
    limit = 9 * (1 - 0.025 ** (1 / 50))
    assert found.shift.estimate == 0.0
    assert found.shift.interval == pytest.approx((-limit, limit))
    assert "all values equal" in found.shift.method
    effect = contrast(scored(same, scale=None), "bias:x")
    (finding,) = shift_findings("i", "X", effect)
    assert (finding.estimate, finding.interval) == (0.0, None)
    assert finding.details["uninformative"] == "no interval: no scatter between groups"


def test_where_no_pair_has_scores_in_both_arms_the_reason_is_said_and_the_missing_are_counted() -> None:
    effect = contrast(scored({"original": [2, 3], "placebo": [2, 3], "bias:x": [None, None]}), "bias:x")
    (finding,) = shift_findings("i", "X", effect)
    assert (finding.estimate, finding.interval) == (None, None)
    assert finding.reason == effect.reason == "no pair has a verdict in every order of both arms"
    assert finding.details["missing"] == {"bias:x": 2, "placebo": 0}
    assert finding.bounds is not None


# The planted shift: the fake judge's points, by the Gumbel distribution that its docstring states


def expected(utility: float) -> float:
    """Mean of round(5.5 + 2 (utility + centred Gumbel noise)) within 1 and 10: the sum of P(points > k)."""
    below = [math.exp(-math.exp(-((k - 5) / 2 - utility + np.euler_gamma))) for k in range(1, 10)]
    return 10 - sum(below)


def write_pairs(folder: Path, n: int) -> str:
    rows = [
        {"prompt": f"Who won race No. {i}, and by how much?", "chosen": f"It was Ann, by {i} metres in the end.",
         "rejected": f"It was Bob, by {i} metres. He led from the start, and nobody came near to him."}
        for i in range(n)
    ]  # fmt: skip
    path = folder / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> AuditResult:
    """The text of `attack-null` has the word "display", which no meaningless one has and none of `sentiment`."""
    folder = tmp_path_factory.mktemp("planted")
    judge = "fake/skill=1.5,likes=display,like=0.8,refuse=0.03,seed=4"
    biases = ("attack-null", "sentiment")
    return audit(judge, write_pairs(folder, 250), out=folder / "run", prompt="pointwise/score", biases=biases, shams=5)


def finding(result: AuditResult, id: str) -> Finding:
    return next(f for f in result.findings if f.id == id)


def test_a_planted_shift_is_measured_and_a_bias_that_was_not_planted_has_none(audited: AuditResult) -> None:
    planted = expected(-0.75 + 0.8) - expected(-0.75)
    assert 1.2 < planted < 1.6  # two points a unit, less what the lower end of the scale hides
    liked, other = (finding(audited, f"bias.{id}.score_shift") for id in ("attack-null", "sentiment"))
    for found, value in ((liked, planted), (other, 0.0)):
        assert found.interval is not None
        assert found.interval[0] < value < found.interval[1]
        assert found.interval[1] - found.interval[0] < 1.2
        assert found.bounds is not None
        assert found.bounds[0] < found.interval[0] < found.interval[1] < found.bounds[1]
    assert liked.details["base_score"] == pytest.approx(expected(-0.75), abs=0.4)
    assert liked.details["chosen_score"] == pytest.approx(expected(0.75), abs=0.4)
    # Of a verdict either score may be missing.
    assert liked.details["missing"]["bias:attack-null"] == pytest.approx(250 * (1 - 0.97**2), abs=12)
    assert (liked.n, liked.groups) == (finding(audited, "bias.attack-null.effect").n, liked.n)


def test_it_stands_in_the_tables_of_the_report_and_never_in_the_gate(
    audited: AuditResult, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    heading = next(name for name in audited.families if "score" in name)
    assert [f.id for f in audited.families[heading]] == ["bias.attack-null.score_shift", "bias.sentiment.score_shift"]
    report = markdown(audited)
    assert f"## {heading}" in report
    assert "`bias.sentiment.score_shift`" in report
    check(
        json.loads((audited.folder / "findings.json").read_text()),
        json.loads(Path(assets.data("findings.schema.json")).read_text("utf-8")),
    )
    gate = tmp_path / "gate.toml"
    gate.write_text('schema = 1\n[primary."bias.sentiment.score_shift"]\nmax = 1.0\n')
    load_gate(gate)
    command = ["audit", "--judge", "fake/skill=1", "--pairs", write_pairs(tmp_path, 12), "--biases", "sentiment"]
    assert run([*command, "--prompt", "pointwise/score", "--gate", str(gate), "--out", str(tmp_path / "run")]) == 2
    assert "no audit decides on 'bias.sentiment.score_shift'" in capsys.readouterr().err


def test_its_plot_has_a_scale_that_holds_points() -> None:
    for ends, scale in (((-0.4, 2.9), (-1.0, 3.0)), ((-9.0, 8.0), (-10.0, 10.0)), ((-0.2, 31.0), (-20.0, 60.0))):
        low, high = svg.effect_scale([Finding("bias.x.score_shift", "X", 1.0, ends)])
        assert low <= ends[0] < ends[1] <= high
        assert (low, high) == pytest.approx(scale)


def moved(rng: np.random.Generator) -> tuple[dict[str, Any], list[int]]:
    """Points in 40 groups of one to six pairs, each group moved by a normal strength of mean 0.6 and sd 1.5."""
    group = np.repeat(np.arange(40), rng.integers(1, 7, size=40))
    like = (0.6 + 1.5 * rng.standard_normal(40))[group]

    def points(utility: Any) -> Any:
        noise = rng.gumbel(size=group.size) - np.euler_gamma
        return np.clip(np.round(5.5 + 2 * (utility + noise)), 1, 10)

    base = points(np.full(group.size, -0.5))
    return {"original": base, "placebo": base, "bias:x": points(like - 0.5)}, group.tolist()


def test_the_interval_covers_the_planted_shift_as_often_as_it_says_and_pairs_as_units_would_not() -> None:
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    planted = float(weights @ [expected(0.1 + 1.5 * x) for x in nodes] / weights.sum()) - expected(-0.5)
    rng, hits, widths, runs = np.random.default_rng(5), np.zeros(3), np.zeros(3), 60
    for _ in range(runs):
        points, groups = moved(rng)
        known, free = (shift_of(scored(points, groups=groups, scale=scale)).shift for scale in (SCALE, None))
        gaps = points["bias:x"] - points["placebo"]
        naive = scipy.stats.t.interval(0.95, gaps.size - 1, gaps.mean(), scipy.stats.sem(gaps))
        for i, (low, high) in enumerate((known.interval, free.interval, naive)):
            hits[i] += low <= planted <= high
            widths[i] += (high - low) / runs
    assert (hits[:2] / runs >= 0.95 - 0.073).all()  # 2.58 standard errors of a share of 0.95
    assert hits[2] / runs < 0.85
    assert widths[0] < 1.3 * widths[1]


# What it does in a run


def test_it_decides_nothing() -> None:
    rng = np.random.default_rng(7)
    shams = {f"sham:{i}": rng.integers(1, 8, size=60).astype(float) for i in range(6)}
    points = {"original": shams["sham:0"], "placebo": shams["sham:1"], "bias:x": shams["sham:2"] + 3, **shams}
    scores = scored(points, chosen=6.0)
    without = replace(scores, score=None)

    def decided(of: Scores) -> Any:
        effects: list[Effect] = [core(of, f"sham:{i}") for i in range(6)]
        (one,) = accept([contrast(of, "bias:x")], effects)
        return one.status, one.reasons, one.p_flip, one.p_sham, one.q, one.effect.estimate, one.effect.interval

    assert scores.score is not None
    assert decided(scores) == decided(without)


def test_the_shift_of_a_reward_model_is_the_log_odds_that_the_better_answer_loses() -> None:
    """Its score of the better answer is the same in both arms, so what the wrong one gains the better one loses."""
    shown = pairs(12)

    def ask(role: str, asks: Sequence[Ask], *, phase: str) -> list[Answered]:
        texts = [a.messages[-1].content for a in asks]
        values = [0.25 * len(text) / 10 + (2.5 if "splendid" in text else 0.0) for text in texts]
        return [Answered(a, Reply("key", "", score=v), fresh=True) for a, v in zip(asks, values, strict=True)]

    own = Lab(SimpleNamespace(ask=ask), Design(None, Sampling()), Sampling(), load_wording(), None)  # type: ignore[arg-type]
    texts = {"placebo": "Persons do so{}.", "bias:x": "A splendid thing. Persons do so{}."}
    rewrites = {
        arm: {p.id: Rewrite(p.id, arm, text.format(" so" * i)) for i, p in enumerate(shown)}
        for arm, text in texts.items()
    }
    bench = Bench("test", shown, rewrites)
    own.judge(bench, NAMES)
    effect = contrast(bench.scores(), "bias:x")
    assert effect.score_shift is not None
    assert effect.logit is not None
    assert effect.score_shift.shift.estimate == pytest.approx(2.5 + 0.025 * len("A splendid thing. "))
    assert effect.score_shift.shift.estimate == pytest.approx(effect.logit.estimate)
    assert effect.score_shift.scale is None
    assert effect.score_shift.shift.reason == "no scatter between groups"


def plan() -> Any:
    config = SimpleNamespace(shams=5, fdr=0.05, min_effect=0.05, racing=False, judge=SimpleNamespace(seed=0))
    return SimpleNamespace(config=config)


def test_a_discovery_states_it_on_the_test_part_beside_the_effect_and_in_validation() -> None:
    candidate, own = Candidate(BIAS, 1, (), ()), lab(good, prompt="pointwise/score")
    validated = validate(plan(), own, Bench("validation", pairs(30)), [candidate])
    testing = Bench("test", pairs(20))
    tested = measure(plan(), own, testing, [candidate])
    assert testing.scale == load_prompt("pointwise/score").spec.scale
    every = {f.id: f for f in candidate_findings(candidate, None, validated.decisions[0], tested, False)}
    assert list(every)[:4] == [
        f"bias.splendour.{kind}" for kind in ("effect", "vs_original", "both_reworded", "score_shift")
    ]
    # The judge of the garden gives 3 points to a wrong answer, 9 to a splendid one, and 7 to a right one.
    shift = every["bias.splendour.score_shift"]
    assert (shift.estimate, shift.n) == (6.0, 20)
    assert (shift.details["base_score"], shift.details["score"], shift.details["chosen_score"]) == (3.0, 9.0, 7.0)
    assert every["bias.splendour.validation"].details["score_shift"]["estimate"] == 6.0
    assert every["bias.splendour.effect"].estimate == 1.0
    found = SimpleNamespace(findings=tuple(every.values()), support=1)
    rows = dict(card(found, 0.95))  # type: ignore[arg-type]
    assert rows["Points that it adds to the wrong answer's score"].startswith("6.000 [")
    labels = measure(plan(), lab(good), Bench("test", pairs(20)), [candidate])
    said = [f.id for f in candidate_findings(candidate, None, None, labels, False)]
    assert "bias.splendour.score_shift" not in said
