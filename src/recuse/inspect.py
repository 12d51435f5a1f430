"""An audited judge as a scorer of Inspect (https://inspect.aisi.org.uk), with the extra `inspect`.

    from recuse.inspect import judge_scorer

    @task
    def helpful():
        return Task(dataset=..., solver=generate(), scorer=judge_scorer("runs/audit", baseline="previous_answer"))

The judge is asked as the audit asked it: the same model, prompt and settings. The folder `judge` of a `recuse harden`
run serves too. The eval log keeps every verdict with the reply: `recuse audit --verdicts LOG.eval` can examine it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from recuse.asks import Design, make_asks
from recuse.assets import digest
from recuse.backends import Backend, Options, open_backend
from recuse.blinding.pairs import Blinds
from recuse.errors import ConfigMismatch, InputError, UsageError
from recuse.extras import require
from recuse.harden.folder import evidence_of, is_judge, judge_of
from recuse.ledger import call_key
from recuse.plan import AuditConfig, sampling_of
from recuse.prompts import Prompt, load_prompt
from recuse.recorded.inspect_log import SCORED
from recuse.run import RunFolder
from recuse.types import Ask, Call, Message, Pair, Reply, Verdict
from recuse.verdict import read

scoring = require("inspect_ai.scorer", "inspect")
_FINISHED = "Give the folder of a finished `recuse audit`, or the folder `judge` of a `recuse harden` run."
_WORTH = {("AB", "A"): 1.0, ("BA", "B"): 1.0, ("AB", "tie"): 0.5, ("BA", "tie"): 0.5}  # of the sample's answer


@dataclass(frozen=True)
class _Examined:
    """A judge as it was examined: how it is asked, and what came of it."""

    folder: Path
    config: AuditConfig
    prompt: Prompt | None  # None: a reward model
    outcome: str | None  # of the audit; None for a judge that won a comparison
    headline: str
    engine: Mapping[str, str] | None  # versions that answered; None: not written down

    @property
    def compares(self) -> bool:
        return self.prompt is not None and self.prompt.kind == "pairwise"


@dataclass(frozen=True)
class _Said:
    order: str  # "AB": the sample's answer first; "-": alone
    verdict: Verdict
    reply: Reply


@scoring.scorer(metrics=[scoring.mean(), scoring.stderr()])  # type: ignore[untyped-decorator]
def judge_scorer(
    audited: str,
    *,
    baseline: str = "target",
    despite_audit: bool = False,
    prompt: str | None = None,
    base_url: str | None = None,
    concurrency: int | None = None,
) -> Any:
    """A scorer by the judge in `audited`: the run folder of an audit, or the judge's folder of a `recuse harden` run.

    A judge that compares sees each answer beside the sample's baseline in both orders: its `target`, or the text under
    `baseline` in its metadata. The score is 1 where the answer wins, 0 where it loses, 1/2 for a tie, averaged over the
    orders. A judge that grades one answer gives its grade. Where an order has no verdict, the sample is not scored, and
    the score keeps the reason.

    `prompt`: the file, where the audit's prompt was one of its own. `base_url` and `concurrency` as for an audit.

    Raises UsageError where the audit's outcome is "recuse", unless `despite_audit`, for a judge that sees blinded texts
    and for one that is a rule over several calls; ConfigMismatch for another prompt than the audit's; InputError for a
    folder that holds neither, or a judge's folder that was changed.
    """
    reached = Options(base_url=base_url, concurrency=concurrency)
    if is_judge(Path(audited)):
        examined = _read_hardened(Path(audited), prompt, reached)
    else:
        examined = _read_audit(Path(audited), prompt, reached)
    if examined.config.blinds is not None:
        raise UsageError(
            f"The judge in {audited} was examined on blinded texts.", hint="Audit it on texts as the eval has them."
        )
    if examined.outcome == "recuse" and not despite_audit:
        raise UsageError(
            f"The audit in {audited} recuses this judge: {examined.headline}",
            hint="Choose another judge, or say despite_audit=True to score with it all the same.",
        )
    judge = _Judge(examined)

    async def score(state: Any, target: Any) -> Any:
        against = target.text if baseline == "target" else str(state.metadata.get(baseline) or "")
        if examined.compares and not against:
            return scoring.Score.unscored(reason="scoring_failed", explanation=f"The sample has no {baseline}.")
        answer = state.output.completion
        said = await judge.ask(_conversation(state), answer, against)
        return _score(examined, judge, said, answer, against)

    return score


class _Judge:
    """The judge, opened at the first question; a scorer may be made for a task that never runs."""

    def __init__(self, examined: _Examined) -> None:
        self.examined, self.options = examined, examined.config.options
        self._backend: Backend | None = None
        self._opening = threading.Lock()

    @property
    def name(self) -> str:
        return self.examined.config.judge

    def changed(self) -> list[str] | None:
        """What of the engine's versions is not as it was examined; None where that is not known."""
        now, then = self._open().versions(), self.examined.engine
        if then is None:
            return None
        return sorted(key for key in now.keys() | then.keys() if now.get(key) != then.get(key))

    async def ask(self, asked: tuple[Message, ...], answer: str, against: str) -> list[_Said]:
        import anyio.to_thread

        backend = await anyio.to_thread.run_sync(self._open)
        # An engine in this process takes one batch at a time; of an API, Inspect counts the calls in flight.
        room = 1 if backend.capabilities.local else self.options.concurrency or 8
        async with require("inspect_ai.util", "inspect").concurrency(f"recuse/{self.name}", room):
            return await anyio.to_thread.run_sync(partial(self._ask, backend, asked, answer, against))

    def _open(self) -> Backend:
        with self._opening:
            if self._backend is None:
                self._backend = open_backend(self.name, self.options)
            return self._backend

    def _ask(self, backend: Backend, asked: tuple[Message, ...], answer: str, against: str) -> list[_Said]:
        single = asked[0].content if len(asked) == 1 and asked[0].role == "user" else asked
        id = digest(json.dumps([[m.content for m in asked], answer, against]).encode())
        examined = self.examined
        design = Design(examined.prompt, sampling_of(examined.config, examined.prompt, backend.capabilities))
        pair = Pair(id, single, chosen=answer, rejected=against, group=id)
        asks = [ask for ask in make_asks([pair], design) if ask.view != "rejected"]
        calls: dict[str, tuple[Call, Ask]] = {}
        for ask in asks:
            body = backend.body(ask)
            key = call_key(backend.name, body, ask.prompt, ask.repeat)
            calls[ask.view] = Call(key, ask, body), ask
        unique = {call.key: call for call, _ in calls.values()}
        replies = {reply.key: reply for reply in backend.generate(unique.values())}
        return [
            _Said(view if view in ("AB", "BA") else "-", self._read(replies[call.key]), replies[call.key])
            for view, (call, _) in calls.items()
        ]

    def _read(self, reply: Reply) -> Verdict:
        if self.examined.prompt is not None:
            return read(reply, self.examined.prompt.spec)
        return Verdict(score=reply.score) if reply.score is not None else Verdict(reason="no_verdict")


