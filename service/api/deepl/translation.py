"""Routes that translate texts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from dragoman import DecodingOptions
from dragoman.types import Formality, Splitting
from service.accounts.keys import Caller, Scope
from service.api.deepl import schemas
from service.api.deepl.catalogue import are_variants, base_code
from service.api.deepl.glossary_fields import read_glossary_ids
from service.api.deepl.responses import DeepLRoute, enter
from service.api.readiness import require_ready
from service.api.rejected_texts import name_rejected_texts
from service.api.services import Services
from service.glossaries.terminology import RequestTerms
from service.http.errors import ErrorKind, SafeJSONResponse, field_error
from service.http.fields import Fields
from service.http.file_names import base_name
from service.http.openapi import FORM, JSON, query_parameters, request_of
from service.jobs.job import JobRequest
from service.text.options import MarkupLanguage, MarkupOptions
from service.translation.options import TranslationOptions
from service.translation.request import UNDETERMINED, TranslationRequest, TranslationResult
from service.translation.terms import find_terms
from service.translation.translation_service import TranslationService

LINGER_S = 15.0
"""Seconds for which work continues after its client has disconnected. DeepL's own clients time out after 10 s
and retry up to five times, at most 12.9 s later: 1.6 ** 5 s of back-off, and 23 % of jitter."""
GREEDY = 1
FORMALITIES: dict[str, Formality | None] = {
    "default": None,
    "more": Formality.FORMAL,
    "less": Formality.INFORMAL,
    "prefer_more": Formality.PREFER_FORMAL,
    "prefer_less": Formality.PREFER_INFORMAL,
}
LATENCY = "latency_optimized"
SPLITTINGS = {"0": Splitting.OFF, "1": Splitting.SENTENCES, "nonewlines": Splitting.NO_NEWLINES}
UNSUPPORTED_FIELDS = {
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
    glossary_ids: list[str]
    """Ids of glossaries, the most important first."""
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
    reject_unsupported_fields(fields)
    fields.string("context")  # without effect, but checked as strictly as the others
    fields.boolean("preserve_formatting")
    model_type = fields.one_of("model_type", schemas.MODEL_TYPES)
    tag_handling = fields.one_of("tag_handling", tuple(MarkupLanguage))
    version = fields.one_of("tag_handling_version", schemas.TAG_HANDLING_VERSIONS)
    markup = _markup(fields, None if tag_handling is None else MarkupLanguage(tag_handling))
    translation_request = TranslationRequest(
        texts,
        target=read_target(fields),
        source=read_source(fields),
        options=TranslationOptions(
            DecodingOptions(
                beam_size=GREEDY if model_type == LATENCY else None,
                splitting=_splitting(fields, tag_handling),
                formality=read_formality(fields),
                return_scores=False,
            )
        ),
        markup=markup,
        linger_s=LINGER_S,
    )
    return DeepLParameters(
        translation_request,
        read_glossary_ids(fields),
        shows_billed_characters=fields.boolean("show_billed_characters") or False,
        model_type_used=model_type and model_type.removeprefix("prefer_"),
        tag_handling_version=None if markup is None else version or schemas.TAG_HANDLING_VERSIONS[0],
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
    name = base_name(fields.string("filename") or sent_name)
    glossary_ids = read_glossary_ids(fields)
    return JobRequest(
        name,
        read_source(fields),
        read_target(fields),
        TranslationOptions(DecodingOptions(formality=read_formality(fields), return_scores=False)),
        glossary_id=glossary_ids[0] if len(glossary_ids) == 1 else None,
    )


def read_target(fields: Fields) -> str:
    return fields.required("target_lang", "name the language to translate into")


def read_source(fields: Fields) -> str | None:
    return fields.string("source_lang") or None


def reject_unsupported_fields(fields: Fields) -> None:
    """Raise an ApiError if a field requests what is not supported."""
    for name, problem in UNSUPPORTED_FIELDS.items():
        is_empty = fields.json.get(name) in (None, "", [])  # clients send these for no value
        if name in fields and not (fields.is_json(name) and is_empty):
            raise field_error(name, problem)


def read_formality(fields: Fields) -> Formality | None:
    return FORMALITIES[fields.one_of("formality", tuple(FORMALITIES)) or "default"]


def _splitting(fields: Fields, tag_handling: str | None) -> Splitting:
    requested = fields.one_of("split_sentences", tuple(SPLITTINGS))
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


def translation_routes(services: Services) -> APIRouter:
    """Return the routes: POST, and GET for the oldest clients."""
    router = APIRouter(route_class=DeepLRoute)
    translation_service = services.translation_service
    errors = schemas.errors_of(
        ErrorKind.NOT_FOUND, ErrorKind.QUOTA_EXCEEDED, ErrorKind.NO_ROOM, ErrorKind.TIMEOUT
    )

    documented: dict[str, Any] = {
        "response_model": schemas.DeepLTranslations,
        "response_description": "The translations",
        "responses": errors,
    }

    @router.get(
        "/translate",
        name="translate_got",
        summary="Translate texts in the URL",
        description="Translate as the POST does.",
        openapi_extra=request_of(parameters=query_parameters(schemas.DeepLTranslateRequest)),
        **documented,
    )
    @router.post(
        "/translate",
        name="translate_posted",
        summary="Translate texts",
        openapi_extra=request_of(schemas.DeepLTranslateRequest, [JSON, FORM]),
        **documented,
    )
    async def translate(connection: Request) -> Response:
        """Translate each text on its own, in order; if any cannot be translated, the request fails."""
        require_ready(translation_service.inference)
        caller, fields = await enter(connection, services.authenticator, Scope.TRANSLATE)
        parameters = read_parameters(fields)
        terminology = await find_terms(services.glossaries, caller, parameters.glossary_ids, RequestTerms())
        translation_request = replace(parameters.translation_request, terminology=terminology)
        is_single = len(translation_request.texts) == 1
        with name_rejected_texts(lambda position: "text" if is_single else f"text[{position}]"):
            results = await _translate(translation_service, translation_request, caller)
        return SafeJSONResponse({"translations": present(results, parameters)})

    return router


async def _translate(
    translation_service: TranslationService, translation_request: TranslationRequest, caller: Caller
) -> list[TranslationResult]:
    if are_variants(
        translation_request.source, translation_request.target, translation_service.inference.router.routes
    ):
        return await translation_service.leave_unchanged(translation_request, caller)
    return await translation_service.translate(translation_request, caller)


def present(results: Sequence[TranslationResult], parameters: DeepLParameters) -> list[dict[str, Any]]:
    """Return results in DeepL's form."""
    return [
        _present(result, text, parameters)
        for result, text in zip(results, parameters.translation_request.texts, strict=True)
    ]


def _present(result: TranslationResult, text: str, parameters: DeepLParameters) -> dict[str, Any]:
    # A text without a language, such as digits, is in the target language as well.
    source = result.target if result.source == UNDETERMINED else result.source
    presented: dict[str, Any] = {"detected_source_language": base_code(source), "text": result.text}
    if parameters.shows_billed_characters:
        presented["billed_characters"] = len(text)
    if parameters.model_type_used is not None:
        presented["model_type_used"] = parameters.model_type_used
    if parameters.tag_handling_version is not None:
        presented["tag_handling_version"] = parameters.tag_handling_version
    return presented
