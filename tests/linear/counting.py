"""Count the steps that the package takes, with those hidden in C.

A plugin of pytest: the package's modules are compiled with a counter at each turn of a loop and at
each call, and so is ``difflib``. What a call does in C is counted by its documented cost: a search
in a text by the characters that it looks at, a copy by its length, a call that is not known to be
cheaper by the length of all it gets. A regular expression is matched a second time by a matcher
that backtracks as ``re`` does and counts. RE2 is linear by itself. No clock is read, so the counts
are the same on any machine.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import BuiltinFunctionType, CodeType, ModuleType
from typing import Any

PACKAGES = ("jupyter_nbedit.notebook", "jupyter_nbedit.tools", "jupyter_nbedit.handlers.bodies")
OTHERS = ("difflib",)

#: The steps so far.
taken = 0
#: Whether regular expressions are matched a second time. That takes long for long texts; without it
#: a match costs its length, and a search the way to it.
matches_again = True


def tick(steps: int = 1) -> bool:
    """Count; true, so that it can be a condition."""
    global taken  # noqa: PLW0603 -- one counter for all modules
    taken += steps
    return True


# Regular expressions ------------------------------------------------------------------------------

if sys.version_info >= (3, 11):
    from re import _constants as constants
    from re import _parser as parser
else:
    import sre_constants as constants
    import sre_parse as parser

Matcher = Callable[[Any, int, dict[int, tuple[int, int]]], Iterator[int]]


def _parsed(pattern: re.Pattern[Any]) -> list[Any]:
    tree: Any = parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE)
    return list(tree)


class Expression:
    """A regular expression that is matched by backtracking, and counted."""

    def __init__(self, pattern: re.Pattern[Any]) -> None:
        self._flags = pattern.flags
        self._tree = _parsed(pattern)

    def match(self, text: Any, at: int, stop: int) -> int | None:
        """Return where the first match at a place ends."""
        return next(self._sequence(self._tree, 0, text[:stop], at, {}), None)

    def _sequence(
        self, nodes: list[Any], index: int, text: Any, at: int, groups: dict[int, tuple[int, int]]
    ) -> Iterator[int]:
        tick()
        if index == len(nodes):
            yield at
            return
        for end in self._node(nodes[index], text, at, groups):
            yield from self._sequence(nodes, index + 1, text, end, groups)

    def _node(  # noqa: C901 -- one branch for each kind
        self, node: Any, text: Any, at: int, groups: dict[int, tuple[int, int]]
    ) -> Iterator[int]:
        kind, argument = node
        if kind in {constants.MAX_REPEAT, constants.MIN_REPEAT}:
            yield from self._repeat(kind, argument, text, at, groups)
        elif kind is constants.SUBPATTERN:
            number, _, _, inner = argument
            for end in self._sequence(list(inner), 0, text, at, groups):
                yield from self._kept(number, at, end, groups)
        elif kind is constants.BRANCH:
            for inner in argument[1]:
                yield from self._sequence(list(inner), 0, text, at, groups)
        elif kind in {constants.ASSERT, constants.ASSERT_NOT}:
            direction, inner = argument
            start = at if direction > 0 else at - inner.getwidth()[0]
            found = start >= 0 and any(
                True for _ in self._sequence(list(inner), 0, text, start, groups)
            )
            if found == (kind is constants.ASSERT):
                yield at
        elif kind is constants.AT:
            if self._is_place(argument, text, at):
                yield at
        elif kind is constants.GROUPREF:
            start, stop = groups.get(argument, (0, -1))
            tick(max(0, stop - start))
            if stop >= start and text[at : at + stop - start] == text[start:stop]:
                yield at + stop - start
        elif at < len(text) and self._is_character(node, text[at : at + 1]):
            yield at + 1

    @staticmethod
    def _kept(
        number: int | None, at: int, end: int, groups: dict[int, tuple[int, int]]
    ) -> Iterator[int]:
        before = groups.get(number) if number is not None else None
        if number is not None:
            groups[number] = (at, end)
        yield end
        if number is not None and before is not None:
            groups[number] = before

    def _repeat(
        self, kind: Any, argument: Any, text: Any, at: int, groups: dict[int, tuple[int, int]]
    ) -> Iterator[int]:
        least, most, inner = argument
        nodes = list(inner)
        ends = [at]
        if len(nodes) == 1 and nodes[0][0] in _SINGLE:
            while len(ends) <= most and ends[-1] < len(text):
                tick()
                if not self._is_character(nodes[0], text[ends[-1] : ends[-1] + 1]):
                    break
                ends.append(ends[-1] + 1)
        else:
            # The patterns that are repeated here match a place in one way only; a second way would
            # be found by this too, since the longest is taken and each shorter one is tried.
            while len(ends) <= most:
                found = list(self._sequence(nodes, 0, text, ends[-1], groups))
                if len(found) > 1:
                    tick(len(found) ** 2)
                if not found or found[0] == ends[-1]:
                    break
                ends.append(found[0])
        ends = ends[least:] if len(ends) > least else []
        for end in ends if kind is constants.MIN_REPEAT else reversed(ends):
            tick()
            yield end

    def _is_place(self, place: Any, text: Any, at: int) -> bool:
        if place == constants.AT_END_STRING:
            return at == len(text)
        if place in {constants.AT_BEGINNING_STRING, constants.AT_BEGINNING}:
            return at == 0
        raise NotImplementedError(place)

    def _is_character(self, node: Any, character: Any) -> bool:
        kind, argument = node
        one = character if isinstance(character, str) else character.decode("latin-1")
        if kind is constants.ANY:
            return bool(self._flags & re.DOTALL) or one != "\n"
        variants = {one}
        if self._flags & re.IGNORECASE:
            variants |= {one.lower(), one.upper()}
        if kind is constants.LITERAL:
            return any(ord(each) == argument for each in variants if len(each) == 1)
        if kind is constants.NOT_LITERAL:
            return bool(ord(one) != argument)
        return any(_is_in(argument, each) for each in variants if len(each) == 1)


_SINGLE = {constants.LITERAL, constants.NOT_LITERAL, constants.ANY, constants.IN}
_CATEGORIES = {
    constants.CATEGORY_SPACE: re.compile(r"\s"),
    constants.CATEGORY_NOT_SPACE: re.compile(r"\S"),
    constants.CATEGORY_WORD: re.compile(r"\w"),
    constants.CATEGORY_NOT_WORD: re.compile(r"\W"),
    constants.CATEGORY_DIGIT: re.compile(r"\d"),
}


def _is_in(items: Sequence[Any], one: str) -> bool:
    negated = False
    for kind, argument in items:
        if kind is constants.NEGATE:
            negated = True
        elif (
            (kind is constants.LITERAL and ord(one) == argument)
            or (kind is constants.RANGE and argument[0] <= ord(one) <= argument[1])
            or (kind is constants.CATEGORY and _CATEGORIES[argument].match(one))
        ):
            return not negated
    return negated


_expressions: dict[re.Pattern[Any], Expression] = {}


def _count_match(pattern: re.Pattern[Any], text: Any, at: int, stop: int, end: int | None) -> None:
    """Count a match at one place, and check that it is the one that ``re`` has found."""
    if pattern not in _expressions:
        _expressions[pattern] = Expression(pattern)
    found = _expressions[pattern].match(text, at, stop)
    assert found == end, (pattern, text[at : at + 80], found, end)


def _count_search(pattern: re.Pattern[Any], text: Any, at: int, stop: int) -> None:
    """Count a search: a match at each place up to the first one that matches."""
    found = pattern.search(text, at, stop)
    last = stop if found is None else found.start()
    tick(last - at)
    for place in range(at, last + 1):
        if found is not None and place == found.start():
            _count_match(pattern, text, place, stop, found.end())
        elif _may_begin(pattern, text[place : place + 1]):
            _count_match(pattern, text, place, stop, None)


_firsts: dict[tuple[re.Pattern[Any], Any], bool] = {}


def _may_begin(pattern: re.Pattern[Any], character: Any) -> bool:
    """Whether a match may begin with a character: if not, ``re`` takes one step to see it."""
    key = (pattern, character)
    if key not in _firsts:
        nodes = _parsed(pattern)
        first = nodes[0]
        known = bool(character) and first[0] in _SINGLE
        _firsts[key] = not known or Expression(pattern)._is_character(first, character)
    return _firsts[key]


def _count_extent(text: Any, args: tuple[Any, ...], result: Any) -> None:
    """Count what a match, a search or a substitution has gone through, as far as it shows."""
    if isinstance(result, re.Match):
        at = args[1] if len(args) > 1 and isinstance(args[1], int) else 0
        tick(max(1, result.end() - at))
    elif result is not None:
        tick(len(text))


def _count_pattern(pattern: re.Pattern[Any], name: str, args: tuple[Any, ...], result: Any) -> None:
    text = args[1] if name in {"sub", "subn"} else args[0]
    if not matches_again:
        _count_extent(text, args, result)
        return
    at = args[1] if len(args) > 1 and name in {"match", "search", "fullmatch", "finditer"} else 0
    stop = min(args[2], len(text)) if len(args) > 2 and name in {"match", "search"} else len(text)
    if name == "match":
        _count_match(pattern, text, at, stop, None if result is None else result.end())
    elif name == "fullmatch":
        found = pattern.match(text, at)
        _count_match(pattern, text, at, stop, None if found is None else found.end())
    elif name == "search":
        _count_search(pattern, text, at, stop)
    else:
        while at <= stop:
            _count_search(pattern, text, at, stop)
            found = pattern.search(text, at, stop)
            if found is None:
                return
            at = max(found.end(), at + (found.end() == found.start()))


# Calls --------------------------------------------------------------------------------------------

_CONSTANT = {
    *("append", "add", "get", "setdefault", "popleft", "popitem", "discard", "items", "keys"),
    *("values", "len", "isinstance", "issubclass", "hasattr", "getattr", "setattr", "id", "hash"),
    *("iter", "next", "ord", "chr", "enumerate", "zip", "range", "reversed", "map", "filter"),
    *("callable", "type", "startswith", "endswith", "__setattr__", "__getattribute__", "group"),
    *("start", "end", "span", "update_digest", "repr", "abs", "divmod", "category"),
    *("bisect_left", "bisect_right"),
}


def _sizes(values: Any) -> int:
    return sum(len(one) for one in values if isinstance(one, (str, bytes, list, tuple, dict, set)))


def _count_text(text: Any, name: str, args: tuple[Any, ...], result: Any) -> None:
    start = args[1] if len(args) > 1 and isinstance(args[1], int) else 0
    stop = args[2] if len(args) > 2 else len(text)
    if name in {"find", "index"}:
        tick((result if result >= 0 else stop) - start)
    elif name in {"rfind", "rindex"}:
        tick(stop - max(result, start))
    elif name == "count":
        tick(max(0, stop - start))
    elif name == "join":
        tick(len(result))
    elif name not in _CONSTANT:
        tick(len(text) + _sizes([result]))


def call(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Call, and count what it costs."""
    tick()
    result = function(*args, **kwargs)
    if isinstance(function, BuiltinFunctionType):
        owner, name = function.__self__, function.__name__
        if isinstance(owner, re.Pattern):
            _count_pattern(owner, name, args, result)
        elif isinstance(owner, (str, bytes)):
            _count_text(owner, name, args, result)
        elif isinstance(owner, list) and name in {"insert", "remove", "index", "count"}:
            tick(len(owner))
        elif name == "pop" and isinstance(owner, list):
            tick(len(owner) - args[0] if args and args[0] >= 0 else 1)
        elif name not in _CONSTANT:
            tick(_sizes(args))
    elif function in {list, tuple, dict, set, frozenset, sorted, sum, min, max, any, all, str}:
        tick(_sizes(args) + _sizes([result]))
    return result


