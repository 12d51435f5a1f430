"""Rewrites by a teacher model: asked in rounds, measured, asked again, checked, and given up where truth breaks.

Every request goes through one `ask` that the caller gives, and the requests are a function of the replies alone, so
that a run that is repeated over its ledger asks for nothing twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from recuse.judge import Answered
from recuse.perturb.arms import Arm, Fault, Rewrite
from recuse.perturb.checks import BROKEN, VERIFIER, check, length_limits, read_verify, verify_ask
from recuse.perturb.closing import set_aside, stated
from recuse.perturb.leftovers import unwrap
from recuse.prompts import Prompt, load_prompt, transcript
from recuse.types import Ask, Pair, Reply, Sampling
from recuse.verdict.text import split_thinking

AskAll = Callable[[Sequence[Ask]], Iterable[Answered]]
TRIES = 3
VOID_OVER = 0.05  # share of an arm's rewrites whose final answer may differ
LEAST_BROKEN = 3  # fewer say nothing about such a share
_MENDED: frozenset[Fault] = frozenset({"length", "unchanged"})
_UNCOMPARED: frozenset[Fault] = frozenset({"unchanged", "unverified", "mislabelled"})
_Key = tuple[str, str]  # Arm.id, Pair.id


@dataclass(frozen=True, slots=True)
class Wording:
    """The teacher's prompts, all of kind rewrite: the first try, later tries, and an arm that broke the truth."""

    first: Prompt
    again: Prompt
    strict: Prompt


def load_wording(
    first: str = "rewrite/inject", again: str = "rewrite/again", strict: str = "rewrite/strict"
) -> Wording:
    return Wording(*(load_prompt(name, kinds=("rewrite",)) for name in (first, again, strict)))


@dataclass(frozen=True, slots=True)
class Verifier:
    """A model that says whether two texts give the same final answer, where code cannot tell."""

    ask: AskAll
    prompt: Prompt  # of kind verify
    sampling: Sampling


@dataclass(frozen=True, slots=True)
class Rewritten:
    """`rewrites` by arm and pair. An arm in `void` broke the truth too often, for the reason given; its rewrites are
    kept to be counted, not to be judged. Those in `strict` were written with the stricter prompt."""

    rewrites: dict[str, dict[str, Rewrite]]
    void: dict[str, str]
    strict: frozenset[str]


@dataclass(frozen=True, slots=True)
class Tally:
    """What became of an arm. `broken` of the `compared` rewrites had another final answer, or the right one."""

    asked: int
    usable: int
    compared: int
    broken: int
    attempts: int
    faults: Mapping[Fault, int]

    @property
    def broken_rate(self) -> float | None:
        return self.broken / self.compared if self.compared else None


def tally(rewrites: Iterable[Rewrite]) -> Tally:
    """Count usable rewrites, reasons and requests. A rewrite with two faults counts under both."""
    every = list(rewrites)
    compared = [r for r in every if r.checked and _UNCOMPARED.isdisjoint(r.faults)]
    return Tally(
        asked=len(every),
        usable=sum(r.text is not None for r in every),
        compared=len(compared),
        broken=sum(not BROKEN.isdisjoint(r.faults) for r in compared),
        attempts=sum(r.attempts for r in every),
        faults=dict(sorted(Counter(fault for r in every for fault in r.faults).items())),
    )


def breaks(rewrites: Iterable[Rewrite]) -> bool:
    """Whether an arm breaks the truth too often: at least `LEAST_BROKEN` rewrites, and over `VOID_OVER` of them."""
    counted = tally(rewrites)
    return counted.broken >= LEAST_BROKEN and counted.broken > VOID_OVER * counted.compared


@dataclass(frozen=True, slots=True)
class _Job:
    arm: Arm
    pair: Pair
    body: str  # what the teacher sees of the rejected answer, and
    closing: str  # the end that stays as it is: see `closing.set_aside`
    least: int  # characters of a whole rewrite
    most: int

    @property
    def key(self) -> _Key:
        return self.arm.id, self.pair.id


