"""Definition of the chat completions for the application, and their routes."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from dragoman import DecodingOptions, InputError
from service.accounts.keys import Caller, Scope
from service.api.languages import RoutesCache
from service.api.model_list import ListedModel, ModelList, listed_models
from service.api.openai import schemas
from service.api.openai.completions import Envelope, SentText, chunks, complete, present
from service.api.openai.errors import CHAT_PATH, FORM, OPENAI_STATUSES, ROOT, rejected
from service.api.openai.language_names import LanguageNames
from service.api.openai.languages import (
    agreed,
    check_languages,
    formality_of,
    languages_of_model,
    languages_of_text,
)
from service.api.openai.prompts import Prompt, is_for_chat_model, read_prompt, read_quoted_prompt
from service.api.readiness import require_ready
from service.api.services import ApiDefinition, Services
from service.http import openapi
from service.http.api_router import ApiRouter
from service.http.authentication import Authenticator, key_in_headers
from service.http.errors import ApiError, ErrorKind, SafeJSONResponse, field_error, to_any_api_error
from service.http.json_route import AuthenticatedRequest, JsonRoute
from service.http.streams import EventStream
from service.translation.limits import TextsTooLong
from service.translation.options import TranslationOptions
from service.translation.planned_text import TextsRejectedError
from service.translation.request import TranslationRequest
from service.translation.streaming import StreamDetail

MODELS_PATH = "/models"
RESPONSES_PATH = "/responses"
PLAIN_ROOT = "/v1"
"""Root of the completions for programs that accept no path in a server's address."""
SYSTEM_ROLES = frozenset({"system", "developer"})
STREAM: Mapping[str, Any] = {
    "description": "The translation; with `stream`, chunks as server-sent events, and `[DONE]` at the end",
    "content": {openapi.EVENTS: {}},
}


MAX_SYSTEM_CHARACTERS = 8000
"""Maximum characters of the system's messages together, which are searched for languages."""
NamesCache = RoutesCache[LanguageNames]


@dataclass(frozen=True, slots=True)
class Chat:
    """A checked request."""

    translation_request: TranslationRequest
    parameter: str
    """The parameter with the text."""
    max_tokens: int | None
    has_usage: bool
    """Whether a stream ends with the number of tokens."""

    @property
    def text(self) -> str:
        return self.translation_request.texts[0]


def openai_api(services: Services) -> ApiDefinition:
    """Return the chat completions, under `/openai/v1` and at `/v1/chat/completions`."""
    cache = RoutesCache(services.translation_service.inference, LanguageNames)
    routes = ApiRouter(generate_unique_id_function=openapi.operation_ids("openai"), tags=["openai"])
    for root, is_documented in ((ROOT, True), (PLAIN_ROOT, False)):
        completions = completion_routes(services, cache)
        routes.include_router(completions, prefix=root, include_in_schema=is_documented)
    routes.add_api_route(
        f"{ROOT}{RESPONSES_PATH}", _reject_responses, methods=["GET", "POST"], include_in_schema=False
    )
    routes.include_router(model_routes(services.authenticator, cache), prefix=ROOT)
    return ApiDefinition(routes, FORM)


def completion_routes(services: Services, cache: NamesCache) -> APIRouter:
    """Return the route that translates."""
    translation_service, authenticator = services.translation_service, services.authenticator

    class ChatRoute(JsonRoute):
        async def authenticate(self, connection: Request) -> Caller:
            return await _authenticate(authenticator, connection, Scope.TRANSLATE)

    routes = APIRouter(route_class=ChatRoute)

    @routes.post(
        CHAT_PATH,
        dependencies=openapi.WITH_KEY,
        **openapi.describe_route(
            "Translate the last message of a chat",
            model=schemas.ChatCompletion,
            responses={200: dict(STREAM), **_errors((*openapi.MODEL_ERRORS, ErrorKind.NOT_FOUND))},
            request=dict(openapi.WITHOUT_KEY),
        ),
    )
    async def chat_completions(
        request: schemas.ChatCompletionRequest, connection: AuthenticatedRequest
    ) -> Response:
        """Translate the last message into the language that the model or a message of the system names.

        The same route is at `/v1/chat/completions`.
        """
        require_ready(translation_service.inference)
        chat = read_chat(request, await cache.current())
        envelope = Envelope(request.model, request.property_names)
        if not request.stream:
            with _naming(chat.parameter):
                [result] = await translation_service.translate(chat.translation_request, connection.caller)
            return SafeJSONResponse(present(complete(result, chat.max_tokens), envelope))
        progress = translation_service.stream(
            chat.translation_request, connection.caller, StreamDetail.SEGMENTS
        )
        with _naming(chat.parameter):  # an error before the first event has a status
            first = await anext(progress)
        events = chunks(
            first,
            progress,
            SentText(chat.text, chat.max_tokens),
            envelope,
            has_usage=chat.has_usage,
            convert=lambda error: to_any_api_error(_named(error, chat.parameter)),
        )
        return EventStream(events)

    return routes


