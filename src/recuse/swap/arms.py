"""What a swap test asks in one mode, and the rows that the replies give: swaps, meaningless changes, blinded texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from recuse.swap.asking import Key, Round
from recuse.swap.gaps import Rows
from recuse.swap.shown import BLANK, SYNONYM, Redacts, Texts, blinded, edited

Spot = tuple[str, str, str, Key]  # template, side, name, what was asked
Duel = tuple[str, str, str, tuple[Key, Key]]  # template, name of one side, name of the other, both orders
CHANGED, PLAIN = "changed", "as it was"


@dataclass
class Arm:
    """Asks whose replies are compared side against side. Singles are scored; a duel gives both sides a share."""

    sides: tuple[str, str]
    singles: list[Spot] = field(default_factory=list)
    duels: list[Duel] = field(default_factory=list)

    def rows(self, asked: Round) -> Rows:
        rows = Rows()
        for template, side, name, key in self.singles:
            rows.add(template, side, name, asked.said(key).value)
        for template, one, two, keys in self.duels:
            p = asked.preference(keys)
            rows.add(template, self.sides[0], one, p)
            rows.add(template, self.sides[1], two, None if p is None else 1.0 - p)
        return rows


def swaps(texts: Texts, asked: Round) -> dict[tuple[str, str], Arm]:
    """Each pair of groups: every text scored, or the texts of matched names side by side."""
    return _compared(texts, asked, lambda template, group, name, text: text)


def _compared(
    texts: Texts, asked: Round, shown: Callable[[str, str, str, str], str | None]
) -> dict[tuple[str, str], Arm]:
    """`shown`: the text of a template, group and name as the judge sees it; None: it is not asked about."""
    arms = {}
    for a, b in texts.pairs:
        arm = Arm((a, b))
        if asked.mode.kind == "pointwise":
            for template, of in texts.of.items():
                for side in (a, b):
                    for one in of[side]:
                        if (text := shown(template, side, one.name, one.text)) is not None:
                            key = asked.single(texts.questions[template], text)
                            arm.singles.append((template, side, one.name, key))
        else:
            for template, one, two in texts.matched(a, b):
                first, second = shown(template, a, one.name, one.text), shown(template, b, two.name, two.text)
                if first is not None and second is not None:
                    keys = asked.duel(texts.questions[template], first, second)
                    arm.duels.append((template, one.name, two.name, keys))
        arms[a, b] = arm
    return arms


def changes(texts: Texts, asked: Round, *, names: int, synonyms: Mapping[str, str]) -> dict[str, Arm]:
    """Texts with a meaningless edit against the same texts as they were, for the first names of each group."""
    arms = {}
    for edit in (BLANK, SYNONYM):
        arm = Arm((CHANGED, PLAIN))
        for one in texts.few(names):
            text, question = edited(one, edit, synonyms), texts.questions[one.template]
            if text is None:
                continue
            if asked.mode.kind == "pointwise":
                arm.singles.append((one.template, CHANGED, one.name, asked.single(question, text)))
                arm.singles.append((one.template, PLAIN, one.name, asked.single(question, one.text)))
            else:
                arm.duels.append((one.template, one.name, one.name, asked.duel(question, text, one.text)))
        arms[edit] = arm
    return arms


@dataclass
class Retest:
    """The same request twice, to a judge whose replies vary."""

    pairs: list[tuple[str, str, list[tuple[Key, Key]]]] = field(default_factory=list)  # template, name, (first, again)
    stale: int = 0  # repeats that came from a cache

    def rows(self, asked: Round) -> Rows:
        """In the unit of the gap: for duels the preference for one text minus that for the other."""
        rows, self.stale = Rows(), 0
        for template, name, keys in self.pairs:
            said = [(asked.said(first), asked.said(again)) for first, again in keys]
            if not all(one.fresh and two.fresh for one, two in said):
                self.stale += 1
                continue
            for side, values in ((PLAIN, [one.value for one, _ in said]), (CHANGED, [two.value for _, two in said])):
                rows.add(template, side, name, _in_gap_unit(values))
        return rows


def _in_gap_unit(values: list[float | None]) -> float | None:
    """A score as it is; of a duel's two orders, P(one) - P(other)."""
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    return known[0] if len(known) == 1 else known[0] - known[1]


def retest(texts: Texts, asked: Round, *, names: int) -> Retest:
    found = Retest()
    if asked.mode.kind == "pointwise":
        for one in texts.few(names):
            question = texts.questions[one.template]
            keys = [(asked.single(question, one.text), asked.single(question, one.text, repeat=1))]
            found.pairs.append((one.template, one.name, keys))
        return found
    for a, b in texts.pairs:
        done: dict[str, int] = {}
        for template, one, two in texts.matched(a, b):
            done[template] = done.get(template, 0) + 1
            if done[template] <= names:
                question = texts.questions[template]
                first = asked.duel(question, one.text, two.text)
                again = asked.duel(question, one.text, two.text, repeat=1)
                found.pairs.append((template, f"{one.name}|{two.name}", list(zip(first, again, strict=True))))
    return found


@dataclass
class Blinded:
    """The swap test on blinded texts. Only templates where something still differs are asked about."""

    arms: dict[tuple[str, str], Arm]
    same: dict[tuple[str, str], int]  # matched texts that became byte-identical
    different: dict[tuple[str, str], int]
    left: dict[tuple[str, str], list[str]]  # templates with texts that still differ

    def rows(self, pair: tuple[str, str], texts: Texts, asked: Round) -> Rows:
        """With a gap of 0 for templates whose texts became identical, since one request has one reply."""
        rows = self.arms[pair].rows(asked)
        middle = sum(asked.mode.bounds) / 2
        for template in texts.of:
            if template not in self.left[pair]:
                for side in pair:
                    rows.add(template, side, "", middle)
        return rows


def blind(texts: Texts, asked: Round, redactor: Redacts) -> Blinded:
    shown = blinded(texts, redactor)
    same, different, left = {}, {}, {}
    for a, b in texts.pairs:
        matched = [(t, shown[t, a, one.name], shown[t, b, two.name]) for t, one, two in texts.matched(a, b)]
        same[a, b] = sum(first == second for _, first, second in matched)
        different[a, b] = len(matched) - same[a, b]
        left[a, b] = list(dict.fromkeys(t for t, first, second in matched if first != second))
    arms: dict[tuple[str, str], Arm] = {}
    for pair in texts.pairs:
        only = Texts({t: texts.of[t] for t in left[pair]}, texts.questions, pair)
        arms |= _compared(only, asked, lambda template, group, name, text: shown[template, group, name])
    return Blinded(arms, same, different, left)
