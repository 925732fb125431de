"""The manifest's JSON format."""

import reprlib
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import PurePosixPath
from typing import Any, Literal, TypeVar, get_args

from dragoman.confidence import ConfidenceMap, map_problems
from dragoman.contract import DECODER_FILE, ENCODER_FILE, FORMAT_VERSION, Autoregression, CacheDType
from dragoman.errors import BundleError
from dragoman.json_fields import FieldReader
from dragoman.languages import Languages, SourceLanguage, TargetLanguage
from dragoman.manifest import (
    MANIFEST_FILE,
    AlignmentHeads,
    Controls,
    DecodingDefaults,
    FileRecord,
    FormalityControls,
    Manifest,
    ModelLimits,
    Sizes,
    SpecialIds,
    TermControls,
    TokenizerFiles,
)

AlignmentStep = Literal["reading", "saying"]
"""JSON values of `AlignmentHeads.reads_token`: true, false."""


Counts = TypeVar("Counts", SpecialIds, ModelLimits, TermControls)


CACHE_DTYPES: Mapping[str, CacheDType] = {name: name for name in get_args(CacheDType)}


AUTOREGRESSIONS: Mapping[str, Autoregression] = {name: name for name in get_args(Autoregression)}


ALIGNMENT_STEPS: Mapping[str, AlignmentStep] = {name: name for name in get_args(AlignmentStep)}


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
    reader = _ManifestReader(content)
    manifest = Manifest(
        format_version=reader.take_count("format_version", FORMAT_VERSION),
        name=reader.take_text("name"),
        languages=reader.take_languages("languages"),
        precision=reader.take_text("precision"),
        cache_dtype=reader.take_choice("cache_dtype", CACHE_DTYPES),
        autoregression=reader.take_choice("autoregression", AUTOREGRESSIONS),
        sizes=reader.take_sizes("sizes"),
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
        confidence=reader.take_confidence("confidence"),
        controls=reader.take_controls("controls"),
    )
    problems = reader.finish()
    if not problems:
        problems = _unlisted_files(manifest) + _alignment_problems(manifest)
        problems += _confidence_problems(manifest) + _control_problems(manifest)
    if problems:
        raise BundleError(bundle, tuple(f"{MANIFEST_FILE}: {problem}" for problem in problems))
    return manifest


def to_json_content(manifest: Manifest) -> dict[str, Any]:
    """Return the JSON content that `parse_manifest` reads."""
    content = asdict(manifest)
    alignment = content["alignment"]
    alignment["step"] = "reading" if alignment.pop("reads_token") else "saying"
    if manifest.sizes.width is None:
        del content["sizes"]["width"]
    for field in ("confidence", "controls"):
        if content[field] is None:
            del content[field]
    if manifest.controls is not None:
        content["controls"] = {
            name: control for name, control in content["controls"].items() if control is not None
        }
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


def _confidence_problems(manifest: Manifest) -> list[str]:
    fitted = manifest.confidence
    return [] if fitted is None else [f"confidence.{problem}" for problem in map_problems(fitted)]


def _control_problems(manifest: Manifest) -> list[str]:
    controls = manifest.controls
    if controls is None:
        return []
    ids, specials = controls.ids, set(asdict(manifest.special_ids).values())
    problems = [] if ids else ["controls is empty"]
    problems += [
        f"controls: {piece} is not an id from 0 to {manifest.sizes.source_vocab - 1} without another meaning"
        for piece in ids
        if piece >= manifest.sizes.source_vocab or piece in specials
    ]
    if len(set(ids)) < len(ids):
        problems.append("controls has an id twice")
    if controls.formality is not None:
        targets = controls.formality.targets
        if not targets or len(set(targets)) < len(targets):
            problems.append("controls.formality.targets must have one or more languages, each once")
        problems += [
            f"controls.formality.targets: {code} is no target language of the bundle"
            for code in targets
            if code not in manifest.languages.targets
        ]
    return problems


class _ManifestReader(FieldReader):
    """Takes the fields of a manifest."""

    def take_counts(self, field: str, kind: type[Counts], *, least: int) -> Counts:
        """Take a nested object of counts or ids."""
        with self.nested(field) as inner:
            values = {part.name: inner.take_count(part.name, least) for part in fields(kind)}
        return kind(**values)

    def take_sizes(self, field: str) -> Sizes:
        with self.nested(field) as inner:
            return Sizes(
                decoder_layers=inner.take_count("decoder_layers", 1),
                heads=inner.take_count("heads", 1),
                head_size=inner.take_count("head_size", 1),
                source_vocab=inner.take_count("source_vocab", 1),
                target_vocab=inner.take_count("target_vocab", 1),
                width=inner.take_count("width", 1) if "width" in inner.content else None,
            )

    def take_languages(self, field: str) -> Languages:
        """Take the languages that a bundle translates between."""
        inner = self.inner(field)
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
        with self.nested(field) as inner:
            model = inner.take_text("model")
            vocabulary = None if inner.drop_null("vocabulary") else inner.take_text("vocabulary")
            return TokenizerFiles(model, vocabulary, inner.take_bool("normalises"))

    def take_decoding(self, field: str) -> DecodingDefaults:
        with self.nested(field) as inner:
            beam_size = inner.take_count("beam_size", 1)
            return DecodingDefaults(
                beam_size, inner.take_number("length_penalty"), inner.take_bool("early_stopping")
            )

    def take_alignment(self, field: str) -> AlignmentHeads:
        with self.nested(field) as inner:
            step = inner.take_choice("step", ALIGNMENT_STEPS)
            layer, heads = inner.take_count("layer", 0), inner.take_ids("heads", least=1)
        return AlignmentHeads(layer, heads, reads_token=step == "reading")

    def take_confidence(self, field: str) -> ConfidenceMap | None:
        """Take the calibration of confidences; return None if there is no such field."""
        if field not in self.content:
            return None
        with self.nested(field) as inner:
            return ConfidenceMap(
                intercept=inner.take_number("intercept"),
                logprob=inner.take_number("logprob"),
                source_length=inner.take_number("source_length"),
                shortfall=inner.take_number("shortfall"),
                length_ratio=inner.take_number("length_ratio"),
                min_source_characters=inner.take_count("min_source_characters", 1),
                max_source_characters=inner.take_count("max_source_characters", 1),
            )

    def take_controls(self, field: str) -> Controls | None:
        """Take the controls that the model was trained with; return None if there is no such field."""
        if field not in self.content:
            return None
        with self.nested(field) as inner:
            terms = inner.take_counts("terms", TermControls, least=0) if "terms" in inner.content else None
            formality = inner.take_formality("formality") if "formality" in inner.content else None
            return Controls(terms, formality)

    def take_formality(self, field: str) -> FormalityControls:
        with self.nested(field) as inner:
            return FormalityControls(
                inner.take_count("formal", 0), inner.take_count("informal", 0), inner.take_names("targets")
            )

    def take_files(self, field: str) -> dict[str, FileRecord]:
        entries = self.inner(field)
        records: dict[str, FileRecord] = {}
        for name in tuple(entries.content):
            if not _is_inside_bundle(name):
                self.problems.append(f"{field}: {name!r} does not name a file inside the bundle")
            inner = entries.inner(name)
            records[name] = FileRecord(inner.take_text("sha256"), inner.take_count("size_bytes", 0))
            entries.problems += inner.finish()
        self.problems += entries.finish()
        return records


def _is_inside_bundle(name: str) -> bool:
    path = PurePosixPath(name)
    return bool(path.parts) and "\\" not in name and not path.is_absolute() and ".." not in path.parts
