"""Parsing of glossaries in DeepL's form, and their presentation."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from dragoman.types import Pair
from service.api.deepl.catalogue import base_code
from service.api.deepl.schemas import DeepLDictionaryIn
from service.api.dictionaries import DICTIONARIES, read_dictionaries
from service.glossaries.entries import Dictionary, EntriesFormat, EntryCollector, parse_entries, write_entries
from service.glossaries.store import DictionaryInfo, Glossary
from service.http.errors import field_error
from service.http.fields import Fields

MAX_NAMED = 5
"""Maximum number of glossaries of a translation, as with DeepL."""


def read_all(fields: Fields, served: Sequence[tuple[str, str]], max_entries: int) -> list[Dictionary]:
    """Return the entries of each pair in the field `dictionaries`; a form has none if the field is missing.

    Raises:
        ApiError: naming the dictionary and the field.
        GlossaryInvalid: naming the entry.
    """

    def read(item: Fields) -> Dictionary:
        item.check_known(DeepLDictionaryIn.model_fields)
        return read_dictionary(item, served, max_entries)

    items = fields.json.get(DICTIONARIES)
    if items is None and fields.form:
        return []
    if not isinstance(items, list):
        raise field_error(DICTIONARIES, "must be an array of objects")
    return read_dictionaries(fields, read)


def read_dictionary(fields: Fields, served: Sequence[tuple[str, str]], max_entries: int) -> Dictionary:
    """Return the entries of one pair."""
    pair = read_pair(fields)
    if pair not in served:
        problem = f"the pair {pair.source[:40]} -> {pair.target[:40]} is not served by a single model"
        raise fields.error("target_lang", problem)
    entries, entries_format = fields.given("entries"), fields.given("entries_format")
    if entries_format not in tuple(EntriesFormat):
        raise fields.error("entries_format", f"must be one of {', '.join(EntriesFormat)}")
    collector = EntryCollector(f"{fields.prefix}entries", max_entries)
    return Dictionary(pair, parse_entries(entries, EntriesFormat(entries_format), pair, collector))


def read_pair(fields: Fields) -> Pair:
    """Return the pair of languages; a glossary applies to all regions of a language."""
    return Pair(*(base_code(fields.given(name)).lower() for name in ("source_lang", "target_lang")))


def read_glossary_ids(fields: Fields) -> list[str]:
    """Return the ids of the glossaries of a translation, the most important first.

    Raises:
        ApiError: there are too many, both fields are sent, or no source language is named.
    """
    single, listed = fields.string("glossary_id"), fields.strings("glossary_ids") or ()
    named = [part.strip() for each in listed for part in each.split(",") if part.strip()]
    if single and named:
        raise field_error("glossary_ids", "cannot be combined with glossary_id; send one of them")
    if len(named) > MAX_NAMED:
        raise field_error("glossary_ids", f"{len(named)} ids exceed the limit of {MAX_NAMED}")
    found = [single] if single else named
    if found and not fields.string("source_lang"):
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
        "creation_time": _time(glossary.created_at),
        "entry_count": dictionary.entry_count,
    }


def present_v3(glossary: Glossary) -> dict[str, Any]:
    """Return a glossary in the form of version 3."""
    return {
        "glossary_id": glossary.id,
        "name": glossary.name,
        "dictionaries": list(map(present_info, glossary.dictionaries)),
        "creation_time": _time(glossary.created_at),
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


def _time(created_at: datetime) -> str:
    return created_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")  # clients expect fractions
