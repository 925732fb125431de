"""A job as it goes on: server-sent events, from the database, so that it matters not which process works."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from functools import partial

from fastapi.responses import StreamingResponse
from fastapi.sse import format_sse_event

from service.accounts.errors import StoreError
from service.http.threads import run_in_thread
from service.jobs.errors import UnknownJob
from service.jobs.job import Job
from service.jobs.responses import present_job
from service.jobs.store import JobStore

LOOK_S = 1.0
QUIET_LOOKS = 15
"""Without a change, after which a comment says that the connection is alive."""
MAX_STREAMS = 200
"""At a time in this process: each looks at the database every second."""
COMMENT = b": still here\n\n"


class EventStream(StreamingResponse):
    """Server-sent events. FastAPI's own class wants all errors after the first byte."""

    media_type = "text/event-stream"


async def job_events(
    store: JobStore, job: Job, is_stopping: Callable[[], bool], look_s: float = LOOK_S
) -> AsyncGenerator[bytes]:
    """`progress` when something has changed, at first too, and `end` when it has ended.

    Without that it is over when the job is gone, or the server stops.
    """
    told, num_quiet = "", 0
    while True:
        body = present_job(job).model_dump_json()
        if job.has_ended:
            yield format_sse_event(event="end", data_str=body)
            return
        if body != told:
            told, num_quiet = body, 0
            yield format_sse_event(event="progress", data_str=body)
        elif num_quiet >= QUIET_LOOKS:
            num_quiet = 0
            yield COMMENT
        await asyncio.sleep(look_s)
        num_quiet += 1
        if is_stopping():
            return
        try:
            job = await run_in_thread(partial(store.get, job.key_id, job.id))
        except UnknownJob:
            return
        except StoreError:
            continue  # it may be there again at the next look
