"""Segments in capital letters: models translate them far worse than the same words in sentence case.

The model reads such a segment in sentence case, and its translation gets capitals.
"""

import re
from itertools import accumulate

MIN_CAPITALS = 5
"""Minimum number of letters: fewer may be an abbreviation, which a translation keeps."""
_CODE = re.compile(r"[\d%{}<>@\\_$#=]|\w\.\w|://")
"""Matches in tokens that keep their case, such as placeholders and addresses."""
_TOKEN = re.compile(r"\S+")
_DOTLESS_I = "\N{LATIN SMALL LETTER DOTLESS I}"
_HAS_DOTTED_CAPITAL_I = frozenset({"tr", "tur", "az", "aze", "azj"})
"""Languages in which a dotted and a dotless i are two letters."""


def sentence_case(segment: str, language: str) -> str:
    """Return a segment in capitals in sentence case, and any other segment unchanged.

    Args:
        segment: any text.
        language: its language, by the model's code.

    Returns:
        A text of the same length.
    """
    if not _is_in_capitals(segment):
        return segment
    lower = _TOKEN.sub(lambda token: _lower(token[0], language), segment)
    first = next((place for place, letter in enumerate(lower) if letter != segment[place]), 0)
    return lower[:first] + segment[first] + lower[first + 1 :]


def to_capitals(text: str, language: str) -> str:
    """Return a text in capitals, but for tokens such as placeholders; ß becomes SS."""
    return _TOKEN.sub(lambda token: _upper(token[0], language), text)


def offsets_in_capitals(text: str, language: str) -> list[int]:
    """Map each offset of `text`, and its end, to the offset in `to_capitals(text, language)`."""
    lengths = [1] * len(text)
    for token in _TOKEN.finditer(text):
        if not _CODE.search(token[0]):
            lengths[token.start() : token.end()] = [len(_upper(one, language)) for one in token[0]]
    return [*accumulate(lengths, initial=0)]


def _is_in_capitals(segment: str) -> bool:
    """Return whether enough letters are capitals and none is not; most segments end at their first word."""
    num_capitals = 0
    for token in segment.split():
        if _CODE.search(token):
            continue
        letters = [character for character in token if character.isalpha() and character != "ß"]
        if not all(map(str.isupper, letters)):
            return False
        num_capitals += len(letters)
    return num_capitals >= MIN_CAPITALS


def _lower(token: str, language: str) -> str:
    if _CODE.search(token):
        return token
    if _has_dotted_capital_i(language):
        token = token.replace("I", _DOTLESS_I)
    return token.replace("İ", "i").lower()  # the only letter whose lower case is longer


def _upper(token: str, language: str) -> str:
    if _CODE.search(token):
        return token
    return (token.replace("i", "İ") if _has_dotted_capital_i(language) else token).upper()


def _has_dotted_capital_i(language: str) -> bool:
    return re.split("[-_]", language)[0].lower() in _HAS_DOTTED_CAPITAL_I