@dataclass(frozen=True, slots=True)
class _Draft:
    text: str  # with the closing sentence
    faults: tuple[Fault, ...]
    how: str
    attempts: int
    cut: bool = False  # by the token limit, so it was too long

    @property
    def again(self) -> bool:
        """Whether another try may mend it. A weak teacher copies at first more often than not."""
        return self.cut or not _MENDED.isdisjoint(self.faults)


def rewrite_all(
    work: Sequence[tuple[Arm, Sequence[Pair]]],
    ask: AskAll,
    *,
    sampling: Sampling,
    wording: Wording | None = None,
    verifier: Verifier | None = None,
    known: Mapping[str, Mapping[str, Rewrite]] | None = None,
    strict: Collection[str] = (),
    tries: int = TRIES,
    tight: bool = True,
    run_code: bool = False,
) -> Rewritten:
    """The rejected answers of each arm's pairs, rewritten by the arm's instruction.

    A last sentence that states the final answer is set aside and stays word for word; the teacher sees the rest. Each
    rewrite is asked for up to `tries` times while it has the wrong length or is a copy, and told so. Then the verifier
    reads those whose final answer code could not compare; without one they count, with the fault "unverified". An arm
    that `breaks` the truth, its `known` rewrites counted too, is written again with the stricter prompt, and is void if
    it still breaks it. Arms with `match` come last: their length is that of the matched arm's rewrite of the same pair.
    Pairs without one are not asked about, nor is an arm whose match is void: their fault is "unmatched".

    ask       answers every request that it is given, in any order
    known     rewrites made earlier, by arm and pair: of the same arms, and of those that an arm matches
    strict    arms that broke the truth before: the stricter prompt from the first
    sampling  max_tokens is the most that one rewrite may take
    tight     cut each reply at about twice its longest allowed rewrite; False for a teacher that thinks first
    run_code  as in `checks.check`

    Raises ValueError for an arm without an instruction, or one that matches an arm that is not in `work`.
    """
    ids = {arm.id for arm, _ in work} | set(known or {})
    for arm, _ in work:
        if arm.instruction is None:
            raise ValueError(f"the arm {arm.id!r} has no instruction.")
        if arm.match is not None and arm.match not in ids:
            raise ValueError(f"the arm {arm.id!r} matches {arm.match!r}, which is not among the arms.")
    desk = _Desk(
        ask, sampling, wording or load_wording(), verifier, known or {}, frozenset(strict), tries, tight, run_code
    )
    done = Rewritten({}, {}, frozenset())
    for matching in (False, True):
        stage = [(arm, pairs) for arm, pairs in work if (arm.match is not None) is matching]
        part = desk.write(list(_jobs(stage, _lengths(known or {}, done))), [arm for arm, _ in stage])
        done = Rewritten(done.rewrites | part.rewrites, done.void | part.void, done.strict | part.strict)
    for arm, pairs in work:
        made = done.rewrites[arm.id]
        for pair in pairs:
            if pair.id not in made:
                made[pair.id] = Rewrite(pair.id, arm.id, None, ("unmatched",), 0, before=len(pair.rejected))
    return done


def _lengths(known: Mapping[str, Mapping[str, Rewrite]], done: Rewritten) -> dict[_Key, str]:
    """The texts whose length others may match: usable, and of no arm that is void."""
    texts = {}
    for made in (known, done.rewrites):
        for arm, of_arm in made.items():
            if arm not in done.void:
                texts.update({(arm, id): rewrite.text for id, rewrite in of_arm.items() if rewrite.text is not None})
    return texts


