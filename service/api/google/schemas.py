"""Requests and responses."""

from typing import Annotated, Any, Literal

from pydantic import Field

from service.api.google.errors import GOOGLE_STATUSES
from service.http.errors import ErrorKind
from service.http.openapi import MODEL_ERRORS, DocumentedModel, closed_examples, error_responses
from service.http.validation import Texts

MAX_TEXTS = 128
"""Maximum number of texts in a request, as in Google's API."""
TextFormat = Literal["html", "text", ""]
ModelName = Literal["nmt", "base", ""]
ApiKey = Annotated[str | None, Field(description="API key, if the server requires one; or send a header.")]
Q = Annotated[Texts, Field(description=f"One text or up to {MAX_TEXTS}; forms and URLs repeat the field.")]


class GoogleTranslateRequest(DocumentedModel):
    """Texts to translate."""

    model_config = closed_examples(
        {"q": ["Ein Hund rennt.", "Guten Morgen."], "target": "en", "format": "text"}
    )

    q: Q
    target: str = Field(min_length=1)
    """Code of the target language."""
    source: str | None = None
    """Code of the source language; omitted, empty or `auto`: detected for each text."""
    format: TextFormat | None = "html"
    """`html` keeps tags, and returns `&`, `<` and `>` as entities; `text` is plain."""
    model: ModelName | None = None
    """Google's names; without effect, since the server chooses the model of the pair."""
    cid: Texts | None = None
    """Ids of customizations; not supported, so the list must be empty."""
    key: ApiKey = None


class GoogleDetectRequest(DocumentedModel):
    """Texts whose languages to detect."""

    model_config = closed_examples({"q": ["Guten Morgen.", "Good morning."]})

    q: Q
    key: ApiKey = None


class GoogleLanguagesQuery(DocumentedModel):
    """Query of the list of languages and their names."""

    model_config = closed_examples({"target": "en"})

    target: str | None = None
    """Language of the names; omitted: codes without names."""
    model: ModelName | None = None
    """Google's names; without effect."""


class GoogleTranslation(DocumentedModel):
    """The translation of a text."""

    translatedText: str  # noqa: N815 -- clients know it by this name, as those below
    """The translation, in the format of the text."""
    detectedSourceLanguage: str | None = None  # noqa: N815
    """Only if detected: language of the text; `und` if it has none."""
    model: str | None = None
    """Only if the request names a model: the same name."""


class TranslationsData(DocumentedModel):
    """Translations, in the order of the texts."""

    translations: list[GoogleTranslation]


class TranslationsResponse(DocumentedModel):
    """The translations of a request."""

    data: TranslationsData


class DetectionOut(DocumentedModel):
    """A language that a text may be in."""

    language: str
    """Language code; `und` if the text has no language."""
    confidence: float = Field(ge=0, le=1)
    """Confidence, 0 to 1."""
    isReliable: bool  # noqa: N815
    """Deprecated by Google; always false."""


class DetectionsData(DocumentedModel):
    """For each text, a list of one detection."""

    detections: list[list[DetectionOut]]


class DetectionsResponse(DocumentedModel):
    """The detected languages of a request."""

    data: DetectionsData


class GoogleLanguage(DocumentedModel):
    """A language."""

    language: str
    """Language code."""
    name: str | None = None
    """Only with `target`: its name in that language."""


class LanguagesData(DocumentedModel):
    """Languages, by code."""

    languages: list[GoogleLanguage]


class GoogleLanguagesResponse(DocumentedModel):
    """The languages of the server."""

    data: LanguagesData


class GoogleErrorItem(DocumentedModel):
    """One problem."""

    message: str
    domain: str
    reason: str


class GoogleErrorBody(DocumentedModel):
    """Description of an error."""

    code: int
    """The HTTP status."""
    message: str
    errors: list[GoogleErrorItem]
    status: str
    """Canonical code, as in `INVALID_ARGUMENT`."""


class GoogleErrorResponse(DocumentedModel):
    """The form of every error."""

    error: GoogleErrorBody


def errors_of() -> dict[int | str, dict[str, Any]]:
    """Return the documentation of a route's errors."""
    return error_responses((*MODEL_ERRORS, ErrorKind.NOT_FOUND), GoogleErrorResponse, GOOGLE_STATUSES)
