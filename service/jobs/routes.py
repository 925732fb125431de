"""The routes of `/v1/jobs`: create, list, follow, fetch, cancel and delete."""

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from itertools import chain
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import Response, StreamingResponse

from service.accounts.callers import Caller
from service.accounts.keys import Scope
from service.http.authentication import Authenticator, key_in_headers
from service.http.errors import RETRY_AFTER, ApiError, ErrorKind, SafeJSONResponse
from service.http.fields import Fields, field_error
from service.http.forms import read_urlencoded
from service.http.multipart import FormError
from service.http.openapi import (
    BODY_ERRORS,
    KEY_ERRORS,
    MULTIPART,
    OCTETS,
    WITH_KEY,
    error_responses,
    event_stream,
    file_response,
    header_parameter,
    path_parameter,
    query_parameters,
    reference_to,
    request_of,
)
from service.jobs.errors import FileRejected, JobUnfinished, NoResult, UnknownJob
from service.jobs.events import MAX_STREAMS, EventStream, job_events
from service.jobs.job import ID_LENGTH, Job, JobState, StoredFile, is_job_id
from service.jobs.job_service import JobService, UploadedFile, run_storage_call
from service.jobs.queries import stored_bytes_of_key
from service.jobs.ranges import RangeNotSatisfiable, matches_etag, requested_part
from service.jobs.request_fields import read_job_request
from service.jobs.requests import (
    MAX_PAGE_LENGTH,
    PAGE_LENGTH,
    CreateJobForm,
    JobOptionsIn,
    ListJobsQuery,
)
from service.jobs.responses import JobResponse, JobsResponse, job_response, present_page
from service.jobs.upload_form import JSON_LINES, receive

ONE = "/jobs/{job_id}"
JSON_LINES_OUT = "application/jsonl"
READ_ERRORS = (*KEY_ERRORS, ErrorKind.CLIENT_TIMEOUT, ErrorKind.TOO_LARGE)
ERRORS = error_responses([*READ_ERRORS, ErrorKind.NOT_FOUND])
UPLOAD_ERRORS = (
    *KEY_ERRORS,
    *BODY_ERRORS,
    ErrorKind.QUOTA_EXCEEDED,
    ErrorKind.OVERLOADED,
    ErrorKind.NO_ROOM,
)
JOB_ID = path_parameter("job_id", "From the response to its creation.")
RANGE = header_parameter("Range", "The bytes to return, as in `bytes=1000-1999`; one range only.")
UPLOAD = request_of(CreateJobForm, [MULTIPART], query_parameters(JobOptionsIn))
UPLOAD["requestBody"]["content"][JSON_LINES[0]] = {
    "schema": {
        "type": "string",
        "description": "JSON lines; `application/jsonl` is accepted as well. The options are in the URL.",
        "examples": ['{"text": "Ein Hund rennt."}\n{"text": "Zwei Kinder spielen."}\n'],
        "properties": {},
    }
}


def file_responses(description: str, media_type: str) -> dict[int | str, dict[str, Any]]:
    """Return the documentation of the responses of a route that returns a file of a job."""
    return {
        200: file_response(description, media_type),
        206: file_response("A part of the file", media_type),
        304: {"description": "The client has the current version"},
        **ERRORS,
        **error_responses([ErrorKind.CONFLICT, ErrorKind.RANGE_NOT_SATISFIABLE]),
    }


class JobAuthenticator:
    """Authenticates callers, finds their jobs and accepts uploads, on one event loop."""

    def __init__(
        self, job_service: JobService, authenticator: Authenticator, is_stopping: Callable[[], bool]
    ) -> None:
        self.job_service = job_service
        self.authenticator = authenticator
        self.store = job_service.storage.store
        self.is_stopping = is_stopping
        self.num_streams = 0

    async def authenticate(self, connection: Request) -> Caller:
        """Return the caller of a request; the key needs the scope for documents."""
        return await self.authenticator.authenticate(connection, key_in_headers(connection), Scope.DOCUMENTS)

    async def find(self, connection: Request) -> Job:
        """Return the caller's own job that the path names."""
        caller = await self.authenticate(connection)
        job_id = connection.path_params["job_id"]
        if not is_job_id(job_id):
            raise ApiError(ErrorKind.NOT_FOUND, str(UnknownJob()))
        return await run_storage_call(lambda: self.store.get(caller.key_id, job_id))

    async def add(self, connection: Request, max_bytes: int) -> Job:
        """Receive a file and add a job for it. Errors have the form in which clients see them."""
        caller = await self.authenticate(connection)
        await run_storage_call(lambda: self.store.check_space(caller.key_id))
        async with self.job_service.folder() as folder:
            received = await receive(connection, folder, max_bytes)
            job_request = read_job_request(received.fields, received.name, self.job_service.storage.webhooks)
            self.job_service.require_pair(job_request)
            try:
                return await self.job_service.add(UploadedFile(received.path, job_request), caller)
            except FileRejected as error:
                raise field_error("file", error.problem) from error


