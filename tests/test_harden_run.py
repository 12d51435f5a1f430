"""`recuse harden` on planted judges: what wins, what does not, what is asked of whom, and what is refused."""

from __future__ import annotations

import json
import sqlite3
import tomllib
from pathlib import Path

import pytest
from harden_world import BANDWAGON, PLAIN, SWAYED, TRADED, WORSE, Done, recuse, write_pairs
from texts_world import PAIRS, write_source

from recuse.discovery.split import split
from recuse.harden.folder import evidence_of
from recuse.library import load_bias

ONE = '[[variants]]\nid = "a"\ntemperature = 0.5'
VARIANTS = f"""
primary = "bias.authority.effect"

[[variants]]
id = "mended"
judge = "{PLAIN}"

[[variants]]
id = "traded"
judge = "{TRADED}"

[[variants]]
id = "worse"
judge = "{WORSE}"

[[variants]]
id = "twin"
judge = "{SWAYED}"

[[variants]]
id = "both"
tie_on_disagreement = true

[[variants]]
id = "warned"
library = "confirmed"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An audit that confirmed one bias, `run`, other pairs, and a comparison on them, `hard`."""
    folder = tmp_path_factory.mktemp("harden")
    write_pairs(folder / "seen.jsonl", 120)
    write_pairs(folder / "new.jsonl", 260, seed=7)
    (folder / "v.toml").write_text(VARIANTS)
    done = recuse("audit", "--judge", SWAYED, "--pairs", folder / "seen.jsonl", "--biases", "authority", "--shams", 5,
                  "--out", folder / "run", "-q")  # fmt: skip
    assert done.code in (0, 1, 3)
    return folder


def harden(folder: Path, *more: object, pairs: str | None = "new.jsonl", variants: str = "v.toml") -> Done:
    source = ("--pairs", folder / pairs) if pairs else ()
    return recuse(
        "harden", "--judge", SWAYED, "--like", folder / "run", *source, "--variants", folder / variants, *more
    )


@pytest.fixture(scope="module")
def done(folder: Path) -> Done:
    return harden(folder, "--bias", "bandwagon", "--out", folder / "hard", "--json")


def test_the_judge_without_the_bias_wins_and_one_that_traded_it_does_not(done: Done) -> None:
    assert (done.code, done.json["kind"], done.json["winner"]) == (0, "harden", "mended")
    cell = done.cell("mended", "bias.authority.effect")
    assert cell["outcome"] == "better"
    # Planted: 1.5 in log odds for the words that the edit brings; without them nothing.
    assert cell["present"] > 0.2
    assert abs(cell["variant"]) < 0.05
    assert done.cell("traded", "bias.authority.effect")["outcome"] == "better"
    assert done.cell("traded", "bias.bandwagon.effect")["outcome"] == "worse"
    assert "bias.bandwagon.effect is worse" in done.variant("traded")["why_not"][0]
    assert not done.variant("traded")["wins"]


def test_the_same_judge_never_wins_and_a_weaker_one_is_worse_in_accuracy(done: Done) -> None:
    twin = done.variant("twin")
    assert (twin["wins"], twin["p"]) == (False, 1.0)
    assert {f["estimate"] for f in twin["findings"]} == {0.0}
    assert done.cell("worse", "accuracy.error_rate")["outcome"] == "worse"
    assert not done.variant("worse")["wins"]


def test_both_orders_take_the_place_out_and_leave_the_error_rate(done: Done) -> None:
    assert done.cell("both", "accuracy.error_rate")["estimate"] == 0.0
    consistency = done.cell("both", "position.consistency")
    assert consistency["variant"] == 1.0
    assert consistency["outcome"] == "better"
    assert done.variant("both")["effort"]["calls"] == 2
    assert done.variant("both")["cost_ratio"] == pytest.approx(2.0)


def test_a_longer_prompt_costs_more_and_says_what_was_confirmed(done: Done, folder: Path) -> None:
    warned = done.variant("warned")
    assert warned["cost_ratio"] > 1.1
    assert warned["prompt"] == "pairwise/label+warned"
    assert " ".join(load_bias("authority").definition.split()) not in (folder / "hard/judge/prompt.md").read_text()


def test_one_ledger_holds_every_judge_and_the_same_command_asks_nothing_again(done: Done, folder: Path) -> None:
    assert not list((folder / "hard").glob("*/ledger.sqlite"))
    again = harden(folder, "--bias", "bandwagon", "--out", folder / "hard", "--json")
    assert again.json["usage"]["judge"]["calls"] == 0
    assert again.json["variants"] == done.json["variants"]
    rows = sqlite3.connect(folder / "hard/ledger.sqlite").execute("SELECT DISTINCT judge FROM replies").fetchall()
    assert {row[0] for row in rows} == {SWAYED, PLAIN, TRADED, WORSE}


