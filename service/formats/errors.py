"""The error for files that cannot be translated."""

from dataclasses import dataclass


@dataclass(eq=False)
class FileFormatError(Exception):
    """Raised when a file cannot be read or written."""

    problem: str
    """What is wrong, where, and what to do. It does not name the file: the caller knows the name."""

    def __str__(self) -> str:
        return self.problem
