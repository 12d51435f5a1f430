"""Data sets through `datasets`, from folders on disk: nothing is fetched."""

from __future__ import annotations

import json
from pathlib import Path

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


def test_without_datasets_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "datasets" else real(name, *a))
    with pytest.raises(MissingExtra, match=r"recuse\[data\]"):
        load_pairs("hf:org/name")
