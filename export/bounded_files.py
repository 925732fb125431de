"""Small files from untrusted sources, read up to a limit of their size."""

from pathlib import Path

MAX_TEXT_BYTES = 2**20
"""Maximum number of bytes that are read of a document; what follows them is not looked at."""


class UnreadableFileError(ValueError):
    """A file is missing or too large; the message says which, without the file's name."""


def read_bounded(path: Path, max_bytes: int) -> bytes:
    """Return the content of a file.

    Raises:
        UnreadableFileError: it cannot be read, or has more bytes; no more than that are read.
    """
    try:
        with path.open("rb") as file:
            content = file.read(max_bytes + 1)
    except OSError as error:
        raise UnreadableFileError(f"cannot be read: {error.strerror}") from error
    if len(content) > max_bytes:
        raise UnreadableFileError(f"has more than {max_bytes} bytes")
    return content


def read_beginning(path: Path) -> str:
    """Return the beginning of a document; empty if there is none."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return file.read(MAX_TEXT_BYTES).decode("utf8", errors="replace")
