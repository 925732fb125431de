"""Search for all matches of a pattern in a text of any length: one search lets no other thread run."""

import re
from collections.abc import Callable, Iterator

WINDOW = 12_288
"""Maximum characters of one search: it takes up to 20 ms."""
LONGEST = 4_096
"""Maximum characters before the closing part of what is found, in a text longer than `WINDOW`."""
_LOOKED_AHEAD = 64
"""Characters after a match on which the match may depend."""


def never_pause() -> None:
    """Do nothing: for texts that need no pause."""


def find_all(
    pattern: re.Pattern[str], text: str, pause: Callable[[], None] = never_pause
) -> Iterator[re.Match[str]]:
    """Yield the matches that do not overlap, as `pattern.finditer` does.

    Args:
        pattern: does not match an empty text.
        text: any text.
        pause: called after each search; what it raises ends the iteration.
    """
    at = 0
    while len(text) - at > WINDOW:
        end = at + WINDOW
        last = end - LONGEST
        for found in pattern.finditer(text, at, end):
            if found.start() >= last:
                break
            if found.end() > end - _LOOKED_AHEAD:
                found = pattern.match(text, found.start()) or found  # noqa: PLW2901 -- the same, in full
            at = found.end()
            yield found
        at = max(at, last)
        pause()
    for found in pattern.finditer(text, at):
        yield found
        pause()
