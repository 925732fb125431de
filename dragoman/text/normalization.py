"""One spelling of a text: what training saw is what the engine sees."""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

MAX_MARKS = 30
"""Combining marks in a row that Unicode's Stream-Safe Text Format allows (UAX #15, section 13); natural text
has a handful. To compose n of them takes time in proportion to n squared, so more must not come to it."""

_SPACES = re.compile(r"\s+")
_GRAPHEME_JOINER = "\u034f"
"""Is not seen, and no mark combines across it."""
BLOCKS_WITH_MARKS = (
    r"\u0300-\u036f\u0483-\u0489\u0590-\u1fff\u20d0-\u20ff\u2c00-\u2dff\u3000-\u303f\u3099\u309a"
    r"\ua640-\uabff\ufb00-\uffff\U00010000-\U0001ffff"
)
"""Where combining marks are, and few of the letters that most texts are made of."""
_MAY_BE_TOO_MANY = re.compile(f"[{BLOCKS_WITH_MARKS}]{{14}}")
"""What more than `MAX_MARKS` in a row have in them: no character is more than two, and what they stand on has
three at most."""
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u200b\u2060\ufeff]")


def normalise_segment(text: str) -> str:
    """Drop invisible controls, compose characters (NFC), fold white space to single spaces.

    Nothing visible changes: ligatures, fractions and full-width forms stay (NFKC would not leave them). After
    every 30 combining marks in a row comes a U+034F, which is not seen: so the time taken is in proportion to
    the text's length.
    """
    return _SPACES.sub(" ", _composed(text)).strip()


def normalised_places(text: str) -> list[int]:
    """Where each character of `normalise_segment(text)` comes from.

    Returns:
        One more than it has characters: the place of the first character of `text` that became the
        character, and at last that of the end of what became the last one.
    """
    normalised = normalise_segment(text)
    if normalised == text:
        return list(range(len(text) + 1))
    made, places, end = _by_cluster(text)
    if "".join(made) == normalised:
        return [*places, end]
    # Characters that compose over others between them: only how far the text has come is known.
    shares = (place * len(text) // max(1, len(normalised)) for place in range(len(normalised)))
    return [*shares, len(text)]


def _by_cluster(text: str) -> tuple[list[str], list[int], int]:
    """A normalised text made of the clusters of another: a character and the marks on it are composed alone.

    Returns:
        Its characters, where each comes from, and where the last one ends.
    """
    made: list[str] = []
    places: list[int] = []
    end = start = 0
    while start < len(text):
        stop = start + 1
        while stop < len(text) and not text[start].isspace() and _is_on_another(text[stop]):
            stop += 1
        cluster = _composed(text[start:stop])
        if cluster and cluster.isspace():
            if made and made[-1] != " ":
                made.append(" ")
                places.append(start)
        elif cluster:
            made += cluster
            places += [start] * len(cluster)
            end = stop
        start = stop
    if made and made[-1] == " ":
        made.pop()
        places.pop()
    return made, places, end


def _is_on_another(character: str) -> bool:
    return unicodedata.combining(character) != 0 or _CONTROLS.match(character) is not None


def _composed(text: str) -> str:
    """The text in NFC, without controls."""
    visible = _CONTROLS.sub("", text)
    if _MAY_BE_TOO_MANY.search(visible):
        visible = "".join(_with_joiners(visible))
    return unicodedata.normalize("NFC", visible)


def _with_joiners(text: str) -> Iterator[str]:
    """The text with a U+034F wherever a mark would be one too many: UAX #15, UAX15-D4."""
    num_marks = 0
    for character in text:
        num_first, num_last, is_mark = _marks_of(character)
        if num_marks + num_first > MAX_MARKS:
            yield _GRAPHEME_JOINER
            num_marks = 0
        num_marks = num_marks + num_last if is_mark else num_last
        yield character


@lru_cache(4096)
def _marks_of(character: str) -> tuple[int, int, bool]:
    """Marks that a character begins and ends with when it is taken apart, and whether it is nothing else."""
    is_mark = [unicodedata.combining(part) != 0 for part in unicodedata.normalize("NFKD", character)]
    if all(is_mark):
        return len(is_mark), len(is_mark), True
    return is_mark.index(False), is_mark[::-1].index(False), False
