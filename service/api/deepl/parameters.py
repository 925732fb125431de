"""Parsing of the fields of a translation, of texts or of a document, into a request."""

from dataclasses import dataclass
from typing import Literal, get_args

from dragoman import DecodingOptions
from dragoman.types import Splitting
from service.api.deepl.responses import DeepLError
from service.http.errors import ErrorKind
from service.http.fields import Fields, field_error
from service.jobs.job import JobRequest
from service.jobs.request_fields import base_name
from service.markup.options import MarkupLanguage, MarkupOptions
from service.translation.request import TranslationRequest

LINGER_S = 15.0
"""Seconds for which work continues after its client has disconnected. DeepL's own clients time out after 10 s
and retry up to five times, at most 12.9 s later: 1.6 ** 5 s of back-off, and 23 % of jitter."""
GREEDY = 1
Formality = Literal["default", "more", "less", "prefer_more", "prefer_less"]
FORMALITIES: tuple[Formality, ...] = get_args(Formality)
FORMALITY_NOT_SUPPORTED = "'formality' is not supported for given 'target_lang'."
UNSUPPORTED_FORMALITIES = frozenset({"more", "less"})
ModelType = Literal["quality_optimized", "prefer_quality_optimized", "latency_optimized"]
MODEL_TYPES: tuple[ModelType, ...] = get_args(ModelType)
LATENCY = "latency_optimized"
TagHandlingVersion = Literal["v1", "v2"]
TAG_HANDLING_VERSIONS: tuple[TagHandlingVersion, ...] = get_args(TagHandlingVersion)
SPLITTINGS = {"0": Splitting.OFF, "1": Splitting.SENTENCES, "nonewlines": Splitting.NO_NEWLINES}
GLOSSARIES = "glossaries are not used in translations; send the request without one"
UNSUPPORTED_FIELDS = {
    "glossary_id": GLOSSARIES,
    "glossary_ids": GLOSSARIES,
    "style_id": "styles are not supported; send the request without one",
    "translation_memory_id": "translation memories are not supported; send the request without one",
    "translation_memory_threshold": "translation memories are not supported; send the request without it",
    "custom_instructions": "instructions are not supported; send the request without them",
}
"""Unsupported fields, with the error for each. They would change a translation, so ignoring them is wrong."""


@dataclass(frozen=True, slots=True)
class DeepLParameters:
    """The parsed fields of a request."""

    translation_request: TranslationRequest
    shows_billed_characters: bool
    model_type_used: str | None
    """None if the client requested no type."""
    tag_handling_version: str | None
    """None if the texts have no tags to handle."""


def read_parameters(fields: Fields) -> DeepLParameters:
    """Read the parameters of a translation of texts.

    Unknown fields are ignored, as DeepL itself does: future clients will send fields on their own that it
    does not know today.

    Raises:
        ApiError: a field is missing, has a wrong type or value, or requests what is not supported.
    """
    texts = fields.strings("text")
    if not texts:
        raise field_error("text", "is missing; send one text or more")
    _check_unused(fields)
    model_type = _one_of(fields, "model_type", MODEL_TYPES)
    tag_handling = _one_of(fields, "tag_handling", tuple(MarkupLanguage))
    version = _one_of(fields, "tag_handling_version", TAG_HANDLING_VERSIONS)
    markup = _markup(fields, None if tag_handling is None else MarkupLanguage(tag_handling))
    translation_request = TranslationRequest(
        texts,
        target=read_target(fields),
        source=read_source(fields),
        options=DecodingOptions(
            beam_size=GREEDY if model_type == LATENCY else None,
            splitting=_splitting(fields, tag_handling),
            return_scores=False,
        ),
        markup=markup,
        linger_s=LINGER_S,
    )
    return DeepLParameters(
        translation_request,
        shows_billed_characters=fields.boolean("show_billed_characters") or False,
        model_type_used=model_type and model_type.removeprefix("prefer_"),
        tag_handling_version=None if markup is None else version or TAG_HANDLING_VERSIONS[0],
    )


def read_document_parameters(fields: Fields, sent_name: str) -> JobRequest:
    """Read the parameters of a translation of a document.

    Args:
        fields: all fields, the file excepted.
        sent_name: name of the file unless a field has another.

    Raises:
        ApiError: see `read_parameters`; or the file name cannot be used.
    """
    reject_unsupported_fields(fields)
    _check_formality(fields)
    name = base_name(fields.string("filename") or sent_name)
    return JobRequest(name, read_source(fields), read_target(fields))


def read_target(fields: Fields) -> str:
    target = fields.string("target_lang")
    if not target:
        raise field_error("target_lang", "is missing; name the language to translate into")
    return target


def read_source(fields: Fields) -> str | None:
    return fields.string("source_lang") or None


def reject_unsupported_fields(fields: Fields) -> None:
    """Raise an ApiError if a field requests what is not supported."""
    for name, problem in UNSUPPORTED_FIELDS.items():
        is_empty = fields.json.get(name) in (None, "", [])  # clients send these for no value
        if name in fields and not (fields.is_json(name) and is_empty):
            raise field_error(name, problem)


def _check_unused(fields: Fields) -> None:
    """Check fields that have no effect as strictly as the others."""
    reject_unsupported_fields(fields)
    _check_formality(fields)
    fields.string("context")
    fields.boolean("preserve_formatting")


def _check_formality(fields: Fields) -> None:
    formality = _one_of(fields, "formality", FORMALITIES)
    if formality in UNSUPPORTED_FORMALITIES:
        problem = f"no model supports formality; send prefer_{formality}, or omit the field"
        raise DeepLError(ErrorKind.INVALID_INPUT, FORMALITY_NOT_SUPPORTED, detail=problem)


def _splitting(fields: Fields, tag_handling: str | None) -> Splitting:
    requested = _one_of(fields, "split_sentences", tuple(SPLITTINGS))
    if requested is None:
        return Splitting.NO_NEWLINES if tag_handling == MarkupLanguage.HTML else Splitting.SENTENCES
    return SPLITTINGS[requested]


def _markup(fields: Fields, language: MarkupLanguage | None) -> MarkupOptions | None:
    ignored, splitting, others = (
        _tags(fields, name) for name in ("ignore_tags", "splitting_tags", "non_splitting_tags")
    )
    finds_outline = fields.boolean("outline_detection")
    if language is None:
        return None
    return MarkupOptions(language, ignored, splitting, others, finds_outline is not False)


def _tags(fields: Fields, name: str) -> frozenset[str]:
    """Return names of tags; each string may have several, separated by commas."""
    lists = fields.strings(name) or ()
    return frozenset(tag for each in lists for part in each.split(",") if (tag := part.strip()))


def _one_of(fields: Fields, name: str, allowed: tuple[str, ...]) -> str | None:
    value = fields.string(name)
    if not value:
        return None
    if value not in allowed:
        raise field_error(name, f"must be one of {', '.join(allowed)}")
    return value
