"""The models of a run (judge, teacher, the product under test): each behind its own ledger, in memory only while it is
at work."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from recuse.asks import by_prefix
from recuse.backends import HEAVY, Backend, Capabilities, Options, open_backend, progress_of
from recuse.errors import ProviderError, UsageError
from recuse.judge import Answered, Spend, judge
from recuse.ledger import Ledger
from recuse.machine import fit, memory
from recuse.prices import Price
from recuse.types import Ask, Call, Reply

Role = Literal["judge", "teacher", "product"]
Send = Callable[[Sequence[Ask]], list[Answered]]
LEDGERS: dict[Role, str] = {"judge": "ledger.sqlite", "teacher": "teacher.sqlite", "product": "product.sqlite"}
Watch = Callable[[str, int, int, float], None]  # phase, replies of it so far, asks of it, cost of the run so far


@dataclass(frozen=True)
class Model:
    name: str  # provider/model
    options: Options
    price: Price | None


@dataclass(frozen=True)
class Described:
    """A model as it was when it was opened. `backend` None: it was closed again, to leave its memory to another."""

    capabilities: Capabilities
    versions: Mapping[str, str]
    backend: Backend | None


def describe_teacher(teacher: Model, judge: Model) -> Described | None:
    """What a teacher can do; None where it is the judge itself. To be called before the judge is opened.

    Where both hold weights in this process the teacher is closed again, so that they are never in memory together.
    Raises UsageError for a model that writes no text, and whatever opening it raises.
    """
    if same(teacher, judge):
        return None
    backend = open_backend(teacher.name, teacher.options)
    try:
        check_teacher(teacher.name, backend.capabilities)
    except UsageError:
        backend.close()
        raise
    found = Described(backend.capabilities, backend.versions(), backend)
    if heavy(teacher.name) and heavy(judge.name):
        backend.close()
        return replace(found, backend=None)
    return found


def check_teacher(name: str, can: Capabilities) -> None:
    """Raises UsageError for a model that cannot rewrite or name anything, before anything is asked of it."""
    if not can.explains:
        raise UsageError(f"{name} writes no text.", hint="Give --teacher a model that does.")
    if not can.teaches:
        raise UsageError(
            f"{name} gives verdicts only: it cannot write what a teacher is asked for.",
            hint="Give --teacher a model that can, or fake/teacher=1 to try things out.",
        )


@dataclass
class Engines:
    """`ask` sends asks to one of the models and gives every reply back in the order of the asks.

    They are sent by common beginnings, which most servers read only once.

    Of models that hold their weights in this process one is in memory at a time: another is closed first, and opened
    again when its turn comes, once a phase. What a closed one gives back is measured; where that is less than its
    weights, `notes` says so.
    """

    models: dict[Role, Model]
    folder: Path
    max_cost: float | None = None
    stop: threading.Event | None = None
    watch: Watch = lambda phase, done, total, cost: None
    caches: dict[Role, Path] = field(default_factory=dict)  # ledgers that runs share: read first, and added to
    lent: dict[Role, Path] = field(default_factory=dict)  # ledgers of other runs: read first, and left as they are
    spends: dict[Role, Spend] = field(default_factory=lambda: {role: Spend() for role in LEDGERS})
    opened: int = 0  # how often a model was loaded
    notes: list[str] = field(default_factory=list)
    _open: dict[Role, Backend] = field(default_factory=dict)
    _stack: ExitStack = field(default_factory=ExitStack)
    _ledgers: dict[Role, Ledger] = field(default_factory=dict)
    _known: dict[Role, Ledger] = field(default_factory=dict)

    def __enter__(self) -> Engines:
        for role, model in self.models.items():
            ledger = Ledger(self.folder / LEDGERS[role], judge=model.name)
            self._stack.callback(ledger.close)
            self._ledgers[role] = ledger
        for kind, paths in ((Ledger, self.caches), (_Lent, self.lent)):
            for role, path in paths.items():
                cache = kind(path, judge=self.models[role].name)
                self._stack.callback(cache.close)
                self._known[role] = cache
        return self

    def __exit__(self, *error: object) -> None:
        for backend in self._open.values():
            backend.close()
        self._open.clear()
        self._stack.close()

    def adopt(self, role: Role, backend: Backend) -> None:
        """Take over a backend that is open already."""
        self._open[role] = backend

    def backend(self, role: Role) -> Backend:
        """The backend of a role, alone in memory where it must be.

        Raises ProviderError where another one that was closed still holds the memory that this one needs.
        """
        if role not in self._open:
            left = ""
            for other in list(self._open):
                if same(self.models[other], self.models[role]):
                    return self._open[other]
                if heavy(self.models[other].name) and heavy(self.models[role].name):
                    left = self._close(other) or left
            self._open[role] = _opened(self.models[role], left)
            self.opened += 1
        return self._open[role]

    def _close(self, role: Role) -> str:
        """Close a model; what it kept of the memory for its weights, as a sentence, empty where that is nothing."""
        model, before = self.models[role], memory.held()
        self._open.pop(role).close()
        if model.options.replicas is not None:  # its weights lay in processes that have ended
            return ""
        left = fit.kept(model.name, gpu=_on_gpu(model), before=before, after=memory.held())
        if left and left not in self.notes:
            self.notes.append(left)
        return left

    @property
    def cost(self) -> float:
        return sum(spend.cost for spend in self.spends.values())

    def ask(self, role: Role, asks: Sequence[Ask], *, phase: str) -> list[Answered]:
        """Every ask with its reply. Raises Incomplete as `judge` does; what was paid for is in the ledger."""
        if not asks:
            return []
        spend, model, sent = self.spends[role], self.models[role], by_prefix(asks)
        before, left, backend = spend.done, None, self.backend(role)
        if self.max_cost is not None:
            left = self.max_cost - (self.cost - spend.cost)

        def told(now: Spend) -> None:
            spread = progress_of(backend)
            self.watch(f"{phase} ({spread})" if spread else phase, now.done - before, len(asks), self.cost)

        found: dict[tuple[object, ...], Answered] = {}
        for answer in judge(
            lambda: sent,
            backend,
            self._ledgers[role],
            spend=spend,
            cache=self._known.get(role),
            price=model.price,
            max_cost=left,
            stop=self.stop,
            on_reply=told,
        ):
            found[_identity(answer.ask)] = answer
        return [found[_identity(ask)] for ask in asks]


def same(a: Model, b: Model) -> bool:
    return (a.name, a.options.base_url) == (b.name, b.options.base_url)


class _Lent(Ledger):
    """Another run's ledger: its replies serve here, and nothing is added to it."""

    def put(self, call: Call, reply: Reply, *, fresh: bool = True, body: str | None = None) -> int:
        """Nothing: the reply is kept in this run's own ledger."""
        return 0


def heavy(name: str) -> bool:
    """Whether a model of this name holds its weights in this process, or in replicas on machines that another needs."""
    return name.partition("/")[0] in HEAVY


def _opened(model: Model, left: str) -> Backend:
    """Open a model after another one, which kept what `left` says. Raises ProviderError that says this too."""
    name, options = model.name, model.options
    try:
        if left and options.replicas is None:
            split = options.tensor_parallel or 1
            fit.check(name, fit.located(name), gpu=_on_gpu(model), split=split, left=left)
        return open_backend(name, options)
    except ProviderError as error:
        if not left:
            raise
        raise ProviderError(f"{left} {error}") from None


def _on_gpu(model: Model) -> bool:
    return not model.name.startswith("llamacpp/") and memory.on_gpu(model.options.device)


def _identity(ask: Ask) -> tuple[object, ...]:
    return ask.pair, ask.arm, ask.view, ask.repeat
