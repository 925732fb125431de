"""Requests; the OpenAPI document contains their schemas."""

from typing import Annotated, Literal

from pydantic import Field

from dragoman.decoding.options import MAX_BEAM_SIZE
from service.http.openapi import DocumentedModel, closed_examples, examples
from service.http.validation import Count, File, Texts

MAX_ALTERNATIVES = MAX_BEAM_SIZE - 1
ApiKey = Annotated[str | None, Field(description="API key, if the server requires one; or send a header.")]
SourceLanguage = Annotated[
    str, Field(min_length=1, description="Code of the source language; `auto` detects it.")
]
TargetLanguage = Annotated[str, Field(min_length=1, description="Code of the target language.")]


class LibreTranslateRequest(DocumentedModel):
    """One text or several to translate."""

    model_config = examples({"q": "Ein Hund rennt.", "source": "auto", "target": "en", "alternatives": 1})

    q: Texts
    """A text or an array of texts; a form repeats the field. Line ends of a form become `\\n`."""
    source: SourceLanguage
    target: TargetLanguage
    format: Literal["text", "html"] | None = "text"
    """Format of the texts; `html` keeps the tags around their words."""
    alternatives: Count | None = Field(0, ge=0, le=MAX_ALTERNATIVES)
    """Number of alternative translations. More than 3 need a wider search, which may change the best
    translation.
    """
    api_key: ApiKey = None


class LibreDetectRequest(DocumentedModel):
    """Texts whose languages to detect."""

    model_config = examples({"q": "Bonjour tout le monde"})

    q: Texts
    """A text or an array of texts."""
    api_key: ApiKey = None


class TranslateFileForm(DocumentedModel):
    """A file to translate."""

    model_config = examples({"file": "Ein Hund rennt.", "source": "de", "target": "en"})

    file: File
    """The file; the suffix of its name selects the format."""
    source: SourceLanguage
    target: TargetLanguage
    api_key: ApiKey = None


class SuggestIn(DocumentedModel):
    """A better translation of a text."""

    model_config = closed_examples({"q": "Gute Nacht", "s": "Good night", "source": "de", "target": "en"})

    q: str
    """A text."""
    s: str
    """The suggested translation."""
    source: str
    """Language of the text; `auto` detects it."""
    target: str
    """Language of the translation."""
    api_key: ApiKey = None