def model_routes(authenticator: Authenticator, cache: NamesCache) -> APIRouter:
    """Return the routes that list the names of models; any key may use them."""
    routes = APIRouter(dependencies=openapi.WITH_KEY)

    @routes.get(
        MODELS_PATH,
        **openapi.describe_route(
            "List the names of models",
            "The names",
            ModelList,
            _errors(openapi.KEY_ERRORS),
            dict(openapi.WITHOUT_KEY),
        ),
    )
    async def list_models(connection: Request) -> Response:
        """Return names that `model` of a chat may be."""
        await _authenticate(authenticator, connection, None)
        routes = (await cache.current()).catalogue.routes
        return SafeJSONResponse(ModelList(data=listed_models(routes)).model_dump())

    @routes.get(
        f"{MODELS_PATH}/{{model:path}}",
        **openapi.describe_route(
            "Return a model",
            "The name",
            ListedModel,
            _errors((*openapi.KEY_ERRORS, ErrorKind.NOT_FOUND)),
            {**openapi.WITHOUT_KEY, "parameters": [openapi.path_parameter("model", "Name of the model.")]},
        ),
    )
    async def retrieve_model(connection: Request) -> Response:
        """Return a name if a chat may have it, listed or not."""
        await _authenticate(authenticator, connection, None)
        name = str(connection.path_params["model"])
        languages_of_model(name, (await cache.current()).catalogue)
        return SafeJSONResponse(ListedModel(id=name).model_dump())

    return routes


def read_chat(request: schemas.ChatCompletionRequest, names: LanguageNames) -> Chat:
    """Check a request and return the text with its languages.

    Raises:
        ApiError: naming the parameter that cannot be used.
    """
    users = [index for index, message in enumerate(request.messages) if message.role == "user"]
    if not users:
        raise rejected("messages", "there is no message of the user to translate", "invalid_value")
    system_text = "\n".join(
        message.text(f"messages[{index}]")
        for index, message in enumerate(request.messages)
        if message.role in SYSTEM_ROLES and message.content
    )
    if len(system_text) > MAX_SYSTEM_CHARACTERS:
        problem = f"system messages have {len(system_text)} characters; the limit is {MAX_SYSTEM_CHARACTERS}"
        raise rejected("messages", problem, "string_above_max_length")
    parameter = f"messages[{users[-1]}]"
    text = request.messages[users[-1]].text(parameter)
    of_model = languages_of_model(request.model, names.catalogue)
    is_known = of_model.target is not None
    named = agreed(of_model, languages_of_text(system_text, names, is_target_known=is_known))
    quoted = read_quoted_prompt(text) if request.property_names else None
    prompt = quoted or _read_prompt(
        text, f"{parameter}.content", names, is_target_known=named.target is not None
    )
    if prompt is not None:
        named = agreed(named, languages_of_text(prompt.instruction, names, is_target_known=False))
        text, system_text = prompt.text, f"{system_text}\n{prompt.instruction}"
    check_languages(named, "model" if of_model.source and of_model.target else "messages", names.catalogue)
    options = TranslationOptions(DecodingOptions(formality=formality_of(system_text)))
    stream_options = request.stream_options
    return Chat(
        TranslationRequest((text,), named.target, named.source, options),
        f"{parameter}.content",
        request.token_limit,
        has_usage=stream_options is not None and bool(stream_options.include_usage),
    )


def _read_prompt(text: str, parameter: str, names: LanguageNames, *, is_target_known: bool) -> Prompt | None:
    """Return the parts of a user's message; None if it is, or with a known target may be, a text alone.

    Raises:
        ApiError: it is no text but data for a chat model, or an instruction without a text.
    """
    prompt = read_prompt(text, names)
    if prompt is not None and is_target_known and not prompt.is_certain:
        prompt = None
    if (prompt is None and is_for_chat_model(text)) or (prompt is not None and not prompt.text):
        problem = (
            "is JSON, a task for a chat model, or an instruction without a text; send the text alone, and "
            "name the language in the model or in a system message"
        )
        raise rejected(parameter, problem, "instruction_in_text")
    return prompt


async def _reject_responses() -> Response:
    """Name the route to use to a client of OpenAI's newer API."""
    problem = f"the Responses API is not supported; use chat completions, at {ROOT}{CHAT_PATH}"
    raise ApiError(ErrorKind.NOT_FOUND, problem)


async def _authenticate(authenticator: Authenticator, connection: Request, scope: Scope | None) -> Caller:
    """Return the caller. Clients always send a key; if the server requires none, it accepts any key."""
    key = key_in_headers(connection)
    return await authenticator.authenticate(connection, key, scope, accepts_any_key=True)


@contextmanager
def _naming(parameter: str) -> Iterator[None]:
    """Convert errors about the text or its languages to errors about a parameter."""
    try:
        yield
    except (TextsRejectedError, InputError, TextsTooLong) as error:
        raise _named(error, parameter) from error


def _named(error: Exception, parameter: str) -> Exception:
    match error:
        case TextsRejectedError():
            return rejected(parameter, error.problems[0][1], "invalid_value")
        case InputError():
            return rejected(parameter, error.problem, "invalid_value")
        case TextsTooLong():
            return field_error(parameter, error.problem, ErrorKind.TOO_LARGE)
        case _:
            return error


def _errors(kinds: tuple[ErrorKind, ...]) -> dict[int | str, dict[str, Any]]:
    documented = openapi.error_responses(kinds, schemas.OpenAIErrorResponse, OPENAI_STATUSES)
    # Without a default, FastAPI documents an error 422 of its own.
    schema = openapi.reference_to(schemas.OpenAIErrorResponse)
    return {
        **documented,
        "default": {"description": "Any other error", "content": {openapi.JSON: {"schema": schema}}},
    }
