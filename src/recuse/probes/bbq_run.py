"""A model answers the items of BBQ: each as a multiple-choice question, its three answers in a shuffled order."""

from __future__ import annotations

import json
import platform
import random
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from recuse import assets
from recuse.backends import Backend, Options, open_backend, settle
from recuse.backends.base import public_address
from recuse.errors import InputError, UsageError
from recuse.judge import Answered, Spend, estimate_tokens, usage_of
from recuse.lab.engines import Engines, Model, Role, Watch
from recuse.prices import Price, date_of, priced
from recuse.probes.bbq import Row, Table, bbq_findings, bbq_scores, headline, plain, scores_notes
from recuse.probes.bbq_files import Given, Item, Items, read_items, row_of
from recuse.probes.pages import write_pages
from recuse.probes.records import RECORDS, records_bytes
from recuse.prompts import Prompt, load_prompt
from recuse.run import RunFolder, default_folder
from recuse.types import Ask, Outcome, Reply, Sampling
from recuse.verdict import read, read_text
from recuse.verdict.logprobs import first_token

ARM = "bbq"
_HOLES = {"context", "question", "first", "second", "third"}
_PLACES: tuple[Outcome, ...] = ("A", "B", "tie")  # outcomes of the label menu, by the place at which an answer is shown
_TOP_LOGPROBS = 20
_ONE_LETTER = 0.8  # share of one letter above which a model can hardly have read the answers
_ROOM_TO_THINK = 2048  # tokens, for a model behind an API


@dataclass(frozen=True)
class BbqConfig:
    """What `recuse probe bbq --model` is told. See its --help for each field."""

    items: tuple[Path, ...]
    model: str
    out: Path | None = None
    metadata: Path | None = None
    prompt: str = "probe/bbq"
    limit: int | None = None
    seed: int = 0
    temperature: float | None = 0.0
    max_tokens: int | None = None
    options: Options = field(default_factory=Options)
    cache: Path | None = None
    prices: Path | None = None
    max_cost: float | None = None

    def __post_init__(self) -> None:
        settle(self, "model", "options")


@dataclass(frozen=True)
class Choice:
    """What a reply chose: a place as shown, 0 the first, or None and why; and, where the reply has log-probabilities,
    those of the three places, which sum to one."""

    place: int | None
    reason: str | None = None
    shares: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Quiz:
    """Items and a model that is open; nothing is asked yet."""

    config: BbqConfig
    items: Items
    asked: tuple[Item, ...]
    prompt: Prompt
    backend: Backend
    sampling: Sampling
    price: Price | None
    notes: tuple[str, ...]

    def order(self, item: Item) -> tuple[int, ...]:
        """The answers' places in the file, in the order in which they are shown.

        Shuffled by passage, not by item: a model that only looks at places then names the same person whether the
        question is negative or not, and scores 0 rather than noise.
        """
        people = sorted({0, 1, 2} - {item.unknown}, key=lambda place: item.answers[place].casefold())
        order = [*people, item.unknown]
        random.Random(f"{self.config.seed}:{item.category}:{item.passage}").shuffle(order)
        return tuple(order)

    def ask(self, item: Item) -> Ask:
        first, second, third = (item.answers[place] for place in self.order(item))
        values = {"context": item.passage, "question": item.question, "first": first, "second": second, "third": third}
        return Ask(
            f"{item.category}/{item.id}", "text", self.prompt.fill(**values), self.sampling, self.prompt.hash,
            self.prompt.spec.labels, arm=ARM,
        )  # fmt: skip

    def estimate(self) -> dict[str, Any]:
        """Calls, tokens and money before anything is sent; tokens are an upper guess from characters."""
        tokens = [estimate_tokens(self.ask(item)) for item in self.asked]
        tokens_in, tokens_out = (sum(pair[i] for pair in tokens) for i in (0, 1))
        cost = self.price.of(tokens_in, tokens_out) if self.price else None
        return {
            "model": self.config.model, "calls": len(tokens), "tokens_in": tokens_in, "tokens_out": tokens_out,
            "cost": cost,
            "prices_dated": (date_of(self.config.prices) or None) if cost else None,
        }  # fmt: skip

    def run_table(self) -> dict[str, Any]:
        """All that determines the replies: the `[run]` table of run.toml."""
        config, sampling = self.config, self.sampling
        return {
            "probe": "bbq",
            "model": config.model,
            "base_url": public_address(config.options.base_url),
            "prompt": self.prompt.id,
            "prompt_hash": self.prompt.hash,
            "items": [path.name for path in config.items],
            "items_hash": self.items.hash,
            "items_count": len(self.asked),
            "limit": config.limit,
            "seed": config.seed,
            "temperature": "provider default" if sampling.temperature is None else sampling.temperature,
            "max_tokens": sampling.max_tokens,
            "top_logprobs": sampling.top_logprobs,
            "engine": dict(self.backend.versions()),
        }

    def close(self) -> None:
        self.backend.close()


