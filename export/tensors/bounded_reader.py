"""Reader of binary files that checks every size against the file's before it reads."""

import os
import struct
from typing import BinaryIO

from export.tensors.tensor import TensorFileError


class BoundedReader:
    """Reads a file in order, never beyond its end.

    Every `what` names the part of the file for the message of an error.
    """

    def __init__(self, file: BinaryIO, file_name: str) -> None:
        self.file_name = file_name
        self._file = file
        self._size_bytes = os.fstat(file.fileno()).st_size
        self._position = 0

    def numbers(self, kind: str, count: int, what: str) -> tuple[int, ...]:
        """Return little-endian whole numbers; `kind` is the letter of their format in `struct`."""
        layout = struct.Struct(f"<{count}{kind}")
        return layout.unpack(self.take(layout.size, what))

    def take(self, size_bytes: int, what: str) -> bytes:
        """Return the next bytes."""
        self._advance(size_bytes, what)
        return self._file.read(size_bytes)

    def skip(self, size_bytes: int, what: str) -> int:
        """Skip some bytes; return the position of the first."""
        begin = self._position
        self._advance(size_bytes, what)
        self._file.seek(self._position)
        return begin

    def check_end(self, last: str) -> None:
        """Raise an error if bytes follow; `last` names what the file ends with."""
        if self._position != self._size_bytes:
            raise TensorFileError(
                f"{self.file_name}: {self._size_bytes - self._position} bytes follow after {last}"
            )

    def _advance(self, size_bytes: int, what: str) -> None:
        if size_bytes > self._size_bytes - self._position:
            raise TensorFileError(
                f"{self.file_name}: ends at byte {self._size_bytes}, inside {what}: "
                f"{size_bytes} bytes are needed at {self._position}"
            )
        self._position += size_bytes
