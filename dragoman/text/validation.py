"""Rejection of texts that no tokenizer can read."""

import re

from dragoman.errors import InputError

_SURROGATE = re.compile("[\ud800-\udfff]")


def check_text(text: str, item: int | None) -> None:
    """Reject a text that is not well-formed Unicode.

    A `str` may hold surrogates, halves of UTF-16 pairs; they encode no character and have no UTF-8 form.

    Args:
        text: what the caller sent.
        item: index in the caller's list, from 0; None if there is no list.

    Raises:
        InputError: the text has a surrogate; names the first one and its position.
    """
    if (problem := surrogate_problem(text)) is not None:
        raise InputError("text", problem, item)


def surrogate_problem(text: str) -> str | None:
    """Describe the first lone surrogate of a text and its position; return None if there is none."""
    found = None if text.isprintable() else _SURROGATE.search(text)  # no surrogate is printable
    if found is None:
        return None
    return (
        f"lone surrogate U+{ord(found.group()):04X} at character {found.start()} (counted from 0);"
        " send well-formed Unicode"
    )
