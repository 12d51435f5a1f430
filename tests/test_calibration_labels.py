"""People's labels in all their forms mean the same votes; what cannot be used is one sentence."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from recuse.calibration import Known, Labels, known_pairs, load_labels
from recuse.errors import InputError, UsageError
from recuse.pairs import load_pairs

KNOWN = [Known("p1", "A", "k1"), Known("p2", "B", "k2"), Known("p3", "A", "k3")]
VOTES = {
    "p1": {"ann": "chosen", "bob": "tie"},
    "p2": {"ann": "chosen", "bob": "rejected"},
    "p3": {"ann": None, "bob": "rejected"},
}


def _jsonl(path: Path, rows: Sequence[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def _long(path: Path) -> Path:
    answers = {"k1": ("A", "tie"), "k2": ("B", "A"), "k3": ("", "B")}
    rows = [
        {"item": key, "annotator": who, "label": label}
        for key, both in answers.items()
        for who, label in zip(("ann", "bob"), both, strict=True)
    ]
    return _jsonl(path / "long.jsonl", rows)


def _wide(path: Path) -> Path:
    with (path / "wide.csv").open("w", newline="") as file:
        rows = [("item", "ann", "bob"), ("k1", "chosen", "TIE"), ("k2", "2", "1"), ("k3", "abstain", "rejected")]
        csv.writer(file).writerows(rows)
    return path / "wide.csv"


def _parquet(path: Path) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = {"item": ["k1", "k2", "k3"], "ann": ["model_a", "model_b", None], "bob": ["tie", "a>b", "b>a"]}
    pq.write_table(pa.table(table), path / "wide.parquet")
    return path / "wide.parquet"


def _label_studio(path: Path) -> Path:
    """As the documentation of Label Studio has its JSON export: tasks with data, annotations and predictions."""

    def annotation(who: object, side: str | None) -> dict[str, Any]:
        result = [] if side is None else [
            {"id": "x1", "from_name": "why", "to_name": "a", "type": "textarea", "value": {"text": ["so"]}},
            {"id": "x2", "from_name": "pw", "to_name": "a", "type": "pairwise", "value": {"selected": side}},
        ]  # fmt: skip
        return {"id": 9, "completed_by": who, "result": result, "was_cancelled": side is None, "ground_truth": False}

    def choice(who: object, word: str) -> dict[str, Any]:
        value = {"choices": [word]}
        result = [{"from_name": "pw", "to_name": "a", "type": "choices", "value": value}]
        return {"completed_by": who, "result": result, "was_cancelled": False}

    ann, bob = {"id": 1, "email": "ann"}, {"id": 2, "email": "bob"}
    guess = [
        {"model_version": "m", "result": [{"from_name": "pw", "type": "pairwise", "value": {"selected": "right"}}]}
    ]
    tasks = [
        {"id": 1, "data": {"item": "k1"}, "annotations": [annotation(ann, "left"), choice(bob, "tie")],
         "predictions": guess},
        {"id": 2, "data": {"item": "k2"}, "annotations": [annotation(ann, "right"), annotation(bob, "left")]},
        {"id": 3, "data": {"item": "k3"}, "annotations": [annotation(ann, None), annotation(bob, "right")]},
    ]  # fmt: skip
    (path / "export.json").write_text(json.dumps(tasks))
    return path / "export.json"


def _argilla(path: Path) -> Path:
    """As argilla's records.to_json writes it; a draft is no answer."""

    def record(item: str, *responses: tuple[str, str | None, str]) -> dict[str, Any]:
        given = [{"value": value, "user_id": who, "status": status} for who, value, status in responses]
        suggestion = {"best": {"value": "B", "score": None, "agent": "m"}}
        return {
            "id": f"r-{item}", "fields": {"text": "x"}, "metadata": {"item": item}, "suggestions": suggestion,
            "responses": {"best": given}, "vectors": {}, "_server_id": None,
        }  # fmt: skip

    records = [
        record("k1", ("ann", "A", "submitted"), ("bob", "tie", "submitted"), ("cid", "B", "draft")),
        record("k2", ("ann", "B", "submitted"), ("bob", "A", "submitted")),
        record("k3", ("ann", "A", "discarded"), ("bob", "B", "submitted")),
    ]
    (path / "records.json").write_text(json.dumps(records))
    return path / "records.json"


