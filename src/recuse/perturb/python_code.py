"""Python in an answer: where it stands, its syntax tree, and the places of the tree in the text of the answer."""

from __future__ import annotations

import ast
import builtins
import io
import re
import textwrap
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from recuse.perturb.code import code_spans, parsed
from recuse.prompts import transcript
from recuse.types import Pair

Function = ast.FunctionDef | ast.AsyncFunctionDef
_SCOPES = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
_REFLECTION = frozenset(
    {"eval", "exec", "globals", "locals", "vars", "dir", "__import__", "inspect", "__doc__", "doctest"}
)
_SIGNATURE = re.compile(r"\w\([^()]*\w")


@dataclass(frozen=True, slots=True)
class Change:
    """Characters `start` to `end` of the answer give way to `text`; an insertion where both are the same."""

    start: int
    end: int
    text: str


def apply_changes(text: str, changes: Iterable[Change]) -> str:
    """Raises ValueError for changes that overlap."""
    pieces, done = [], 0
    for one in sorted(changes, key=lambda c: (c.start, c.end)):
        if one.start < done:
            raise ValueError("two changes overlap")
        pieces += [text[done : one.start], one.text]
        done = one.end
    return "".join([*pieces, text[done:]])


@dataclass(frozen=True)
class Code:
    """One piece of Python in `text`, the answer, from character `start` on."""

    text: str
    start: int
    source: str  # without the indent that all its lines share
    tree: ast.Module
    question: str

    @cached_property
    def body(self) -> bool:
        """Whether it is what stands inside a function whose head is not shown, as in HumanEval."""
        indented = self._indent > 0 and self.start == 0  # a fence may be indented with the list that it stands in
        return indented or any(isinstance(node, ast.Return | ast.Yield) for node in own(self.tree))

    @cached_property
    def told(self) -> frozenset[str] | None:
        """For a body: the words of the question, which name its parameters; None where it shows no signature."""
        return frozenset(re.findall(r"\w+", self.question)) if _SIGNATURE.search(self.question) else None

    @cached_property
    def _lines(self) -> list[str]:
        return self.source.split("\n")

    @cached_property
    def _starts(self) -> list[int]:
        return [self.start, *(m.end() for m in re.compile("\n").finditer(self.text, self.start))]

    @cached_property
    def _indent(self) -> int:
        number = next(i for i, line in enumerate(self._lines) if line.strip())
        at = self.start
        for _ in range(number):
            at = self.text.index("\n", at) + 1
        width = len(self.text[at:]) - len(self.text[at:].lstrip(" \t"))
        return width - (len(self._lines[number]) - len(self._lines[number].lstrip(" \t")))

    def at(self, line: int, column: int) -> int:
        """The character of the answer at a place of the tree: lines from 1, columns in bytes of UTF-8."""
        return self._starts[line - 1] + self._indent + len(self._lines[line - 1].encode()[:column].decode())

    def span(self, node: ast.expr | ast.stmt | ast.arg) -> tuple[int, int]:
        last, column = node.end_lineno or node.lineno, node.end_col_offset or 0  # always told by the parser
        return self.at(node.lineno, node.col_offset), self.at(last, column)

    def words(self, node: ast.expr | ast.stmt | ast.arg) -> str:
        start, end = self.span(node)
        return self.text[start:end]

    def opens(self, node: ast.stmt) -> tuple[int, str] | None:
        """Where the line of a statement (of its first decorator) starts, and its indent; None if it opens no line."""
        line = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
        start = self._starts[line - 1]
        after_head = self.text[start:]
        prefix = after_head[: len(after_head) - len(after_head.lstrip(" \t"))]
        column = node.col_offset if line == node.lineno else 0
        if line == node.lineno and start + len(prefix) != self.at(line, column):
            return None
        return None if self.text[:start].endswith("\\\n") else (start, prefix)

    @cached_property
    def functions(self) -> list[Function]:
        found = [n for n in ast.walk(self.tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
        return sorted(found, key=lambda n: (n.lineno, n.col_offset))

    @cached_property
    def names(self) -> frozenset[str]:
        """Every identifier in it, and every word of its strings: a name outside of these is new."""
        return frozenset(re.findall(r"\w+", self.source))

    @cached_property
    def bound(self) -> frozenset[str]:
        """Names that it gives a meaning of its own, anywhere."""
        found = set(bound_elsewhere(self.tree))
        found |= {n.id for n in ast.walk(self.tree) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
        return frozenset(found | {f.name for f in self.functions})

    @cached_property
    def reflects(self) -> bool:
        """Whether it may look at its own names or texts, so that no edit is sure to change nothing."""
        return not _REFLECTION.isdisjoint(self.names) or "import *" in self.source

    @cached_property
    def colons(self) -> dict[int, int]:
        """For the line of each `def`, the character of the answer at which the colon of its head stands."""
        found: dict[int, int] = {}
        line, depth = 0, 0
        for token in tokenize.generate_tokens(io.StringIO(self.source).readline):
            if token.string == "def" and token.type == tokenize.NAME:
                line, depth = token.start[0], 0
            elif line and token.type == tokenize.OP:
                depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(token.string, 0)
                if token.string == ":" and depth == 0:
                    found[line] = self._starts[token.start[0] - 1] + self._indent + token.start[1]
                    line = 0
        return found


def codes(pair: Pair) -> list[Code]:
    """The pieces of Python in the rejected answer of `pair` but for those of which no rule is sure that they stay."""
    found = []
    for start, end in code_spans(pair.rejected):
        raw = pair.rejected[start:end]
        tree = None if re.search(r"[\r\f\t]", raw) else parsed(raw)
        if tree is None or all(isinstance(node, ast.Expr) for node in tree.body):
            continue
        code = Code(pair.rejected, start, textwrap.dedent(raw), tree, transcript(pair.prompt))
        if not code.reflects:
            found.append(code)
    return found


def own(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a scope without those of functions, lambdas and classes inside it."""
    for child in ast.iter_child_nodes(scope):
        yield child
        if not isinstance(child, _SCOPES):
            yield from own(child)


def bound_elsewhere(tree: ast.AST) -> Iterator[str]:
    """Names that get a meaning otherwise than by an assignment or a loop, or that belong to several scopes."""
    for node in ast.walk(tree):
        match node:
            case ast.arg(arg=name) | ast.ExceptHandler(name=str(name)):
                yield name
            case ast.alias(name=path, asname=given):
                yield given or path.partition(".")[0]
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                yield from names
            case ast.ClassDef(name=name):
                yield name
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                yield name
            case ast.NamedExpr(target=ast.Name(id=name)):
                yield name


def free(name: str, code: Code) -> bool:
    """Whether nothing goes by `name` yet."""
    return name not in code.names and not hasattr(builtins, name) and name not in (code.told or ())
