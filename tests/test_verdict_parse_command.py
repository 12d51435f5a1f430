"""`recuse parse`, through the command line's own parser."""

from __future__ import annotations

import json
from math import log
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from recuse.cli.parse import parse
from recuse.errors import InputError, UsageError

app = typer.Typer()
app.command()(parse)


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def written(tmp_path: Path, *rows: object) -> str:
    path = tmp_path / "replies.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def test_each_reply_is_a_line_with_its_verdict_and_the_reason_for_it(tmp_path: Path) -> None:
    path = written(tmp_path, {"text": "[[A]]"}, {"text": "I'm sorry, I can't help."}, {"text": "[[A]] no, [[B]]"})
    lines = run(path, "--format", "bracket").splitlines()
    assert lines[0] == "1\tA\tthe tag [[A]]"
    assert [line.split("\t")[1] for line in lines[1:3]] == ["refused", "conflicting"]
    assert lines[3] == "3 replies: A 1, conflicting 1, refused 1"


def test_json_output_is_one_object(tmp_path: Path) -> None:
    path = written(tmp_path, {"raw": "8 9"}, {"raw": "8 11"}, {"raw": "8", "finish_reason": "length"})
    shown = json.loads(run(path, "--format", "number_pair", "--field", "raw", "--scale", "0,10", "--json"))
    assert (shown["schema"], shown["format"]) == (1, "number_pair")
    assert shown["counts"] == {"B": 1, "no_verdict": 1, "truncated": 1}
    first = shown["replies"][0]
    assert (first["row"], first["outcome"], first["scores"], first["reason"]) == (1, "B", [8.0, 9.0], None)
    assert "off the scale" in shown["replies"][1]["why"]


def test_labels_and_recorded_probabilities_are_used(tmp_path: Path) -> None:
    tokens = [{"token": "m", "logprob": log(0.2)}, {"token": "M", "logprob": log(0.6)}]
    path = written(tmp_path, {"text": "m", "top_logprobs": tokens}, {"text": "x"})
    shown = json.loads(run(path, "--format", "label", "--first", "m", "--second", "M", "--json"))
    assert shown["replies"][0]["p_first"] == pytest.approx(0.25)
    assert [reply["outcome"] for reply in shown["replies"]] == ["B", None]


def test_the_recorded_finish_is_heeded_in_the_words_of_several_providers(tmp_path: Path) -> None:
    words = ["content_filter", "SAFETY", "content management policy", "max_tokens", "error", "end_turn"]
    path = written(tmp_path, *({"text": "", "finish_reason": word} for word in words))
    shown = json.loads(run(path, "--format", "label", "--json"))
    expected = ["refused", "refused", "refused", "truncated", "error", "no_verdict"]
    assert [reply["reason"] for reply in shown["replies"]] == expected


def test_a_text_file_holds_one_reply_a_line(tmp_path: Path) -> None:
    path = tmp_path / "replies.txt"
    path.write_text("A\n\nVerdict: B\n", encoding="utf-8")
    shown = json.loads(run(str(path), "--format", "label", "--json"))
    assert [(reply["row"], reply["outcome"]) for reply in shown["replies"]] == [(1, "A"), (2, None), (3, "B")]


def test_replies_stored_as_parsed_json_are_read_as_json(tmp_path: Path) -> None:
    path = written(tmp_path, {"raw": {"verdict": "B"}}, {"raw": None})
    shown = json.loads(run(path, "--format", "json_verdict", "--field", "raw", "--json"))
    assert [reply["outcome"] for reply in shown["replies"]] == ["B", None]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"text": "A"}\n{"txt": "B"}\n', r"replies\.jsonl, row 2, field 'text': .*txt.*--field"),
        (b'{"text": "A"}\n{"text": \n', r"replies\.jsonl, row 2: not JSON"),
        (b'{"text": "A"}\n"\xff"\n', r"replies\.jsonl, row 2: not UTF-8"),
        (b"[1]\n", r"row 1: neither an object nor a text"),
        (b"\n", r"replies\.jsonl: no rows"),
        (b'{"text": "A", "logprobs": [1]}\n', r"row 1, field 'logprobs'"),
    ],
)
def test_a_bad_file_is_named_with_row_and_field(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "replies.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        run(str(path), "--format", "label")


def test_a_missing_file_a_directory_an_unknown_format_and_a_bad_scale_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        run(str(tmp_path / "none.jsonl"), "--format", "label")
    with pytest.raises(InputError, match="a directory"):
        run(str(tmp_path), "--format", "label")
    path = written(tmp_path, {"text": "A"})
    with pytest.raises(UsageError, match=r"'labels'.*verdict_line"):
        run(path, "--format", "labels")
    for scale in ("10", "5,5", "a,b", "1,2,3"):
        with pytest.raises(UsageError, match="scale"):
            run(path, "--format", "score", "--scale", scale)
