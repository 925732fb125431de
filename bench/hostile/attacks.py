"""Requests of hostile clients as bytes, by kind; random but reproducible."""

import gzip
import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from io import BytesIO
from random import Random
from zipfile import ZIP_DEFLATED, ZipFile

import httpx
import pyarrow as pa
from pyarrow import parquet

from bench.clients import JSON, Post, translation_request
from bench.workloads import SEED

MAX_CHARACTERS = 99_900
"""Length of the longest texts, a little under the default limit of the service."""
HUGE_BYTES = 3 * 2**20
"""Size of a body over the default limit."""
NUM_POSTS = 32
"""Number of requests of a kind; clients draw from them."""
BOUNDARY = "hostile"
MULTIPART = f"multipart/form-data; boundary={BOUNDARY}"
NUM_NAMESPACES = 20_000
NUM_NODES = 500_000
NUM_ROWS, REPEATED_CHARACTERS = 20_000, 5_000
NUM_ENTRIES = 9_000
ALIKE = "Das Kind spielt mit dem Hund im Garten. " * 5
NUM_TERMS, NUM_IMPORTED_PAIRS, NUM_PAIRS, NUM_ENTRIES = 300_000, 40_000, 99_000, 9_900
"""Numbers a little under the limits of a body, of one with a memory, of a memory, and of a glossary."""
NUM_LINES, NUM_GZIP_LINES, NUM_LONG_LINES = 2_000, 500_000, 2_000_000
DEPTH = 2000
BOMB_BYTES = 64 * 2**20
"""Unpacked size of highly compressible content."""


def with_key(request: Post, key: str) -> bytes:
    """Return a request for its own connection, with the key in the style of the path's API."""
    scheme = "DeepL-Auth-Key" if request.path.startswith("/v2/") else "Bearer"
    return request.encode("Connection: close", f"Authorization: {scheme} {key}")


def long_text(random: Random, sentences: list[str]) -> Post:
    """Return a request of about the longest text that is allowed."""
    text = ""
    while len(text) < MAX_CHARACTERS:
        text += random.choice(sentences) + " "
    return translation_request(text[:MAX_CHARACTERS])


def text_without_spaces(random: Random, _sentences: list[str]) -> Post:
    length = random.choice([1000, 10_000, MAX_CHARACTERS])
    return translation_request("".join(random.choices("abcdefghijklmnopqrstuvwxyzäöüß", k=length)))


def ordinary_text(random: Random, sentences: list[str], length: int = 1) -> Post:
    """Return a request for a few sentences."""
    return translation_request(" ".join(random.choices(sentences, k=length)))


def combining_marks(random: Random, _sentences: list[str]) -> Post:
    length = random.choice([1000, 10_000, MAX_CHARACTERS - 1])
    return translation_request("e" + "".join(random.choices("\u0301\u0323\u0308\u0345\u0f74", k=length)))


def lone_surrogate(random: Random, sentences: list[str]) -> Post:
    surrogate = random.choice(["\ud800", "\udfff", "x\udc00y"])
    return translation_request(f"{random.choice(sentences)} {surrogate}")


def bad_json(random: Random, _sentences: list[str]) -> Post:
    """Return JSON that is malformed, deeply nested or too large, or has long numbers or many items."""
    body = random.choice(
        [
            b'{"text": "a"',
            b"[" * 200_000,
            b'{"text": "a", "beam_size": ' + b"9" * 50_000 + b"}",
            b'{"text": "\xff\xfe"}',
            b'{"text": "' + b"a" * HUGE_BYTES + b'"}',
            b'{"text": [' + b'"a",' * 200_000 + b'"a"]}',
            json.dumps({"text": "a"} | {f"field{number}": number for number in range(30_000)}).encode(),
        ]
    )
    return Post(random.choice(["/v1/translate", "/translate", "/v2/translate"]), JSON, body)


def multipart_flood(random: Random, _sentences: list[str]) -> Post:
    """Return a form with thousands of fields or headers, or without an end."""
    field = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="q"\r\n\r\na\r\n'.encode()
    header = f"--{BOUNDARY}\r\n".encode() + b"X-A: b\r\n" * 50_000
    path = random.choice(["/translate", "/translate_file", "/v1/jobs", "/v2/document"])
    return Post(path, MULTIPART, random.choice([field * 10_000, header, b"--" * 100_000, field[:-2]]))


def file_bomb(random: Random, _sentences: list[str]) -> Post:
    """Return a small file that is costly to unpack or parse."""
    name, content = random.choice([*bombs().values()])
    path = random.choice(["/translate_file", "/v2/document", "/v1/jobs"])
    languages = {"source": "de", "target": "en"} if path != "/v2/document" else {"target_lang": "EN"}
    return Post(path, MULTIPART, encode_form(languages, name, content))


def large_unit(random: Random, _sentences: list[str]) -> Post:
    """Return a memory or a glossary whose only unit has millions of nodes."""
    path = random.choice(["/v1/memories", "/v1/glossaries"])
    fields = {"name": "x", "source": "de", "target": "en"}
    return Post(path, MULTIPART, encode_form(fields, *large_files(path)[0]))


@cache
def large_files(path: str) -> Sequence[tuple[str, bytes]]:
    """Return names and contents of files for a path: one unit of millions of nodes, and many units."""
    root, unit, template, count = _UNITS[path]
    units = "".join(map(template.format, range(count)))
    nodes = f"<{root}><{unit}>{'<a/>' * NUM_NODES}</{unit}></{root}>"
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


