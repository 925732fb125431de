"""The routes of `/v1/jobs`: create, list, follow, fetch, cancel and delete."""

import re
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response, StreamingResponse
from starlette.datastructures import Headers

from service.accounts.keys import Caller, Scope
from service.api.native.jobs import responses
from service.api.native.jobs.events import MAX_STREAMS, job_events
from service.api.native.jobs.request_fields import JSON_LINES, read_job_request, read_own_terms, receive
from service.api.native.owner_access import READ_ERRORS
from service.api.services import Services
from service.http import openapi
from service.http.errors import RETRY_AFTER, ApiError, ErrorKind, SafeJSONResponse, field_error
from service.http.fields import NoFields, read_url
from service.http.file_names import attachment
from service.http.streams import EventStream, FileStream
from service.jobs.errors import FileRejected, NoResult, UnknownJob
from service.jobs.file_stream import read_on_threads
from service.jobs.job import Job, JobState, StoredFile, is_job_id
from service.jobs.job_service import JobService, UploadedFile, run_storage_call
from service.jobs.store import JobStore
from service.jobs.tables import stored_bytes_of_key
from service.translation.terms import find_terms
from service.work.shares import ClientCounts, exceeds_share

_ONE_RANGE = re.compile(r"bytes=(?P<first>\d{0,18})-(?P<last>\d{0,18})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Part:
    """Bytes of a file, from `start` up to `stop`."""

    start: int
    stop: int
    is_whole: bool


def requested_part(headers: Headers, size_bytes: int, etag: str) -> Part:
    """Return the requested part. Ignore a header that is malformed, requests several ranges (the
    specification allows this) or refers to another version of the file.

    Raises:
        ApiError: the file has no byte of the requested range.
    """
    whole = Part(0, size_bytes, is_whole=True)
    requested = _ONE_RANGE.fullmatch(headers.get("range", "").replace(" ", ""))
    if requested is None or headers.get("if-range", etag) != etag:
        return whole
    first, last = requested["first"], requested["last"]
    if not first and not last:
        return whole
    end = int(last or 0)  # at most 18 digits
    if not first:  # a number of bytes from the end
        start, stop = max(size_bytes - end, 0), size_bytes
    else:
        start = int(first)  # at most 18 digits
        stop = min(end + 1, size_bytes) if last else size_bytes
        if last and end < start:
            return whole
    if start >= size_bytes:
        problem = f"the file has {size_bytes} bytes; request a range within them"
        whole_size = {"Content-Range": f"bytes */{size_bytes}"}
        raise ApiError(ErrorKind.RANGE_NOT_SATISFIABLE, problem, headers=whole_size)
    return Part(start, stop, is_whole=False)


def matches_etag(headers: Headers, etag: str) -> bool:
    """Return whether the client already has this version."""
    known = [each.strip().removeprefix("W/") for each in headers.get("if-none-match", "").split(",")]
    return etag in known or known == ["*"]


PATH = "/v1/jobs"
FORM_BYTES = 2**20
"""Maximum size of an upload form without its file, in bytes."""
ONE = "/jobs/{job_id}"
JSON_LINES_OUT = "application/jsonl"
ERRORS = openapi.error_responses([*READ_ERRORS, ErrorKind.NOT_FOUND])
UPLOAD_ERRORS = (
    *openapi.KEY_ERRORS,
    *openapi.BODY_ERRORS,
    ErrorKind.NOT_FOUND,
    ErrorKind.QUOTA_EXCEEDED,
    ErrorKind.OVERLOADED,
    ErrorKind.NO_ROOM,
)
JOB_ID = openapi.path_parameter("job_id", "From the response to its creation.")
describe_one = partial(
    openapi.describe_route, responses=ERRORS, request=openapi.request_of(parameters=[JOB_ID])
)
RANGE = openapi.header_parameter("Range", "The bytes to return, as in `bytes=1000-1999`; one range only.")
UPLOAD = openapi.request_of(responses.CreateJobForm, [openapi.MULTIPART], query=responses.JobOptionsIn)
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
        200: openapi.file_response(description, media_type),
        206: openapi.file_response("A part of the file", media_type),
        304: {"description": "The client has the current version"},
        **ERRORS,
        **openapi.error_responses([ErrorKind.CONFLICT, ErrorKind.RANGE_NOT_SATISFIABLE]),
    }


