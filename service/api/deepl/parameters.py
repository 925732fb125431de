"""Fields of a translation, of texts and of documents alike, as an order for the desk."""

from dataclasses import dataclass

from dragoman import DecodingOptions
from dragoman.types import Splitting
from service.api.deepl.responses import WordedError
from service.http.errors import ErrorKind
from service.http.fields import Fields, field_error
from service.jobs.job import JobRequest
from service.jobs.request_fields import own_name
from service.markup.options import MarkupLanguage, MarkupOptions
from service.translation.request import TranslationRequest

LINGER_S = 15.0
"""How long the work of a client that left goes on. DeepL's own clients give up after 10 s, and come again up
to five times, 12.9 s later at the latest: 1.6 ** 5 s of back-off, and 23 % of jitter."""
GREEDY = 1
FORMALITIES = ("default", "more", "less", "prefer_more", "prefer_less")
NO_FORMALITY = "'formality' is not supported for given 'target_lang'."
FORMAL_ONLY = frozenset({"more", "less"})
MODEL_TYPES = ("quality_optimized", "prefer_quality_optimized", "latency_optimized")
LATENCY = "latency_optimized"
TAG_HANDLING_VERSIONS = ("v1", "v2")
SPLITTINGS = {"0": Splitting.OFF, "1": Splitting.SENTENCES, "nonewlines": Splitting.NO_NEWLINES}
GLOSSARIES = "glossaries are not used in translations here; send the request without one"
UNSERVED = {
    "glossary_id": GLOSSARIES,
    "glossary_ids": GLOSSARIES,
    "style_id": "there are no styles here; send the request without one",
    "translation_memory_id": "there are no translation memories here; send the request without one",
    "translation_memory_threshold": "there are no translation memories here; send the request without it",
    "custom_instructions": "the models here follow no instructions; send the request without them",
}
"""Wishes that would change a translation and cannot be met: an answer without them would be a wrong one."""


@dataclass(frozen=True, slots=True)
class DeepLParameters:
    """A request as it was understood."""

    translation_request: TranslationRequest
    shows_billed_characters: bool
    model_type_used: str | None
    """None where the client did not ask for a type."""
    tag_handling_version: str | None
    """None where there are no tags to handle."""


def read_parameters(fields: Fields) -> DeepLParameters:
    """What a client wants of texts.

    Fields of other names are passed over, as DeepL itself does: its clients of tomorrow send by themselves
    what it does not know today.

    Raises:
        ApiError: a field is missing, has a wrong type or value, or wants what is not served.
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
    """What a client wants of a document.

    Args:
        fields: all but the file.
        sent_name: what the file is called where no field says otherwise.

    Raises:
        ApiError: as `read_parameters`, or its name cannot be one.
    """
    refuse_unserved(fields)
    _check_formality(fields)
    name = own_name(fields.string("filename") or sent_name)
    return JobRequest(name, read_source(fields), read_target(fields))


def read_target(fields: Fields) -> str:
    target = fields.string("target_lang")
    if not target:
        raise field_error("target_lang", "is missing; say which language to translate into")
    return target


def read_source(fields: Fields) -> str | None:
    return fields.string("source_lang") or None


def refuse_unserved(fields: Fields) -> None:
    """Raise an ApiError for a wish that cannot be met."""
    for name, problem in UNSERVED.items():
        is_empty = fields.json.get(name) in (None, "", [])  # so do clients write that they have none
        if name in fields and not (fields.is_json(name) and is_empty):
            raise field_error(name, problem)


def _check_unused(fields: Fields) -> None:
    """What changes nothing is checked all the same."""
    refuse_unserved(fields)
    _check_formality(fields)
    fields.string("context")
    fields.boolean("preserve_formatting")


def _check_formality(fields: Fields) -> None:
    formality = _one_of(fields, "formality", FORMALITIES)
    if formality in FORMAL_ONLY:
        problem = (
            f"no model here tells {formality} formal from other language; send prefer_{formality}, or none"
        )
        raise WordedError(ErrorKind.INVALID_INPUT, NO_FORMALITY, detail=problem)


def _splitting(fields: Fields, tag_handling: str | None) -> Splitting:
    asked = _one_of(fields, "split_sentences", tuple(SPLITTINGS))
    if asked is None:
        return Splitting.NO_NEWLINES if tag_handling == MarkupLanguage.HTML else Splitting.SENTENCES
    return SPLITTINGS[asked]


def _markup(fields: Fields, language: MarkupLanguage | None) -> MarkupOptions | None:
    ignored, splitting, others = (
        _tags(fields, name) for name in ("ignore_tags", "splitting_tags", "non_splitting_tags")
    )
    finds_outline = fields.boolean("outline_detection")
    if language is None:
        return None
    return MarkupOptions(language, ignored, splitting, others, finds_outline is not False)


def _tags(fields: Fields, name: str) -> frozenset[str]:
    """Names, of which each string may have several with commas between."""
    lists = fields.strings(name) or ()
    return frozenset(tag for each in lists for part in each.split(",") if (tag := part.strip()))


def _one_of(fields: Fields, name: str, known: tuple[str, ...]) -> str | None:
    value = fields.string(name)
    if not value:
        return None
    if value not in known:
        raise field_error(name, f"must be one of {', '.join(known)}")
    return value