def large_job(random: Random, sentences: list[str]) -> Post:
    """Return a job of many lines."""
    lines = "\n".join(random.choices(sentences, k=NUM_LINES)).encode()
    return Post("/v1/jobs", MULTIPART, encode_form({"source": "de", "target": "en"}, "a.txt", lines))


def empty_terms(_random: Random, _sentences: list[str]) -> Post:
    """Return a request with as many terms as its body may hold, all of them wrong."""
    return Post("/v1/translate", JSON, b'{"text": "a", "terms": [' + b"{}," * NUM_TERMS + b"{}]}")


def large_memory(random: Random, sentences: list[str]) -> Post:
    """Return a memory of many pairs."""
    return _memory([f"{number} {random.choice(sentences)}" for number in range(NUM_LINES)])


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


@cache
def _long_file() -> bytes:
    return gzip.compress(b"ein Hund rennt\n" * NUM_LONG_LINES, mtime=0)


def long_check(_random: Random, _sentences: list[str]) -> Post:
    """Return a job whose file takes long to check."""
    fields = {"source": "de", "target": "en"}
    return Post("/v1/jobs", MULTIPART, encode_form(fields, "a.txt.gz", _long_file()))


Draw = Callable[[Random, list[str]], Post]
ATTACKS: Mapping[str, Draw] = {
    "long text": long_text,
    "letters without spaces": text_without_spaces,
    "combining marks": combining_marks,
    "lone surrogate": lone_surrogate,
    "bad JSON": bad_json,
    "multipart flood": multipart_flood,
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


def draw_posts(kind: str, sentences: list[str]) -> tuple[Post, ...]:
    """Build the requests of a kind: while clients build them, others would wait for the CPU."""
    if kind in MEMORY_KINDS:
        return (_memory(alike_sources(NUM_IMPORTED_PAIRS)),)
    if kind == GLOSSARY_KIND:
        return (large_glossary(),)
    random, draw = Random(SEED), {**ATTACKS, **_OTHERS}.get(kind)  # noqa: S311 -- a workload, no secret
    return () if draw is None else tuple(draw(random, sentences) for _ in range(NUM_POSTS))


def encode_form(fields: Mapping[str, str], name: str, content: bytes) -> bytes:
    """Encode a form with fields and a file."""
    headers = {"Content-Type": MULTIPART}
    request = httpx.Request("POST", "http://x", headers=headers, data=fields, files={"file": (name, content)})
    return request.read()


@cache
def bombs() -> Mapping[str, tuple[str, bytes]]:
    """Return names and contents of files that are costly to unpack or parse, by what they are."""
    declared = "".join(f' xmlns:n{number}="u{number}"' for number in range(NUM_NAMESPACES))
    nested = "".join(f'<a xmlns:n{number}="u">' for number in range(DEPTH)) + "</a>" * DEPTH
    paragraphs = "<w:p><w:r><w:t>ein Hund</w:t></w:r></w:p>" * NUM_NODES
    return {
        "XLIFF with many namespaces": (
            "a.xliff",
            f"<xliff{declared}>{'<n1:a>' * 100}{'</n1:a>' * 100}</xliff>".encode(),
        ),
        "XLIFF with deep nesting": ("a.xlf", nested.encode()),
        "Word with many namespaces": (
            "a.docx",
            _docx(f"<w:document{declared}>{'<w:p>' * 500}</w:document>".encode()),
        ),
        "Word of spaces": ("a.docx", _docx(b" " * BOMB_BYTES)),
        "Word with many paragraphs": (
            "a.docx",
            _docx(f'<w:document xmlns:w="{_WORD}"><w:body>{paragraphs}</w:body></w:document>'.encode()),
        ),
        "compressed line": ("a.txt.gz", gzip.compress(b"a" * BOMB_BYTES, mtime=0)),
        "compressed lines": ("a.txt.gz", gzip.compress(b"ein Hund\n" * NUM_GZIP_LINES, mtime=0)),
        "PDF of spaces": ("a.pdf", _pdf(b" " * BOMB_BYTES)),
        "PDF with many texts": ("a.pdf", _pdf(b"BT /F 1 Tf (a) Tj ET " * (BOMB_BYTES // 21))),
        "Parquet with repeated texts": ("a.parquet", _parquet()),
    }


def _pdf(contents: bytes) -> bytes:
    """Return a file with one page; it has no table of its objects, which readers then make."""
    packed = zlib.compress(contents, 9)
    page = b"/Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R"
    font = b"/Resources << /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< %s %s >>" % (page, font),
        b"<< /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream" % (len(packed), packed),
    ]
    numbered = b"".join(b"%d 0 obj\n%s\nendobj\n" % (i, one) for i, one in enumerate(objects, 1))
    return b"%PDF-1.7\n" + numbered + b"trailer\n<< /Root 1 0 R /Size 5 >>\n%%EOF\n"


def _parquet() -> bytes:
    """Return a table whose only text, which is stored once, is in every row."""
    target = BytesIO()
    rows = pa.array(["ein Hund " * (REPEATED_CHARACTERS // 9)] * NUM_ROWS).dictionary_encode()
    parquet.write_table(pa.table({"text": rows.cast(pa.string())}), target, compression="zstd")
    return target.getvalue()


_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def _docx(document: bytes) -> bytes:
    types = (
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override '
        'PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.'
        'wordprocessingml.document.main+xml"/></Types>'
    )
    target = BytesIO()
    with ZipFile(target, "w", ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", types)
        archive.writestr("word/document.xml", document)
    return target.getvalue()