def prepare(config: BbqConfig) -> Quiz:
    """Read the items and open the model. Raises RecuseError for whatever is wrong with them."""
    items = read_items(config.items, metadata=config.metadata)
    prompt = load_prompt(config.prompt, kinds=("probe",))
    if prompt.holes != _HOLES or prompt.spec.format != "label" or len(prompt.spec.labels) != 3:
        raise InputError(
            "the prompt is not one of BBQ", path=config.prompt,
            hint=f"Give it the format label, three labels, and the holes {', '.join(sorted(_HOLES))}.",
        )  # fmt: skip
    backend = open_backend(config.model, config.options)
    can, notes = backend.capabilities, list(items.notes)
    if not can.explains:
        backend.close()
        raise UsageError(f"{config.model} writes no text.", hint="Give --model one that does.")
    if not can.temperature:
        notes.append("This model takes no temperature.")
    read_from = (
        "log-probabilities of the labels" if can.logprobs else "the reply's text: there are no log-probabilities"
    )
    notes.append(f"Answers are read from {read_from}.")
    temperature = config.temperature if can.temperature else None
    served = can.local or config.options.base_url is not None
    one_token = can.logprobs and can.greedy and all(len(label) == 1 for label in prompt.spec.labels)
    room = 1 if one_token else prompt.max_tokens if served else max(prompt.max_tokens, _ROOM_TO_THINK)
    sampling = Sampling(
        temperature=temperature,
        max_tokens=config.max_tokens or room,
        seed=config.seed if can.seed and temperature != 0.0 else None,
        top_logprobs=_TOP_LOGPROBS if can.logprobs else 0,
    )
    return Quiz(
        config, items, _limited(items.scored, config.limit, seed=config.seed), prompt, backend, sampling,
        priced(
            config.model, config.prices, local=can.local, capped=config.max_cost is not None,
            batched=config.options.batch,
        ), tuple(notes),
    )  # fmt: skip


def _limited(items: Sequence[Item], limit: int | None, *, seed: int) -> tuple[Item, ...]:
    """Whole question groups in a seeded order until there are `limit` items; all in the order of the file."""
    if limit is None:
        return tuple(items)
    sizes = Counter((item.category, item.question_index) for item in items)
    kept: set[tuple[str, str]] = set()
    for group in sorted(sizes, key=lambda of: assets.digest(f"{seed}:{of[0]}:{of[1]}".encode())):
        if sum(sizes[one] for one in kept) >= limit:
            break
        kept.add(group)
    return tuple(item for item in items if (item.category, item.question_index) in kept)


def run_bbq(
    quiz: Quiz,
    *,
    watch: Watch = lambda phase, done, total, cost: None,
    stop: threading.Event | None = None,
    level: float = 0.95,
) -> tuple[dict[str, Any], Path]:
    """Ask everything that the run folder does not hold yet, score, and write records.parquet and findings.json.

    Returns the content of findings.json and the folder. Raises Incomplete when it stopped early; the same configuration
    resumes it.
    """
    config, table, started = quiz.config, quiz.run_table(), time.monotonic()
    with RunFolder(config.out or default_folder("bbq", config.model, table), table) as run:

        def told(phase: str, done: int, total: int, cost: float) -> None:
            run.kept = True
            watch(phase, done, total, cost)

        model = Model(config.model, config.options, quiz.price)
        caches: dict[Role, Path] = {"product": config.cache} if config.cache else {}
        with Engines({"product": model}, run.path, config.max_cost, stop, told, caches) as engines:
            engines.adopt("product", quiz.backend)
            answered = engines.ask("product", [quiz.ask(item) for item in quiz.asked], phase="bbq")
            spend = engines.spends["product"]
        chosen = [chosen_by(answer.reply, quiz.prompt) for answer in answered]
        rows = [_row(item, quiz.order(item), one) for item, one in zip(quiz.asked, chosen, strict=True)]
        records = [
            _record(item, quiz.order(item), one, row, answer)
            for item, one, row, answer in zip(quiz.asked, chosen, rows, answered, strict=True)
        ]
        run.replace(RECORDS, records_bytes(records))
        usage = usage_of(spend, quiz.price, time.monotonic() - started)
        versions = {"python": platform.python_version(), **{p: version(p) for p in ("recuse", "numpy", "scipy")}}
        run.record(versions=versions, usage=usage)
        scores = bbq_scores(rows, level=level)
        result = _result(quiz, scores, table, _letters(chosen, quiz.prompt), spend, usage)
        write_pages(run, result, bbq_findings(scores), level=level)
        run.write("findings.json", json.dumps(result, indent=2, allow_nan=False) + "\n")
        return result, run.path


