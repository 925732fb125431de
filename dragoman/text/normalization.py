"""Text normalization, the same in training and in the engine."""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

MAX_MARKS = 30
"""Maximum number of consecutive combining marks, as in Unicode's Stream-Safe Text Format (UAX #15, section
13). Natural text has a handful. Composing n of them takes time quadratic in n."""

_GRAPHEME_JOINER = "\u034f"
"""Invisible; marks do not combine across it."""
BLOCKS_WITH_MARKS = (
    r"\u0300-\u036f\u0483-\u0489\u0590-\u1fff\u20d0-\u20ff\u2c00-\u2dff\u3000-\u303f\u3099\u309a"
    r"\ua640-\uabff\ufb00-\uffff\U00010000-\U0001ffff"
)
"""Blocks with combining marks, and with few of the letters in most texts."""
_MANY_MARKS = re.compile(f"[{BLOCKS_WITH_MARKS}]{{14}}")
"""Matches every text with more than `MAX_MARKS` marks in a row: a mark character decomposes into at most two
marks, and the character that carries them ends in at most three."""
_PLAIN = re.compile(r"[ -~\xa1-\xac\xae-\u02ff\u2010-\u2027\u2030-\u205e]*")
"""Matches most texts in Latin script: characters that stay as they are, but for the number of spaces."""
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u200b\u2060\ufeff]")
_LIGATURES = {code: unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)}
"""Latin ones, of which text that was copied from a PDF is full: `ﬁnden`."""
_LIGATURE = re.compile("[\ufb00-\ufb06]")


def normalise_segment(text: str) -> str:
    """Drop invisible controls, compose characters (NFC), fold white space to single spaces, split ligatures.

    No letter, sign or digit changes: fractions and full-width forms stay (NFKC would replace them). An
    invisible U+034F follows every 30 consecutive marks, so that the time is linear in the text's length.
    """
    if _PLAIN.fullmatch(text):  # has no white space but spaces
        return " ".join(text.split()) if "  " in text else text.strip()
    return " ".join(_compose(text).split())


def normalised_offsets(text: str) -> list[int]:
    """Map each character of `normalise_segment(text)` to its offset in `text`.

    Returns:
        For each normalised character, the offset of the first character of `text` that it comes from;
        then the end offset of what the last one comes from.
    """
    normalised = normalise_segment(text)
    if normalised == text:
        return list(range(len(text) + 1))
    made, offsets, end = _normalise_by_cluster(text)
    if "".join(made) == normalised:
        return [*offsets, end]
    # Characters composed over others between them: interpolate, as no exact mapping is known.
    shares = (position * len(text) // max(1, len(normalised)) for position in range(len(normalised)))
    return [*shares, len(text)]


def _normalise_by_cluster(text: str) -> tuple[list[str], list[int], int]:
    """Normalise a text cluster by cluster: each character is composed only with its own marks.

    Returns:
        The normalised characters, the offset where each comes from, and the end offset of the last one.
    """
    made: list[str] = []
    offsets: list[int] = []
    end = start = 0
    while start < len(text):
        stop = start + 1
        while stop < len(text) and not text[start].isspace() and _is_mark_or_control(text[stop]):
            stop += 1
        cluster = _compose(text[start:stop])
        if cluster and cluster.isspace():
            if made and made[-1] != " ":
                made.append(" ")
                offsets.append(start)
        elif cluster:
            made += cluster
            offsets += [start] * len(cluster)
            end = stop
        start = stop
    if made and made[-1] == " ":
        made.pop()
        offsets.pop()
    return made, offsets, end


def _is_mark_or_control(character: str) -> bool:
    return unicodedata.combining(character) != 0 or _CONTROLS.match(character) is not None


def _compose(text: str) -> str:
    """Return the text in NFC, without controls and ligatures."""
    visible = _CONTROLS.sub("", text)
    if _LIGATURE.search(visible):
        visible = visible.translate(_LIGATURES)
    if _MANY_MARKS.search(visible):
        visible = "".join(_insert_joiners(visible))
    return unicodedata.normalize("NFC", visible)


def _insert_joiners(text: str) -> Iterator[str]:
    """Yield the text with a U+034F before each mark over the limit: UAX #15, UAX15-D4."""
    num_marks = 0
    for character in text:
        num_first, num_last, is_mark = _count_marks(character)
        if num_marks + num_first > MAX_MARKS:
            yield _GRAPHEME_JOINER
            num_marks = 0
        num_marks = num_marks + num_last if is_mark else num_last
        yield character


@lru_cache(4096)
def _count_marks(character: str) -> tuple[int, int, bool]:
    """Return how many marks a character's decomposition starts and ends with, and if it is only marks."""
    is_mark = [unicodedata.combining(part) != 0 for part in unicodedata.normalize("NFKD", character)]
    if all(is_mark):
        return len(is_mark), len(is_mark), True
    return is_mark.index(False), is_mark[::-1].index(False), False
