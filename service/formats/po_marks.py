"""Review marks in gettext catalogues: the flag `fuzzy`, and comments of translators."""

from collections.abc import Sequence

from service.formats.review_marks import TOOL, TargetText, confidence_of, origin_of
from service.text.outcome import TextOrigin

_FUZZY = "fuzzy"


def entry_start(lines: Sequence[str], first: int) -> int:
    """Return the index of an entry's first line, which may be a comment.

    Args:
        lines: lines of the catalogue.
        first: number of the entry's first line that is no comment, counted from 1.
    """
    start = max(0, first - 1)
    while start and lines[start - 1].startswith("#") and not lines[start - 1].startswith("#~"):
        start -= 1
    return start


def mark_entry(entry: str, texts: Sequence[TargetText]) -> str:
    """Return an entry with the marks of the texts that were filled in; without any, it stays as it is."""
    filled_in = [text for text in texts if text.text]
    origin, confidence = origin_of(filled_in), confidence_of(filled_in)
    if origin is None:
        return entry
    lines = entry.splitlines(keepends=True)
    line_end = "\r\n" if lines[0].endswith("\r\n") else "\n"
    if origin is not TextOrigin.MEMORY:
        _add_flag(lines, line_end)
    comment = "memory: exact" if origin is TextOrigin.MEMORY else confidence and f"confidence: {confidence}"
    if comment:
        lines.insert(_num_comments(lines, "# "), f"# {TOOL}, {comment}{line_end}")
    return "".join(lines)


def _add_flag(lines: list[str], line_end: str) -> None:
    comments = [i for i, line in enumerate(lines[: _num_comments(lines, "#")]) if line.startswith("#,")]
    if not comments:
        others = [line for line in lines[: _num_comments(lines, "#")] if not line.startswith("#|")]
        lines.insert(len(others), f"#, {_FUZZY}{line_end}")
        return
    flags = {flag.strip() for i in comments for flag in lines[i].removeprefix("#,").split(",")}
    if _FUZZY not in flags:
        lines[comments[0]] = f"#, {_FUZZY}, {lines[comments[0]].removeprefix('#,').lstrip()}"


def _num_comments(lines: Sequence[str], start: str) -> int:
    """Return the number of lines at the beginning that start so."""
    return next((i for i, line in enumerate(lines) if not line.startswith(start)), len(lines))
