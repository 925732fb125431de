"""Words that models translate far worse than other spellings of them: in capitals, German with ss for ß, and
words after an opening quotation mark, as vocabularies have whole words only after spaces.

The model reads such a word as its vocabulary is more likely to have it; the translation of one in capitals
gets them too (`capitals.py`). Lita et al. 2003, "tRuEcasIng", ACL, choose the case by a language model.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import lt

from dragoman.languages import primary_subtag
from dragoman.reading.read_text import RewordedText
from dragoman.text.capitals import is_code, to_lower
from dragoman.types import Span

MIN_CAPITALS = 5
"""Minimum number of letters of a segment in capitals: fewer may be an abbreviation."""
SENTENCE_START_COST = 1.0
"""Minimum difference of costs for which a word gets a capital: many have one only where sentences begin."""
HAS_SHARP_S = frozenset({"de", "deu", "ger"})
"""Languages that have ß; it is SS in capitals, and ss in Switzerland."""
CACHED_PARTS = 4096
MAX_CACHED_LETTERS = 64
"""Limit of the cache's memory: longer parts of words are no words, and come once."""
_MAY_BE_CAPITALS = re.compile(r"(?<!\S)[^\sa-z]++(?!\S)")
"""Matches tokens without letters from a to z."""
_WORD = re.compile(r"[^\W\d_]+(?:['\N{RIGHT SINGLE QUOTATION MARK}-][^\W\d_]+)*")
_PART = re.compile(r"['\N{RIGHT SINGLE QUOTATION MARK}]?[^\W\d_]+")
_QUOTES = '"\u2018\u201a\u201c\u201e'
_GUILLEMETS = "\xab\xbb"
_OPENING = re.compile(
    rf"(?:(?<=[\s(\[{_QUOTES}{_GUILLEMETS}'])|^)"
    rf"(?:[{_QUOTES}{_GUILLEMETS}](?=[^\W\d_])|'(?=[^\W\d_][^']*+'(?!\w)))"
)
"""An opening quotation mark before a word; an apostrophe is one if it has a partner."""
_MAY_BE_CAPITAL = "[A-Z\u00c0-\u00d6\u00d8-\u00df\u0100-\U0010ffff]"
_TWO_CAPITALS = re.compile(_MAY_BE_CAPITAL * 2)
"""Occurs in every segment with two capitals in a row, and in few others. One of the two may be a ß."""
_MAY_BE_ADDED = re.compile(rf"(?<=[{_QUOTES}{_GUILLEMETS}']) |ß")
"""A quote space, or a letter for SS."""
_ANY_OPENING = re.compile(rf"[{_QUOTES}{_GUILLEMETS}']")

WordCost = Callable[[str], tuple[int, float]]
"""Returns the number of pieces of a word, and its cost: lower for a more frequent word."""


@dataclass(frozen=True, slots=True)
class _RespelledPart:
    """A word, or a part of it between hyphens and apostrophes."""

    text: str
    is_likely: bool
    """Whether it has fewer pieces in this case than in capitals, as words have rather than abbreviations."""


