"""What people verify: a sample of the rows as a CSV sheet and as tasks for Label Studio.

They see the question, the better answer and the wrong answer before and after it was rewritten, and neither the bias
nor what any judge said. They say whether the rewritten answer is still wrong.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

LABELS = {
    "kept": "The rewritten answer still ends in the same wrong answer, or is still clearly the worse one.",
    "broken": "The rewritten answer has become right, as good as the better answer, or wrong in another way.",
    "unsure": "It cannot be told.",
}
COLUMNS = ("row", "question", "reference", "better_answer", "wrong_answer_before", "wrong_answer_after")
LABEL, ANNOTATOR = "label", "annotator"
_RUN = "=+-@\t\r＝＋－＠"  # what makes a spreadsheet take a cell for a formula


def cells(row: Mapping[str, Any]) -> dict[str, str]:
    """What a person sees of a row of the set."""
    better, worse = (
        (row["response_A"], row["response_B"]) if row["label"] == "A" else (row["response_B"], row["response_A"])
    )
    shown = (row["id"], row["question"], row["reference"] or "", better, row["original_wrong_answer"], worse)
    return dict(zip(COLUMNS, shown, strict=True))


def neutral(cell: str) -> str:
    """The text with an apostrophe before it where a spreadsheet would run it; `plain` takes it off again.

    Blanks before the sign do not keep every program from it.
    """
    return f"'{cell}" if cell.lstrip(" \n").startswith(tuple(_RUN)) or cell.startswith("'") else cell


def plain(cell: str) -> str:
    """A cell as it was before `neutral`, with white space collapsed: programs change line ends and cut blanks."""
    return " ".join(cell.removeprefix("'").split())


def as_csv(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """The sheet, with empty cells for the label and for who gave it. It begins with a byte order mark, without which
    Excel takes UTF-8 for something else."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([*COLUMNS, LABEL, ANNOTATOR])
    for row in rows:
        writer.writerow([*(neutral(cell) for cell in cells(row).values()), "", ""])
    return out.getvalue().encode("utf-8-sig")


def as_tasks(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Tasks to import into Label Studio, to be shown by `INTERFACE`."""
    return json.dumps([{"data": cells(row)} for row in rows], ensure_ascii=False, indent=1).encode()


INTERFACE = """<View>
  <Header value="Question"/>
  <Text name="question" value="$question"/>
  <Header value="Reference, where there is one"/>
  <Text name="reference" value="$reference"/>
  <Header value="The better answer"/>
  <Text name="better" value="$better_answer"/>
  <Header value="The wrong answer before"/>
  <Text name="before" value="$wrong_answer_before"/>
  <Header value="The wrong answer after it was rewritten"/>
  <Text name="after" value="$wrong_answer_after"/>
  <Choices name="label" toName="after" choice="single" required="true">
    <Choice value="kept" hint="still ends in the same wrong answer, or is still clearly worse"/>
    <Choice value="broken" hint="has become right, as good as the better one, or wrong in another way"/>
    <Choice value="unsure" hint="cannot be told"/>
  </Choices>
</View>
"""
