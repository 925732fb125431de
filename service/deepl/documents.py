"""Documents: sent in, asked after, fetched once."""

from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import Response

from dragoman.errors import UnsupportedPair
from dragoman.routing.routes import Routes
from service.accounts.callers import Caller
from service.accounts.errors import QuotaExceeded
from service.accounts.keys import Scope
from service.deepl.answers import DeepLRoute
from service.deepl.describing import DOCUMENT_RESULT, DOCUMENT_STATUS, UPLOAD
from service.deepl.document_jobs import DocumentJobs, Job, Status
from service.deepl.entrance import enter
from service.deepl.languages import base_of
from service.deepl.wishes import read_document_order
from service.desk.desk import Desk
from service.desk.order import AUTO, Order
from service.documents.formats import format_of, read_document
from service.documents.store import StoredDocument
from service.front.door import Door
from service.front.errors import ApiError, ErrorKind, SafeJSONResponse
from service.front.fields import Fields, field_error
from service.front.readiness import require_ready
from service.front.threads import beside

EQUAL_LANGUAGES = "Source and target language are equal."
ONE = "/document/{document_id}"
OCTETS = "application/octet-stream"


def document_routes(desk: Desk, door: Door, jobs: DocumentJobs | None) -> APIRouter:
    """A document belongs to the key it was sent with, and is had with a key of its own besides.

    Args:
        desk: tells which pairs are served.
        door: who may come in.
        jobs: translate documents; None where none are.
    """
    router = APIRouter(route_class=DeepLRoute)
    if jobs is None:
        return router

    @router.post("/document", summary="Send a document in", openapi_extra=UPLOAD)
    async def upload(connection: Request) -> Response:
        """It is translated while its sender does something else."""
        require_ready(desk.inference)
        caller, fields = await enter(connection, door, Scope.DOCUMENTS)
        document, order = _read_document(fields), read_document_order(fields)
        read = await desk.inference.beside(lambda: read_document(document.content, document.name))
        num_characters = len(read.text)
        if _has_work(desk.inference.router.routes, order):
            await _check_quota(door, caller, num_characters)
            job = await jobs.add(document, num_characters, order, caller)
        else:
            job = jobs.add_failed(caller, num_characters, EQUAL_LANGUAGES)
        return SafeJSONResponse({"document_id": job.id, "document_key": job.key})

    async def find(connection: Request) -> Job:
        caller, fields = await enter(connection, door, Scope.DOCUMENTS)
        key = fields.string("document_key")
        if not key:
            raise field_error("document_key", "is missing; it came in answer to the document")
        return jobs.find(connection.path_params["document_id"], key, caller)

    @router.post(ONE, summary="Ask after a document", openapi_extra=DOCUMENT_STATUS)
    async def status(connection: Request) -> Response:
        """Whether it is done."""
        return SafeJSONResponse(_present(await find(connection)))

    @router.post(
        f"{ONE}/result", summary="Fetch a document", response_class=Response, openapi_extra=DOCUMENT_RESULT
    )
    async def result(connection: Request) -> Response:
        """Once: after that it is gone."""
        job = await find(connection)
        if job.status is Status.ERROR:
            raise ApiError(ErrorKind.NOT_FOUND, f"there is no translation: {job.error}")
        if job.status is not Status.DONE:
            raise ApiError(ErrorKind.NOT_READY, f"the document is {job.status}; ask again when it is done")
        document = await jobs.take(job)
        name = quote(document.name.encode("utf-8", errors="replace"), safe="")
        disposition = f"attachment; filename*=UTF-8''{name}"  # https://www.rfc-editor.org/info/rfc6266
        return Response(document.content, media_type=OCTETS, headers={"Content-Disposition": disposition})

    return router


def _read_document(fields: Fields) -> StoredDocument:
    file = fields.upload("file")
    if file is None:
        raise field_error("file", "is missing; send one as multipart/form-data")
    name = fields.string("filename") or file.name
    kind = format_of(name)
    output_format = fields.string("output_format")
    if output_format and format_of(f".{output_format}") is not kind:
        raise field_error("output_format", "must be the document's own; none is made into another")
    return StoredDocument(name, file.content)


def _has_work(routes: Routes, order: Order) -> bool:
    """Whether there is something to do: not between a language and itself.

    Raises:
        InputError: the pair is not served.
    """
    try:
        if order.source is None or order.source.lower() == AUTO:
            routes.sources_of(order.target)
        else:
            routes.find(order.source, order.target)
    except UnsupportedPair:
        if order.source is None or base_of(order.source) != base_of(order.target or ""):
            raise
        return False
    return True


async def _check_quota(door: Door, caller: Caller, num_characters: int) -> None:
    """Its sender is told at once what the work would fail of; the work is what is charged."""
    limit = caller.limits.characters_per_month
    if limit is None:
        return
    used = await beside(lambda: door.accounts.usage(caller))
    if used.characters + num_characters > limit:
        raise QuotaExceeded(limit, used.characters, num_characters, used.month)


def _present(job: Job) -> dict[str, Any]:
    presented: dict[str, Any] = {"document_id": job.id, "status": job.status.value}
    if job.status is Status.DONE:
        presented["billed_characters"] = job.num_characters
    if job.error is not None:
        presented["error_message"] = presented["message"] = job.error
    return presented
