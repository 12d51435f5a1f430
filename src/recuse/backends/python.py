"""The user's own callable as a judge: `python/pkg.module:function`, for instance a deployed prompt chain.

The function is called with the messages, a list of {"role", "content"}, and returns the judge's text, or a dict with
"text" and any of "finish" ("stop", "length" or "refusal"), "logprobs" ({token: logprob} at the first token),
"thinking", "tokens_in", "tokens_out" and "model". It may raise `recuse.errors.TransientError` to be called again and
`recuse.errors.BadRequest` where this one ask cannot be answered; any other exception ends the run.

It is handed no temperature and no other setting. An edit of its own file is seen, and makes another run; what else
decides its replies (a temperature, a prompt, a model that a second file or the environment sets) is not, unless the
function says so in "model", such as "desk-3 at 0.7". A gate voids the baseline of another model, and names both.
"""

from __future__ import annotations

import inspect
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from recuse import assets
from recuse.backends import pool
from recuse.backends.base import Capabilities, Options
from recuse.errors import RecuseError, UsageError
from recuse.types import Ask, Call, Reply

_FIELDS = {"text", "finish", "logprobs", "thinking", "tokens_in", "tokens_out", "model"}
_FINISHES = {"stop", "length", "refusal"}


def open(model: str, options: Options) -> PythonBackend:
    """The function `pkg.module:function`, looked for in the current folder first, as `python -m` does.

    Raises UsageError for a name without a function behind it.
    """
    module_name, colon, attribute = model.partition(":")
    if not colon or not module_name or not attribute:
        raise UsageError(f"'python/{model}' does not name a function.", hint="Write python/pkg.module:function.")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        module = import_module(module_name)
    except (Exception, SystemExit) as error:  # an exit in the user's code must not pass for an outcome
        raise UsageError(
            f"The module {module_name!r} cannot be imported: {_last_line(error)}.",
            hint=f"Start recuse where the module lies (now {os.fspath(folder)}) and check that it imports by itself.",
        ) from error
    function = getattr(module, attribute, None)
    if not callable(function):
        raise UsageError(
            f"The module {module_name!r} has no function {attribute!r}.", hint="Write python/pkg.module:function."
        )
    if inspect.iscoroutinefunction(function):
        raise UsageError(f"'{model}' is async.", hint="Wrap it in a function that calls asyncio.run.")
    source = getattr(module, "__file__", None)
    version = assets.digest(Path(source).read_bytes()) if source and Path(source).is_file() else "unknown"
    return PythonBackend(model, function, version, options)


class PythonBackend:
    """One callable, called in one thread unless `options.concurrency` says otherwise."""

    def __init__(
        self, model: str, function: Callable[[list[dict[str, str]]], object], version: str, options: Options
    ) -> None:
        self.name = f"python/{model}"
        self.capabilities = Capabilities(temperature=False, max_context=options.max_context)
        self._model, self._function, self._version, self._options = model, function, version, options

    def body(self, ask: Ask) -> dict[str, Any]:
        return {"model": self._model, "messages": [{"role": m.role, "content": m.content} for m in ask.messages]}

    def generate(self, calls: Iterable[Call]) -> Iterator[Reply]:
        return pool.run(self._send, calls, options=self._options, concurrency=1)

    def versions(self) -> dict[str, str]:
        """The interpreter and the content of the function's file, so that an edited judge is another judge."""
        return {"python": sys.version.split()[0], self._model: self._version}

    def close(self) -> None:
        pass

    def _send(self, call: Call) -> Reply:
        started = time.monotonic()
        try:
            # A copy: what the function does to its messages must not reach the ledger.
            answer = self._function([dict(message) for message in call.body["messages"]])
        except RecuseError:
            raise
        except (Exception, SystemExit) as error:
            raise UsageError(
                f"Your function {self._model} failed: {_last_line(error)}{_place(error)}.",
                hint="Raise recuse.errors.TransientError in it for what a second try may cure.",
            ) from error
        return self._reply(call, answer, time.monotonic() - started)

    def _reply(self, call: Call, answer: object, seconds: float) -> Reply:
        fields = {"text": answer} if isinstance(answer, str) else answer
        if not isinstance(fields, dict) or not isinstance(fields.get("text"), str):
            raise UsageError(
                f"Your function {self._model} returned {type(answer).__name__}"
                f"{' without a text' if isinstance(answer, dict) else ''}.",
                hint='Return the text, or a dict such as {"text": "A", "logprobs": {"A": -0.1, "B": -2.3}}.',
            )
        if unknown := sorted(str(name) for name in set(fields) - _FIELDS):
            raise UsageError(
                f"Your function {self._model} returned the unknown field {unknown[0]!r}.",
                hint=f"Use only: {', '.join(sorted(_FIELDS))}.",
            )
        if fields.get("finish", "stop") not in _FINISHES:
            raise UsageError(
                f"Your function {self._model} returned the finish {fields['finish']!r}.",
                hint=f"Use one of: {', '.join(sorted(_FINISHES))}.",
            )
        logprobs = fields.get("logprobs")
        if logprobs is not None:
            fields = {**fields, "logprobs": tuple((str(token), float(value)) for token, value in logprobs.items())}
        return Reply(key=call.key, seconds=seconds, **fields)


def _last_line(error: BaseException) -> str:
    return " ".join(traceback.format_exception_only(error)[-1].split()).rstrip(".")


def _place(error: BaseException) -> str:
    """Where the exception arose, for the user's own traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    return f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if len(frames) > 1 else ""
