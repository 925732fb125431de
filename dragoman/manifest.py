"""The manifest of a bundle: facts about a model, and their JSON format.

docs/reference/bundle-format.md describes every field for people.
"""

import reprlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import PurePosixPath
from typing import Any, Literal, TypeVar, get_args

from dragoman.contract import DECODER_FILE, ENCODER_FILE, FORMAT_VERSION, Autoregression, CacheDType
from dragoman.errors import BundleError
from dragoman.languages import Languages, SourceLanguage, TargetLanguage

MANIFEST_FILE = "manifest.json"


@dataclass(frozen=True, slots=True)
class FileRecord:
    """Expected content of a file."""

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
    """Ids with a special meaning, the same in the source's and the target's vocabulary."""

    pad: int
    unk: int
    eos: int
    """Ends every target, and is part of every source."""


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """Maximum tokens of a segment, including its languages' own ids and the end-of-sentence id."""

    max_source_tokens: int
    max_target_tokens: int


@dataclass(frozen=True, slots=True)
class TokenizerFiles:
    """Files and settings that turn text into ids."""

    model: str
    """A SentencePiece model in the bundle."""
    vocabulary: str | None
    """A JSON list of pieces in the order of the graphs' ids; None if these are SentencePiece's own."""
    normalises: bool
    """Whether to normalise a segment (`dragoman.text.normalization`) before SentencePiece reads it."""

    @property
    def files(self) -> tuple[str, ...]:
        return (self.model,) if self.vocabulary is None else (self.model, self.vocabulary)


@dataclass(frozen=True, slots=True)
class DecodingDefaults:
    """The model's search defaults; see `DecodingOptions`."""

    beam_size: int = 4
    length_penalty: float = 1.0
    early_stopping: bool = False


@dataclass(frozen=True, slots=True)
class AlignmentHeads:
    """Attention heads that show which source tokens a target token translates."""

    layer: int
    """Decoder layer; 0 is the first."""
    heads: tuple[int, ...]
    """Heads whose weights are averaged."""
    reads_token: bool
    """Whether to use the step that reads the token; if not, the step before, which predicts it."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """Facts about a model."""

    format_version: int
    name: str
    languages: Languages
    precision: str
    cache_dtype: CacheDType
    """Dtype of cross K/V, and of self K/V if there are any."""
    autoregression: Autoregression
    """How a decoder layer reads its own past."""
    sizes: Sizes
    special_ids: SpecialIds
    limits: ModelLimits
    source_tokenizer: TokenizerFiles
    target_tokenizer: TokenizerFiles
    decoding: DecodingDefaults
    alignment: AlignmentHeads
    files: Mapping[str, FileRecord]
    """By path inside the bundle, with forward slashes; without the manifest itself."""
    licence: str
    origin: Mapping[str, Any]
    """Origin of the weights: data, steps, time, tools."""
    scores: Mapping[str, Any]
    """Measured quality, by test set."""


AlignmentStep = Literal["reading", "saying"]
"""JSON values of `AlignmentHeads.reads_token`: true, false."""

T = TypeVar("T")
Counts = TypeVar("Counts", Sizes, SpecialIds, ModelLimits)
Choice = TypeVar("Choice", CacheDType, Autoregression, AlignmentStep)

CACHE_DTYPES: Mapping[str, CacheDType] = {name: name for name in get_args(CacheDType)}
AUTOREGRESSIONS: Mapping[str, Autoregression] = {name: name for name in get_args(Autoregression)}
ALIGNMENT_STEPS: Mapping[str, AlignmentStep] = {name: name for name in get_args(AlignmentStep)}

JSON_TYPES: Mapping[type, str] = {
    dict: "an object",
    list: "an array",
    str: "a string",
    int: "an integer",
    float: "a number with a fraction",
    bool: "true or false",
    type(None): "null",
}
"""JSON's names for Python types."""


