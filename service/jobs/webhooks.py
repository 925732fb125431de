"""Webhooks: one signed POST to the client's server when a job has ended, limited in time and bytes read.

Signatures follow Standard Webhooks (https://www.standardwebhooks.com): HMAC-SHA256 over id, time and body.
Every key has its own secret, derived from the server's.
"""

import asyncio
import base64
import binascii
import hashlib
import hmac
import json
import logging
import ssl
import time
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

import anyio
import h11
from sqlalchemy import ColumnElement, or_, select, true, update

from service.accounts.accounts import Clock
from service.accounts.database import Database
from service.accounts.errors import StoreError
from service.http.errors import SERVER_FAILED, log_unexpected
from service.http.threads import run_in_thread, run_on_daemon_thread
from service.jobs.addresses import PORTS, Peer, WebhookUrl, parse_webhook_url, resolve_peer
from service.jobs.errors import AddressRejected, JobUnreadable
from service.jobs.job import UNREADABLE, Job, WebhookState
from service.jobs.responses import job_response
from service.jobs.tables import as_job
from service.schema.tables import JOBS
from service.settings import SettingsError
from service.telemetry.counters import WorkerCounters
from service.versions import installed_version

SECRET_PREFIX = "whsec_"  # noqa: S105 -- only the prefix of secrets
"""Prefix of a base64 secret, as in Standard Webhooks; a secret without it is used as it is."""
MIN_SECRET_BYTES = 16
MAX_ATTEMPT_S = 30.0
"""Time limit in seconds for a whole try: look-up, connection, request and response head."""
MAX_ANSWER_BYTES = 32 * 1024
"""Maximum number of bytes read of a response before its status; the rest is not read."""
PIECE_BYTES = 4096
FIRST_PAUSE_S, PAUSE_FACTOR, MAX_TRIES = 5.0, 4.0, 8
"""The last try is about seven and a half hours after the first."""
KEY_LABEL = b"dragoman webhook secret of key "


class DeliveryFailed(Exception):  # noqa: N818 -- clear without the suffix
    """The receiver did not accept the message."""


@dataclass(frozen=True, slots=True)
class WebhookOptions:
    """Options for sending webhooks."""

    secret: bytes
    """Secret of the server, from which the keys' secrets are derived."""
    previous_secret: bytes | None = None
    """Former secret, which signs as well while receivers switch to the new one."""
    allows_private: bool = False
    """Whether to send to addresses outside the public internet as well."""
    first_pause_s: float = FIRST_PAUSE_S
    max_attempt_s: float = MAX_ATTEMPT_S


@dataclass(frozen=True, slots=True)
class WebhookMessage:
    """The content of a webhook."""

    id: str
    """Id, the same at every try, so that receivers can recognise repeated messages."""
    body: bytes
    key_id: str | None = None
    """Key of the job; None if the job was sent without a key."""


def read_secret(secret: str, setting: str = "webhook_secret") -> bytes:
    """Return the bytes of a secret, as the settings or a user write it.

    Raises:
        SettingsError: the secret is too short, or has the base64 prefix but is not base64.
    """
    if secret.startswith(SECRET_PREFIX):
        try:
            key = base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
        except binascii.Error as error:
            raise SettingsError(f"{setting}: what follows {SECRET_PREFIX} must be base64") from error
    else:
        key = secret.encode()
    if len(key) < MIN_SECRET_BYTES:
        raise SettingsError(f"{setting}: must have {MIN_SECRET_BYTES} bytes or more")
    return key


def key_secret(server_secret: bytes, key_id: str) -> bytes:
    """Return the secret that signs messages about the jobs of one key; the key's holder may know it."""
    return hmac.new(server_secret, KEY_LABEL + key_id.encode(), hashlib.sha256).digest()


def write_secret(secret: bytes) -> str:
    """Return a secret in the form that Standard Webhooks and `read_secret` read."""
    return SECRET_PREFIX + base64.b64encode(secret).decode("ascii")


def signatures(options: WebhookOptions, message: WebhookMessage, sent_at_s: int) -> str:
    """Return the value of `webhook-signature`: signatures separated by spaces, as the standard allows.

    The secret of the job's key signs first; then the server's own, for receivers that were set up before keys
    had secrets; then both again with the previous server secret, if there is one.
    """
    secrets = []
    for server_secret in filter(None, (options.secret, options.previous_secret)):
        if message.key_id is not None:
            secrets.append(key_secret(server_secret, message.key_id))
        secrets.append(server_secret)
    return " ".join(signature(secret, message, sent_at_s) for secret in secrets)


