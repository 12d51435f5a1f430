"""The instrument's own test: what the rule of acceptance finds, and lets pass, among judges whose biases are known.

python experiments/instrument/run.py [SHARE]     # writes results.json beside this file

SHARE (default 1) of the runs; all of them take some fifteen minutes of one core. Every block has its own seed.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from instrument import Judge, Run, bare, churn, decide, first_groups, shift_of, simulate

from recuse import stats
from recuse.effects.contrast import contrast
from recuse.effects.plan import Design, power_of
from recuse.effects.race import SHARES, futile

CANDIDATES, REAL, EFFECT, GROUPS, SHAMS = 20, 2, 0.10, 300, 10
PLAIN = Judge(at=EFFECT)
POSITION = Judge(at=EFFECT, position=0.4, correlation=0.5)
NULL = {
    "plain": Judge(),
    "position preference": Judge(position=0.4, correlation=0.5),
    "little churn": Judge(gap_sd=0.25),
    "much churn": Judge(gap_sd=0.5, correlation=0.5),
    "log-probabilities": Judge(gap_sd=0.3, correlation=0.5, logprobs=True),
    "groups of 1 to 4": Judge(largest_group=4),
    "refusals and failed rewrites": Judge(refuses=0.03, unusable=0.05),
    "all at once": Judge(gap_sd=0.35, position=0.4, correlation=0.5, largest_group=3, refuses=0.03, unusable=0.05),
}
GAP_SDS, SHAM_SDS = (0.25, 0.3, 0.35, 0.4, 0.45, 0.5), (0.0, 0.01, 0.03)


@dataclass
class Tally:
    """Counts over runs. `false` and `true`: candidates without and with an effect that were accepted."""

    runs: int = 0
    any_false: int = 0
    false: int = 0
    nulls: int = 0
    true: int = 0
    reals: int = 0
    fdp: float = 0.0

    def add(self, accepted: np.ndarray, real: np.ndarray) -> None:
        false, true = int((accepted & ~real).sum()), int((accepted & real).sum())
        self.runs += 1
        self.any_false += false > 0
        self.false += false
        self.nulls += int((~real).sum())
        self.true += true
        self.reals += int(real.sum())
        self.fdp += false / max(1, false + true)

    def shown(self) -> dict[str, object]:
        low, high = stats.clopper_pearson(self.any_false, self.runs, level=0.99).interval or (0.0, 1.0)
        shown: dict[str, object] = {
            "runs": self.runs,
            "any_false": self.any_false / self.runs,
            "any_false_99": [low, high],
            "fdp": self.fdp / self.runs,
            "per_candidate": self.false / self.nulls if self.nulls else None,
        }
        if self.reals:
            shown["power"] = self.true / self.reals
            shown["power_99"] = list(stats.clopper_pearson(self.true, self.reals, level=0.99).interval or (0.0, 1.0))
        return shown


RULES = ("accepted", "without_shams", "published", "five_points")


def several(
    judge: Judge, real: int, runs: int, seed: int, tallies: dict[str, Tally], groups: int = GROUPS
) -> list[Run]:
    """Some runs of one judge, counted under each rule."""
    rng = np.random.default_rng(seed)
    effects = [EFFECT] * real + [0.0] * (CANDIDATES - real)
    done = []
    for _ in range(runs):
        run = decide(simulate(judge, effects, rng, groups=groups, shams=SHAMS))
        for rule in RULES:
            tallies.setdefault(rule, Tally()).add(getattr(run, rule), np.array(effects) > 0)
        done.append(run)
    return done


def null_runs(runs: int) -> dict[str, object]:
    every: dict[str, Tally] = {}
    by_judge = {}
    for i, (name, judge) in enumerate(NULL.items()):
        own: dict[str, Tally] = {}
        several(judge, 0, runs // len(NULL), 100 + i, own)
        by_judge[name] = {rule: tally.shown() for rule, tally in own.items()}
        by_judge[name]["judge"] = {**asdict(judge), "churn": churn(judge)}
        for rule, tally in own.items():
            total = every.setdefault(rule, Tally())
            for field, value in asdict(tally).items():
                setattr(total, field, getattr(total, field) + value)
    return {"rules": {rule: tally.shown() for rule, tally in every.items()}, "by_judge": by_judge}


def planted_runs(runs: int) -> dict[str, object]:
    """Two real candidates of 20, gap sd 0.40, shams that do not scatter; each accepted one measured on a test split."""
    found = {}
    for i, (name, judge) in enumerate((("plain", PLAIN), ("position preference", POSITION))):
        own: dict[str, Tally] = {}
        done = several(judge, REAL, runs // 2, 200 + i, own)
        found[name] = {rule: tally.shown() for rule, tally in own.items()}
        found[name]["sham_errors_not_separated"] = not_separated(done)
    own = {}
    several(PLAIN, 1, runs // 2, 210, own)
    found["plain, one real candidate"] = {"accepted": own["accepted"].shown()}
    own = {}
    several(replace(PLAIN, refuses=0.03, unusable=0.05), REAL, runs // 4, 211, own)
    found["refusals and failed rewrites"] = {"accepted": own["accepted"].shown()}
    return found


def not_separated(done: list[Run]) -> float:
    """Power if shams and candidates were compared as though their errors were independent (kept as a failure)."""
    found = 0
    for run in done:
        p = np.array([d.p_flip for d in run.decisions])
        shams = run.shams
        for i in np.flatnonzero(p <= 0.05):
            effect = run.decisions[i].effect
            alone = stats.predictive_pvalue(
                effect.estimate, effect.se, [s.estimate for s in shams], [s.se for s in shams]
            ).pvalue
            p[i] = max(p[i], alone)
        passed = np.array(stats.benjamini_hochberg(p).tolist()) <= 0.05
        found += int((passed & run.without_shams)[:REAL].sum())
    return found / (REAL * len(done))


def coverage(runs: int) -> dict[str, object]:
    """The 95 % intervals on a test split: one candidate of 10 points each, of the judges above in turn."""
    covered = {"effect": [0, 0], "log odds": [0, 0], "bounds over refusals": [0, 0]}
    judges = [*NULL.values(), Judge(logprobs=True, position=0.4, correlation=0.5)]
    for i, judge in enumerate(judges):
        rng = np.random.default_rng(300 + i)
        shift = float(shift_of(judge, np.array([EFFECT]))[0])
        for _ in range(runs // len(judges)):
            found = contrast(simulate(judge, [EFFECT], rng, groups=GROUPS, shams=0), "bias:0")
            intervals = {"effect": (found.interval, EFFECT)}
            if judge.refuses:
                intervals["bounds over refusals"] = (found.bounds, EFFECT)
            if found.logit is not None:
                # A shift of the utility towards errors is three times that in log odds lost, see tests/instrument.py.
                intervals["log odds"] = (found.logit.interval, 3 * shift)
            for name, (interval, truth) in intervals.items():
                covered[name][0] += interval[0] <= truth <= interval[1]
                covered[name][1] += 1
    return {
        name: {
            "covered": hits / runs,
            "runs": runs,
            "interval_99": list(stats.clopper_pearson(hits, runs, level=0.99).interval),
        }
        for name, (hits, runs) in covered.items()
    }


def power_grid(runs: int) -> dict[str, object]:
    """Power by the gap sd of a harmless arm and the scatter of shams; candidates scatter too."""
    grid: dict[str, object] = {}
    for i, gap_sd in enumerate(GAP_SDS):
        judge = Judge(gap_sd=gap_sd, correlation=0.5 if gap_sd > 0.45 else 0.3)
        own_sd = gap_sd_of_bias(judge)
        row: dict[str, object] = {"gap_sd_of_the_bias": own_sd}
        for k, sham_sd in enumerate(SHAM_SDS):
            own: dict[str, Tally] = {}
            several(replace(judge, sham_sd=sham_sd), REAL, runs, 400 + 10 * i + k, own)
            design = Design(gap_sd=own_sd, sham_sd=sham_sd, shams=SHAMS, candidates=CANDIDATES, real=REAL)
            row[str(sham_sd)] = {**own["accepted"].shown(), "planned": power_of(EFFECT, GROUPS, design=design)}
        grid[str(gap_sd)] = row
    return grid


def gap_sd_of_bias(judge: Judge) -> float:
    found = bare(simulate(judge, [EFFECT], np.random.default_rng(0), groups=20_000, shams=0), "bias:0")
    return found.se * found.groups**0.5


def sham_runs(runs: int) -> dict[str, object]:
    """Twenty further content-free instructions among shams that scatter: is any of them accepted?"""
    found: dict[str, object] = {}
    for i, (gap_sd, sham_sd) in enumerate(((0.25, 0.01), (0.25, 0.03), (0.4, 0.01), (0.4, 0.03))):
        own: dict[str, Tally] = {}
        several(Judge(gap_sd=gap_sd, sham_sd=sham_sd), 0, runs, 500 + i, own)
        found[f"gap sd {gap_sd}, shams {sham_sd}"] = {rule: tally.shown() for rule, tally in own.items()}
    return found


def racing(runs: int) -> dict[str, object]:
    """Racing against the fixed design on the same scores, by number of groups. Calls include the shared arms."""
    found: dict[str, object] = {}
    effects = [EFFECT] * REAL + [0.0] * (CANDIDATES - REAL)
    real = np.array(effects) > 0
    for i, groups in enumerate((100, 200, 300, 600)):
        rng = np.random.default_rng(600 + i)
        fixed, raced, spent = Tally(), Tally(), 0.0
        for _ in range(runs):
            scores = simulate(PLAIN, effects, rng, groups=groups, shams=SHAMS)
            fixed.add(decide(scores).accepted, real)
            stopped: dict[str, str] = {}
            arms, before = [arm for arm in scores.arms if arm.startswith("bias:")], 0.0
            for share in SHARES:
                spent += len(arms) * (share - before)
                before = share
                if share < 1:
                    part = first_groups(scores, share)
                    reasons = {arm: futile(bare(part, arm), groups) for arm in arms}
                    stopped |= {arm: why for arm, why in reasons.items() if why is not None}
                    arms = [arm for arm in arms if arm not in stopped]
            raced.add(decide(scores, stopped=stopped).accepted, real)
        shared = 3 + SHAMS  # original, placebo, second placebo, shams
        found[str(groups)] = {
            "fixed": fixed.shown(),
            "raced": raced.shown(),
            "candidates_calls": spent / runs / CANDIDATES,
            "all_calls": (shared + spent / runs) / (shared + CANDIDATES),
        }
    return found


def timed(name: str, block, runs: int, share: float) -> object:
    start = time.process_time()
    done = block(max(8, round(runs * share)))
    print(f"{name}: {time.process_time() - start:.0f} s", flush=True)
    return done


def main() -> None:
    share = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    start = time.process_time()
    null = timed("null", null_runs, 2000, share)
    planted = timed("planted", planted_runs, 1000, share)
    grid = timed("power", power_grid, 120, share)
    rules = null["rules"]
    results = {
        "runs": {"null": rules["accepted"]["runs"], "planted": sum(planted[j]["accepted"]["runs"] for j in planted)},
        "null": {"fdp": rules["accepted"]["fdp"], "any_false": rules["accepted"]["any_false"]},
        "published_rule": {k: rules["published"][k] for k in ("any_false", "per_candidate")},
        "five_point_rule": {k: rules["five_points"][k] for k in ("any_false", "per_candidate")},
        "power": {sd: {str(tau): row[str(tau)]["power"] for tau in SHAM_SDS} for sd, row in grid.items()},
        "coverage": timed("coverage", coverage, 1800, share),
        "null_runs": null,
        "planted_runs": planted,
        "power_grid": grid,
        "shams": timed("shams", sham_runs, 1000, share),
        "racing": timed("racing", racing, 200, share),
        "setting": {
            "candidates": CANDIDATES, "real": REAL, "effect": EFFECT, "groups": GROUPS, "shams": SHAMS, "fdr": 0.05,
            "min_effect": 0.05, "share_of_runs": share, "cpu_seconds": round(time.process_time() - start),
        },
    }  # fmt: skip
    here = Path(__file__)
    here.with_name("results.json").write_text(json.dumps(rounded(results), indent=1) + "\n", encoding="utf-8")


def rounded(value):
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return round(value, 5) if isinstance(value, float) else value


if __name__ == "__main__":
    main()
