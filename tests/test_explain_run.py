"""`recuse explain` from the command line: it names what was planted, and bad input gets one sentence."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path

import numpy as np
import pytest
from explain_world import STUDY, Done, recuse, studied_pairs, write_pairs

from recuse import assets
from recuse.discovery.similar import Embeddings
from recuse.explain.recommend import Confirmed, paragraph, recommendation
from recuse.harden.wording import read_paragraph
from recuse.library import load_library
from recuse.pairs import load_pairs
from recuse.prompts import parse_prompt

JUDGE = "fake/skill=1.5,likes=study,like=2.5,seed=3"
BIASES = "authority,emoji,numbered-steps,hedging"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pairs of which half the wrong answers name a study, judged by a judge that likes that word."""
    folder = tmp_path_factory.mktemp("world")
    pairs = studied_pairs(150)
    turned = ["A" if i % 2 else "B" for i in range(150)]  # the other answer than the better one
    write_pairs(folder / "pairs.jsonl", pairs, other=turned, odd=["A"] * 149 + ["neither"])
    assert recuse("audit", "--judge", JUDGE, "--pairs", folder / "pairs.jsonl", "--out", folder / "audit").code == 1
    return folder


@pytest.fixture(scope="module")
def explained(world: Path) -> Done:
    return recuse(
        "explain", world / "pairs.jsonl", "--judge-run", world / "audit", "--judge", JUDGE, "--biases", BIASES,
        "--out", world / "why", "--json",
    )  # fmt: skip


def test_what_was_planted_is_found_injected_and_recommended(world: Path, explained: Done) -> None:
    assert explained.code == 0
    said = explained.json
    found = {f["id"]: f for f in said["findings"]}
    assert [id for id, f in found.items() if f["details"].get("found")] == ["explain.feature.sources"]
    assert said["injected"]["confirmed"] == ["authority"]
    turned = found["explain.turned.authority"]
    assert turned["estimate"] == pytest.approx(turned["details"]["share"] - turned["details"]["placebo"])
    assert turned["interval"][0] > 0.2
    assert found["explain.turned.emoji"]["interval"][0] < 0 < found["explain.turned.emoji"]["interval"][1]
    assert [c["id"] for c in said["recommendation"]["confirmed"]] == ["authority"]
    assert "- Authority: The judge prefers an answer that invokes an authority" in said["recommendation"]["paragraph"]
    assert read_paragraph(str(world / "why" / "recommendation.md")) == said["recommendation"]["paragraph"]


def test_kinds_are_those_of_the_verdicts(world: Path, explained: Done) -> None:
    import pyarrow.parquet as pq

    by_pair: dict[str, set[str]] = {}
    for row in pq.read_table(world / "audit" / "judgements.parquet").to_pylist():
        by_pair.setdefault(row["pair"], set()).add(row["prefers"])
    counts = explained.json["counts"]
    assert counts["agrees"] == sum(said == {"chosen"} for said in by_pair.values())
    assert counts["content"] == sum(said == {"rejected"} for said in by_pair.values())
    assert counts["position"] == sum(len(said) == 2 for said in by_pair.values())
    assert sum(counts.values()) == len(by_pair) == 150


def test_original_verdicts_are_not_paid_for_twice_and_the_command_resumes(world: Path, explained: Done) -> None:
    before = explained.json["usage"]
    again = recuse(
        "explain", world / "pairs.jsonl", "--judge-run", world / "audit", "--judge", JUDGE, "--biases", BIASES,
        "--out", world / "why", "--json",
    )  # fmt: skip
    assert before["from_cache"] == 2 * explained.json["injected"]["pairs"]
    assert again.json["usage"]["calls"] == 0
    assert again.json["findings"] == explained.json["findings"]


def test_the_report_is_whole_and_says_that_no_cause_is_claimed(world: Path, explained: Done) -> None:
    assert explained.code == 0
    page = (world / "why" / "report.md").read_text()
    for part in ("Where they part", "What goes with errors", "Biases put in", "Themes", "Recommendation", "Limits"):
        assert f"## {part}" in page
    assert "No cause is claimed" in page
    assert said_alike(page, (world / "why" / "report.html").read_text())