def _argilla_flat(path: Path) -> Path:
    def record(item: str, values: list[str | None], states: list[str]) -> dict[str, Any]:
        return {
            "id": item, "item": item, "text": "x", "best.responses": values, "best.responses.users": ["ann", "bob"],
            "best.responses.status": states, "best.suggestion": "B", "best.suggestion.agent": "m",
        }  # fmt: skip

    done = ["submitted", "submitted"]
    rows = [
        record("k1", ["A", "tie"], done), record("k2", ["B", "A"], done),
        record("k3", [None, "B"], ["discarded", "submitted"]),
    ]  # fmt: skip
    return _jsonl(path / "flat.jsonl", rows)


FORMS = [_long, _wide, _parquet, _label_studio, _argilla, _argilla_flat]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_votes(tmp_path: Path, form: Any) -> None:
    column = {_wide: ("ann", "bob"), _parquet: ("ann", "bob"), _label_studio: ("pw",)}.get(form, ())
    found = load_labels(form(tmp_path), KNOWN, key="item", column=column)
    assert {pair: dict(votes) for pair, votes in found.votes.items()} == VOTES
    assert found.places == {"p1": "A", "p2": "B", "p3": "A"}
    assert found.hash == Labels(VOTES, {}, "", found.hash).hash == load_labels(_long(tmp_path), KNOWN, key="item").hash  # type: ignore[arg-type]


def test_the_only_question_of_an_export_needs_no_name(tmp_path: Path) -> None:
    assert load_labels(_argilla(tmp_path), KNOWN, key="item").people == ("ann", "bob")


def test_the_majority_is_more_than_half_of_those_who_chose(tmp_path: Path) -> None:
    rows = [
        {"pair": "p1", "label": ["A", "A", "B", None]},
        {"pair": "p2", "label": "[1, 2]"},
        {"pair": "p3", "label": [""]},
    ]
    found = load_labels(_jsonl(tmp_path / "l.jsonl", rows), KNOWN)
    assert [found.majority(pair) for pair in ("p1", "p2", "p3", "p4")] == ["chosen", None, None, None]


def test_two_ratings_are_a_preference_and_equal_ones_a_tie(tmp_path: Path) -> None:
    rows = [
        {"pair": "p1", "rating_a": 4, "rating_b": 2.5}, {"pair": "p2", "rating_a": "4", "rating_b": "3"},
        {"pair": "p3", "rating_a": 3, "rating_b": 3.0},
    ]  # fmt: skip
    found = load_labels(_jsonl(tmp_path / "l.jsonl", rows), KNOWN)
    assert [found.majority(pair) for pair in ("p1", "p2", "p3")] == ["chosen", "rejected", "tie"]


def test_by_content_the_answers_may_stand_in_any_order_and_white_space(tmp_path: Path) -> None:
    pairs = load_pairs(
        _jsonl(
            tmp_path / "pairs.jsonl",
            [
                {"prompt": "q1", "chosen": "yes sir", "rejected": "no"},
                {"prompt": "q2", "chosen": "up", "rejected": "down"},
            ],
        )
    )
    rows = [
        {"question": "q1", "response_a": "no", "response_b": "yes\r\n sir", "label": "B"},
        {"question": "q2", "response_a": "up", "response_b": "down", "label": "B"},
        {"question": "q3", "response_a": "up", "response_b": "down", "label": "B"},
    ]
    found = load_labels(_jsonl(tmp_path / "l.jsonl", rows), known_pairs(pairs))
    assert [found.majority(pair.id) for pair in pairs] == ["chosen", "rejected"]
    assert found.notes == ("1 of 3 rows of labels are of no pair of this run.",)


def test_words_of_the_file_are_mapped(tmp_path: Path) -> None:
    rows = [{"pair": "p1", "label": 0}, {"pair": "p2", "label": "The first response"}]
    words = {"0": "tie", "the FIRST response": "A"}
    found = load_labels(_jsonl(tmp_path / "l.jsonl", rows), KNOWN, values=words)
    assert [found.majority(pair) for pair in ("p1", "p2")] == ["tie", "rejected"]


def test_a_label_given_twice_alike_counts_once_and_is_told(tmp_path: Path) -> None:
    rows = [{"pair": "p1", "label": "A"}, {"pair": "p1", "label": "1"}]
    found = load_labels(_jsonl(tmp_path / "l.jsonl", rows), KNOWN)
    assert dict(found.votes["p1"]) == {"people": "chosen"}
    assert found.notes == ("1 labels stand twice in the file, alike, and count once.",)


