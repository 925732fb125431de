"""Routes for translation memories, the same as those of `/v1/memories`."""

from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from service.api.deepl import memory_schemas, schemas
from service.api.deepl.access import NO_CONTENT, DeepLOwnerAccess
from service.api.deepl.glossary_fields import format_time
from service.api.deepl.languages import REGIONAL_TARGETS
from service.api.deepl.responses import NEXT_ROOT
from service.api.services import Services
from service.http import openapi
from service.http.errors import ErrorKind, SafeJSONResponse
from service.memories.store import Memory, MemoryStore, StoredPair
from service.work.threads import run_in_thread

MEMORIES = f"{NEXT_ROOT}/translation_memories"
ONE = f"{MEMORIES}/{{translation_memory_id}}"
READ_PAIRS = 500
"""Number of pairs that are read at a time, to find those with a text."""
MEMORY_ID = "translation_memory_id"
ID = openapi.path_parameter(MEMORY_ID, "From the list of memories.")
describe_one = partial(
    openapi.describe_route,
    responses=schemas.errors_of(ErrorKind.NOT_FOUND),
    request=openapi.request_of(parameters=[ID]),
)


def add_memories(router: APIRouter, services: Services) -> None:
    """Add the routes that list memories and their segments, and that delete a memory."""
    access = DeepLOwnerAccess(services.authenticator, MEMORY_ID)
    store = services.memories.store

    @router.get(
        MEMORIES,
        **openapi.describe_route(
            "List the translation memories",
            "The key's memories",
            memory_schemas.TranslationMemories,
            request=openapi.request_of(query=memory_schemas.MemoriesQuery),
        ),
    )
    async def memories(connection: Request) -> Response:
        """List a page of the key's memories, the oldest first."""
        caller, fields = await access.enter(connection)
        query = fields.read(memory_schemas.MemoriesQuery)
        found = await run_in_thread(lambda: store.list(caller.key_id))
        start = query.page * query.page_size
        shown = [_present_memory(each) for each in found[start : start + query.page_size]]
        return SafeJSONResponse({"translation_memories": shown, "total_count": len(found)})

    @router.get(
        ONE, **describe_one("Return one translation memory", "The memory", memory_schemas.TranslationMemory)
    )
    async def memory(connection: Request) -> Response:
        """Return everything about a memory but its segments."""
        return SafeJSONResponse(_present_memory(await access.find_one(connection, store.get)))

    @router.get(
        f"{ONE}/segments",
        **describe_one(
            "List the segments of a translation memory",
            "One page of segments",
            memory_schemas.MemorySegments,
            request=openapi.request_of(parameters=[ID], query=memory_schemas.SegmentsQuery),
        ),
    )
    async def memory_segments(connection: Request) -> Response:
        """Return segments with their translations, those with a text in one of these if it is named."""
        caller, fields = await access.enter(connection)
        query = fields.read(memory_schemas.SegmentsQuery)

        def find() -> dict[str, Any]:
            memory = store.get(caller.key_id, access.id_of(connection))
            found = islice(_fitting_pairs(store, caller.key_id, memory.id, query), query.page_size + 1)
            return _present_segments(memory, list(found), query.page_size)

        return SafeJSONResponse(await run_in_thread(find))

    @router.delete(
        ONE, status_code=NO_CONTENT, **describe_one("Delete a translation memory", "The memory is deleted")
    )
    async def delete_memory(connection: Request) -> Response:
        """Delete a memory permanently."""
        return await access.delete_one(connection, store.delete)


def _fitting_pairs(
    store: MemoryStore, owner: str | None, memory_id: str, query: memory_schemas.SegmentsQuery
) -> Iterator[StoredPair]:
    """Yield the pairs after the cursor that have the text of the query."""
    after = query.page_cursor or None
    while pairs := store.page(owner, memory_id, READ_PAIRS, after):
        yield from (each for each in pairs if query.fits(each.pair.source) or query.fits(each.pair.target))
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
        "updated_time": format_time(memory.updated_at),
    }


def _present_segments(memory: Memory, found: list[StoredPair], page_size: int) -> dict[str, Any]:
    """Return a page of at most `page_size` pairs; `found` has one more if there is a next page."""
    language = memory.pair.target.lower().replace("_", "-")
    segments = [
        {
            "source_segment_id": each.id,
            "source_text": each.pair.source,
            "targets": [
                {"target_segment_id": each.id, "target_language": language, "target_text": each.pair.target}
            ],
        }
        for each in found[:page_size]
    ]
    cursor = {"next_page_cursor": found[page_size - 1].id} if len(found) > page_size else {}
    return {"segments": segments, "segment_count": memory.num_pairs, **cursor}
