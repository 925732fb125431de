"""Jobs over HTTP: sent in, followed, fetched, ended."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, contextmanager
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import TypeVar
from urllib.parse import quote

import anyio
import anyio.to_thread
from anyio import CapacityLimiter
from fastapi import APIRouter, Request
from fastapi.responses import Response, StreamingResponse

from service.accounts.callers import Caller
from service.accounts.keys import Scope
from service.batch.errors import InputProblem, JobCancelled
from service.formats.errors import FileProblem
from service.front.documentation import WITH_KEY
from service.front.door import Door, key_in_headers
from service.front.errors import RETRY_AFTER, ApiError, ErrorKind, SafeJSONResponse
from service.front.fields import Fields, field_error
from service.front.forms import FormError, read_urlencoded
from service.front.threads import beside
from service.jobs import describing
from service.jobs.errors import JobError, JobsFull, JobUnfinished, NoResult, TooManyJobs, UnknownJob
from service.jobs.events import MAX_STREAMS, EventStream, job_events
from service.jobs.job import Job, JobWishes, Kept, NewJob, State, new_job_id
from service.jobs.premises import JobPremises
from service.jobs.ranges import Unsatisfiable, is_known, wanted_part
from service.jobs.receiving import Received, receive
from service.jobs.responses import JobOut, JobsResponse, present_job, present_page
from service.jobs.running import Counted, Runner, check_file
from service.jobs.wishes import read_wishes, require_pair
from service.jobs.worker import INPUT, Workers, remove

ONE = "/jobs/{job_id}"
PAGE_LENGTH, MAX_PAGE_LENGTH = 20, 100
ID_LENGTH = 32
MAX_CHECKED = 2
"""Files that are read through at the same time."""
Result = TypeVar("Result")


class JobDesk:
    """Where jobs are handed in and asked after. For one event loop."""

    def __init__(self, premises: JobPremises, workers: Workers, runner: Runner, door: Door) -> None:
        self.premises = premises
        self.workers = workers
        self.runner = runner
        self.door = door
        self.num_streams = 0
        # Not the threads that texts of others are taken apart on.
        self._checking = CapacityLimiter(MAX_CHECKED)

    async def admit(self, connection: Request) -> Caller:
        """Who asks."""
        return await self.door.admit(connection, key_in_headers(connection), Scope.DOCUMENTS)

    async def find(self, connection: Request) -> Job:
        """The caller's own job that the path names."""
        caller = await self.admit(connection)
        job_id = connection.path_params["job_id"]
        if len(job_id) != ID_LENGTH or not job_id.isalnum() or not job_id.isascii():
            raise ApiError(ErrorKind.NOT_FOUND, str(UnknownJob()))
        return await _asked(lambda: self.premises.store.get(caller.key_id, job_id))

    async def add(self, connection: Request, max_bytes: int) -> Job:
        """Take a file in; errors are those that its sender is told."""
        caller = await self.admit(connection)
        store = self.premises.store
        await _asked(lambda: store.check_room(caller.key_id))
        folder = await _asked(lambda: TemporaryDirectory(dir=self.premises.scratch.folder))
        try:
            received = await receive(connection, Path(folder.name), max_bytes)
            wishes = read_wishes(received.fields, received.name, self.premises.webhooks)
            require_pair(wishes, self.runner.router, self.runner.detection)
            counted = await self._checked(wishes, received)
            return await _asked(lambda: self._keep(caller, wishes, received, counted))
        finally:
            with anyio.CancelScope(shield=True):
                await beside(folder.cleanup)

    async def _checked(self, wishes: JobWishes, received: Received) -> Counted:
        """Read through beside the loop; a client that leaves takes its file with it."""
        stop = Event()
        try:
            return await anyio.to_thread.run_sync(
                lambda: check_file(wishes, received.path, stop), limiter=self._checking
            )
        except FileProblem as error:
            raise field_error("file", error.problem) from error
        except InputProblem as error:
            raise field_error("file", "; ".join(problem for _, problem in error.problems)) from error
        except JobCancelled as error:
            raise ApiError(ErrorKind.NOT_READY, "the server is about to stop") from error
        finally:
            stop.set()

    def _keep(self, caller: Caller, wishes: JobWishes, received: Received, counted: Counted) -> Job:
        store, blobs = self.premises.store, self.premises.blobs
        job_id = new_job_id(store.clock.now())
        new = NewJob(
            job_id, caller.key_id, wishes, received.size_bytes, counted.num_entries, counted.num_characters
        )
        blobs.put(f"{job_id}/{INPUT}", received.path)
        try:
            return store.add(new, caller.limits.characters_per_month)
        except BaseException:
            blobs.remove(job_id)
            raise


def job_routes(jobs: JobDesk, max_bytes: int) -> APIRouter:
    """All of `/v1/jobs`."""
    routes = APIRouter(prefix="/v1", tags=["jobs"], dependencies=WITH_KEY)
    _add_sending(routes, jobs, max_bytes)
    _add_asking(routes, jobs)
    _add_fetching(routes, jobs)
    return routes


