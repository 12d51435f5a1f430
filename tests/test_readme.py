"""Every command and example of the README works as it stands; providers are stood in for by servers on loopback."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from loopback import LoopbackServer, Seen, chat, reply

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
# Run elsewhere: `.ci/run` runs make demo and make test and installs the wheel; engine tests run the engines' lines.
ELSEWHERE = re.compile(r"^(make |pip |export |recuse audit --judge (vllm|hf|hf-reward|llamacpp)/)")


def _blocks(language: str) -> list[tuple[str, str]]:
    """(what the comment before it says, content) of every fenced block in `language`."""
    found = re.findall(rf"(?:<!-- ([^\n]*) -->\n)?```{language}\n(.*?)```", README, re.DOTALL)
    return [(note, content) for note, content in found]


def _commands() -> list[str]:
    blocks = [block for note, block in _blocks("bash") if note != "elsewhere"]  # what needs a provider or hours
    lines = [line.split("  #")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line and not ELSEWHERE.match(line)]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("readme")
    for language in ("json", "python", "toml"):
        for note, content in _blocks(language):
            if note.startswith("file: "):
                (folder / note.removeprefix("file: ")).write_text(content)
    return folder


def _judge(seen: Seen) -> object:
    return reply(
        chat(
            "A",
            tokens=[("A", {"A": -0.1, "B": -2.5})],
            usage={"prompt_tokens": 90, "completion_tokens": 1, "total_tokens": 91},
        )
    )


def test_every_command_runs_in_the_order_of_the_readme(place: Path) -> None:
    commands = _commands()
    assert len(commands) >= 9
    with LoopbackServer(_judge) as server:  # type: ignore[arg-type]
        environment = {**os.environ, "OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": server.openai_url}
        for command in commands:
            words = shlex.split(command.replace("http://127.0.0.1:8000/v1", server.openai_url))
            assert words[0] == "recuse"
            done = subprocess.run(
                [sys.executable, "-m", *words], cwd=place, env=environment, capture_output=True, text=True, check=False
            )
            outcomes = (0, 1, 3) if words[1] in ("audit", "calibrate", "gate") and "--dry-run" not in words else (0,)
            assert done.returncode in outcomes, f"{command}\n{done.stdout}\n{done.stderr}"
    assert (place / "replies.parquet").is_file()
    for run in ("mini", "served", "chain", "recorded"):
        assert (place / "runs" / run / "findings.json").is_file()


def test_the_python_example_runs(place: Path) -> None:
    (example,) = [content for note, content in _blocks("python") if note == "run"]
    done = subprocess.run([sys.executable, "-c", example], cwd=place, capture_output=True, text=True, check=True)
    assert "accuracy.error_rate 0.5 " in done.stdout


def test_every_finding_that_the_readme_names_exists() -> None:
    from test_audits_by_hand import ROWS, found, table

    named = set(re.findall(r"`((?:accuracy|position|length|stability|failures)\.[a-z_]+)`", README))
    assert len(named) >= 9
    named.remove("length.kept")  # of a teacher's rewrites: held by test_discovery_loop
    assert named <= set(found(table(ROWS)))


def test_every_file_that_the_readme_links_to_exists() -> None:
    links = re.findall(r"\]\(([^)h#][^)]*)\)", README)
    assert links
    assert [link for link in links if not (Path(__file__).parent.parent / link).exists()] == []
