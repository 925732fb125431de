"""Requests of hostile clients as bytes, by kind; random but reproducible."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from random import Random

import httpx

from bench.clients import JSON, Post, translation_request
from bench.hostile.files import LARGE_TITLES, LINES, large_file
from bench.hostile.patterns import BODIES, MULTIPART, repeat
from bench.workloads import SEED

MAX_CHARACTERS = 99_900
"""Length of the longest texts, a little under the default limit of the service."""
LANGUAGES = {"source": "de", "target": "en"}
FILE_PATHS = ("/translate_file", "/v2/document", "/v1/jobs")
NUM_POSTS = 32
"""Number of requests of a kind; clients draw from them."""
NUM_NODES = 500_000
ALIKE = "Das Kind spielt mit dem Hund im Garten. " * 5
NUM_TERMS, NUM_IMPORTED_PAIRS, NUM_PAIRS, NUM_ENTRIES = 300_000, 40_000, 99_000, 9_900
"""Numbers a little under the limits of a body, of one with a memory, of a memory, and of a glossary."""
NUM_LINES = 2_000


def with_key(request: Post, key: str) -> bytes:
    """Return a request for its own connection, with the key in the style of the path's API."""
    scheme = "DeepL-Auth-Key" if request.path.startswith("/v2/") else "Bearer"
    return request.encode("Connection: close", f"Authorization: {scheme} {key}")


@dataclass(frozen=True, slots=True)
class Source:
    """What requests are drawn from."""

    random: Random
    sentences: list[str]
    divisor: int = 1
    """Divides the numbers of characters, repetitions and items: tests send small requests."""

    def number(self, *numbers: int) -> int:
        """Return one of the numbers, divided."""
        return self.random.choice(numbers) // self.divisor


def long_text(source: Source) -> Post:
    """Return a request of about the longest text that is allowed."""
    length = source.number(MAX_CHARACTERS)
    return translation_request(" ".join(source.random.choices(source.sentences, k=length))[:length])


def text_without_spaces(source: Source) -> Post:
    letters = source.random.choices(
        "abcdefghijklmnopqrstuvwxyzäöüß", k=source.number(1000, 10_000, MAX_CHARACTERS)
    )
    return translation_request("".join(letters))


def ordinary_text(source: Source, length: int = 1) -> Post:
    """Return a request for a few sentences."""
    return translation_request(" ".join(source.random.choices(source.sentences, k=length)))


def combining_marks(source: Source) -> Post:
    marks = source.random.choices(
        "\u0301\u0323\u0308\u0345\u0f74", k=source.number(1000, 10_000, MAX_CHARACTERS - 1)
    )
    return translation_request("e" + "".join(marks))


def lone_surrogate(source: Source) -> Post:
    surrogates = source.random.choices(["\ud800", "\udfff", "x\udc00y"], k=1)
    return translation_request(" ".join(source.random.choices(source.sentences, k=1) + surrogates))


def unreadable_body(source: Source, *, is_json: bool) -> Post:
    """Return a body that is malformed, deeply nested or too large, or has many fields, items or headers."""
    content_type, pattern = source.random.choice(
        [body for bodies in BODIES.values() for body in bodies if body[0].startswith(JSON) == is_json]
    )
    path = source.random.choice(["/v1/translate", "/translate", "/v2/translate", *FILE_PATHS])
    content = repeat(pattern, source.number(5_000, 50_000, 200_000))
    return Post(path, content_type, content.encode("latin-1"))


def file_bomb(source: Source) -> Post:
    """Return a small file that is costly to unpack or parse."""
    title, path = source.random.choice(LARGE_TITLES), source.random.choice(FILE_PATHS)
    languages = LANGUAGES if path != "/v2/document" else {"target_lang": "EN"}
    return Post(path, MULTIPART, encode_form(languages, *large_file(title)))


def large_unit(source: Source) -> Post:
    """Return a memory or a glossary whose only unit has millions of nodes."""
    path = source.random.choice(["/v1/memories", "/v1/glossaries"])
    return Post(
        path, MULTIPART, encode_form({"name": "x", **LANGUAGES}, *large_lists(path, source.divisor)[0])
    )


