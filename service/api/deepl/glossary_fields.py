"""Parsing of glossaries in DeepL's form, and their presentation."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from dragoman.types import Pair
from service.api.deepl.languages import base_code
from service.api.deepl.schemas import DeepLDictionaryIn, DeepLPairQuery, TranslationOptionsIn
from service.api.dictionaries import read_dictionaries
from service.glossaries.entries import Dictionary, EntriesFormat, EntryCollector, parse_entries, write_entries
from service.glossaries.store import DictionaryInfo, Glossary
from service.http.errors import field_error
from service.http.validation import listed

MAX_NAMED = 5
"""Maximum number of glossaries of a translation, as with DeepL."""


@dataclass(frozen=True, slots=True)
class DictionaryReader:
    """Reads the entries of pairs."""

    served: Collection[tuple[str, str]]
    """The pairs of single models."""
    max_entries: int

    def read_all(self, dictionaries: Iterable[DeepLDictionaryIn]) -> list[Dictionary]:
        """Return the entries of each pair.

        Raises:
            ApiError: naming the dictionary and the field.
            GlossaryInvalid: naming the entry.
        """
        return read_dictionaries(dictionaries, self.read)

    def read(self, sent: DeepLDictionaryIn, prefix: str = "") -> Dictionary:
        """Return the entries of one pair."""
        pair = read_pair(sent)
        if pair not in self.served:
            problem = f"the pair {pair.source[:40]} -> {pair.target[:40]} is not served by a single model"
            raise field_error(f"{prefix}target_lang", problem)
        collector = EntryCollector(f"{prefix}entries", self.max_entries)
        return Dictionary(pair, parse_entries(sent.entries, sent.entries_format, pair, collector))


def read_pair(sent: DeepLDictionaryIn | DeepLPairQuery) -> Pair:
    """Return the pair of languages; a glossary applies to all regions of a language."""
    return Pair(*(base_code(each).lower() for each in (sent.source_lang, sent.target_lang)))


def read_names(sent: str | list[str]) -> list[str]:
    """Return names in strings, of which each may have several, separated by commas."""
    return [name for each in listed(sent) for part in each.split(",") if (name := part.strip())]


def read_glossary_ids(sent: TranslationOptionsIn) -> list[str]:
    """Return the ids of the glossaries of a translation, the most important first.

    Raises:
        ApiError: there are too many, both fields are sent, or no source language is named.
    """
    named = read_names(sent.glossary_ids)
    if sent.glossary_id and named:
        raise field_error("glossary_ids", "cannot be combined with glossary_id; send one of them")
    if len(named) > MAX_NAMED:
        raise field_error("glossary_ids", f"{len(named)} ids exceed the limit of {MAX_NAMED}")
    found = [sent.glossary_id] if sent.glossary_id else named
    if found and not sent.source_lang:
        raise field_error("source_lang", "is required with a glossary; name the language of the text")
    return found


def present_v2(glossary: Glossary) -> dict[str, Any]:
    """Return a glossary of one pair in the form of version 2."""
    [dictionary] = glossary.dictionaries
    return {
        "glossary_id": glossary.id,
        "name": glossary.name,
        "ready": True,
        **_pair_fields(dictionary.pair),
        "creation_time": format_time(glossary.created_at),
        "entry_count": dictionary.entry_count,
    }


def present_v3(glossary: Glossary) -> dict[str, Any]:
    """Return a glossary in the form of version 3."""
    return {
        "glossary_id": glossary.id,
        "name": glossary.name,
        "dictionaries": list(map(present_info, glossary.dictionaries)),
        "creation_time": format_time(glossary.created_at),
    }


def present_info(dictionary: DictionaryInfo) -> dict[str, Any]:
    return {**_pair_fields(dictionary.pair), "entry_count": dictionary.entry_count}


def present_entries(dictionary: Dictionary) -> dict[str, Any]:
    """Return the entries of a pair in the form of version 3."""
    return {
        **_pair_fields(dictionary.pair),
        "entries": to_tsv(dictionary),
        "entries_format": str(EntriesFormat.TSV),
    }


def to_tsv(dictionary: Dictionary) -> str:
    """Return the entries as lines; as with DeepL, no line feed follows the last."""
    return write_entries(dictionary.terms, EntriesFormat.TSV).removesuffix("\n")


def _pair_fields(pair: Pair) -> dict[str, str]:
    return {"source_lang": base_code(pair.source).lower(), "target_lang": base_code(pair.target).lower()}


def format_time(created_at: datetime) -> str:
    return created_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")  # clients expect fractions
