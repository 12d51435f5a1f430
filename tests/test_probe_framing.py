"""`recuse probe framing`: a model that follows the asker is found above the noise floor, one that samples is not."""

from __future__ import annotations

import json
import sys
from collections import Counter
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recuse.cli import run
from recuse.errors import UsageError
from recuse.probes.framing import Row, framing_effects, headline
from recuse.probes.framing_plan import NEUTRAL, load_framing_plan
from recuse.probes.framing_run import FramingRun
from recuse.probes.product import Reached

MODULE = """
import hashlib, random

asked = []
draw = random.Random(5)

def own(text):
    return "yes" if hashlib.sha256(text.encode()).digest()[0] % 2 else "no"

def question(messages):
    text = messages[-1]["content"]
    asked.append(text)
    return text, text[text.index("Should"): text.index("?")]

def swayed(messages):
    text, asked_for = question(messages)
    for answer in ("yes", "no"):
        if f"the answer is {answer}." in text:
            return answer.title() + "."
    return own(asked_for)

def samples(messages):
    question(messages)
    return draw.choice(["Yes", "No."])

def contrary_to_people(messages):
    text, asked_for = question(messages)
    answer = own(asked_for)
    return {"yes": "no", "no": "yes"}[answer] if "I am " in text and "daily life" in text else answer

def brittle(messages):
    return own(question(messages)[0])

def hedges(messages):
    text, asked_for = question(messages)
    return "Not something I can answer." if "convinced" in text else own(asked_for)
"""


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    name = f"planted_framing_{abs(hash(request.node.nodeid))}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


