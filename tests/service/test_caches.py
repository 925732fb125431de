"""Every cache has a bound in entries and in what it keeps of a client; no generator holds a connection."""

import ast
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from dragoman.text import stemming, term_index
from dragoman.text.stemming import MAX_CACHED_LETTERS
from tests.paths import ROOT

if TYPE_CHECKING:
    from functools import _lru_cache_wrapper
from collections.abc import Iterator

CACHING = frozenset({"lru_cache", "cache"})


class Keys(Enum):
    """What a cache is filled by, and so how large its entries are."""

    NOTHING = "the code, or numbers: no argument, or few values of it"
    CODES = "language codes and names, of at most 255 characters"
    WORDS = "words and names, only up to a number of letters"
    CHARACTERS = "single characters and tokens of a vocabulary"
    TERMS = "terminologies, whose terms are limited, and their terms"
    READER = "names of a file, in the process that reads it: its memory is limited"
    PREFIXES = "prefixes of requests, 16 of at most the characters of a request"


CACHES = {
    "dragoman/argument_types.py": [Keys.NOTHING, Keys.NOTHING],
    "dragoman/decoding/beam.py": [Keys.NOTHING],
    "dragoman/decoding/constrained.py": [Keys.CHARACTERS, Keys.CHARACTERS],
    "dragoman/decoding/scoring.py": [Keys.NOTHING],
    "dragoman/decoding/utf8.py": [Keys.NOTHING],
    "dragoman/languages.py": [Keys.CODES],
    "dragoman/loading.py": [Keys.NOTHING],
    "dragoman/native/library.py": [Keys.NOTHING],
    "dragoman/native/weights_cache.py": [Keys.NOTHING],
    "dragoman/pipeline/preparation.py": [Keys.NOTHING],
    "dragoman/pipeline/resolution.py": [Keys.PREFIXES],
    "dragoman/pipeline/terminology.py": [Keys.TERMS, Keys.NOTHING],
    "dragoman/reading/respelling.py": [Keys.WORDS, Keys.WORDS],
    "dragoman/routing/routes.py": [Keys.CODES, Keys.CODES, Keys.CODES, Keys.CODES],
    "dragoman/text/address.py": [Keys.NOTHING],
    "dragoman/text/alphabet.py": [Keys.CHARACTERS],
    "dragoman/text/inflections.py": [Keys.CODES],
    "dragoman/text/normalization.py": [Keys.CHARACTERS],
    "dragoman/text/segmentation.py": [Keys.CODES],
    "dragoman/text/sentence_ends.py": [Keys.CODES],
    "dragoman/text/stemming.py": [Keys.WORDS, Keys.CODES],
    "dragoman/text/term_index.py": [Keys.WORDS],
    "dragoman/text/tokenizer.py": [Keys.NOTHING],
    "service/api/google/api.py": [Keys.CODES],
    "service/api/languages.py": [Keys.CODES],
    "service/api/openai/language_names.py": [Keys.NOTHING],
    "service/batch/journal.py": [Keys.CODES],
    "service/formats/xml_units.py": [Keys.READER],
    "service/text/context.py": [Keys.TERMS],
    "service/text/number_changes.py": [Keys.CODES],
    "service/text/patterns.py": [Keys.NOTHING],
    "service/text/plural_rules.py": [Keys.CODES, Keys.CODES],
    "service/translation/detection.py": [Keys.NOTHING, Keys.CODES],
    "service/translation/everyday_words.py": [Keys.CODES],
}
"""The caches of each module by what fills them; see the table in `docs/reference/limits.md`."""


@cache
def sources() -> Mapping[str, ast.Module]:
    paths = [path for folder in ("dragoman", "service") for path in (ROOT / folder).rglob("*.py")]
    return {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text("utf-8")) for path in paths}


def cache_calls(tree: ast.Module) -> list[str]:
    """Return the caches of a module as they are written, without what a factory caches."""
    decorators = [
        ast.unparse(decorator)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for decorator in function.decorator_list
    ]
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    others = [ast.unparse(call.func) for call in calls if isinstance(call.func, ast.Call)]
    others += [ast.unparse(call) for call in calls if ast.unparse(call.func) == "cache"]
    return [one for one in (*decorators, *others) if one.partition("(")[0].rpartition(".")[2] in CACHING]


def test_what_fills_each_cache_is_known() -> None:
    found = {name: len(calls) for name, tree in sources().items() if (calls := cache_calls(tree))}
    assert found == {name: len(keys) for name, keys in CACHES.items()}


def test_caches_that_clients_fill_have_a_maximum_number_of_entries() -> None:
    unlimited = {
        name
        for name, tree in sources().items()
        for call in cache_calls(tree)
        if call.partition("(")[0] == "cache" or "None" in call
    }
    assert {key for name in unlimited for key in CACHES[name]} <= {Keys.NOTHING, Keys.CHARACTERS}


def test_no_module_has_a_mapping_or_list_that_grows() -> None:
    growing = {
        f"{name}:{statement.lineno}"
        for name, tree in sources().items()
        for statement in tree.body
        if isinstance(statement, ast.Assign | ast.AnnAssign) and is_empty(statement.value)
    }
    assert growing == set()


def is_empty(value: ast.expr | None) -> bool:
    """Return whether a value is an empty mapping, list or set, which only makes sense to be filled."""
    match value:
        case ast.Dict(keys=[]) | ast.List(elts=[]):
            return True
        case ast.Call(func=func, args=[], keywords=[]):
            return ast.unparse(func).partition("[")[0].rpartition(".")[2] in {
                "dict", "list", "set", "OrderedDict", "Counter", "deque", "WeakKeyDictionary",
            }  # fmt: skip
    return False


@pytest.mark.parametrize(
    ("cached", "call"),
    [
        (stemming._cached_stem, lambda word: stemming.stem(word, "fr")),
        (term_index._cached_keys, lambda word: term_index._keys(word, "de", is_noun=True)),
    ],
    ids=["stems", "forms"],
)
def test_words_longer_than_any_word_are_not_cached(
    cached: "_lru_cache_wrapper[Any]", call: Callable[[str], object]
) -> None:
    cached.cache_clear()
    call("Q" * MAX_CACHED_LETTERS)
    call("Q" * (MAX_CACHED_LETTERS + 1))
    assert cached.cache_info().currsize == 1


TRANSACTIONS = frozenset({"reading", "writing", "connect", "begin"})
"""Methods that begin one. A caller that stops early leaves a generator to be closed at any time and on any
thread, perhaps after the database was closed; and until then its transaction stays open."""


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
