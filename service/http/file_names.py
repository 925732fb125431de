"""Names of files that clients send."""

from unicodedata import category
from urllib.parse import quote

from service.http.errors import field_error

MAX_NAME_LENGTH = 255
CONTROL = "Cc"
"""Unicode category of characters that file names must not contain. Other invisible characters occur in real
names, such as no-break spaces on macOS.
"""


def strip_folders(name: str) -> str:
    """Return what follows the last path separator of any operating system."""
    return name.replace("\\", "/").rpartition("/")[2]


def attachment(name: str) -> str:
    """Return the header Content-Disposition of a download (https://www.rfc-editor.org/info/rfc6266)."""
    return f"attachment; filename*=UTF-8''{quote(name, safe='')}"


def base_name(name: str) -> str:
    """Return a file's name without its folders.

    Raises:
        ApiError: the name is empty, is too long or has control characters.
    """
    last = strip_folders(name)
    if not last or len(last) > MAX_NAME_LENGTH or any(category(each) == CONTROL for each in last):
        raise field_error(
            "file", f"its name must have 1 to {MAX_NAME_LENGTH} characters and no control characters"
        )
    return last
