"""A bundle: one folder with graphs, tokenizers and the manifest that vouches for them.

docs/bundle-format.md describes the folder for people.
"""

import hashlib
import json
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar, get_args

from dragoman.contract import DECODER_FILE, ENCODER_FILE, FORMAT_VERSION, CacheDType
from dragoman.errors import BundleError

MANIFEST_FILE = "manifest.json"
MAX_MANIFEST_BYTES = 4 * 2**20


@dataclass(frozen=True, slots=True)
class FileRecord:
    """What a file must be to be trusted."""

    sha256: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Sizes:
    """The graphs' fixed dimensions."""

    decoder_layers: int
    heads: int
    head_size: int
    source_vocab: int
    target_vocab: int


@dataclass(frozen=True, slots=True)
class SpecialIds:
    """Ids with a meaning of their own, in the source's and the target's vocabulary alike."""

    pad: int
    unk: int
    bos: int
    """Begins every target."""
    eos: int
    """Ends every source and target."""


@dataclass(frozen=True, slots=True)
class Limits:
    """In tokens of one segment, the end-of-sentence id included."""

    max_source_tokens: int
    max_target_tokens: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """Facts about a model."""

    format_version: int
    name: str
    source_language: str
    target_language: str
    precision: str
    cache_dtype: CacheDType
    """Of the decoder's self K/V."""
    sizes: Sizes
    special_ids: SpecialIds
    limits: Limits
    source_tokenizer: str
    target_tokenizer: str
    files: Mapping[str, FileRecord]
    """By path inside the bundle, with forward slashes; the manifest itself is not among them."""
    licence: str
    origin: Mapping[str, Any]
    """Where the weights come from: data, steps, time, tools."""
    scores: Mapping[str, Any]
    """Measured quality, by test set."""


T = TypeVar("T")
Counts = TypeVar("Counts", Sizes, SpecialIds, Limits)

JSON_TYPES: Mapping[type, str] = {
    dict: "an object",
    list: "an array",
    str: "a string",
    int: "an integer",
    float: "a number with a fraction",
    bool: "true or false",
    type(None): "null",
}
"""What JSON calls the types that Python reads it as."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """A folder whose manifest was read."""

    path: Path
    manifest: Manifest

    def file(self, name: str) -> Path:
        return self.path / name


def open_bundle(path: Path) -> Bundle:
    """Read the manifest and verify every file's presence, size and sha256.

    Raises:
        BundleError: with all problems found.
    """
    bundle = read_bundle(path)
    if problems := verify_files(bundle):
        raise BundleError(str(path), tuple(problems))
    return bundle


def read_bundle(path: Path) -> Bundle:
    """Read the manifest only; `verify_files` checks what it vouches for.

    Raises:
        BundleError: no manifest, or one that cannot be understood.
    """
    encoded = _read_manifest(path)
    try:
        content = _parse_json(encoded)
    except (ValueError, RecursionError) as error:
        raise BundleError(str(path), (f"{MANIFEST_FILE} is not JSON: {error}",)) from error
    return Bundle(path, parse_manifest(content, str(path)))


def parse_manifest(content: object, bundle: str) -> Manifest:
    """Check a manifest's version first, then every field.

    Raises:
        BundleError: with every missing, unknown or ill-typed field.
    """
    if not isinstance(content, dict):
        raise BundleError(bundle, (f"{MANIFEST_FILE} is not a JSON object",))
    if (version := content.get("format_version")) != FORMAT_VERSION:
        problem = (
            f"{MANIFEST_FILE}: format_version is {reprlib.repr(version)}, this engine reads"
            f" {FORMAT_VERSION}; use a matching release of Dragoman, or export the model again"
        )
        raise BundleError(bundle, (problem,))
    reader = _Reader(content)
    manifest = Manifest(
        format_version=reader.take_count("format_version", FORMAT_VERSION),
        name=reader.take_text("name"),
        source_language=reader.take_text("source_language"),
        target_language=reader.take_text("target_language"),
        precision=reader.take_text("precision"),
        cache_dtype=reader.take_cache_dtype("cache_dtype"),
        sizes=reader.take_counts("sizes", Sizes, least=1),
        special_ids=reader.take_counts("special_ids", SpecialIds, least=0),
        limits=reader.take_counts("limits", Limits, least=1),
        source_tokenizer=reader.take_text("source_tokenizer"),
        target_tokenizer=reader.take_text("target_tokenizer"),
        files=reader.take_files("files"),
        licence=reader.take_text("licence"),
        origin=reader.take_object("origin"),
        scores=reader.take_object("scores"),
    )
    problems = reader.finish()
    if not problems:
        problems = _unlisted(manifest)
    if problems:
        raise BundleError(bundle, tuple(f"{MANIFEST_FILE}: {problem}" for problem in problems))
    return manifest


def verify_files(bundle: Bundle) -> list[str]:
    """Every listed file that is missing, of another size or of another content; empty when all is well."""
    return [
        problem
        for name, record in bundle.manifest.files.items()
        if (problem := _verify_file(bundle.file(name), name, record)) is not None
    ]


def sha256_of(path: Path) -> str:
    """Hex digest of a file's content, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _verify_file(path: Path, name: str, record: FileRecord) -> str | None:
    """What is wrong with a file. A link is followed: content is vouched for, not where it lies."""
    try:
        if not path.is_file():
            return f"{name} is missing"
        if (size_bytes := path.stat().st_size) != record.size_bytes:
            return f"{name} has {size_bytes} bytes, the manifest says {record.size_bytes}"
        if sha256_of(path) != record.sha256:
            return f"{name} is damaged: its sha256 is not the manifest's"
    except OSError as error:
        return f"{name} cannot be read: {error.strerror}"
    return None


