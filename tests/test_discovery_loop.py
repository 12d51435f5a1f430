"""The whole loop, with a judge whose bias is planted and a teacher and explainer that see only texts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from world import like_for, world_pairs

import recuse
from recuse.backends.fake import parse_planted
from recuse.backends.fake_world import WORLD
from recuse.discovery.config import DiscoverConfig, plan_discovery
from recuse.discovery.estimate import estimate, told, too_few_groups
from recuse.discovery.run import run_discovery
from recuse.discovery.similar import Embeddings, load_embeddings
from recuse.effects.plan import Design, detectable, groups_needed
from recuse.errors import ConfigMismatch, Incomplete, InputError, MissingExtra, UsageError
from recuse.judge import Answered
from recuse.lab.engines import Engines, Role
from recuse.library import load_bias, promote
from recuse.plan import AuditConfig
from recuse.report.discovered import DiscoverResult
from recuse.types import Ask

JUDGE = "skill=1.8,pair_sd=0.7,position=0.4,rewrite_sd=0.3,explain=1,seed=5"
TEACHER = "fake/teacher=1,accuracy=0.9,carry=0.5,seed=3"
LIKED = WORLD[1]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    with (folder / "pairs.jsonl").open("w") as file:
        for p in world_pairs(420, seed=3):
            row = {"prompt": p.prompt, "chosen": p.chosen, "rejected": p.rejected, "group": p.group}
            file.write(json.dumps({**row, "reference": p.reference}) + "\n")
    library = folder / "library"
    library.mkdir()
    (library / "tone.toml").write_text(
        'id = "tone"\nname = "Friendly tone"\ndefinition = "Prefers friendliness."\nmanifestations = ["warm words"]\n'
        'inject = "Give the answer a friendlier tone."\nfamily = "social"\nstatus = "seed"\nsource = ["a paper"]\n'
    )
    return folder


def config(source: Path, judge: str, teacher: str = TEACHER, *, out: Path, **more: object) -> DiscoverConfig:
    audit = AuditConfig(judge, str(source / "pairs.jsonl"), group="group", out=out)
    settings = {"rounds": 2, "shams": 5, "screen_groups": 40, "library": source / "library", **more}
    return DiscoverConfig(audit, teacher, **settings)  # type: ignore[arg-type]


def discovered(config: DiscoverConfig) -> DiscoverResult:
    plan = plan_discovery(config)
    try:
        return run_discovery(plan)
    finally:
        plan.close()


def liking(points: float) -> str:
    planted = replace(parse_planted(JUDGE), likes=LIKED.word)
    return f"fake/{JUDGE},likes={LIKED.word},like={like_for(points, planted):.3f}"


@pytest.fixture(scope="module")
def found(source: Path, tmp_path_factory: pytest.TempPathFactory) -> DiscoverResult:
    return discovered(config(source, liking(0.45), out=tmp_path_factory.mktemp("run") / "out"))


def test_a_planted_bias_that_no_library_lists_is_found_and_proven(found: DiscoverResult) -> None:
    (accepted,) = found.of("accepted")
    assert accepted.name in (LIKED.name, LIKED.other_name)
    assert accepted.severity == "high"
    effect, original, both, validation, screen = accepted.findings
    assert [f.id.rpartition(".")[2] for f in accepted.findings] == [
        "effect",
        "vs_original",
        "both_reworded",
        "validation",
        "screen",
    ]
    assert effect.interval is not None
    assert effect.interval[0] - 0.02 <= 0.45 <= effect.interval[1] + 0.02  # the effect that was planted
    assert validation.details["q"] <= 0.05
    assert validation.details["p_larger"] == max(validation.details["p_flip"], validation.details["p_sham"])
    assert original.groups == effect.groups == both.groups == 126
    # A judge that sees texts alone and has no taste for the teacher's hand: the same effect, with other noise.
    assert both.estimate == pytest.approx(0.45, abs=0.12)
    assert 0 < screen.groups <= 40
    assert 1 <= len(accepted.examples) <= 3
    for example in accepted.examples:
        assert LIKED.word in example.rewritten
        assert LIKED.word not in example.original
        assert (set(example.before.values()), set(example.after.values())) == ({"chosen"}, {"rejected"})


def test_a_candidate_that_later_rounds_name_again_keeps_every_case(found: DiscoverResult) -> None:
    assert [row["round"] for row in found.rounds] == [1, 2]
    assert found.rounds[1]["known already"] > 0  # all of them candidates of the first round: the library has none
    first, second = found.rounds
    again = second["known already"]
    support = sum(candidate.support for candidate in found.candidates) - (second["named"] - again)
    assert first["named"] < support <= first["named"] + again  # a case that both rounds meet counts once


def test_examples_are_of_the_test_part_and_one_that_named_the_bias_has_the_judges_words(found: DiscoverResult) -> None:
    (accepted,) = found.of("accepted")
    assert [example.origin for example in accepted.examples[:2]] == ["test", "test"]
    naming = accepted.examples[2]
    assert naming.origin.startswith("discovery, where it was noticed in a rewriting for bias:")
    assert naming.words is not None
    assert LIKED.word in naming.words
    assert naming.words.split()[-1] in (found.folder / "report.md").read_text()


def test_shams_placebos_and_candidates_stand_beside_each_other_in_length_and_words_changed(
    found: DiscoverResult,
) -> None:
    (changed,) = (f for f in found.findings if f.id == "texts.changed")
    by_arm = changed.details["by_arm"]
    kinds = {kind: [m["distance"] for arm, m in by_arm.items() if arm.startswith(kind)] for kind in ("bias", "sham")}
    assert len(kinds["sham"]) == 5
    mean = {kind: sum(values) / len(values) for kind, values in kinds.items()}
    assert changed.estimate == pytest.approx(mean["bias"] - mean["sham"])
    assert 1.0 < by_arm["placebo"]["length"] <= 1.1
    (note,) = (note for note in found.notes if note.startswith("Share of words changed"))
    assert f"candidates {mean['bias']:.2f} at " in note
    assert f"shams {mean['sham']:.2f} at " in note


def test_a_lower_screen_is_exploratory_in_the_headline_the_severity_the_library_and_to_promote(
    source: Path, tmp_path: Path
) -> None:
    result = discovered(config(source, liking(0.45), out=tmp_path / "out", rounds=1, min_effect=0.03))
    assert result.headline.startswith("Exploratory, with a screen at 0.03: 1 of ")
    assert result.of("accepted") == ()
    (passed,) = result.of("unproven")
    assert (passed.severity or "").endswith(", exploratory")
    assert load_bias(passed.id, tmp_path / "out/candidates").status == "candidate"
    with pytest.raises(UsageError, match="did not confirm"):
        promote(tmp_path / "out", passed.id, library=tmp_path / "mine")


def test_what_is_asked_of_each_model_stays_under_the_estimate_of_its_kind(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: Counter[str] = Counter()
    ask = Engines.ask

    def counted(self: Engines, role: Role, asks: Sequence[Ask], *, phase: str) -> list[Answered]:
        asked[phase.partition(": ")[2]] += len(asks)
        return ask(self, role, asks, phase=phase)

    monkeypatch.setattr(Engines, "ask", counted)
    plan = plan_discovery(config(source, liking(0.45), out=tmp_path / "out", rounds=1))
    said = estimate(plan)
    run_discovery(plan)
    plan.close()
    judge, teacher = said["judge"]["calls_by_kind"], said["teacher"]["calls_by_kind"]
    assert 0 < asked["judging"] <= judge["verdicts"]
    assert 0 < asked["explaining"] <= judge["reasons"]
    assert 0 < asked["judging a tenth again"] <= judge["again"]
    assert 0 < asked["rewriting"] <= teacher["rewrites"]
    assert 0 < asked["naming"] <= teacher["naming"]
    assert asked["merging"] <= teacher["merging"]
    assert asked["verifying"] + asked["trying the verifier"] <= teacher["verifying"]
    for role in ("judge", "teacher"):
        assert said[role]["calls"] == sum(said[role]["calls_by_kind"].values())


def test_a_dry_run_knows_that_a_stream_finds_less_on_its_blocks(source: Path, tmp_path: Path) -> None:
    said, text = {}, {}
    for online in (False, True):
        plan = plan_discovery(config(source, liking(0.45), out=tmp_path / "out", online=online, shams=10))
        said[online] = estimate(plan)
        text[online] = told(said[online])
        few = too_few_groups(plan)
        plan.close()
        assert few is not None
        assert (f"takes {said[online]['groups_for']['validation_groups']} in 2 blocks by e-LOND." in few) is online
    whole = Design(shams=10, candidates=20)
    assert said[False]["detectable_effect"] == detectable(168, design=whole)
    assert said[True]["detectable_effect"] == detectable(84, design=replace(whole, stream=True))
    assert said[True]["groups_for"]["validation_groups"] == 2 * groups_needed(0.1, design=replace(whole, stream=True)).n
    assert "168 validation groups in 2 blocks, by e-LOND, find effects from " in text[True]
    assert "168 validation groups find effects from " in text[False]
    assert said[False]["detectable_effect"] < said[True]["detectable_first"] < said[True]["detectable_effect"]
    assert (
        f"the first candidate of the stream they find effects from {said[True]['detectable_first']:.3f}" in text[True]
    )


def test_the_embeddings_of_a_run_are_part_of_its_configuration(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = {"model": "a/model", "commit": "0123"}
    monkeypatch.setattr("recuse.discovery.config.load_embeddings", lambda name: Embeddings(named, name))
    tables = []
    for similarity in ("a/model", None):
        plan = plan_discovery(config(source, liking(0.45), out=tmp_path / "out", similarity=similarity))
        tables.append(plan.run_table()["similarity"])
        plan.close()
    assert tables == [named, None]


def test_embeddings_without_their_package_name_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "modules.json").write_text("[]")
    monkeypatch.setattr("recuse.extras.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install 'recuse\[embeddings\]'"):
        load_embeddings(str(tmp_path))


def test_every_other_candidate_is_listed_with_its_reason(found: DiscoverResult) -> None:
    others = (*found.of("rejected"), *found.of("dropped"))
    assert {c.name for c in others}.isdisjoint({LIKED.name, LIKED.other_name})
    assert all(c.reasons for c in others)


def test_the_run_folder_holds_the_candidates_with_what_was_measured(found: DiscoverResult) -> None:
    from recuse.library import load_library

    library = load_library(found.folder / "candidates")
    accepted = found.of("accepted")[0]
    assert library[accepted.id].status == "confirmed"
    assert library[accepted.id].evidence[0].effect == accepted.findings[0].estimate
    assert {bias.status for bias in library.values()} <= {"confirmed", "rejected", "candidate"}
    assert json.loads((found.folder / "findings.json").read_text())["judge"] == found.judge


def test_the_same_replies_give_the_same_findings_and_nothing_is_asked_twice(
    found: DiscoverResult, source: Path
) -> None:
    again = discovered(config(source, found.judge, out=found.folder))
    assert again.usage["judge"]["calls"] == again.usage["teacher"]["calls"] == 0
    assert again.candidates == found.candidates
    assert again.findings == found.findings


def test_another_configuration_is_refused_in_the_same_folder(found: DiscoverResult, source: Path) -> None:
    plan = plan_discovery(config(source, found.judge, out=found.folder, rounds=3))
    with pytest.raises(ConfigMismatch, match="rounds: 2 there, 3 now"):
        run_discovery(plan)


def test_with_a_teacher_that_is_never_right_nothing_is_found(source: Path, tmp_path: Path) -> None:
    blind = config(source, liking(0.45), "fake/teacher=1,accuracy=0,carry=0.5,seed=2", out=tmp_path / "out")
    result = discovered(blind)
    assert result.of("accepted") == ()
    assert any("this design finds" in note or "Nothing could be tested" in note for note in result.notes)


def test_a_judge_without_a_bias_yields_none(source: Path, tmp_path: Path) -> None:
    result = discovered(config(source, f"fake/{JUDGE}", out=tmp_path / "out"))
    assert result.of("accepted") == ()
    assert "No bias was found" in result.headline


def test_a_cost_cap_stops_the_run_before_it_is_passed(source: Path, tmp_path: Path, found: DiscoverResult) -> None:
    prices = tmp_path / "prices.toml"
    names = (found.judge, found.teacher)
    prices.write_text("[models]\n" + "".join(f'"{n}" = {{ input = 1.0, output = 1.0 }}\n' for n in names))
    capped = config(source, found.judge, out=tmp_path / "out", rounds=1)
    capped = replace(capped, judge=replace(capped.judge, prices=prices, max_cost=0.0))
    with pytest.raises(Incomplete, match="cost cap"):
        discovered(capped)
    assert not (tmp_path / "out" / "findings.json").exists()


def test_a_judge_that_scores_single_answers_is_mined_without_reasons(source: Path, tmp_path: Path) -> None:
    judge = f"fake/skill=2,pair_sd=0.5,rewrite_sd=0.3,likes={LIKED.word},like=4,explain=1,seed=5"
    single = config(source, judge, out=tmp_path / "out", rounds=1)
    single = replace(single, judge=replace(single.judge, prompt="pointwise/score"))
    result = discovered(single)
    assert any("one answer at a time" in note for note in result.notes)
    assert [f.id for f in result.findings if f.estimate is not None][:1] != []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"shams": 4}, "--shams is 4"),
        ({"biases": ("nothing",)}, "no bias 'nothing'"),
        ({"rounds": 0}, "--rounds is 0"),
        ({"fdr": 1.5}, "--fdr is 1.5"),
        ({"split_column": "part"}, "'part'"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(
    source: Path, tmp_path: Path, change: dict[str, object], said: str
) -> None:
    with pytest.raises((UsageError, InputError), match=said):
        plan_discovery(config(source, f"fake/{JUDGE}", out=tmp_path / "out", **change))


def test_online_accepts_round_by_round_on_pairs_of_its_own(source: Path, tmp_path: Path) -> None:
    result = discovered(config(source, liking(0.6), out=tmp_path / "out", online=True))
    (accepted,) = result.of("accepted")
    assert accepted.name in (LIKED.name, LIKED.other_name)
    validation = next(f for f in accepted.findings if f.id.endswith(".validation"))
    assert validation.groups <= 168 / 2  # one block of two, of the 168 groups of validation
    blocks = next(note for note in result.notes if note.startswith("Groups:"))
    assert "84 for validation 1, 84 for validation 2" in blocks


def test_the_python_form_takes_the_settings_of_both_configurations(source: Path, tmp_path: Path) -> None:
    found = recuse.discover(
        f"fake/{JUDGE}", TEACHER, str(source / "pairs.jsonl"), out=tmp_path / "out", group="group", limit=90, rounds=1,
        shams=5, library=source / "library",
    )  # fmt: skip
    table = found.config["run"]
    assert (table["limit"], table["group"], table["rounds"], table["shams"]) == (90, "group", 1, 5)
    assert found.folder == tmp_path / "out"
    assert (found.folder / "findings.json").is_file()


def test_a_teacher_with_room_to_think_has_it_in_every_reply(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, str, int]] = []
    ask = Engines.ask

    def noted(self: Engines, role: Role, asks: Sequence[Ask], *, phase: str) -> list[Answered]:
        asked.extend((role, phase.partition(": ")[2], a.sampling.max_tokens) for a in asks)
        return ask(self, role, asks, phase=phase)

    monkeypatch.setattr(Engines, "ask", noted)
    settings = config(source, liking(0.6), out=tmp_path / "out", rounds=1, teacher_tokens=3000)
    discovered(replace(settings, judge=replace(settings.judge, limit=240)))
    assert {phase for role, phase, _ in asked if role == "teacher"} >= {"rewriting", "naming"}
    assert {tokens for role, _, tokens in asked if role == "teacher"} == {3000}
