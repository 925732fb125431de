"""Parsing of glossaries from JSON or a form, and their schemas."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from dragoman.errors import InputError
from dragoman.routing.router import Router
from dragoman.types import Pair
from service.api.dictionaries import DICTIONARIES, read_dictionaries
from service.api.native.requests import TermIn
from service.formats.isolation import RecordReader
from service.glossaries.entries import Dictionary, EntryCollector
from service.glossaries.errors import GlossaryInvalid
from service.glossaries.files import GlossaryFormat, format_of, read_glossary_file
from service.glossaries.json_terms import read_json_terms
from service.glossaries.store import Glossary
from service.http.errors import field_error
from service.http.fields import Fields
from service.http.openapi import DocumentedModel, closed_examples, equal_fields

LANGUAGE_ADVICE = "name a language, such as de"


class DictionaryIn(DocumentedModel):
    """The entries of a glossary for one language pair."""

    model_config = closed_examples(
        {"source": "de", "target": "en", "entries": [{"source": "Ablage", "target": "library"}]}
    )

    source: str
    """Language of the terms, as in `de`."""
    target: str
    """Language of their translations."""
    entries: list[TermIn]
    """The entries, each with a source term of its own."""


class GlossaryIn(DocumentedModel):
    """A glossary with its entries."""

    model_config = closed_examples(
        {
            "name": "Products",
            "dictionaries": [
                {
                    "source": "de",
                    "target": "en",
                    "entries": [
                        {"source": "Ablage", "target": "library"},
                        {"source": "Hund", "targets": ["dog", "hound"]},
                        {"source": "Dragoman"},
                    ],
                }
            ],
        }
    )

    name: str
    """Name for people; several glossaries may have the same one."""
    dictionaries: list[DictionaryIn]
    """Entries for each language pair."""


class DictionaryForm(DocumentedModel):
    """A file with the entries of one language pair."""

    model_config = closed_examples(
        {"source": "de", "target": "en", "format": "csv", "file": "Ablage,library\n"}
    )

    file: bytes
    """CSV, TSV or TBX in UTF-8."""
    source: str
    """Language of the terms."""
    target: str
    """Language of their translations."""
    format: GlossaryFormat | Literal[""] = ""
    """Format of the file; omitted: from the suffix of its name."""


class GlossaryForm(DictionaryForm):
    """A glossary of one language pair as a file."""

    model_config = closed_examples(
        {
            "name": "Products",
            "source": "de",
            "target": "en",
            "format": "csv",
            "file": "Ablage,library\n",
        }
    )

    name: str
    """Name for people."""


class DictionaryResponse(DocumentedModel):
    """A language pair of a glossary."""

    source: str
    target: str
    entry_count: int


class GlossaryResponse(DocumentedModel):
    """A stored glossary without its entries."""

    id: str
    """Id for the field `glossary` of translations."""
    name: str
    version: int
    """Increases with each change."""
    created_at: datetime
    dictionaries: list[DictionaryResponse]


class GlossariesResponse(DocumentedModel):
    """The caller's glossaries, the oldest first."""

    glossaries: list[GlossaryResponse]


@dataclass(frozen=True, slots=True)
class GlossaryReader:
    """Reads glossaries from the fields of requests. Its methods raise ApiError or GlossaryInvalid."""

    router: Router
    max_entries: int

    def glossary(self, fields: Fields, reader: RecordReader) -> tuple[str, list[Dictionary]]:
        """Return the name and the entries of a whole glossary."""
        name = fields.required("name")
        if fields.uploads:
            return name, [self.dictionary(fields, reader)]
        fields.check_known(GlossaryIn.model_fields)
        items = fields.json.get(DICTIONARIES)
        if not isinstance(items, list) or not items:
            raise field_error(DICTIONARIES, "must be an array of at least one object, or send a `file`")
        return name, read_dictionaries(fields, self._dictionary_from_json)

    def dictionary(self, fields: Fields, reader: RecordReader) -> Dictionary:
        """Return the entries of one pair, from JSON or from a file."""
        if not fields.uploads:
            return self._dictionary_from_json(fields)
        fields.check_known(GlossaryForm.model_fields)
        upload = fields.upload("file")
        if upload is None:
            raise field_error("file", "is missing; send one with this field name")
        collector = EntryCollector("file", self.max_entries)
        glossary_format = fields.choice("format", GlossaryFormat) or format_of(upload.name, collector)
        pair = self.pair(fields)
        return Dictionary(pair, read_glossary_file(upload.file, glossary_format, pair, collector, reader))

    def pair(self, fields: Fields) -> Pair:
        """Return the pair that `source` and `target` name, as the models name it."""
        try:
            route = self.router.route(*self.named_pair(fields))
        except InputError as error:
            raise GlossaryInvalid(f"{fields.prefix}{error.field}", error.problem) from error
        if len(route.steps) > 1:
            problem = f"{route.pair} needs two models; glossaries apply to pairs of a single model"
            raise GlossaryInvalid(f"{fields.prefix}target", problem)
        return route.pair

    def named_pair(self, fields: Fields) -> Pair:
        """Return the pair that `source` and `target` name exactly, whether or not it is served now."""
        return Pair(*(fields.required(name, LANGUAGE_ADVICE) for name in ("source", "target")))

    def _dictionary_from_json(self, fields: Fields) -> Dictionary:
        fields.check_known(DictionaryIn.model_fields)
        pair = self.pair(fields)
        collector = EntryCollector(f"{fields.prefix}entries", self.max_entries)
        return Dictionary(pair, read_json_terms(fields.json.get("entries"), collector))


def present_glossary(glossary: Glossary) -> dict[str, Any]:
    """Return a glossary as its owner sees it."""
    dictionaries = [equal_fields(DictionaryResponse, each, each.pair) for each in glossary.dictionaries]
    response = GlossaryResponse.model_validate(
        {**equal_fields(GlossaryResponse, glossary), "dictionaries": dictionaries}
    )
    return response.model_dump(mode="json")