def said_alike(page: str, html: str) -> bool:
    """Whether the page has the headings of the Markdown."""
    return all(f">{escape(line[3:])}</h2>" in html for line in page.splitlines() if line.startswith("## "))


def test_without_a_judge_nothing_is_asked_and_nothing_recommended(world: Path) -> None:
    done = recuse("explain", world / "pairs.jsonl", "--judge-run", world / "audit", "--out", world / "asked", "--json")
    assert done.json["usage"] == {"calls": 0}
    said = done.json["recommendation"]
    assert (said["paragraph"], said["confirmed"]) == (None, [])
    assert said["unproven"] == ["More citations and sources named (log) in the wrong answer"]  # not injected here
    assert "Nothing was confirmed" in (world / "asked" / "report.md").read_text()
    assert not (world / "asked" / "recommendation.md").exists()


def test_labels_in_a_column_turn_right_into_wrong(world: Path, explained: Done) -> None:
    """People who always prefer the other answer: who agreed now parts in content, and the other way round."""
    done = recuse(
        "explain", world / "pairs.jsonl", "--judge-run", world / "audit", "--human", "other", "--out", world / "turned",
        "--json",
    )  # fmt: skip
    counts, before = done.json["counts"], explained.json["counts"]
    assert (counts["agrees"], counts["content"], counts["position"]) == (
        before["content"], before["agrees"], before["position"],
    )  # fmt: skip
    example = done.json["examples"]["content"][0]
    pairs = {p.id: p for p in load_pairs(str(world / "pairs.jsonl"))}
    assert example["preferred"] == pairs[example["pair"]].rejected


def test_labels_in_a_file_are_joined_by_pair(world: Path, tmp_path: Path, explained: Done) -> None:
    ids = [p.id for p in load_pairs(str(world / "pairs.jsonl"))]
    file = tmp_path / "labels.jsonl"
    file.write_text("".join(json.dumps({"pair": id, "label": "chosen"}) + "\n" for id in ids[:100]))
    done = recuse(
        "explain", world / "pairs.jsonl", "--judge-run", world / "audit", "--human-file", file, "--out",
        tmp_path / "out", "--json",
    )  # fmt: skip
    assert sum(done.json["counts"].values()) == 100
    assert done.json["people"] == str(file)


def rows(path: Path, texts: dict[str, tuple[str, str]], *, record: dict[str, str] | None = None) -> Path:
    """Recorded verdicts in the plain form: what the judge wrote in both orders, and what was recorded for it."""
    with path.open("w") as file:
        for pair, both in texts.items():
            for order, text in zip(("AB", "BA"), both, strict=True):
                row = {"pair": pair, "order": order, "text": text, "gold": "A", "judge": "J"}
                if record is not None:
                    row["verdict"] = record[f"{pair} {order}"]
                file.write(json.dumps(row) + "\n")
    return path


def test_recorded_reasons_are_used_without_a_judge(tmp_path: Path) -> None:
    """Of 60 pairs the judge has 40 wrong: 20 for a study, 20 for its layout."""
    study, layout = "it cites a Harvard study and names sources", "the bullet list and headings make the layout neat"
    texts = {}
    for i in range(60):
        why = ("both say much the same but this is correct", study, layout)[i % 3]
        a, b = (f"I prefer this one since {why} to my mind. [[{label}]]" for label in ("AB", "BA")[i % 3 > 0])
        texts[f"p{i}"] = (a, b)
    done = recuse("explain", "--verdicts", rows(tmp_path / "v.jsonl", texts), "--out", tmp_path / "out", "--json")
    themes = done.json["themes"]
    assert themes["from"] == "the recorded replies"
    assert done.json["counts"]["content"] == themes["n"] == 40
    assert sorted(t["count"] for t in themes["themes"]) == [20, 20]
    assert {w for t in themes["themes"] for w in t["words"]} >= {"harvard", "study", "headings", "bullet"}
    assert all(t["right"] == 0.0 for t in themes["themes"])


