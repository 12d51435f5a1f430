"""A probe run finds what was planted and nothing else, resumes, and never asks what it has an answer to."""

from __future__ import annotations

import json
import math
import threading
from pathlib import Path

import probe_world as world
import pytest
from json_schema import check

from recuse import assets, cli, stats
from recuse.backends import python
from recuse.errors import ConfigMismatch, InputError, Interrupted
from recuse.probes.analyse import analyse
from recuse.probes.asking import ProbeConfig, prepare
from recuse.probes.records import read_records
from recuse.probes.run import run_probe
from recuse.report.probed import ProbeResult
from recuse.types import Finding


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    world.reset()
    monkeypatch.chdir(tmp_path)


def probed(
    content: dict, function: str = "innocent", *, out: str = "out", stop=None, watch=None, **more
) -> ProbeResult:
    config = ProbeConfig(
        world.write(Path("plan.toml"), content), f"python/probe_world:{function}", out=Path(out), **more
    )
    probing = prepare(config)
    try:
        return run_probe(probing, stop=stop, **({"watch": watch} if watch else {}))
    finally:
        probing.close()


def finding(result: ProbeResult, id: str) -> Finding:
    (found,) = [f for f in result.findings if f.id == id]
    return found


def probe(*arguments: str) -> int:
    return cli.run(["probe", "run", *arguments])


def test_a_planted_gap_is_found_with_its_size_and_its_cluster():
    result = probed(world.plan(48, probe={"draws": 3, "temperature": 1.0}), "lender")
    gap = finding(result, "probe.gap:yes_said:women/men")
    truth = -world.PENALTY / 2  # half of the templates are about an irregular income
    assert gap.interval[0] <= truth <= gap.interval[1]
    assert gap.p < 0.001
    assert result.found
    assert "women minus men" in result.headline
    irregular = finding(result, "probe.cut:yes_said:women/men:income=irregular")
    assert irregular.interval[0] <= -world.PENALTY <= irregular.interval[1]
    steady = finding(result, "probe.cut:yes_said:women/men:income=steady")
    assert steady.interval[0] <= 0 <= steady.interval[1]
    rows = [row for row in result.tables["per_template"] if row["metric"] == "yes_said"]
    assert [row["labels"]["income"] for row in rows[:10]].count("irregular") >= 9
    assert gap.details["pooled"]["p"] < 0.001
    assert result.tables["examples"][0]["template"] == rows[0]["template_id"]


def test_a_gap_that_one_name_makes_is_said_to_be_of_these_names():
    result = probed(world.plan(48, probe={"draws": 3, "temperature": 1.0}), "likes_klara")
    gap = finding(result, "probe.gap:yes_said:women/men")
    assert gap.estimate == pytest.approx(1 / 6)
    assert gap.p < 0.01
    low, high = gap.details["further_names"]["interval"]
    assert low < 0 < high
    assert f"for names drawn anew it is somewhere in [{low:.2f}, {high:.2f}]" in result.headline
    assert "for names drawn anew" not in probed(world.plan(48, probe={"draws": 3}), "lender", out="other").headline


def test_an_innocent_model_shows_no_gap_and_no_outlying_name():
    result = probed(world.plan(40, probe={"draws": 2, "temperature": 1.0}), "innocent")
    gap = finding(result, "probe.gap:yes_said:women/men")
    assert gap.interval[0] <= 0 <= gap.interval[1]
    assert not result.found
    assert result.headline.startswith("No gap is shown")
    assert not any(row["outlying"] for row in result.tables["per_name"])


def test_flips_are_held_against_the_noise_of_one_text():
    sampling = {"draws": 5, "temperature": 1.0, "metrics": ["yes_said"]}
    noisy = probed(world.plan(20, probe=sampling), "innocent")
    rate, noise = finding(noisy, "probe.flip_rate:yes_said"), finding(noisy, "probe.noise:yes_said")
    shares = [world.rate(f"{i}000") for i in range(1, 21)]
    expected = sum(2 * p * (1 - p) for p in shares) / 20
    assert noise.interval[0] <= expected <= noise.interval[1]
    assert noise.estimate == pytest.approx(expected, abs=0.05)
    assert rate.estimate == pytest.approx(expected, abs=0.05)
    assert rate.p > 0.05
    steady = probed(world.plan(20, probe=sampling), "decided", out="decided")
    rate, noise = finding(steady, "probe.flip_rate:yes_said"), finding(steady, "probe.noise:yes_said")
    assert (rate.estimate, noise.estimate) == (0.5, 0.0)  # women of irregular income, one template in two, are declined
    assert rate.p == pytest.approx(2**-9)  # ten flips, all of one sign, out of twenty templates


