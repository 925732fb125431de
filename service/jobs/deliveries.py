"""Delivery of webhooks when jobs end: several at a time, few per key, with a bounded number of tries."""

import asyncio
import json
import logging
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import anyio

from service.accounts.errors import StoreError
from service.http.errors import SERVER_FAILED, log_unexpected
from service.http.threads import run_in_thread
from service.jobs.errors import AddressRejected
from service.jobs.job import Job, WebhookState
from service.jobs.responses import job_response
from service.jobs.webhook_queue import WebhookQueue
from service.jobs.webhooks import MAX_TRIES, DeliveryFailed, Message, WebhookOptions, deliver, retry_delay_s
from service.telemetry.worker_counters import WorkerCounters

MAX_DELIVERIES = 16
"""Maximum number of simultaneous deliveries in this process."""
MAX_DELIVERIES_OF_KEY = 2
"""The same for one key, so that slow receivers delay only the webhooks of their own key."""
CLAIM_S = 120.0
"""Seconds for which no other process tries to send a claimed message."""
RETRIED = "retried"

logger = logging.getLogger(__name__)


class WebhookSender:
    """Sends due webhooks, on one event loop."""

    def __init__(
        self, queue: WebhookQueue, options: WebhookOptions, counters: WorkerCounters, poll_s: float
    ) -> None:
        self._queue = queue
        self._options = options
        self._counters = counters
        self._poll_s = poll_s
        self._in_progress = Counter[str | None]()
        self._has_ended = asyncio.Event()

    async def keep_sending(self, beat: Callable[[], None]) -> None:
        """Send due messages until cancelled. Cancelling aborts tries; another process repeats them.

        Args:
            beat: called after each look-up.
        """
        async with anyio.create_task_group() as tasks:
            while True:
                self._has_ended.clear()
                job = await self._claim()
                beat()
                if job is not None:
                    self._in_progress[job.key_id] += 1
                    tasks.start_soon(self._send, job)
                    continue
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._has_ended.wait(), self._poll_s)

    async def _claim(self) -> Job | None:
        if self._in_progress.total() >= MAX_DELIVERIES:
            return None
        busy = [key for key, count in self._in_progress.items() if count >= MAX_DELIVERIES_OF_KEY]
        try:
            return await run_in_thread(lambda: self._queue.claim(CLAIM_S, busy))
        except StoreError as error:
            logger.error("cannot look up the webhooks to send: %s", error)  # noqa: TRY400 -- a traceback adds nothing
            return None

    async def _send(self, job: Job) -> None:
        try:
            note = await self._try(job)
            await run_in_thread(note)
        except StoreError as error:  # it is due again once the hold is over
            logger.error("job %s: cannot store the outcome of its webhook: %s", job.id, error)  # noqa: TRY400
        finally:
            self._in_progress[job.key_id] -= 1
            self._has_ended.set()

    async def _try(self, job: Job) -> Callable[[], None]:
        """Send a job's message once. Whatever happens, return a function that stores the outcome."""
        try:
            if job.webhook_tries > MAX_TRIES:  # processes died while sending it
                return self._give_up(job, job.webhook_problem or SERVER_FAILED)
            message = Message(job.id, _body(job), job.key_id)
            await deliver(job.job_request.webhook_url or "", message, self._options, time.time())
        except AddressRejected as error:
            return self._give_up(job, f"the URL {error}")
        except DeliveryFailed as error:
            return self._try_again(job, str(error))
        except Exception as error:  # noqa: BLE001 -- must not affect other deliveries
            log_unexpected(error)
            return self._try_again(job, SERVER_FAILED)
        self._counters.webhooks.add(WebhookState.DELIVERED)
        return partial(self._queue.end, job.id, WebhookState.DELIVERED)

    def _try_again(self, job: Job, problem: str) -> Callable[[], None]:
        pause_s = retry_delay_s(job.webhook_tries, self._options.first_pause_s)
        if pause_s is None:
            return self._give_up(job, problem)
        logger.info(
            "job %s: attempt %d to deliver its webhook failed: %s", job.id, job.webhook_tries, problem
        )
        self._counters.webhooks.add(RETRIED)
        return partial(self._queue.retry, job.id, pause_s, problem)

    def _give_up(self, job: Job, problem: str) -> Callable[[], None]:
        logger.warning("job %s: its webhook is not delivered: %s", job.id, problem)
        self._counters.webhooks.add(WebhookState.FAILED)
        return partial(self._queue.end, job.id, WebhookState.FAILED, problem)


def _body(job: Job) -> bytes:
    """Return the message's body, which is the same at every try: it does not include the webhook's state."""
    content = job_response(job).model_dump(mode="json", exclude={"webhook"})
    return json.dumps({"type": "job.ended", "job": content}).encode()
