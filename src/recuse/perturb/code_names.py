"""Other names for the local variables of functions: telling ones, or placeholders. What the code does is the same."""

from __future__ import annotations

import ast
import itertools
import string
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from keyword import iskeyword
from random import Random

from recuse.perturb.python_code import Change, Code, bound_elsewhere, free, own

_SHORT = 3  # characters up to which a name may be told better
_COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def telling_names(code: Code, rng: Random) -> list[Change]:
    """Each short name of a local variable gives way to one that says what the variable first holds."""
    found, taken = [], set[str]()
    for scope in scopes(code):
        names = {name: role for name, role in _roles(scope) if len(name) <= _SHORT}
        mapping = {}
        for name in local_names(code, scope):
            new = _new_name(code, name, names.get(name, ()), taken, rng)
            if new is not None:
                mapping[name] = new
                taken.add(new)
        found += renaming(code, scope, mapping)
    return found


def _new_name(code: Code, name: str, options: Iterable[str], taken: set[str], rng: Random) -> str | None:
    wordings = list(options)
    for option in rng.sample(wordings, len(wordings)):
        for new in (option, f"current_{option}", f"other_{option}", f"{option}_two"):
            if len(new) > len(name) and new not in taken and new.isidentifier() and free(new, code):
                return new
    return None


def scopes(code: Code) -> list[ast.AST]:
    """The outermost functions; for a body without its head, all of it."""
    if code.body:
        return [code.tree] if code.told is not None else []
    inner = {id(node) for outer in code.functions for node in ast.walk(outer) if node is not outer}
    return [function for function in code.functions if id(function) not in inner]


def local_names(code: Code, scope: ast.AST) -> list[str]:
    """The variables that belong to `scope` alone, so that all their mentions inside it can be renamed together.

    Left out are names that are also a parameter, import, function or declared global inside it, those in f-strings
    (whose places Python 3.11 does not tell), those bound only in a comprehension, and all where a class is inside. In a
    body without its head also every word of the question: it may be a parameter.
    """
    nodes = list(ast.walk(scope))
    if any(isinstance(node, ast.ClassDef) for node in nodes):
        return []
    spoken = {n.id for f in nodes if isinstance(f, ast.JoinedStr) for n in ast.walk(f) if isinstance(n, ast.Name)}
    functions = {f.name for f in nodes if isinstance(f, ast.FunctionDef | ast.AsyncFunctionDef)}
    barred = spoken | functions | _of_head(scope) | set(bound_elsewhere(scope))
    if code.body:
        barred |= code.told or frozenset()
    stored = [node.id for node in _stores(scope)]
    return [name for name in dict.fromkeys(stored) if name not in barred and not name.startswith("_")]


def _of_head(scope: ast.AST) -> set[str]:
    """Names in defaults, annotations and decorators, which the scope around a function gives their meaning."""
    if not isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
        return set()
    parts = [scope.args, *scope.decorator_list, *([scope.returns] if scope.returns else [])]
    return {node.id for part in parts for node in ast.walk(part) if isinstance(node, ast.Name)}


def _stores(scope: ast.AST) -> Iterator[ast.Name]:
    """Names that the scope itself binds, those of comprehensions left out."""
    inside = {id(n) for node in own(scope) if isinstance(node, _COMPREHENSIONS) for n in ast.walk(node)}
    for node in own(scope):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in inside:
            yield node


def renaming(code: Code, scope: ast.AST, mapping: Mapping[str, str]) -> list[Change]:
    """Every mention of the names inside `scope`; nothing where a place does not hold the name, as with odd letters."""
    found = []
    for node in ast.walk(scope):
        if isinstance(node, ast.Name) and node.id in mapping:
            start, end = code.span(node)
            if code.text[start:end] != node.id:
                return []
            found.append(Change(start, end, mapping[node.id]))
    return found


_CALLED = {
    "len": ("length", "total_length"),
    "sum": ("running_total", "sum_of_values"),
    "min": ("minimum", "smallest_value"),
    "max": ("maximum", "largest_value"),
    "sorted": ("sorted_values", "values_in_order"),
    "int": ("number", "whole_number"),
    "float": ("number", "decimal_value"),
    "str": ("text", "text_form"),
    "input": ("input_line", "line_of_input"),
    "set": ("unique_values", "distinct_values"),
    "dict": ("lookup", "value_by_key"),
    "list": ("values", "value_list"),
    "abs": ("distance", "absolute_value"),
}