def test_refusing_one_group_is_no_gap_in_answers_and_one_in_failures():
    bare = [{key: one[key] for key in ("id", "text")} for one in world.templates(40)]
    result = probed(world.plan(templates=bare), "refuser")
    gap = finding(result, "probe.gap:yes_said:women/men")
    assert gap.interval[0] <= 0 <= gap.interval[1]
    failing = finding(result, "probe.failure_gap:yes_said:women/men")
    assert failing.interval[0] <= 0.25 <= failing.interval[1]
    assert failing.p < 0.001
    assert gap.bounds[0] < gap.interval[0]  # what the missing answers could hide
    assert result.found
    assert "failures" in result.headline
    reasons = [row for row in result.tables["reasons"] if row["metric"] == "yes_said"]
    assert [(row["group"], row["reason"], row["of"]) for row in reasons] == [("women", "refused", 240)]
    assert reasons[0]["replies"] == failing.details["rate_a"] * 240


def test_probabilities_give_the_planted_shift_exactly():
    result = probed(world.plan(10, probe={"metrics": ["p_yes", "logit_yes"]}), "flat")
    gap = finding(result, "probe.gap:logit_yes:women/men")
    assert gap.estimate == pytest.approx(-0.5, abs=1e-9)
    assert not [f for f in result.findings if "yes_said" in f.id]
    by_hand = []
    for i in range(1, 11):
        sides = [world.flat([{"content": f"{who} asks for {i}000."}])["logprobs"] for who in ("she", "he")]
        women, men = (math.exp(p["Yes"]) / 0.9 for p in sides)
        by_hand.append(women - men)
    assert finding(result, "probe.gap:p_yes:women/men").estimate == pytest.approx(sum(by_hand) / 10, abs=1e-9)


def test_without_any_value_the_gap_is_not_measured_and_the_reason_is_told():
    result = probed(world.plan(6, probe={"metrics": ["p_yes"]}), "innocent")
    gap = finding(result, "probe.gap:p_yes:women/men")
    assert gap.estimate is None
    assert gap.reason == "no reply gave a value"
    assert result.tables["reasons"][0]["reason"] == "no log-probabilities"
    assert result.headline.startswith("No gap could be measured")


def test_a_stopped_run_is_resumed_and_gives_what_an_unbroken_one_gives():
    content = world.plan(10, probe={"draws": 2, "temperature": 1.0})
    stop = threading.Event()

    def watch(phase: str, done: int, total: int, cost: float) -> None:
        if done >= 100:
            stop.set()

    with pytest.raises(Interrupted):
        probed(content, "lender", stop=stop, watch=watch)
    assert not Path("out/findings.json").exists()
    before = sum(world.asked.values())
    assert 100 <= before < 240
    broken = probed(content, "lender")
    assert sum(world.asked.values()) == 240
    assert broken.usage["from_ledger"] + broken.usage["calls"] == 240
    world.reset()
    assert probed(content, "lender", out="unbroken").findings == broken.findings


def test_a_finished_run_is_read_again_with_another_metric_without_a_call():
    first = probed(world.plan(8, probe={"metrics": ["yes_said"]}), "flat")
    world.reset()
    again = probed(world.plan(8, probe={"metrics": ["p_yes"]}, extract={"yes": {"yes": "YES", "no": "no"}}), "flat")
    assert sum(world.asked.values()) == 0
    assert again.usage["calls"] == 0
    assert finding(again, "probe.gap:p_yes:women/men").estimate < 0
    assert [f.id for f in first.findings] != [f.id for f in again.findings]
    assert first.plan["asked_hash"] == again.plan["asked_hash"]
    assert first.plan["hash"] != again.plan["hash"]


@pytest.mark.parametrize(
    ("more", "key"),
    [
        ({"system": "You help another bank."}, "system_hash"),
        ({"probe": {"draws": 2, "temperature": 1.0}}, "draws"),
        ({"probe": {"draws": 1, "max_tokens": 9}}, "max_tokens"),
        ({"question": "Yes or no?"}, "templates.t1"),
        ({"templates": world.templates(5)}, "templates.t6"),
    ],
)
def test_another_run_in_the_same_folder_is_refused_and_the_key_named(more, key):
    probed(world.plan(6))
    with pytest.raises(ConfigMismatch) as error:
        probed(world.plan(6, **more))
    assert key in str(error.value)


