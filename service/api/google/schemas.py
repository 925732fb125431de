"""Requests and responses as the OpenAPI document describes them; the routes parse requests field by field."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from service.api.google.errors import GOOGLE_STATUSES
from service.http.errors import ErrorKind
from service.http.openapi import MODEL_ERRORS, closed_examples, error_responses, examples

MAX_TEXTS = 128
"""Maximum number of texts in a request, as in Google's API."""
TextFormat = Literal["html", "text"]
ModelName = Literal["nmt", "base"]
ApiKey = Annotated[str | None, Field(description="API key, if the server requires one; or send a header.")]
Q = Annotated[
    str | Annotated[list[str], Field(min_length=1)],
    Field(description=f"One text or up to {MAX_TEXTS}; forms and URLs repeat the field."),
]


class GoogleTranslateRequest(BaseModel):
    """Texts to translate."""

    model_config = closed_examples(
        {"q": ["Ein Hund rennt.", "Guten Morgen."], "target": "en", "format": "text"}
    )

    q: Q
    target: str = Field(min_length=1, description="Code of the target language.")
    source: str | None = Field(
        None, description="Code of the source language; omitted, empty or `auto`: detected for each text."
    )
    format: TextFormat | None = Field(
        "html", description="`html` keeps tags, and returns `&`, `<` and `>` as entities; `text` is plain."
    )
    model: ModelName | None = Field(
        None, description="Google's names; without effect, since the server chooses the model of the pair."
    )
    cid: Annotated[list[str], Field(max_length=0)] | None = Field(
        None, description="Ids of customizations; not supported, so the list must be empty."
    )
    key: ApiKey = None


class GoogleDetectRequest(BaseModel):
    """Texts whose languages to detect."""

    model_config = closed_examples({"q": ["Guten Morgen.", "Good morning."]})

    q: Q
    key: ApiKey = None


class GoogleLanguagesQuery(BaseModel):
    """Which names to list."""

    model_config = examples({"target": "en"})

    target: str | None = Field(None, description="Language of the names; omitted: codes without names.")
    model: ModelName | None = Field(None, description="Google's names; without effect.")


class GoogleTranslation(BaseModel):
    """The translation of a text."""

    translatedText: str = Field(description="The translation, in the format of the text.")  # noqa: N815 -- clients know it by this name, as those below
    detectedSourceLanguage: str | None = Field(  # noqa: N815
        None, description="Only if detected: language of the text; `und` if it has none."
    )
    model: str | None = Field(None, description="Only if the request names a model: the same name.")


class TranslationsData(BaseModel):
    """Translations, in the order of the texts."""

    translations: list[GoogleTranslation]


class TranslationsResponse(BaseModel):
    """The translations of a request."""

    data: TranslationsData


class DetectionOut(BaseModel):
    """A language that a text may be in."""

    language: str = Field(description="Language code; `und` if the text has no language.")
    confidence: float = Field(ge=0, le=1, description="Confidence, 0 to 1.")
    isReliable: bool = Field(description="Deprecated by Google; always false.")  # noqa: N815


class DetectionsData(BaseModel):
    """For each text, a list of one detection."""

    detections: list[list[DetectionOut]]


class DetectionsResponse(BaseModel):
    """The detected languages of a request."""

    data: DetectionsData


class GoogleLanguage(BaseModel):
    """A language."""

    language: str = Field(description="Language code.")
    name: str | None = Field(None, description="Only with `target`: its name in that language.")


class LanguagesData(BaseModel):
    """Languages, by code."""

    languages: list[GoogleLanguage]


class GoogleLanguagesResponse(BaseModel):
    """The languages of the server."""

    data: LanguagesData


class GoogleErrorItem(BaseModel):
    """One problem."""

    message: str
    domain: str
    reason: str


class GoogleErrorBody(BaseModel):
    """What went wrong."""

    code: int = Field(description="The HTTP status.")
    message: str
    errors: list[GoogleErrorItem]
    status: str = Field(description="Canonical code, as in `INVALID_ARGUMENT`.")


class GoogleErrorResponse(BaseModel):
    """The form of every error."""

    error: GoogleErrorBody


def errors_of() -> dict[int | str, dict[str, Any]]:
    """Return the documentation of a route's errors."""
    return error_responses((*MODEL_ERRORS, ErrorKind.NOT_FOUND), GoogleErrorResponse, GOOGLE_STATUSES)