def parse_manifest(content: object, bundle: str) -> Manifest:
    """Check a manifest's version first, then every field.

    Raises:
        BundleError: lists every field that is missing, unknown or of the wrong type.
    """
    if not isinstance(content, dict):
        raise BundleError(bundle, (f"{MANIFEST_FILE} is not a JSON object",))
    if (version := content.get("format_version")) != FORMAT_VERSION:
        problem = (
            f"{MANIFEST_FILE}: format_version is {reprlib.repr(version)}, but this engine reads"
            f" {FORMAT_VERSION}; use a matching release of Dragoman, or export the model again"
        )
        raise BundleError(bundle, (problem,))
    reader = _FieldReader(content)
    manifest = Manifest(
        format_version=reader.take_count("format_version", FORMAT_VERSION),
        name=reader.take_text("name"),
        languages=reader.take_languages("languages"),
        precision=reader.take_text("precision"),
        cache_dtype=reader.take_choice("cache_dtype", CACHE_DTYPES),
        autoregression=reader.take_choice("autoregression", AUTOREGRESSIONS),
        sizes=reader.take_counts("sizes", Sizes, least=1),
        special_ids=reader.take_counts("special_ids", SpecialIds, least=0),
        limits=reader.take_counts("limits", ModelLimits, least=1),
        source_tokenizer=reader.take_tokenizer("source_tokenizer"),
        target_tokenizer=reader.take_tokenizer("target_tokenizer"),
        decoding=reader.take_decoding("decoding"),
        alignment=reader.take_alignment("alignment"),
        files=reader.take_files("files"),
        licence=reader.take_text("licence"),
        origin=reader.take_object("origin"),
        scores=reader.take_object("scores"),
    )
    problems = reader.finish()
    if not problems:
        problems = _unlisted_files(manifest) + _alignment_problems(manifest)
    if problems:
        raise BundleError(bundle, tuple(f"{MANIFEST_FILE}: {problem}" for problem in problems))
    return manifest


def to_json_content(manifest: Manifest) -> dict[str, Any]:
    """Return the JSON content that `parse_manifest` reads."""
    content = asdict(manifest)
    alignment = content["alignment"]
    alignment["step"] = "reading" if alignment.pop("reads_token") else "saying"
    return content


def _unlisted_files(manifest: Manifest) -> list[str]:
    tokenizers = (*manifest.source_tokenizer.files, *manifest.target_tokenizer.files)
    needed = {ENCODER_FILE, DECODER_FILE, *tokenizers}
    return [f"files: {name} is not listed" for name in sorted(needed - manifest.files.keys())]


def _alignment_problems(manifest: Manifest) -> list[str]:
    sizes, alignment = manifest.sizes, manifest.alignment
    problems = []
    if alignment.layer >= sizes.decoder_layers:
        problems.append(
            f"alignment.layer is {alignment.layer}, but must be from 0 to {sizes.decoder_layers - 1}"
        )
    problems += [
        f"alignment.heads: {head} is not a head from 0 to {sizes.heads - 1}"
        for head in alignment.heads
        if head >= sizes.heads
    ]
    if len(set(alignment.heads)) < len(alignment.heads):
        problems.append("alignment.heads names a head twice")
    return problems


