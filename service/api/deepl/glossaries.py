"""Routes for glossaries: stored if the operator enables it, listed, read, deleted. No translation uses them.

A client that creates a glossary expects translations to use it. Rejecting it at creation is clearer than
rejecting every translation that names it.
"""

from collections.abc import Callable
from datetime import UTC
from typing import Any, TypeVar

from fastapi import APIRouter, Request
from fastapi.responses import Response

from service.accounts.errors import NoDatabase, UnknownGlossary
from service.accounts.glossaries import EntriesFormat, Glossary, NewGlossary
from service.accounts.keys import Caller, Scope
from service.api.deepl import schemas
from service.api.deepl.catalogue import base_code, served_pairs
from service.api.deepl.responses import DeepLError, DeepLRoute, enter
from service.api.languages import RoutesCache
from service.http.authentication import Authenticator
from service.http.errors import ApiError, ErrorKind, SafeJSONResponse, field_error
from service.http.fields import Fields
from service.http.openapi import FORM, JSON, file_response, path_parameter, request_of
from service.http.threads import run_in_thread
from service.translation.translation_service import TranslationService

CREATED, NO_CONTENT = 201, 204
NOT_STORED = "Glossaries are not supported."
HOW_TO_STORE = (
    "glossaries are not used in translations; send texts without one, or have the server's operator set "
    "glossaries = stored to keep them for later"
)
ONE = "/glossaries/{glossary_id}"
TSV = "text/tab-separated-values"
ACCEPTED_MEDIA_TYPES = frozenset({TSV, "text/*", "*/*"})

Result = TypeVar("Result")


def glossary_routes(
    translation_service: TranslationService, authenticator: Authenticator, *, stores_new: bool
) -> APIRouter:
    """Return the routes for a key's own glossaries.

    Args:
        translation_service: knows the served pairs.
        authenticator: checks API keys and rate limits.
        stores_new: whether to store new glossaries; otherwise they are rejected, and no pair is listed.
    """
    router = APIRouter(route_class=DeepLRoute)
    pairs = RoutesCache(translation_service.inference, served_pairs)

    @router.get(
        "/glossary-language-pairs",
        summary="List the language pairs of glossaries",
        response_model=schemas.GlossaryPairs,
        response_description="The pairs",
        openapi_extra=request_of(),
    )
    async def language_pairs(connection: Request) -> Response:
        """Return all pairs that the server translates if it stores glossaries, otherwise none."""
        await enter(connection, authenticator, scope=None)
        if not stores_new:
            return SafeJSONResponse({"supported_languages": []})
        supported_pairs = [
            {"source_lang": source, "target_lang": target} for source, target in await pairs.current()
        ]
        return SafeJSONResponse({"supported_languages": supported_pairs})

    @router.post(
        "/glossaries",
        status_code=CREATED,
        summary="Store a glossary",
        response_model=schemas.DeepLGlossary,
        response_description="The stored glossary",
        openapi_extra=request_of(schemas.CreateGlossaryIn, [JSON, FORM]),
    )
    async def create(connection: Request) -> Response:
        """Store terms of one language with their translations into another."""
        caller, fields = await enter(connection, authenticator, Scope.GLOSSARIES)
        if not stores_new:
            raise DeepLError(ErrorKind.MALFORMED, NOT_STORED, detail=HOW_TO_STORE)
        new_glossary = _new_glossary(fields)
        if (new_glossary.source, new_glossary.target) not in await pairs.current():
            raise field_error(
                "target_lang",
                f"the pair {new_glossary.source[:40]} -> {new_glossary.target[:40]} is not served",
            )
        made = await run_in_thread(lambda: authenticator.accounts.add_glossary(caller, new_glossary))
        return SafeJSONResponse(_present(made), CREATED)

    @router.get(
        "/glossaries",
        summary="List all glossaries",
        response_model=schemas.Glossaries,
        response_description="The key's glossaries",
        openapi_extra=request_of(),
    )
    async def all_glossaries(connection: Request) -> Response:
        """List the key's glossaries, the oldest first."""
        caller, _ = await enter(connection, authenticator, Scope.GLOSSARIES)
        found = await run_in_thread(lambda: authenticator.accounts.list_glossaries(caller))
        return SafeJSONResponse({"glossaries": [_present(glossary) for glossary in found]})

    _add_routes_of_one(router, authenticator)
    return router