def _jobs(stage: Sequence[tuple[Arm, Sequence[Pair]]], texts: Mapping[_Key, str]) -> Iterator[_Job]:
    """Pair by pair, so that the requests about one pair, which begin alike, stand side by side."""
    pairs = {pair.id: pair for _, of_arm in stage for pair in of_arm}
    wanted = [(arm, {pair.id for pair in of_arm}) for arm, of_arm in stage]
    for pair in pairs.values():
        parts = set_aside(pair.rejected, pair)
        for arm, ids in wanted:
            if pair.id not in ids:
                continue
            if arm.match is not None:
                if (like := texts.get((arm.match, pair.id))) is not None:
                    yield _Job(arm, pair, *parts, *length_limits(like))
            elif arm.changes_length:
                yield _Job(arm, pair, *parts, *_wide_limits(pair.rejected))
            else:
                yield _Job(arm, pair, *parts, *length_limits(pair.rejected))


def _wide_limits(before: str) -> tuple[int, int]:
    """For a bias of length: a quarter to four times the characters, and 200 more so that a word may become a reason."""
    n = len(before.strip())
    return n // 4, 4 * n + 200


@dataclass(frozen=True, slots=True)
class _Desk:
    ask: AskAll
    sampling: Sampling
    wording: Wording
    verifier: Verifier | None
    known: Mapping[str, Mapping[str, Rewrite]]
    strict: frozenset[str]
    tries: int
    tight: bool
    run_code: bool

    def write(self, jobs: Sequence[_Job], arms: Sequence[Arm]) -> Rewritten:
        plain = [job for job in jobs if job.arm.id not in self.strict]
        drafts = self._verified(plain, self._drafts(plain, self.wording.first, repeat=0))
        rewrites = _by_arm(arms, plain, drafts)
        broken = {arm for arm in rewrites if arm not in self.strict and self._breaks(arm, rewrites)}
        severe = self.strict & set(rewrites) | broken
        if once_more := [job for job in jobs if job.arm.id in severe]:
            drafts = self._verified(once_more, self._drafts(once_more, self.wording.strict, repeat=self.tries))
            rewrites |= _by_arm([arm for arm in arms if arm.id in severe], once_more, drafts)
        void = {arm: self._why_void(arm, rewrites) for arm in rewrites if self._breaks(arm, rewrites)}
        return Rewritten(rewrites, void, frozenset(severe))

    def _so_far(self, arm: str, rewrites: Mapping[str, Mapping[str, Rewrite]]) -> Iterable[Rewrite]:
        return {**self.known.get(arm, {}), **rewrites[arm]}.values()

    def _breaks(self, arm: str, rewrites: Mapping[str, Mapping[str, Rewrite]]) -> bool:
        return breaks(self._so_far(arm, rewrites))

    def _why_void(self, arm: str, rewrites: Mapping[str, Mapping[str, Rewrite]]) -> str:
        t = tally(self._so_far(arm, rewrites))
        return f"{t.broken} of {t.compared} rewrites have another final answer, also with the stricter prompt"

    def _drafts(self, jobs: Sequence[_Job], prompt: Prompt, *, repeat: int) -> dict[_Key, _Draft]:
        drafts: dict[_Key, _Draft] = {}
        waiting = list(jobs)
        for attempt in range(self.tries):
            if not waiting:
                break
            asks = [self._ask(job, prompt, drafts.get(job.key), repeat + attempt) for job in waiting]
            replies = {(a.ask.arm, a.ask.pair): a.reply for a in self.ask(asks)}
            for job in waiting:
                drafts[job.key] = self._read(job, replies[job.key], attempts=attempt + 1)
            waiting = [job for job in waiting if drafts[job.key].again]
            prompt = self.wording.again
        return drafts

    def _ask(self, job: _Job, prompt: Prompt, draft: _Draft | None, repeat: int) -> Ask:
        text = draft.text.removesuffix(job.closing) if draft else ""
        least, most = max(1, job.least - len(job.closing)), job.most - len(job.closing)
        messages = prompt.fill(
            question=transcript(job.pair.prompt),
            answer=job.body,
            instruction=job.arm.instruction or "",
            least=_size(least, job.body),
            most=_size(most, job.body),
            draft=text,
            measured=_said_of(draft, text, most),
        )
        sampling = self.sampling
        if self.tight:
            sampling = replace(sampling, max_tokens=min(sampling.max_tokens, _tokens(job)))
        return Ask(job.pair.id, "text", messages, sampling, prompt.hash, arm=job.arm.id, repeat=repeat)

    def _read(self, job: _Job, reply: Reply, *, attempts: int) -> _Draft:
        body = unwrap(split_thinking(reply.text)[0], original=job.body).removesuffix(job.closing.strip()).rstrip()
        text = body and body + job.closing
        faults, how = check(job.pair, job.arm, text, reply=reply, run_code=self.run_code)
        if job.closing and body and _contradicts(body, job):
            faults = (*faults, "answer_changed")
        if job.arm.changes_length and how and not job.least <= len(text) <= job.most:
            faults = (*faults, "length")
        return _Draft(text, faults, how, attempts, cut=reply.finish == "length")

    def _verified(self, jobs: Sequence[_Job], drafts: dict[_Key, _Draft]) -> dict[_Key, _Draft]:
        """The drafts with what a verifier found, asked only about those that have no other fault."""
        open_ = [job for job in jobs if drafts[job.key].how == VERIFIER]
        clean = [job for job in open_ if not drafts[job.key].faults]
        settled = {job.key: replace(drafts[job.key], how="") for job in open_}
        if self.verifier is None:
            return drafts | settled | {job.key: replace(settled[job.key], faults=("unverified",)) for job in clean}
        v = self.verifier
        asks = [verify_ask(job.pair, job.arm, drafts[job.key].text, v.prompt, v.sampling) for job in clean]
        found = {(a.ask.arm, a.ask.pair): read_verify(a.reply) for a in v.ask(asks)} if asks else {}
        settled |= {job.key: replace(drafts[job.key], faults=found[job.key]) for job in clean}
        return drafts | settled


