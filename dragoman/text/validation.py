"""Texts that no tokenizer can read are refused here, before anything else sees them."""

import re

from dragoman.errors import InputError

_SURROGATE = re.compile("[\ud800-\udfff]")


def check_text(text: str, item: int | None) -> None:
    """Refuse a text that is not well-formed Unicode.

    A `str` may hold surrogates, halves of UTF-16 pairs; they stand for no character and have no UTF-8.

    Args:
        text: what the caller sent.
        item: its position in the caller's list, from 0; None where there is no list.

    Raises:
        InputError: naming the first surrogate and its position.
    """
    if (problem := surrogate_problem(text)) is not None:
        raise InputError("text", problem, item)


def surrogate_problem(text: str) -> str | None:
    """Name the first lone surrogate of a text and its position; None where there is none."""
    found = _SURROGATE.search(text)
    if found is None:
        return None
    return (
        f"lone surrogate U+{ord(found.group()):04X} at character {found.start()} (counted from 0);"
        " send well-formed Unicode"
    )
