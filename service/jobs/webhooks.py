"""Telling a sender's own server that its job has ended: signed, again when it fails, never where it must not.

Signatures are those of Standard Webhooks (https://www.standardwebhooks.com): HMAC-SHA256 over id, time and
body. When to try again is kept with the job, so that no restart forgets it.
"""

import base64
import binascii
import hashlib
import hmac
import http.client
import socket
import ssl
from dataclasses import dataclass
from threading import Timer
from typing import Any

from service.jobs.addresses import Peer, WebhookUrl, find_peer, parse_webhook_url
from service.settings import SettingsError
from service.versions import installed_version

SECRET_PREFIX = "whsec_"  # noqa: S105 -- no secret, but what one begins with
"""Of a secret in base64, as Standard Webhooks writes it; any other is taken as it is."""
MIN_SECRET_BYTES = 16
TIMEOUT_S = 10.0
"""For connecting, and for each answer to come."""
MAX_ATTEMPT_S = 30.0
"""For a whole attempt, however slowly its answer comes."""
FIRST_PAUSE_S, PAUSE_FACTOR, MAX_TRIES = 5.0, 4.0, 8
"""The last try is about seven and a half hours after the first."""


class DeliveryFailed(Exception):  # noqa: N818 -- says it without the suffix
    """The other side did not take it."""


@dataclass(frozen=True, slots=True)
class WebhookOptions:
    """How webhooks are sent."""

    secret: bytes
    allows_private: bool = False
    """Whether also to addresses that are not of the public internet."""
    first_pause_s: float = FIRST_PAUSE_S


@dataclass(frozen=True, slots=True)
class Message:
    """What is told."""

    id: str
    """The same at every try, so that a receiver knows one that comes twice."""
    body: bytes


def read_secret(secret: str) -> bytes:
    """The key of signatures.

    Raises:
        SettingsError: it is too short, or not the base64 that it says it is.
    """
    if secret.startswith(SECRET_PREFIX):
        try:
            key = base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
        except binascii.Error as error:
            raise SettingsError(f"webhook_secret: what follows {SECRET_PREFIX} must be base64") from error
    else:
        key = secret.encode()
    if len(key) < MIN_SECRET_BYTES:
        raise SettingsError(f"webhook_secret: must have {MIN_SECRET_BYTES} bytes or more")
    return key


def signature(secret: bytes, message: Message, sent_at_s: int) -> str:
    """What a receiver makes as well, and compares."""
    signed = b".".join((message.id.encode(), str(sent_at_s).encode(), message.body))
    return "v1," + base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode("ascii")


def pause_after(num_tries: int, first_pause_s: float = FIRST_PAUSE_S) -> float | None:
    """Seconds before the next try; None where that was the last."""
    return None if num_tries >= MAX_TRIES else first_pause_s * PAUSE_FACTOR ** (num_tries - 1)


def deliver(url: str, message: Message, options: WebhookOptions, now_s: float) -> None:
    """Send a message once. Redirects are not followed, and proxies of the environment not used.

    Raises:
        AddressRefused: it must not be sent there, and trying again is of no use.
        DeliveryFailed: it was not taken.
        OSError: nobody answered.
    """
    parsed = parse_webhook_url(url)
    peer = find_peer(parsed, allows_private=options.allows_private)
    connection = _Pinned(parsed, peer)
    timer = Timer(MAX_ATTEMPT_S, connection.break_off)
    timer.daemon = True
    timer.start()
    try:
        connection.request("POST", parsed.target, message.body, _headers(message, options, int(now_s)))
        status = connection.getresponse().status
    except http.client.HTTPException as error:
        raise DeliveryFailed(f"it answered something else than HTTP: {type(error).__name__}") from error
    finally:
        timer.cancel()
        connection.close()
    if not 200 <= status < 300:  # noqa: PLR2004 -- statuses of success
        raise DeliveryFailed(f"it answered with status {status}")


def _headers(message: Message, options: WebhookOptions, sent_at_s: int) -> dict[str, str]:
    return {
        "Content-Type": "application/json",
        "User-Agent": f"dragoman/{installed_version('dragoman')}",
        "Connection": "close",
        "webhook-id": message.id,
        "webhook-timestamp": str(sent_at_s),
        "webhook-signature": signature(options.secret, message, sent_at_s),
    }


class _Pinned(http.client.HTTPConnection):
    """A connection to an address that was looked at, whatever its host's name leads to by now."""

    def __init__(self, url: WebhookUrl, peer: Peer) -> None:
        super().__init__(url.host, url.port, timeout=TIMEOUT_S)
        self.default_port = 443 if url.is_encrypted else 80
        self._url = url
        self._peer = peer
        self._raw: socket.socket | None = None

    def connect(self) -> None:
        self._raw = socket.create_connection((self._peer.address, self._peer.port), TIMEOUT_S)
        self.sock: Any = self._raw
        if self._url.is_encrypted:
            self.sock = ssl.create_default_context().wrap_socket(self._raw, server_hostname=self._url.host)
            self._raw = self.sock

    def break_off(self) -> None:
        """From another thread: whatever is waited for fails."""
        if self._raw is not None:
            try:
                self._raw.shutdown(socket.SHUT_RDWR)
            except OSError:
                return  # it is closed
