"""No generator holds a connection while its caller uses what it yields.

A caller that stops early leaves the generator to be closed at any time and on any thread, perhaps after the
database was closed; and until then its transaction stays open.
"""

import ast
from collections.abc import Iterator

import pytest

from tests.paths import ROOT

TRANSACTIONS = frozenset({"reading", "writing", "connect", "begin"})


def holding(source: str) -> Iterator[int]:
    """Yield the lines where a generator yields within a transaction, except of context managers."""
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and not any(
            "contextmanager" in ast.unparse(decorator) for decorator in function.decorator_list
        ):
            for block in within(function):
                if isinstance(block, ast.With) and any(
                    isinstance(call, ast.Call)
                    and isinstance(call.func, ast.Attribute)
                    and call.func.attr in TRANSACTIONS
                    for item in block.items
                    for call in [item.context_expr]
                ):
                    yield from (
                        one.lineno for one in within(block) if isinstance(one, ast.Yield | ast.YieldFrom)
                    )


def within(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes within one, except those of functions that it defines."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield child
            yield from within(child)


def test_no_generator_yields_within_a_transaction() -> None:
    found = {
        f"{path.relative_to(ROOT)}:{line}"
        for path in (ROOT / "service").rglob("*.py")
        for line in holding(path.read_text("utf-8"))
    }
    assert found == set()


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("def a(db):\n with db.reading() as c:\n  for row in c:\n   yield row", [4]),
        ("def a(db):\n with db.engine.begin() as c:\n  yield from c", [3]),
        ("@contextmanager\ndef a(db):\n with db.reading() as c:\n  yield c", []),
        ("def a(db):\n with db.reading() as c:\n  rows = c.all()\n yield from rows", []),
    ],
)
def test_only_a_yield_within_a_transaction_is_found(code: str, lines: list[int]) -> None:
    assert [*holding(code)] == lines