@pytest.mark.parametrize(
    ("rows", "options", "says"),
    [
        ([{"pair": "p1", "label": label} for label in "AB"], {},
         "row 2: this pair is labelled rejected, and chosen in row 1. Name the people"),
        ([{"pair": "p1", "annotator": "ann", "label": label} for label in ("A", "tie")], {},
         "labelled tie by 'ann', and chosen in row 1. Keep one"),
        ([{"pair": "x", "label": "A"}], {},
         "field 'pair': no label matches a pair (here for instance 'x', among the pairs 'p1')"),
        ([{"pair": "p1", "label": "0"}], {}, "row 1, field 'label': '0' is no label"),
        ([{"pair": "p1", "label": "A" * 99}], {}, "AAA...' is no label"),
        ([{"pair": "p1", "label": ["A", "Z"]}], {}, "'Z' is no label"),
        ([{"item": "k1", "label": "A"}], {}, "how do labels find their pairs? Name a column"),
        ([{"pair": "p1", "label": "A"}], {"key": "item"}, "there is no column 'item'"),
        ([{"pair": "p1", "label": "A"}], {"annotator": "who"}, "there is no column 'who'"),
        ([{"pair": "p1", "verdict": "A"}], {}, "the labels? Name it (--label); the file has: pair, verdict"),
        ([{"pair": "p1", "label": "A", "winner": "B"}], {}, "which column holds the labels?"),
        ([{"pair": "p1", "label": "A"}], {"column": ("best",)}, "there is no column 'best'"),
        ([{"pair": "p1", "label": "A"}], {"values": {"0": "both"}}, "The word '0' cannot mean 'both'"),
        ([{"pair": "p1", "rating_a": "good", "rating_b": 3}], {}, "'good' is no rating"),
        ([{"pair": "", "label": "A"}], {}, "field 'pair': the key is empty"),
        ([{"data": {"pair": "p1"}, "annotations": []}], {}, "nobody has answered yet"),
        ([{"data": {"pair": "p1"}, "annotations": [3]}], {}, "annotation 1 is no object"),
        ([{"fields": {"pair": "p1"}, "responses": {"q": [3]}}], {}, "a response is no object"),
        ([{"pair": "p1", "q.responses": ["A"], "q.responses.users": []}], {}, "differ in number"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_one_sentence(
    tmp_path: Path, rows: list[Any], options: dict[str, Any], says: str
) -> None:
    path = _jsonl(tmp_path / "l.jsonl", rows)
    with pytest.raises((InputError, UsageError)) as error:
        load_labels(path, KNOWN, **options)
    assert says in str(error.value)
    assert str(path) in str(error.value) or "word" in says
    assert "\n" not in str(error.value)


def test_a_place_means_nothing_where_the_source_has_none(tmp_path: Path) -> None:
    path = _jsonl(tmp_path / "l.jsonl", [{"pair": "p1", "label": "A"}])
    with pytest.raises(InputError, match="the label is A, and the source of this pair has no answers A and B"):
        load_labels(path, [Known("p1", None)])


def test_a_key_that_names_two_pairs_is_refused(tmp_path: Path) -> None:
    path = _jsonl(tmp_path / "l.jsonl", [{"item": "k", "label": "A"}])
    with pytest.raises(InputError, match="item 'k' names more than one pair"):
        load_labels(path, [Known("p1", "A", "k"), Known("p2", "A", "k")], key="item")


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("l.jsonl", b"\x00\xff\xfe\x80" * 50, "is not UTF-8"),
        ("l.parquet", b"\x00\xff" * 50, "not sound Parquet"),
        ("l.csv", b"", "no rows"),
        ("l.txt", b"x", "the ending '.txt' is not known"),
        ("l.jsonl", b'{"pair": "p1", "label": "' + b"A" * 10_000_000 + b'"}\n', "is no label"),
    ],
)
def test_files_that_are_no_labels(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as error:
        load_labels(tmp_path / name, KNOWN)
    assert says in str(error.value)
    assert len(str(error.value)) < 400


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        load_labels(tmp_path / "none.csv", KNOWN)


def test_by_key_a_and_b_are_the_answers_as_the_source_has_them(tmp_path: Path) -> None:
    rows = [
        {"num": 1.0, "prompt": "q1", "a": "yes", "b": "no", "label": "B"},
        {"num": 2.0, "prompt": "q2", "a": "up", "b": "down", "label": "A"},
    ]
    pairs = load_pairs(_jsonl(tmp_path / "pairs.jsonl", rows))
    (tmp_path / "l.csv").write_text("num,verdict\n2,A\n1,A\n")
    found = load_labels(
        tmp_path / "l.csv", known_pairs(pairs, key="num", content=False), key="num", column=("verdict",)
    )
    assert [found.majority(pair.id) for pair in pairs] == ["rejected", "chosen"]
    assert [found.places[pair.id] for pair in pairs] == ["B", "A"]
    with pytest.raises(UsageError, match="The pairs have no column 'item'"):
        known_pairs(pairs, key="item")
