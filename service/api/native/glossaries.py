"""The routes of `/v1/glossaries`: create, list, read, replace and delete a key's own glossaries."""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, TypeVar

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import Field

from dragoman.types import Pair
from service.accounts.keys import Caller, Scope
from service.api.native import glossary_fields as schemas
from service.api.native.glossary_fields import GlossaryReader, present_glossary
from service.glossaries.entries import Dictionary, EntriesFormat, write_entries
from service.glossaries.glossary_service import GlossaryService
from service.glossaries.json_terms import present_terms
from service.http import openapi
from service.http.authentication import Authenticator, key_in_headers
from service.http.errors import ErrorKind, SafeJSONResponse, field_error
from service.http.fields import Fields, read_fields
from service.http.openapi import DocumentedModel
from service.http.threads import run_in_thread
from service.translation.translation_service import TranslationService

ROOT = "/v1/glossaries"
GLOSSARY_PATHS = frozenset({ROOT, f"{ROOT}/"})
"""Paths whose bodies may be as large as documents."""
ONE = "/glossaries/{glossary_id}"
CREATED, NO_CONTENT = 201, 204
READ_ERRORS = (*openapi.KEY_ERRORS, ErrorKind.CLIENT_TIMEOUT, ErrorKind.TOO_LARGE, ErrorKind.INVALID_INPUT)
WRITE_ERRORS = (*openapi.KEY_ERRORS, *openapi.BODY_ERRORS)
GLOSSARY_ID = openapi.path_parameter("glossary_id", "From the response to its creation.")
MEDIA_TYPES = {EntriesFormat.TSV: "text/tab-separated-values", EntriesFormat.CSV: "text/csv"}

Result = TypeVar("Result")


class ReadFormat(StrEnum):
    """The formats in which entries can be read."""

    JSON = "json"
    CSV = "csv"
    TSV = "tsv"


class PairQuery(DocumentedModel):
    """A language pair of a glossary."""

    source: str
    """Language of the terms."""
    target: str
    """Language of their translations."""


class EntriesQuery(DocumentedModel):
    """Which entries to return, and how."""

    source: str = ""
    """Language of the terms; may be omitted, with `target`, if the glossary has one pair."""
    target: str = ""
    """Language of their translations."""
    format: ReadFormat = Field(ReadFormat.JSON)
    """`json`: all that an entry has. `csv`, `tsv`: of several translations, only the preferred one."""


def native_glossary_routes(
    translation_service: TranslationService, authenticator: Authenticator, glossaries: GlossaryService
) -> APIRouter:
    """Return all routes of `/v1/glossaries`."""
    routes = APIRouter(
        prefix="/v1",
        tags=["glossaries"],
        dependencies=openapi.WITH_KEY,
        generate_unique_id_function=openapi.operation_id,
    )
    reader = GlossaryReader(translation_service.inference.router, glossaries.store.limits.max_entries)
    access = _GlossaryAccess(authenticator, reader)
    _add_routes_of_all(routes, access, glossaries)
    _add_routes_of_one(routes, access, glossaries)
    _add_routes_of_dictionaries(routes, access, glossaries)
    return routes


class _GlossaryAccess:
    """Authenticates callers and reads their requests."""

    def __init__(self, authenticator: Authenticator, reader: GlossaryReader) -> None:
        self.reader = reader
        self._authenticator = authenticator

    async def authenticate(self, connection: Request) -> str | None:
        """Return the owner of the caller's glossaries."""
        caller: Caller = await self._authenticator.authenticate(
            connection, key_in_headers(connection), Scope.GLOSSARIES
        )
        return caller.key_id

    async def read(self, connection: Request, read: Callable[[Fields], Result]) -> tuple[str | None, Result]:
        """Return the owner and what `read` finds in the fields, on a thread."""
        owner = await self.authenticate(connection)
        fields = await read_fields(connection)
        return owner, await run_in_thread(lambda: read(fields))


def _id(connection: Request) -> str:
    return str(connection.path_params["glossary_id"])


def _body(json_model: type[DocumentedModel], form: type[DocumentedModel], *parameters: Any) -> dict[str, Any]:
    """Return the documentation of a body that is JSON or a form."""
    operation = openapi.request_of(json_model, [openapi.JSON], parameters)
    content = operation["requestBody"]["content"]
    content[openapi.MULTIPART] = {"schema": openapi.schema_of(form)}
    return operation


def _add_routes_of_all(routes: APIRouter, access: _GlossaryAccess, glossaries: GlossaryService) -> None:
    store = glossaries.store

    @routes.post(
        "/glossaries",
        summary="Create a glossary",
        status_code=CREATED,
        response_model=schemas.GlossaryResponse,
        response_description="The new glossary",
        responses=openapi.error_responses(WRITE_ERRORS),
        openapi_extra=_body(schemas.GlossaryIn, schemas.GlossaryForm),
    )
    async def create_glossary(connection: Request) -> Response:
        """Store a glossary: JSON with one language pair or several, or a form with a file for one."""
        owner, (name, dictionaries) = await access.read(connection, access.reader.glossary)
        made = await run_in_thread(lambda: store.add(owner, name, dictionaries, glossaries.now()))
        return SafeJSONResponse(present_glossary(made), CREATED)

    @routes.get(
        "/glossaries",
        summary="List the glossaries",
        response_model=schemas.GlossariesResponse,
        response_description="The caller's glossaries, the oldest first",
        responses=openapi.error_responses(READ_ERRORS),
        openapi_extra=openapi.request_of(),
    )
    async def list_glossaries(connection: Request) -> Response:
        """Return the key's glossaries without entries. All callers without a key share theirs."""
        owner = await access.authenticate(connection)
        found = await run_in_thread(lambda: store.list(owner))
        return SafeJSONResponse({"glossaries": list(map(present_glossary, found))})


