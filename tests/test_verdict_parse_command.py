"""`recuse parse`, through the command line's own parser."""

from __future__ import annotations

import csv
import json
from math import exp, log
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from typer.testing import CliRunner

from recuse.cli.parse import parse
from recuse.errors import InputError, UsageError

app = typer.Typer()
app.command()(parse)


def run(*arguments: str, stdin: str | None = None) -> str:
    result = CliRunner().invoke(app, list(arguments), input=stdin, catch_exceptions=False)
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


def test_csv_parquet_and_standard_input_are_read_as_jsonl_is(tmp_path: Path) -> None:
    rows = [
        {"text": "the first\nVerdict: A", "finish": "stop", "logprobs": None},
        {"text": "Verdict:", "finish": "length", "logprobs": None},
    ]
    lines = written(tmp_path, *rows)
    table, columns = tmp_path / "replies.csv", tmp_path / "replies.parquet"
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    pq.write_table(pa.Table.from_pylist(rows), columns)
    expected = json.loads(run(lines, "--format", "verdict_line", "--json"))
    assert [reply["outcome"] for reply in expected["replies"]] == ["A", None]
    piped = run("-", "--format", "verdict_line", "--json", stdin=Path(lines).read_text(encoding="utf-8"))
    assert json.loads(piped) == expected
    assert json.loads(run(str(columns), "--format", "verdict_line", "--json")) == expected
    found = json.loads(run(str(table), "--format", "verdict_line", "--json"))
    for row, reply in zip((2, 3), expected["replies"], strict=True):  # as a spreadsheet counts
        reply["row"] = row
    assert found == expected


@pytest.mark.parametrize(
    "logprobs",
    [
        {"m": log(0.2), "M": log(0.6)},
        [["m", log(0.2)], ["M", log(0.6)]],
        [{"token": "m", "logprob": log(0.2)}, {"token": "M", "logprob": log(0.6)}],
        json.dumps({"m": log(0.2), "M": log(0.6)}),
    ],
)
def test_log_probabilities_are_read_in_every_usual_shape(tmp_path: Path, logprobs: object) -> None:
    path = written(tmp_path, {"text": "M", "logprobs": logprobs})
    shown = json.loads(run(path, "--format", "label", "--first", "m", "--second", "M", "--json"))
    assert shown["replies"][0]["p_first"] == pytest.approx(0.2 / 0.8)


def test_tokens_that_parquet_fills_with_null_are_not_listed(tmp_path: Path) -> None:
    path = tmp_path / "replies.parquet"
    rows = [{"text": "A", "logprobs": {"A": -0.5, "B": -1.5}}, {"text": "B", "logprobs": {"B": -0.2, "x": -2.0}}]
    pq.write_table(pa.Table.from_pylist(rows), path)
    replies = json.loads(run(str(path), "--format", "label", "--json"))["replies"]
    # the second row lists B and x: A has at most what both leave over
    assert replies[0]["p_first"] == pytest.approx(1 / (1 + exp(-1)))
    rest = 1 - exp(-0.2) - exp(-2.0)
    assert replies[1]["p_first"] == pytest.approx(rest / (rest + exp(-0.2)))


def test_the_empty_cells_of_a_table_say_nothing(tmp_path: Path) -> None:
    path = tmp_path / "replies.parquet"
    nan = float("nan")
    pq.write_table(pa.table({"text": ["A", None], "finish": [nan, nan], "logprobs": [nan, nan]}), path)
    replies = json.loads(run(str(path), "--format", "label", "--json"))["replies"]
    assert [(reply["outcome"], reply["reason"]) for reply in replies] == [("A", None), (None, "no_verdict")]


def test_one_reply_is_counted_in_the_singular(tmp_path: Path) -> None:
    assert run(written(tmp_path, {"text": "A"}), "--format", "label").splitlines()[-1] == "1 reply: A 1"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--first", ""], "--first: the label is empty"),
        (["--second", "a", "--tie", "A"], "--tie: the label 'A' is that of first"),
        (["--tie", "b"], "--tie: the label 'b' is that of second"),
    ],
)
def test_labels_that_are_empty_or_shared_are_refused(tmp_path: Path, options: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        run(written(tmp_path, {"text": "A"}), "--format", "label", *options)


def test_a_bad_row_stops_before_anything_is_printed(tmp_path: Path) -> None:
    path = written(tmp_path, {"text": "A"}, {"text": "B", "finish": "abandoned"})
    result = CliRunner().invoke(app, [path, "--format", "label"])
    assert isinstance(result.exception, InputError)
    assert "row 2: the finish 'abandoned' is not known. Write one of: stop," in str(result.exception)
    assert result.output == ""
    with pytest.raises(InputError, match="standard input, row 1: the line is not whole JSON"):
        run("-", "--format", "label", stdin="A\n")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"text": "A"}\n{"txt": "B"}\n', r"replies\.jsonl, row 2, field 'text': .*txt.*--field"),
        (b'{"text": "A"}\n{"text": \n', r"replies\.jsonl, row 2: the line is not whole JSON"),
        (b'{"text": "A"}\n"\xff"\n', r"replies\.jsonl, row 2: byte 2 of the line is not UTF-8"),
        (b"[1]\n", r"row 1: the line is not a JSON object"),
        (b"\n", r"replies\.jsonl: no rows"),
        (b'{"text": "A", "logprobs": [1]}\n', r"row 1: logprobs are not the alternatives"),
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
