"""Routes of the web page and of the API's documentation: static files, which need no API key."""

import hashlib
import html
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import Response

from service.formats.registry import installed_suffixes
from service.settings.groups import split_names
from service.settings.settings import Settings

STATIC = Path(__file__).parent / "static"
API = "native"
"""The API that the page needs."""
NO_OPTIONS = '<meta name="server-options" content="{}">'
"""Element of the page that gets the server's options."""
MEDIA_TYPES: Mapping[str, str] = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
SHARED_FILES = ("page.css", "icon.svg")
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    # A new release has the same names, so browsers ask whether their copies are current.
    "Cache-Control": "no-cache",
}


@dataclass(frozen=True, slots=True)
class PageOptions:
    """Facts about the server that the page needs."""

    detects_languages: bool
    max_characters: int
    max_job_bytes: int | None
    """Maximum size of a document; None if there are no jobs."""


def page_options(settings: Settings, *, has_jobs: bool) -> PageOptions | None:
    """Return the page's options; None if the settings disable the page, or the API that it needs."""
    if settings.page == "off" or API not in split_names(settings.apis):
        return None
    return PageOptions(
        settings.detection == "on", settings.max_characters, settings.max_job_bytes if has_jobs else None
    )


def page_routes(options: PageOptions | None) -> APIRouter:
    """Return the routes of the files; None leaves only the documentation."""
    routes = APIRouter(include_in_schema=False)
    names = [*SHARED_FILES, "docs.js"]
    _add(routes, "/docs", _read("docs.html"), "docs.html")
    if options is not None:
        names.append("page.js")
        _add(routes, "/", _with_options(_read("index.html"), options), "index.html")
    for name in names:
        _add(routes, f"/page/{name}", _read(name), name)
    return routes


def _add(routes: APIRouter, path: str, content: bytes, name: str) -> None:
    routes.add_api_route(path, _responder(content, MEDIA_TYPES[Path(name).suffix]), methods=["GET", "HEAD"])


def _responder(content: bytes, media_type: str) -> Callable[[Request], Awaitable[Response]]:
    etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {**HEADERS, "ETag": etag}

    async def respond(connection: Request) -> Response:
        if etag in connection.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(content, media_type=media_type, headers=headers)

    return respond


def _read(name: str) -> bytes:
    return (STATIC / name).read_bytes()


def _with_options(page: bytes, options: PageOptions) -> bytes:
    documents = None
    if options.max_job_bytes is not None:
        documents = {"suffixes": installed_suffixes(), "max_bytes": options.max_job_bytes}
    content = json.dumps(
        {
            "detects_languages": options.detects_languages,
            "max_characters": options.max_characters,
            "documents": documents,
        }
    )
    element = NO_OPTIONS.replace("{}", html.escape(content))
    return page.replace(NO_OPTIONS.encode(), element.encode())
