"""Rate limits of callers.

Windows move: the limit holds in any minute, not only in minutes of the clock. A window that rejects a request
does not count it.
"""

import asyncio
import ipaddress
import logging
import math
import re
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import urlsplit

from limits import RateLimitItem, RateLimitItemPerMinute, parse_many
from limits.aio.storage import MemoryStorage, RedisStorage
from limits.aio.storage.redis.redispy import RedispyBridge
from limits.aio.strategies import MovingWindowRateLimiter
from limits.errors import ConfigurationError, StorageError

from service.accounts.errors import RateLimited, RatesInvalid
from service.accounts.keys import Caller

REDIS_TIMEOUT_S = 0.5
REDIS_RETRY_S = 5.0
"""Seconds to wait after a failure of Redis before it is used again."""
IPV6_PREFIX_BITS = 64
"""Prefix of an IPv6 network that counts as one client: a provider's customer gets at least one (RFC 6177)."""
MEMORY = "memory://"

logger = logging.getLogger(__name__)


RateLimits = Sequence[RateLimitItem]
"""Windows, all of which a request must pass; shortest first."""


def parse_rate_limits(text: str) -> RateLimits:
    """Parse a setting such as `20/minute` or `20 per 1 minute; 1000/hour`.

    Raises:
        RatesInvalid: it has another form, or a 0.
    """
    try:
        windows = parse_many(text)
    except ValueError as error:
        raise RatesInvalid("rate_limit", f"{text!r} must have the form `20/minute; 1000/hour`") from error
    if re.search(r"(?<![0-9])0+(?![0-9])", text):
        raise RatesInvalid("rate_limit", f"{text!r} contains 0; omit the setting for no limit")
    # With the shortest first, a request rejected by a short window does not fill a long one for hours.
    return sorted(windows, key=RateLimitItem.get_expiry)


class MemoryWindowStorage(MemoryStorage):
    """Moving windows in memory.

    The base class visits all its keys after every request, in a thread: with a thousand callers that took a
    whole CPU at 200 requests per second. This class removes empty keys every `SWEEP_S` seconds.
    """

    SWEEP_S = 10.0

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._monotonic = monotonic
        self._entry_times: dict[str, deque[float]] = {}
        self._empty_at: dict[str, float] = {}
        self._swept_at = monotonic()

    async def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        """Add `amount` entries if the window of `expiry` seconds stays within `limit`; return whether."""
        now = self._monotonic()
        self._sweep(now)
        entered_at = self._entry_times.setdefault(key, deque())
        while entered_at and entered_at[0] <= now - expiry:
            entered_at.popleft()
        if len(entered_at) + amount > limit:
            return False
        entered_at.extend([now] * amount)
        self._empty_at[key] = now + expiry
        return True

    async def get_moving_window(self, key: str, limit: int, expiry: int) -> tuple[float, int]:
        """Return the time of the oldest entry within `expiry` seconds, in Unix seconds, and how many."""
        del limit
        now = self._monotonic()
        entered_at = [entry for entry in self._entry_times.get(key, ()) if entry > now - expiry]
        age_s = now - entered_at[0] if entered_at else 0.0
        return time.time() - age_s, len(entered_at)

    def _sweep(self, now: float) -> None:
        if now - self._swept_at < self.SWEEP_S:
            return
        self._swept_at = now
        for key in [key for key, empty_at in self._empty_at.items() if empty_at <= now]:
            del self._empty_at[key], self._entry_times[key]