def _read_manifest(path: Path) -> bytes:
    manifest_path = path / MANIFEST_FILE
    encoded = None
    try:
        if manifest_path.is_file():
            with manifest_path.open("rb") as file:
                encoded = file.read(MAX_MANIFEST_BYTES + 1)
    except OSError as error:
        raise BundleError(str(path), (f"{MANIFEST_FILE} cannot be read: {error.strerror}",)) from error
    if encoded is None:
        raise BundleError(str(path), (f"{MANIFEST_FILE} is missing",))
    if len(encoded) > MAX_MANIFEST_BYTES:
        raise BundleError(str(path), (f"{MANIFEST_FILE} has more than {MAX_MANIFEST_BYTES} bytes",))
    return encoded


def _parse_json(encoded: bytes) -> object:
    """Parse, and refuse what Python reads as JSON but cannot be sent on as such.

    Raises:
        ValueError: not JSON; NaN, an infinity, half a surrogate pair.
        RecursionError: nested too deeply.
    """
    content: object = json.loads(encoded)
    json.dumps(content, ensure_ascii=False, allow_nan=False).encode()
    return content


def _unlisted(manifest: Manifest) -> list[str]:
    needed = {ENCODER_FILE, DECODER_FILE, manifest.source_tokenizer, manifest.target_tokenizer}
    return [f"files: {name} is not listed" for name in sorted(needed - manifest.files.keys())]


class _Reader:
    """Takes fields out of a JSON object and collects what is wrong with them."""

    def __init__(self, content: dict[str, Any], prefix: str = "") -> None:
        self.content = dict(content)
        self.prefix = prefix
        self.problems: list[str] = []

    def take_text(self, field: str) -> str:
        return self._take(field, "")

    def take_cache_dtype(self, field: str) -> CacheDType:
        name = self.take_text(field)
        known: dict[str, CacheDType] = {known: known for known in get_args(CacheDType)}
        if name and name not in known:
            self.problems.append(f"{self.prefix}{field} must be one of {', '.join(known)}, not {name!r}")
        return known.get(name, "float32")

    def take_object(self, field: str) -> dict[str, Any]:
        empty: dict[str, Any] = {}
        return self._take(field, empty)

    def take_count(self, field: str, least: int) -> int:
        """A number of something, or an id."""
        count = self._take(field, least)
        if count < least:
            self.problems.append(f"{self.prefix}{field} is {count}, must be at least {least}")
        return count

    def take_counts(self, field: str, kind: type[Counts], *, least: int) -> Counts:
        """A nested object of counts or ids."""
        inner = _Reader(self.take_object(field), f"{self.prefix}{field}.")
        values = {part.name: inner.take_count(part.name, least) for part in fields(kind)}
        self.problems += inner.finish()
        return kind(**values)

    def take_files(self, field: str) -> dict[str, FileRecord]:
        entries = _Reader(self.take_object(field), f"{field}.")
        records: dict[str, FileRecord] = {}
        for name in tuple(entries.content):
            if not _stays_inside(name):
                self.problems.append(f"{field}: {name!r} does not name a file inside the bundle")
            inner = _Reader(entries.take_object(name), f"{field}.{name}.")
            records[name] = FileRecord(inner.take_text("sha256"), inner.take_count("size_bytes", 0))
            entries.problems += inner.finish()
        self.problems += entries.finish()
        return records

    def finish(self) -> list[str]:
        """All problems, unknown fields among them."""
        return self.problems + [f"{self.prefix}{field} is not a known field" for field in self.content]

    def _take(self, field: str, stand_in: T) -> T:
        """The field's value; `stand_in`, with a problem noted, where it is missing or of another type."""
        if field not in self.content:
            self.problems.append(f"{self.prefix}{field} is missing")
            return stand_in
        value: T = self.content.pop(field)
        if type(value) is not type(stand_in):  # not isinstance: true is no integer here
            wanted = JSON_TYPES[type(stand_in)]
            found = JSON_TYPES.get(type(value), type(value).__name__)
            self.problems.append(f"{self.prefix}{field} must be {wanted}, not {found}")
            return stand_in
        return value


def _stays_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return bool(path.parts) and "\\" not in name and not path.is_absolute() and ".." not in path.parts