class Respeller:
    """Respells segments by a vocabulary. Safe to use from several threads."""

    def __init__(self, word_cost: WordCost) -> None:
        self._word_cost = word_cost
        self._cached_part = lru_cache(CACHED_PARTS)(self._respell_new_part)
        self._cached_ss = lru_cache(CACHED_PARTS)(self._find_ss_in)

    def respell(
        self, segment: str, language: str, *, may_add_quote_spaces: bool = True
    ) -> RewordedText | None:
        """Return how the model may read a segment; None if only as it is.

        Args:
            segment: any text.
            language: its language, by the model's code.
            may_add_quote_spaces: whether to insert spaces after opening quotation marks.
        """
        has_capitals, has_ss = _TWO_CAPITALS.search(segment), "ss" in segment and _has_sharp_s(language)
        may_open = may_add_quote_spaces and _ANY_OPENING.search(segment)
        if not (has_capitals or has_ss or may_open):
            return None
        capitals = _find_capitals(segment) if has_capitals else []
        num_letters = sum([word.end - word.start for word in capitals])
        is_whole = num_letters >= MIN_CAPITALS and all(map(_is_in_capitals, segment.split()))
        if not is_whole:
            capitals = [word for word in capitals if self._is_likely(segment[slice(*word)], language)]
        others = self._find_ss(segment, language) if has_ss else []
        text = self._respell_words(segment, sorted((*capitals, *others)), language)
        first = capitals[0].start if capitals else 0
        if capitals and (is_whole or not any(map(str.isalpha, segment[:first]))):
            text = f"{text[:first]}{segment[first]}{text[first + 1 :]}"
        spaced = _OPENING.sub(r"\g<0> ", text) if may_open else text
        if spaced == segment:
            return None
        has_quote_spaces = spaced != text
        offsets = _offsets(spaced, segment) if has_quote_spaces or len(text) != len(segment) else None
        return RewordedText(spaced, None if is_whole else tuple(capitals), offsets, has_quote_spaces)

    def _find_ss(self, segment: str, language: str) -> list[Span]:
        """Return the words with an ss that becomes a ß."""
        words: list[Span] = []
        end = 0
        for token in [token for token in segment.split() if "ss" in token]:
            start = segment.index(token, end)
            end = start + len(token)
            find = self._cached_ss if len(token) <= MAX_CACHED_LETTERS else self._find_ss_in
            words += [Span(start + first, start + last) for first, last in find(token, language)]
        return words

    def _find_ss_in(self, token: str, language: str) -> tuple[Span, ...]:
        """Return the same of a token, which no white space divides."""
        words = () if is_code(token) else _WORD.finditer(token)
        return tuple(Span(*word.span()) for word in words if self._respell_word(word[0], language) != word[0])

    def _respell_words(self, segment: str, words: Sequence[Span], language: str) -> str:
        if not words:
            return segment
        pieces: list[str] = []
        end = 0
        for word in words:
            pieces += (segment[end : word.start], self._respell_word(segment[slice(*word)], language))
            end = word.end
        return "".join((*pieces, segment[end:]))

    def _respell_word(self, word: str, language: str) -> str:
        return _PART.sub(lambda part: self._respell_part(part[0], language).text, word)

    def _is_likely(self, word: str, language: str) -> bool:
        """Return whether the longest part of a word in capitals is likelier in another case."""
        return self._respell_part(max(_PART.findall(word), key=len), language).is_likely

    def _respell_part(self, part: str, language: str) -> _RespelledPart:
        is_short = len(part) <= MAX_CACHED_LETTERS
        return (self._cached_part if is_short else self._respell_new_part)(part, language)

    def _respell_new_part(self, part: str, language: str) -> _RespelledPart:
        if not part.replace("ß", "").isupper():
            return _RespelledPart(self._with_sharp_s(part) if "ss" in part else part, is_likely=False)
        lower = to_lower(part, language)
        if lower == part or not part[0].isalpha():  # has no lower case, or follows an apostrophe
            return _RespelledPart(lower, is_likely=False)
        num_pieces, _ = self._word_cost(part)
        text, num_likely, cost = self._likely_case(lower, part[0])
        if "ss" in lower[1:] and _has_sharp_s(language):
            with_sharp_s = self._likely_case(lower[0] + lower[1:].replace("ss", "ß"), part[0])
            text, num_likely, cost = min((text, num_likely, cost), with_sharp_s, key=lambda each: each[-1])
        if num_pieces == 1 < min(len(part), num_likely):
            return _RespelledPart(part, is_likely=False)
        return _RespelledPart(text, is_likely=num_likely < num_pieces)

    def _with_sharp_s(self, part: str) -> str:
        """Return a part with ß for ss if the vocabulary has it in fewer pieces so, and more often."""
        with_sharp_s = part.replace("ss", "ß")
        is_likely = all(map(lt, self._word_cost(with_sharp_s), self._word_cost(part)))
        return with_sharp_s if is_likely else part

    def _likely_case(self, lower: str, capital: str) -> tuple[str, int, float]:
        """Return the likelier of a word in lower case and with a capital, the fewest pieces, its cost."""
        capitalised = capital + lower[1:]
        (num_lower, lower_cost), (num_capitalised, capitalised_cost) = map(
            self._word_cost, (lower, capitalised)
        )
        fewest = min(num_lower, num_capitalised)
        if lower_cost <= capitalised_cost + SENTENCE_START_COST:
            return lower, fewest, lower_cost
        return capitalised, fewest, capitalised_cost


def _offsets(text: str, segment: str) -> tuple[int, ...]:
    """Return the offset in a segment of each offset in a text with ß for some of its SS, and quote spaces."""
    offsets: list[int] = []
    shift = 0  # from offsets in the text to those in the segment
    for found in _MAY_BE_ADDED.finditer(text):
        place = found.start()
        offsets += range(len(offsets) + shift, place + 1 + shift)
        letter = segment[place + shift]
        if found[0] == " ":
            shift -= not letter.isspace()
        else:
            shift += letter != "ß"
    return (*offsets, *range(len(offsets) + shift, len(text) + 1 + shift))


def _has_sharp_s(language: str) -> bool:
    return primary_subtag(language) in HAS_SHARP_S


def _find_capitals(segment: str) -> list[Span]:
    """Return the words of tokens whose letters are all capitals."""
    tokens = [token for token in _MAY_BE_CAPITALS.finditer(segment) if not is_code(token[0])]
    return [
        Span(*word.span())
        for token in tokens
        if _is_in_capitals(token[0])
        for word in _WORD.finditer(segment, *token.span())
    ]


def _is_in_capitals(token: str) -> bool:
    """Return whether the letters of a token are all capitals, or it is code."""
    return is_code(token) or all(letter.isupper() for letter in token if letter.isalpha() and letter != "ß")
