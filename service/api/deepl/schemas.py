"""Requests and responses."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from service.api.deepl.responses import DEEPL_STATUSES, URL_TOO_LONG
from service.glossaries.entries import EntriesFormat
from service.http import openapi
from service.http.errors import ErrorKind
from service.http.validation import Count, File, Flag, Texts
from service.text.options import MarkupLanguage
from service.translation.memory import MAX_THRESHOLD

ApiKey = Annotated[
    str | None, Field(description="API key, unless the header `Authorization: DeepL-Auth-Key KEY` has it.")
]
DEFAULT_THRESHOLD = 75


class TranslationOptionsIn(openapi.DocumentedModel):
    """Fields of texts and of documents."""

    target_lang: str = Field(min_length=1)
    """Target language, as in `EN-GB` or `DE`, in any case."""
    source_lang: str = ""
    """Language of the text; omitted or empty: detected for each text."""
    formality: Literal["default", "more", "less", "prefer_more", "prefer_less"] = "default"
    """`more` and `less` are rejected where the model knows no forms of address in the target; `prefer_more`
    and `prefer_less` are then without effect."""
    glossary_id: str = ""
    """Id of a glossary with the text's language pair; needs `source_lang`."""
    glossary_ids: Texts = Field([])
    """Up to 5 ids instead, the most important first; a list or commas."""
    translation_memory_id: str = ""
    """Id of a translation memory with the text's language pair."""
    translation_memory_threshold: Count = Field(DEFAULT_THRESHOLD, ge=0, le=MAX_THRESHOLD)
    """Similarity in per cent from which a pair of the memory is used. Unless it is 100, pairs that differ
    only in numbers and placeholders are used too, with these replaced."""
    auth_key: ApiKey = None


class DeepLTranslateRequest(TranslationOptionsIn):
    """Texts to translate."""

    model_config = openapi.examples({"text": ["Guten Morgen.", "Ein Hund rennt."], "target_lang": "EN-GB"})

    text: Texts
    """One text or several; forms and URLs repeat the field."""
    split_sentences: Literal["0", "1", "nonewlines"] | None = None
    """`1`: split at line breaks and sentence ends. `nonewlines`: at sentence ends, the default for HTML. `0`:
    never, except where the text is too long for the model.
    """
    preserve_formatting: Flag = False
    """No effect: formatting is always kept."""
    model_type: Literal["quality_optimized", "prefer_quality_optimized", "latency_optimized"] | None = None
    """`latency_optimized`: greedy search. Others: the model's own beam."""
    context: str = ""
    """Text before each text, which is not translated. Where the model reads short neighbours together, the
    first sentence, if it has a pronoun, is read with the last one of the context."""
    show_billed_characters: Flag = False
    """Whether the response has the number of charged characters."""
    tag_handling: MarkupLanguage | None = None
    """Markup language of the texts; omitted: plain text."""
    tag_handling_version: Literal["v1", "v2"] = "v1"
    """No effect; returned unchanged."""
    outline_detection: Flag = True
    """Whether to find the XML tags that separate texts."""
    ignore_tags: Texts = Field([])
    """Tags whose content is not translated; a list or commas."""
    splitting_tags: Texts = Field([])
    """Tags that separate texts."""
    non_splitting_tags: Texts = Field([])
    """Tags that stand within a sentence."""


class DeepLTranslation(openapi.DocumentedModel):
    """The translation of one text."""

    detected_source_language: str
    text: str
    billed_characters: int = Field(0, ge=0)
    model_type_used: str = ""
    tag_handling_version: str = ""


class DeepLTranslations(openapi.DocumentedModel):
    """Translations in the order of the texts."""

    translations: list[DeepLTranslation]


class UsageQuery(openapi.DocumentedModel):
    """A key in the URL."""

    auth_key: ApiKey = None


class DeepLUsage(openapi.DocumentedModel):
    """Characters of this calendar month (UTC)."""

    character_count: int = Field(ge=0)
    character_limit: int = Field(ge=0)


class GlossaryPair(openapi.DocumentedModel):
    """A pair of languages that a glossary may have."""

    source_lang: str
    target_lang: str


class GlossaryPairs(openapi.DocumentedModel):
    """All pairs of languages that a glossary may have."""

    supported_languages: list[GlossaryPair]


_DICTIONARY: JsonDict = {
    "source_lang": "de",
    "target_lang": "en",
    "entries": "Hund\tdog",
    "entries_format": "tsv",
}


class DeepLGlossary(openapi.DocumentedModel):
    """A stored glossary, without its entries."""

    glossary_id: str
    name: str
    ready: bool
    """Whether translations may use it; always true."""
    source_lang: str
    target_lang: str
    creation_time: datetime
    entry_count: int = Field(ge=0)


class Glossaries(openapi.DocumentedModel):
    """All glossaries of a key."""

    glossaries: list[DeepLGlossary]


class DeepLDictionaryIn(openapi.DocumentedModel):
    """The entries of a glossary for one language pair."""

    model_config = openapi.closed_examples(_DICTIONARY)

    source_lang: str
    """Language of the terms, as in `de`, with all its regions."""
    target_lang: str
    """Language of their translations."""
    entries: str
    """One term with its translation per line."""
    entries_format: EntriesFormat
    """Separator of a term and its translation."""


