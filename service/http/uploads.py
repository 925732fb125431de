"""How many bytes of files may be on their way in at a time: of one client, and of all together."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from starlette.datastructures import Headers
from starlette.types import Scope

from service.accounts.callers import ANYONE
from service.accounts.rates import identity_of
from service.http.errors import RETRY_AFTER, ApiError, ErrorKind

FREE_KEY = ":fx"
"""What DeepL's clients may put after a key."""


@dataclass(frozen=True, slots=True)
class UploadLimits:
    """Bytes of bodies with files that are not answered yet. One that comes alone is always taken."""

    max_bytes: int = 512 * 2**20
    max_bytes_of_client: int = 128 * 2**20
    has_keys: bool = False
    """Whether a client is known by its key; where keys are not looked at, anything can be sent as one."""


@dataclass(slots=True)
class Uploads:
    """Counts bytes of bodies that are under way. For one event loop."""

    limits: UploadLimits
    _by_client: Counter[str] = field(default_factory=Counter)

    @contextmanager
    def under_way(self, client: str) -> Iterator["Upload"]:
        """Count a body for as long as the block lasts, in which its answer is given."""
        upload = Upload(self, client)
        try:
            yield upload
        finally:
            self._by_client[client] -= upload.num_bytes
            if not self._by_client[client]:
                del self._by_client[client]

    def add(self, client: str, num_new: int, num_own: int) -> None:
        """Count `num_new` bytes more of a body that has `num_own`; raise an ApiError beyond a limit."""
        of_client, total = self._by_client[client], self._by_client.total()
        limits = self.limits
        if of_client > num_own and of_client + num_new > limits.max_bytes_of_client:
            problem = (
                f"{of_client - num_own} bytes of your files are on their way in already, and at most "
                f"{limits.max_bytes_of_client} may be; send this one when others have come"
            )
            raise ApiError(ErrorKind.OVERLOADED, problem, headers={**RETRY_AFTER, "Connection": "close"})
        if total > num_own and total + num_new > limits.max_bytes:
            problem = (
                f"{total - num_own} bytes of files are on their way in already, and at most "
                f"{limits.max_bytes} may be; try again later"
            )
            raise ApiError(ErrorKind.NO_ROOM, problem, headers={**RETRY_AFTER, "Connection": "close"})
        self._by_client[client] += num_new


@dataclass(slots=True)
class Upload:
    """One body."""

    uploads: Uploads
    client: str
    num_bytes: int = 0

    def grow_to(self, num_bytes: int) -> None:
        """Count a body of so many bytes, that were announced or have come.

        Raises:
            ApiError: there are too many with those of others under way.
        """
        num_new = num_bytes - self.num_bytes
        if num_new > 0:
            self.uploads.add(self.client, num_new, self.num_bytes)
            self.num_bytes = num_bytes


def client_of(scope: Scope, *, has_keys: bool) -> str:
    """Return who sends a request: the key in its headers, whatever API it is for, or else its address.

    The key need not be valid: one that is not is rejected by itself, as soon as it is looked at.
    """
    headers = Headers(scope=scope)
    credentials = headers.get("authorization", "").split() or [headers.get("x-api-key", "")]
    if has_keys and credentials[-1]:
        return f"key {credentials[-1].removesuffix(FREE_KEY)}"
    address = scope.get("client")
    return identity_of(ANYONE, "" if address is None else address[0])
