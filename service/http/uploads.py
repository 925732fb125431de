"""Limits of the bytes of files being uploaded at a time, per client and in total."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from starlette.datastructures import Headers
from starlette.types import Scope

from service.accounts.keys import ANONYMOUS
from service.accounts.rates import identity_of
from service.http.errors import RETRY_AFTER, ApiError, ErrorKind

FREE_KEY_SUFFIX = ":fx"
"""Suffix that DeepL's clients may add to a key."""


@dataclass(frozen=True, slots=True)
class UploadLimits:
    """Maximum bytes of bodies with files that have no response yet. A single body is always accepted."""

    max_bytes: int = 512 * 2**20
    max_bytes_of_client: int = 128 * 2**20
    has_keys: bool = False
    """Whether to identify clients by key; where keys are not checked, anything can be sent as one."""


@dataclass(slots=True)
class Uploads:
    """Counts the bytes of bodies in progress. For one event loop."""

    limits: UploadLimits
    _by_client: Counter[str] = field(default_factory=Counter)

    @contextmanager
    def track(self, client: str) -> Iterator["TrackedUpload"]:
        """Count a body until the block ends, which includes its response."""
        upload = TrackedUpload(self, client)
        try:
            yield upload
        finally:
            self._by_client[client] -= upload.num_bytes
            if not self._by_client[client]:
                del self._by_client[client]

    def add(self, client: str, num_new: int, num_own: int) -> None:
        """Count `num_new` more bytes of a body that has `num_own`; raise an ApiError beyond a limit."""
        client_bytes, total = self._by_client[client], self._by_client.total()
        limits = self.limits
        if client_bytes > num_own and client_bytes + num_new > limits.max_bytes_of_client:
            problem = (
                f"your uploads in progress have {client_bytes - num_own} bytes; the limit is "
                f"{limits.max_bytes_of_client} bytes; retry when they have finished"
            )
            raise ApiError(ErrorKind.OVERLOADED, problem, headers={**RETRY_AFTER, "Connection": "close"})
        if total > num_own and total + num_new > limits.max_bytes:
            problem = (
                f"all uploads in progress have {total - num_own} bytes; the limit is "
                f"{limits.max_bytes} bytes; try again later"
            )
            raise ApiError(ErrorKind.NO_ROOM, problem, headers={**RETRY_AFTER, "Connection": "close"})
        self._by_client[client] += num_new


@dataclass(slots=True)
class TrackedUpload:
    """The counted bytes of one body."""

    uploads: Uploads
    client: str
    num_bytes: int = 0

    def grow_to(self, num_bytes: int) -> None:
        """Count a body as `num_bytes`, which were announced or received.

        Raises:
            ApiError: together with other bodies, it exceeds a limit.
        """
        num_new = num_bytes - self.num_bytes
        if num_new > 0:
            self.uploads.add(self.client, num_new, self.num_bytes)
            self.num_bytes = num_bytes


def client_of(scope: Scope, *, has_keys: bool) -> str:
    """Return the sender of a request: the key in its headers, whatever the API, or else its address.

    The key need not be valid: authentication rejects an invalid one anyway.
    """
    headers = Headers(scope=scope)
    credentials = headers.get("authorization", "").split() or [headers.get("x-api-key", "")]
    if has_keys and credentials[-1]:
        return f"key {credentials[-1].removesuffix(FREE_KEY_SUFFIX)}"
    address = scope.get("client")
    return identity_of(ANONYMOUS, "" if address is None else address[0])