def _contradicts(body: str, job: _Job) -> bool:
    """Whether the teacher added a final answer of its own, and another one than the closing sentence states."""
    added, kept = stated(body, job.pair), stated(job.closing.strip(), job.pair)
    return added is not None and kept is not None and added.value != kept.value


def _by_arm(arms: Sequence[Arm], jobs: Sequence[_Job], drafts: Mapping[_Key, _Draft]) -> dict[str, dict[str, Rewrite]]:
    rewrites: dict[str, dict[str, Rewrite]] = {arm.id: {} for arm in arms}
    for job in jobs:
        rewrites[job.arm.id][job.pair.id] = _rewrite(job, drafts[job.key])
    return rewrites


def _rewrite(job: _Job, draft: _Draft) -> Rewrite:
    unchecked = draft.faults == ("unverified",) and not draft.how
    return Rewrite(
        pair=job.pair.id,
        arm=job.arm.id,
        text=draft.text if not draft.faults or unchecked else None,
        faults=draft.faults,
        attempts=draft.attempts,
        before=len(job.pair.rejected),
        after=len(draft.text),
        checked=draft.how,
    )


def _said_of(draft: _Draft | None, text: str, most: int) -> str:
    """What was wrong with a draft, as the prompt for another try says it; `text` is what the teacher wrote of it."""
    if draft is not None and "unchanged" in draft.faults:
        return "is a copy of the answer, with nothing changed"
    return f"has {_size(len(text), text)}, which is too {'long' if len(text) > most else 'short'}"


def _size(characters: int, text: str) -> str:
    """A length as a teacher can follow it: characters, and words at the word length of `text`."""
    words = round(characters * len(text.split()) / max(1, len(text)))
    return f"{characters} characters (about {words} words)" if words > 1 else f"{characters} characters"


def _tokens(job: _Job) -> int:
    """Room for twice the longest allowed rewrite, at four bytes a token, and for a wrapper line."""
    width = len(job.pair.rejected.encode()) / max(1, len(job.pair.rejected))
    return 32 + int(job.most * width / 2)
