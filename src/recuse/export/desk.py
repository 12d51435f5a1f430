"""Several judges and a teacher, each behind its own ledger; of models that hold weights here one is in memory."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from recuse.asks import make_asks
from recuse.export.config import ExportPlan
from recuse.judge import Spend
from recuse.judgements import Unread, judgements, ordered
from recuse.lab.bench import Lab
from recuse.lab.engines import LEDGERS, Engines, Model, Role, Watch, heavy
from recuse.perturb.teacher import load_wording
from recuse.prompts import load_prompt
from recuse.run import RunFolder
from recuse.types import Ask, Judgement, Pair


class Desk:
    """`lab(i)` is the lab of the i-th judge, the first also the teacher's. What it asks goes on counting in `spends`.

    The replies of the run whose biases are taken serve again where a request is the same.
    """

    def __init__(self, plan: ExportPlan, run: RunFolder, *, stop: threading.Event | None, watch: Watch) -> None:
        self.plan, self.unread = plan, [Unread() for _ in plan.judges]
        self.spends: list[dict[Role, Spend]] = [{"judge": Spend(), "teacher": Spend()} for _ in plan.judges]
        self._run, self._stop, self._watch = run, stop, watch
        self._open: dict[int, Engines] = {}
        self._adopted = False  # whether the backends that were opened for the plan are taken over

    def __enter__(self) -> Desk:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for engines in self._open.values():
            engines.__exit__(kind, error, trace)
        self._open.clear()

    @property
    def cost(self) -> float:
        return sum(spend.cost for of_judge in self.spends for spend in of_judge.values())

    def lab(self, i: int) -> Lab:
        """To be asked for anew before each phase: another judge's turn may have closed its models."""
        plan, engines = self.plan.judges[i], self._engines(i)
        cap = plan.config.max_cost
        mine = sum(spend.cost for spend in self.spends[i].values())
        engines.max_cost = None if cap is None else cap - (self.cost - mine)
        return Lab(
            engines, plan.design, self.plan.sampling, load_wording(),
            load_prompt("verify/same_answer", kinds=("verify",)), run_code=plan.config.run_code, room=self.plan.room,
            unread=self.unread[i],
        )  # fmt: skip

    def _engines(self, i: int) -> Engines:
        if i in self._open:
            return self._open[i]
        models = self._models(i)
        if any(heavy(model.name) for model in models.values()):
            for other in [j for j in self._open if any(heavy(m.name) for m in self._models(j).values())]:
                self._open.pop(other).__exit__()
        folder = self._run.path if i == 0 else self._run.subfolder(f"judge-{i + 1}")
        engines = Engines(
            models, folder, None, self._stop, self._told(i), lent=self._lent(i), spends=self.spends[i]
        )  # fmt: skip
        self._open[i] = engines.__enter__()
        if i == 0 and not self._adopted:
            if len(self.plan.judges) == 1:
                engines.adopt("judge", self.plan.first.backend)
            if (teacher := self.plan.teacher) is not None and teacher.backend is not None:
                engines.adopt("teacher", teacher.backend)
            self._adopted = True
        return engines

    def _models(self, i: int) -> dict[Role, Model]:
        plan = self.plan.judges[i]
        models: dict[Role, Model] = {"judge": Model(plan.config.judge, plan.config.options, plan.price)}
        if i == 0 and plan.config.teacher is not None:
            models["teacher"] = Model(plan.config.teacher, plan.config.teacher_options, plan.teacher_price)
        return models

    def _lent(self, i: int) -> dict[Role, Path]:
        given = self.plan.config.run
        if given is None or given.resolve() == self._run.path.resolve():
            return {}
        return {role: given / LEDGERS[role] for role in self._models(i) if (given / LEDGERS[role]).is_file()}

    def _told(self, i: int) -> Watch:
        name = f" ({self.plan.judges[i].config.judge})" if len(self.plan.judges) > 1 else ""

        def told(phase: str, done: int, total: int, cost: float) -> None:
            self._run.kept = True
            self._watch(f"{phase}{name}", done, total, self.cost)

        return told

    def fixed(self, i: int) -> bool:
        """Whether a repeated call would return the same reply: greedy decoding, by a judge that took the setting."""
        refused = any(note.startswith("temperature") for note in self.spends[i]["judge"].notes)
        return self.plan.judges[i].deterministic and not refused

    def afresh(self, i: int, shown: list[tuple[str, Pair]], *, phase: str) -> list[Judgement]:
        """New verdicts on pairs as an arm shows them, by calls that are none of those before."""
        lab = self.lab(i)
        once_more = replace(lab.design, repeats=lab.design.repeats + 1)
        asks: list[Ask] = []
        for arm, pair in shown:
            asks += [ask for ask in make_asks([pair], once_more, arm=arm) if ask.repeat == lab.design.repeats]
        answered = lab.engines.ask("judge", asks, phase=phase)
        spec = lab.design.prompt.spec if lab.design.prompt else None
        pairs = {pair.id: pair.group for _, pair in shown}
        return ordered(judgements(answered, spec, pairs, self.unread[i]), list(pairs))