def _add_routes_of_one(routes: APIRouter, access: _GlossaryAccess, glossaries: GlossaryService) -> None:
    store = glossaries.store
    errors = openapi.error_responses([*READ_ERRORS, ErrorKind.NOT_FOUND])

    @routes.get(
        ONE,
        summary="Return a glossary",
        response_model=schemas.GlossaryResponse,
        response_description="The glossary, without its entries",
        responses=errors,
        openapi_extra=openapi.request_of(parameters=[GLOSSARY_ID]),
    )
    async def get_glossary(connection: Request) -> Response:
        """Return the glossary's name and language pairs."""
        owner = await access.authenticate(connection)
        return SafeJSONResponse(
            present_glossary(await run_in_thread(lambda: store.get(owner, _id(connection))))
        )

    @routes.put(
        ONE,
        summary="Replace a glossary",
        response_model=schemas.GlossaryResponse,
        response_description="The changed glossary",
        responses=openapi.error_responses([*WRITE_ERRORS, ErrorKind.NOT_FOUND]),
        openapi_extra=_body(schemas.GlossaryIn, schemas.GlossaryForm, GLOSSARY_ID),
    )
    async def replace_glossary(connection: Request) -> Response:
        """Replace the name and all entries of a glossary. Requests in progress keep the old ones."""
        owner, (name, dictionaries) = await access.read(connection, access.reader.glossary)
        changed = await run_in_thread(lambda: store.replace(owner, _id(connection), name, dictionaries))
        return SafeJSONResponse(present_glossary(changed))

    @routes.delete(
        ONE,
        summary="Delete a glossary",
        status_code=NO_CONTENT,
        response_description="The glossary is deleted",
        responses=errors,
        openapi_extra=openapi.request_of(parameters=[GLOSSARY_ID]),
    )
    async def delete_glossary(connection: Request) -> Response:
        """Delete a glossary permanently. Jobs that named it keep their copy of the entries."""
        owner = await access.authenticate(connection)
        await run_in_thread(lambda: store.delete(owner, _id(connection)))
        return Response(status_code=NO_CONTENT)

    @routes.get(
        f"{ONE}/entries",
        summary="Return the entries of a language pair",
        response_class=Response,
        responses={200: _entries_response(), **errors},
        openapi_extra=openapi.request_of(parameters=[GLOSSARY_ID, *openapi.query_parameters(EntriesQuery)]),
    )
    async def get_glossary_entries(connection: Request) -> Response:
        """Return entries as JSON like those of a new glossary, or as a file."""
        owner, (pair, read_format) = await access.read(
            connection, lambda fields: _entries_query(fields, access)
        )
        found = await run_in_thread(lambda: store.read_dictionary(owner, _id(connection), pair))
        return _present_entries(found, read_format)


def _add_routes_of_dictionaries(
    routes: APIRouter, access: _GlossaryAccess, glossaries: GlossaryService
) -> None:
    store = glossaries.store

    @routes.put(
        f"{ONE}/dictionaries",
        summary="Replace the entries of a language pair",
        response_model=schemas.GlossaryResponse,
        response_description="The changed glossary",
        responses=openapi.error_responses([*WRITE_ERRORS, ErrorKind.NOT_FOUND]),
        openapi_extra=_body(schemas.DictionaryIn, schemas.DictionaryForm, GLOSSARY_ID),
    )
    async def put_dictionary(connection: Request) -> Response:
        """Replace all entries of one language pair, or add the pair to the glossary."""
        owner, dictionary = await access.read(connection, access.reader.dictionary)
        changed = await run_in_thread(lambda: store.put_dictionary(owner, _id(connection), dictionary))
        return SafeJSONResponse(present_glossary(changed))

    @routes.delete(
        f"{ONE}/dictionaries",
        summary="Remove a language pair",
        response_model=schemas.GlossaryResponse,
        response_description="The changed glossary",
        responses=openapi.error_responses([*READ_ERRORS, ErrorKind.NOT_FOUND]),
        openapi_extra=openapi.request_of(parameters=[GLOSSARY_ID, *openapi.query_parameters(PairQuery)]),
    )
    async def delete_dictionary(connection: Request) -> Response:
        """Remove all entries of one language pair from the glossary."""
        owner, pair = await access.read(connection, access.reader.named_pair)
        changed = await run_in_thread(lambda: store.remove_dictionary(owner, _id(connection), pair))
        return SafeJSONResponse(present_glossary(changed))


def _entries_response() -> dict[str, Any]:
    content: dict[str, Any] = {openapi.JSON: {"schema": openapi.schema_of(schemas.DictionaryIn)}}
    for media_type in MEDIA_TYPES.values():
        content |= openapi.file_response("", media_type)["content"]
    return {"description": "The entries", "content": content}


def _entries_query(fields: Fields, access: _GlossaryAccess) -> tuple[Pair | None, ReadFormat]:
    named = fields.string("format") or ReadFormat.JSON
    if named not in tuple(ReadFormat):
        raise field_error("format", f"must be one of {', '.join(ReadFormat)}")
    has_pair = fields.string("source") or fields.string("target")
    return access.reader.named_pair(fields) if has_pair else None, ReadFormat(named)


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