class CreateGlossaryIn(DeepLDictionaryIn):
    """A new glossary."""

    model_config = openapi.examples({"name": "Products", **_DICTIONARY, "entries": "Hund\tdog\nKatze\tcat"})

    name: str
    """Name of the glossary."""
    auth_key: ApiKey = None


class CreateMultilingualGlossaryIn(openapi.DocumentedModel):
    """A new glossary of several language pairs."""

    model_config = openapi.closed_examples({"name": "Products", "dictionaries": [_DICTIONARY]})

    name: str
    """Name of the glossary."""
    dictionaries: list[DeepLDictionaryIn] = Field([], fail_fast=True)
    """Entries for each language pair."""


class ChangeGlossaryIn(openapi.DocumentedModel):
    """Changes to a glossary."""

    model_config = openapi.closed_examples({"name": "All products"})

    name: str | None = None
    """New name; omitted: unchanged."""
    dictionaries: list[DeepLDictionaryIn] = Field([], fail_fast=True)
    """Entries to add or to replace by source term."""


class FirstDictionaryForm(openapi.DocumentedModel):
    """The entries for one language pair; those for others have the numbers 1, 2 and so on."""

    model_config = openapi.examples(
        {"name": "Products", **{f"dictionaries[0].{name}": each for name, each in _DICTIONARY.items()}}
    )

    source_lang: str = Field("", alias="dictionaries[0].source_lang")
    """Language of the terms, as in `de`."""
    target_lang: str = Field("", alias="dictionaries[0].target_lang")
    """Language of their translations."""
    entries: str = Field("", alias="dictionaries[0].entries")
    """One term with its translation per line."""
    entries_format: EntriesFormat = Field(EntriesFormat.TSV, alias="dictionaries[0].entries_format")
    """Separator of a term and its translation."""


class CreateMultilingualGlossaryForm(FirstDictionaryForm):
    """A new glossary of any number of language pairs."""

    name: str
    """Name of the glossary."""


class ChangeGlossaryForm(FirstDictionaryForm):
    """Changes to a glossary: a new name, entries to add or to replace, or both."""

    name: str = ""
    """New name; omitted: unchanged."""


class DeepLPairQuery(openapi.DocumentedModel):
    """A language pair of a glossary."""

    source_lang: str
    """Language of the terms."""
    target_lang: str
    """Language of their translations."""
    auth_key: ApiKey = None


class ChangedPairQuery(DeepLPairQuery):
    """The same, of a pair that is changed."""

    model_config = ConfigDict(extra="forbid")


class DictionaryInfoOut(GlossaryPair):
    """A language pair of a glossary, without its entries."""

    entry_count: int = Field(ge=0)


class MultilingualGlossary(openapi.DocumentedModel):
    """A stored glossary, without its entries."""

    glossary_id: str
    name: str
    dictionaries: list[DictionaryInfoOut]
    creation_time: datetime


class MultilingualGlossaries(openapi.DocumentedModel):
    """All glossaries of a key."""

    glossaries: list[MultilingualGlossary]


class DictionaryEntries(GlossaryPair):
    """The entries of a language pair."""

    entries: str
    entries_format: EntriesFormat


class DictionariesEntries(openapi.DocumentedModel):
    """The entries of the requested language pair."""

    dictionaries: list[DictionaryEntries]


class UploadDocumentForm(TranslationOptionsIn):
    """A document to translate."""

    model_config = openapi.examples(
        {"file": "Ein Hund rennt.", "target_lang": "EN-GB", "filename": "letter.txt"}
    )

    file: File
    """The document; the suffix of its name selects the format."""
    filename: str = ""
    """Replaces the file's own name."""
    output_format: str = ""
    """Required for a PDF: `docx` or `txt`. Others keep their format; it may be named."""


class UploadedDocument(openapi.DocumentedModel):
    """ID and key of an uploaded document; both are needed to fetch it."""

    document_id: str
    document_key: str


class DocumentKeyIn(openapi.DocumentedModel):
    """The key of an uploaded document."""

    model_config = openapi.examples({"document_key": "0" * 64})

    document_key: str
    """From the response to the upload."""
    auth_key: ApiKey = None


class DocumentStatus(openapi.DocumentedModel):
    """The state of an uploaded document."""

    document_id: str
    status: Literal["queued", "translating", "done", "error"]
    seconds_remaining: int = Field(0, ge=0)
    """Estimate; only until it has ended."""
    billed_characters: int = Field(0, ge=0)
    """Only if it is done."""
    error_message: str = ""
    """Only if it failed."""
    message: str = ""
    """The same as `error_message`; once it is done, which text is not translated."""


class DeepLErrorResponse(openapi.DocumentedModel):
    """The form of every error."""

    message: str
    detail: str = ""


def errors_of(*more: ErrorKind) -> dict[int | str, dict[str, Any]]:
    """Return the documentation of a route's errors in DeepL's form: those of every route, and more."""
    kinds = (*openapi.KEY_ERRORS, *openapi.BODY_ERRORS, ErrorKind.OVERLOADED, ErrorKind.NOT_READY, *more)
    documented = openapi.error_responses(kinds, DeepLErrorResponse, DEEPL_STATUSES)
    documented[URL_TOO_LONG] = {"model": DeepLErrorResponse, "description": "The URL's query is too long"}
    return documented
