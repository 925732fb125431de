"""Routes that translate texts, at once or as a stream of server-sent events, and that analyse them."""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from fastapi import APIRouter
from fastapi.responses import Response, StreamingResponse
from fastapi.sse import format_sse_event

from dragoman import DecodingOptions, InputError
from service.accounts.keys import Caller, Scope
from service.api.native import responses
from service.api.native.requests import DetectRequest, ScoreRequest, StreamRequest, TranslateRequest
from service.api.readiness import require_ready
from service.api.rejected_texts import name_rejected_texts
from service.api.services import Services
from service.http import errors, openapi
from service.http.json_route import AuthenticatedRequest, json_route_for
from service.http.streams import EventStream
from service.translation.memory import apply_memory
from service.translation.request import TranslationRequest, TranslationResult
from service.translation.streaming import Progress, StreamDetail

DESCRIPTION = """Server-sent events, each with a name and JSON data. `segment`: a finished segment, in the
order of its text. `tokens`: the beginning of a segment; only with `stream_tokens`. `done`: all translations,
as the response of `/v1/translate`; the last event. `error`: an error after the first event; the last event.
An error before the first event has an HTTP status."""
ERRORS = (*openapi.MODEL_ERRORS, errors.ErrorKind.NOT_FOUND)
EVENT_DATA = {
    "segment": openapi.schema_of(responses.SegmentEvent),
    "tokens": openapi.schema_of(responses.TokensEvent),
    "done": openapi.reference_to(responses.TranslateResponse),
    "error": openapi.reference_to(errors.ErrorResponse),
}
"""Schema of each event's data, by the event's name."""


PAIR_FIELDS = frozenset({"source", "target"})
"""Names of a pair's texts; in an error without a position, the same names mean languages."""


def text_routes(services: Services) -> APIRouter:
    """Return the routes that translate texts."""
    translation_service = services.translation_service
    router = APIRouter(
        tags=["translation"],
        dependencies=openapi.WITH_KEY,
        route_class=json_route_for(services.authenticator, Scope.TRANSLATE),
    )

    async def prepare(request: TranslateRequest, caller: Caller) -> TranslationRequest:
        require_ready(translation_service.inference)
        prepared = await request.translation_request(services.glossaries, caller)
        if (use := request.memory_use()) is None:
            return prepared
        return await apply_memory(prepared, use, caller, services.memories, translation_service.limits)

    @router.post(
        "/translate",
        response_model_exclude_unset=True,
        **openapi.describe_route(
            "Translate one text or many",
            "The translations, in the order of the texts",
            responses=openapi.error_responses(ERRORS),
            request=dict(openapi.WITHOUT_KEY),
        ),
    )
    async def translate(
        request: TranslateRequest, connection: AuthenticatedRequest
    ) -> responses.TranslateResponse:
        """Translate each text on its own; if any cannot be translated, the request fails and names all such.

        The same request, sent again while it is in progress, shares its work. If the client disconnects, its
        texts are cancelled.
        """
        translation_request = await prepare(request, connection.caller)
        with name_rejected_texts(request.field_name):
            results = await translation_service.translate(translation_request, connection.caller)
        return responses.present_results(results, translation_request.options.decoding)

    @router.post(
        "/translate/stream",
        response_class=Response,  # else FastAPI documents every response as a stream
        **openapi.describe_route(
            "Translate and stream the segments",
            DESCRIPTION,
            responses={200: openapi.event_stream(EVENT_DATA), **openapi.error_responses(ERRORS)},
            request=dict(openapi.WITHOUT_KEY),
        ),
    )
    async def translate_stream(request: StreamRequest, connection: AuthenticatedRequest) -> StreamingResponse:
        """Send the segments of each text in order, those of several texts as they are done.

        If the client disconnects, its texts are cancelled.
        """
        translation_request = await prepare(request, connection.caller)
        detail = StreamDetail.TOKENS if request.stream_tokens else StreamDetail.SEGMENTS
        progress = translation_service.stream(translation_request, connection.caller, detail)
        with name_rejected_texts(request.field_name):  # an error before the first event has a status
            first = await anext(progress)
        return EventStream(_events(first, progress, request, translation_request.options.decoding))

    return router


def analysis_routes(services: Services) -> APIRouter:
    """Return the routes that analyse texts."""
    translation_service = services.translation_service
    route_class = json_route_for(services.authenticator, Scope.TRANSLATE)
    router = APIRouter(tags=["analysis"], dependencies=openapi.WITH_KEY, route_class=route_class)

    @router.post(
        "/score",
        **openapi.describe_route(
            "Score given translations",
            "Scores, token by token, in the order of the pairs",
            responses=openapi.error_responses(openapi.MODEL_ERRORS),
            request=dict(openapi.WITHOUT_KEY),
        ),
    )
    async def score(request: ScoreRequest, connection: AuthenticatedRequest) -> responses.ScoreResponse:
        """Score each given target as one segment by forced decoding; nothing is searched for."""
        require_ready(translation_service.inference)
        route = translation_service.inference.router.route(request.source, request.target, request.model)
        try:
            scored = await translation_service.score(request.texts(), route, connection.caller)
        except InputError as error:
            if error.item is None or error.field not in PAIR_FIELDS:
                raise
            raise errors.field_error(f"pairs[{error.item}].{error.field}", error.problem) from error
        return responses.present_scores(route.steps[0].offer.title, scored)

    @router.post(
        "/detect",
        **openapi.describe_route(
            "Detect the language of texts",
            "Languages, the most likely first, in the order of the texts",
            responses=openapi.error_responses(openapi.TEXT_ERRORS),
            request=dict(openapi.WITHOUT_KEY),
        ),
    )
    async def detect(request: DetectRequest, connection: AuthenticatedRequest) -> responses.DetectResponse:
        """Return the served languages that a text may be in. No model runs, but characters are charged."""
        detected = await translation_service.detect(request.texts(), connection.caller)
        return responses.DetectResponse(
            detections=[[responses.present_detected(one) for one in each] for each in detected]
        )

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
            yield format_sse_event(
                event="error", data_str=json.dumps(errors.error_body(errors.to_any_api_error(error)))
            )


def _event(progress: Progress | list[TranslationResult], options: DecodingOptions) -> bytes:
    if isinstance(progress, list):
        done = responses.present_results(progress, options)
        return format_sse_event(event="done", data_str=done.model_dump_json(exclude_unset=True))
    event = responses.present_progress(progress)
    name = "segment" if isinstance(event, responses.SegmentEvent) else "tokens"
    return format_sse_event(event=name, data_str=event.model_dump_json())
