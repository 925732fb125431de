"""Work on a text, and of each regular expression, is in proportion to its length: counted, not timed."""

import ast
import inspect
import pkgutil
import re
import sys
import threading
from collections.abc import Callable, Container, Iterator
from concurrent.futures import ThreadPoolExecutor
from enum import IntEnum
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest
import sentencex

import dragoman.text
import service.formats
import service.text
from dragoman.text import boundaries
from dragoman.text.normalization import normalise_segment, normalised_offsets
from dragoman.text.segmentation import WINDOW_CHARS, fit_segments, segment
from dragoman.text.words import Word, group_into_words
from dragoman.types import Span, Splitting
from service.api.openai import prompts
from tests.linear import has_linear_count, is_linear
from tests.regex_steps import NEVER, hostile_parts, num_steps

UNITS = [
    *("x", "x ", ".", "..x", '"', 'a"', '". ', "„", "(", "a (b", " ", "\n", "1\n", "1. ", "19. J", "!?"),
    *("z.B. ", "日", "日。", "\u0301", "a\u0301", "\u0f73", "\u0301\x01", "\x01", "\u200d"),
    *("\u1100\u1161", "\U0001f1e9", "a\t"),
]
"""What a text of any length is made of."""


def text_of(unit: str, size: int) -> str:
    return (unit * size)[:size]


def count_letters(text: str) -> int:
    return len(text.split()) + len(text) // 8


@pytest.mark.parametrize("unit", UNITS, ids=ascii)
@pytest.mark.parametrize(
    "work",
    [
        normalise_segment,
        normalised_offsets,
        lambda text: segment(text, "de"),
        lambda text: segment(text, "de", Splitting.NO_NEWLINES),
        lambda text: fit_segments(segment(text, "de"), count_letters, 100),
    ],
    ids=["normalise", "places", "segment", "segment_no_newlines", "fit_segments"],
)
def test_twice_the_text_takes_twice_the_calls(work: Callable[[str], object], unit: str) -> None:
    assert is_linear(lambda size: work(text_of(unit, size)))


class CountingPattern:
    """A pattern that notes how many characters it is given."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self.pattern = pattern
        self.num_characters = 0

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        self.num_characters += len(text)
        return self.pattern.finditer(text)


@pytest.mark.parametrize("name", ["_CLAUSE_END", "_SPACES"])
def test_boundaries_are_searched_once_for_any_number_of_cut_words(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = " ".join(["x" * 1000] * 20)
    pattern = CountingPattern(getattr(boundaries, name))
    monkeypatch.setattr(boundaries, name, pattern)

    fit_segments(segment(text, "de"), count_letters, 100)

    assert pattern.num_characters == len(text)


@pytest.mark.parametrize("unit", UNITS, ids=ascii)
def test_the_splitter_is_shown_no_character_more_than_twice(
    unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[int] = []
    split = sentencex.segment

    def watched(code: str, text: str) -> list[str]:
        shown.append(len(text))
        found: list[str] = split(code, text)
        return found

    monkeypatch.setattr(sentencex, "segment", watched)
    size = 10 * WINDOW_CHARS

    segment(text_of(unit, size), "de")

    assert max(shown, default=0) <= WINDOW_CHARS
    assert sum(shown) <= 2 * size + WINDOW_CHARS


def test_a_word_of_many_pieces_is_put_together_once() -> None:
    def group(size: int) -> list[Word]:
        return group_into_words("x" * size, [Span(place, place + 1) for place in range(size)])

    assert is_linear(group)
    assert group(3)[0].pieces == (0, 1, 2)


PACKAGES = (dragoman.text, service.text, service.formats)
OTHER_MODULES = (prompts,)
OF_SHORT_TEXTS = {prompts._SENTENCE, prompts._OBJECT}
"""Of at most MAX_INSTRUCTION_CHARACTERS."""
SIZE = 40
STACK_BYTES, MAX_FRAMES = 2**28, 100_000
PARTS = (
    *(("a1", " hundert"), ("a_", " hundert zwei"), ("1a", " zwanzigste Tag"), ("a+", "@"), ("a/a+", "a")),
    *((" 111", ".1.1"), ("111 ", "111.1.1"), ("AA-111-", "a"), ("6-", NEVER), ("a", NEVER), ("A", NEVER)),
    *((" ", NEVER), ("1", NEVER), ('"', NEVER), ("(", NEVER), ("<", NEVER), ("&", NEVER), ("{", NEVER)),
    *(("[", NEVER), ("*", NEVER), ("1.", NEVER), ("\u0301", NEVER), ("日", NEVER), ("<!--", NEVER)),
)
"""What has once taken long, or begins much."""


class Use(IntEnum):
    """How much of a text a pattern is tried at."""

    AT_BEGINNING = 0
    """`match(text)` and `fullmatch(text)`."""
    AT_RUNS = 1
    """`match(text, place)`: where a run of letters, digits, white space or signs begins."""
    EVERYWHERE = 2


@cache
def modules() -> tuple[ModuleType, ...]:
    names = (
        found.name for each in PACKAGES for found in pkgutil.walk_packages(each.__path__, f"{each.__name__}.")
    )
    return (*map(import_module, names), *OTHER_MODULES)


def patterns_in(value: Any) -> Iterator[re.Pattern[Any]]:
    """Yield the patterns of a module's variable: itself, in a collection, or what a function keeps."""
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict | tuple | list | frozenset | set):
        for each in value.values() if isinstance(value, dict) else value:
            yield from patterns_in(each)
    elif hasattr(value, "cache_info") and inspect.signature(value).return_annotation == re.Pattern[str]:
        yield value()


