"""The base of the middleware, and two small ones: for HEAD, and for paths as clients build them."""

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

PAGE_WITH_RELATIVE_LINKS = "/docs/"
"""Stays unknown: below it, no link of the page at `/docs` would work."""


@dataclass(slots=True, eq=False)
class HttpMiddleware(ABC):
    """ASGI middleware that sees requests only: all else passes."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (self.handle if scope["type"] == "http" else self.app)(scope, receive, send)

    @abstractmethod
    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, as an application does."""


class HeadRequests(HttpMiddleware):
    """Lets the routes of GET respond to HEAD (RFC 9110, 9.3.2). The server leaves out the body."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return
        has_ended = False

        async def receive_until_end() -> Message:
            return {"type": "http.disconnect"} if has_ended else await receive()

        async def send_head(message: Message) -> None:
            nonlocal has_ended
            if has_ended:
                return
            if message["type"] == "http.response.body":  # a stream would go on although nobody reads it
                has_ended = True
                message = {"type": "http.response.body", "body": b"", "more_body": False}
            await send(message)

        await self.app({**scope, "method": "GET"}, receive_until_end, send_head)


class SlashRemover(HttpMiddleware):
    """Joins doubled slashes of a path and removes one at its end, before routing.

    DeepL's client for Java sends documents to `/v2/document/`; redirected, it could not send them again.
    """

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = re.sub("//+", "/", scope["path"])
        scope["path"] = path if path in {"/", PAGE_WITH_RELATIVE_LINKS} else path.removesuffix("/")
        await self.app(scope, receive, send)