class _FieldReader:
    """Takes fields out of a JSON object and collects the problems."""

    def __init__(self, content: dict[str, Any], prefix: str = "") -> None:
        self.content = dict(content)
        self.prefix = prefix
        self.problems: list[str] = []

    def take_text(self, field: str) -> str:
        return self._take(field, "")

    def take_choice(self, field: str, choices: Mapping[str, Choice]) -> Choice:
        """Take one of several names."""
        name = self.take_text(field)
        if name in choices:
            return choices[name]
        if name:
            self.problems.append(f"{self.prefix}{field} must be one of {', '.join(choices)}, not {name!r}")
        return next(iter(choices.values()))

    def take_object(self, field: str) -> dict[str, Any]:
        empty: dict[str, Any] = {}
        return self._take(field, empty)

    def take_count(self, field: str, least: int) -> int:
        """Take a count or an id."""
        count = self._take(field, least)
        if count < least:
            self.problems.append(f"{self.prefix}{field} is {count}, but must be at least {least}")
        return count

    def take_counts(self, field: str, kind: type[Counts], *, least: int) -> Counts:
        """Take a nested object of counts or ids."""
        inner = _FieldReader(self.take_object(field), f"{self.prefix}{field}.")
        values = {part.name: inner.take_count(part.name, least) for part in fields(kind)}
        self.problems += inner.finish()
        return kind(**values)

    def take_languages(self, field: str) -> Languages:
        """Take the languages that a bundle translates between."""
        inner = _FieldReader(self.take_object(field), f"{self.prefix}{field}.")
        sources, targets = inner.take_entries("sources"), inner.take_entries("targets")
        languages = Languages(
            {
                code: SourceLanguage(one.take_names("names"), one.take_ids("before"), one.take_ids("after"))
                for code, one in sources.items()
            },
            {
                code: TargetLanguage(
                    one.take_names("names"), one.take_ids("source_before"), one.take_ids("begin", least=1)
                )
                for code, one in targets.items()
            },
        )
        for one in (*sources.values(), *targets.values()):
            inner.problems += one.finish()
        self.problems += inner.finish()
        return languages

    def take_tokenizer(self, field: str) -> TokenizerFiles:
        inner = _FieldReader(self.take_object(field), f"{self.prefix}{field}.")
        model = inner.take_text("model")
        vocabulary = None if inner.drop_null("vocabulary") else inner.take_text("vocabulary")
        files = TokenizerFiles(model, vocabulary, inner.take_bool("normalises"))
        self.problems += inner.finish()
        return files

    def take_decoding(self, field: str) -> DecodingDefaults:
        inner = _FieldReader(self.take_object(field), f"{self.prefix}{field}.")
        beam_size = inner.take_count("beam_size", 1)
        defaults = DecodingDefaults(
            beam_size, inner.take_number("length_penalty"), inner.take_bool("early_stopping")
        )
        self.problems += inner.finish()
        return defaults

    def take_alignment(self, field: str) -> AlignmentHeads:
        inner = _FieldReader(self.take_object(field), f"{self.prefix}{field}.")
        step = inner.take_choice("step", ALIGNMENT_STEPS)
        alignment = AlignmentHeads(
            inner.take_count("layer", 0), inner.take_ids("heads", least=1), reads_token=step == "reading"
        )
        self.problems += inner.finish()
        return alignment

    def take_entries(self, field: str) -> "dict[str, _FieldReader]":
        """Take a nested object of objects; return a reader for each name, at least one."""
        inner = _FieldReader(self.take_object(field), f"{self.prefix}{field}.")
        if not inner.content and not self.problems:
            self.problems.append(f"{self.prefix}{field} is empty")
        entries = {
            name: _FieldReader(inner.take_object(name), f"{inner.prefix}{name}.")
            for name in tuple(inner.content)
        }
        self.problems += inner.finish()
        return entries

    def take_names(self, field: str) -> tuple[str, ...]:
        return self._take_list(field, "")

    def take_ids(self, field: str, least: int = 0) -> tuple[int, ...]:
        """Take token ids, at least `least` of them."""
        ids = self._take_list(field, 0)
        if len(ids) < least or any(one < 0 for one in ids):
            self.problems.append(f"{self.prefix}{field} must have {least} or more ids, all at least 0")
        return ids

    def take_bool(self, field: str) -> bool:
        return self._take(field, False)  # noqa: FBT003 -- a default value

    def take_number(self, field: str) -> float:
        """Take a number, which JSON may write without a fraction: 1 for 1.0."""
        if type(self.content.get(field)) is int:
            return float(self._take(field, 0))
        return self._take(field, 0.0)

    def drop_null(self, field: str) -> bool:
        """Take the field if it is null; return whether it is."""
        is_null = field in self.content and self.content[field] is None
        if is_null:
            del self.content[field]
        return is_null

    def take_files(self, field: str) -> dict[str, FileRecord]:
        entries = _FieldReader(self.take_object(field), f"{field}.")
        records: dict[str, FileRecord] = {}
        for name in tuple(entries.content):
            if not _is_inside_bundle(name):
                self.problems.append(f"{field}: {name!r} does not name a file inside the bundle")
            inner = _FieldReader(entries.take_object(name), f"{field}.{name}.")
            records[name] = FileRecord(inner.take_text("sha256"), inner.take_count("size_bytes", 0))
            entries.problems += inner.finish()
        self.problems += entries.finish()
        return records

    def _take_list(self, field: str, kind: T) -> tuple[T, ...]:
        """Take a list whose items have the type of `kind`."""
        none: list[T] = []
        items = self._take(field, none)
        if any(type(item) is not type(kind) for item in items):
            self.problems.append(f"{self.prefix}{field}: every item must be {JSON_TYPES[type(kind)]}")
            return ()
        return tuple(items)

    def finish(self) -> list[str]:
        """Return all problems, including unknown fields."""
        return self.problems + [f"{self.prefix}{field} is not a known field" for field in self.content]

    def _take(self, field: str, default: T) -> T:
        """Take a field's value; note a problem and return `default` if it is missing or of another type."""
        if field not in self.content:
            self.problems.append(f"{self.prefix}{field} is missing")
            return default
        value: T = self.content.pop(field)
        if type(value) is not type(default):  # not isinstance: true must not pass as an integer
            wanted = JSON_TYPES[type(default)]
            found = JSON_TYPES.get(type(value), type(value).__name__)
            self.problems.append(f"{self.prefix}{field} must be {wanted}, not {found}")
            return default
        return value


def _is_inside_bundle(name: str) -> bool:
    path = PurePosixPath(name)
    return bool(path.parts) and "\\" not in name and not path.is_absolute() and ".." not in path.parts