def contains(item: Any, container: Any) -> bool:
    """Look for something, and count what that costs."""
    found: bool = item in container
    if isinstance(container, (str, bytes)):
        place = container.find(item) if not isinstance(item, int) else -1
        tick(place if place >= 0 else len(container))
    elif isinstance(container, (list, tuple)):
        tick(len(container))
    return found


def part(value: Any) -> Any:
    """Count a copy."""
    tick(_sizes([value]))
    return value


class _Instrument(ast.NodeTransformer):
    """Puts the counters in."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.value = self.visit(node.value) if node.value is not None else None
        return node

    def visit_arguments(self, node: ast.arguments) -> ast.AST:
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.body = [self.visit(one) for one in node.body]
        return node

    visit_AsyncFunctionDef = visit_FunctionDef  # type: ignore[assignment] # noqa: N815

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.body = [self.visit(one) for one in node.body]
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in {"super", "cast", "Annotated"}:
            return node
        function = ast.Name("_steps_call", ast.Load())
        return ast.Call(function, [node.func, *node.args], node.keywords)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) == 1 and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            function = ast.Name("_steps_contains", ast.Load())
            found = ast.Call(function, [node.left, node.comparators[0]], [])
            return ast.UnaryOp(ast.Not(), found) if isinstance(node.ops[0], ast.NotIn) else found
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load) and isinstance(node.slice, ast.Slice):
            return ast.Call(ast.Name("_steps_part", ast.Load()), [node], [])
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, (ast.Add, ast.Mult)):
            return ast.Call(ast.Name("_steps_part", ast.Load()), [node], [])
        return node

    def visit_While(self, node: ast.While) -> ast.AST:
        self.generic_visit(node)
        node.body.insert(0, _tick_statement())
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        node.body.insert(0, _tick_statement())
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        self.generic_visit(node)
        node.ifs.insert(0, _tick_call())
        return node


def _tick_call() -> ast.Call:
    return ast.Call(ast.Name("_steps_tick", ast.Load()), [], [])


def _tick_statement() -> ast.Expr:
    return ast.Expr(_tick_call())


class _CountingLoader(SourceFileLoader):
    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> CodeType:  # type: ignore[override]
        tree = ast.fix_missing_locations(_Instrument().visit(ast.parse(data)))
        return compile(tree, path, "exec", dont_inherit=True)

    def get_code(self, fullname: str) -> CodeType:
        # Nothing of this is kept in a cache that others read.
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)

    def exec_module(self, module: ModuleType) -> None:
        vars(module).update(
            _steps_call=call, _steps_contains=contains, _steps_part=part, _steps_tick=tick
        )
        super().exec_module(module)


class _Finder:
    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name not in OTHERS and not any(f"{name}.".startswith(f"{one}.") for one in PACKAGES):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            loader: Loader = _CountingLoader(spec.loader.name, spec.loader.path)
            spec.loader = loader
        return spec


if any(name.startswith("jupyter_nbedit") for name in sys.modules):
    message = "The package is imported already; give this module to pytest by `-p`."
    raise RuntimeError(message)
for _name in OTHERS:
    sys.modules.pop(_name, None)
sys.meta_path.insert(0, _Finder())
