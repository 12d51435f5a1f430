"""Idiom: plain Python said the way that fluent writers say it, where both forms are sure to do the same.

A list that a loop fills becomes a comprehension, a swap loses its helper, an `if` whose branches only return or assign
becomes one expression, comparisons are chained, and `not a in b`, `range(0, n)`, `list()`, `list(map(f, xs))` and
`x = x + 1` get their usual form.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from random import Random

from recuse.perturb.code_names import local_names, placeholder, renaming, scopes
from recuse.perturb.python_code import Change, Code, free, own

_LINE = 100  # characters of the longest line that is put together
_LOOSE = ast.Lambda | ast.IfExp | ast.NamedExpr | ast.Tuple | ast.Starred | ast.Yield | ast.YieldFrom | ast.Await
_LATE = ast.Lambda | ast.GeneratorExp | ast.NamedExpr | ast.Starred | ast.Yield | ast.YieldFrom | ast.Await
_ATOMS = ast.Name | ast.Constant | ast.Attribute | ast.Subscript | ast.Call
_CLOSED = ast.Name | ast.Constant | ast.Attribute | ast.Subscript | ast.Call | ast.Tuple | ast.List | ast.Set | ast.Dict
_SURE = ast.Not | ast.In | ast.NotIn | ast.Is | ast.IsNot  # operators that always give True or False


def idiom(code: Code, rng: Random) -> list[Change]:
    """All the places of the code where an idiom fits; `rng` decides nothing."""
    found: list[Change] = []
    made = [one for scope in scopes(code) for one in _of_statements(code, scope)]
    for one in (*made, *_of_expressions(code)):
        if all(one.end <= other.start or other.end <= one.start for other in found):
            found.append(one)
    return found


def renamed_alike(code: Code, changes: list[Change], rng: Random, draw: int) -> list[Change]:
    """Local variables under placeholder names of their own length, the most frequent first, until as many characters
    have changed as the idioms change."""
    wanted = sum(_touched(code.text[one.start : one.end], one.text) for one in changes)
    found: list[Change] = []
    taken, start = set[str](), rng.random()
    options = [(scope, name) for scope in scopes(code) for name in local_names(code, scope)]
    sized = [(scope, name, renaming(code, scope, {name: name})) for scope, name in options]
    for scope, name, places in sorted(sized, key=lambda item: -len(item[2]) * len(item[1])):
        if sum(len(one.text) for one in found) >= wanted or not places:
            break
        new = placeholder(code, len(name), Random(f"{start} {name}"), draw, taken)
        taken.add(new)
        found += renaming(code, scope, {name: new})
    return found


def _touched(before: str, after: str) -> int:
    """Characters between what both have in common at their ends."""
    shorter = min(len(before), len(after))
    head = next((i for i in range(shorter) if before[i] != after[i]), shorter)
    tail = next((i for i in range(shorter - head) if before[-1 - i] != after[-1 - i]), shorter - head)
    return max(len(before), len(after)) - head - tail


def _of_statements(code: Code, scope: ast.AST) -> Iterator[Change]:
    for body, guarded in _bodies(scope, guarded=False):
        for i, node in enumerate(body):
            rest = body[i + 1 : i + 3]
            for made in (
                None if guarded or not rest else _comprehension(code, scope, node, rest[0]),
                _swap(code, scope, node, *rest) if len(rest) == 2 else None,
                _truth(code, node, rest[0] if rest else None),
                _choice(code, node, rest[0] if rest else None),
                _in_place(code, scope, node),
            ):
                if made is not None and len(made.text) <= _LINE and "#" not in code.text[made.start : made.end]:
                    yield made


def _bodies(node: ast.AST, *, guarded: bool) -> Iterator[tuple[list[ast.stmt], bool]]:
    """The lists of statements of a scope; guarded are those inside a `try`, which may see a loop half done."""
    inside = guarded or isinstance(node, ast.Try | ast.TryStar | ast.With | ast.AsyncWith)
    for field in ("body", "orelse", "finalbody"):
        body = getattr(node, field, None)
        if isinstance(body, list) and body:
            yield body, inside
            for child in body:
                if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    yield from _bodies(child, guarded=inside)
    for handler in getattr(node, "handlers", []):
        yield from _bodies(handler, guarded=True)


def _comprehension(code: Code, scope: ast.AST, first: ast.stmt, loop: ast.stmt) -> Change | None:
    """`r = []`, and a loop that does nothing but append to r. Not where the loop's variable is known elsewhere."""
    match first, loop:
        case (
            ast.Assign(targets=[ast.Name(id=name)], value=ast.List(elts=[])),
            ast.For(target=target, iter=over, body=[inner], orelse=[]),
        ):
            pass
        case _:
            return None
    test = None
    if isinstance(inner, ast.If) and not inner.orelse and len(inner.body) == 1:
        test, inner = inner.test, inner.body[0]
    match inner:
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(value=ast.Name(id=of), attr="append"), args=[element], keywords=[])
        ) if of == name:
            pass
        case _:
            return None
    parts = [element, over, *([test] if test is not None else [])]
    inside = [n for part in parts for n in ast.walk(part)]
    names = _mentions(parts)
    loops = {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
    bare = all(isinstance(e, ast.Name) for e in (target.elts if isinstance(target, ast.Tuple) else [target]))
    if (
        not bare
        or any(isinstance(n, _LATE) for n in inside)
        or any(isinstance(part, _LOOSE) for part in parts[1:])
        or name in names | loops
        or "super" in names
        or not _local(scope, name)
        or any(_count(scope, one) != _count(loop, one) or not _local(scope, one) for one in loops)
    ):
        return None
    spread = [code.words(part) for part in (element, target, over, *([test] if test is not None else []))]
    if any("\n" in words for words in spread):
        return None
    tail = f" if {spread[3]}" if test is not None else ""
    text = f"{name} = [{spread[0]} for {spread[1]} in {spread[2]}{tail}]"
    return Change(code.span(first)[0], code.span(loop)[1], text)


def _swap(code: Code, scope: ast.AST, first: ast.stmt, second: ast.stmt, third: ast.stmt) -> Change | None:
    """`t = a`, `a = b`, `b = t`, where nothing else knows t and no place depends on the other."""
    match first, second, third:
        case (
            ast.Assign(targets=[ast.Name(id=helper)], value=a),
            ast.Assign(targets=[to_a], value=b),
            ast.Assign(targets=[to_b], value=ast.Name(id=back)),
        ) if helper == back:
            pass
        case _:
            return None
    one, two = ast.unparse(a), ast.unparse(b)
    plain = all(_is_place(place) for place in (a, b))
    apart = not (isinstance(a, ast.Name) and one in _mentions([b])) and not (
        isinstance(b, ast.Name) and two in _mentions([a])
    )
    same = ast.unparse(to_a) == one and ast.unparse(to_b) == two and one != two
    if not (plain and apart and same and _local(scope, helper)) or _count(scope, helper) != 2:
        return None
    text = f"{code.words(a)}, {code.words(b)} = {code.words(b)}, {code.words(a)}"
    return Change(code.span(first)[0], code.span(third)[1], text)


def _is_place(node: ast.expr) -> bool:
    """A name, or an entry of one at an index of names and numbers."""
    simple = ast.Name | ast.Constant | ast.BinOp | ast.operator | ast.expr_context
    match node:
        case ast.Name():
            return True
        case ast.Subscript(value=ast.Name(), slice=index):
            return all(isinstance(n, simple) for n in ast.walk(index))
    return False


def _truth(code: Code, node: ast.stmt, after: ast.stmt | None) -> Change | None:
    """`if c: return True`, else False, or the other way round."""
    if not isinstance(node, ast.If) or len(node.body) != 1 or code.words(node).startswith("elif"):
        return None
    other = node.orelse[0] if len(node.orelse) == 1 else after if not node.orelse else None
    yes, no = _returned(node.body[0]), _returned(other)
    test = code.words(node.test)
    if yes is None or no is None or yes == no or "\n" in test or isinstance(node.test, _LOOSE):
        return None
    if not yes:
        said = f"not {test}" if isinstance(node.test, _ATOMS) else f"not ({test})"
    elif _sure(node.test):
        said = test
    elif "bool" in code.names:
        return None
    else:
        said = f"bool({test})"
    assert other is not None
    return Change(code.span(node)[0], code.span(other)[1], f"return {said}")


def _returned(node: ast.stmt | None) -> bool | None:
    match node:
        case ast.Return(value=ast.Constant(value=bool(said))):
            return said
    return None


def _sure(test: ast.expr) -> bool:
    match test:
        case ast.UnaryOp(op=operator) | ast.Compare(ops=[operator]):
            return isinstance(operator, _SURE)
    return False


def _choice(code: Code, node: ast.stmt, after: ast.stmt | None) -> Change | None:
    """An `if` and its `else`, or the statement behind it, that assign to one name or return, one statement each."""
    if not isinstance(node, ast.If) or len(node.body) != 1 or code.words(node).startswith("elif"):
        return None
    match node.body[0], node.orelse, after:
        case ast.Assign(targets=[ast.Name(id=one)], value=a), [ast.Assign(targets=[ast.Name(id=two)], value=b)], _:
            head, end = f"{one} =", node.orelse[0]
            if one != two:
                return None
        case (ast.Return(value=ast.expr() as a), [ast.Return(value=ast.expr() as b) as end], _) | (
            ast.Return(value=ast.expr() as a),
            [],
            ast.Return(value=ast.expr() as b) as end,
        ):
            head = "return"
        case _:
            return None
    words = [code.words(part) for part in (a, node.test, b)]
    if any(isinstance(part, _LOOSE) for part in (a, node.test, b)) or any("\n" in w for w in words):
        return None
    return Change(code.span(node)[0], code.span(end)[1], f"{head} {words[0]} if {words[1]} else {words[2]}")


def _in_place(code: Code, scope: ast.AST, node: ast.stmt) -> Change | None:
    """`x = x + 1`, for a variable that only ever holds plain numbers: a list or an array would be changed in place."""
    match node:
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.BinOp(
                left=ast.Name(id=same), op=ast.Add() | ast.Sub() as sign, right=ast.Constant(int() | float()) as value
            ),
        ) if name == same and name in local_names(code, scope) and _counts(scope, name):
            mark = "+=" if isinstance(sign, ast.Add) else "-="
            return Change(*code.span(node), f"{name} {mark} {code.words(value)}")
    return None


