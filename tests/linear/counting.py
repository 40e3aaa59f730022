"""Count the steps that the package takes, with those hidden in C.

A plugin of pytest: the package's modules are compiled with a counter at each turn of a loop and at
each call, and so is ``difflib``. What a call does in C is counted by its documented cost: a search
in a text by the characters that it looks at, a copy by its length, a call that is not known to be
cheaper by the length of all it gets. A regular expression is taken to go over its match once; that
it does, is what the long texts of the nightly run are for. RE2 is linear by itself.
"""

import ast
import re
import sys
from array import array
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import BuiltinFunctionType, CodeType, ModuleType
from typing import Any

PACKAGES = (
    "jupyter_nbedit.notebook",
    "jupyter_nbedit.services.reading",
    "jupyter_nbedit.agents.tools",
    "jupyter_nbedit.agents.mcp",
)
OTHERS = ("difflib",)

#: The steps so far.
taken = 0


def tick(steps: int = 1) -> bool:
    """Count; true, so that it can be a condition."""
    global taken  # noqa: PLW0603 -- one counter for all modules
    taken += steps
    return True


# Calls --------------------------------------------------------------------------------------------


_CONSTANT = {
    *("append", "add", "get", "setdefault", "popleft", "popitem", "discard", "items", "keys"),
    *("values", "len", "isinstance", "issubclass", "hasattr", "getattr", "setattr", "id", "hash"),
    *("iter", "next", "ord", "chr", "enumerate", "zip", "range", "reversed", "map", "filter"),
    *("callable", "type", "startswith", "endswith", "__setattr__", "__getattribute__", "group"),
    *("start", "end", "span", "update_digest", "repr", "abs", "divmod", "category"),
    *("bisect_left", "bisect_right"),
}


def _count_pattern(name: str, args: tuple[Any, ...], result: Any) -> None:
    text = args[1] if name in {"sub", "subn"} else args[0]
    start = args[1] if len(args) > 1 and isinstance(args[1], int) else 0
    if isinstance(result, re.Match):
        tick(result.end() - start)
    elif name not in {"match", "fullmatch"}:
        tick(len(text) - start)


_SIZED = (str, bytes, list, tuple, dict, set, array)


def _sum_sizes(values: Any) -> int:
    return sum(len(one) for one in values if isinstance(one, _SIZED))


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
        tick(len(text) + _sum_sizes([result]))


def call(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function, and count its cost."""
    tick()
    result = function(*args, **kwargs)
    if isinstance(function, BuiltinFunctionType):
        owner, name = function.__self__, function.__name__
        if isinstance(owner, re.Pattern):
            _count_pattern(name, args, result)
        elif isinstance(owner, (str, bytes)):
            _count_text(owner, name, args, result)
        elif isinstance(owner, list) and name in {"insert", "remove", "index", "count"}:
            tick(len(owner))
        elif name == "pop" and isinstance(owner, list):
            tick(len(owner) - args[0] if args and args[0] >= 0 else 1)
        elif name not in _CONSTANT:
            tick(_sum_sizes(args))
    elif function in {list, tuple, dict, set, frozenset, sorted, sum, min, max, any, all, str}:
        tick(_sum_sizes(args) + _sum_sizes([result]))
    return result


def contains(item: Any, container: Any) -> bool:
    """Search for an item, and count the cost."""
    found: bool = item in container
    if isinstance(container, (str, bytes)):
        place = container.find(item) if not isinstance(item, int) else -1
        tick(place if place >= 0 else len(container))
    elif isinstance(container, (list, tuple)):
        tick(len(container))
    return found


def part(value: Any) -> Any:
    """Count a copy."""
    tick(_sum_sizes([value]))
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