def test_the_report_shows_every_variant_in_every_measure(done: Done, folder: Path) -> None:
    text = (folder / "hard/report.md").read_text()
    (head,) = (line for line in text.splitlines() if line.startswith("| Measure |"))
    assert [cell.strip(" `") for cell in head.split("|")[2:-1]] == [
        "present", "mended", "traded", "worse", "twin", "both", "warned",
    ]  # fmt: skip
    for measure in ("accuracy.error_rate", "bias.authority.effect", "bias.bandwagon.effect", "position.consistency",
                    "failures.rate", "agreement.kappa"):  # fmt: skip
        (row,) = (line for line in text.splitlines() if f"`{measure}` " in line or f"`{measure}`**" in line)
        assert row.count("|") == head.count("|")
    assert "Not confirmed by run: bandwagon." in text
    assert done.json["headline"].startswith("mended wins")


def test_the_winner_is_audited_from_its_folder_as_it_was_asked_here(done: Done, folder: Path, tmp_path: Path) -> None:
    judge = folder / "hard/judge"
    written = tomllib.loads((judge / "judge.toml").read_text())
    assert written["judge"]["judge"] == PLAIN
    assert written["evidence"]["measures"]["bias.authority.effect"]["outcome"] == "better"
    assert [evidence_of(judge)[key] for key in ("variant", "run")] == ["mended", "hard"]
    audited = recuse(
        "audit", "--judge-config", judge, "--pairs", folder / "new.jsonl", "--out", tmp_path / "a", "--json"
    )
    (error,) = (f for f in audited.json["findings"] if f["id"] == "accuracy.error_rate")
    assert error["estimate"] == done.cell("mended", "accuracy.error_rate")["variant"]
    assert audited.json["prompt"] == "pairwise/label"


