"""The routes of `/v1/memories` and `/v1/suggestions`: a key's own translation memories."""

from functools import partial

from fastapi import APIRouter, Request
from fastapi.responses import Response

from dragoman.types import Pair
from service.accounts.keys import Scope
from service.api.native import memory_fields as schemas
from service.api.native.owner_access import CREATED, NO_CONTENT, READ_ERRORS, WRITE_ERRORS, OwnerAccess
from service.api.services import Services
from service.formats.isolation import RecordReader
from service.http import openapi
from service.http.errors import ApiError, ErrorKind, SafeJSONResponse
from service.http.fields import Fields, read_fields
from service.memories.memory_service import MemoryService
from service.memories.pairs import SegmentPair
from service.memories.store import Memory
from service.work.threads import run_in_thread

ROOT = "/v1/memories"
MEMORY_PATHS = frozenset({ROOT, f"{ROOT}/"})
"""Paths whose bodies may be as large as documents."""
ONE = "/memories/{memory_id}"
MEMORY_ID = openapi.path_parameter("memory_id", "From the response to its creation.")
PAIR_ID = openapi.path_parameter("pair_id", "From the list of pairs.")
describe_one = partial(
    openapi.describe_route,
    responses=openapi.error_responses([*READ_ERRORS, ErrorKind.NOT_FOUND]),
    request=openapi.request_of(parameters=[MEMORY_ID]),
)


def memory_routes(services: Services) -> APIRouter:
    """Return all routes of `/v1/memories` and `/v1/suggestions`."""
    routes = APIRouter(tags=["memories"], dependencies=openapi.WITH_KEY)
    access = OwnerAccess(services.authenticator, services.file_work, "memory_id")
    _add_routes_of_all(routes, access, services.memories)
    _add_routes_of_one(routes, access, services.memories)
    _add_routes_of_pairs(routes, access, services.memories)
    _add_suggestions(routes, services)
    return routes


def _add_routes_of_all(routes: APIRouter, access: OwnerAccess, memories: MemoryService) -> None:
    store = memories.store

    @routes.post(
        "/memories",
        status_code=CREATED,
        **openapi.describe_route(
            "Create a translation memory",
            "The new memory",
            schemas.ChangedMemoryResponse,
            openapi.error_responses(WRITE_ERRORS),
            openapi.json_or_form(schemas.MemoryIn, schemas.MemoryForm),
        ),
    )
    async def create_memory(connection: Request) -> Response:
        """Store pairs of one language pair: in JSON, or as a TMX file in a form."""
        caller = await access.caller(connection)

        def add(fields: Fields, reader: RecordReader) -> tuple[Memory, int]:
            sent = fields.read(schemas.MemoryForm) if fields.uploads else fields.read(schemas.MemoryIn)
            pair = Pair(sent.source, sent.target)
            pairs = schemas.ReceivedPairs(sent, pair, reader)
            return store.add(caller.key_id, sent.name, pair, pairs), pairs.num_skipped

        made, num_skipped = await access.import_records(connection, caller, add)
        return SafeJSONResponse(schemas.present_changed(made, num_skipped), CREATED)

    @routes.get(
        "/memories",
        **openapi.describe_route(
            "List the translation memories",
            "The caller's memories, the oldest first",
            schemas.MemoriesResponse,
            openapi.error_responses(READ_ERRORS),
            openapi.request_of(),
        ),
    )
    async def list_memories(connection: Request) -> Response:
        """Return the key's memories without pairs. All callers without a key share theirs."""
        found = await access.find(connection, store.list)
        return SafeJSONResponse({"memories": list(map(schemas.present_memory, found))})


def _add_routes_of_one(routes: APIRouter, access: OwnerAccess, memories: MemoryService) -> None:
    store = memories.store

    @routes.get(
        ONE,
        **describe_one(
            "Return a translation memory", "The memory, without its pairs", schemas.MemoryResponse
        ),
    )
    async def get_memory(connection: Request) -> Response:
        """Return the memory's name, languages and size."""
        return SafeJSONResponse(schemas.present_memory(await access.find_one(connection, store.get)))

    @routes.delete(
        ONE, status_code=NO_CONTENT, **describe_one("Delete a translation memory", "The memory is deleted")
    )
    async def delete_memory(connection: Request) -> Response:
        """Delete a memory permanently. Jobs that named it and have not ended fail."""
        await access.delete_one(connection, store.delete)
        return Response(status_code=NO_CONTENT)