@cache
def large_lists(path: str, divisor: int = 1) -> Sequence[tuple[str, bytes]]:
    """Return names and contents of files for a path: one unit of millions of nodes, and many units."""
    root, unit, template, count = _UNITS[path]
    units = "".join(map(template.format, range(count // divisor)))
    nodes = f"<{root}><{unit}>{'<a/>' * (NUM_NODES // divisor)}</{unit}></{root}>"
    many = f'<{root}><header srclang="de"/><body>{units}</body></{root}>'
    return [(f"a.{root}", content.encode()) for content in (nodes, many)]


_TU = '<tu><tuv xml:lang="de"><seg>Hund {}</seg></tuv><tuv xml:lang="en"><seg>dog</seg></tuv></tu>'
_ENTRY = (
    '<termEntry><langSet xml:lang="de"><tig><term>Hund {}</term></tig></langSet>'
    '<langSet xml:lang="en"><tig><term>dog</term></tig></langSet></termEntry>'
)
_UNITS: Mapping[str, tuple[str, str, str, int]] = {
    "/v1/memories": ("tmx", "tu", _TU, NUM_PAIRS),
    "/v1/glossaries": ("tbx", "termEntry", _ENTRY, NUM_ENTRIES),
}
"""Root, name of a unit, a unit, and a number of units a little under the default limit, by path."""


def large_job(source: Source) -> Post:
    """Return a job of many lines."""
    lines = "\n".join(source.random.choices(source.sentences, k=source.number(NUM_LINES))).encode()
    return Post("/v1/jobs", MULTIPART, encode_form(LANGUAGES, "a.txt", lines))


def empty_terms(source: Source) -> Post:
    """Return a request with as many terms as its body may hold, all of them wrong."""
    terms = b"{}," * source.number(NUM_TERMS)
    return Post("/v1/translate", JSON, b'{"text": "a", "terms": [' + terms + b"{}]}")


def large_memory(source: Source) -> Post:
    """Return a memory of many pairs."""
    sentences = source.random.choices(source.sentences, k=source.number(NUM_LINES))
    return _memory([f"{number} {sentence}" for number, sentence in enumerate(sentences)])


def large_glossary() -> Post:
    """Return a glossary of about as many terms as one may have."""
    entries = [{"source": f"Wort{number}", "target": f"word{number}"} for number in range(NUM_ENTRIES)]
    body = {"name": "x", "dictionaries": [{"source": "de", "target": "en", "entries": entries}]}
    return Post("/v1/glossaries", JSON, json.dumps(body).encode())


def alike_sources(count: int) -> list[str]:
    """Return sources that are similar to each other."""
    return [f"{number} {ALIKE}" for number in range(count)]


def _memory(sources: list[str]) -> Post:
    pairs = [{"source": source, "target": str(number)} for number, source in enumerate(sources)]
    body = {"name": "x", "source": "de", "target": "en", "pairs": pairs}
    return Post("/v1/memories", JSON, json.dumps(body).encode())


def long_check(_source: Source) -> Post:
    """Return a job whose file takes long to check."""
    return Post("/v1/jobs", MULTIPART, encode_form(LANGUAGES, *large_file(LINES)))


Draw = Callable[[Source], Post]
ATTACKS: Mapping[str, Draw] = {
    "long text": long_text,
    "letters without spaces": text_without_spaces,
    "combining marks": combining_marks,
    "lone surrogate": lone_surrogate,
    "bad JSON": partial(unreadable_body, is_json=True),
    "multipart flood": partial(unreadable_body, is_json=False),
    "file bomb": file_bomb,
    "large unit": large_unit,
    "large job": large_job,
    "large memory": large_memory,
    "empty terms": empty_terms,
}
"""Kinds of attacks whose clients send a whole request and wait for the response."""
MEMORY_KINDS = frozenset({"pair into a large memory", "deleting a memory", "leaving a search"})
"""Kinds of attacks on the large memory of their key, which they import again if there is none."""
GLOSSARY_KIND = "glossary in use"
"""Kind of attack with a large glossary, which its clients import."""
_OTHERS: Mapping[str, Draw] = {
    "leaving": partial(ordinary_text, length=20),
    "half a request": ordinary_text,
    "slow reader": partial(ordinary_text, length=50),
    "leaving a check": long_check,
    "wrong key": ordinary_text,
}


def draw_posts(kind: str, sentences: list[str], count: int = NUM_POSTS, divisor: int = 1) -> tuple[Post, ...]:
    """Build the requests of a kind: while clients build them, others would wait for the CPU."""
    if kind in MEMORY_KINDS:
        return (_memory(alike_sources(NUM_IMPORTED_PAIRS)),)
    if kind == GLOSSARY_KIND:
        return (large_glossary(),)
    source = Source(Random(SEED), sentences, divisor)  # noqa: S311 -- a workload, no secret
    draw = {**ATTACKS, **_OTHERS}.get(kind)
    return () if draw is None else tuple(draw(source) for _ in range(count))


def encode_form(fields: Mapping[str, str], name: str, content: bytes) -> bytes:
    """Encode a form with fields and a file."""
    headers = {"Content-Type": MULTIPART}
    request = httpx.Request("POST", "http://x", headers=headers, data=fields, files={"file": (name, content)})
    return request.read()