def _add_sending(routes: APIRouter, jobs: JobDesk, max_bytes: int) -> None:
    @routes.post(
        "/jobs",
        operation_id="create_job",
        summary="Have a file translated",
        status_code=202,
        response_model=JobOut,
        responses=describing.responses(
            {202: describing.job_answer("The job that was made", describing.RUNNING)}, describing.OF_UPLOAD
        ),
        openapi_extra=dict(describing.UPLOAD),
    )
    async def create(connection: Request) -> Response:
        """A form with the file and what is wanted of it; or JSON lines, with the same in the URL. The file is
        read through before it is answered, so that one that cannot be translated is refused at once.
        """
        job = await jobs.add(connection, max_bytes)
        jobs.workers.wake()
        headers = {"Location": f"/v1/jobs/{job.id}"}
        return SafeJSONResponse(present_job(job).model_dump(mode="json"), 202, headers)

    @routes.delete(
        ONE,
        operation_id="delete_job",
        summary="Cancel a job, or remove one that has ended",
        status_code=202,
        response_model=JobOut,
        responses=describing.responses(
            {
                202: describing.job_answer("It is cancelled, or about to be", describing.RUNNING),
                204: {"description": "It had ended, and is gone with its files"},
            },
            describing.OF_ONE,
        ),
        openapi_extra=dict(describing.ONE),
    )
    async def delete(connection: Request) -> Response:
        """What was charged for texts that were not translated is given back."""
        job = await jobs.find(connection)
        premises = jobs.premises
        if job.has_ended:
            await _asked(lambda: remove(premises, jobs.runner, job))
            return Response(status_code=204)
        job = await _asked(lambda: premises.store.cancel(job.key_id, job.id))
        if job.has_ended:  # it was waiting, and nobody will look at its file
            await _asked(lambda: premises.blobs.remove_one(f"{job.id}/{INPUT}"))
        return SafeJSONResponse(present_job(job).model_dump(mode="json"), 202)


def _add_asking(routes: APIRouter, jobs: JobDesk) -> None:
    store = jobs.premises.store

    @routes.get(
        "/jobs",
        operation_id="list_jobs",
        summary="The caller's own jobs",
        response_model=JobsResponse,
        response_description="A page of them, the latest first",
        responses=describing.responses(
            {200: {"content": {"application/json": {"example": dict(describing.PAGE)}}}}, describing.OF_LIST
        ),
        openapi_extra=dict(describing.LISTED),
    )
    async def list_jobs(connection: Request) -> Response:
        """Those who come without a key share theirs."""
        caller = await jobs.admit(connection)
        limit, cursor, state = _page_wanted(connection)
        page = await _asked(lambda: store.page(caller.key_id, limit + 1, cursor, state))
        return SafeJSONResponse(present_page(page, limit).model_dump(mode="json"))

    @routes.get(
        ONE,
        operation_id="get_job",
        summary="How far a job is",
        response_model=JobOut,
        response_description="The job as it is now",
        responses=describing.responses(
            {200: {"content": {"application/json": {"example": dict(describing.DONE)}}}}, describing.OF_ONE
        ),
        openapi_extra=dict(describing.ONE),
    )
    async def get(connection: Request) -> Response:
        """State, progress, time left, and what went wrong."""
        return SafeJSONResponse(present_job(await jobs.find(connection)).model_dump(mode="json"))

    @routes.get(
        f"{ONE}/events",
        operation_id="follow_job",
        summary="Follow a job",
        response_class=Response,
        responses=describing.responses({200: describing.events_answer()}, describing.OF_STREAM),
        openapi_extra=dict(describing.ONE),
    )
    async def follow(connection: Request) -> StreamingResponse:
        """Server-sent events until the job ends."""
        job = await jobs.find(connection)
        if jobs.num_streams >= MAX_STREAMS:
            problem = f"{MAX_STREAMS} follow jobs already; ask for the job now and then instead"
            raise ApiError(ErrorKind.OVERLOADED, problem, headers=RETRY_AFTER)
        return EventStream(_counted(jobs, job))


async def _counted(jobs: JobDesk, job: Job) -> AsyncIterator[bytes]:
    jobs.num_streams += 1
    try:
        async with aclosing(job_events(jobs.premises.store, job)) as events:
            async for event in events:
                yield event
    finally:
        jobs.num_streams -= 1