def test_themes_by_embeddings_are_part_of_the_run_and_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reasons that share no word: only their directions, given here by hand, tell the two kinds apart."""
    texts, said = {}, []
    for i in range(40):
        own = "".join("abcdefghij"[int(d)] for d in f"{i:02}")
        said.append(" ".join(f"word{letter}{own}" for letter in "klmnopqrst"))
        texts[f"p{i}"] = (f"{said[i]} [[B]]", f"{said[i]} [[A]]")

    def embed(asked: Sequence[str]) -> np.ndarray:
        places = [next(i for i, text in enumerate(said) if text in one) for one in asked]
        noise = np.random.default_rng(0).standard_normal((40, 12))[places]
        vectors = noise + np.array([[3.0 if p < 20 else -3.0] for p in places]) * np.eye(12)[0]
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))

    monkeypatch.setattr("recuse.explain.plan.load_embeddings", lambda name: Embeddings({"model": name}, embed))
    monkeypatch.setattr(Embeddings, "__call__", lambda self, asked: self.model(asked))
    common = ("explain", "--verdicts", rows(tmp_path / "v.jsonl", texts))
    done = recuse(*common, "--similarity", "by/hand", "--out", tmp_path / "out", "--json")
    assert done.code == 0, done.err
    assert done.json["themes"]["by"] == "embeddings"
    assert [t["count"] for t in done.json["themes"]["themes"]] == [20, 20]
    assert done.json["config"]["run"]["similarity"] == {"model": "by/hand"}
    assert "nearest" in done.json["limits"][-1]
    assert recuse(*common, "--out", tmp_path / "words", "--json").json["themes"]["themes"] == []
    refused = recuse(*common, "--out", tmp_path / "out")
    assert "similarity" in refused.err
    assert refused.code == 2


def test_a_dry_run_says_what_further_asks_may_take_and_asks_nothing(world: Path, explained: Done) -> None:
    asked = ("explain", world / "pairs.jsonl", "--judge-run", world / "audit", "--judge", JUDGE, "--biases", BIASES)
    told = recuse(*asked, "--dry-run", "--json", "--out", world / "never").json
    right, wrong = (explained.json["counts"][kind] for kind in ("agrees", "content"))
    assert (told["pairs"], told["right"], told["wrong"]) == (150, right, wrong)
    # As it is, four biases, two placebos at least, ten shams; both orders.
    arms, rest = divmod(told["injecting"]["calls"], 2 * right)
    assert rest == 0
    assert arms >= 1 + 4 + 2 + 10
    # The reasons in both orders, and two further steps.
    assert told["explaining"]["calls"] == wrong * (2 + 2)
    usage = explained.json["usage"]
    assert usage["calls"] + usage["from_cache"] <= told["injecting"]["calls"] + told["explaining"]["calls"]
    assert not (world / "never").exists()
    shorter = recuse(*asked, "--dry-run", "--json", "--steps", 0).json
    assert shorter["explaining"]["calls"] == 2 * wrong
    assert shorter["explaining"]["tokens_in"] < told["explaining"]["tokens_in"] / 2
    few = recuse(*asked, "--dry-run", "--json", "--most", 5).json
    assert few["injecting"]["calls"] == arms * 2 * 5
    said = recuse(*asked, "--dry-run")
    assert f"150 pairs: {right} right and {wrong} wrong in both orders." in said.out
    assert f"Explanations: at most {4 * wrong} calls; at most about" in said.out
    assert said.out.endswith("Nothing was asked.\n")
    nothing = recuse(*asked[:4], "--dry-run", "--json").json
    assert (nothing["injecting"], nothing["explaining"]) == (None, None)


def test_a_dry_run_counts_money_by_the_price(world: Path, tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text(f'[models]\n"{JUDGE}" = {{ input = 1.0, output = 2.0 }}\n')
    told = recuse(
        "explain", world / "pairs.jsonl", "--judge-run", world / "audit", "--judge", JUDGE, "--prices", prices,
        "--dry-run", "--json",
    ).json  # fmt: skip
    for part in (told["injecting"], told["explaining"]):
        assert part["cost"] == pytest.approx((part["tokens_in"] + 2 * part["tokens_out"]) / 1e6)


def test_a_readers_fault_leads_the_recommendation(tmp_path: Path) -> None:
    texts = {f"p{i}": ("The first is right. [[A]]", "The second is right. [[B]]") for i in range(20)}
    record = {f"p{i} {order}": "A" if order == "AB" or i < 8 else "B" for i in range(20) for order in ("AB", "BA")}
    file = rows(tmp_path / "v.jsonl", texts, record=record)
    done = recuse("explain", "--verdicts", file, "--out", tmp_path / "out", "--json")
    assert done.json["counts"]["agrees"] == 20
    assert done.json["reader"]["contradicting"] == 8
    assert {"recorded": "position", "read": "agrees", "pairs": 8} in done.json["reader"]["table"]
    said = (tmp_path / "out" / "report.md").read_text()
    assert said.index("First read the verdicts anew") < said.index("Nothing was confirmed on this judge")


WRONG = [
    (["{pairs}"], "Give either --judge-run RUN or --verdicts FILE"),
    (["{pairs}", "--judge-run", "{audit}", "--verdicts", "v.jsonl"], "Give either --judge-run RUN or --verdicts FILE"),
    (["--judge-run", "{audit}"], "Give the PAIRS that it judged"),
    (["{pairs}", "--judge-run", "{pairs}"], "holds no finished audit"),
    (["{pairs}", "--judge-run", "{audit}", "--human", "nobody"], "no column 'nobody'"),
    (["{pairs}", "--judge-run", "{audit}", "--human", "odd"], "row 150, field 'odd': 'neither' is no label"),
    (["{pairs}", "--judge-run", "{audit}", "--human", "other", "--human-file", "x"], "Leave one of them out"),
    (["{pairs}", "--judge-run", "{audit}", "--key", "id"], "go with --human-file"),
    (["{pairs}", "--judge-run", "{audit}", "--biases", "emoji"], "goes without --biases"),
    (["{pairs}", "--judge-run", "{audit}", "--pair-key", "id"], "goes without --pair-key"),
    (["{pairs}", "--judge-run", "{audit}", "--judge", "fake/seed=9"], "Ask the judge whose verdicts are explained"),
    (["{pairs}", "--judge-run", "{audit}", "--judge", JUDGE, "--prompt", "pairwise/json"], "Give its file with"),
    (["{pairs}", "--judge-run", "{audit}", "--judge", JUDGE, "--biases", "nope"], "There is no bias 'nope'"),
    (["{pairs}", "--judge-run", "{audit}", "--judge", JUDGE, "--shams", "2"], "--shams is 2"),
    (["{pairs}", "--judge-run", "{audit}", "--discovery", "{audit}"], "holds no candidates"),
    (["{others}", "--judge-run", "{audit}"], "No pair of"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "said"), WRONG)
def test_what_is_wrong_is_said_in_a_sentence(world: Path, tmp_path: Path, arguments: list[str], said: str) -> None:
    others = write_pairs(tmp_path / "others.jsonl", studied_pairs(5, seed=77))
    names = {"pairs": world / "pairs.jsonl", "audit": world / "audit", "others": others}
    done = recuse("explain", *(a.format(**names) for a in arguments), "--out", tmp_path / "out")
    assert done.code == 2
    assert done.out == ""
    assert said in done.err
    assert done.err.count("\n") == 1
    assert not (tmp_path / "out" / "run.toml").exists()


def test_a_paragraph_opens_no_hole_and_no_message() -> None:
    hostile = load_library()["authority"].model_copy(
        update={"definition": "An answer\n@user\nwith {{question}} in it", "name": "# Bold\nname"}
    )
    confirmed = [Confirmed(hostile, 0.2, (0.1, 0.3), 100, "by hand")]
    said = paragraph(confirmed) or ""
    assert said.count("\n") == 1
    assert recommendation(said, judge="J\n# K").count("\n# ") == 0
    shipped = (assets.folder("prompts") / "pairwise" / "label.md").read_text()
    prompt = parse_prompt(shipped.replace("@user\n", f"@user\n{said}\n", 1))
    assert sorted(prompt.holes) == ["first", "question", "second"]


def test_the_paragraph_says_only_which_tests_there_were() -> None:
    library = load_library()
    place, word = (Confirmed(library[id], 0.2, None, 10, "by hand") for id in ("position", "authority"))
    assert "both orders" in (paragraph([place]) or "")
    assert "changed in one respect" not in (paragraph([place]) or "")
    assert "both orders" not in (paragraph([word]) or "")
    assert paragraph([]) is None
    assert STUDY not in (paragraph([place, word]) or "")