@cache
def patterns() -> dict[str, re.Pattern[Any]]:
    """Return all patterns, each once, by a name."""
    found: dict[tuple[Any, int], tuple[str, re.Pattern[Any]]] = {}
    for module in modules():
        for name, value in vars(module).items():
            for pattern in (each for each in patterns_in(value) if each not in OF_SHORT_TEXTS):
                found.setdefault((pattern.pattern, pattern.flags), (f"{module.__name__}.{name}", pattern))
    return {f"{name}-{i}": pattern for i, (name, pattern) in enumerate(found.values())}


@cache
def uses() -> dict[re.Pattern[Any], Use]:
    """Return how far the patterns that are used by name are tried."""
    found: dict[re.Pattern[Any], Use] = {}
    for module in modules():
        tree = ast.parse(inspect.getsource(module))
        parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        for node in ast.walk(tree):
            pattern = vars(module).get(node.id) if isinstance(node, ast.Name) else None
            if (
                isinstance(pattern, re.Pattern)
                and isinstance(node, ast.Name)
                and isinstance(node.ctx, ast.Load)
            ):
                use = use_of(parents[node], parents.get(parents[node]))
                found[pattern] = max(found.get(pattern, Use.AT_BEGINNING), use)
    return found


def use_of(parent: ast.AST, call: ast.AST | None) -> Use:
    if isinstance(parent, ast.Compare) or (isinstance(parent, ast.Attribute) and parent.attr == "pattern"):
        return Use.AT_BEGINNING
    if (
        isinstance(parent, ast.Attribute)
        and parent.attr in {"match", "fullmatch"}
        and isinstance(call, ast.Call)
    ):
        return Use.AT_BEGINNING if len(call.args) == 1 else Use.AT_RUNS
    return Use.EVERYWHERE


RUN = re.compile(r"[^\W\d_]+|\d+|\s+|[^\w\s]|_+")


def starts_of(text: str, use: Use) -> Container[int] | None:
    match use:
        case Use.AT_BEGINNING:
            return (0,)
        case Use.AT_RUNS:
            return {found.start() for found in RUN.finditer(text)}
        case Use.EVERYWHERE:
            return None


def in_deep_thread(work: Callable[[], object]) -> None:
    """Run work that calls itself once for each character."""
    before = sys.getrecursionlimit(), threading.stack_size(STACK_BYTES)
    sys.setrecursionlimit(MAX_FRAMES)
    try:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(work).result()
    finally:
        sys.setrecursionlimit(before[0])
        threading.stack_size(before[1])


@pytest.mark.parametrize("module", dict.fromkeys(name.rpartition(".")[0] for name in patterns()))
def test_twice_the_text_takes_twice_the_steps(module: str) -> None:
    """Of any part that a pattern repeats, and of parts that were costly, with an end that no match has."""

    def check(name: str, pattern: re.Pattern[Any], unit: str, end: str) -> None:
        use, is_text = uses().get(pattern, Use.EVERYWHERE), isinstance(pattern.pattern, str)

        def steps(size: int) -> int:
            text = unit * (size // len(unit) + 1) + end
            return num_steps(pattern, text if is_text else text.encode(), starts_of(text, use))

        if is_text or unit.isascii():
            assert has_linear_count(steps, SIZE), (name, unit, end, use.name)

    def check_all() -> None:
        for name, pattern in patterns().items():
            if name.rpartition(".")[0] == module:
                for unit, end in dict.fromkeys([*hostile_parts(pattern), *PARTS]):
                    check(name, pattern, unit, end)

    in_deep_thread(check_all)
