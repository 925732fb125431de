"""Routes for translation memories, the same as those of `/v1/memories`."""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from service.accounts.keys import Scope
from service.api.deepl import memory_schemas, schemas
from service.api.deepl.glossary_fields import format_time
from service.api.deepl.languages import REGIONAL_TARGETS
from service.api.deepl.responses import DeepLRoute, enter, enter_to_change, read_id
from service.api.services import Services
from service.http.errors import ErrorKind, SafeJSONResponse
from service.http.fields import NoFields
from service.http.openapi import describe_route, path_parameter, query_parameters, request_of
from service.memories.store import Memory, MemoryStore, StoredPair
from service.work.threads import run_in_thread

ROOT = "/translation_memories"
ONE = f"{ROOT}/{{translation_memory_id}}"
NO_CONTENT = 204
READ_PAIRS = 500
"""Number of pairs that are read at a time, to find those with a text."""
ID = path_parameter("translation_memory_id", "From the list of memories.")


def memory_routes(services: Services) -> APIRouter:
    """Return the routes that list memories and their segments, and that delete a memory."""
    router = APIRouter(route_class=DeepLRoute)
    authenticator, store = services.authenticator, services.memories.store
    errors_of_one = schemas.errors_of(ErrorKind.NOT_FOUND)

    @router.get(
        ROOT,
        **describe_route(
            "List the translation memories",
            "The key's memories",
            memory_schemas.TranslationMemories,
            request=request_of(parameters=query_parameters(memory_schemas.MemoriesQuery)),
        ),
    )
    async def memories(connection: Request) -> Response:
        """List a page of the key's memories, the oldest first."""
        caller, fields = await enter(connection, authenticator, Scope.GLOSSARIES)
        query = fields.read(memory_schemas.MemoriesQuery)
        found = await run_in_thread(lambda: store.list(caller.key_id))
        start = query.page * query.page_size
        shown = [_present_memory(each) for each in found[start : start + query.page_size]]
        return SafeJSONResponse({"translation_memories": shown, "total_count": len(found)})

    @router.get(
        ONE,
        **describe_route(
            "Return one translation memory",
            "The memory",
            memory_schemas.TranslationMemory,
            errors_of_one,
            request_of(parameters=[ID]),
        ),
    )
    async def memory(connection: Request) -> Response:
        """Return everything about a memory but its segments."""
        caller, _ = await enter(connection, authenticator, Scope.GLOSSARIES)
        found = await run_in_thread(lambda: store.get(caller.key_id, _id(connection)))
        return SafeJSONResponse(_present_memory(found))

    @router.get(
        f"{ONE}/segments",
        **describe_route(
            "List the segments of a translation memory",
            "One page of segments",
            memory_schemas.MemorySegments,
            errors_of_one,
            request_of(parameters=[ID, *query_parameters(memory_schemas.SegmentsQuery)]),
        ),
    )
    async def memory_segments(connection: Request) -> Response:
        """Return segments with their translations, those with a text in one of these if it is named."""
        caller, fields = await enter(connection, authenticator, Scope.GLOSSARIES)
        query = fields.read(memory_schemas.SegmentsQuery)

        def find() -> dict[str, Any]:
            memory = store.get(caller.key_id, _id(connection))
            return _present_segments(memory, *_find_segments(store, caller.key_id, memory.id, query))

        return SafeJSONResponse(await run_in_thread(find))

    @router.delete(
        ONE,
        status_code=NO_CONTENT,
        **describe_route(
            "Delete a translation memory",
            "The memory is deleted",
            responses=errors_of_one,
            request=request_of(parameters=[ID]),
        ),
    )
    async def delete_memory(connection: Request) -> Response:
        """Delete a memory permanently."""
        caller, _ = await enter_to_change(connection, authenticator, NoFields)
        await run_in_thread(lambda: store.delete(caller.key_id, _id(connection)))
        return Response(status_code=NO_CONTENT)

    return router


def _id(connection: Request) -> str:
    return read_id(connection.path_params["translation_memory_id"], "translation_memory_id")


def _find_segments(
    store: MemoryStore, owner: str | None, memory_id: str, query: memory_schemas.SegmentsQuery
) -> tuple[list[StoredPair], str | None]:
    """Return a page of pairs, and the cursor of the next one; None if there is none."""
    found: list[StoredPair] = []
    after = query.page_cursor or None
    while True:
        pairs = store.page(owner, memory_id, READ_PAIRS, after)
        for each in pairs:
            if query.fits(each.pair.source) or query.fits(each.pair.target):
                if len(found) == query.page_size:
                    return found, found[-1].id
                found.append(each)
        if len(pairs) < READ_PAIRS:
            return found, None
        after = pairs[-1].id


def _present_memory(memory: Memory) -> dict[str, Any]:
    source, target = (code.lower().replace("_", "-") for code in memory.pair)
    return {
        "translation_memory_id": memory.id,
        "name": memory.name,
        "source_language": source,
        "target_languages": [target, *(code.lower() for code in REGIONAL_TARGETS.get(target, ()))],
        "segment_count": memory.num_pairs,
        "creation_time": format_time(memory.created_at),
    }


def _present_segments(memory: Memory, found: list[StoredPair], cursor: str | None) -> dict[str, Any]:
    language = memory.pair.target.lower().replace("_", "-")
    segments = [
        {
            "source_segment_id": each.id,
            "source_text": each.pair.source,
            "targets": [
                {"target_segment_id": each.id, "target_language": language, "target_text": each.pair.target}
            ],
        }
        for each in found
    ]
    shown = {"segments": segments, "segment_count": memory.num_pairs}
    return shown if cursor is None else {**shown, "next_page_cursor": cursor}
