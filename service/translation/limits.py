"""Limits of the texts of a request."""

from collections.abc import Sequence
from dataclasses import dataclass

from service.errors import ErrorKind, FieldInvalid


class TextsTooLong(FieldInvalid):
    """There are more texts or characters than a request may carry."""

    kind = ErrorKind.TOO_LARGE


@dataclass(frozen=True, slots=True)
class TextLimits:
    """Limits of the texts of one request."""

    max_texts: int
    max_characters: int
    """Maximum characters of all texts together."""

    def check(self, texts: Sequence[str], target_prefix: str = "") -> None:
        """Raise TextsTooLong with an exceeded limit; a prefix costs as much as a text of its length."""
        if (count := len(texts)) > self.max_texts:
            problem = f"{count} texts exceed the limit of {self.max_texts} per request; send several requests"
        elif (characters := sum(map(len, texts)) + len(target_prefix)) > self.max_characters:
            counted = " (with target_prefix)" if target_prefix else ""
            problem = (
                f"{characters} characters{counted} exceed the limit of {self.max_characters} per request; "
                "send several requests"
            )
        else:
            return
        raise TextsTooLong("text", problem)
