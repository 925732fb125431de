"""Responses in pieces."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send


class EventStream(StreamingResponse):
    """Response of server-sent events. FastAPI's own class cannot respond with an error status."""

    media_type = "text/event-stream"


class FileStream(StreamingResponse):
    """Response with the bytes of a file, which is closed as soon as the response ends, also early."""

    def __init__(
        self, pieces: AsyncGenerator[bytes], status_code: int, headers: Mapping[str, str], media_type: str
    ) -> None:
        super().__init__(pieces, status_code, headers, media_type)
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with aclosing(self._pieces):
            await super().__call__(scope, receive, send)