def job_routes(jobs: JobAuthenticator, max_bytes: int) -> APIRouter:
    """Return all routes of `/v1/jobs`."""
    routes = APIRouter(prefix="/v1", tags=["jobs"], dependencies=WITH_KEY)
    _add_upload_routes(routes, jobs, max_bytes)
    _add_status_routes(routes, jobs)
    _add_result_routes(routes, jobs)
    return routes


def _add_upload_routes(routes: APIRouter, jobs: JobAuthenticator, max_bytes: int) -> None:
    @routes.post(
        "/jobs",
        operation_id="create_job",
        summary="Translate a file",
        status_code=202,
        response_model=JobResponse,
        response_description="The new job",
        responses=error_responses(UPLOAD_ERRORS),
        openapi_extra=UPLOAD,
    )
    async def create(connection: Request) -> Response:
        """Accept a form with the file and its options, or JSON lines with the options in the URL. The whole
        file is read before the response, so that one that cannot be translated is rejected at once.
        """
        job = await jobs.add(connection, max_bytes)
        headers = {"Location": f"/v1/jobs/{job.id}"}
        return SafeJSONResponse(job_response(job).model_dump(mode="json"), 202, headers)

    @routes.delete(
        ONE,
        operation_id="delete_job",
        summary="Cancel a job, or remove one that has ended",
        status_code=202,
        response_model=JobResponse,
        response_description="The job is cancelled, or will be soon",
        responses={204: {"description": "The job had ended; it is deleted"}, **ERRORS},
        openapi_extra=request_of(parameters=[JOB_ID]),
    )
    async def delete(connection: Request) -> Response:
        """Refund what was charged for texts that were not translated."""
        job = await jobs.find(connection)
        if job.has_ended:
            await jobs.job_service.remove(job)
            return Response(status_code=204)
        job = await jobs.job_service.cancel(job)
        return SafeJSONResponse(job_response(job).model_dump(mode="json"), 202)


def _add_status_routes(routes: APIRouter, jobs: JobAuthenticator) -> None:
    store = jobs.store

    @routes.get(
        "/jobs",
        operation_id="list_jobs",
        summary="List the caller's jobs",
        response_model=JobsResponse,
        response_description="One page of jobs, the latest first",
        responses=error_responses([*READ_ERRORS, ErrorKind.INVALID_INPUT]),
        openapi_extra=request_of(parameters=query_parameters(ListJobsQuery)),
    )
    async def list_jobs(connection: Request) -> Response:
        """Return one page of jobs. All callers without a key share their jobs."""
        caller = await jobs.authenticate(connection)
        limit, cursor, state = _read_page_query(connection)
        page = await run_storage_call(lambda: store.page(caller.key_id, limit + 1, cursor, state))
        stored_bytes = await run_storage_call(lambda: stored_bytes_of_key(store.database, caller.key_id))
        listed = present_page(page, limit, stored_bytes, store.limits.max_bytes_of_key)
        return SafeJSONResponse(listed.model_dump(mode="json"))

    @routes.get(
        ONE,
        operation_id="get_job",
        summary="Return a job",
        response_model=JobResponse,
        response_description="The job as it is now",
        responses=ERRORS,
        openapi_extra=request_of(parameters=[JOB_ID]),
    )
    async def get(connection: Request) -> Response:
        """Return the job's state, progress, time left, and what went wrong."""
        return SafeJSONResponse(job_response(await jobs.find(connection)).model_dump(mode="json"))

    @routes.get(
        f"{ONE}/events",
        operation_id="follow_job",
        summary="Follow a job",
        response_class=Response,
        response_description="`progress`: the job, at first and whenever it changes. `end`: it has ended",
        responses={
            200: event_stream(dict.fromkeys(("progress", "end"), reference_to(JobResponse))),
            **ERRORS,
            **error_responses([ErrorKind.RATE_LIMITED, ErrorKind.OVERLOADED]),
        },
        openapi_extra=request_of(parameters=[JOB_ID]),
    )
    async def follow(connection: Request) -> StreamingResponse:
        """Stream server-sent events until the job ends. If the server stops before that, follow it again."""
        job = await jobs.find(connection)
        if jobs.num_streams >= MAX_STREAMS:
            problem = f"the limit of {MAX_STREAMS} event streams is reached; poll the job instead"
            raise ApiError(ErrorKind.OVERLOADED, problem, headers=RETRY_AFTER)
        return EventStream(_count_stream(jobs, job))


