"""Where a run's texts are made and judged: one bench for each part of the pairs, filled arm by arm."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from recuse.asks import Design, make_asks
from recuse.backends import Capabilities
from recuse.effects.contrast import Effect, contrast
from recuse.effects.scores import Scores
from recuse.judge import Answered
from recuse.judgements import Unread, judgements, ordered
from recuse.lab.engines import Engines, Role, Send
from recuse.perturb.arms import ORIGINAL, Arm, Rewrite, variants
from recuse.perturb.teacher import Rewritten, Verifier, Wording, rewrite_all
from recuse.prompts import Prompt
from recuse.types import Ask, Judgement, Pair, Sampling


@dataclass
class Bench:
    """One part of the pairs: what was made of their rejected answers, and what the judge made of that."""

    name: str  # "discovery", "validation", "test"
    pairs: tuple[Pair, ...]
    rewrites: dict[str, dict[str, Rewrite]] = field(default_factory=dict)  # by arm and pair
    void: dict[str, str] = field(default_factory=dict)  # arms that broke the truth too often, and how often
    strict: set[str] = field(default_factory=set)  # arms that broke it once and are written with the stricter prompt
    judged: dict[str, list[Judgement]] = field(default_factory=dict)  # by arm
    scale: tuple[float, float] | None = None  # of the scores that the judge gives; None: without ends, or no scores

    @property
    def groups(self) -> int:
        return len({pair.group for pair in self.pairs})

    def texts(self, arm: str) -> dict[str, str]:
        return {id: r.text for id, r in self.rewrites.get(arm, {}).items() if r.text is not None}

    def scores(self) -> Scores:
        """Arms that are void are left with no usable text: they stay in the family of tests, with p = 1."""
        made = {
            arm: {id: replace(r, text=None) for id, r in of_arm.items()} if arm in self.void else of_arm
            for arm, of_arm in self.rewrites.items()
        }
        found = [j for arm in self.judged.values() for j in arm]
        groups = {pair.id: pair.group for pair in self.pairs}
        return Scores.build(found, [pair.id for pair in self.pairs], groups, made, scale=self.scale)

    def add(self, done: Rewritten) -> None:
        """Keep what a teacher wrote. Whether an arm is void was decided over all its rewrites so far."""
        for arm, made in done.rewrites.items():
            self.rewrites.setdefault(arm, {}).update(made)
            self.void.pop(arm, None)
        self.void |= done.void
        self.strict |= done.strict

    def reference(self, arm: Arm) -> str:
        """The arm against which another is measured: its own placebo where it has one, else the one that all share."""
        own = f"placebo:{arm.bias}"
        return own if own in self.rewrites else "placebo"

    def effect(self, scores: Scores, arm: Arm, *, level: float = 0.95) -> Effect:
        return contrast(scores, arm.id, self.reference(arm), level=level)


def writing(
    can: Capabilities, pairs: Iterable[Pair], *, tokens: int | None = None, thinking: int = 0, seed: int = 0
) -> Sampling:
    """How a teacher writes: greedily where it can, with room for the longest answer, a JSON reply and its thinking."""
    return Sampling(
        temperature=0.0 if can.temperature else None,
        max_tokens=tokens or writing_room(pairs) + thinking,
        seed=seed if can.seed else None,
    )


def writing_room(pairs: Iterable[Pair]) -> int:
    """Tokens for the longest answer and a JSON reply."""
    return 400 + max((len(pair.rejected) for pair in pairs), default=0) // 2


@dataclass
class Lab:
    """The two models with all that they are asked with."""

    engines: Engines
    design: Design  # how the deployed judge is asked
    sampling: Sampling  # how the teacher writes
    wording: Wording
    verify: Prompt | None  # by which the teacher says whether an answer is still the same; None: it is not asked
    run_code: bool = False  # the pairs' own tests may run on the code of the answers
    room: int = 0  # tokens that every reply of a teacher may take which may think first
    unread: Unread = field(default_factory=Unread)

    def brief(self, prompt: Prompt) -> Sampling:
        """How the teacher answers a prompt of its own limit: by that limit, or by its room where that is larger."""
        return replace(self.sampling, max_tokens=max(prompt.max_tokens, self.room))

    @property
    def tight(self) -> bool:
        """Whether a rewrite is cut at about twice its longest allowed length."""
        return self.room == 0

    def send(self, role: Role, phase: str) -> Send:
        return lambda asks: self.engines.ask(role, list(asks), phase=phase)

    def rewrite(self, bench: Bench, work: Iterable[tuple[Arm, Sequence[Pair]]]) -> None:
        """Have the teacher write what the bench lacks: arms that it has no rewrites of for those pairs."""
        todo = []
        for arm, pairs in work:
            known = bench.rewrites.get(arm.id, {})
            if missing := [pair for pair in pairs if pair.id not in known]:
                todo.append((arm, missing))
        if not todo:
            return
        ask = self.send("teacher", f"{bench.name}: rewriting")
        verifier = None
        if self.verify:
            verifier = Verifier(self.send("teacher", f"{bench.name}: verifying"), self.verify, self.brief(self.verify))
        done = rewrite_all(
            todo, ask, sampling=self.sampling, wording=self.wording, verifier=verifier, known=bench.rewrites,
            strict=bench.strict, tight=self.tight, run_code=self.run_code,
        )  # fmt: skip
        bench.add(done)

    def judge(self, bench: Bench, arms: Iterable[str]) -> None:
        """Have the judge see what the bench has not shown it yet: usable texts of these arms, "original" among them."""
        seen = {arm: {j.pair for j in bench.judged.get(arm, ())} for arm in arms}
        asks: list[Ask] = []
        for arm in seen:
            shown = bench.pairs if arm == ORIGINAL.id else variants(bench.pairs, bench.rewrites.get(arm, {}))
            asks += make_asks((pair for pair in shown if pair.id not in seen[arm]), self.design, arm=arm)
        bench.scale = self.design.prompt.spec.scale if self.design.prompt else None
        answered = self.engines.ask("judge", asks, phase=f"{bench.name}: judging")
        for judgement in self._read(bench, answered):
            bench.judged.setdefault(judgement.arm, []).append(judgement)

    def _read(self, bench: Bench, answered: Sequence[Answered]) -> list[Judgement]:
        spec = self.design.prompt.spec if self.design.prompt else None
        groups: Mapping[str, str] = {pair.id: pair.group for pair in bench.pairs}
        return ordered(judgements(answered, spec, groups, self.unread), [pair.id for pair in bench.pairs])
