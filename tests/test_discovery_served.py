"""A judge and a teacher behind HTTP servers, through the real SDK: what they say is found, in a storm as in a calm."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import texts_world
from loopback import Answer, LoopbackServer, Script, Seen, error
from texts_world import write_source

from recuse.cli import run
from recuse.ledger import Ledger

SHARED = ["--group", "group", "--rounds", "1", "--shams", "5", "--concurrency", "8", "--quiet"]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_source(tmp_path_factory.mktemp("source"))


@pytest.fixture(autouse=True)
def no_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def by_model(seen: Seen) -> str:
    return (texts_world.judge if seen.body["model"] == "judge" else texts_world.teacher)(seen.body["messages"])


def by_prompt(seen: Seen) -> str:
    """One model in both roles."""
    text = seen.text
    judged = "<answer_a>" in text or "You chose answer" in text
    return (texts_world.judge if judged else texts_world.teacher)(seen.body["messages"])


def throttled(calm: Script) -> Script:
    """Every request is refused at first, every third one twice."""

    def script(seen: Seen) -> Answer | str:
        if seen.attempt <= 1 + (sum(seen.text.encode()) % 3 == 0):
            return error(429, "slow down", headers={"Retry-After": "0.01"})
        return calm(seen)

    return script


def discover(source: Path, out: Path, judge: str, teacher: str, *addresses: str) -> Any:
    pairs = ["--pairs", str(source / "pairs.jsonl"), "--library", str(source / "library")]
    assert (
        run(["discover", "--judge", judge, "--teacher", teacher, *addresses, *pairs, *SHARED, "--out", str(out)]) == 0
    )
    return json.loads((out / "findings.json").read_text())


@pytest.fixture(scope="module")
def in_process(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the same judge and teacher come to as functions of this process."""
    names = ("python/texts_world:judge", "python/texts_world:teacher")
    return discover(source, tmp_path_factory.mktemp("in_process") / "run", *names)


def of_models(found: Any) -> Any:
    """All that does not depend on how the models were reached."""
    return found["headline"], found["candidates"], found["findings"], found["rounds"]


def rows(folder: Path, ledger: str) -> int:
    with closing(Ledger.existing(folder / ledger)) as kept:
        assert kept.verify() == []
        assert kept.totals()["fresh"] == len(kept)
        return len(kept)


@pytest.mark.parametrize("weather", ["calm", "throttled"])
def test_served_models_come_to_what_the_same_functions_do_and_each_reply_is_paid_once(
    weather: str, source: Path, tmp_path: Path, in_process: Any
) -> None:
    script: Callable[[Seen], Answer | str] = by_model if weather == "calm" else throttled(by_model)
    with LoopbackServer(script) as server:
        address = ("--base-url", server.openai_url, "--teacher-base-url", server.openai_url)
        found = discover(source, tmp_path / "run", "openai/judge", "openai/teacher", *address)
    assert in_process["candidates"][0]["fate"] == "accepted"
    assert of_models(found) == of_models(in_process)
    kept = {
        role: rows(tmp_path / "run", name) for role, name in (("judge", "ledger.sqlite"), ("teacher", "teacher.sqlite"))
    }
    for role, count in kept.items():
        assert found["usage"][role]["calls"] == count > 100
        asked = [seen for seen in server.seen if seen.body["model"] == role]
        if weather == "calm":
            assert len(asked) == count
        else:
            assert 2 * count < len(asked) < 3 * count


def test_the_teacher_is_asked_for_json_by_the_schema_of_its_prompt(source: Path, tmp_path: Path) -> None:
    with LoopbackServer(by_model) as server:
        address = ("--base-url", server.openai_url, "--teacher-base-url", server.openai_url)
        discover(source, tmp_path / "run", "openai/judge", "openai/teacher", *address)
    naming = [seen for seen in server.seen if "<explanation>" in seen.text]
    assert naming
    for seen in naming:
        assert seen.body["response_format"]["type"] == "json_schema"
        assert seen.body["response_format"]["json_schema"]["schema"]["required"] == ["bias"]
    assert not any("response_format" in seen.body for seen in server.seen if seen.body["model"] == "judge")


def test_one_served_model_can_judge_and_teach_itself(source: Path, tmp_path: Path, in_process: Any) -> None:
    with LoopbackServer(by_prompt) as server:
        found = discover(source, tmp_path / "run", "openai/one", "openai/one", "--base-url", server.openai_url)
    assert of_models(found)[1:3] == of_models(in_process)[1:3]
    assert {seen.body["model"] for seen in server.seen} == {"one"}


def test_two_servers_of_one_model_name_each_get_what_is_theirs(source: Path, tmp_path: Path, in_process: Any) -> None:
    with (
        LoopbackServer(lambda seen: texts_world.judge(seen.body["messages"])) as judges,
        LoopbackServer(lambda seen: texts_world.teacher(seen.body["messages"])) as teaches,
    ):
        address = ("--base-url", judges.openai_url, "--teacher-base-url", teaches.openai_url)
        found = discover(source, tmp_path / "run", "openai/one", "openai/one", *address)
    assert of_models(found)[1:3] == of_models(in_process)[1:3]
    assert len(judges.seen) == rows(tmp_path / "run", "ledger.sqlite")
    assert len(teaches.seen) == rows(tmp_path / "run", "teacher.sqlite")


def test_a_refused_key_ends_the_run_in_one_sentence_and_leaves_the_folder_free(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with LoopbackServer(lambda seen: error(401, "wrong key", code="invalid_api_key")) as server:
        address = ["--base-url", server.openai_url, "--teacher-base-url", server.openai_url]
        pairs = [
            "--pairs",
            str(source / "pairs.jsonl"),
            "--library",
            str(source / "library"),
            "--out",
            str(tmp_path / "r"),
        ]
        models = ["--judge", "openai/judge", "--teacher", "openai/teacher"]
        code = run(["discover", *models, *address, *pairs, *SHARED, "--concurrency", "1"])
    said = capsys.readouterr()
    assert (code, said.out, said.err.count("\n")) == (2, "", 1)
    assert "Traceback" not in said.err
    assert not (tmp_path / "r").exists()
