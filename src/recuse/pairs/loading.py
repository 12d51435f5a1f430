"""From rows to a PairSet: identity, groups, the duplicate check, and a count of everything that was left out."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

from recuse.errors import InputError
from recuse.pairs.families import question_key
from recuse.pairs.pairset import Digests, PairSet, classes, sample, set_hash
from recuse.pairs.presets import Preset
from recuse.pairs.readers import Rows
from recuse.pairs.rows import BadRow, Draft, Position, Prompt, Row, Unusable, optional
from recuse.pairs.store import Store, Writer
from recuse.prompts import canonical

if TYPE_CHECKING:
    import numpy as np

OnBad = Literal["error", "skip"]


@dataclass(frozen=True, slots=True)
class Item:
    row: int
    draft: Draft
    group: str | None
    meta: Mapping[str, Any]


@dataclass
class Load:
    """Counts of one load, by reason, for the notes."""

    source: str
    on_bad: OnBad
    skipped: Counter[str] = field(default_factory=Counter)  # faulty rows, left out at the caller's wish
    first: dict[str, int] = field(default_factory=dict)  # the first such row by reason
    left_out: Counter[str] = field(default_factory=Counter)  # ties and what a publication is known for
    notes: list[str] = field(default_factory=list)

    def columns_of(self, rows: Rows) -> tuple[list[str], Rows]:
        """Column names by the first sound row, and the rows from the first on."""
        passed: list[tuple[int, Any]] = []
        for number, row in rows:
            passed.append((number, row))
            if not isinstance(row, BadRow):
                return list(row), chain(passed, rows)
            if self.on_bad == "error":
                raise self.error(number, row)
        raise InputError("there are no rows" if not passed else "no row is sound", path=self.source, hint="Check it.")

    def items(self, rows: Rows, form: Preset, by: str | None) -> Iterator[Item]:
        for number, row in rows:
            try:
                yield _item(number, row, form, by)
            except Unusable as reason:
                self.left_out[str(reason)] += 1
            except BadRow as bad:
                if bad.reason in form.leaves_out:
                    self.left_out[bad.reason] += 1
                else:
                    self.bad(number, bad)

    def bad(self, number: int, bad: BadRow) -> None:
        if self.on_bad == "error":
            raise self.error(number, bad) from None
        self.skipped[bad.reason] += 1
        self.first.setdefault(bad.reason, number)

    def error(self, number: int, bad: BadRow) -> InputError:
        return InputError(
            str(bad), path=self.source, row=number, field=bad.field, hint="Correct it, or skip such rows (--skip-bad)."
        )

    def collect(self, items: Iterator[Item], form: Preset, *, limit: int | None, seed: int) -> PairSet:
        import numpy as np

        ids, groups, answers, writer = Digests(), Digests(), Digests(), Writer()
        golds, turned = bytearray(), bytearray()
        for item in items:
            digest = _identity(item.draft)
            question = question_key(item.draft.prompt)
            group = item.group if item.group is not None else question
            either_way = sorted((item.draft.chosen, item.draft.rejected))
            answers.add(_digest([question, *either_way]))
            turned.append(item.draft.chosen != either_way[0])
            ids.add(digest)
            groups.add(hashlib.sha256(group.encode()).digest())
            golds += (item.draft.gold or "-").encode()
            writer.add(_record(item, digest.hex()[:20], group))
        store, by_id, by_group = writer.finish(), ids.array(), groups.array()
        keep = self._first_of_each(by_id, store)
        if not keep.any():
            raise InputError("no row gives a pair", path=self.source, hint=" ".join(self._omissions()) or "Check it.")
        balance = Counter(np.frombuffer(golds, dtype="S1")[keep].tolist())
        counts = {"A": balance[b"A"], "B": balance[b"B"], "unknown": balance[b"-"]}
        index = np.flatnonzero(keep)
        self.notes += [
            *self._omissions(),
            *_contradictions(answers.array()[index], np.frombuffer(turned, dtype=bool)[index], store, index),
            *_first_place(counts, "pair" if form.votes else "row"),
        ]
        if limit is not None and limit < len(index):
            total = len(index)
            index = index[sample(by_group[index], limit=limit, seed=seed)]
            self.notes.append(
                f"A sample of {len(index):,} of {total:,} pairs, in whole groups, was drawn by seed {seed}."
            )
        number = len(classes(by_group[index])[1])
        if number < len(index):
            self.notes.append(f"Questions repeat: {len(index):,} pairs form {_count(number, 'group')}.")
        return PairSet(
            store, index, source=self.source, preset=form.name, hash=set_hash(by_id[index], by_group[index]),
            groups=number, balance=counts, notes=self.notes,
        )  # fmt: skip

    def _first_of_each(self, ids: np.ndarray, store: Store) -> np.ndarray:
        import numpy as np

        codes, firsts = classes(ids)
        keep: np.ndarray = firsts[codes] == np.arange(len(ids))
        for position in np.flatnonzero(~keep):
            row, first = (store.row(int(i))["row"] for i in (position, firsts[codes[position]]))
            self.bad(row, BadRow("duplicate pair", f"this is the pair of row {first} again"))
        return keep

    def _omissions(self) -> list[str]:
        return [f"{_were(n, 'row')} left out: {reason}." for reason, n in sorted(self.left_out.items())] + [
            f"{_were(n, 'row')} skipped as faulty: {reason} ({'row' if n == 1 else 'first: row'} {self.first[reason]})."
            for reason, n in sorted(self.skipped.items())
        ]


def _count(n: int, noun: str) -> str:
    return f"1 {noun}" if n == 1 else f"{n:,} {noun}s"


def _were(n: int, noun: str) -> str:
    return f"{_count(n, noun)} {'was' if n == 1 else 'were'}"


def _contradictions(answers: np.ndarray, turned: np.ndarray, store: Store, index: np.ndarray) -> list[str]:
    """`answers`: digests of question and answers in either order; `turned`: which of the two orders."""
    import numpy as np

    codes, firsts = classes(answers)
    against = np.flatnonzero(turned != turned[firsts][codes])
    if not len(against):
        return []
    example = index[[firsts[codes[against[0]]], against[0]]]
    one, other = (store.row(int(position))["row"] for position in example)
    number = len(np.unique(codes[against]))
    return [
        f"{_count(number, 'pair')} {'stands' if number == 1 else 'stand'} in the source both ways round, chosen and "
        f"rejected exchanged ({'' if number == 1 else 'first: '}rows {one} and {other}): no judge is right on both."
    ]


def _first_place(balance: Mapping[str, int], noun: str) -> list[str]:
    known = balance["A"] + balance["B"]
    if not known:
        return []
    return [f"The better answer stood first in {balance['A']:,} of {_count(known, noun)} of the source."]


def _item(number: int, row: dict[str, Any] | BadRow, form: Preset, by: str | None) -> Item:
    if isinstance(row, BadRow):
        raise row
    if (wanting := form.missing(row)) is not None:
        raise BadRow("missing field", "the field is missing", wanting)
    draft = form.read(row)
    if draft.chosen == draft.rejected:
        raise BadRow("equal answers", "the two answers are equal")
    group = optional(row, by) if by is not None else None
    if by is not None and group is None:
        raise BadRow("missing field", "the group is empty", by)
    return Item(number, draft, group, _meta(row, form))


def _meta(row: Row, form: Preset) -> dict[str, Any]:
    """The single values beside what the preset reads, lists of texts (such as names), and lists of tests for code."""
    return {
        key: value
        for key, value in row.items()
        if key not in form.taken
        and (isinstance(value, str | int | float) or (isinstance(value, list) and (key in _TESTS or _are_texts(value))))
        and not _is_nan(value)
    }


_TESTS = frozenset({"tests", "test_list"})  # see perturb.code.run_tests


def _are_texts(value: list[Any]) -> bool:
    return all(isinstance(item, str) for item in value)


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def majority(items: Iterator[Item], load: Load) -> Iterator[Item]:
    """One item for each two answers to a question, as most of its rows have it. Holds all distinct ones in memory."""
    held: dict[bytes, Item] = {}
    net: Counter[bytes] = Counter()
    votes = 0
    for item in items:
        draft = item.draft
        key = _digest([_plain(draft.prompt), *sorted((draft.chosen, draft.rejected))])
        first = held.setdefault(key, item)
        net[key] += 1 if first.draft.chosen == draft.chosen else -1
        votes += 1
    if votes > len(held):
        load.notes.append(f"{votes:,} rows are votes on {_count(len(held), 'pair')}; the majority counts.")
    if even := sum(n == 0 for n in net.values()):
        load.notes.append(f"{_were(even, 'pair')} left out: as many votes for one answer as for the other.")
    for key, item in held.items():
        if net[key] != 0:
            yield item if net[key] > 0 else replace(item, draft=_flipped(item.draft))


def _flipped(draft: Draft) -> Draft:
    gold: Position | None = None if draft.gold is None else "B" if draft.gold == "A" else "A"
    return replace(draft, chosen=draft.rejected, rejected=draft.chosen, gold=gold)


def _record(item: Item, identity: str, group: str) -> dict[str, Any]:
    draft = item.draft
    prompt = _plain(draft.prompt)
    return {
        "id": identity,
        "prompt": prompt if isinstance(prompt, str) else canonical(prompt),
        "conversation": not isinstance(prompt, str),
        "chosen": draft.chosen,
        "rejected": draft.rejected,
        "group": group,
        "domain": draft.domain,
        "reference": draft.reference,
        "gold": draft.gold,
        "meta": json.dumps(item.meta),
        "row": item.row,
    }


def _identity(draft: Draft) -> bytes:
    return _digest(
        {
            "prompt": _plain(draft.prompt),
            "chosen": draft.chosen,
            "rejected": draft.rejected,
            "reference": draft.reference,
        }
    )


def _digest(value: object) -> bytes:
    return hashlib.sha256(canonical(value).encode()).digest()


def _plain(prompt: Prompt) -> object:
    return prompt if isinstance(prompt, str) else [{"role": m.role, "content": m.content} for m in prompt]
