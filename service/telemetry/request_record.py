"""The record of the current request, available everywhere in the program through a context variable."""

import re
import secrets
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass

from starlette.types import Scope

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
OTHER = "other"
"""Name of any other method, of a path without a route, and of an endpoint outside the service."""
SERVICE = "service."


def method_of(scope: Scope) -> str:
    """Return the method if it is known, else `other`: clients can invent methods."""
    method: str = scope["method"]
    return method if method in METHODS else OTHER


def route_of(scope: Scope) -> str:
    """Return the path with names in place of its parameters' values; known once the request is routed.

    Made from the request's path, since a route knows only its own router's part of the path.
    """
    if scope.get("route") is None:
        return OTHER
    segments = scope["path"].split("/")
    for name, value in reversed(scope.get("path_params", {}).items()):
        indices = [index for index, segment in enumerate(segments) if segment == str(value)]
        if not indices:  # a value that spans several segments, or was decoded
            return str(scope["route"].path)
        segments[indices[-1]] = f"{{{name}}}"
    return "/".join(segments)


def api_of(scope: Scope) -> str:
    """Return the package of the route's endpoint: `native`, `deepl`, `jobs`."""
    module = getattr(scope.get("endpoint"), "__module__", "")
    if not module.startswith(SERVICE):
        return OTHER
    return str(module.split(".")[-2])


def status_class_of(status: int) -> str:
    """Return the class of a status, such as `2xx`."""
    return f"{status // 100}xx"


ID_BYTES = 8
_ID_FORM = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)


@dataclass(slots=True)
class RequestRecord:
    """Ids and texts of one request, shared by all tasks and threads that work for it."""

    request_id: str
    trace_id: str | None = None
    characters: int = 0
    """Number of characters to translate."""
    texts: tuple[str, ...] = ()
    """Texts to translate, for logs with `log_texts`."""


CURRENT_REQUEST: ContextVar[RequestRecord | None] = ContextVar("dragoman_request", default=None)


def begin_request(client_id: str | None) -> RequestRecord:
    """Create the record of a request in this context, which ends with the request.

    Args:
        client_id: id from the client or a proxy. Used if it has 1 to 64 letters, digits, dots, hyphens and
            underscores; else replaced by a random one, so that a client cannot write into the log at will.
    """
    is_valid = client_id is not None and _ID_FORM.fullmatch(client_id)
    note = RequestRecord(client_id if client_id and is_valid else secrets.token_hex(ID_BYTES))
    CURRENT_REQUEST.set(note)
    return note


def record_texts(texts: Sequence[str]) -> None:
    """Record texts that the current request wants translated; do nothing if there is no request."""
    note = CURRENT_REQUEST.get()
    if note is not None:
        note.characters += sum(map(len, texts))
        note.texts = (*note.texts, *texts)