def _add_routes_of_pairs(routes: APIRouter, access: OwnerAccess, memories: MemoryService) -> None:
    store = memories.store

    @routes.get(
        f"{ONE}/pairs",
        **openapi.describe_route(
            "List the pairs of a translation memory",
            "One page of pairs",
            schemas.PairsResponse,
            openapi.error_responses([*READ_ERRORS, ErrorKind.NOT_FOUND, ErrorKind.INVALID_INPUT]),
            openapi.request_of(parameters=[MEMORY_ID], query=schemas.PairsQuery),
        ),
    )
    async def list_memory_pairs(connection: Request) -> Response:
        """Return pairs with their ids, in the order of these."""
        owner, query = await access.read(connection, schemas.PairsQuery)
        found = await run_in_thread(
            lambda: store.page(owner, access.id_of(connection), query.limit + 1, query.cursor or None)
        )
        return SafeJSONResponse(schemas.present_pairs(found, query.limit))

    @routes.post(
        f"{ONE}/pairs",
        **openapi.describe_route(
            "Add pairs to a translation memory",
            "The changed memory",
            schemas.ChangedMemoryResponse,
            openapi.error_responses([*WRITE_ERRORS, ErrorKind.NOT_FOUND]),
            openapi.json_or_form(schemas.PairsIn, schemas.PairsForm, [MEMORY_ID]),
        ),
    )
    async def add_memory_pairs(connection: Request) -> Response:
        """Add pairs; one with the same source as a stored pair replaces it."""
        caller = await access.caller(connection)
        memory = await run_in_thread(lambda: store.get(caller.key_id, access.id_of(connection)))

        def add(fields: Fields, reader: RecordReader) -> tuple[Memory, int]:
            sent = fields.read(schemas.PairsForm) if fields.uploads else fields.read(schemas.PairsIn)
            pairs = schemas.ReceivedPairs(sent, memory.pair, reader)
            return store.add_pairs(caller.key_id, memory.id, pairs), pairs.num_skipped

        changed, num_skipped = await access.import_records(connection, caller, add)
        return SafeJSONResponse(schemas.present_changed(changed, num_skipped))

    @routes.delete(
        f"{ONE}/pairs/{{pair_id}}",
        **describe_one(
            "Delete a pair of a translation memory",
            "The changed memory",
            schemas.MemoryResponse,
            request=openapi.request_of(parameters=[MEMORY_ID, PAIR_ID]),
        ),
    )
    async def delete_memory_pair(connection: Request) -> Response:
        """Delete one pair."""
        pair_id = str(connection.path_params["pair_id"])
        changed = await access.delete_one(
            connection, lambda owner, memory_id: store.delete_pair(owner, memory_id, pair_id)
        )
        return SafeJSONResponse(schemas.present_memory(changed))


def _add_suggestions(routes: APIRouter, services: Services) -> None:
    authenticator = services.authenticator

    @routes.post(
        "/suggestions",
        status_code=CREATED,
        **openapi.describe_route(
            "Suggest a better translation",
            "The memory that has the suggestion",
            schemas.MemoryResponse,
            openapi.error_responses(WRITE_ERRORS),
            openapi.request_of(schemas.SuggestionIn, [openapi.JSON]),
        ),
    )
    async def create_suggestion(connection: Request) -> Response:
        """Store a correction in the caller's own memory `suggestions` of the language pair."""
        caller = await authenticator.authenticate_header(connection, Scope.TRANSLATE)
        if services.settings.suggestions == "off":
            problem = "suggestions are off; the server's operator can set suggestions = on"
            raise ApiError(ErrorKind.FORBIDDEN, problem)
        sent = (await read_fields(connection)).read(schemas.SuggestionIn)
        pair, suggested = Pair(sent.source, sent.target), SegmentPair(sent.text, sent.translation)
        memory = await run_in_thread(lambda: services.memories.store.suggest(caller.key_id, pair, suggested))
        return SafeJSONResponse(schemas.present_memory(memory), CREATED)
