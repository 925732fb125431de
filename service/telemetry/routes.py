"""Names of requests in metrics and logs: defined by the server, and few enough to be labels."""

from starlette.types import Scope

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
OTHER = "other"
"""Name of any other method, of a path without a route, and of an endpoint outside the service."""
SERVICE = "service."
APIS = "service.api."


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
        indices = [place for place, segment in enumerate(segments) if segment == str(value)]
        if not indices:  # a value that spans several segments, or was decoded
            return str(scope["route"].path)
        segments[indices[-1]] = f"{{{name}}}"
    return "/".join(segments)


def api_of(scope: Scope) -> str:
    """Return the package of the route's endpoint: `native`, `deepl`, `jobs`."""
    module = getattr(scope.get("endpoint"), "__module__", "")
    if not module.startswith(SERVICE):
        return OTHER
    return str(module.removeprefix(APIS).removeprefix(SERVICE).partition(".")[0])


def status_class_of(status: int) -> str:
    """Return the class of a status, such as `2xx`."""
    return f"{status // 100}xx"