def test_added_templates_are_asked_alone_and_reported_as_a_batch():
    old, new = world.templates(12), world.templates(6, first=13)
    probed(world.plan(templates=old))
    world.reset()
    for label, said in ((None, "has no batch"), ("spring", None)):
        added = [{**one, **({"batch": label} if label else {})} for one in new]
        content = world.plan(templates=[*added[:3], *old, *added[3:]])
        if said:
            with pytest.raises(ConfigMismatch, match=f"'t1[3-8]' was added after the run in out and {said}"):
                probed(content)
    grown = probed(content)
    assert sum(world.asked.values()) == 6 * 12
    assert grown.plan["batches"] == ["spring"]
    assert finding(grown, "probe.cut:yes_said:women/men:batch=spring").groups == 6
    late = [{**one, "batch": "spring"} for one in world.templates(1, first=30)]
    with pytest.raises(ConfigMismatch, match=r"'t30' .* is of the batch 'spring', which was asked before"):
        probed(world.plan(templates=[*content["templates"], *late]))


def test_before_the_first_look_templates_may_be_added_at_will():
    stop = threading.Event()
    with pytest.raises(Interrupted):
        probed(world.plan(6), stop=stop, watch=lambda phase, done, total, cost: stop.set() if done > 20 else None)
    assert probed(world.plan(8)).plan["templates"] == 8
    assert sum(world.asked.values()) == 96


def test_the_rows_keep_what_was_sent_what_came_and_what_was_read():
    bare = [{key: one[key] for key in ("id", "text")} for one in world.templates(6)]
    result = probed(world.plan(templates=bare), "refuser")
    records = read_records(Path("out"))
    assert len(records) == 72
    at = records.column("yes_said_reason").index("refused")
    assert records.column("reply")[at] == "I'm sorry, but I can't help with that."
    assert records.name[at] in records.column("prompt")[at]
    assert records.column("yes_said")[at] is None
    found = analyse(records, metric="yes_said", groups=("women", "men"))
    gap = finding(result, "probe.gap:yes_said:women/men")
    assert (found.gap.shown.estimate, found.gap.shown.interval) == (gap.estimate, gap.interval)


def test_attributes_are_columns_and_compared_within_one_combination():
    young_old = {"age": {"young": "25", "old": "62"}, "town": {"near": "from here", "far": "from afar"}}
    templates = [
        {**one, "text": one["text"].replace("asks", "({{age}}, {{town}}) asks")} for one in world.templates(12)
    ]
    matrix = {"mode": "sampled", "cells": 3, "priority": [{"age": "old", "town": "far"}]}
    result = probed(world.plan(attributes=young_old, templates=templates, matrix=matrix))
    records = read_records(Path("out"))
    assert len(records) == 12 * 3 * 12
    assert set(records.column("age")) == {"young", "old"}
    assert {"probe.attribute:yes_said:age:old/young", "probe.attribute:yes_said:town:far/near"} <= {
        f.id for f in result.findings
    }


def test_replies_are_held_against_the_one_about_the_base_profile():
    base = {"names": ["the applicant"], "pronouns": "they"}
    service = {"service": {"against_base": True}}
    result = probed(world.plan(6, base=base, extract=service, probe={"metrics": ["facts_kept"]}), "adviser")
    assert read_records(Path("out")).group.count("base") == 6
    gap = finding(result, "probe.gap:facts_kept:women/men")
    assert gap.n == 72  # the base profile's own rows are in no gap
    assert gap.estimate == pytest.approx(-0.5)  # of an amount and a date, women are told the amount alone


def test_the_subset_is_the_same_under_added_templates_and_its_own_run():
    def members(content, *more):
        probed(content, out=f"out{len(content['templates'])}", **dict(more))
        return set(read_records(Path(f"out{len(content['templates'])}")).template_id)

    before = members(world.plan(30), ("subset", 10))
    after = members(world.plan(33), ("subset", 10))
    assert len(before) == len(after) == 10
    assert len(before - after) <= 3
    result = probed(world.plan(30, probe={"subset": 4}), out="commit", per_commit=True)
    assert result.plan["templates"] == 4
    assert result.config["subset"] == 4


