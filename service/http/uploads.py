"""Limits of the bytes of files being uploaded at a time, per client and in total.

Only bytes that were received count, and those that a valid key has announced: anybody can announce any
number.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from starlette.datastructures import Headers
from starlette.types import Scope

from service.accounts.keys import ANONYMOUS, Caller
from service.accounts.rates import identity_of
from service.http.errors import RETRY_AFTER, ApiError, ErrorKind
from service.settings.groups import JobSettings
from service.work.shares import ClientCounts, exceeds_share

UPLOAD = "upload"
"""Key in a request's scope of its `TrackedUpload`, if its path accepts files."""
STRANGER_PARTS = 4
"""An address has this part of a client's share until the request is authenticated."""


@dataclass(slots=True)
class Uploads:
    """Counts the bytes of bodies with files that have no response yet. For one event loop.

    A body is always accepted alone.
    """

    limits: JobSettings
    by_client: ClientCounts = field(default_factory=ClientCounts)

    @contextmanager
    def track(self, scope: Scope) -> Iterator["TrackedUpload"]:
        """Count the body of a request until the block ends, which includes its response."""
        address = scope.get("client")
        identity = identity_of(ANONYMOUS, "" if address is None else address[0])
        max_bytes = self.limits.max_uploads_bytes_of_client // STRANGER_PARTS
        upload = TrackedUpload(self, announced_bytes(scope), f"stranger {identity}", max_bytes)
        try:
            yield upload
        finally:
            self.by_client.add(upload.client, -upload.num_bytes)

    def check(self, client: str, max_bytes_of_client: int, num_new: int, num_own: int) -> None:
        """Raise an ApiError if `num_new` more bytes of a body that has `num_own` exceed a limit."""
        client_bytes, total = self.by_client[client], self.by_client.total()
        if client_bytes > num_own and client_bytes + num_new > max_bytes_of_client:
            problem = (
                f"your uploads in progress have {client_bytes - num_own} bytes; the limit is "
                f"{max_bytes_of_client} bytes; retry when they have finished"
            )
            raise ApiError(ErrorKind.OVERLOADED, problem, headers={**RETRY_AFTER, "Connection": "close"})
        max_bytes = self.limits.max_uploads_bytes
        if total > num_own and exceeds_share(client_bytes + num_new, total + num_new, max_bytes):
            problem = (
                f"all uploads in progress have {total - num_own} of at most {max_bytes} bytes, and what is "
                "left is kept for several clients; try again later"
            )
            raise ApiError(ErrorKind.NO_ROOM, problem, headers={**RETRY_AFTER, "Connection": "close"})


@dataclass(slots=True)
class TrackedUpload:
    """The counted bytes of one body."""

    uploads: Uploads
    announced_bytes: int
    client: str
    max_bytes_of_client: int
    num_bytes: int = 0

    def authenticate(self, caller: Caller) -> None:
        """Count the body for its caller, and for a key what it announced.

        Raises:
            ApiError: together with other bodies, it exceeds a limit.
        """
        self.uploads.by_client.add(self.client, -self.num_bytes)
        self.client = caller.client
        self.max_bytes_of_client = self.uploads.limits.max_uploads_bytes_of_client
        self.uploads.by_client.add(self.client, self.num_bytes)
        if caller.key_id is not None:
            self.grow_to(self.announced_bytes)

    def grow_to(self, num_bytes: int) -> None:
        """Count a body as `num_bytes`.

        Raises:
            ApiError: together with other bodies, it exceeds a limit.
        """
        num_new = num_bytes - self.num_bytes
        if num_new > 0:
            self.uploads.check(self.client, self.max_bytes_of_client, num_new, self.num_bytes)
            self.uploads.by_client.add(self.client, num_new)
            self.num_bytes = num_bytes


def has_body(scope: Scope) -> bool:
    """Return whether a request announces a body."""
    headers = Headers(scope=scope)
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"


def announced_bytes(scope: Scope) -> int:
    """Return Content-Length, or 0 if it is missing or invalid: the count while reading then decides."""
    try:
        return int(Headers(scope=scope).get("content-length", "0"))
    except ValueError:
        return 0