def _score(examined: _Examined, judge: _Judge, said: list[_Said], answer: str, against: str) -> Any:
    spec = examined.prompt.spec if examined.prompt else None
    kept = {
        "judge": judge.name,
        "audit": {"run": str(examined.folder), "outcome": examined.outcome, "headline": examined.headline,
                  "engine_changed": judge.changed()},
        "format": [spec.format, spec.first, spec.second, spec.tie] if spec else None,
        "chars": [len(answer), len(against)],
        "verdicts" if examined.compares else "grade": [
            {"order": one.order, "verdict": one.verdict.outcome, "score": one.verdict.score,
             "reason": one.verdict.reason, "why": one.verdict.why, "text": one.reply.text, "finish": one.reply.finish,
             "model": one.reply.model}
            for one in said
        ],
    }  # fmt: skip
    why = "; ".join(
        f"{one.order}: {one.verdict.outcome or one.verdict.score or 'none'} ({one.verdict.why})" for one in said
    )
    missing = [one for one in said if one.verdict.outcome is None and one.verdict.score is None]
    if missing:
        reasons = ", ".join(f"{one.order}: {one.verdict.reason}" for one in missing)
        return scoring.Score.unscored(
            reason="grader_failed", answer=answer, explanation=f"No verdict ({reasons}). {why}", metadata={SCORED: kept}
        )
    if examined.compares:
        value = sum(_WORTH.get((one.order, str(one.verdict.outcome)), 0.0) for one in said) / len(said)
    else:
        value = float(said[0].verdict.score or 0.0)
    return scoring.Score(value=value, answer=answer, explanation=why, metadata={SCORED: kept})


def _conversation(state: Any) -> tuple[Message, ...]:
    """What the sample asked."""
    if isinstance(state.input, str):
        return (Message("user", state.input),)
    return tuple(Message(message.role, message.text) for message in state.input)


def _read_hardened(folder: Path, prompt: str | None, reached: Options) -> _Examined:
    if prompt is not None:
        raise UsageError(f"The judge in {folder} has its prompt beside it.", hint="Leave prompt= out.")
    config, evidence = judge_of(folder, AuditConfig("", "", options=reached)), evidence_of(folder)
    headline = (
        f"Not audited by itself: as {evidence.get('variant', 'a variant')} it won the comparison "
        f"{evidence.get('run', 'of recuse harden')} in {evidence.get('primary', 'its primary measure')}."
    )
    return _Examined(folder, config, load_prompt(config.prompt), None, headline, None)


def _read_audit(run: Path, prompt: str | None, reached: Options) -> _Examined:
    if not (run / "findings.json").is_file():
        raise InputError("no finished audit is here", path=run, hint=_FINISHED)
    try:
        found = json.loads((run / "findings.json").read_text(encoding="utf-8"))
    except ValueError:
        raise InputError("is not JSON", path=run / "findings.json", hint=_FINISHED) from None
    table = RunFolder(run, {}).read().get("run", {})
    if found.get("kind", "audit") != "audit" or "temperature" not in table or "outcome" not in found:
        raise InputError("this is no audit of a judge that can be asked", path=run, hint=_FINISHED)
    named, loaded = prompt or str(table["prompt"]), None
    if "prompt_hash" in table:
        loaded = load_prompt(named)
        if loaded.hash != table["prompt_hash"]:
            raise ConfigMismatch(
                f"The prompt {named} is not the one of the audit in {run}.",
                hint="Give prompt= the file that was audited, or audit the judge with this one.",
            )
    config = AuditConfig(
        str(table["judge"]), str(table["pairs"]), prompt=named, seed=int(table["seed"]),
        temperature=None if table["temperature"] == "provider default" else float(table["temperature"]),
        max_tokens=int(table["max_tokens"]), choice=bool(table["choice"]),
        options=replace(reached, base_url=reached.base_url or table.get("base_url")),
        blinds=Blinds.from_table(table.get("blinded", {})),
    )  # fmt: skip
    return _Examined(run, config, loaded, str(found["outcome"]), str(found["headline"]), table.get("engine", {}))
