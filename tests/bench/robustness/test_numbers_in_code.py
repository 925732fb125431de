"""The code converts no digits of a client without a bound, and expects no search to find something."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.paths import ROOT

FOLDERS = ("service", "dragoman/text")
BOUND = re.compile(r"# at most \d+ digits")
"""A comment beside a conversion: what the digits were checked for, or the pattern that found them."""
METHODS_OF_STRINGS = frozenset(
    {"get", "group", "join", "lstrip", "removeprefix", "removesuffix", "replace", "rstrip", "strip"}
)
IS_NUMBER = re.compile(r"(is|has)_\w+|\w+_(s|bytes)")
"""Names with a unit, and of conditions."""


def unbounded(source: str) -> Iterator[int]:
    """Yield the lines that convert text to a number without a bound, in a form that may raise an error."""
    lines = source.splitlines()
    tree = ast.parse(source)
    caught = {
        call
        for block in ast.walk(tree)
        if isinstance(block, ast.Try) and any("ValueError" in ast.unparse(one) for one in handled(block))
        for statement in block.body
        for call in ast.walk(statement)
    }
    for call in calls(tree, "int"):
        stated = "\n".join(lines[call.lineno - 1 : call.end_lineno])
        if call not in caught and not BOUND.search(stated) and may_be_long(call):
            yield call.lineno


def handled(block: ast.Try) -> list[ast.expr]:
    return [handler.type for handler in block.handlers if handler.type is not None]


def may_be_long(call: ast.Call) -> bool:
    """Whether the digits may be too many: Python limits those of bases that are no power of two."""
    if len(call.args) > 1 and isinstance(call.args[1], ast.Constant) and call.args[1].value in {8, 16}:
        return False
    return any(may_be_text(argument) for argument in call.args[:1])


def may_be_text(value: ast.expr) -> bool:
    match value:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return IS_NUMBER.fullmatch(name) is None
        case ast.Subscript():
            return not isinstance(value.slice, ast.Slice) or value.slice.upper is None
        case ast.Call(func=ast.Attribute(attr=name)):
            return name in METHODS_OF_STRINGS
        case ast.BoolOp() | ast.IfExp():
            return any(
                may_be_text(part) for part in ast.iter_child_nodes(value) if isinstance(part, ast.expr)
            )
    return False


def failing_searches(source: str) -> Iterator[int]:
    """Yield the lines with a search that raises StopIteration where nothing is found."""
    for call in calls(ast.parse(source), "next"):
        if len(call.args) == 1 and not isinstance(call.args[0], ast.Name | ast.Attribute):
            yield call.lineno


def calls(tree: ast.AST, name: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
            yield node


def sources() -> Iterator[tuple[Path, str]]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield path.relative_to(ROOT), path.read_text(encoding="utf-8")


def test_digits_are_converted_with_a_bound() -> None:
    """Python raises a ValueError for more than 4,300 of them.

    A bound is a slice, a handler of the error, or a comment that says how many there are at most.
    """
    assert [f"{path}:{line}" for path, source in sources() for line in unbounded(source)] == []


def test_a_search_says_what_it_returns_if_it_finds_nothing() -> None:
    """In a generator, StopIteration becomes a RuntimeError; elsewhere it ends a loop that is not its own."""
    assert [f"{path}:{line}" for path, source in sources() for line in failing_searches(source)] == []


@pytest.mark.parametrize(
    ("code", "is_found"),
    [
        ("int(found[1])", True),
        ("int(found['n'] or 0)", True),
        ("int(digits)", True),
        ("int(digits, 10)", True),
        ("int(found.group(1).strip())", True),
        ("try:\n    int(digits)\nexcept KeyError:\n    pass", True),
        ("int(digits[:9])", False),
        ("int(digits, 16)", False),
        ("int(found[1])  # at most 2 digits", False),
        ("int(now_s)", False),
        ("int(a > b)", False),
        ("try:\n    int(digits)\nexcept (KeyError, ValueError):\n    pass", False),
    ],
)
def test_a_conversion_is_found(code: str, is_found: bool) -> None:  # noqa: FBT001 -- a parameter
    assert bool(list(unbounded(code))) == is_found


@pytest.mark.parametrize(
    ("code", "is_found"),
    [
        ("next(one for one in found if one.start == 1)", True),
        ("next(iter(found))", True),
        ("next(pattern.finditer(text))", True),
        ("next((one for one in found), None)", False),
        ("next(numbers)", False),
    ],
)
def test_a_search_is_found(code: str, is_found: bool) -> None:  # noqa: FBT001 -- a parameter
    assert bool(list(failing_searches(code))) == is_found
