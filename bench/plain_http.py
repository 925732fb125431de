"""A minimal HTTP/1.1 client: one persistent connection, one request at a time.

In a load test the clients share the CPUs with the server, so that their CPU time is lost to the server.
"""

import asyncio
import json
from collections.abc import Mapping
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

NO_RESPONSE = 0
"""Stands for the status if the connection failed or timed out."""
_LENGTH = b"\r\ncontent-length:"


class PlainClient:
    """Client of one server, which connects at the first request and again after the connection was closed."""

    def __init__(self, address: str, timeout_s: float) -> None:
        parts = urlsplit(address)
        if parts.hostname is None or parts.port is None:
            raise ValueError(f"{address}: an address with a host and a port")
        self._host, self._port = parts.hostname, parts.port
        self._timeout_s = timeout_s
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._close()

    async def post(self, path: str, body: Mapping[str, object]) -> int:
        """Send a request; return the status after the body is read, or `NO_RESPONSE` without one in time."""
        content = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {self._host}:{self._port}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._exchange(head.encode("ascii") + content)
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            await self._close()
            return NO_RESPONSE

    async def _exchange(self, request: bytes) -> int:
        if self._reader is None or self._writer is None:
            self._reader, self._writer = await asyncio.open_connection(self._host, self._port)
        self._writer.write(request)
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        begin = head.index(_LENGTH) + len(_LENGTH)
        await self._reader.readexactly(int(head[begin : head.index(b"\r\n", begin)]))
        if b"\r\nconnection: close\r\n" in head:
            await self._close()
        return int(head[9:12])

    async def _close(self) -> None:
        writer, self._reader, self._writer = self._writer, None, None
        if writer is None:
            return
        writer.close()
        try:
            await writer.wait_closed()
        except OSError:
            return  # the connection was broken already
