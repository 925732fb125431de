"""Change words to capitals and to lower case, as their language does."""

import re
from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate

from dragoman.languages import primary_subtag
from dragoman.types import Span

_CODE = re.compile(r"[\d%{}<>@\\_$#=]|\w\.\w|://")
"""Matches in tokens that keep their case, such as placeholders and addresses."""
_TOKEN = re.compile(r"\S+")
_WORD = re.compile(r"[^\W\d_]+(?:['\N{RIGHT SINGLE QUOTATION MARK}][^\W\d_]+)*")
_DOTLESS_I = "\N{LATIN SMALL LETTER DOTLESS I}"
_ENDS = (".", "!", "?", "\N{HORIZONTAL ELLIPSIS}")
MAX_LABEL_WORDS = 3
_HAS_DOTTED_CAPITAL_I = frozenset({"tr", "tur", "az", "aze", "azj"})
"""Languages in which a dotted and a dotless i are two letters."""


def is_code(token: str) -> bool:
    """Return whether a token keeps its case, such as a placeholder or an address."""
    return _CODE.search(token) is not None


def to_lower(text: str, language: str) -> str:
    """Return a text in lower case, which has the same length."""
    if _has_dotted_capital_i(language):
        text = text.replace("I", _DOTLESS_I)
    return text.replace("İ", "i").lower()  # the only letter whose lower case is longer


def with_first_capital(target: str, language: str, segments: Sequence[str], index: int) -> str:
    """Return the translation of a sentence or a label with a capital first, if its source has one.

    Args:
        target: the translation; names such as `eBay`, and words of the segment, stay.
        language: of the translation.
        segments: those of a text; a label is all of it.
        index: position of the segment that was translated.
    """
    segment = segments[index]
    if not target[:1].islower() or not segment[:1].isupper():
        return target
    is_sentence = all(each.endswith(_ENDS) for each in segments[max(0, index - 1) : index + 1])
    is_label = len(segments) == 1 and len(segment.split()) <= MAX_LABEL_WORDS
    if not is_sentence and not is_label:
        return target
    [word] = target.split(maxsplit=1)[:1]
    capital = to_capitals(word[0], language)
    if word in segment or word[1:2].isupper() or is_code(word) or len(capital) > 1:
        return target
    return capital + target[1:]


def to_capitals(text: str, language: str, words: Iterable[Span] | None = None) -> str:
    """Return a text in capitals, but for tokens such as placeholders; ß becomes SS.

    Args:
        text: any text.
        language: its language, by the model's code.
        words: where to change it; None for everywhere.
    """
    return "".join(_characters_in_capitals(text, language, words))


def offsets_in_capitals(text: str, language: str, words: Iterable[Span] | None = None) -> list[int]:
    """Map each offset of `text`, and its end, to the offset in `to_capitals(text, language, words)`."""
    return [*accumulate(map(len, _characters_in_capitals(text, language, words)), initial=0)]


def words_at(text: str, spans: Collection[Span]) -> list[Span]:
    """Return the words of a text that overlap any of the spans; none of a token such as a placeholder."""
    words = (
        Span(*word.span())
        for token in _TOKEN.finditer(text)
        if not is_code(token[0])
        for word in _WORD.finditer(text, *token.span())
    )
    return [word for word in words if any(word.overlaps(span) for span in spans)]


def _characters_in_capitals(text: str, language: str, words: Iterable[Span] | None) -> Sequence[str]:
    """Return what each character becomes."""
    has_dotted = _has_dotted_capital_i(language)
    characters = list(text)
    tokens = (Span(*token.span()) for token in _TOKEN.finditer(text) if not is_code(token[0]))
    for start, end in tokens if words is None else words:
        for position in range(start, end):
            letter = text[position]
            characters[position] = "İ" if has_dotted and letter == "i" else letter.upper()
    return characters


def _has_dotted_capital_i(language: str) -> bool:
    return primary_subtag(language) in _HAS_DOTTED_CAPITAL_I