def _add_routes_of_one(router: APIRouter, authenticator: Authenticator) -> None:
    errors = schemas.errors_of(ErrorKind.NOT_FOUND)
    of_one = request_of(parameters=[path_parameter("glossary_id", "From the response to its creation.")])

    async def find(connection: Request, lookup: Callable[[Caller, str], Result]) -> Result:
        caller, _ = await enter(connection, authenticator, Scope.GLOSSARIES)
        glossary_id = str(connection.path_params["glossary_id"])
        return await _look_up(lambda: lookup(caller, glossary_id), glossary_id)

    @router.get(
        ONE,
        summary="Return one glossary",
        response_model=schemas.DeepLGlossary,
        response_description="The glossary",
        responses=errors,
        openapi_extra=of_one,
    )
    async def one(connection: Request) -> Response:
        """Return everything about a glossary but its entries."""
        return SafeJSONResponse(_present(await find(connection, authenticator.accounts.get_glossary)))

    @router.get(
        f"{ONE}/entries",
        summary="Return a glossary's entries",
        response_class=Response,
        responses={**errors, 200: file_response("The entries", TSV)},
        openapi_extra=of_one,
    )
    async def entries(connection: Request) -> Response:
        """Return lines of source term, tab, target term and line feed."""
        _require_tsv(connection)
        return Response(await find(connection, authenticator.accounts.glossary_tsv), media_type=TSV)

    @router.delete(
        ONE,
        status_code=NO_CONTENT,
        summary="Delete a glossary",
        response_description="The glossary is deleted",
        responses=errors,
        openapi_extra=of_one,
    )
    async def delete(connection: Request) -> Response:
        """Delete a glossary permanently."""
        await find(connection, authenticator.accounts.delete_glossary)
        return Response(status_code=NO_CONTENT)


async def _look_up(lookup: Callable[[], Result], glossary_id: str) -> Result:
    """Look up a glossary on a thread; raise UnknownGlossary if there is no database to store any."""
    try:
        return await run_in_thread(lookup)
    except NoDatabase as error:
        raise UnknownGlossary(glossary_id) from error


def _new_glossary(fields: Fields) -> NewGlossary:
    values = []
    for name in ("name", "source_lang", "target_lang", "entries", "entries_format"):
        value = fields.string(name)
        if value is None:
            raise field_error(name, "is missing")
        values.append(value)
    name, source, target, entries, entries_format = values
    if entries_format not in tuple(EntriesFormat):
        raise field_error("entries_format", f"must be one of {', '.join(EntriesFormat)}")
    # A glossary applies to all regions of a language.
    languages = (base_code(source).lower(), base_code(target).lower())
    return NewGlossary(name, *languages, entries, EntriesFormat(entries_format))


def _require_tsv(connection: Request) -> None:
    accepted = connection.headers.get("accept", TSV).split(",")
    if not any(each.split(";")[0].strip().lower() in ACCEPTED_MEDIA_TYPES for each in accepted):
        raise ApiError(ErrorKind.UNSUPPORTED_MEDIA_TYPE, f"entries are {TSV}; send it in the header Accept")


def _present(glossary: Glossary) -> dict[str, Any]:
    created_at = glossary.created_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return {
        "glossary_id": glossary.id,
        "name": glossary.name,
        "ready": False,  # clients read it as "translations may use it"
        "source_lang": glossary.source,
        "target_lang": glossary.target,
        "creation_time": created_at,  # clients expect fractions of a second
        "entry_count": glossary.entry_count,
    }
