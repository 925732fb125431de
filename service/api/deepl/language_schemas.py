"""Requests and responses about languages."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from service.api.deepl.schemas import ApiKey
from service.http.openapi import DocumentedModel, examples
from service.http.validation import Texts

Resource = Literal[
    "translate_text", "translate_document", "glossary", "style_rules", "translation_memory", "voice", "write"
]


def _to_lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


class DeepLLanguagesQuery(DocumentedModel):
    """Query of the list of languages."""

    model_config = examples({"type": "target"})

    type: Literal["source", "target"] = "source"
    """Side of the translation."""
    auth_key: ApiKey = None


class DeepLLanguage(DocumentedModel):
    """A language that the server translates from or into."""

    language: str
    name: str
    supports_formality: bool = False
    """Only of target languages."""


class ResourceLanguagesQuery(DocumentedModel):
    """Query of the languages of a resource."""

    model_config = examples({"resource": "translate_text"})

    resource: Annotated[Resource, BeforeValidator(_to_lower)]
    """What the languages are for, in any case. The server has no voice, no rephrasing and no style rules."""
    include: Texts = Field([])
    """No effect: nothing is `beta` or `external`."""


class FeatureStatus(DocumentedModel):
    """A feature that a language has."""

    status: Literal["stable"]


class ResourceLanguage(DocumentedModel):
    """A language, and what the server offers for it."""

    lang: str
    """Its code, as in `en-US`."""
    name: str
    usable_as_source: bool
    usable_as_target: bool
    status: Literal["stable"]
    features: dict[str, FeatureStatus]
    """By name; a feature that is missing is not offered."""


class ResourceFeature(DocumentedModel):
    """A feature of a resource, for pairs whose languages have it."""

    name: str
    needs_source_support: bool = False
    needs_target_support: bool = False


class LanguageResource(DocumentedModel):
    """A resource and its features."""

    name: Resource
    features: list[ResourceFeature]