def _counts(scope: ast.AST, name: str) -> bool:
    """Whether every binding of the name is a number, or the name with a number added or taken away."""
    stores = sum(isinstance(n, ast.Name) and n.id == name and not isinstance(n.ctx, ast.Load) for n in ast.walk(scope))
    kept = 0
    for node in ast.walk(scope):
        match node:
            case ast.Assign(targets=[ast.Name(id=to)], value=ast.Constant(value=int() | float())) if to == name:
                kept += 1
            case ast.Assign(
                targets=[ast.Name(id=to)],
                value=ast.BinOp(
                    left=ast.Name(id=of), op=ast.Add() | ast.Sub(), right=ast.Constant(value=int() | float())
                ),
            ) if to == of == name:
                kept += 1
            case ast.AugAssign(target=ast.Name(id=to), value=ast.Constant(value=int() | float())) if to == name:
                kept += 1
    return kept == stores


def _of_expressions(code: Code) -> Iterator[Change]:
    for node in ast.walk(code.tree):
        if isinstance(node, ast.expr):
            made = _said_better(code, node)
            if made is not None and "\n" not in made.text:
                yield made


def _said_better(code: Code, node: ast.expr) -> Change | None:
    match node:
        case ast.UnaryOp(
            op=ast.Not(), operand=ast.Compare(left=left, ops=[ast.In() | ast.Is() as sign], comparators=[right])
        ) if isinstance(left, _CLOSED) and isinstance(right, _CLOSED):
            negated = "not in" if isinstance(sign, ast.In) else "is not"
            return Change(*code.span(node), f"{code.words(left)} {negated} {code.words(right)}")
        case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=0) as zero, end], keywords=[]):
            start, to = code.span(zero)[0], code.span(end)[0]
            if "range" not in code.bound and re.fullmatch(r"0\s*,\s*", code.text[start:to]):
                return Change(start, to, "")
        case ast.Call(func=ast.Name(id="list" | "dict" as kind), args=[], keywords=[]) if kind not in code.bound:
            return Change(*code.span(node), "[]" if kind == "list" else "{}")
        case ast.Call(
            func=ast.Name(id="list"),
            args=[ast.Call(func=ast.Name(id="map"), args=[ast.Name(id=by), over], keywords=[])],
        ) if code.bound.isdisjoint(("list", "map")) and not isinstance(over, _LOOSE | ast.GeneratorExp):
            item = next((name for name in ("item", "part", "piece") if free(name, code)), None)
            if item is not None and not node.keywords:
                return Change(*code.span(node), f"[{by}({item}) for {item} in {code.words(over)}]")
        case ast.BoolOp(
            op=ast.And(),
            values=[
                ast.Compare(left=low, ops=[first], comparators=[ast.Name(id=one)]),
                ast.Compare(left=ast.Name(id=two), ops=[second], comparators=[high]),
            ],
        ) if one == two and isinstance(low, _ATOMS) and isinstance(high, _ATOMS):
            signs = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
            a, b = signs.get(type(first)), signs.get(type(second))
            if a and b and a[0] == b[0]:
                return Change(*code.span(node), f"{code.words(low)} {a} {one} {b} {code.words(high)}")
    return None


def _mentions(parts: list[ast.expr]) -> set[str]:
    return {node.id for part in parts for node in ast.walk(part) if isinstance(node, ast.Name)}


def _count(scope: ast.AST, name: str) -> int:
    return sum(isinstance(node, ast.Name) and node.id == name for node in ast.walk(scope))


def _local(scope: ast.AST, name: str) -> bool:
    """Whether the scope itself binds the name and no function or class inside it mentions it."""
    mine = {id(node) for node in own(scope)}
    barred = {n for node in ast.walk(scope) if isinstance(node, ast.Global | ast.Nonlocal) for n in node.names}
    every = [node for node in ast.walk(scope) if isinstance(node, ast.Name) and node.id == name]
    return name not in barred and bool(every) and all(id(node) in mine for node in every)