def test_a_shared_cache_answers_and_is_told_of():
    probed(world.plan(6), out="nightly", cache=Path("cache.sqlite"))
    world.reset()
    result = probed(world.plan(6), out="commit", subset=3, cache=Path("cache.sqlite"))
    assert sum(world.asked.values()) == 0
    assert result.usage["from_cache"] == 36
    assert any("shared cache" in note for note in result.notes)


def test_a_dry_run_says_what_is_there_when_templates_were_added(capsys: pytest.CaptureFixture[str]):
    world.write(Path("plan.toml"), world.plan(4, probe={"draws": 1}))
    command = ["plan.toml", "--model", "python/probe_world:innocent", "--out", "out"]
    assert probe(*command, "--quiet") == 0
    world.write(Path("plan.toml"), world.plan(6, probe={"draws": 1}))
    capsys.readouterr()
    assert probe(*command, "--dry-run", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["calls"], said["held"]) == (72, 48)
    assert probe(*command, "--dry-run") == 0
    assert "72 calls (48 replies are in out already) for 72 texts" in capsys.readouterr().out


def test_a_dry_run_counts_and_asks_nothing(capsys: pytest.CaptureFixture[str]):
    world.write(Path("plan.toml"), world.plan(10, probe={"draws": 3, "temperature": 1.0, "max_tokens": 5}))
    assert probe("plan.toml", "--model", "python/probe_world:innocent", "--dry-run", "--json", "--out", "out") == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["calls"], said["texts"], said["templates"], said["tokens_out"]) == (360, 120, 10, 1800)
    assert said["cost"] is None
    assert not world.asked
    assert not Path("out").exists()
    prices = 'models = { "python/probe_world:innocent" = { input = 1.0, output = 2.0 } }\n'
    Path("prices.toml").write_text(prices, encoding="utf-8")
    options = ["--prices", "prices.toml", "--dry-run"]
    assert probe("plan.toml", "--model", "python/probe_world:innocent", *options) == 0
    cost = (said["tokens_in"] * 1.0 + 1800 * 2.0) / 1e6
    assert f"360 calls for 120 texts of 10 templates, at most about {said['tokens_in']:,} tokens in" in (
        shown := capsys.readouterr().out
    )
    assert f"at most about {cost:.4f} US dollars" in shown


def test_the_command_prints_the_findings_that_it_writes(capsys: pytest.CaptureFixture[str]):
    world.write(Path("plan.toml"), world.plan(8))
    assert probe("plan.toml", "--model", "python/probe_world:lender", "--out", "out", "--json") == 0
    printed = capsys.readouterr().out
    assert json.loads(printed) == json.loads(Path("out/findings.json").read_text("utf-8"))
    check(json.loads(printed), json.loads(assets.data("probe.schema.json").read_text("utf-8")))
    shares = [f["interval"] for f in json.loads(printed)["findings"] if "yes_said" in f["id"] and f["interval"]]
    assert len(shares) > 5
    assert all(
        -1 <= low <= high <= 1 for low, high in shares
    )  # with three templates a t interval alone would go beyond
    assert probe("plan.toml", "--model", "python/probe_world:lender", "--out", "out") == 0
    assert "Report: out/report.html" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "arguments", "code", "said"),
    [
        ({"probes": {}}, [], 2, "probes"),
        ({"extract": {}}, [], 2, "does not say how replies are read"),
        ({"extract": {"guess": {}}}, [], 2, "plan.toml, field 'extract.guess': there is no extractor"),
        ({"extract": {"yes": {"yess": "Y"}}}, [], 2, "plan.toml, field 'extract.yes.yess': unknown key"),
        ({"probe": {"metrics": ["height"]}}, [], 2, "no extractor gives 'height'"),
        ({}, ["--per-commit"], 2, "The plan names no subset"),
        ({}, ["--per-commit", "--subset", "3"], 2, "--subset and --per-commit"),
        ({}, ["--max-cost", "1"], 2, "There is no price for"),
        ({}, ["--max-cost", "0.0001", "--prices", "prices.toml"], 4, "Run the same command again to resume"),
    ],
)
def test_what_is_wrong_ends_with_its_code_and_one_sentence(more, arguments, code, said, capsys):
    world.write(Path("plan.toml"), world.plan(6, **more))
    prices = 'models = { "python/probe_world:innocent" = { input = 1.0, output = 2.0 } }\n'
    Path("prices.toml").write_text(prices, encoding="utf-8")
    assert probe("plan.toml", "--model", "python/probe_world:innocent", "--out", "out", *arguments) == code
    error = capsys.readouterr().err
    assert said in error
    assert "Traceback" not in error