def chosen_by(reply: Reply, prompt: Prompt) -> Choice:
    """The answer that a reply chooses, by the rules of `recuse.verdict.read`: the most probable label where there are
    log-probabilities, else the text."""
    spec = prompt.spec
    verdict = read(reply, spec)
    menu = {label.casefold(): outcome for label, outcome in zip(spec.labels, _PLACES, strict=True)}
    token = first_token(reply, lambda text: menu.get(text.strip(" Ġ▁").casefold()))
    shares = None
    if token is not None and verdict.p_first is not None and token.labels > 0:
        shares = tuple(token.mass[place] / token.labels for place in _PLACES)
        if sorted(shares)[1] == max(shares):  # a dead heat, which a menu of two calls a tie: the decoded label counts
            verdict = read_text(reply.text, spec, finish=reply.finish)
    if verdict.outcome is None:
        return Choice(None, verdict.reason or "no_verdict", shares)
    return Choice(_PLACES.index(verdict.outcome), None, shares)


def _row(item: Item, order: Sequence[int], chosen: Choice) -> Row:
    return row_of(item, Given(None if chosen.place is None else order[chosen.place], chosen.reason))


def _record(item: Item, order: Sequence[int], chosen: Choice, row: Row, answered: Answered) -> dict[str, Any]:
    """A row of records.parquet, from which `recuse probe bbq` scores again without a call."""
    shares = dict(zip((item.says(place) for place in order), chosen.shares or (None,) * 3, strict=True))
    return {
        "category": item.category, "question_index": item.question_index, "example_id": item.id,
        "context": row.context, "polarity": row.polarity, "answer": row.answer, "correct": row.correct,
        "right": item.says(item.right), "reason": row.reason, "order": "".join(map(str, order)),
        "p_target": shares["target"], "p_non_target": shares["non-target"], "p_unknown": shares["unknown"],
        "prompt": "\n\n".join(f"@{m.role}\n{m.content}" for m in answered.ask.messages),
        "reply": answered.reply.text, "finish": answered.reply.finish, "fresh": answered.fresh,
    }  # fmt: skip


def _letters(chosen: Sequence[Choice], prompt: Prompt) -> dict[str, float]:
    """Shares of the labels among the answers that could be read."""
    places = [one.place for one in chosen if one.place is not None]
    return (
        {label: places.count(place) / len(places) for place, label in enumerate(prompt.spec.labels)} if places else {}
    )


def _result(
    quiz: Quiz, scores: Table, table: Mapping[str, Any], letters: Mapping[str, float], spend: Spend,
    usage: Mapping[str, Any],
) -> dict[str, Any]:  # fmt: skip
    notes = [*quiz.notes, *scores_notes(scores)]
    if letters:
        said = ", ".join(f"{label} {share:.0%}" for label, share in letters.items())
        notes.append(f"Answers by letter: {said}; of a shuffled order a model that reads takes each in about a third.")
        if max(letters.values()) > _ONE_LETTER:
            notes.append("This model chooses a place, not an answer: that its bias scores are near 0 is no merit.")
    if spend.models:
        notes.append(f"The provider reported the model as {', '.join(sorted(spend.models))}.")
    notes += [f"{note} ({count:,} replies)." for note, count in sorted(spend.notes.items())]
    files = ", ".join(path.name for path in quiz.config.items)
    return {
        "schema": 1,
        "kind": "probe",
        "headline": headline(scores),
        "model": quiz.config.model,
        "plan": f"BBQ: {files} ({len(quiz.asked):,} items)",
        "findings": [asdict(finding) for finding in bbq_findings(scores)],
        "tables": {"bbq": plain(scores), "letters": dict(letters)},
        "notes": notes,
        "usage": dict(usage),
        "config": {key: value for key, value in table.items() if value is not None},
    }