def signature(secret: bytes, message: WebhookMessage, sent_at_s: int) -> str:
    """Return one signature, which the receiver computes and compares."""
    signed = b".".join((message.id.encode(), str(sent_at_s).encode(), message.body))
    return "v1," + base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode("ascii")


def retry_delay_s(num_tries: int, first_pause_s: float = FIRST_PAUSE_S) -> float | None:
    """Return the seconds before the next try; None if that was the last."""
    return None if num_tries >= MAX_TRIES else first_pause_s * PAUSE_FACTOR ** (num_tries - 1)


async def deliver(url: str, message: WebhookMessage, options: WebhookOptions, now_s: float) -> None:
    """Send a message once. Do not follow redirects, and ignore proxies set in the environment.

    Raises:
        AddressRejected: the message must not be sent there; a retry would be useless.
        DeliveryFailed: the receiver did not accept the message within `options.max_attempt_s`.
    """
    parsed = parse_webhook_url(url)
    headers = _headers(parsed, message, signatures(options, message, int(now_s)), int(now_s))
    try:
        async with asyncio.timeout(options.max_attempt_s):
            prepare = partial(_prepare, parsed, allows_private=options.allows_private)
            peer, context = await run_on_daemon_thread(prepare)
            status = await _post(parsed, peer, context, headers, message.body)
    except TimeoutError as error:
        raise DeliveryFailed(f"it did not respond within {options.max_attempt_s:g} s") from error
    except OSError as error:
        raise DeliveryFailed(f"it cannot be reached: {type(error).__name__}") from error
    except h11.RemoteProtocolError as error:
        raise DeliveryFailed("its response is not valid HTTP, or too long") from error
    if not 200 <= status < 300:  # noqa: PLR2004 -- statuses of success
        raise DeliveryFailed(f"it responded with status {status}")


def _prepare(url: WebhookUrl, *, allows_private: bool) -> tuple[Peer, ssl.SSLContext | None]:
    """Resolve the host and load certificates: both wait for a disk or a network."""
    peer = resolve_peer(url, allows_private=allows_private)
    return peer, ssl.create_default_context() if url.is_encrypted else None


async def _post(
    url: WebhookUrl,
    peer: Peer,
    context: ssl.SSLContext | None,
    headers: list[tuple[str, str]],
    body: bytes,
) -> int:
    """Send a request and return the status of the response; nothing else of it is read.

    The connection goes to the checked address, even if the host name now resolves differently.
    """
    name = None if context is None else url.host
    reader, writer = await asyncio.open_connection(
        peer.address, peer.port, ssl=context, server_hostname=name, limit=PIECE_BYTES
    )
    try:
        http = h11.Connection(h11.CLIENT)
        head = http.send(h11.Request(method="POST", target=url.target, headers=headers))
        writer.write((head or b"") + (http.send(h11.Data(data=body)) or b""))
        await writer.drain()
        num_bytes = 0
        while not isinstance(event := http.next_event(), h11.Response):
            if event is h11.NEED_DATA:
                piece = await reader.read(PIECE_BYTES)
                num_bytes += len(piece)
                http.receive_data(piece)
            if num_bytes > MAX_ANSWER_BYTES:
                raise DeliveryFailed(f"it sent more than {MAX_ANSWER_BYTES} bytes before a status")
        return event.status_code
    finally:
        writer.transport.abort()


def _headers(
    url: WebhookUrl, message: WebhookMessage, message_signatures: str, sent_at_s: int
) -> list[tuple[str, str]]:
    host = f"[{url.host}]" if ":" in url.host else url.host
    return [
        ("Host", host if url.port == PORTS[url.scheme] else f"{host}:{url.port}"),
        ("Content-Length", str(len(message.body))),
        ("Content-Type", "application/json"),
        ("User-Agent", f"dragoman/{installed_version('dragoman')}"),
        ("Connection", "close"),
        ("webhook-id", message.id),
        ("webhook-timestamp", str(sent_at_s)),
        ("webhook-signature", message_signatures),
    ]


