"""One spelling of a text: what training saw is what the engine sees."""

import re
import unicodedata

_SPACES = re.compile(r"\s+")
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u200b\u2060\ufeff]")


def normalise_segment(text: str) -> str:
    """Drop invisible controls, compose characters (NFC), fold white space to single spaces.

    Nothing visible changes: ligatures, fractions and full-width forms stay (NFKC would not leave them).
    """
    composed = unicodedata.normalize("NFC", _CONTROLS.sub("", text))
    return _SPACES.sub(" ", composed).strip()


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
        cluster = unicodedata.normalize("NFC", _CONTROLS.sub("", text[start:stop]))
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