async def _count_stream(jobs: JobAuthenticator, job: Job) -> AsyncIterator[bytes]:
    jobs.num_streams += 1
    try:
        async with aclosing(job_events(jobs.store, job, jobs.is_stopping)) as events:
            async for event in events:
                yield event
    finally:
        jobs.num_streams -= 1


def _add_result_routes(routes: APIRouter, jobs: JobAuthenticator) -> None:
    @routes.get(
        f"{ONE}/result",
        operation_id="get_job_result",
        summary="Download the translated file",
        response_class=Response,
        responses=file_responses("The translated file", OCTETS),
        openapi_extra=request_of(parameters=[JOB_ID, RANGE]),
    )
    async def result(connection: Request) -> Response:
        """Return the file in its original format. Its `ETag` is its SHA-256; it can be fetched in parts."""
        job = await jobs.find(connection)
        return await _file(connection, jobs, _result_of(job), job.job_request.file_name, OCTETS)

    @routes.get(
        f"{ONE}/errors",
        operation_id="get_job_errors",
        summary="List the texts that were not translated",
        response_class=Response,
        responses=file_responses(
            "A JSON object per line: `file`, `place`, `outcome` (`untranslated`, or `cut` at a length "
            "limit), `problem`, `text`",
            JSON_LINES_OUT,
        ),
        openapi_extra=request_of(parameters=[JOB_ID, RANGE]),
    )
    async def errors(connection: Request) -> Response:
        """Return the list for a job that is done; it is empty if all texts were translated."""
        job = await jobs.find(connection)
        _result_of(job)
        if job.errors is None:
            return Response(media_type=JSON_LINES_OUT)
        return await _file(connection, jobs, job.errors, f"{job.id}.errors.jsonl", JSON_LINES_OUT)


def _result_of(job: Job) -> StoredFile:
    if not job.has_ended:
        raise ApiError(ErrorKind.CONFLICT, str(JobUnfinished(job.state)))
    if job.result is None:
        problem = (
            "the job was cancelled" if job.state is JobState.CANCELLED else f"the job failed: {job.problem}"
        )
        raise ApiError(ErrorKind.NOT_FOUND, str(NoResult(problem)))
    return job.result


async def _file(
    connection: Request, jobs: JobAuthenticator, kept: StoredFile, name: str, media_type: str
) -> Response:
    etag = f'"{kept.sha256 or kept.blob.rpartition("-")[2]}"'
    headers = {
        "ETag": etag,
        "Accept-Ranges": "bytes",
        "Cache-Control": "private, no-cache",
        # A translated HTML page must not run with this server's origin.
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}",
        "X-Content-Type-Options": "nosniff",
    }
    if matches_etag(connection.headers, etag):
        return Response(status_code=304, headers={"ETag": etag})
    try:
        part = requested_part(connection.headers, kept.size_bytes, etag)
    except RangeNotSatisfiable as error:
        whole = {"Content-Range": f"bytes */{kept.size_bytes}"}
        problem = f"the file has {kept.size_bytes} bytes; request a range within them"
        raise ApiError(ErrorKind.RANGE_NOT_SATISFIABLE, problem, headers=whole) from error
    headers["Content-Length"] = str(part.stop - part.start)
    if not part.is_whole:
        headers["Content-Range"] = part.content_range
    pieces = jobs.job_service.storage.blobs.read(kept.blob, part.start, part.stop)
    # A missing file must raise before the response begins.
    first = await run_storage_call(lambda: next(pieces, b""))
    return StreamingResponse(chain((first,), pieces), 200 if part.is_whole else 206, headers, media_type)


def _read_page_query(connection: Request) -> tuple[int, str | None, JobState | None]:
    try:
        fields = Fields(form=read_urlencoded(connection.scope["query_string"]))
    except FormError as error:
        raise field_error("limit", f"the URL's query is invalid: {error}") from error
    for name in fields.names():
        if name not in {"limit", "cursor", "state"}:
            raise field_error(name[:80], "is not known; known are limit, cursor, state")
    limit = fields.integer("limit")
    if limit is not None and not 1 <= limit <= MAX_PAGE_LENGTH:
        raise field_error("limit", f"must be 1 to {MAX_PAGE_LENGTH}")
    cursor = fields.string("cursor")
    if cursor is not None and (len(cursor) != ID_LENGTH or set(cursor) - set("0123456789abcdef")):
        raise field_error("cursor", "must be the cursor that an earlier page returned")
    state = fields.string("state")
    if state is not None and state not in set(JobState):
        raise field_error("state", f"must be one of {', '.join(JobState)}")
    return limit or PAGE_LENGTH, cursor, None if state is None else JobState(state)
