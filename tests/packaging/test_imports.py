"""What test modules import."""

import ast
from pathlib import Path

TESTS = Path(__file__).parents[1]


def test_no_test_module_is_imported() -> None:
    # Else its tests run twice or with fixtures of another folder; import-linter knows no patterns.
    found = [
        f"{path.relative_to(TESTS)}:{node.lineno}"
        for path in TESTS.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.ImportFrom) and "test_" in (node.module or "").rpartition(".")[2]
    ]
    assert found == [], "move what they share to a module that is no test"
