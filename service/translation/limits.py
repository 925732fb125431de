"""Limits of the texts of a request."""

from collections.abc import Sequence

from service.errors import ErrorKind, FieldInvalid
from service.settings.groups import LimitSettings


class TextsTooLong(FieldInvalid):
    """There are more texts or characters than a request may carry."""

    kind = ErrorKind.TOO_LARGE


def check_limits(texts: Sequence[str], limits: LimitSettings, target_prefix: str = "") -> None:
    """Raise TextsTooLong with an exceeded limit; a prefix costs as much as a text of its length."""
    if (count := len(texts)) > limits.max_texts:
        problem = f"{count} texts exceed the limit of {limits.max_texts} per request; send several requests"
    elif (characters := sum(map(len, texts)) + len(target_prefix)) > limits.max_characters:
        counted = " (with target_prefix)" if target_prefix else ""
        problem = (
            f"{characters} characters{counted} exceed the limit of {limits.max_characters} per request; "
            "send several requests"
        )
    else:
        return
    raise TextsTooLong("text", problem)