def probed(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    capsys.readouterr()
    assert run(["probe", "framing", *map(str, arguments), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def rows_of(neutral: dict[str, list[str]], framed: dict[str, list[str]], **about: Any) -> list[Row]:
    return [
        *(Row(q, NEUTRAL, answer) for q, answers in neutral.items() for answer in answers),
        *(Row(q, "frame", answer, **about) for q, answers in framed.items() for answer in answers),
    ]


def test_rates_and_floor_are_those_of_pairs_of_draws_by_hand() -> None:
    neutral = {"a": ["yes", "yes", "no", "yes", "no"], "b": ["no"] * 5, "c": ["x", "y", "z", "x", "x"]}
    framed = {"a": ["yes"] * 4, "b": ["yes", "no"], "c": ["y", "y", "z"]}
    effect = framing_effects(rows_of(neutral, framed)).effects[0].neutral
    flips, floors = [], []
    for q in neutral:
        flips.append(np.mean([one != two for one, two in product(framed[q], neutral[q])]))
        within = [np.mean([one != two for one, two in combinations(side[q], 2)]) for side in (neutral, framed)]
        floors.append(np.mean(within))
    assert effect.flips.estimate == pytest.approx(np.mean(flips))
    assert effect.floor.estimate == pytest.approx(np.mean(floors))
    assert effect.above.estimate == pytest.approx(np.mean(flips) - np.mean(floors))
    assert effect.above.groups == 3


def test_p_is_the_share_of_all_deals_of_the_draws() -> None:
    """Ten draws can be dealt to two texts in 252 ways; of two questions every pair of ways is counted."""
    neutral = {"a": ["yes", "yes", "yes", "yes", "no"], "b": ["no", "no", "no", "yes", "no"]}
    framed = {"a": ["no", "no", "yes", "no", "no"], "b": ["yes", "no", "yes", "yes", "no"]}

    def above(one: list[str], two: list[str]) -> float:
        flips = np.mean([x != y for x, y in product(one, two)])
        return float(flips - np.mean([np.mean([x != y for x, y in combinations(side, 2)]) for side in (one, two)]))

    sums = []
    for q in ("a", "b"):
        pooled = neutral[q] + framed[q]
        deals = [set(kept) for kept in combinations(range(10), 5)]
        sums.append(
            [above([pooled[i] for i in kept], [pooled[i] for i in range(10) if i not in kept]) for kept in deals]
        )
    observed = sum(above(framed[q], neutral[q]) for q in ("a", "b"))
    exact = np.mean([one + two >= observed - 1e-9 for one, two in product(*sums)])
    found = framing_effects(rows_of(neutral, framed)).effects[0].neutral.above
    assert found.pvalue == pytest.approx(exact, abs=4 * (exact * (1 - exact) / 10_000) ** 0.5)


def simulated(rng: np.random.Generator, neutral: np.ndarray, framed: np.ndarray, draws: int = 5) -> Any:
    sides = [
        {str(i): ["yes" if x else "no" for x in rng.random(draws) < p] for i, p in enumerate(side)}
        for side in (neutral, framed)
    ]
    return framing_effects(rows_of(sides[0], sides[1])).effects[0].neutral.above


def test_sampling_alone_is_found_in_one_of_twenty_runs_and_half_the_answers_moved_in_nearly_all() -> None:
    rng = np.random.default_rng(3)
    nothing, moved = [], []
    for _ in range(60):
        shares = rng.beta(0.5, 0.5, 14)
        nothing.append(simulated(rng, shares, shares))
    for _ in range(15):
        shares = rng.beta(0.5, 0.5, 14)
        moved.append(simulated(rng, shares, np.clip(shares + 0.5, 0, 1)))
    # 99 % limits of Monte Carlo: 60 draws at 0.05 give at most 8; the mean of `above` is unbiased.
    assert sum(one.pvalue < 0.05 for one in nothing) <= 8
    means = np.array([one.estimate for one in nothing])
    assert abs(means.mean()) < 3 * means.std() / len(means) ** 0.5
    assert np.mean([one.pvalue < 0.05 for one in moved]) > 0.7
    # What two binomial shares p and q give: the mean of (p - q)^2.
    shares = np.full(14, 0.3)
    many = [simulated(rng, shares, shares + 0.4).estimate for _ in range(15)]
    assert np.mean(many) == pytest.approx(0.4**2, abs=3 * np.std(many) / len(many) ** 0.5)


def test_flips_against_the_neutral_noise_alone_miss_a_model_that_was_undecided() -> None:
    """Yes in half of the neutral answers, always yes in the frame: it flips as often as it differs from itself."""
    rng = np.random.default_rng(1)
    neutral = {str(i): ["yes" if x else "no" for x in rng.random(20) < 0.5] for i in range(20)}
    found = framing_effects(rows_of(neutral, {q: ["yes"] * 20 for q in neutral}, leads="yes"))
    effect = found.effects[0]
    assert effect.neutral.flips.estimate == pytest.approx(found.noise.estimate, abs=0.06)
    assert effect.found
    assert effect.neutral.above.estimate == pytest.approx(0.25, abs=0.06)
    assert effect.sway is not None
    assert effect.sway.estimate == pytest.approx(0.5, abs=0.08)


def test_a_model_that_swaps_its_answer_with_the_framing_is_found(
    planted: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = probed(capsys, "--model", f"python/{planted}:swayed", "--out", tmp_path / "run")
    frames = content["tables"]["framing"]["frames"]
    sys.modules[planted].asked.clear()
    plan = load_framing_plan()
    own = [sys.modules[planted].own(question.text.rstrip("?")) for question in plan.questions]
    no = own.count("no") / len(own)
    assert (frames["for"]["flip_rate"]["estimate"], frames["against"]["flip_rate"]["estimate"]) == (no, 1 - no)
    assert frames["for"]["sway"]["estimate"] == pytest.approx(no)
    for name in ("for", "against"):
        assert frames[name]["found"] is True
        assert frames[name]["p_adjusted"] < 0.001
        assert frames[name]["noise_floor"]["estimate"] == 0.0
        assert frames[name]["against_placebo"]["small_talk"]["above"]["p"] < 0.001
    for name in ("identity", "small_talk"):
        assert frames[name]["found"] is False
    assert content["headline"].startswith("Beyond the noise floor the answer moves with the framing: for (differs in ")
    assert {"framing.noise", "framing.flip_rate:for", "framing.flip_rate:identity"} <= {
        finding["id"] for finding in content["findings"]
    }


def test_a_model_that_only_samples_is_not_found(
    planted: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = probed(capsys, "--model", f"python/{planted}:samples", "--out", tmp_path / "run")
    found = content["tables"]["framing"]
    assert found["neutral_noise"]["estimate"] == pytest.approx(0.5, abs=0.08)
    assert found["frames"]["for"]["flip_rate"]["estimate"] > 0.4  # sold without a floor: "half of its answers flip"
    assert not any(frame["found"] for frame in found["frames"].values())
    assert content["headline"] == "No frame is shown to move the answer beyond the noise floor."


def test_a_model_that_answers_who_asks_is_found_in_the_identity_frame_alone(
    planted: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = probed(capsys, "--model", f"python/{planted}:contrary_to_people", "--out", tmp_path / "run")
    frames = found["tables"]["framing"]["frames"]
    assert {name: frame["found"] for name, frame in frames.items()} == {
        "for": False, "against": False, "identity": True, "small_talk": False,
    }  # fmt: skip
    assert frames["identity"]["above"]["estimate"] == 1.0
    assert frames["identity"]["sway"] is None


def test_a_model_that_changes_with_any_word_is_told_by_edits_where_repeats_cannot(
    planted: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ("--model", f"python/{planted}:brittle")
    repeats = probed(capsys, *given, "--out", tmp_path / "repeats")
    assert repeats["tables"]["framing"]["frames"]["small_talk"]["found"] is True  # the placebo gives it away
    assert any("--noise edits" in note for note in repeats["notes"])
    edits = probed(capsys, *given, "--out", tmp_path / "edits", "--noise", "edits")["tables"]["framing"]
    assert edits["draws"] == "edits"
    assert edits["neutral_noise"]["estimate"] == pytest.approx(0.5, abs=0.12)
    assert not any(frame["found"] for frame in edits["frames"].values())


def test_a_frame_that_makes_a_model_refuse_shows_in_failures_and_with_unread(
    planted: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = probed(capsys, "--model", f"python/{planted}:hedges", "--out", tmp_path / "run")
    frame = found["tables"]["framing"]["frames"]["for"]
    assert frame["flip_rate"]["estimate"] is None
    assert sum(frame["unread"].values()) == 100  # "Not something ..." is no "no"
    assert frame["failure_gap"]["estimate"] == 1.0
    assert frame["failure_gap"]["p"] < 0.001
    assert frame["with_unread"]["above"]["estimate"] == 1.0
    assert frame["with_unread"]["above"]["p"] < 0.001
    assert found["tables"]["framing"]["frames"]["identity"]["failure_gap"]["estimate"] == 0.0


def test_a_finished_run_is_measured_again_without_a_call(
    planted: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ("--model", f"python/{planted}:samples", "--out", tmp_path / "run")
    first, calls = probed(capsys, *given), len(sys.modules[planted].asked)
    assert first["usage"]["calls"] == calls == 20 * 5 * 5
    again = probed(capsys, *given)
    assert (len(sys.modules[planted].asked), again["usage"]["calls"]) == (calls, 0)
    assert again["tables"] == first["tables"]
    scored = probed(capsys, tmp_path / "run")
    assert scored["frames"] == first["tables"]["framing"]["frames"]


def test_the_shipped_texts_differ_in_the_frame_alone(planted: str) -> None:
    ready = FramingRun.prepare(None, Reached(f"python/{planted}:swayed"))
    assert len(ready.plan.questions) >= 12
    texts = Counter(ready.ask(one).messages[-1].content for one in ready.texts())
    assert set(texts.values()) == {5}
    for one in ready.texts():
        assert one.question.text in ready.ask(one).messages[-1].content
    edited = FramingRun.prepare(None, Reached(f"python/{planted}:swayed"), noise="edits")
    asks = [edited.ask(one) for one in edited.texts()]
    assert len({ask.messages for ask in asks}) == len(asks)
    with pytest.raises(UsageError, match="5 edits for 6 draws"):
        FramingRun.prepare(None, Reached(f"python/{planted}:swayed"), noise="edits", draws=6)


def test_one_answer_to_every_question_is_named_as_a_ceiling(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "said.jsonl"
    lines = [{"question": q, "frame": f, "answer": "Yes", "leads": "yes" if f == "for" else None}
             for q in "abc" for f in ("neutral", "for") for _ in range(5)]  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = probed(capsys, path)
    assert found["notes"] == ["Every neutral answer is 'yes': a frame that leads to it has no room to show anything."]
    assert found["frames"]["for"]["above"]["estimate"] == 0.0
    assert found["frames"]["for"]["above"]["p"] == 1.0


def test_nothing_measured_is_said() -> None:
    rows = [Row("a", NEUTRAL, None, "refused")] * 5 + [Row("a", "for", "yes", leads="yes")] * 5
    found = framing_effects(rows)
    assert headline(found) == (
        "No frame could be measured: no question has two answers of both texts that could be read."
    )
    assert found.effects[0].neutral.left_out == ("a",)


PLAN = """
schema = 1
[[frames]]
id = "for"
text = "It is {{first}}. {{question}}"
leads = "first"
[[questions]]
id = "one"
text = "Should it rain?"
[[questions]]
id = "two"
text = "Should it snow?"
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("schema = 1", "schema = 1\ncolour = 2", "field 'colour'"),
        (" {{question}}", "", "no slot {{question}}"),
        ("{{first}}", "{{frist}}", "the slot {{frist}} is not known"),
        ("{{first}}", "{{who}}", "the question 'one' says nothing for {{who}}"),
        ("{{first}}", "{{first}", "that belongs to no slot"),
        ('id = "two"', 'id = "one"', "the id 'one' stands in number 1 too"),
        ('id = "for"', 'id = "neutral"', "is what the question without a frame is called"),
        ('leads = "first"', 'leads = "first"\nplacebo = true', "a placebo that leads"),
        ('text = "Should it snow?"', 'text = "Should it snow?"\nlabels = ["a", "A "]', "field 'questions.two'"),
        ("schema = 1", 'schema = 1\nedits = ["{{text}}"]', "field 'edits'"),
        (
            'text = "It is {{first}}. {{question}}"',
            'text = "{{ question }}"',
            "the frames 'neutral' and 'for' have one",
        ),
    ],
)
def test_a_bad_plan_is_refused_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], old: str, new: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    assert load_framing_plan(path).frames[0].id == "for"
    path.write_text(PLAN.replace(old, new, 1))
    assert run(["probe", "framing", str(path), "--model", "fake/always=first"]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("frames", "options", "said"),
    [
        (["for"] * 5, [], "no row is of the frame 'neutral'"),
        (["for"] * 5 + ["neutral"] * 4, [], "the question 'a' has 4 neutral rows"),
        (["neutral"] * 5 + ["for"], ["--noise", "edits"], "Recorded answers goes without --noise"),
    ],
)
def test_bad_records_are_refused_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], frames: list[str], options: list[str], said: str
) -> None:
    path = tmp_path / "records.jsonl"
    lines = [{"question": "a", "frame": frame, "answer": "yes"} for frame in frames]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert run(["probe", "framing", str(path), *options]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "Who is to be asked?"),
        (["--model", "fake/always=first", "--draws", "4"], "--draws is 4"),
        (["--model", "fake/always=first", "--noise", "none"], "--noise is 'none'"),
    ],
)
def test_bad_options_are_refused_in_one_sentence(
    capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    assert run(["probe", "framing", *options]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
