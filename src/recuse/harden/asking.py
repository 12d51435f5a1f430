"""Every rival asked about the same texts, through one ledger; of models that hold weights here one is in memory."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from recuse.asks import make_asks
from recuse.blinding.pairs import Blinds
from recuse.effects.scores import Scores
from recuse.harden.rivals import Asker, Rival, Seat
from recuse.harden.rules import both_orders, majority
from recuse.judge import Answered, Spend, estimate_tokens
from recuse.judgements import Unread, judgements, ordered
from recuse.lab.bench import Bench
from recuse.lab.engines import Engines, Role, Watch
from recuse.pairs import PairSet
from recuse.perturb.arms import ORIGINAL
from recuse.types import Judgement, Pair


@dataclass(frozen=True)
class Effort:
    """What one verdict takes, by the replies on the untouched answers. `cost`: US dollars, None without a price."""

    calls: float
    tokens_in: float
    tokens_out: float
    cost: float | None
    estimated: bool  # the replies do not tell their tokens: guessed from characters, at most so many out

    @property
    def tokens(self) -> float:
        return self.tokens_in + self.tokens_out

    def ratio(self, to: Effort) -> float | None:
        """By money where both cost any, else by tokens; None where nothing can be divided by."""
        if self.cost and to.cost:
            return self.cost / to.cost
        return self.tokens / to.tokens if to.tokens else None


@dataclass(frozen=True, eq=False)
class Judged:
    """What one rival made of every arm."""

    rival: Rival
    judgements: tuple[Judgement, ...]
    scores: Scores
    effort: Effort

    @cached_property
    def original(self) -> list[Judgement]:
        return [j for j in self.judgements if j.arm == ORIGINAL.id]


@dataclass
class Room:
    """Where rivals are asked: the ledger's folder, what was spent, and what the replies of an earlier run spare."""

    folder: Path
    spends: dict[Role, Spend]
    unread: dict[str, Unread]  # by rival
    max_cost: float | None = None
    stop: threading.Event | None = None
    watch: Watch = lambda phase, done, total, cost: None
    lent: Path | None = None  # the judge's ledger of the run whose biases are taken


def ask_all(room: Room, rivals: Sequence[Rival], bench: Bench, arms: Sequence[str], pairs: PairSet) -> list[Judged]:
    """Every rival on the untouched answers and on the usable texts of `arms`, model by model.

    `pairs` is the set from which those of the bench come: blinding finds the names of a pair in it. Raises Incomplete
    as `judge.judge` does; what was paid for is in the ledger, and the same call asks only for what is missing.
    """
    seats: list[Seat] = []
    for asker in (asker for rival in rivals for asker in rival.askers):
        if not any(asker.seat is seat for seat in seats):
            seats.append(asker.seat)
    found: dict[tuple[str, int], tuple[list[Judgement], Effort]] = {}
    views: dict[Blinds | None, dict[str, list[Pair]]] = {}
    for seat in seats:
        with _engines(room, seat) as engines:
            if seat.described.backend is not None:
                engines.adopt("judge", seat.described.backend)
            for rival in rivals:
                for i, asker in enumerate(rival.askers):
                    if asker.seat is not seat:
                        continue
                    if asker.blinds not in views:
                        views[asker.blinds] = shown(bench, arms, asker.blinds, pairs)
                    found[rival.id, i] = _ask(engines, room, rival, asker, bench, views[asker.blinds])
    return [_judged(rival, [found[rival.id, i] for i in range(len(rival.askers))], bench, arms) for rival in rivals]


def _engines(room: Room, seat: Seat) -> Engines:
    lent: dict[Role, Path] = {"judge": room.lent} if room.lent is not None and room.lent.is_file() else {}
    return Engines(
        {"judge": seat.model}, room.folder, room.max_cost, room.stop, room.watch, lent=lent, spends=room.spends
    )  # fmt: skip


def shown(bench: Bench, arms: Sequence[str], blinds: Blinds | None, pairs: PairSet) -> dict[str, list[Pair]]:
    """The pairs of each arm as a judge is shown them. Raises InputError where blinding leaves something."""
    found = {}
    for arm in (ORIGINAL.id, *arms):
        if arm in bench.void:
            continue
        texts = {pair.id: pair.rejected for pair in bench.pairs} if arm == ORIGINAL.id else bench.texts(arm)
        found[arm] = [replace(pair, rejected=texts[pair.id]) for pair in bench.pairs if pair.id in texts]
        if blinds is not None:
            masked = _masked(pairs, texts, blinds, by=arm)
            found[arm] = [masked[pair.id] for pair in found[arm]]
    return found


def _masked(pairs: PairSet, texts: Mapping[str, str], blinds: Blinds, *, by: str) -> dict[str, Pair]:
    """The pairs with these rejected answers, blinded, by id; the names of a row are those of its source."""
    put_in = pairs.changed(lambda pair: replace(pair, rejected=texts.get(pair.id, pair.rejected)), by=by)
    return {pair.id: pair for pair in blinds.blinded(put_in)[0] if pair.id in texts}


def _ask(
    engines: Engines, room: Room, rival: Rival, asker: Asker, bench: Bench, views: Mapping[str, Sequence[Pair]]
) -> tuple[list[Judgement], Effort]:
    asks = [ask for arm, of_arm in views.items() for ask in make_asks(of_arm, asker.design, arm=arm)]
    answered = engines.ask("judge", asks, phase=f"{rival.id}: judging")
    spec = asker.design.prompt.spec if asker.design.prompt else None
    groups = {pair.id: pair.group for pair in bench.pairs}
    unread = room.unread.setdefault(rival.id, Unread())
    read = ordered(judgements(answered, spec, groups, unread), [pair.id for pair in bench.pairs])
    return read, _effort([a for a in answered if a.ask.arm == ORIGINAL.id], asker)


def _effort(answered: Sequence[Answered], asker: Asker) -> Effort:
    guesses = [estimate_tokens(a.ask) for a in answered]
    estimated = any(a.reply.tokens_in is None or a.reply.tokens_out is None for a in answered)
    counts = guesses if estimated else [(a.reply.tokens_in or 0, a.reply.tokens_out or 0) for a in answered]
    verdicts = max(1, len(answered)) / asker.calls_a_verdict
    into, out = (sum(count[i] for count in counts) / verdicts for i in (0, 1))
    price = asker.seat.model.price
    cost = price.of(1, 0) * into + price.of(0, 1) * out if price else None
    return Effort(float(asker.calls_a_verdict), into, out, cost, estimated)


def _judged(rival: Rival, found: Sequence[tuple[list[Judgement], Effort]], bench: Bench, arms: Sequence[str]) -> Judged:
    columns, efforts = zip(*found, strict=True)
    judged: list[Judgement] = columns[0]
    times = 1
    if rival.rule == "both orders":
        judged, times = both_orders(judged), 2
    elif rival.rule == "majority":
        judged = majority(columns)
    made = {
        arm: {id: replace(r, text=None) if arm in bench.void else r for id, r in bench.rewrites.get(arm, {}).items()}
        for arm in arms
    }
    groups = {pair.id: pair.group for pair in bench.pairs}
    scores = Scores.build(judged, [pair.id for pair in bench.pairs], groups, made)
    costs = [effort.cost for effort in efforts]
    whole = Effort(
        times * sum(e.calls for e in efforts), times * sum(e.tokens_in for e in efforts),
        times * sum(e.tokens_out for e in efforts),
        None if any(c is None for c in costs) else times * sum(c or 0.0 for c in costs),
        any(e.estimated for e in efforts),
    )  # fmt: skip
    return Judged(rival, tuple(judged), scores, whole)
