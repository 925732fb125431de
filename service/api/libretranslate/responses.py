"""Response models; the OpenAPI document contains their schemas."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from fastapi.security import APIKeyQuery
from pydantic import Field

from service.api.catalogue import Catalogue, CatalogueLanguage, present_code
from service.api.libretranslate.errors import STATUSES
from service.api.libretranslate.schemas import LibreTranslateRequest
from service.formats.registry import installed_suffixes
from service.http import openapi
from service.http.errors import ErrorKind
from service.settings.settings import Settings
from service.translation.request import UNDETERMINED, DetectedSource, TranslationResult
from service.translation.source_language import DetectionMode

PERCENT = 100
DEFAULT_LANGUAGE = "en"
"""First language of menus, if it is served. Clients also expect it, with a confidence of 0, as the language
of a text that has none."""
FRONTEND_TIMEOUT_MS = 500


class DetectedLanguage(openapi.DocumentedModel):
    """A detected language."""

    confidence: float = Field(ge=0, le=PERCENT)
    """Confidence, 0 to 100."""
    language: str
    """Language code; `en` with confidence 0 if the text has no language."""


class TranslateOut(openapi.DocumentedModel):
    """The translation of a text, or an array of them for an array of texts."""

    translatedText: str | list[str]  # noqa: N815 -- clients know it by this name, as those below
    alternatives: list[str] | list[list[str]] = Field(default_factory=list[str])
    """Only if requested: other translations, best first; for an array of texts, an array of arrays. There may
    be fewer than requested, and there are none for HTML.
    """
    detectedLanguage: DetectedLanguage | list[DetectedLanguage] = Field(default_factory=list)  # noqa: N815
    """Only if `source` was `auto`; for an array of texts, an array."""


class ListedLanguage(openapi.DocumentedModel):
    """A language with its targets."""

    code: str
    name: str
    """English name."""
    targets: list[str]
    """Codes of the target languages, including its own, for which texts stay unchanged."""


class NamedLanguage(openapi.DocumentedModel):
    """A language of a menu."""

    code: str
    name: str


AUTO_DETECT = NamedLanguage(code="auto", name="Auto Detect")


class DefaultPair(openapi.DocumentedModel):
    """The languages that a menu selects first."""

    source: NamedLanguage
    target: NamedLanguage


class FrontendSettings(openapi.DocumentedModel):
    """Settings for a web page."""

    charLimit: int  # noqa: N815
    """Maximum characters per request."""
    frontendTimeout: int  # noqa: N815
    """Milliseconds to wait after the last keystroke."""
    apiKeys: bool  # noqa: N815
    """Whether the server has API keys."""
    keyRequired: bool  # noqa: N815
    """Whether a key is required."""
    suggestions: bool
    """Whether better translations can be suggested."""
    filesTranslation: bool  # noqa: N815
    """Whether files can be translated."""
    supportedFilesFormat: list[str]  # noqa: N815
    """Suffixes of the supported files."""
    language: DefaultPair


class Health(openapi.DocumentedModel):
    """The state of a server that can translate."""

    status: str


class TranslatedFile(openapi.DocumentedModel):
    """A translated file."""

    translatedFileUrl: str  # noqa: N815
    """URL of the file, until it expires."""
    message: str = ""
    """Only if texts are not translated: how many, and where the first is."""


class SuggestionStored(openapi.DocumentedModel):
    """A suggestion is stored."""

    success: bool
    """Always true."""


class ErrorOut(openapi.DocumentedModel):
    """The form of every error."""

    error: str


def present_results(results: Sequence[TranslationResult], sent: LibreTranslateRequest) -> dict[str, Any]:
    """Return translations in the API's form."""
    out: dict[str, Any] = {"translatedText": _list_or_single((result.text for result in results), sent)}
    if sent.alternatives:
        out["alternatives"] = _list_or_single(map(_alternatives, results), sent)
    found = [result.detected for result in results if result.detected is not None]
    if len(found) == len(results):
        out["detectedLanguage"] = _list_or_single(map(present_detected, found), sent)
    return out


def present_detected(detected: DetectedSource) -> dict[str, Any]:
    """Return a detected language in the API's form."""
    if detected.language == UNDETERMINED:
        return {"confidence": 0.0, "language": DEFAULT_LANGUAGE}
    return {
        "confidence": round(detected.confidence * PERCENT, 1),
        "language": present_code(detected.language),
    }


def present_languages(listed: Iterable[CatalogueLanguage]) -> list[dict[str, Any]]:
    """Return languages in the API's form."""
    return [asdict(language) for language in listed]


def present_settings(settings: Settings, catalogue: Catalogue, *, accepts_files: bool) -> FrontendSettings:
    """Return the settings for a web page in front of the server."""
    has_auto = DetectionMode(settings.detection) is DetectionMode.ON
    return FrontendSettings(
        charLimit=settings.max_characters,
        frontendTimeout=FRONTEND_TIMEOUT_MS,
        apiKeys=settings.requires_key or settings.database_url is not None,
        keyRequired=settings.requires_key,
        suggestions=settings.suggestions == "on",
        filesTranslation=accepts_files,
        supportedFilesFormat=installed_suffixes() if accepts_files else [],
        language=DefaultPair(
            source=AUTO_DETECT if has_auto else _first_language(catalogue.sources()),
            target=_first_language(catalogue.targets()),
        ),
    )


def _first_language(listed: Sequence[CatalogueLanguage]) -> NamedLanguage:
    """Return English if it is listed or the list is empty, otherwise the first language."""
    codes = {language.code: language.name for language in listed}
    code = next(iter(codes), DEFAULT_LANGUAGE) if DEFAULT_LANGUAGE not in codes else DEFAULT_LANGUAGE
    return NamedLanguage(code=code, name=codes.get(code, "English"))


def _list_or_single(values: Iterable[Any], sent: LibreTranslateRequest) -> Any:
    listed = list(values)
    return listed if isinstance(sent.q, list) else listed[0]


def _alternatives(result: TranslationResult) -> list[str]:
    """Return each alternative once, without the best translation."""
    return [text for text in dict.fromkeys(result.alternatives) if text != result.text]


KEY_IN_QUERY = openapi.key_scheme(
    APIKeyQuery, "api_key", "LibreTranslate", "The key as a field `api_key`, of the URL or of the body."
)
WITH_ANY_KEY = (KEY_IN_QUERY, *openapi.WITH_KEY)
"""`dependencies` of routes that accept keys. They only serve the document: `errors.enter` reads keys."""
FORMS = (openapi.JSON, openapi.FORM, openapi.MULTIPART)


def errors_of(kinds: Sequence[ErrorKind] = openapi.MODEL_ERRORS) -> dict[int | str, dict[str, Any]]:
    """Return the documentation of a route's errors in LibreTranslate's form."""
    return openapi.error_responses(kinds, ErrorOut, STATUSES)