def _roles(scope: ast.AST) -> Iterator[tuple[str, tuple[str, ...]]]:
    """For each binding, last to first, what a name could tell: a table of them keeps the first binding of each."""
    found: list[tuple[str, tuple[str, ...]]] = []
    for node in own(scope):
        match node:
            case ast.For(target=target, iter=over):
                found += _of_loop(target, over)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found.append((name, _of_value(value)))
            case ast.Assign(targets=[ast.Tuple(elts=elts)]):
                found += [(e.id, ("part", "component")) for e in elts if isinstance(e, ast.Name)]
            case ast.withitem(optional_vars=ast.Name(id=name)):
                found.append((name, ("resource", "context_value")))
    yield from reversed(found)


def _of_loop(target: ast.expr, over: ast.expr) -> Iterator[tuple[str, tuple[str, ...]]]:
    called = over.func if isinstance(over, ast.Call) else None
    match target, called:
        case ast.Name(id=name), ast.Name(id="range"):
            yield name, ("index", "position", "step_index")
        case ast.Tuple(elts=[ast.Name(id=first), ast.Name(id=second)]), ast.Name(id="enumerate"):
            yield first, ("index", "position")
            yield second, ("element", "current_value")
        case ast.Tuple(elts=[ast.Name(id=first), ast.Name(id=second)]), ast.Attribute(attr="items"):
            yield first, ("entry_key", "lookup_key")
            yield second, ("entry_value", "stored_value")
        case ast.Name(id=name), _:
            yield name, ("element", "current_item", "single_value")
        case ast.Tuple(elts=elts), _:
            for element in elts:
                if isinstance(element, ast.Name):
                    yield element.id, ("component", "item_part")


def _of_value(value: ast.expr) -> tuple[str, ...]:
    match value:
        case ast.List() | ast.ListComp():
            return ("collected_values", "result_list", "gathered_items")
        case ast.Dict() | ast.DictComp():
            return ("lookup", "value_by_key", "mapping")
        case ast.Set() | ast.SetComp():
            return ("seen_values", "unique_values")
        case ast.Constant(value=bool()) | ast.Compare() | ast.UnaryOp(op=ast.Not()):
            return ("condition_holds", "is_satisfied")
        case ast.Constant(value=str()) | ast.JoinedStr():
            return ("text", "current_text", "text_so_far")
        case ast.Constant(value=0):
            return ("running_total", "counter", "accumulated_value")
        case ast.Call(func=ast.Name(id=called)) if called in _CALLED:
            return _CALLED[called]
        case ast.Call(func=ast.Attribute(attr="split")):
            return ("parts", "text_parts")
        case ast.Subscript():
            return ("selected_entry", "chosen_element")
    return ("intermediate_value", "current_result", "computed_value")


def placeholders(code: Code, changes: list[Change], rng: Random, draw: int) -> list[Change]:
    """Names of the same length that tell nothing, one for each new name."""
    start, taken = rng.random(), set[str]()
    mapping = {}
    for name in dict.fromkeys(one.text for one in changes):
        mapping[name] = placeholder(code, len(name), Random(f"{start} {name}"), draw, taken)
        taken.add(mapping[name])
    return [Change(one.start, one.end, mapping[one.text]) for one in changes]


def placeholder(code: Code, length: int, rng: Random, draw: int, taken: set[str]) -> str:
    """A name of `length` characters that says nothing and that nothing else has."""
    options = [name for name in _by_length(length) if name not in taken and free(name, code)]
    return rng.sample(options, len(options))[draw % len(options)]


_STEMS = ("var", "val", "tmp", "obj", "name", "local", "thing", "symbol", "entity", "variable", "identifier")
_ENDS = (*string.ascii_lowercase, "one", "two", "three", "four", "five", "seven", "eight")


@cache
def _by_length(length: int) -> list[str]:
    letters = string.ascii_lowercase
    if length <= 2:
        return [name for p in itertools.product(letters, repeat=length) if not iskeyword(name := "".join(p))]
    if length <= 4:
        line = "_" * (length - 3)
        return [f"{a}{b}{line}{c}" for a, b, c in itertools.product(letters, letters, "123456789")]
    stems = [*_STEMS, *(f"{a}_{b}" for a, b in itertools.permutations(_STEMS, 2))]
    fitting = [f"{stem}_{end}" for stem in stems for end in _ENDS if len(stem) + len(end) + 1 == length]
    return fitting or [f"variable_{'x' * (length - 11)}_{end}" for end in letters]
