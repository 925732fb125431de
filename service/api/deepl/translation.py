"""Routes that translate texts."""

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request

from dragoman import DecodingOptions
from dragoman.types import Formality, Splitting
from service.accounts.keys import Caller, Scope
from service.api.deepl import schemas
from service.api.deepl.access import enter
from service.api.deepl.glossary_fields import read_glossary_ids, read_names
from service.api.deepl.languages import are_variants, base_code
from service.api.deepl.responses import ROOT, read_id
from service.api.readiness import require_ready
from service.api.rejected_texts import name_rejected_texts
from service.api.services import Services
from service.glossaries.terminology import RequestTerminology, RequestTerms
from service.http.errors import ErrorKind, SafeJSONResponse, field_error
from service.http.fields import Fields
from service.http.file_names import base_name
from service.http.openapi import describe_route, get_and_post
from service.http.validation import listed
from service.jobs.job import JobRequest
from service.text.options import MarkupLanguage, MarkupOptions
from service.translation.memory import MAX_THRESHOLD, MemoryUse, apply_memory
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
    "custom_instructions": "instructions are not supported; send the request without them",
}
"""Unsupported fields, with the error for each. They would change a translation, so ignoring them is wrong."""


def read_request(
    sent: schemas.DeepLTranslateRequest, terminology: RequestTerminology | None
) -> TranslationRequest:
    """Return the request to translate texts; raise an ApiError if there are none."""
    if sent.text == []:
        raise field_error("text", "is missing; send one text or more")
    return TranslationRequest(
        tuple(listed(sent.text)),
        target=sent.target_lang,
        source=sent.source_lang or None,
        options=TranslationOptions(
            DecodingOptions(
                beam_size=GREEDY if sent.model_type == LATENCY else None,
                context=sent.context,
                splitting=_splitting(sent),
                formality=FORMALITIES[sent.formality],
                return_scores=False,
            )
        ),
        markup=_markup(sent),
        terminology=terminology,
        linger_s=LINGER_S,
    )


def read_document_parameters(sent: schemas.UploadDocumentForm) -> JobRequest:
    """Return the parameters of a translation of a document.

    Raises:
        ApiError: the file name cannot be used, or there are too many glossaries.
    """
    glossary_ids = read_glossary_ids(sent)
    return JobRequest(
        base_name(sent.filename or sent.file.name),
        sent.source_lang or None,
        sent.target_lang,
        TranslationOptions(DecodingOptions(formality=FORMALITIES[sent.formality], return_scores=False)),
        glossary_id=glossary_ids[0] if len(glossary_ids) == 1 else None,
        memory_id=read_memory_id(sent),
        memory_threshold=sent.translation_memory_threshold / MAX_THRESHOLD,
    )


def read_memory_id(sent: schemas.TranslationOptionsIn) -> str | None:
    """Return the id of the translation memory to use; None without one. Raises an ApiError if malformed."""
    memory_id = sent.translation_memory_id
    return read_id(memory_id, "translation_memory_id") if memory_id else None


def reject_unsupported_fields(fields: Fields) -> None:
    """Raise an ApiError if a field requests what is not supported; clients send these empty too."""
    for name, problem in UNSUPPORTED_FIELDS.items():
        if name in fields.form or fields.json.get(name) not in (None, "", []):
            raise field_error(name, problem)


def _splitting(sent: schemas.DeepLTranslateRequest) -> Splitting:
    if sent.split_sentences is None:
        return Splitting.NO_NEWLINES if sent.tag_handling is MarkupLanguage.HTML else Splitting.SENTENCES
    return SPLITTINGS[sent.split_sentences]


def _markup(sent: schemas.DeepLTranslateRequest) -> MarkupOptions | None:
    if sent.tag_handling is None:
        return None
    lists = (sent.ignore_tags, sent.splitting_tags, sent.non_splitting_tags)
    ignored, splitting, others = (frozenset(read_names(each)) for each in lists)
    return MarkupOptions(sent.tag_handling, ignored, splitting, others, sent.outline_detection)


def add_translation(router: APIRouter, services: Services) -> None:
    """Add the routes: POST, and GET for the oldest clients."""
    translation_service = services.translation_service
    errors = (ErrorKind.NOT_FOUND, ErrorKind.QUOTA_EXCEEDED, ErrorKind.NO_ROOM, ErrorKind.TIMEOUT)

    @get_and_post(
        router,
        f"{ROOT}/translate",
        ("translate_got", "translate_posted"),
        schemas.DeepLTranslateRequest,
        describe_route(
            "Translate texts", "The translations", schemas.DeepLTranslations, schemas.errors_of(*errors)
        ),
    )
    async def translate(connection: Request) -> SafeJSONResponse:
        """Translate each text on its own, in order; if any cannot be translated, the request fails."""
        require_ready(translation_service.inference)
        caller, fields = await enter(connection, services.authenticator, Scope.TRANSLATE)
        reject_unsupported_fields(fields)
        # Future clients will send fields of their own that are unknown today: DeepL ignores them, too.
        sent = fields.read(schemas.DeepLTranslateRequest)
        terminology = await find_terms(services.glossaries, caller, read_glossary_ids(sent), RequestTerms())
        translation_request = read_request(sent, terminology)
        if (memory_id := read_memory_id(sent)) is not None:
            use = MemoryUse(memory_id, 0, sent.translation_memory_threshold / MAX_THRESHOLD)
            translation_request = await apply_memory(
                translation_request, use, caller, services.memories, translation_service.limits
            )
        is_single = len(translation_request.texts) == 1
        with name_rejected_texts(lambda position: "text" if is_single else f"text[{position}]"):
            results = await _translate(translation_service, translation_request, caller)
        return SafeJSONResponse({"translations": present(results, sent)})


async def _translate(
    translation_service: TranslationService, translation_request: TranslationRequest, caller: Caller
) -> list[TranslationResult]:
    if are_variants(
        translation_request.source, translation_request.target, translation_service.inference.router.routes
    ):
        return await translation_service.leave_unchanged(translation_request, caller)
    return await translation_service.translate(translation_request, caller)


def present(
    results: Sequence[TranslationResult], sent: schemas.DeepLTranslateRequest
) -> list[dict[str, Any]]:
    """Return results in DeepL's form."""
    return [_present(result, text, sent) for result, text in zip(results, listed(sent.text), strict=True)]


def _present(result: TranslationResult, text: str, sent: schemas.DeepLTranslateRequest) -> dict[str, Any]:
    # A text without a language, such as digits, is in the target language as well.
    source = result.target if result.source == UNDETERMINED else result.source
    presented: dict[str, Any] = {"detected_source_language": base_code(source), "text": result.text}
    if sent.show_billed_characters:
        presented["billed_characters"] = len(text)
    if sent.model_type is not None:
        presented["model_type_used"] = sent.model_type.removeprefix("prefer_")
    if sent.tag_handling is not None:
        presented["tag_handling_version"] = sent.tag_handling_version
    return presented
