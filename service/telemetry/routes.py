"""What a request is called by: words of the server's own, few enough to label counts with."""

from starlette.types import Scope

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
OTHER = "other"
"""A method that is none of these, a path that is no route's, an endpoint outside the service."""
SERVICE = "service."
APIS = "service.api."


def method_of(scope: Scope) -> str:
    """A client may make up methods."""
    method: str = scope["method"]
    return method if method in METHODS else OTHER


def route_of(scope: Scope) -> str:
    """The path with the names of its parameters in place of what they are; known once it was routed.

    A route knows its path only as far as its own router does.
    """
    if scope.get("route") is None:
        return OTHER
    segments = scope["path"].split("/")
    for name, value in reversed(scope.get("path_params", {}).items()):
        places = [place for place, segment in enumerate(segments) if segment == str(value)]
        if not places:  # one that spans several segments, or was decoded
            return str(scope["route"].path)
        segments[places[-1]] = f"{{{name}}}"
    return "/".join(segments)


def api_of(scope: Scope) -> str:
    """Return the package of the route's endpoint: `native`, `deepl`, `jobs`."""
    module = getattr(scope.get("endpoint"), "__module__", "")
    if not module.startswith(SERVICE):
        return OTHER
    return str(module.removeprefix(APIS).removeprefix(SERVICE).partition(".")[0])


def status_class_of(status: int) -> str:
    """`2xx`."""
    return f"{status // 100}xx"
