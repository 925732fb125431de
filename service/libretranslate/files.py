"""Routes that translate files, and that give them out."""

from collections.abc import Mapping
from urllib.parse import quote

from fastapi import APIRouter, Request
from starlette.responses import Response

from service.accounts.keys import Scope
from service.desk.order import Order
from service.documents.errors import StoreFull, UnknownDocument, UnknownFormat, UnusableDocument
from service.documents.formats import format_of
from service.documents.translating import translate_document
from service.front.connection import while_connected
from service.front.errors import RETRY_AFTER, ApiError, ErrorKind, SafeJSONResponse
from service.front.fields import Fields, read_fields
from service.front.forms import Upload
from service.front.premises import Premises
from service.front.readiness import require_ready
from service.front.threads import beside
from service.libretranslate.documentation import (
    BYTES,
    FILE_NAME,
    FILE_TO_TRANSLATE,
    OF_WORK,
    WITH_ANY_KEY,
    answered,
    file_body,
    responses,
)
from service.libretranslate.languages import Catalogues
from service.libretranslate.refusals import (
    DOWNLOADS,
    TRANSLATE_FILE,
    admit,
    disabled,
    missing,
    refused,
    required,
)
from service.libretranslate.requests import find_pair
from service.libretranslate.responses import TranslatedFile

MAX_NAME_LENGTH = 150
"""Characters at the end of a file's name that its address and its download have; each may become 12 there."""

FETCHED_FROM = {
    "a letter": {
        "translatedFileUrl": "http://127.0.0.1:8000/download_file/c8dd4fa57269fb4bd6eaefd7f6090458.letter.txt"
    }
}
FILE = {"type": "string", "contentMediaType": BYTES}


def file_routes(premises: Premises, catalogues: Catalogues, headers: Mapping[str, str]) -> APIRouter:
    """Files in, files out; arguments as for texts."""
    routes = APIRouter()
    desk, door, store = premises.desk, premises.door, premises.documents

    @routes.post(
        TRANSLATE_FILE,
        summary="Translate a file",
        dependencies=WITH_ANY_KEY,
        responses=responses(answered(TranslatedFile, "Where it can be fetched", FETCHED_FROM), OF_WORK),
        openapi_extra=file_body(FILE_TO_TRANSLATE),
    )
    async def translate_file(request: Request) -> Response:
        """Plain text in UTF-8, or HTML. The answer comes when it is translated."""
        if store is None:
            raise disabled("Files translation are disabled")
        require_ready(desk.inference)
        fields = await read_fields(request)
        caller = await admit(door, request, fields, Scope.DOCUMENTS)
        upload = _read_upload(fields)
        pair = find_pair(required(fields, "source"), required(fields, "target"), await catalogues.current())
        translated = upload.content
        try:
            if not pair.is_copied:
                order = Order((), pair.target, pair.source)
                work = translate_document(desk, upload.content, upload.name, order, caller)
                translated = await while_connected(request, work)
            document_id = await beside(lambda: store.put(_shown(upload.name), translated))
        except UnusableDocument as error:
            raise refused(str(error)) from error
        except StoreFull as error:
            raise ApiError(ErrorKind.NO_ROOM, str(error), headers=RETRY_AFTER) from error
        url = f"{request.base_url}{DOWNLOADS[1:]}/{document_id}.{quote(_shown(upload.name), safe='')}"
        return SafeJSONResponse({"translatedFileUrl": url}, headers=headers)

    @routes.get(
        f"{DOWNLOADS}/{{name:path}}",
        summary="Fetch a translated file",
        response_class=Response,
        responses=responses(
            {"description": "The file", "content": {BYTES: {"schema": FILE, "example": "A dog runs."}}},
            (ErrorKind.FORBIDDEN, ErrorKind.NOT_FOUND, ErrorKind.INTERNAL),
        ),
        openapi_extra={"parameters": [FILE_NAME]},
    )
    async def download_file(request: Request) -> Response:
        """Whoever has its address may fetch it, until it is erased."""
        document_id = str(request.path_params["name"]).partition(".")[0]
        if store is None:
            raise disabled("Files translation are disabled")
        try:
            found = await beside(lambda: store.read(document_id))
        except UnknownDocument as error:
            raise ApiError(ErrorKind.NOT_FOUND, str(error)) from error
        # A page that somebody had translated must not run as one of this server's.
        own = {
            "Content-Disposition": f"attachment; filename*=UTF-8''{quote(found.name, safe='')}",
            "X-Content-Type-Options": "nosniff",
        }
        return Response(found.content, media_type=BYTES, headers={**headers, **own})

    return routes


def _read_upload(fields: Fields) -> Upload:
    upload = fields.upload("file")
    if upload is None:
        raise missing("file")
    if not upload.name:
        raise refused("empty file")
    try:
        format_of(upload.name)
    except UnknownFormat as error:
        raise refused(f"file format not supported: {error}") from error
    return upload


def _shown(file_name: str) -> str:
    """A file's own name, without folders that it may have."""
    return file_name.replace("\\", "/").rpartition("/")[2][-MAX_NAME_LENGTH:]
