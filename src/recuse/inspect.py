"""An audited judge as a scorer of Inspect (https://inspect.aisi.org.uk), with the extra `inspect`.

    from recuse.inspect import judge_scorer

    @task
    def helpful():
        return Task(dataset=..., solver=generate(), scorer=judge_scorer("runs/audit", baseline="previous_answer"))

The judge is asked as the audit asked it: the same model, prompt and settings. The eval log keeps every verdict with the
reply, so that `recuse audit --verdicts LOG.eval` can examine it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from recuse.asks import Design, make_asks
from recuse.assets import digest
from recuse.backends import Backend, Options, open_backend
from recuse.errors import ConfigMismatch, InputError, UsageError
from recuse.extras import require
from recuse.ledger import call_key
from recuse.prompts import Prompt, load_prompt
from recuse.recorded.inspect_log import SCORED
from recuse.run import RunFolder
from recuse.types import Ask, Call, Message, Pair, Reply, Sampling, Verdict
from recuse.verdict import read

scoring = require("inspect_ai.scorer", "inspect")
_FINISHED = "Give the folder of a finished `recuse audit`."
_WORTH = {("AB", "A"): 1.0, ("BA", "B"): 1.0, ("AB", "tie"): 0.5, ("BA", "tie"): 0.5}  # of the sample's answer


@dataclass(frozen=True)
class _Audit:
    """A finished audit, and how its judge is asked."""

    run: Path
    table: Mapping[str, Any]  # [run] of run.toml
    outcome: str
    headline: str
    prompt: Prompt | None  # None: a reward model

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
    """A scorer by the judge of the audit in the run folder `audited`.

    A judge that compares sees each answer beside the sample's baseline in both orders: its `target`, or the text under
    `baseline` in its metadata. The score is 1 where the answer wins, 0 where it loses, 1/2 for a tie, averaged over the
    orders. A judge that grades one answer gives its grade. Where an order has no verdict, the sample is not scored, and
    the score keeps the reason.

    `prompt`: the file, where the audit's prompt was one of its own. `base_url` and `concurrency` as for an audit.

    Raises UsageError where the audit's outcome is "recuse", unless `despite_audit`, and for an audit on blinded texts;
    ConfigMismatch for another prompt than the audit's; InputError for a folder without a finished audit.
    """
    audit = _read_audit(Path(audited), prompt)
    if audit.outcome == "recuse" and not despite_audit:
        raise UsageError(
            f"The audit in {audited} recuses this judge: {audit.headline}",
            hint="Choose another judge, or say despite_audit=True to score with it all the same.",
        )
    judge = _Judge(audit, Options(base_url=base_url or audit.table.get("base_url"), concurrency=concurrency))

    async def score(state: Any, target: Any) -> Any:
        against = target.text if baseline == "target" else str(state.metadata.get(baseline) or "")
        if audit.compares and not against:
            return scoring.Score.unscored(reason="scoring_failed", explanation=f"The sample has no {baseline}.")
        answer = state.output.completion
        said = await judge.ask(_conversation(state), answer, against)
        return _score(audit, judge, said, answer, against)

    return score


class _Judge:
    """The judge, opened at the first question; a scorer may be made for a task that never runs."""

    def __init__(self, audit: _Audit, options: Options) -> None:
        self.audit, self.options = audit, options
        self._backend: Backend | None = None
        self._opening = threading.Lock()

    @property
    def name(self) -> str:
        return str(self.audit.table["judge"])

    def changed(self) -> list[str]:
        """What of the engine's versions is not as in the audit."""
        now, then = self._open().versions(), self.audit.table.get("engine", {})
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
        design = Design(self.audit.prompt, self._sampling(backend))
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
        if self.audit.prompt is not None:
            return read(reply, self.audit.prompt.spec)
        return Verdict(score=reply.score) if reply.score is not None else Verdict(reason="no_verdict")

    def _sampling(self, backend: Backend) -> Sampling:
        table, can = self.audit.table, backend.capabilities
        temperature = None if table["temperature"] == "provider default" else float(table["temperature"])
        return Sampling(
            temperature=temperature,
            max_tokens=int(table["max_tokens"]),
            seed=int(table["seed"]) if can.seed and temperature != 0.0 else None,
            top_logprobs=int(table["top_logprobs"]) if can.logprobs else 0,
            choice=bool(table["choice"]),
        )


def _score(audit: _Audit, judge: _Judge, said: list[_Said], answer: str, against: str) -> Any:
    spec = audit.prompt.spec if audit.prompt else None
    kept = {
        "judge": judge.name,
        "audit": {"run": str(audit.run), "outcome": audit.outcome, "headline": audit.headline,
                  "engine_changed": judge.changed()},
        "format": [spec.format, spec.first, spec.second, spec.tie] if spec else None,
        "chars": [len(answer), len(against)],
        "verdicts" if audit.compares else "grade": [
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
    if audit.compares:
        value = sum(_WORTH.get((one.order, str(one.verdict.outcome)), 0.0) for one in said) / len(said)
    else:
        value = float(said[0].verdict.score or 0.0)
    return scoring.Score(value=value, answer=answer, explanation=why, metadata={SCORED: kept})


def _conversation(state: Any) -> tuple[Message, ...]:
    """What the sample asked."""
    if isinstance(state.input, str):
        return (Message("user", state.input),)
    return tuple(Message(message.role, message.text) for message in state.input)


def _read_audit(run: Path, prompt: str | None) -> _Audit:
    if not (run / "findings.json").is_file():
        raise InputError("no finished audit is here", path=run, hint=_FINISHED)
    try:
        found = json.loads((run / "findings.json").read_text(encoding="utf-8"))
    except ValueError:
        raise InputError("is not JSON", path=run / "findings.json", hint=_FINISHED) from None
    table = RunFolder(run, {}).read().get("run", {})
    if found.get("kind", "audit") != "audit" or "temperature" not in table or "outcome" not in found:
        raise InputError("this is no audit of a judge that can be asked", path=run, hint=_FINISHED)
    if table.get("blinded"):
        raise UsageError(
            f"The judge in {run} was audited on blinded texts.", hint="Audit it on texts as the eval has them."
        )
    loaded = None
    if "prompt_hash" in table:
        loaded = load_prompt(prompt or str(table["prompt"]))
        if loaded.hash != table["prompt_hash"]:
            raise ConfigMismatch(
                f"The prompt {prompt or table['prompt']} is not the one of the audit in {run}.",
                hint="Give prompt= the file that was audited, or audit the judge with this one.",
            )
    return _Audit(run, table, str(found["outcome"]), str(found["headline"]), loaded)
