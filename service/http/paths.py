"""Paths as clients build them from addresses that end with a slash."""

import re
from dataclasses import dataclass

from starlette.types import ASGIApp, Receive, Scope, Send

PAGE_WITH_RELATIVE_LINKS = "/docs/"
"""Stays unknown: below it, no link of the page at `/docs` would work."""


@dataclass(slots=True, eq=False)
class SlashRemover:
    """ASGI middleware that joins doubled slashes of a path and removes one at its end, before routing.

    DeepL's client for Java sends documents to `/v2/document/`; redirected, it could not send them again.
    """

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            path = re.sub("//+", "/", scope["path"])
            scope["path"] = path if path in {"/", PAGE_WITH_RELATIVE_LINKS} else path.removesuffix("/")
        await self.app(scope, receive, send)
