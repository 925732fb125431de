"""Events about the progress and the end of a job, whichever process runs it."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from functools import partial

from fastapi.sse import format_sse_event

from service.accounts.errors import StoreError
from service.api.native.jobs.responses import job_response
from service.jobs.errors import UnknownJob
from service.jobs.job import Job
from service.jobs.store import JobStore
from service.work.threads import run_in_thread

EVENT_LOOK_S = 1.0
QUIET_POLLS = 15
"""Number of polls without a change after which a comment keeps the connection alive."""
MAX_STREAMS = 200
"""Maximum number of simultaneous streams in this process: each polls the database every second."""
COMMENT = b": still here\n\n"


async def job_events(store: JobStore, job: Job, is_stopping: Callable[[], bool]) -> AsyncGenerator[bytes]:
    """Yield `progress` at first and after every change, and `end` when the job has ended.

    The stream stops without `end` if the job is deleted or the server stops.
    """
    sent, num_quiet = "", 0
    while True:
        body = job_response(job).model_dump_json()
        if job.has_ended:
            yield format_sse_event(event="end", data_str=body)
            return
        if body != sent:
            sent, num_quiet = body, 0
            yield format_sse_event(event="progress", data_str=body)
        elif num_quiet >= QUIET_POLLS:
            num_quiet = 0
            yield COMMENT
        await asyncio.sleep(EVENT_LOOK_S)
        num_quiet += 1
        if is_stopping():
            return
        try:
            job = await run_in_thread(partial(store.get, job.key_id, job.id))
        except UnknownJob:
            return
        except StoreError:
            continue  # the database may be back at the next poll