@dataclass(slots=True, eq=False)
class JobAuthenticator:
    """Authenticates callers, finds their jobs and accepts uploads, on one event loop."""

    services: Services
    job_service: JobService
    num_streams: ClientCounts = field(default_factory=ClientCounts)
    """Number of event streams of each client."""

    @property
    def store(self) -> JobStore:
        return self.job_service.storage.store

    async def authenticate(self, connection: Request) -> Caller:
        """Return the caller of a request; the key needs the scope for documents."""
        return await self.services.authenticator.authenticate_header(connection, Scope.DOCUMENTS)

    async def find(self, connection: Request) -> Job:
        """Return the caller's own job that the path names."""
        return await self.find_of(await self.authenticate(connection), connection)

    async def find_of(self, caller: Caller, connection: Request) -> Job:
        """Do the same for a caller that is known already."""
        job_id = connection.path_params["job_id"]
        if not is_job_id(job_id):
            raise UnknownJob
        return await run_storage_call(lambda: self.store.get(caller.key_id, job_id))

    async def add(self, connection: Request) -> Job:
        """Receive a file and add a job for it. Errors have the form in which clients see them."""
        caller = await self.authenticate(connection)
        await run_storage_call(lambda: self.store.check_space(caller.key_id))
        async with self.job_service.folder() as folder:
            received = await receive(connection, folder, self.services.settings.max_job_bytes)
            sent = received.fields.read(responses.JobOptionsIn)
            job_request = read_job_request(sent, received.name)
            job_request = await self.job_service.apply_memory(job_request, caller)
            named = [] if job_request.glossary_id is None else [job_request.glossary_id]
            terms = await find_terms(self.services.glossaries, caller, named, read_own_terms(sent))
            self.job_service.require_pair(job_request, terms)
            try:
                upload = UploadedFile(received.path, job_request, terms=terms)
                return await self.job_service.add(upload, caller)
            except FileRejected as error:
                raise field_error("file", error.problem) from error


def job_routes(services: Services, job_service: JobService) -> APIRouter:
    """Return all routes of `/v1/jobs`."""
    jobs = JobAuthenticator(services, job_service)
    routes = APIRouter(tags=["jobs"], dependencies=openapi.WITH_KEY)
    _add_upload_routes(routes, jobs)
    _add_status_routes(routes, jobs)
    _add_result_routes(routes, jobs)
    return routes


def _add_upload_routes(routes: APIRouter, jobs: JobAuthenticator) -> None:
    @routes.post(
        "/jobs",
        status_code=202,
        **openapi.describe_route(
            "Translate a file",
            "The new job",
            responses.JobResponse,
            openapi.error_responses(UPLOAD_ERRORS),
            UPLOAD,
        ),
    )
    async def create_job(connection: Request) -> Response:
        """Accept a form with the file and its options, or JSON lines with the options in the URL. The whole
        file is read before the response, so that one that cannot be translated is rejected at once.
        """
        job = await jobs.add(connection)
        return _respond(job, 202, {"Location": f"{jobs.services.settings.root_path}/v1/jobs/{job.id}"})

    @routes.delete(
        ONE,
        status_code=202,
        **describe_one(
            "Cancel a job, or remove one that has ended",
            "The job is cancelled, or will be soon",
            responses.JobResponse,
            responses={204: {"description": "The job had ended; it is deleted"}, **ERRORS},
        ),
    )
    async def delete_job(connection: Request) -> Response:
        """Refund what was charged for texts that were not translated."""
        job = await jobs.find(connection)
        read_url(connection, NoFields)
        if job.has_ended:
            await jobs.job_service.remove(job)
            return Response(status_code=204)
        return _respond(await jobs.job_service.cancel(job), 202)


