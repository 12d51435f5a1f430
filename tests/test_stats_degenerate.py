"""Every public function of `recuse.stats` on degenerate input: a stated answer, or one sentence that refuses it.

From the sound calls of `stats_calls.ENTRIES` follow the bad columns, labels and numbers that each function must refuse,
and the poor but possible data that it must answer. What it answers stands in `ANSWERS`.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest
from stats_calls import AB, ENTRIES, GROUPS, HALVES, PAIRS, SIDE, X

from recuse import stats

FUNCTIONS = {name: f for name in stats.__all__ if inspect.isfunction(f := getattr(stats, name))}


def test_every_public_function_has_an_entry() -> None:
    assert set(ENTRIES) == set(FUNCTIONS)
    for name, entry in ENTRIES.items():
        known = set(inspect.signature(FUNCTIONS[name]).parameters)
        assert known >= {*entry.call, *entry.columns, *entry.marks, *entry.labels, *entry.numbers}, name


def test_every_function_takes_its_sound_call() -> None:
    for name, entry in ENTRIES.items():
        assert_sound(FUNCTIONS[name](**entry.call), name)


# What is refused


def bad_columns(column: list[Any]) -> Iterator[tuple[str, Any]]:
    yield "NaN", [*column[:-1], math.nan]
    yield "infinity", [*column[:-1], math.inf]
    yield "text", [*column[:-1], "0.5"]
    yield "an array of text", np.array(["a"] * len(column))
    yield "complex numbers", np.array(column, dtype=complex)
    yield "a table", [column, column]
    yield "a number beyond floats", [*column[:-1], 10**400]
    yield "one number", 0.5
    yield "nothing", None
    yield "one row less", column[:-1]
    yield "None", [*column[:-1], None]
    yield "a masked entry", np.ma.masked_array(column, mask=[False] * (len(column) - 1) + [True])


def bad_labels(column: list[Any]) -> Iterator[tuple[str, Any]]:
    yield "None", [*column[:-1], None]
    yield "NaN", [*column[:-1], math.nan]
    yield "a list", [*column[:-1], []]
    yield "a table", np.array([column, column])
    yield "one label", 0.5
    yield "one row less", column[:-1]
    yield "a masked entry", np.ma.masked_array(range(len(column)), mask=[False] * (len(column) - 1) + [True])


BAD_NUMBERS = {
    "NaN": math.nan,
    "infinity": math.inf,
    "text": "0.5",
    "None": None,
    "a list": [0.5],
    "a masked entry": np.ma.masked,
    "a number beyond floats": 10**400,
    "a complex number": 1 + 0j,
}
BAD_SETTINGS: dict[str, tuple[object, ...]] = {
    "level": (0, 1, math.nan, "0.95", None, 95, math.nextafter(1, 0)),
    "resamples": (0, -5, 1.5, "many", math.nan, True),
    "seed": (-1, 1.5, "one", None, [1]),
    "bins": (0, 1.5, "ten", None, 10**9),
    "interval": (0.5, "ab", (0.2, 0.1), (None, 1), (math.nan, 1), (0, 1, 2)),
    "null": ("half", math.nan, math.inf),
    "sizes": (5, [], "ab", [1.5]),
    "slices": ([1], [2.5], "ab", math.nan),
    "counts": ([("a", (1, 2))], {"a": 3}, {"a": (3, 2)}, {"a": ("x", 2)}),
    "ratings": (None, 0.5, [1, 2, 3]),
    "alternative": ("both", None, 1),
    "bounds": ((0, math.inf), (math.nan, 1), (1, 0), (0, 0), ("a", "b"), (0, 1, 2), 1, (None, 1), (0, 10**400)),
    "method": ("other", ["bh"]),
    "against": ("others",),
    "metric": ("other",),
    "weights": ("other",),
    "a": ("y",),  # the same group as b
}


def refusals() -> Iterator[tuple[str, str, str, Any]]:
    for name, argument, what, bad in all_bad():
        if bad is not None or inspect.signature(FUNCTIONS[name]).parameters[argument].default is not None:
            yield name, argument, what, bad


def all_bad() -> Iterator[tuple[str, str, str, Any]]:
    for name, entry in ENTRIES.items():
        single = len(entry.columns + entry.marks + entry.labels) == 1
        for argument in entry.columns:
            for what, bad in bad_columns(entry.call[argument]):
                missing = argument in entry.may_miss and what in ("None", "a masked entry")
                sure = name in ("e_lond", "e_benjamini_hochberg") and what == "infinity"
                shaped = name == "worst_slice_rule" and what in ("a table", "one number", "one row less")
                if not (missing or sure or shaped or (single and what == "one row less")):
                    yield name, argument, what, bad
        for argument in entry.marks:
            for what, bad in bad_columns(entry.call[argument]):
                if not (single and what == "one row less"):
                    yield name, argument, what, bad
        for argument in entry.labels:
            for what, bad in bad_labels(entry.call[argument]):
                if not (argument in entry.may_miss and what in ("None", "NaN", "a masked entry")):
                    yield name, argument, what, bad
        for argument in entry.numbers:
            for what, bad in BAD_NUMBERS.items():
                no_end = argument in ("low", "high") and what in ("infinity", "a number beyond floats")
                if not (no_end or (argument in entry.optional and bad is None)):
                    yield name, argument, what, bad
        for argument in inspect.signature(FUNCTIONS[name]).parameters:
            for bad in BAD_SETTINGS.get(argument, ()):
                yield name, argument, repr(bad), bad


@pytest.mark.parametrize("name", ENTRIES)
def test_what_cannot_be_read_is_refused_in_one_sentence(name: str) -> None:
    wrong = []
    for _, argument, what, bad in (case for case in refusals() if case[0] == name):
        where = f"{argument} = {what}"
        try:
            FUNCTIONS[name](**{**ENTRIES[name].call, argument: bad})
        except ValueError as error:
            if not re.fullmatch(r"[^\n]{10,700}\.", str(error)):
                wrong.append(f"{where}: no sentence: {error}")
        except Exception as error:  # noqa: BLE001
            wrong.append(f"{where}: {type(error).__name__}: {error}")
        else:
            wrong.append(f"{where}: taken")
    assert not wrong, "\n".join([name, *wrong])


# What is answered


def assert_sound(result: object, where: str) -> None:
    """Nothing in the result is NaN or endless, and what is not there has a reason."""
    if is_dataclass(result):
        found = {f.name: getattr(result, f.name) for f in fields(result)}
        for name, value in found.items():
            assert_sound(value, f"{where}.{name}")
        if "reason" in found and found.get("estimate", 0) is None:
            assert found["reason"], f"{where}: no estimate and no reason"
        if "reason" in found and found.get("interval", 0) is None and not isinstance(result, stats.TestResult):
            assert found["reason"], f"{where}: no interval and no reason"
        low, high = found.get("interval") or (0, 0)
        assert low <= high, where
    elif isinstance(result, np.ndarray):
        assert result.dtype.kind not in "fc" or np.isfinite(result).all(), where
    elif isinstance(result, dict):
        for key, value in result.items():
            assert_sound(value, f"{where}[{key!r}]")
    elif isinstance(result, (list, tuple)):
        for place, value in enumerate(result):
            assert_sound(value, f"{where}[{place}]")
    elif isinstance(result, float):
        assert math.isfinite(result), f"{where} is {result}"


def poor_columns(column: list[Any], *, any_scale: bool) -> Iterator[tuple[str, Any]]:
    n = len(column)
    yield "all zero", [0.0] * n
    yield "all one", [1.0] * n
    yield "one differs", [0.0] * (n - 1) + [1.0]
    yield "whole numbers", np.array([round(v) for v in column], dtype=np.int8)
    yield "true and false", np.array([v > 0 for v in column])
    yield "single precision", np.array(column, dtype=np.float32)
    yield "tiny", [v * 1e-150 for v in column]
    yield "denormal", [v * 1e-320 for v in column]
    yield "one beside denormal", [1.0, *[1e-320] * (n - 1)]
    if any_scale:
        yield "huge", [v * 1e149 for v in column]
        yield "far apart", [1e149, *[v * 1e-149 for v in column[1:]]]
        yield "all huge", [1e149] * n
        yield "far from zero", [1e15 + v for v in column]


def poor_calls(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    entry = ENTRIES[name]
    for argument in entry.columns:
        for what, poor in poor_columns(entry.call[argument], any_scale=entry.any_scale):
            yield f"{argument} {what}", {argument: poor}
    rows = [a for a in (*entry.columns, *entry.marks, *entry.labels) if a in entry.call]
    if rows:
        for size in (0, 1, 2, 3):
            yield (
                f"{size} rows",
                {a: entry.call[a][:size] for a in rows}
                | ({"ratings": entry.call["ratings"][:size]} if "ratings" in entry.call else {}),
            )
    for argument in entry.labels:
        yield f"{argument} all alike", {argument: ["x"] * len(entry.call[argument])}
        yield f"{argument} all different", {argument: list(range(len(entry.call[argument])))}
    for argument in entry.marks:
        yield f"{argument} all true", {argument: [True] * len(entry.call[argument])}
        yield f"{argument} all false", {argument: [False] * len(entry.call[argument])}
        yield f"{argument} 0 and 1", {argument: [int(v) for v in entry.call[argument]]}
    for argument in entry.may_miss:
        column = entry.call[argument]
        yield f"{argument} None", {argument: [*column[:-1], None]}
        yield f"{argument} masked", {argument: np.ma.masked_array(column, mask=[False] * (len(column) - 1) + [True])}
        yield f"{argument} all None", {argument: [None] * len(column)}
    for argument in entry.numbers:
        for number in entry.poor_numbers:
            yield f"{argument} = {number}", {argument: number}


@pytest.mark.parametrize("name", ENTRIES)
def test_poor_data_have_a_sound_answer_or_are_refused_in_one_sentence(name: str) -> None:
    wrong = []
    for what, poor in poor_calls(name):
        try:
            assert_sound(FUNCTIONS[name](**{**ENTRIES[name].call, **poor}), "it")
        except ValueError as error:
            if not re.fullmatch(r"[^\n]{10,700}\.", str(error)):
                wrong.append(f"{what}: no sentence: {error}")
        except Exception as error:  # noqa: BLE001
            wrong.append(f"{what}: {type(error).__name__}: {error}")
    assert not wrong, "\n".join([name, *wrong])


NONE = "no observations"
ANSWERS: tuple[tuple[str, dict[str, Any], dict[str, Any]], ...] = (
    # One unit, all zero, all equal
    ("sign_flip_test", {"gaps": []}, {"estimate": None, "pvalue": 1, "reason": "no gaps"}),
    ("sign_flip_test", {"gaps": [3]}, {"estimate": 3, "pvalue": 1, "n": 1, "groups": 1}),
    ("sign_flip_test", {"gaps": [0, 0]}, {"estimate": 0, "pvalue": 1, "nonzero": 0, "n": 2}),
    ("sign_flip_test", {"gaps": [2, 2, 2, 2]}, {"estimate": 2, "pvalue": 2 / 16}),
    ("sign_flip_test", {"gaps": [5e-324, 1e-323, -5e-324]}, {"pvalue": 0.75}),
    ("studentised_flip_test", {"gaps": []}, {"estimate": None, "pvalue": 1}),
    ("bootstrap_mean", {"values": []}, {"estimate": None, "interval": None, "reason": NONE}),
    ("bootstrap_mean", {"values": [2.0]}, {"estimate": 2, "interval": None, "groups": 1}),
    ("bootstrap_mean", {"values": [2.0] * 9}, {"estimate": 2, "interval": None, "groups": 9}),
    ("bootstrap_mean", {"values": [0.0] * 40, "bounds": (0, 1)}, {"estimate": 0, "interval": (0, 0.0881)}),
    ("clustered_mean", {"values": []}, {"estimate": None, "reason": NONE}),
    ("clustered_mean", {"values": [0.0] * 40}, {"estimate": 0, "interval": (0, 0.0881)}),
    ("clustered_mean", {"values": [1] * 40}, {"estimate": 1, "interval": (1 - 0.0881, 1)}),
    ("clustered_mean", {"values": X, "groups": ["one"] * 8}, {"estimate": 0.5, "interval": (0, 1), "groups": 1}),
    ("mean_interval", {"values": []}, {"estimate": None, "interval": None, "reason": NONE}),
    ("mean_interval", {"values": [2.0]}, {"estimate": 2, "interval": None}),
    ("mean_interval", {"values": [2.0] * 5}, {"estimate": 2, "interval": None}),
    ("mean_interval", {"values": [1e149, 3e149]}, {"estimate": 2e149}),
    ("mean_interval", {"values": [1e-200, 3e-200]}, {"estimate": 2e-200}),
    ("minimum_effect_test", {"values": [], "minimum": 0.0}, {"estimate": None, "pvalue": None}),
    ("minimum_effect_test", {"values": [1.0], "minimum": 0.0}, {"estimate": 1, "interval": None, "pvalue": None}),
    ("confidence_sequence", {"values": []}, {"estimate": None, "interval": None, "reason": NONE}),
    ("e_value", {"values": [], "null_mean": 0.5}, {"estimate": None, "value": 1, "pvalue": 1, "reason": NONE}),
    ("missing_bounds", {"values": [None, None], "bounds": (0, 1)}, {"estimate": None, "low": 0, "high": 1, "n": 0}),
    # A group with no rows
    ("clustered_difference", {"values": X, "stratum": [True] * 8}, {"estimate": None, "interval": None}),
    ("risk_difference", {"values": X, "exposed": [False] * 8}, {"estimate": None, "interval": None}),
    ("stratified_difference", {"values": X, "exposed": [True] * 8, "strata": AB}, {"estimate": None, "interval": None}),
    ("failure_gap", {"missing": SIDE, "group": AB, "a": "x", "b": "z"}, {"estimate": None, "rate_b": None, "n_b": 0}),
    ("paired_gap", {"values": X, "template": PAIRS, "group": AB, "a": "x", "b": "z"},
     {"estimate": None, "interval": None, "reason": "no rows in group 'z'"}),
    ("paired_gap", {"values": [1.0, 0.0], "template": [1, 2], "group": AB[:2], "a": "x", "b": "y"},
     {"estimate": None, "reason": "no template has values in both groups", "excluded": (1, 2)}),
    ("paired_gap", {"values": [1.0, 1.0] * 4, "template": PAIRS, "group": AB, "a": "x", "b": "y"},
     {"estimate": 0, "interval": None, "pvalue": 1}),
    ("paired_gap", {"values": [0.0] * 80, "template": [*range(40)] * 2, "group": ["x"] * 40 + ["y"] * 40, "a": "x",
                    "b": "y", "bounds": (0, 1)}, {"estimate": 0, "pvalue": 1}),
    # Rates of 0 and 1
    ("wilson_interval", {"k": 0, "n": 0}, {"estimate": None, "interval": None, "reason": NONE}),
    ("wilson_interval", {"k": 0, "n": 10}, {"estimate": 0, "interval": (0, 0.2775)}),
    ("clopper_pearson", {"k": 0, "n": 40}, {"estimate": 0, "interval": (0, 0.0881)}),
    ("clopper_pearson", {"k": 40, "n": 40}, {"estimate": 1, "interval": (1 - 0.0881, 1)}),
    ("two_proportion_test", {"k1": 0, "n1": 10, "k2": 0, "n2": 10}, {"estimate": 0, "pvalue": 1}),
    ("two_proportion_test", {"k1": 0, "n1": 0, "k2": 0, "n2": 10}, {"estimate": None, "interval": None}),
    ("newcombe_difference", {"k1": 0, "n1": 0, "k2": 0, "n2": 10}, {"estimate": None, "interval": None}),
    ("newcombe_paired", {"both": 0, "only_first": 0, "only_second": 0, "neither": 0}, {"estimate": None}),
    ("mcnemar_exact", {"b": 0, "c": 0}, {"pvalue": 1, "n": 0}),
    ("impact_ratio", {"k": 3, "n": 10, "k_ref": 0, "n_ref": 10}, {"estimate": None, "interval": None}),
    ("impact_ratio", {"k": 0, "n": 10, "k_ref": 5, "n_ref": 10}, {"estimate": 0}),
    ("equivalence", {"interval": None, "low": -0.1, "high": 0.1}, "warn"),
    # Constant raters
    ("cohen_kappa", {"first": ["x"] * 5, "second": ["x"] * 5}, {"estimate": None, "interval": None}),
    ("cohen_kappa", {"first": ["x"] * 8, "second": AB}, {"estimate": 0}),
    ("cohen_kappa", {"first": [], "second": []}, {"estimate": None, "interval": None}),
    ("gwet_ac1", {"first": [], "second": []}, {"estimate": None, "interval": None}),
    ("fleiss_kappa", {"ratings": [["x", "x"]] * 4}, {"estimate": None, "interval": None}),
    ("krippendorff_alpha", {"ratings": [["x", "x"]] * 4}, {"estimate": None, "interval": None}),
    ("krippendorff_alpha", {"ratings": [["x", None]] * 4}, {"estimate": None, "interval": None}),
    ("logistic", {"y": [1.0] * 8, "x": HALVES}, {"reason": "separation"}),
    # Shams
    ("predictive_pvalue", {"effect": 1.0, "se": 0.1, "sham_effects": [0.1], "sham_ses": [0.1]},
     {"estimate": None, "interval": None, "pvalue": None, "reason": "fewer than two shams", "effect": 1}),
    ("predictive_pvalue", {"effect": 0.0, "se": 0.1, "sham_effects": [0, 0, 0], "sham_ses": [0.1] * 3},
     {"estimate": 0, "pvalue": 0.5}),
)  # fmt: skip


@pytest.mark.parametrize("case", ANSWERS, ids=lambda case: f"{case[0]}-{str(case[1])[:60]}")
def test_degenerate_data_have_their_stated_answer(case: tuple[str, dict[str, Any], Any]) -> None:
    name, call, expected = case
    found = FUNCTIONS[name](**call)
    assert_sound(found, name)
    if not isinstance(expected, dict):
        assert found == expected
        return
    for entry, value in expected.items():
        got = getattr(found, entry)
        if value is None or isinstance(value, str):
            assert got == value, f"{entry} is {got!r}"
        else:
            assert got == pytest.approx(value, rel=1e-12 if entry == "pvalue" else 1e-3, abs=1e-6), entry


def test_unsorted_groups_are_as_good_as_sorted_ones() -> None:
    order = np.argsort(GROUPS, kind="stable")
    for name, entry in ENTRIES.items():
        rows = [a for a in (*entry.columns, *entry.marks, *entry.labels) if a in entry.call]
        if name in ("e_value", "confidence_sequence") or "groups" not in rows or len(entry.call["groups"]) != len(X):
            continue  # a sequence has an order
        ordered = {a: [entry.call[a][i] for i in order] for a in rows}
        first, second = (FUNCTIONS[name](**{**entry.call, **more}) for more in ({}, ordered))
        for part in ("estimate", "interval", "pvalue", "n", "groups"):
            if hasattr(first, part) and getattr(first, part) is not None:
                assert getattr(second, part) == pytest.approx(getattr(first, part), rel=1e-9, abs=1e-12), name