def test_a_changed_prompt_is_another_judge_and_an_option_of_the_judge_is_refused(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "judge"
    copy.mkdir()
    for name in ("judge.toml", "prompt.md"):
        (copy / name).write_bytes((folder / "hard/judge" / name).read_bytes())
    pairs = ("--pairs", folder / "new.jsonl", "--out", tmp_path / "a")
    assert "goes without --prompt" in recuse("audit", "--judge-config", copy, "--prompt", "pairwise/json", *pairs).err
    (copy / "prompt.md").write_text((copy / "prompt.md").read_text().replace("correct", "pretty"))
    said = recuse("audit", "--judge-config", copy, *pairs)
    assert said.code == 2
    assert "is not the prompt that was tested" in said.err
    assert "holds no judge" in recuse("audit", "--judge-config", tmp_path, *pairs).err
    (copy / "judge.toml").write_text("schema = 1\n[judge]\njudge = 3\n")
    assert "field 'judge.judge'" in recuse("audit", "--judge-config", copy, *pairs).err


def test_a_rule_over_two_calls_is_said_to_be_one(folder: Path, tmp_path: Path) -> None:
    (folder / "two.toml").write_text(
        'primary = "position.consistency"\n[[variants]]\nid = "both"\ntie_on_disagreement = true\n'
    )
    done = harden(folder, "--out", tmp_path / "h", variants="two.toml")
    assert done.out.startswith("both wins: position.consistency 1.000")
    said = recuse(
        "audit", "--judge-config", tmp_path / "h/judge", "--pairs", folder / "new.jsonl", "--out", tmp_path / "a"
    )
    assert said.code == 2
    assert "is a rule over several calls" in said.err
    assert "otherwise it is a tie" in said.err


def test_a_dry_run_counts_the_calls_and_makes_none(folder: Path, tmp_path: Path) -> None:
    done = harden(folder, "--dry-run", "--json", "--out", tmp_path / "h")
    assert {one["id"]: one["calls"] for one in done.json["rivals"]} == dict.fromkeys(
        ("present", "mended", "traded", "worse", "twin", "both", "warned"), 260 * 2 * 3
    )
    assert not (tmp_path / "h").exists()
    assert "Nothing was asked." in harden(folder, "--dry-run").out


def test_a_cap_on_cost_ends_the_run_and_a_higher_one_goes_on(folder: Path, tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text(f'[models]\n"{SWAYED}" = {{ input = 1.0, output = 1.0 }}\n')
    write_pairs(folder / "few.jsonl", 8, seed=9)
    (folder / "one.toml").write_text('[[variants]]\nid = "reasons"\nreasons_first = true\n')
    common = ("--out", tmp_path / "h", "--prices", prices)
    stopped = harden(folder, *common, "--max-cost", 0.00005, pairs="few.jsonl", variants="one.toml")
    assert stopped.code == 4
    assert not (tmp_path / "h/findings.json").exists()
    assert harden(folder, *common, "--max-cost", 9, pairs="few.jsonl", variants="one.toml").code == 0
    assert "Nothing wins among 1 variant" in json.loads((tmp_path / "h/findings.json").read_text())["headline"]
    assert not (tmp_path / "h/judge").exists()


def test_people_and_panels_and_blinding_are_compared_too(folder: Path, tmp_path: Path) -> None:
    pairs = write_pairs(folder / "named.jsonl", 40, seed=11, who=["Anna Weber"])
    rows = [json.loads(line) for line in pairs.read_text().splitlines()]
    labels = tmp_path / "labels.jsonl"
    labels.write_text(
        "".join(
            json.dumps({k: r[k] for k in ("prompt", "chosen", "rejected")} | {"label": "chosen"}) + "\n" for r in rows
        )
    )
    (folder / "three.toml").write_text(
        '[[variants]]\nid = "blinded"\nblind = { names = "who" }\n'
        f'[[variants]]\nid = "panel"\npanel = ["{PLAIN}", "fake/skill=1.4,seed=2", "fake/skill=1.4,seed=3"]\n'
        '[[variants]]\nid = "shown"\nreference = true\n'
    )
    done = harden(
        folder, "--human", labels, "--out", tmp_path / "h", "--json", pairs="named.jsonl", variants="three.toml"
    )
    assert done.code == 0, done.err
    # The fake judge does not read names: blinding these texts changes nothing that it says.
    assert {f["estimate"] for f in done.variant("blinded")["findings"]} == {0.0}
    kappa = done.cell("panel", "calibration.kappa")
    assert kappa["estimate"] == pytest.approx(done.cell("panel", "agreement.kappa")["estimate"])
    assert done.variant("panel")["effort"]["calls"] == 3
    assert done.variant("shown")["prompt"] == "pairwise/label_reference"
    assert any("a panel hides no bias" in note for note in done.json["notes"])


@pytest.mark.parametrize(
    ("variants", "pairs", "says"),
    [
        (f'primary = "accuracy"\n{ONE}', "new.jsonl", "there is no measure 'accuracy'"),
        (f'primary = "bias.authority.effect"\n{ONE}', None, "by which that bias was selected"),
        (f'[margins]\n"x" = 0.1\n{ONE}', "new.jsonl", "field 'margins'"),
        ('[[variants]]\nid = "a"\nlibrary = ["nonsense"]', "new.jsonl", "Variant 'a': there is no bias 'nonsense'"),
        ('[[variants]]\nid = "a"\nprompt = "nowhere.md"', "new.jsonl", "There is no prompt 'nowhere.md'"),
        ('[[variants]]\nid = "a"\njudge = "nobody"', "new.jsonl", "'nobody' does not name a judge"),
        (f'{ONE}\nprompt = "pointwise/score"\ntie_on_disagreement = true', "new.jsonl", "shows both answers"),
        ('[[variants]]\nid = "a"\nprompt = "pairwise/json"\nreference = true', "new.jsonl", "has no {{reference}}"),
        ('[[variants]]\nid = "a"\nblind = { names = "who" }', "new.jsonl", "no column 'who'"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_gets_one_sentence(
    variants: str, pairs: str | None, says: str, folder: Path, tmp_path: Path
) -> None:
    (folder / "bad.toml").write_text(variants)
    done = harden(folder, "--out", tmp_path / "h", pairs=pairs, variants="bad.toml")
    assert (done.code, done.out) == (2, "")
    assert says in done.err
    assert not (tmp_path / "h/findings.json").exists()


def test_runs_that_lend_nothing_and_pairs_without_references_are_named(folder: Path, tmp_path: Path) -> None:
    bare = folder / "bare.jsonl"
    bare.write_text('{"prompt": "q", "chosen": "a", "rejected": "b"}\n')
    (folder / "ref.toml").write_text('[[variants]]\nid = "a"\nreference = true\n')
    assert "has no reference answer" in harden(folder, pairs="bare.jsonl", variants="ref.toml").err
    assert "There is no run at" in recuse("harden", "--judge", PLAIN, "--like", tmp_path).err
    few = ("--judge", PLAIN, "--pairs", folder / "seen.jsonl", "--limit", 20, "-q")
    recuse("audit", *few, "--out", tmp_path / "a")
    assert "tested no bias" in recuse("harden", "--judge", PLAIN, "--like", tmp_path / "a").err
    recuse("audit", *few, "--biases", "authority", "--shams", 5, "--out", tmp_path / "b")
    assert "confirmed no bias" in recuse("harden", "--judge", PLAIN, "--like", tmp_path / "b").err
    assert "Give --judge and --like" in recuse("harden", "--judge", PLAIN).err


def test_the_pairs_of_an_audit_may_serve_with_a_caution(folder: Path, tmp_path: Path) -> None:
    (folder / "plain.toml").write_text(f'[[variants]]\nid = "mended"\njudge = "{PLAIN}"\n')
    done = harden(folder, "--out", tmp_path / "h", "--json", pairs=None, variants="plain.toml")
    assert done.code == 0, done.err
    assert done.json["winner"] is None
    assert any("The biases were selected on some of these pairs" in note for note in done.json["notes"])
    # The same texts by the same judge: the effect is the one that the audit reported.
    (effect,) = (
        f
        for f in json.loads((folder / "run/findings.json").read_text())["findings"]
        if f["id"] == "bias.authority.effect"
    )
    assert done.cell("mended", "bias.authority.effect")["present"] == pytest.approx(effect["estimate"])
    assert done.json["usage"]["judge"]["calls"] < 120 * 2 * 3 * 2  # the present judge's replies are lent


@pytest.fixture(scope="module")
def discovered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_source(tmp_path_factory.mktemp("found"))
    models = ("--judge", "python/texts_world:judge", "--teacher", "python/texts_world:teacher")
    done = recuse("discover", *models, "--pairs", folder / "pairs.jsonl", "--group", "group", "--library",
                  folder / "library", "--rounds", 1, "--shams", 5, "--out", folder / "run", "-q")  # fmt: skip
    assert done.code == 0, done.err
    return folder


def test_a_discovery_lends_its_test_part_and_its_rewrites(discovered: Path, tmp_path: Path) -> None:
    (tmp_path / "v.toml").write_text('[[variants]]\nid = "reasons"\nreasons_first = true\n')
    common = ("--judge", "python/texts_world:judge", "--like", discovered / "run", "--variants", tmp_path / "v.toml")
    done = recuse("harden", *common, "--out", tmp_path / "h", "--json")
    assert done.code == 0, done.err
    assert done.json["usage"]["teacher"]["calls"] == 0
    asked = sqlite3.connect(tmp_path / "h/ledger.sqlite").execute("SELECT DISTINCT pair FROM replies").fetchall()
    by_prompt = {p.prompt: p for p in PAIRS}
    parts = split(PAIRS, seed=0)
    tested = {p.prompt for p in parts.test}
    rows = [json.loads(line) for line in (discovered / "pairs.jsonl").read_text().splitlines()]
    assert len(asked) == len(tested) == len([r for r in rows if r["prompt"] in tested and r["prompt"] in by_prompt])
    effect = next(f for f in done.variant("reasons")["findings"] if ".effect" in f["id"])
    # What the discovery states of its test part, from the same texts and replies.
    found = json.loads((discovered / "run/findings.json").read_text())["candidates"]
    stated = next(f for c in found for f in c["findings"] if f["id"] == effect["id"].removeprefix("reasons:"))
    assert effect["present"] == pytest.approx(stated["estimate"])
    assert done.variant("reasons")["prompt"] == "pairwise/reason"


def test_pairs_that_a_discovery_searched_stay_out(discovered: Path, tmp_path: Path) -> None:
    (tmp_path / "v.toml").write_text('[[variants]]\nid = "reasons"\nreasons_first = true\n')
    searched = tmp_path / "copy.jsonl"
    rows = [json.loads(line) for line in (discovered / "pairs.jsonl").read_text().splitlines()]
    parts = split(PAIRS, seed=0)
    looked = {p.prompt for p in (*parts.discovery, *parts.validation)}
    searched.write_text("".join(json.dumps(r) + "\n" for r in rows if r["prompt"] in looked))
    common = ("--judge", "python/texts_world:judge", "--like", discovered / "run", "--variants", tmp_path / "v.toml")
    done = recuse("harden", *common, "--pairs", searched, "--out", tmp_path / "h")
    assert done.code == 2
    assert "in which the biases were found" in done.err
    said = recuse("harden", *common, "--pairs", discovered / "pairs.jsonl", "--limit", 5, "--out", tmp_path / "h")
    assert "read as it read them. Leave --limit out." in said.err


def test_the_words_of_both_planted_biases_come_from_the_edits() -> None:
    """Guards the world: the traded judge likes what the bandwagon edit brings, not what the authority edit does."""
    from world import world_pairs

    from recuse.perturb.edits import apply_edit

    def words(edit: str) -> set[str]:
        return {w.strip(".,:;").casefold() for p in world_pairs(40) for w in apply_edit(edit, p, seed=0).split()}

    liked = set(BANDWAGON.casefold().split("|"))
    assert words("bandwagon") & liked
    assert not words("authority") & liked