def _add_status_routes(routes: APIRouter, jobs: JobAuthenticator) -> None:
    store = jobs.store

    @routes.get(
        "/jobs",
        **openapi.describe_route(
            "List the caller's jobs",
            "One page of jobs, the latest first",
            responses.JobsResponse,
            openapi.error_responses([*READ_ERRORS, ErrorKind.INVALID_INPUT]),
            openapi.request_of(query=responses.ListJobsQuery),
        ),
    )
    async def list_jobs(connection: Request) -> Response:
        """Return one page of jobs. All callers without a key share their jobs."""
        caller = await jobs.authenticate(connection)
        query = read_url(connection, responses.ListJobsQuery)
        page = await run_storage_call(
            lambda: store.page(caller.key_id, query.limit + 1, query.cursor or None, query.state)
        )
        stored_bytes = await run_storage_call(lambda: stored_bytes_of_key(store.database, caller.key_id))
        most_bytes = store.settings.max_jobs_bytes_of_key
        listed = responses.present_page(page, query.limit, stored_bytes, most_bytes)
        return SafeJSONResponse(listed.model_dump(mode="json"))

    @routes.get(ONE, **describe_one("Return a job", "The job as it is now", responses.JobResponse))
    async def get_job(connection: Request) -> Response:
        """Return the job's state, progress, time left, and what went wrong."""
        return _respond(await jobs.find(connection))

    @routes.get(
        f"{ONE}/events",
        response_class=Response,
        **describe_one(
            "Follow a job",
            "`progress`: the job, at first and whenever it changes. `end`: it has ended",
            responses={
                200: openapi.event_stream(
                    dict.fromkeys(("progress", "end"), openapi.reference_to(responses.JobResponse))
                ),
                **ERRORS,
                **openapi.error_responses([ErrorKind.RATE_LIMITED, ErrorKind.OVERLOADED]),
            },
        ),
    )
    async def follow_job(connection: Request) -> StreamingResponse:
        """Stream server-sent events until the job ends. If the server stops before that, follow it again."""
        caller = await jobs.authenticate(connection)
        job = await jobs.find_of(caller, connection)
        used, total = jobs.num_streams[caller.client] + 1, jobs.num_streams.total() + 1
        if total > MAX_STREAMS or (used > 1 and exceeds_share(used, total, MAX_STREAMS)):
            problem = (
                f"you have {used - 1} event streams, and there are {total - 1} of at most {MAX_STREAMS}; "
                "poll the job instead"
            )
            raise ApiError(ErrorKind.OVERLOADED, problem, headers=RETRY_AFTER)
        return EventStream(_count_stream(jobs, job, caller.client))


async def _count_stream(jobs: JobAuthenticator, job: Job, client: str) -> AsyncIterator[bytes]:
    jobs.num_streams.add(client, 1)
    try:
        async with aclosing(job_events(jobs.store, job, jobs.services.is_stopping)) as events:
            async for event in events:
                yield event
    finally:
        jobs.num_streams.add(client, -1)


def _add_result_routes(routes: APIRouter, jobs: JobAuthenticator) -> None:
    @routes.get(
        f"{ONE}/result",
        response_class=Response,
        **openapi.describe_route(
            "Download the translated file",
            responses=file_responses("The translated file", openapi.OCTETS),
            request=openapi.request_of(parameters=[JOB_ID, RANGE]),
        ),
    )
    async def get_job_result(connection: Request) -> Response:
        """Return the file, a PDF as docx or txt. Its `ETag` is its SHA-256; it can be fetched in parts."""
        job = await jobs.find(connection)
        return await _file(connection, jobs, _result_of(job), job.job_request.result_name, openapi.OCTETS)

    @routes.get(
        f"{ONE}/errors",
        response_class=Response,
        **openapi.describe_route(
            "List the texts that were not translated",
            responses=file_responses(
                "A JSON object per line: `file`, `place`, `outcome` (`untranslated`, or `cut` at a length "
                "limit), `problem`, `text`",
                JSON_LINES_OUT,
            ),
            request=openapi.request_of(parameters=[JOB_ID, RANGE]),
        ),
    )
    async def get_job_errors(connection: Request) -> Response:
        """Return the list for a job that is done; it is empty if all texts were translated."""
        job = await jobs.find(connection)
        _result_of(job)
        if job.errors is None:
            return Response(media_type=JSON_LINES_OUT)
        return await _file(connection, jobs, job.errors, f"{job.id}.errors.jsonl", JSON_LINES_OUT)


def _respond(job: Job, status: int = 200, headers: dict[str, str] | None = None) -> SafeJSONResponse:
    return SafeJSONResponse(responses.job_response(job).model_dump(mode="json"), status, headers)


def _result_of(job: Job) -> StoredFile:
    if not job.has_ended:
        raise ApiError(ErrorKind.CONFLICT, f"the job is {job.state}; retry when it has ended")
    if job.result is None:
        problem = (
            "the job was cancelled" if job.state is JobState.CANCELLED else f"the job failed: {job.problem}"
        )
        raise NoResult(problem)
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
        "Content-Disposition": attachment(name),
        "X-Content-Type-Options": "nosniff",
    }
    if matches_etag(connection.headers, etag):
        return Response(status_code=304, headers={"ETag": etag})
    part = requested_part(connection.headers, kept.size_bytes, etag)
    headers["Content-Length"] = str(part.stop - part.start)
    if not part.is_whole:
        headers["Content-Range"] = f"bytes {part.start}-{part.stop - 1}/{kept.size_bytes}"
    pieces = jobs.job_service.storage.blobs.read(kept.blob, part.start, part.stop)
    stream = await read_on_threads(pieces, run_storage_call)
    return FileStream(stream, 200 if part.is_whole else 206, headers, media_type)
