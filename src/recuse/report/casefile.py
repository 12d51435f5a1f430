"""`cases.parquet`: the texts of the cases that a run's page shows, worst first; and those cases read back.

Verdicts come from `judgements.parquet` and the judge's words from the ledger, so that nothing is kept twice. Verdicts
that were recorded elsewhere have no ledger: their words stand in the column `replies`.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recuse.columns import PREFERS, Judgements
from recuse.errors import InputError
from recuse.ledger import Ledger
from recuse.prompts import transcript
from recuse.report.case import OUTCOMES, UNTOUCHED, Case, Said, outcome_of
from recuse.types import Judgement, Pair, Reply

if TYPE_CHECKING:
    import pyarrow as pa

CASES = "cases.parquet"
MOST = 10_000  # cases that a page holds
_COLUMNS = ("pair", "arm", "question", "chosen", "rejected", "untouched", "replies")
_VIEWS = {"AB": ("AB",), "BA": ("BA",), "-": ("chosen", "rejected")}
_HINT = "Run the audit's command again: it asks for nothing that the ledger holds, and writes its files anew."

Key = tuple[str, str]  # pair, arm
Call = tuple[str, str, str, int]  # pair, arm, view, repeat
Words = Mapping[tuple[str, str, int], str]  # pair, order, repeat -> what a recorded judge wrote


def select(judgements: Iterable[Judgement], *, most: int = MOST) -> list[Key]:
    """The cases that are shown, worst first and else in the order in which they came; the untouched answers, arms of
    biases and their placebos."""
    import numpy as np

    rows = Judgements.of(judgements)
    ranks = np.array([_rank(said) for said in range(1 << len(PREFERS))])
    arms = rows.arms.texts
    shown = np.array([_shown(arm) for arm in arms], dtype=bool)[rows.column("arm")] & (rows.column("repeat") == 0)
    of = rows.column("pair")[shown].astype(np.int64) * len(arms) + rows.column("arm")[shown]
    cases, first, place = np.unique(of, return_index=True, return_inverse=True)
    said = np.zeros(cases.size, dtype=np.int64)
    np.bitwise_or.at(said, place, 1 << rows.column("prefers")[shown].astype(np.int64))
    untouched = np.array([arm == UNTOUCHED for arm in arms], dtype=bool)[cases % len(arms)]
    worst = np.lexsort((first, ~untouched, ranks[said]))[:most]
    return [(rows.pairs.texts[case // len(arms)], arms[case % len(arms)]) for case in cases[worst].tolist()]


def _rank(said: int) -> int:
    """The place among `OUTCOMES` of a case whose verdicts are the set bits, which count in `PREFERS`."""
    return list(OUTCOMES).index(outcome_of(_says(p, "") for bit, p in enumerate(PREFERS) if said >> bit & 1))


def _shown(arm: str) -> bool:
    return arm == UNTOUCHED or arm == "placebo" or arm.startswith(("bias:", "placebo:"))


def _says(prefers: str | None, reason: str | None) -> str:
    return prefers or f"none ({reason})"


def cases_bytes(
    keys: Sequence[Key],
    pair_of: Callable[[str], Pair] | None,
    texts: Mapping[str, Mapping[str, str]],
    words: Words | None = None,
) -> bytes:
    """The file of these cases. `pair_of` None: no texts are known. `texts`: by arm and pair, the changed answer.
    `words`: what a recorded judge wrote."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    replies: dict[str, list[tuple[str, int, str]]] = {}
    for (pair, order, repeat), text in (words or {}).items():
        replies.setdefault(pair, []).append((order, repeat, text))
    rows = []
    for pair, arm in keys:
        row: dict[str, str | None] = {"pair": pair, "arm": arm}
        if pair in replies:
            row["replies"] = json.dumps(replies[pair])
        if pair_of is not None:
            of = pair_of(pair)
            row |= {"question": transcript(of.prompt), "chosen": of.chosen, "rejected": of.rejected}
            if arm != UNTOUCHED:
                row |= {"rejected": texts[arm].get(pair), "untouched": of.rejected}
        rows.append({name: _whole(row.get(name)) for name in _COLUMNS})
    schema = pa.schema([pa.field(name, pa.string()) for name in _COLUMNS])
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), sink, compression="zstd")
    return sink.getvalue()


