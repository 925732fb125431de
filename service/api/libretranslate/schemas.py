"""Requests as the OpenAPI document describes them; the routes parse them field by field."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from fastapi import Security
from fastapi.params import Depends
from fastapi.security import APIKeyQuery
from pydantic import BaseModel, ConfigDict, Field

from service.api.libretranslate.errors import STATUSES
from service.api.libretranslate.requests import MAX_ALTERNATIVES
from service.api.libretranslate.responses import ErrorOut
from service.http.errors import ErrorKind
from service.http.openapi import FORM, JSON, MODEL_ERRORS, MULTIPART, WITH_KEY, error_responses

KEY_IN_QUERY = APIKeyQuery(
    name="api_key",
    scheme_name="LibreTranslate",
    description="The key as a field `api_key`, of the URL or of the body.",
    auto_error=False,
)
WITH_ANY_KEY: Sequence[Depends] = (Security(KEY_IN_QUERY), *WITH_KEY)
"""`dependencies` of routes that accept keys. They only serve the document: `errors.enter` reads keys."""
FORMS = (JSON, FORM, MULTIPART)
ApiKey = Annotated[str | None, Field(description="API key, if the server requires one; or send a header.")]
SourceLanguage = Annotated[
    str, Field(min_length=1, description="Code of the source language; `auto` detects it.")
]
TargetLanguage = Annotated[str, Field(min_length=1, description="Code of the target language.")]


class TranslateIn(BaseModel):
    """One text or several to translate."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"q": "Ein Hund rennt.", "source": "auto", "target": "en", "alternatives": 1}]
        }
    )

    q: Annotated[str, Field(min_length=1)] | Annotated[list[str], Field(min_length=1)] = Field(
        description="A text or an array of texts; a form repeats the field. Line ends of a form become `\\n`."
    )
    source: SourceLanguage
    target: TargetLanguage
    format: Literal["text", "html"] | None = Field(
        "text", description="Format of the texts; `html` keeps the tags around their words."
    )
    alternatives: int | None = Field(
        0,
        ge=0,
        le=MAX_ALTERNATIVES,
        description="Number of alternative translations. More than 3 need a wider search, which may change "
        "the best translation.",
    )
    api_key: ApiKey = None


class DetectIn(BaseModel):
    """A text whose language to detect."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"q": "Bonjour tout le monde"}]})

    q: str = Field(min_length=1, description="The text.")
    api_key: ApiKey = None


class TranslateFileForm(BaseModel):
    """A file to translate."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"file": "Ein Hund rennt.", "source": "de", "target": "en"}]}
    )

    file: bytes = Field(description="The file; the suffix of its name tells the format.")
    source: SourceLanguage
    target: TargetLanguage
    api_key: str = Field("", description="API key, if the server requires one; or send a header.")


class SuggestIn(BaseModel):
    """A better translation, which this server does not store."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"q": "Good night", "s": "Gute Nacht", "source": "en", "target": "de"}]
        }
    )

    q: str = Field("", description="A text.")
    s: str = Field("", description="The suggested translation.")
    source: str = Field("", description="Language of the text.")
    target: str = Field("", description="Language of the translation.")
    api_key: ApiKey = None


def errors_of(kinds: Sequence[ErrorKind] = MODEL_ERRORS) -> dict[int | str, dict[str, Any]]:
    """Return the documentation of a route's errors in LibreTranslate's form."""
    return error_responses(kinds, ErrorOut, STATUSES)
