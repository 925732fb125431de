"""Markdown tables whose cells show any text literally."""

import re
from collections.abc import Iterable, Sequence

_SPECIAL_CHARACTERS = re.compile(
    r"[\\`*\[\]<>|~&$]"
    r"|(?<![^\W_])_|_(?![^\W_])"  # inside a word it is a plain character
    r"|:(?=[\w+-]+:)"  # GitHub's :emoji:
)


def cell(value: object) -> str:
    """Return a value as the text of a cell: on one line, with Markdown's special characters escaped.

    White space becomes single spaces, since cells show no more than that.
    """
    return _SPECIAL_CHARACTERS.sub(r"\\\g<0>", " ".join(str(value).split()))


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table; `head` is Markdown, the rows' values are plain text."""
    lines = [f"| {' | '.join(head)} |" if any(head) else "|" + " |" * len(head), "|" + "---|" * len(head)]
    lines += [f"| {' | '.join(map(cell, row))} |" for row in rows]
    return "\n".join(lines)