@dataclass(frozen=True, slots=True)
class WebhookQueue:
    """Due messages. All methods wait for the database, and raise StoreError if it cannot be used."""

    database: Database
    clock: Clock

    def claim(self, hold_s: float, busy: Collection[str | None] = ()) -> Job | None:
        """Return the job whose message has been due longest, and count a try; None if none is due.

        Args:
            hold_s: seconds for which no other process claims it.
            busy: keys whose jobs are skipped.
        """
        now = self.clock.now()
        is_due = JOBS.c.webhook_due_at <= now
        due = select(JOBS.c.id).where(is_due, _is_none_of(busy)).order_by(JOBS.c.webhook_due_at).limit(1)
        with self.database.reading() as connection:  # it keeps nobody waiting, and mostly finds nothing
            job_id = connection.execute(due).scalar()
        if job_id is None:
            return None
        found = select(JOBS).where(JOBS.c.id == job_id, is_due)
        with self.database.writing() as connection:
            row = connection.execute(found.with_for_update(skip_locked=True)).first()
            if row is None:  # another process was faster
                return None
            held = {"webhook_due_at": now + timedelta(seconds=hold_s), "webhook_tries": row.webhook_tries + 1}
            mine = update(JOBS).where(JOBS.c.id == row.id)
            connection.execute(mine.values(held))
            try:
                return as_job(connection.execute(select(JOBS).where(JOBS.c.id == row.id)).one())
            except JobUnreadable:  # it must not block all other claims for ever
                connection.execute(mine.values(_ended(WebhookState.FAILED, UNREADABLE)))
                return None

    def retry(self, job_id: str, in_s: float, problem: str) -> None:
        """Schedule the next try of a message, `in_s` seconds from now."""
        due_at = self.clock.now() + timedelta(seconds=in_s)
        self._set(job_id, {"webhook_due_at": due_at, "webhook_problem": problem})

    def end(self, job_id: str, state: WebhookState, problem: str | None = None) -> None:
        """Record the final state of a message, which is never sent again."""
        self._set(job_id, _ended(state, problem))

    def _set(self, job_id: str, values: dict[str, Any]) -> None:
        with self.database.writing() as connection:
            connection.execute(update(JOBS).where(JOBS.c.id == job_id).values(values))


def _ended(state: WebhookState, problem: str | None) -> dict[str, Any]:
    return {"webhook_due_at": None, "webhook_state": state, "webhook_problem": problem}


def _is_none_of(keys: Collection[str | None]) -> ColumnElement[bool]:
    named = [key for key in keys if key is not None]
    is_other = JOBS.c.key_id.not_in(named) if named else true()
    return JOBS.c.key_id.is_not(None) & is_other if None in keys else or_(JOBS.c.key_id.is_(None), is_other)


MAX_DELIVERIES = 16
"""Maximum number of simultaneous deliveries in this process."""
MAX_DELIVERIES_OF_KEY = 2
"""The same for one key, so that slow receivers delay only the webhooks of their own key."""
CLAIM_S = 120.0
"""Seconds for which no other process tries to send a claimed message."""
RETRIED = "retried"

logger = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class WebhookSender:
    """Sends due webhooks, on one event loop."""

    queue: WebhookQueue
    options: WebhookOptions
    counters: WorkerCounters
    poll_s: float
    _in_progress: Counter[str | None] = field(default_factory=Counter[str | None])
    _has_ended: asyncio.Event = field(default_factory=asyncio.Event)

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
                    await asyncio.wait_for(self._has_ended.wait(), self.poll_s)

    async def _claim(self) -> Job | None:
        if self._in_progress.total() >= MAX_DELIVERIES:
            return None
        busy = [key for key, count in self._in_progress.items() if count >= MAX_DELIVERIES_OF_KEY]
        try:
            return await run_in_thread(lambda: self.queue.claim(CLAIM_S, busy))
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
            message = WebhookMessage(job.id, _body(job), job.key_id)
            await deliver(job.job_request.webhook_url or "", message, self.options, time.time())
        except AddressRejected as error:
            return self._give_up(job, f"the URL {error}")
        except DeliveryFailed as error:
            return self._try_again(job, str(error))
        except Exception as error:  # noqa: BLE001 -- must not affect other deliveries
            log_unexpected(error)
            return self._try_again(job, SERVER_FAILED)
        self.counters.webhooks.add(WebhookState.DELIVERED)
        return partial(self.queue.end, job.id, WebhookState.DELIVERED)

    def _try_again(self, job: Job, problem: str) -> Callable[[], None]:
        pause_s = retry_delay_s(job.webhook_tries, self.options.first_pause_s)
        if pause_s is None:
            return self._give_up(job, problem)
        logger.info(
            "job %s: attempt %d to deliver its webhook failed: %s", job.id, job.webhook_tries, problem
        )
        self.counters.webhooks.add(RETRIED)
        return partial(self.queue.retry, job.id, pause_s, problem)

    def _give_up(self, job: Job, problem: str) -> Callable[[], None]:
        logger.warning("job %s: its webhook is not delivered: %s", job.id, problem)
        self.counters.webhooks.add(WebhookState.FAILED)
        return partial(self.queue.end, job.id, WebhookState.FAILED, problem)


def _body(job: Job) -> bytes:
    """Return the message's body, which is the same at every try: it does not include the webhook's state."""
    content = job_response(job).model_dump(mode="json", exclude={"webhook"})
    return json.dumps({"type": "job.ended", "job": content}).encode()