def _whole(text: str | None) -> str | None:
    """Half of a surrogate pair, which no file can hold, as its escape."""
    return text and text.encode("utf-8", "backslashreplace").decode("utf-8")


def read_cases(folder: Path) -> tuple[tuple[Case, ...], int]:
    """The cases of a run that are shown, worst first, and how many there are in all; none where the run kept none.

    Raises InputError for damaged files.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    if not (folder / CASES).is_file():
        return (), 0
    try:
        rows = pq.read_table(folder / CASES).to_pylist()
        keys = {(row["pair"], row["arm"]) for row in rows}
        judged: dict[Key, list[dict[str, Any]]] = {}
        with pq.ParquetFile(folder / "judgements.parquet") as file:
            total = _count(file.read(columns=["pair", "arm"]))
            wanted = pa.array({pair for pair, _ in keys}, type=pa.string())
            for batch in file.iter_batches():
                for row in batch.filter(pc.is_in(batch.column("pair"), wanted)).to_pylist():
                    judged.setdefault((row["pair"], row["arm"]), []).append(row)
        replies = _replies(folder, keys)
        return tuple(_case(row, judged, replies) for row in rows), total
    except (OSError, KeyError, ValueError, TypeError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"the cases of the run cannot be read ({reason})", path=folder, hint=_HINT) from None


def _count(every: pa.Table) -> int:
    """How many cases a table of pairs and arms holds."""
    import pyarrow.compute as pc

    shown = [arm for arm in pc.unique(every.column("arm")).to_pylist() if _shown(arm)]
    of_arm = (every.column("pair").filter(pc.equal(every.column("arm"), arm)) for arm in shown)
    return sum(pc.count_distinct(pairs).as_py() for pairs in of_arm)


def _replies(folder: Path, keys: set[Key]) -> dict[Call, str]:
    if not (folder / "ledger.sqlite").is_file():
        return {}
    with closing(Ledger.existing(folder)) as ledger:
        return {call: told(reply) for call, reply in ledger.replies(keys)}


def told(reply: Reply) -> str:
    """A reply as it is shown: what was thought, what was said, and what ended it where that is not its own end."""
    parts = [
        f"Thinking: {reply.thinking}" if reply.thinking else "",
        reply.text,
        f"score {reply.score:g}" if reply.score is not None else "",
        f"({reply.error or reply.finish})" if reply.finish != "stop" else "",
    ]
    return "\n".join(part for part in parts if part)


def _case(row: Mapping[str, Any], judged: Mapping[Key, list[dict[str, Any]]], replies: Mapping[Call, str]) -> Case:
    pair, arm = row["pair"], row["arm"]
    asked = judged[pair, arm]
    own = {(order, repeat): text for order, repeat, text in json.loads(row["replies"] or "[]")}
    said = []
    for j in asked:
        words = [replies.get((pair, arm, view, j["repeat"])) for view in _VIEWS[j["order"]]]
        words.append(own.get((j["order"], j["repeat"])))
        kept = tuple(text for text in words if text is not None)
        said.append(Said(j["order"], _says(j["prefers"], j["reason"]), j["repeat"], _probability(j["logit"]), kept))
    before = {
        j["order"]: _says(j["prefers"], j["reason"]) for j in judged.get((pair, UNTOUCHED), ()) if not j["repeat"]
    }
    return Case(
        pair, arm, asked[0]["domain"], row["question"], row["chosen"], row["rejected"], row["untouched"],
        said=tuple(said), before=before if arm != UNTOUCHED else None, gold=asked[0]["gold"] is not False,
    )  # fmt: skip


def _probability(logit: float | None) -> float | None:
    return None if logit is None else 1 / (1 + math.exp(-max(-500.0, min(500.0, logit))))
