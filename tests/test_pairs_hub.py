"""Data sets through `datasets`, from folders on disk: nothing is fetched."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from recuse.errors import InputError, MissingExtra
from recuse.pairs import load_pairs

datasets = pytest.importorskip("datasets")

ROWS = [{"prompt": f"q{i}", "chosen": f"right {i}", "rejected": f"wrong {i}"} for i in range(5)]


def write(path: Path, rows: list[dict[str, str]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def test_a_folder_with_two_splits_needs_a_name_and_equals_the_file(tmp_path: Path) -> None:
    write(tmp_path / "train.jsonl", ROWS[:2])
    write(tmp_path / "test.jsonl", ROWS)
    with pytest.raises(InputError, match=":test, :train"):
        load_pairs(f"hf:{tmp_path}")
    found = load_pairs(f"hf:{tmp_path}:test")
    assert found.hash == load_pairs(tmp_path / "test.jsonl").hash
    assert len(found) == 5
    with pytest.raises(InputError, match="no split 'validation'"):
        load_pairs(f"hf:{tmp_path}:validation")


def test_a_file_and_a_saved_data_set_and_a_configuration(tmp_path: Path) -> None:
    write(tmp_path / "pairs.jsonl", ROWS)
    expected = load_pairs(tmp_path / "pairs.jsonl").hash
    assert load_pairs(f"hf:{tmp_path / 'pairs.jsonl'}").hash == expected
    datasets.Dataset.from_list(ROWS).save_to_disk(tmp_path / "saved")
    assert load_pairs(f"hf:{tmp_path / 'saved'}").hash == expected
    card = tmp_path / "carded"
    (card / "easy").mkdir(parents=True)
    write(card / "easy" / "data.jsonl", ROWS)
    write(card / "hard.jsonl", ROWS[:1])
    card.joinpath("README.md").write_text(
        "---\nconfigs:\n- config_name: easy\n  data_files:\n  - split: test\n    path: easy/data.jsonl\n"
        "- config_name: hard\n  data_files:\n  - split: test\n    path: hard.jsonl\n---\n",
        encoding="utf-8",
    )
    assert load_pairs(f"hf:{card}:easy").hash == load_pairs(f"hf:{card}:easy:test").hash == expected
    assert len(load_pairs(f"hf:{card}:hard")) == 1


def test_the_row_of_a_fault_is_named(tmp_path: Path) -> None:
    write(tmp_path / "train.jsonl", [*ROWS, {**ROWS[0], "chosen": ""}])
    with pytest.raises(InputError, match=r"row 6, field 'chosen'"):
        load_pairs(f"hf:{tmp_path}")


def test_a_file_that_breaks_off_in_the_middle_is_one_sentence(tmp_path: Path) -> None:
    lines = [json.dumps(row) for row in ROWS]
    tmp_path.joinpath("train.jsonl").write_text("\n".join([*lines, lines[0][:20]]), encoding="utf-8")
    with pytest.raises(InputError, match="cannot be read on after row"):
        load_pairs(f"hf:{tmp_path}")


@pytest.mark.parametrize("name", ["hf:", "hf:a:b:c:d"])
def test_what_names_no_data_set(name: str) -> None:
    with pytest.raises(InputError, match="names no data set"):
        load_pairs(name)


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be loaded"):
        load_pairs(f"hf:{tmp_path / 'absent'}")


def said(source: str, **env: str) -> tuple[str, str, float]:
    """Output, terminal and seconds of a process of its own: the libraries read their settings once, at import."""
    code = (
        "import sys, time, datasets\nfrom recuse import load_pairs\nfrom recuse.errors import InputError\n"
        "start = time.monotonic()\n"
        "try: load_pairs(sys.argv[1])\n"
        "except InputError as error: print(time.monotonic() - start, error)\n"
    )
    unset = {"HF_ENDPOINT", "HF_HUB_OFFLINE", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"}
    kept = {name: value for name, value in os.environ.items() if name not in unset}
    done = subprocess.run(
        [sys.executable, "-c", code, source], capture_output=True, text=True, timeout=60, check=True, env=kept | env
    )
    seconds, message = done.stdout.strip().split(" ", 1)
    return message, done.stderr, float(seconds)


def test_a_hub_that_cannot_be_reached_is_one_sentence_at_once(tmp_path: Path) -> None:
    message, terminal, seconds = said("hf:org/name", HF_ENDPOINT="http://127.0.0.1:9", HF_HOME=str(tmp_path))
    assert message.startswith("hf:org/name: the hub http://127.0.0.1:9 cannot be reached")
    assert message.endswith("Check the network, or give a file.")
    assert "\n" not in message
    assert terminal == ""
    assert seconds < 10


class _Refusing(BaseHTTPRequestHandler):
    """Answers that it is there, then that nothing is; counts."""

    asked: ClassVar[list[str]] = []

    def do_HEAD(self) -> None:
        self.asked.append(self.path)
        self.send_response(200 if self.path == "/" else 404)
        self.end_headers()

    do_GET = do_HEAD

    def log_message(self, *_: object) -> None:
        pass


def test_an_unknown_name_is_one_sentence_and_offline_nothing_is_asked(tmp_path: Path) -> None:
    server = HTTPServer(("127.0.0.1", 0), _Refusing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    endpoint = f"http://127.0.0.1:{server.server_port}"
    _Refusing.asked.clear()
    try:
        message, terminal, _ = said("hf:org/name", HF_ENDPOINT=endpoint, HF_HUB_OFFLINE="1", HF_HOME=str(tmp_path))
        assert "HF_HUB_OFFLINE is set" in message
        assert (terminal, _Refusing.asked) == ("", [])
        message, terminal, _ = said("hf:org/name", HF_ENDPOINT=endpoint, HF_HOME=str(tmp_path))
        assert "cannot be loaded" in message
        assert (terminal, _Refusing.asked[0]) == ("", "/")
    finally:
        server.shutdown()
        server.server_close()


def test_loggers_and_progress_bars_are_quiet_within_and_as_before_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub.utils as hub

    write(tmp_path / "train.jsonl", ROWS)

    def state() -> tuple[object, ...]:
        levels = [logging.getLogger(name).level for name in ("datasets", "huggingface_hub")]
        return (*levels, datasets.are_progress_bars_disabled(), hub.are_progress_bars_disabled())

    real, within = datasets.load_dataset, []

    def watched(*given: Any, **options: Any) -> Any:
        within.append(state())
        return real(*given, **options)

    monkeypatch.setattr(datasets, "load_dataset", watched)
    before = state()
    load_pairs(f"hf:{tmp_path}")
    assert within == [(logging.ERROR, logging.ERROR, True, True)]
    assert state() == before != within[0]
    with pytest.raises(InputError):
        load_pairs(f"hf:{tmp_path}:absent")
    assert state() == before


def test_without_datasets_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "datasets" else real(name, *a))
    with pytest.raises(MissingExtra, match=r"recuse\[data\]"):
        load_pairs("hf:org/name")
