"""Range requests and conditional requests for a file: RFC 9110, sections 13 and 14."""

import re
from dataclasses import dataclass

from starlette.datastructures import Headers

_ONE_RANGE = re.compile(r"bytes=(?P<first>\d{0,18})-(?P<last>\d{0,18})", re.ASCII)


class RangeNotSatisfiable(Exception):  # noqa: N818 -- clear without the suffix
    """The requested range begins after the end of the file."""


@dataclass(frozen=True, slots=True)
class Part:
    """Bytes of a file, from `start` up to `stop`."""

    start: int
    stop: int
    size_bytes: int
    """Size of the whole file."""
    is_whole: bool

    @property
    def content_range(self) -> str:
        return f"bytes {self.start}-{self.stop - 1}/{self.size_bytes}"


def requested_part(headers: Headers, size_bytes: int, etag: str) -> Part:
    """Return the requested part. Ignore a header that is malformed, requests several ranges (the
    specification allows this) or refers to another version of the file.

    Raises:
        RangeNotSatisfiable: the file has no byte of the requested range.
    """
    whole = Part(0, size_bytes, size_bytes, is_whole=True)
    requested = _ONE_RANGE.fullmatch(headers.get("range", "").replace(" ", ""))
    if requested is None or headers.get("if-range", etag) != etag:
        return whole
    first, last = requested["first"], requested["last"]
    if not first and not last:
        return whole
    if not first:  # a number of bytes from the end
        start, stop = max(size_bytes - int(last), 0), size_bytes
    else:
        start, stop = int(first), min(int(last) + 1, size_bytes) if last else size_bytes
        if last and int(last) < start:
            return whole
    if start >= size_bytes:
        raise RangeNotSatisfiable
    return Part(start, stop, size_bytes, is_whole=False)


def matches_etag(headers: Headers, etag: str) -> bool:
    """Return whether the client already has this version."""
    known = [each.strip().removeprefix("W/") for each in headers.get("if-none-match", "").split(",")]
    return etag in known or known == ["*"]
