"""Rule-based edits of answers that are code: how it looks changes, what it does stays, its bug with it. Python only.

The places come from the syntax tree. What a rule is not sure to leave as it runs it does not touch: code that reads its
own names or docstrings, names that another scope knows, a statement that shares its line. Each edit has a meaningless
twin: comments that say nothing where text was put in, placeholders for names, renaming for idiom.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

from recuse import assets
from recuse.perturb.code_idiom import idiom, renamed_alike
from recuse.perturb.code_names import placeholders, telling_names
from recuse.perturb.filler import empty_words
from recuse.perturb.python_code import Change, Code, Function, apply_changes, codes, own
from recuse.types import Pair

_MOST = 10  # comments put into one piece of code
_WIDE = 32  # characters of code that a comment or docstring repeats at most

Changes = Callable[[Code, Random], list[Change]]
Twin = Callable[[Code, list[Change], Random, int], list[Change]]


@cache
def _words() -> Mapping[str, Any]:
    return tomllib.loads(assets.data("code_edits.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True, slots=True)
class CodeEdit:
    """`changes` are those of the edit; `twin` makes of them meaningless ones of the same size, a draw at a time."""

    changes: Changes
    twin: Twin

    def apply(self, pair: Pair, rng: Random) -> str:
        return apply_changes(pair.rejected, [one for code in codes(pair) for one in self.changes(code, rng)])

    def meaningless(self, pair: Pair, rng: Random, *, seed: int, draw: int) -> str:
        """The twin of what `apply` makes with `rng` in the same state."""
        own_rng = Random(f"meaningless {seed} {pair.id}")
        found: list[Change] = []
        for code in codes(pair):
            found += self.twin(code, self.changes(code, rng), own_rng, draw)
        return apply_changes(pair.rejected, found)


def docstrings(code: Code, rng: Random) -> list[Change]:
    """A docstring for each function that has none, told from its name and its parameters."""
    style = rng.choice((_google, _numpy, _sphinx))
    found = []
    for function in code.functions:
        place = code.opens(function.body[0])
        if ast.get_docstring(function) is None and place and function.body[0].lineno > function.lineno:
            found.append(_block(place, _summary(function.name, rng), style(_parameters(function), _returns(function))))
    place = code.opens(code.tree.body[0])
    if code.body and place and ast.get_docstring(code.tree) is None:
        found.append(_block(place, rng.choice(_OF_BODY), style([], _returns(code.tree))))
    return found


_OF_BODY = ("Work on the given arguments.", "Process the input as described.", "Carry out the task of this function.")


def _summary(name: str, rng: Random) -> str:
    words = _spoken(name)
    if name.split("_")[0] in ("is", "has", "can"):
        return rng.choice(("Tell whether the condition {} holds.", "Check the property {} of the input.")).format(words)
    if words.split(" ")[0] in _words()["verbs"]:
        return f"{words.capitalize()} {rng.choice(('for the given input', 'from the given arguments', 'as required'))}."
    return rng.choice(("Compute the {} and return it.", "Work out the {} for the input.", "Handle the {}.")).format(
        words
    )


def _spoken(name: str) -> str:
    return " ".join(re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", name)).lower() or "value"


def _parameters(function: Function) -> list[str]:
    every = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return [arg.arg for arg in every if arg.arg not in ("self", "cls")]


def _returns(scope: ast.AST) -> bool:
    return any(isinstance(node, ast.Return) and node.value is not None for node in own(scope))


def _google(names: list[str], returns: bool) -> list[str]:
    lines = ["", "Args:", *(f"    {name}: The {_spoken(name)} to work with." for name in names)] if names else []
    return lines + (["", "Returns:", "    The result of the computation."] if returns else [])


def _numpy(names: list[str], returns: bool) -> list[str]:
    lines = ["", "Parameters", "----------"] if names else []
    for name in names:
        lines += [name, f"    The {_spoken(name)} that is given."]
    return lines + (["", "Returns", "-------", "    The computed result."] if returns else [])


def _sphinx(names: list[str], returns: bool) -> list[str]:
    lines = ["", *(f":param {name}: the {_spoken(name)} to be used" for name in names)] if names else []
    return lines + ([] if names or not returns else [""]) + ([":return: the computed result"] if returns else [])


def _block(place: tuple[int, str], summary: str, lines: list[str]) -> Change:
    start, prefix = place
    inner = "".join(f"{prefix}{line}\n" if line else "\n" for line in lines)
    text = f'{prefix}"""{summary}\n{inner}{prefix}"""\n' if lines else f'{prefix}"""{summary}"""\n'
    return Change(start, start, text)


def comments(code: Code, rng: Random) -> list[Change]:
    """A comment before a statement, which says what the statement says, up to ten of them."""
    found = []
    for node in _statements(code.tree.body):
        place, said = code.opens(node), _said(node, rng)
        if place is None or said is None or code.words(node).startswith("elif"):
            continue
        above = code.text[: place[0]].rstrip("\n").rpartition("\n")[2]
        if not above.lstrip().startswith("#"):
            found.append(Change(place[0], place[0], f"{place[1]}# {said}\n"))
    if len(found) > _MOST:
        return [found[i * len(found) // _MOST] for i in range(_MOST)]
    return found


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        yield node
        for field in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(node, field, []))
        for handler in getattr(node, "handlers", []):
            yield from _statements(handler.body)


def _said(node: ast.stmt, rng: Random) -> str | None:
    """What a comment says of a statement; None where it would be odd."""
    match node:
        case ast.For(target=target, iter=over):
            wording = rng.choice(("Go through {} in {}", "Loop over {} in {}"))
            return wording.format(_short(target, "each"), _short(over, "the values"))
        case ast.While(test=test):
            said = _short(test, "the condition holds")
            return rng.choice(("Repeat while {}", "Keep going as long as {}")).format(said)
        case ast.If(test=test):
            said = _short(test, "the condition holds")
            return rng.choice(("Check whether {}", "The case that {}", "See if {}")).format(said)
        case ast.Return(value=value) if value is not None:
            return rng.choice(("Return {}", "Give back {}", "Finally, return {}")).format(_short(value))
        case ast.Assign(targets=[target], value=ast.Constant() | ast.List(elts=[]) | ast.Dict(keys=[])):
            return rng.choice(("Initialize {}", "Start value of {}", "Set up {}")).format(_short(target))
        case ast.Assign(targets=[target]):
            return rng.choice(("Compute {}", "Work out {}", "Determine {}")).format(_short(target))
        case ast.AugAssign(target=target):
            return rng.choice(("Update {}", "Adjust {}", "Bring {} up to date")).format(_short(target))
        case ast.Expr(value=ast.Call(func=called)):
            return rng.choice(("Call {}", "Use {} here", "Apply {}")).format(_short(called))
        case ast.Raise():
            return rng.choice(("Report the error", "Signal that something is wrong"))
        case ast.Break():
            return rng.choice(("Leave the loop", "Stop here"))
    return None


def _short(node: ast.AST, otherwise: str = "the result") -> str:
    text = ast.unparse(node)
    return text if len(text) <= _WIDE and "\n" not in text else otherwise


def imports(code: Code, rng: Random) -> list[Change]:
    """Three imports of the standard library that the code has no use for: none of their names stands in it, so that
    they mend no missing one."""
    place = _import_place(code)
    known = code.names | (code.told or frozenset())
    fitting = [line for line, names in _words()["imports"].items() if known.isdisjoint(names)]
    if place is None or len(fitting) < 3:
        return []
    start, prefix = place
    lines = sorted(rng.sample(fitting, 3), key=lambda line: (line.startswith("from"), line))
    return [Change(start, start, "".join(f"{prefix}{line}\n" for line in lines) + "\n")]


def _import_place(code: Code) -> tuple[int, str] | None:
    """Before the first statement that is neither the docstring nor an import from the future."""
    rest = code.tree.body[1 if ast.get_docstring(code.tree) is not None else 0 :]
    for node in rest:
        if not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            return code.opens(node)
    return None


def types(code: Code, rng: Random) -> list[Change]:
    """Type hints for the parameters and the result of each plain function, told from how they are used."""
    found, wants_any = [], False
    for function in code.functions:
        hints = _hints(code, function)
        found += hints
        wants_any |= any("Any" in hint.text for hint in hints)
    place = _import_place(code)
    if wants_any:
        if place is None or code.body or "Any" in code.names:
            return [hint for hint in found if "Any" not in hint.text]
        found.append(Change(place[0], place[0], f"{place[1]}from typing import Any\n\n"))
    return found


def _hints(code: Code, function: Function) -> list[Change]:
    """None where the function shares the line of its head, or where a decorator may read its signature."""
    colon = code.colons.get(function.lineno)
    if function.decorator_list or colon is None or code.opens(function.body[0]) is None:
        return []
    given = function.args
    positional = [*given.posonlyargs, *given.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(given.defaults)) + list(given.defaults)
    pairs = [*zip(positional, defaults, strict=True), *zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    found = []
    for arg, default in pairs:
        hint = _type_of_parameter(arg.arg, default, function)
        if arg.annotation is not None or arg.arg in ("self", "cls") or hint in code.bound:
            continue
        end = code.span(arg)[1]
        if default is None:
            found.append(Change(end, end, f": {hint}"))
        elif re.fullmatch(r"\s*=\s*", code.text[end : (start := code.span(default)[0])]):
            found.append(Change(end, start, f": {hint} = "))
    result = _type_of_result(function)
    if function.returns is None and result is not None and result not in code.bound:
        found.append(Change(colon, colon, f" -> {result}"))
    return found


_PLAIN = (int, float, str, bool, bytes)


def _type_of_parameter(name: str, default: ast.expr | None, function: Function) -> str:
    if isinstance(default, ast.Constant) and type(default.value) in _PLAIN:
        return type(default.value).__name__
    for node in ast.walk(function):
        match node:
            case ast.Attribute(value=ast.Name(id=of), attr=method) if of == name:
                if (kind := _listed("methods", method)) is not None:
                    return kind
            case ast.Call(func=ast.Name(id="range"), args=args):
                if any(isinstance(arg, ast.Name) and arg.id == name for arg in args):
                    return "int"
    return _listed("types", name.rstrip("0123456789_").rpartition("_")[2]) or "Any"


def _listed(table: str, word: str) -> str | None:
    kinds: Mapping[str, list[str]] = _words()[table]
    return next((kind for kind, words in kinds.items() if word in words), None)


def _type_of_result(function: Function) -> str | None:
    if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in own(function)):
        return None
    kinds = {_type_of(node.value) for node in own(function) if isinstance(node, ast.Return)} or {"None"}
    return kinds.pop() if len(kinds) == 1 else "Any"


def _type_of(value: ast.expr | None) -> str:
    match value:
        case None | ast.Constant(value=None):
            return "None"
        case ast.Constant(value=constant) if type(constant) in _PLAIN:
            return type(constant).__name__
        case ast.Compare() | ast.UnaryOp(op=ast.Not()):
            return "bool"
        case ast.List() | ast.ListComp():
            return "list"
        case ast.JoinedStr():
            return "str"
    return "Any"


def _hushed(code: Code, changes: list[Change], rng: Random, draw: int) -> list[Change]:
    """The lines that were put in, as comments that say nothing."""
    start = rng.random()  # the same for all places: draws differ, lines of one draw vary with their number
    found = []
    for number, one in enumerate(changes):
        indent = one.text[: len(one.text) - len(one.text.lstrip())]
        lines = [
            _empty_comment(line, indent, Random(f"{start} {number} {i}"), draw)
            for i, line in enumerate(one.text.split("\n"))
        ]
        found.append(Change(one.start, one.end, "\n".join(lines)))
    return found


def _empty_comment(line: str, indent: str, rng: Random, draw: int) -> str:
    size = len(line) - len(indent)
    if size < 3:
        return indent + "#" * size if line.strip() else line
    return f"{indent}# {empty_words(size - 2, rng, draw)}"


def _hushed_hints(code: Code, changes: list[Change], rng: Random, draw: int) -> list[Change]:
    """For all the hints of a function's head one comment behind its colon, and for the import one in its place."""
    start = rng.random()
    found, left = [], list(changes)
    for function in code.functions:
        colon = code.colons.get(function.lineno, -1)
        head = code.at(function.lineno, function.col_offset)
        inside = [one for one in left if head <= one.start <= colon]
        left = [one for one in left if one not in inside]
        size = sum(len(one.text) - (one.end - one.start) for one in inside)
        if size > 4:
            words = empty_words(size - 4, Random(f"{start} {colon}"), draw)
            found.append(Change(colon + 1, colon + 1, f"  # {words}"))
    return found + _hushed(code, left, rng, draw)


CODE_EDITS: Mapping[str, CodeEdit] = {
    "code_docstrings": CodeEdit(docstrings, _hushed),
    "code_comments": CodeEdit(comments, _hushed),
    "code_names": CodeEdit(telling_names, placeholders),
    "code_imports": CodeEdit(imports, _hushed),
    "code_idiom": CodeEdit(idiom, renamed_alike),
    "code_types": CodeEdit(types, _hushed_hints),
}