def _add_fetching(routes: APIRouter, jobs: JobDesk) -> None:
    @routes.get(
        f"{ONE}/result",
        operation_id="get_job_result",
        summary="Fetch the translated file",
        response_class=Response,
        responses=describing.responses(
            {
                200: describing.file_answer("The file", describing.OCTETS, "A dog runs."),
                206: describing.file_answer("A part of it", describing.OCTETS, "A dog"),
                304: {"description": "The client has it already"},
            },
            describing.OF_RESULT,
        ),
        openapi_extra=dict(describing.RANGED),
    )
    async def result(connection: Request) -> Response:
        """In the format it came in. Its `ETag` is its SHA-256; it can be fetched in parts."""
        job = await jobs.find(connection)
        return await _file(connection, jobs, _result_of(job), job.wishes.file_name, describing.OCTETS)

    @routes.get(
        f"{ONE}/errors",
        operation_id="get_job_errors",
        summary="What could not be translated",
        response_class=Response,
        responses=describing.responses(
            {
                200: describing.file_answer(
                    "A JSON object a line: `file`, `place`, `outcome` (`untranslated`, or `cut` where a "
                    "length limit was reached), `problem`, `text`",
                    describing.JSON_LINES_OUT,
                    describing.PROBLEMS,
                ),
                304: {"description": "The client has it already"},
                206: describing.file_answer("A part of it", describing.JSON_LINES_OUT, describing.PROBLEMS),
            },
            describing.OF_RESULT,
        ),
        openapi_extra=dict(describing.RANGED),
    )
    async def errors(connection: Request) -> Response:
        """Of a job that is done; empty where all was translated."""
        job = await jobs.find(connection)
        _result_of(job)
        if job.errors is None:
            return Response(media_type=describing.JSON_LINES_OUT)
        return await _file(connection, jobs, job.errors, f"{job.id}.errors.jsonl", describing.JSON_LINES_OUT)


def _result_of(job: Job) -> Kept:
    if not job.has_ended:
        raise ApiError(ErrorKind.CONFLICT, str(JobUnfinished(job.state)))
    if job.result is None:
        problem = (
            "the job was cancelled" if job.state is State.CANCELLED else f"the job failed: {job.problem}"
        )
        raise ApiError(ErrorKind.NOT_FOUND, str(NoResult(problem)))
    return job.result


async def _file(connection: Request, jobs: JobDesk, kept: Kept, name: str, media_type: str) -> Response:
    etag = f'"{kept.sha256 or kept.blob.rpartition("-")[2]}"'
    headers = {
        "ETag": etag,
        "Accept-Ranges": "bytes",
        "Cache-Control": "private, no-cache",
        # A page that somebody had translated must not run as one of this server's.
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}",
        "X-Content-Type-Options": "nosniff",
    }
    if is_known(connection.headers, etag):
        return Response(status_code=304, headers={"ETag": etag})
    try:
        part = wanted_part(connection.headers, kept.size_bytes, etag)
    except Unsatisfiable as error:
        whole = {"Content-Range": f"bytes */{kept.size_bytes}"}
        problem = f"the file has {kept.size_bytes} bytes; ask for some of these"
        raise ApiError(ErrorKind.RANGE_NOT_SATISFIABLE, problem, headers=whole) from error
    headers["Content-Length"] = str(part.stop - part.start)
    if not part.is_whole:
        headers["Content-Range"] = part.content_range
    pieces = jobs.premises.blobs.read(kept.blob, part.start, part.stop)
    # What is not there is told before the answer begins.
    first = await _asked(lambda: next(pieces, b""))
    return StreamingResponse(chain((first,), pieces), 200 if part.is_whole else 206, headers, media_type)


def _page_wanted(connection: Request) -> tuple[int, str | None, State | None]:
    try:
        fields = Fields(form=read_urlencoded(connection.scope["query_string"]))
    except FormError as error:
        raise field_error("limit", f"the URL's query cannot be read: {error}") from error
    for name in fields.names():
        if name not in {"limit", "cursor", "state"}:
            raise field_error(name[:80], "is not known; known are limit, cursor, state")
    limit = fields.integer("limit")
    if limit is not None and not 1 <= limit <= MAX_PAGE_LENGTH:
        raise field_error("limit", f"must be 1 to {MAX_PAGE_LENGTH}")
    cursor = fields.string("cursor")
    if cursor is not None and (len(cursor) != ID_LENGTH or set(cursor) - set("0123456789abcdef")):
        raise field_error("cursor", "must be as a page before gave it")
    state = fields.string("state")
    if state is not None and state not in set(State):
        raise field_error("state", f"must be one of {', '.join(State)}")
    return limit or PAGE_LENGTH, cursor, None if state is None else State(state)


async def _asked(ask: Callable[[], Result]) -> Result:
    """Wait for the database or the store of files beside the loop; failures are told as clients see them."""
    with _told():
        return await beside(ask)


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except TooManyJobs as error:
        raise ApiError(ErrorKind.OVERLOADED, str(error), headers=RETRY_AFTER) from error
    except JobsFull as error:
        raise ApiError(ErrorKind.NO_ROOM, str(error), headers=RETRY_AFTER) from error
    except JobError as error:
        raise ApiError(ErrorKind.NOT_FOUND, str(error)) from error
    except OSError as error:
        problem = "files cannot be kept or read at the moment; try again later"
        raise ApiError(ErrorKind.STORE_UNAVAILABLE, problem, headers=RETRY_AFTER) from error
