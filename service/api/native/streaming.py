"""The route that streams translations as server-sent events."""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from fastapi import APIRouter
from fastapi.responses import Response, StreamingResponse
from fastapi.sse import format_sse_event

from dragoman import DecodingOptions
from service.accounts.keys import Scope
from service.api.native import responses
from service.api.native.requests import StreamRequest
from service.glossaries.glossary_service import GlossaryService
from service.http import openapi
from service.http.authentication import Authenticator
from service.http.errors import ErrorKind, ErrorResponse, EventStream, error_body, to_any_api_error
from service.http.json_route import AuthenticatedRequest, json_route_for
from service.http.threads import cancel_on_disconnect
from service.memories.memory_service import MemoryService
from service.readiness import require_ready
from service.translation.memory import apply_memory
from service.translation.request import TranslationResult
from service.translation.translation_service import (
    Progress,
    StreamDetail,
    TranslationService,
    name_rejected_texts,
)

DESCRIPTION = """Server-sent events, each with a name and JSON data. `segment`: a finished segment, in the
order of its text. `tokens`: the beginning of a segment; only with `stream_tokens`. `done`: all translations,
as the response of `/v1/translate`; the last event. `error`: an error after the first event; the last event.
An error before the first event has an HTTP status."""
ERRORS = (*openapi.MODEL_ERRORS, ErrorKind.NOT_FOUND)
EVENT_DATA = {
    "segment": openapi.schema_of(responses.SegmentEvent),
    "tokens": openapi.schema_of(responses.TokensEvent),
    "done": openapi.reference_to(responses.TranslateResponse),
    "error": openapi.reference_to(ErrorResponse),
}
"""Schema of each event's data, by the event's name."""


def streaming_routes(
    translation_service: TranslationService,
    authenticator: Authenticator,
    glossaries: GlossaryService,
    memories: MemoryService,
) -> APIRouter:
    """Return the route that streams translations."""
    route_class = json_route_for(authenticator, Scope.TRANSLATE)
    router = APIRouter(
        prefix="/v1",
        tags=["translation"],
        route_class=route_class,
        generate_unique_id_function=openapi.operation_id,
    )

    @router.post(
        "/translate/stream",
        summary="Translate and stream the segments",
        response_description=DESCRIPTION,
        response_class=Response,  # else FastAPI documents every response as a stream
        dependencies=openapi.WITH_KEY,
        responses={200: openapi.event_stream(EVENT_DATA), **openapi.error_responses(ERRORS)},
        openapi_extra=dict(openapi.WITHOUT_KEY),
    )
    async def translate_stream(request: StreamRequest, connection: AuthenticatedRequest) -> StreamingResponse:
        """Send the segments of each text in order, those of several texts as they are done.

        If the client disconnects, its texts are cancelled.
        """
        require_ready(translation_service.inference)
        translation_request = await request.translation_request(glossaries, connection.caller)
        if (use := request.memory_use()) is not None:
            translation_request = await apply_memory(
                translation_request, use, connection.caller, memories, translation_service.limits
            )
        detail = StreamDetail.TOKENS if request.stream_tokens else StreamDetail.SEGMENTS
        progress = translation_service.stream(translation_request, connection.caller, detail)
        with name_rejected_texts(request.field_name):  # an error before the first event has a status
            first = await cancel_on_disconnect(connection, anext(progress))
        return EventStream(_events(first, progress, request, translation_request.options.decoding))

    return router


async def _events(
    first: Progress | list[TranslationResult],
    progress: AsyncGenerator[Progress | list[TranslationResult]],
    request: StreamRequest,
    options: DecodingOptions,
) -> AsyncIterator[bytes]:
    async with aclosing(progress):
        try:
            yield _event(first, options)
            with name_rejected_texts(request.field_name):
                async for event in progress:
                    yield _event(event, options)
        except Exception as error:  # noqa: BLE001 -- the response has begun, so its last event has the error
            yield format_sse_event(event="error", data_str=json.dumps(error_body(to_any_api_error(error))))


def _event(progress: Progress | list[TranslationResult], options: DecodingOptions) -> bytes:
    if isinstance(progress, list):
        done = responses.present_results(progress, options)
        return format_sse_event(event="done", data_str=done.model_dump_json(exclude_unset=True))
    event = responses.present_progress(progress)
    name = "segment" if isinstance(event, responses.SegmentEvent) else "tokens"
    return format_sse_event(event=name, data_str=event.model_dump_json())
