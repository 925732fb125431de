"""Routes that translate texts and detect their languages."""

from collections.abc import Mapping

from fastapi import APIRouter, Request
from starlette.responses import Response

from service.accounts.keys import Scope
from service.desk.desk import TextsRefusedError
from service.desk.detection import detect, detectable
from service.front.connection import while_connected
from service.front.errors import SafeJSONResponse
from service.front.readiness import require_ready
from service.libretranslate.documentation import (
    DETECT,
    OF_WORK,
    TRANSLATE,
    WITH_ANY_KEY,
    answered,
    form_body,
    responses,
)
from service.libretranslate.languages import Catalogues
from service.libretranslate.refusals import check_detection, enter, required, texts_refused
from service.libretranslate.requests import check_limits, read_wishes, single_line_ends
from service.libretranslate.responses import (
    DetectedLanguage,
    TranslateOut,
    present_answers,
    present_copies,
    present_detected,
)
from service.premises import Premises

MAX_DETECTED = 3
"""Languages that a text may be in, of which clients are told."""
TRANSLATED = {
    "a text": {
        "translatedText": "A dog runs.",
        "alternatives": ["A dog is running."],
        "detectedLanguage": {"confidence": 96.6, "language": "de"},
    },
    "an array": {"translatedText": ["A dog runs.", "Two children are playing."]},
}
FOUND = {
    "French": [{"confidence": 97.0, "language": "fr"}, {"confidence": 3.0, "language": "en"}],
    "no letters": [{"confidence": 0.0, "language": "en"}],
}


def text_routes(premises: Premises, catalogues: Catalogues, headers: Mapping[str, str]) -> APIRouter:
    """Texts in, translations out.

    Args:
        premises: where they are translated.
        catalogues: the languages there are.
        headers: of every response.
    """
    routes = APIRouter()
    desk, door = premises.desk, premises.door

    @routes.post(
        "/translate",
        summary="Translate a text, or an array of them",
        dependencies=WITH_ANY_KEY,
        responses=responses(answered(TranslateOut, "The translations", TRANSLATED), OF_WORK),
        openapi_extra=form_body(
            TRANSLATE, {"q": "Ein Hund rennt.", "source": "auto", "target": "en", "alternatives": 1}
        ),
    )
    async def translate(request: Request) -> Response:
        """Fields come in JSON, in a form or in the URL's query."""
        require_ready(desk.inference)
        caller, fields = await enter(door, request, Scope.TRANSLATE)
        wishes = read_wishes(fields, await catalogues.current(), desk.limits)
        if wishes.pair.is_copied:
            return SafeJSONResponse(present_copies(wishes), headers=headers)
        try:
            answers = await while_connected(request, desk.translate(wishes.order(), caller))
        except TextsRefusedError as error:
            raise texts_refused(error, is_list=wishes.is_list) from error
        return SafeJSONResponse(present_answers(answers, wishes), headers=headers)

    @routes.post(
        "/detect",
        summary="Detect the language of a text",
        dependencies=WITH_ANY_KEY,
        responses=responses(
            answered(list[DetectedLanguage], "Up to three, the most likely first", FOUND), OF_WORK
        ),
        openapi_extra=form_body(DETECT, {"q": "Bonjour tout le monde"}),
    )
    async def detect_language(request: Request) -> Response:
        """Among the languages that are served. Fields come in JSON, in a form or in the URL's query."""
        _, fields = await enter(door, request, Scope.TRANSLATE)
        check_detection(desk.detection)
        text = required(fields, "q")
        text = text if fields.is_json("q") else single_line_ends(text)
        check_limits([text], desk.limits)
        served = await catalogues.current()
        found = await desk.inference.beside(lambda: detect(text, detectable(served.served)), len(text))
        return SafeJSONResponse([present_detected(each) for each in found[:MAX_DETECTED]], headers=headers)

    return routes
