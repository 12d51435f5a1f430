"""Column maps: laid over a known form, or a form of their own that the columns' own names complete."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from recuse.errors import InputError, UsageError
from recuse.pairs import PairSet, load_pairs

PLACED = {"prompt": "2 + 2?", "a": "5", "b": "4", "label": "B", "kind": "sums", "truth": "four"}
LLMBAR = {"input": "2 + 2?", "output_1": "5", "output_2": "4", "label": 2, "subset": "Manual", "kind": "sums",
          "truth": "four", "topic": 3}  # fmt: skip


def load(tmp_path: Path, *rows: dict[str, Any], **options: Any) -> PairSet:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return load_pairs(path, **options)


def test_column_maps(tmp_path: Path) -> None:
    row = {"q": "2 + 2?", "good": "4", "poor": "5", "kind": "sums", "truth": "four", "set": 7, "by": "me"}
    columns = {"prompt": "q", "chosen": "good", "rejected": "poor", "domain": "kind", "reference": "truth",
               "group": "set"}  # fmt: skip
    found = load(tmp_path, row, columns=columns)
    (pair,) = found
    assert (found.preset, pair.prompt, pair.chosen, pair.rejected) == ("columns", "2 + 2?", "4", "5")
    assert (pair.domain, pair.reference, pair.group, dict(pair.meta)) == ("sums", "four", "7", {"by": "me"})
    with pytest.raises(InputError, match="field 'best'"):
        load(tmp_path, row, columns={**columns, "chosen": "best"})


def test_prompt_a_b_and_label_are_recognised(tmp_path: Path) -> None:
    found = load(tmp_path, {**PLACED, "domain": "sums", "reference": "four"})
    (pair,) = found
    assert (found.preset, pair.prompt, pair.chosen, pair.rejected, pair.gold) == ("a-b-label", "2 + 2?", "4", "5", "B")
    assert (pair.domain, pair.reference, dict(pair.meta)) == ("sums", "four", {"kind": "sums", "truth": "four"})


@pytest.mark.parametrize("preset", [None, "llmbar"])
def test_group_domain_and_reference_are_laid_over_a_form(tmp_path: Path, preset: str | None) -> None:
    (plain,) = load(tmp_path, LLMBAR, preset=preset)
    columns = {"domain": "kind", "reference": "truth", "group": "topic"}
    found = load(tmp_path, LLMBAR, preset=preset, columns=columns)
    (pair,) = found
    assert (plain.domain, plain.reference) == ("Manual", None)
    assert (found.preset, pair.domain, pair.reference, pair.group) == ("llmbar", "sums", "four", "3")
    assert (pair.prompt, pair.chosen, pair.rejected, pair.gold) == (plain.prompt, "4", "5", "B")
    (only,) = load(tmp_path, LLMBAR, preset=preset, columns={"group": "topic"})
    assert (only.id, only.domain, only.group) == (plain.id, "Manual", "3")


def test_a_laid_over_column_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"field 'sort'.*found: input, output_1.*Correct the column map"):
        load(tmp_path, LLMBAR, columns={"domain": "sort"})
    with pytest.raises(InputError, match="no known form"):
        load(tmp_path, {"text": "x", "kind": "sums"}, columns={"domain": "kind"})


@pytest.mark.parametrize(
    ("row", "columns"),
    [
        ({"query": "2 + 2?", "chosen": "4", "rejected": "5"}, {"prompt": "query"}),
        ({"prompt": "2 + 2?", "good": "4", "rejected": "5"}, {"chosen": "good"}),
        ({"query": "2 + 2?", "a": "5", "b": "4", "label": "B"}, {"prompt": "query"}),
        ({"prompt": "2 + 2?", "a": "5", "b": "4", "winner": "B"}, {"label": "winner"}),
        ({"query": "2 + 2?", "chosen": "4", "rejected": "5", "a": "x", "b": "y", "label": 1}, {"prompt": "query"}),
    ],
)
def test_roles_that_are_not_mapped_are_the_columns_of_their_names(
    tmp_path: Path, row: dict[str, Any], columns: dict[str, str]
) -> None:
    found = load(tmp_path, {**row, "domain": "sums", "reference": "four", "group": "one"}, columns=columns)
    (pair,) = found
    assert (found.preset, pair.prompt, pair.chosen, pair.rejected) == ("columns", "2 + 2?", "4", "5")
    assert (pair.domain, pair.reference) == ("sums", "four")
    assert pair.meta["group"] == "one", "a column called group forms groups only when it is asked for"


def test_a_column_that_has_a_role_already_fills_no_other(tmp_path: Path) -> None:
    row = {"prompt": "2 + 2?", "chosen": "4", "rejected": "5", "reference": "sums"}
    (pair,) = load(tmp_path, row, columns={"prompt": "prompt", "domain": "reference"})
    assert (pair.domain, pair.reference) == ("sums", None)
    with pytest.raises(UsageError, match="lacks 'prompt'"):
        load(tmp_path, row, columns={"chosen": "prompt"})
