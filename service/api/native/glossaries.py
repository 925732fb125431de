"""The routes of `/v1/glossaries`: create, list, read, replace and delete a key's own glossaries."""

from enum import StrEnum
from functools import partial
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import ConfigDict, Field

from dragoman.types import Pair
from service.api.native import glossary_fields as schemas
from service.api.native.glossary_fields import GlossaryReader, present_glossary
from service.api.native.owner_access import CREATED, NO_CONTENT, READ_ERRORS, WRITE_ERRORS, OwnerAccess
from service.api.services import Services
from service.formats.isolation import RecordReader
from service.glossaries.entries import Dictionary, EntriesFormat, write_entries
from service.glossaries.glossary_service import GlossaryService
from service.glossaries.json_terms import present_terms
from service.glossaries.store import Glossary
from service.http import openapi
from service.http.errors import ErrorKind, SafeJSONResponse, field_error
from service.http.fields import Fields
from service.http.openapi import DocumentedModel
from service.work.threads import run_in_thread

ROOT = "/v1/glossaries"
GLOSSARY_PATHS = frozenset({ROOT, f"{ROOT}/"})
"""Paths whose bodies may be as large as documents."""
ONE = "/glossaries/{glossary_id}"
GLOSSARY_ID = openapi.path_parameter("glossary_id", "From the response to its creation.")
ERRORS = openapi.error_responses([*READ_ERRORS, ErrorKind.INVALID_INPUT, ErrorKind.NOT_FOUND])
describe_one = partial(
    openapi.describe_route, responses=ERRORS, request=openapi.request_of(parameters=[GLOSSARY_ID])
)
describe_change = partial(
    openapi.describe_route, responses=openapi.error_responses([*WRITE_ERRORS, ErrorKind.NOT_FOUND])
)
MEDIA_TYPES = {EntriesFormat.TSV: "text/tab-separated-values", EntriesFormat.CSV: "text/csv"}


class ReadFormat(StrEnum):
    """The formats in which entries can be read."""

    JSON = "json"
    CSV = "csv"
    TSV = "tsv"


class PairQuery(DocumentedModel):
    """A language pair of a glossary."""

    model_config = ConfigDict(extra="forbid")

    source: str
    """Language of the terms."""
    target: str
    """Language of their translations."""


class EntriesQuery(DocumentedModel):
    """Query of entries: their languages and format."""

    source: str = ""
    """Language of the terms; may be omitted, with `target`, if the glossary has one pair."""
    target: str = ""
    """Language of their translations."""
    format: ReadFormat = Field(ReadFormat.JSON)
    """`json`: all that an entry has. `csv`, `tsv`: of several translations, only the preferred one."""


def glossary_routes(services: Services) -> APIRouter:
    """Return all routes of `/v1/glossaries`."""
    routes = APIRouter(tags=["glossaries"], dependencies=openapi.WITH_KEY)
    glossaries, router = services.glossaries, services.translation_service.inference.router
    reader = GlossaryReader(router, glossaries.store.limits.max_entries)
    access = OwnerAccess(services.authenticator, services.file_work, "glossary_id")
    _add_routes_of_all(routes, access, reader, glossaries)
    _add_routes_of_one(routes, access, reader, glossaries)
    _add_routes_of_dictionaries(routes, access, reader, glossaries)
    return routes


def _add_routes_of_all(
    routes: APIRouter, access: OwnerAccess, reader: GlossaryReader, glossaries: GlossaryService
) -> None:
    store = glossaries.store

    @routes.post(
        "/glossaries",
        status_code=CREATED,
        **openapi.describe_route(
            "Create a glossary",
            "The new glossary",
            schemas.GlossaryResponse,
            openapi.error_responses(WRITE_ERRORS),
            openapi.json_or_form(schemas.GlossaryIn, schemas.GlossaryForm),
        ),
    )
    async def create_glossary(connection: Request) -> Response:
        """Store a glossary: JSON with one language pair or several, or a form with a file for one."""
        caller = await access.caller(connection)

        def add(fields: Fields, records: RecordReader) -> Glossary:
            return store.add(caller.key_id, *reader.glossary(fields, records), glossaries.now())

        made = await access.import_records(connection, caller, add)
        return SafeJSONResponse(present_glossary(made), CREATED)

    @routes.get(
        "/glossaries",
        **openapi.describe_route(
            "List the glossaries",
            "The caller's glossaries, the oldest first",
            schemas.GlossariesResponse,
            openapi.error_responses([*READ_ERRORS, ErrorKind.INVALID_INPUT]),
            openapi.request_of(),
        ),
    )
    async def list_glossaries(connection: Request) -> Response:
        """Return the key's glossaries without entries. All callers without a key share theirs."""
        found = await access.find(connection, store.list)
        return SafeJSONResponse({"glossaries": list(map(present_glossary, found))})