@dataclass(slots=True)
class RateLimiter:
    """Rate limiter that counts in this process or in Redis. For one event loop."""

    default: RateLimits | None
    """Limits of callers whose key has no limit of its own; None for no limit."""
    _shared: MovingWindowRateLimiter | None
    """Limiter in Redis, shared by several processes; None to count in this process."""
    _local: MovingWindowRateLimiter = field(
        default_factory=lambda: MovingWindowRateLimiter(MemoryWindowStorage())
    )
    _redis_retry_at_s: float = -math.inf

    @classmethod
    def open(cls, storage_url: str | None, default: str | None) -> Self:
        """Create it from both settings; it connects to Redis only at the first request.

        Args:
            storage_url: `memory://` or None to count in this process, `redis://HOST:PORT/NUMBER` (or
                `rediss://`) to count in Redis.
            default: limits such as `20/minute; 1000/hour`; None for no limit.

        Raises:
            RatesInvalid: a setting cannot be used; the error names it.
        """
        limits = None if default is None else parse_rate_limits(default)
        if storage_url is None or storage_url == MEMORY:
            return cls(limits, None)
        return cls(limits, MovingWindowRateLimiter(_open_redis(storage_url)))

    async def admit(self, caller: Caller, address: str) -> None:
        """Count a request for its key, or for the client's address if there is none.

        A key's own limit of requests per minute replaces the default.

        Raises:
            RateLimited: a limit is exceeded; the error names it and says when to retry.
        """
        key_limit = caller.limits.requests_per_minute
        limits = self.default if key_limit is None else [RateLimitItemPerMinute(key_limit)]
        if limits is not None:
            await self.hit(identity_of(caller, address), limits)

    async def hit(self, identity: str, limits: RateLimits) -> None:
        """Count a request of `identity`.

        While Redis is unavailable, this process counts alone. n processes together then accept n times as
        many requests, which is better than to reject everybody or to count nobody.

        Raises:
            RateLimited: a limit is exceeded; the error names it and says when to retry.
        """
        if self._shared is not None and time.monotonic() >= self._redis_retry_at_s:
            try:
                async with asyncio.timeout(REDIS_TIMEOUT_S):
                    await _hit(self._shared, identity, limits)
            except (StorageError, OSError) as error:  # TimeoutError is one
                self._redis_retry_at_s = time.monotonic() + REDIS_RETRY_S
                logger.error(  # noqa: TRY400 -- a traceback adds nothing and would repeat every few seconds
                    "rate limits: Redis failed (%s); this process counts requests alone and retries in %g s",
                    type(error.__cause__ or error).__name__,
                    REDIS_RETRY_S,
                )
            else:
                return
        await _hit(self._local, identity, limits)

    async def close(self) -> None:
        """Close the connection to Redis."""
        storage = None if self._shared is None else self._shared.storage
        if isinstance(storage, RedisStorage) and isinstance(storage.bridge, RedispyBridge):
            await storage.bridge.storage.aclose()


def identity_of(caller: Caller, address: str) -> str:
    """Return the identity to count requests for: a key or an address."""
    return f"address:{network_of(address)}" if caller.key_id is None else f"key:{caller.key_id}"


def network_of(address: str) -> str:
    """Return the address by which a client is counted; for IPv6, its network of 64 bits."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address  # a Unix socket's, or text from a proxy
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    if isinstance(ip, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((ip, IPV6_PREFIX_BITS), strict=False))
    return str(ip)


async def _hit(limiter: MovingWindowRateLimiter, identity: str, limits: RateLimits) -> None:
    for window in limits:
        if not await limiter.hit(window, identity):
            stats = await limiter.get_window_stats(window, identity)
            raise RateLimited(str(window), max(1, math.ceil(stats.reset_time - time.time())))


def _open_redis(url: str) -> RedisStorage:
    """Create the storage. Raises RatesInvalid, which does not quote the URL: it may contain a password."""
    problem = "must be memory:// or redis://HOST:PORT/NUMBER"
    try:
        scheme = urlsplit(url).scheme
        if scheme not in {"redis", "rediss"}:
            raise RatesInvalid("rate_storage_url", problem)
        return RedisStorage(f"async+{url}", wrap_exceptions=True, implementation="redispy")
    except (ConfigurationError, ValueError):  # these quote the URL
        raise RatesInvalid("rate_storage_url", f"{problem}; Redis needs the package redis") from None
