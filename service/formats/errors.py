"""What is wrong with a file."""

from dataclasses import dataclass


@dataclass(eq=False)
class FileProblem(Exception):  # noqa: N818 -- named like the other errors of ours
    """A file that cannot be read, or not written."""

    problem: str
    """What is wrong, where, and what to do. It does not name the file, which the caller knows."""

    def __str__(self) -> str:
        return self.problem