def _add_routes_of_one(
    routes: APIRouter, access: OwnerAccess, reader: GlossaryReader, glossaries: GlossaryService
) -> None:
    store = glossaries.store

    @routes.get(
        ONE,
        **describe_one("Return a glossary", "The glossary, without its entries", schemas.GlossaryResponse),
    )
    async def get_glossary(connection: Request) -> Response:
        """Return the glossary's name and language pairs."""
        return SafeJSONResponse(present_glossary(await access.find_one(connection, store.get)))

    @routes.put(
        ONE,
        **describe_change(
            "Replace a glossary",
            "The changed glossary",
            schemas.GlossaryResponse,
            request=openapi.json_or_form(schemas.GlossaryIn, schemas.GlossaryForm, [GLOSSARY_ID]),
        ),
    )
    async def replace_glossary(connection: Request) -> Response:
        """Replace the name and all entries of a glossary. Requests in progress keep the old ones."""
        caller = await access.caller(connection)

        def replace(fields: Fields, records: RecordReader) -> Glossary:
            return store.replace(caller.key_id, access.id_of(connection), *reader.glossary(fields, records))

        changed = await access.import_records(connection, caller, replace)
        return SafeJSONResponse(present_glossary(changed))

    @routes.delete(
        ONE, status_code=NO_CONTENT, **describe_one("Delete a glossary", "The glossary is deleted")
    )
    async def delete_glossary(connection: Request) -> Response:
        """Delete a glossary permanently. Jobs that named it keep their copy of the entries."""
        await access.delete_one(connection, store.delete)
        return Response(status_code=NO_CONTENT)

    @routes.get(
        f"{ONE}/entries",
        response_class=Response,
        **describe_one(
            "Return the entries of a language pair",
            responses={200: _entries_response(), **ERRORS},
            request=openapi.request_of(parameters=[GLOSSARY_ID], query=EntriesQuery),
        ),
    )
    async def get_glossary_entries(connection: Request) -> Response:
        """Return entries as JSON like those of a new glossary, or as a file."""
        owner, query = await access.read(connection, EntriesQuery)
        pair = _pair_of(query)
        found = await run_in_thread(lambda: store.read_dictionary(owner, access.id_of(connection), pair))
        return _present_entries(found, query.format)


def _add_routes_of_dictionaries(
    routes: APIRouter, access: OwnerAccess, reader: GlossaryReader, glossaries: GlossaryService
) -> None:
    store = glossaries.store

    @routes.put(
        f"{ONE}/dictionaries",
        **describe_change(
            "Replace the entries of a language pair",
            "The changed glossary",
            schemas.GlossaryResponse,
            request=openapi.json_or_form(schemas.DictionaryIn, schemas.DictionaryForm, [GLOSSARY_ID]),
        ),
    )
    async def put_dictionary(connection: Request) -> Response:
        """Replace all entries of one language pair, or add the pair to the glossary."""
        caller = await access.caller(connection)

        def put(fields: Fields, records: RecordReader) -> Glossary:
            dictionary = reader.dictionary(fields, records)
            return store.put_dictionary(caller.key_id, access.id_of(connection), dictionary)

        changed = await access.import_records(connection, caller, put)
        return SafeJSONResponse(present_glossary(changed))

    @routes.delete(
        f"{ONE}/dictionaries",
        **describe_one(
            "Remove a language pair",
            "The changed glossary",
            schemas.GlossaryResponse,
            request=openapi.request_of(parameters=[GLOSSARY_ID], query=PairQuery),
        ),
    )
    async def delete_dictionary(connection: Request) -> Response:
        """Remove all entries of one language pair from the glossary."""
        owner, query = await access.read(connection, PairQuery)
        pair = Pair(query.source, query.target)
        changed = await run_in_thread(lambda: store.remove_dictionary(owner, access.id_of(connection), pair))
        return SafeJSONResponse(present_glossary(changed))


def _entries_response() -> dict[str, Any]:
    content: dict[str, Any] = {openapi.JSON: {"schema": openapi.schema_of(schemas.DictionaryIn)}}
    for media_type in MEDIA_TYPES.values():
        content |= openapi.file_response("", media_type)["content"]
    return {"description": "The entries", "content": content}


def _pair_of(query: EntriesQuery) -> Pair | None:
    if not (query.source or query.target):
        return None
    for name in ("source", "target"):
        if not getattr(query, name):
            raise field_error(name, "is missing; name both languages, or none if the glossary has one pair")
    return Pair(query.source, query.target)


def _present_entries(dictionary: Dictionary, read_format: ReadFormat) -> Response:
    if read_format is ReadFormat.JSON:
        pair = dictionary.pair
        return SafeJSONResponse(
            {"source": pair.source, "target": pair.target, "entries": present_terms(dictionary.terms)}
        )
    entries_format = EntriesFormat(read_format)
    return Response(
        write_entries(dictionary.terms, entries_format),
        media_type=MEDIA_TYPES[entries_format],
        headers={"X-Content-Type-Options": "nosniff"},
    )
