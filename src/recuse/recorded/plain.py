"""The plain form: a file of one's own, one verdict a row, as JSONL, CSV or Parquet.

pair     name of the pair of answers A and B                                            needed
order    "AB" where answer A was shown first, "BA" where B was; also original/swapped,
         or whether the answers were swapped: false/true, 0/1                            needed
verdict  the answer preferred, by its place as shown: "A" the first, "B" the second,
         "tie" or "C", null for none; also 1/2, first/second, A>B, B>A, A=B               this or text
text     the judge's reply as it came, read by its `format`                              this or verdict
gold     the better answer, "A" or "B", in the source's own order (that is, as under
         order AB); "tie" or null where neither is better                                for error rates
group    pairs with one source question share it and count as one observation
         (default: the pair)                                                             optional
judge    name of the judge; a file of several needs a choice by `where`                  optional
repeat   0, 1, 2 ... where the judge was asked again (default 0)                         for the flip rate
domain   kind of question, one a pair                                                    for findings by domain
format   verdict format of this row's `text` (default: the one given at the call)        optional
chars_a, chars_b
         characters of answers A and B, in the source's own order                        for the effect of length

Columns of other names are kept for `where` and otherwise ignored.
"""

from __future__ import annotations

from collections.abc import Mapping

from recuse.errors import UsageError
from recuse.recorded.entry import Entry, Gold, Preset, decided, reread
from recuse.recorded.rows import Row
from recuse.types import Outcome
from recuse.verdict import FORMATS
from recuse.verdict.spec import Spec

_ORDER = {
    "AB": False,
    "BA": True,
    "original": False,
    "swapped": True,
    "false": False,
    "true": True,
    "0": False,
    "1": True,
}
_VERDICT: Mapping[str, Outcome | None] = {
    **dict.fromkeys(("A", "1", "first", "A>B", "A>>B"), "A"),
    **dict.fromkeys(("B", "2", "second", "B>A", "B>>A"), "B"),
    **dict.fromkeys(("tie", "C", "A=B"), "tie"),
    **dict.fromkeys(("null", "none")),
}
_GOLD: Mapping[str, Gold | None] = {"A": "A", "B": "B", "tie": "tie", "null": None}

# Labels that replies of a format use where nobody says otherwise: first, second, tie.
_LABELS: Mapping[str, tuple[str, str, str | None]] = {
    "bracket": ("A", "B", "C"),
    "output_letter": ("a", "b", None),
    "number": ("1", "2", None),
    "ranking": ("model_1", "model_2", None),
}


def default_spec(format: str) -> Spec:
    """The usual labels of a verdict format. Raises UsageError for a name that is no format."""
    if format not in FORMATS:
        raise UsageError(f"There is no verdict format {format!r}.", hint=f"Use one of: {', '.join(sorted(FORMATS))}.")
    return Spec(format, *_LABELS.get(format, ("A", "B", "tie")))


def plain(spec: Spec) -> Preset:
    """The plain form, its replies read by `spec` where a row names no format."""
    return Preset(columns=frozenset({"pair", "order"}), judge="judge", entry=lambda row: _entry(row, spec))


def _entry(row: Row, spec: Spec) -> Entry:
    if "text" not in row.values and "verdict" not in row.values:
        raise row.fail("neither a text nor a verdict", hint="Add a column text or verdict.")
    pair, text = row.word("pair"), row.text("text")
    if row.get("format"):
        try:
            spec = default_spec(row.word("format"))
        except UsageError as error:
            raise row.fail(str(error), field="format", hint="") from None
    return Entry(
        row=row,
        pair=pair,
        group=row.word("group") if row.get("group") not in (None, "") else pair,
        swapped=row.choice("order", _ORDER),
        gold=row.choice("gold", _GOLD) if "gold" in row.values else None,
        recorded=decided(row.choice("verdict", _VERDICT)) if "verdict" in row.values else None,
        reread=reread(text, spec) if text is not None or "verdict" not in row.values else None,
        repeat=row.whole("repeat", default=0),
        domain=row.word("domain") if row.get("domain") not in (None, "") else None,
        chars=_chars(row),
    )


def _chars(row: Row) -> tuple[int, int] | None:
    if row.get("chars_a") in (None, "") or row.get("chars_b") in (None, ""):
        return None
    return row.whole("chars_a", default=0), row.whole("chars_b", default=0)
