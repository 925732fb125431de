"""Parsing of glossaries from JSON or a form, and their schemas."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from dragoman.errors import InputError
from dragoman.routing.router import Router
from dragoman.types import Pair
from service.api.dictionaries import read_dictionaries
from service.api.native.requests import TermIn
from service.formats.isolation import RecordReader
from service.glossaries.entries import Dictionary, EntryCollector
from service.glossaries.errors import GlossaryInvalid
from service.glossaries.files import GlossaryFormat, format_of, read_glossary_file
from service.glossaries.json_terms import collect_terms
from service.glossaries.store import Glossary
from service.http.fields import Fields
from service.http.openapi import DocumentedModel, closed_examples, equal_fields
from service.http.validation import File, Records, read_records

Language = Annotated[str, Field(min_length=1)]


class DictionaryIn(DocumentedModel):
    """The entries of a glossary for one language pair."""

    model_config = closed_examples(
        {"source": "de", "target": "en", "entries": [{"source": "Ablage", "target": "library"}]}
    )

    source: Language
    """Language of the terms, as in `de`."""
    target: Language
    """Language of their translations."""
    entries: Records[TermIn]
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
    dictionaries: list[DictionaryIn] = Field(min_length=1, fail_fast=True)
    """An array of objects, with the entries for each language pair; a form has a `file` instead."""


class DictionaryForm(DocumentedModel):
    """A file with the entries of one language pair."""

    model_config = closed_examples(
        {"source": "de", "target": "en", "format": "csv", "file": "Ablage,library\n"}
    )

    file: File
    """CSV, TSV or TBX in UTF-8."""
    source: str
    """Language of the terms."""
    target: str
    """Language of their translations."""
    format: GlossaryFormat | None = None
    """Format of the file; omitted: from the suffix of its name."""


class GlossaryForm(DictionaryForm):
    """A glossary of one language pair as a file."""

    model_config = closed_examples(
        {"name": "Products", "source": "de", "target": "en", "format": "csv", "file": "Ablage,library\n"}
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
        if fields.uploads:
            form = fields.read(GlossaryForm)
            return form.name, [self._read_file(form, reader)]
        glossary = fields.read(GlossaryIn)
        return glossary.name, read_dictionaries(glossary.dictionaries, self._read_entries)

    def dictionary(self, fields: Fields, reader: RecordReader) -> Dictionary:
        """Return the entries of one pair, from JSON or from a file."""
        if fields.uploads:
            return self._read_file(fields.read(DictionaryForm), reader)
        return self._read_entries(fields.read(DictionaryIn), "")

    def _read_file(self, form: DictionaryForm, reader: RecordReader) -> Dictionary:
        collector = EntryCollector("file", self.max_entries)
        glossary_format = form.format or format_of(form.file.name, collector)
        pair = self._served_pair(form, "")
        return Dictionary(pair, read_glossary_file(form.file.file, glossary_format, pair, collector, reader))

    def _read_entries(self, dictionary: DictionaryIn, prefix: str) -> Dictionary:
        pair = self._served_pair(dictionary, prefix)
        collector = EntryCollector(f"{prefix}entries", self.max_entries)
        entries = read_records(dictionary.entries, collector.name)
        return Dictionary(pair, collect_terms((term.entry() for term in entries), collector))

    def _served_pair(self, named: DictionaryIn | DictionaryForm, prefix: str) -> Pair:
        """Return the pair that `source` and `target` name, as the models name it."""
        try:
            route = self.router.route(named.source, named.target)
        except InputError as error:
            raise GlossaryInvalid(f"{prefix}{error.field}", error.problem) from error
        if len(route.steps) > 1:
            problem = f"{route.pair} needs two models; glossaries apply to pairs of a single model"
            raise GlossaryInvalid(f"{prefix}target", problem)
        return route.served_pair


def present_glossary(glossary: Glossary) -> dict[str, Any]:
    """Return a glossary as its owner sees it."""
    dictionaries = [equal_fields(DictionaryResponse, each, each.pair) for each in glossary.dictionaries]
    response = GlossaryResponse.model_validate(
        {**equal_fields(GlossaryResponse, glossary), "dictionaries": dictionaries}
    )
    return response.model_dump(mode="json")