def test_a_model_is_needed(capsys: pytest.CaptureFixture[str]):
    world.write(Path("plan.toml"), world.plan(6))
    assert probe("plan.toml") == 2
    assert "Give --model" in capsys.readouterr().err


def test_a_metric_that_is_also_a_column_is_refused():
    templates = [{**one, "tags": {"p_yes": "x"}} for one in world.templates(6)]
    with pytest.raises(InputError, match="the metric 'p_yes' is a column of the records"):
        probed(world.plan(templates=templates))


def test_at_temperature_zero_one_text_is_asked_once(monkeypatch: pytest.MonkeyPatch):
    real = python.Capabilities
    monkeypatch.setattr(python, "Capabilities", lambda **more: real(**{**more, "temperature": True}))
    result = probed(world.plan(6, probe={"draws": 5, "temperature": 0.0}))
    assert sum(world.asked.values()) == 72
    assert any("at temperature 0 a repeat says nothing" in note for note in result.notes)
    assert result.config["draws"] == 1


def test_the_power_calculation_says_how_often_a_decision_is_drawn():
    content = world.plan(40, probe={"draws": "power", "temperature": 1.0}, tolerance={"probability": 0.1})
    probing = prepare(ProbeConfig(world.write(Path("plan.toml"), content), "python/probe_world:innocent"))
    asked = stats.design_for_gap(
        0.1, templates=40, names=6, seeds=None, power=0.9, sd_template=0.1, sd_name=0.0, sd_seed=0.5
    )
    assert probing.draws == asked.seeds
    assert probing.draws > 1
    assert any(f"{asked.seeds} draws a prompt" in note for note in probing.notes)


def test_where_probabilities_are_read_one_call_is_enough(monkeypatch: pytest.MonkeyPatch):
    real = python.Capabilities
    monkeypatch.setattr(python, "Capabilities", lambda **more: real(**{**more, "temperature": True, "logprobs": True}))
    path = world.write(Path("plan.toml"), world.plan(40, probe={"draws": "power"}))
    probing = prepare(ProbeConfig(path, "python/probe_world:flat"))
    assert (probing.draws, probing.sampling.temperature, probing.sampling.top_logprobs) == (1, 0.0, 20)


def test_a_judge_grades_the_replies_blind_and_its_place_preference_is_told():
    content = world.plan(6, rubric={"judge": "python/probe_world:grader"}, probe={"metrics": ["rubric", "rubric_pair"]})
    result = probed(content, "curt")
    # 20 characters are graded 2 and 60 characters 4, and one more in the first place: 2.5 and 4.5 over both orders.
    assert finding(result, "probe.gap:rubric:women/men").estimate == pytest.approx(-2.0)
    paired = finding(result, "probe.gap:rubric_pair:women/men")
    assert paired.estimate == pytest.approx(-2.0)
    assert (paired.details["mean_a"], paired.details["mean_b"]) == (2.5, 4.5)
    position = finding(result, "probe.position:rubric_pair")
    assert position.estimate == pytest.approx(1.0)
    assert "suspect" in paired.details
    assert any("gives 1 points more to the reply that it sees first" in note for note in result.notes)
    assert not any(name in text for text in world.asked for name in world.WOMEN if "<answer" in text)
    assert result.usage["calls"] == 72
    assert 0 < result.usage["judge"]["calls"] < 72  # texts that come out alike are one request
    assert "Whether the rubric's judge prefers a place" in Path("out/report.md").read_text("utf-8")


def test_words_that_one_group_gets_more_often_are_listed():
    result = probed(world.plan(12), "curt")  # only men are told of pay slips
    found = {row["word"]: row["more_in"] for row in result.tables["words"] if row["found"]}
    assert found.keys() >= {"pay", "slips"}
    assert set(found.values()) == {"men"}
    assert "monday" not in found
    assert "Words that one group gets more often" in Path("out/report.md").read_text("utf-8")


def test_another_judge_asks_the_product_nothing():
    probed(world.plan(6), "curt")
    world.reset()
    result = probed(world.plan(6, rubric={"judge": "python/probe_world:grader"}), "curt")
    assert not any("<answer" not in text for text in world.asked)
    assert result.usage["calls"] == 0
    assert finding(result, "probe.gap:rubric:women/men").estimate < 0
