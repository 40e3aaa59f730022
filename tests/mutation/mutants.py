"""Small changes of the code, each of which some test must notice."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Any, NamedTuple

#: What stands instead of what, both without parts.
_OTHERS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.LShift: ast.RShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Continue: ast.Break,
    ast.Break: ast.Continue,
}
#: Where None stands instead of whatever is there.
_VALUES: dict[type[ast.AST], tuple[str, ...]] = {
    ast.Slice: ("lower", "upper"),
    ast.Return: ("value",),
    ast.Assign: ("value",),
    ast.AnnAssign: ("value",),
}
# What users are told stands in the tests of the refusals, and changes in a release.
_TEXTS = frozenset(("description", "examples", "message", "warning"))
_SHOWN = 100


@dataclass(frozen=True)
class Mutant:
    """One change.

    Parameters
    ----------
    module
        The file, from the package's folder on.
    function
        The function or method it is in; empty outside of all.
    place
        The same, or else the class or the name that is defined there.
    line
        Where.
    was, now
        What stands there, and what instead.
    nth
        Which of those it is that would else be known by the same, from 1.
    code
        The module's code with the change.
    """

    module: str
    function: str
    place: str
    line: int
    was: str
    now: str
    nth: int
    code: CodeType

    @property
    def name(self) -> str:
        """What it is known by; the line is not in it, for it moves."""
        nth = "" if self.nth == 1 else f" ({self.nth})"
        return f"{self.module} {self.place or 'module'}: {self.was} -> {self.now}{nth}"


class _Change(NamedTuple):
    function: str
    place: str
    parent: Any
    field: str
    at: int | None
    old: Any
    new: Any

    def put(self, node: Any) -> None:
        if self.at is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.at] = node

    def shown(self) -> str:
        """The smallest piece of code that has it."""
        is_code = isinstance(self.old, (ast.expr, ast.stmt))
        piece = getattr(self.parent, self.field) if is_code else self.parent
        if is_code and self.at is not None:
            piece = piece[self.at]
        text = " ".join(ast.unparse(piece).split())
        return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def mutants(module: str, text: str, file: str) -> Iterator[Mutant]:
    """Make all mutants of a module, one after the other."""
    tree = ast.parse(text)
    times: Counter[tuple[str, str, str]] = Counter()
    for change in list(_changes(tree)):
        line = getattr(change.old, "lineno", getattr(change.parent, "lineno", 0))
        was = change.shown()
        change.put(change.new)
        ast.fix_missing_locations(tree)
        code = compile(tree, file, "exec", dont_inherit=True)
        now = change.shown()
        times[change.place, was, now] += 1
        nth = times[change.place, was, now]
        yield Mutant(module, change.function, change.place, line, was, now, nth, code)
        change.put(change.old)


def _changes(node: Any, prefix: str = "", function: str = "", place: str = "") -> Iterator[_Change]:
    for field, value in ast.iter_fields(node):
        if _is_left_out(node, field) or (not function and _is_union(node)):
            continue
        for at, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(child, ast.AST) or _is_text(node, child):
                continue
            here = place if function else _defined(child, prefix) or place
            for new in _instead(node, field, child):
                copied = ast.copy_location(new, child)
                yield _Change(function, here, node, field, at, child, copied)
            if isinstance(child, ast.ClassDef):
                yield from _changes(child, f"{here}.", function, here)
            elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield from _changes(child, prefix, function or here, here)
            else:
                yield from _changes(child, prefix, function, here)


def _defined(node: ast.AST, prefix: str) -> str:
    """Give the name that a statement defines; empty if it defines none."""
    match node:
        case ast.ClassDef(name) | ast.FunctionDef(name) | ast.AsyncFunctionDef(name):
            return f"{prefix}{name}"
        case ast.Assign([ast.Name(name)]) | ast.AnnAssign(ast.Name(name)):
            return f"{prefix}{name}"
    return ""


def _is_left_out(node: ast.AST, field: str) -> bool:
    """Whether a part of the code is about types only, or there once for the whole run."""
    if field in {"annotation", "returns", "decorator_list", "bases", "type_comment", "type_params"}:
        return True
    return isinstance(node, (ast.arguments, ast.Import, ast.ImportFrom, ast.JoinedStr))


def _is_text(node: Any, child: ast.AST) -> bool:
    """Whether something is said to people, in the code or by it."""
    if isinstance(node, ast.Expr) and isinstance(child, ast.Constant):
        return True
    if isinstance(node, ast.keyword):
        return node.arg in _TEXTS
    if isinstance(node, ast.Assign):
        return any(isinstance(one, ast.Name) and one.id in _TEXTS for one in node.targets)
    return isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"


def _is_union(node: ast.AST) -> bool:
    """Whether a statement outside of functions gives a name to one of several types."""
    match node:
        case ast.Assign(value=ast.BinOp(op=ast.BitOr())):
            return True
    return False


def _instead(node: Any, field: str, child: Any) -> Iterator[ast.AST]:
    """Say what may stand instead of a part of the code."""
    if type(child) in _OTHERS:
        yield _OTHERS[type(child)]()
    elif isinstance(child, ast.Constant):
        yield from _other_constants(child.value)
    elif isinstance(child, ast.UnaryOp) and isinstance(child.op, ast.Not):
        yield child.operand
    elif isinstance(child, ast.stmt):
        if _does_something(child):
            yield ast.Pass()
    elif field == "test" and isinstance(child, (ast.Call, ast.Name, ast.Attribute)):
        yield ast.UnaryOp(ast.Not(), child)
    elif isinstance(child, ast.expr) and field in _VALUES.get(type(node), ()):
        yield ast.Constant(None)


def _does_something(statement: ast.stmt) -> bool:
    """Whether a statement can be left out, and is there for more than a name."""
    is_call = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
    is_error = isinstance(statement, ast.Raise) and statement.exc is not None
    return is_call or is_error or isinstance(statement, ast.AugAssign)


def _other_constants(value: object) -> Iterator[ast.Constant]:
    match value:
        case bool():
            yield ast.Constant(not value)
        case int():
            yield ast.Constant(value + 1)
        case str():
            yield ast.Constant("XX" + value)
        case bytes():
            yield ast.Constant(b"XX" + value)
