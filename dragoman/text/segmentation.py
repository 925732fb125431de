"""Segmentation: split a text into segments to translate and gaps to keep verbatim, and join them again."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

import sentencex

from dragoman.errors import InputError
from dragoman.languages import primary_subtag
from dragoman.text.boundaries import Boundaries, Bounds
from dragoman.text.sentence_ends import sentence_goes_on
from dragoman.types import Splitting

WINDOW_CHARS = 4096
"""Maximum characters per call of the sentence splitter, which takes quadratic time over unpaired quotes."""

MAX_WORD_CHARACTERS = 128
"""Maximum characters between white space before a word is split: models have seen no longer words, and seldom
end translations of them. Scripts without spaces between words are exempt."""
MAX_WORD_TOKENS = 64
"""Maximum tokens per piece of such a word."""
_LINE = re.compile("[^\t\n\r\x0b\x0c\x85\u2028\u2029]+")
_OTHER_SPACE = re.compile(r"[^\S ]")
"""White space other than the plain space."""
_UNSPACED_SCRIPTS = (
    "\u0e00-\u0fff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff"  # Thai, Lao, Tibetan, Myanmar, Hangul, Khmer
    "\u2e80-\ua4cf\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"  # Chinese, Japanese, Korean
)
_OVERLONG_WORD = re.compile(rf"[^\s{_UNSPACED_SCRIPTS}]{{{MAX_WORD_CHARACTERS + 1},}}")
_SURROGATE = re.compile("[\ud800-\udfff]")
_MONTHS = (
    "Januar|Jänner|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember|"
    "January|February|March|May|June|July|October|December"
)
_ENUMERATION = re.compile(
    rf"""
    \s*+
    (?:
        [-\u2013\u2014*\u00b7\u2022\u2023\u25e6\u25aa\u25ab\u25cf\u25cb\u25a0\u25a1]
      | \(?(?:\d{{1,3}}|[^\W\d_]|[ivx]{{2,5}}|[IVX]{{2,5}})\.?\)
      | \d{{1,3}}\.(?!\s+(?:\w+\.?\s+\d{{4}}|{_MONTHS}|Jahrhundert)\b)  # "3. October" is a date
      | \d{{1,2}}(?:\.\d{{1,2}}){{1,4}}\.?(?=\s+[^\W\d_a-z\xdf-\xff])(?!\s+Uhr\b)
      | [IVX]{{1,5}}\.(?=\s+\w\w)
    )
    \s+(?=\S)
    """,
    re.VERBOSE,
)
"""Matches the start of a list item or heading: "1. ", "a) ", "2.3 ", a bullet."""
_ORDINAL_AT_END = re.compile(r"(?<![\w.,:])\d{1,2}\.\s*\Z")
_DATE_AT_END = re.compile(r"(?<![\w.,:])\d{1,2}\. ?\d{1,2}\.\s*\Z")
_DOTTED_ORDINALS = re.compile("bs|cs|da|de|et|fi|hr|hu|is|lb|lv|nb|nn|no|pl|sk|sl|sr")
"""Matches languages that write "3rd" as "3."."""


class SegmentedText(NamedTuple):
    """A text split into segments to translate and the gaps around them, kept verbatim."""

    segments: tuple[str, ...]
    """Non-empty segments without leading or trailing white space."""
    gaps: tuple[str, ...]
    """One more gap than segments: text == gaps[0] + segments[0] + gaps[1] + ... + gaps[-1]."""

    def rejoin(self, translated: Sequence[str]) -> str:
        """Join one text per segment with the gaps.

        Raises:
            ValueError: `translated` and `segments` differ in length.
        """
        parts = zip(translated, self.gaps[1:], strict=True)
        return "".join([self.gaps[0], *chain.from_iterable(parts)])


def segment(text: str, language: str, splitting: Splitting = Splitting.SENTENCES) -> SegmentedText:
    """Split at line breaks and tabs, then into sentences. List numbers and bullets stay in the gaps.

    Args:
        text: any text. Call `check_text` first: lone surrogates pass here, and the tokenizer rejects them.
        language: ISO 639-1 code; a region is ignored. Unknown codes get English rules.
        splitting: which of the two splits to make, or neither.
    """
    return _split_at_spans(text, _SPANS[splitting](text, language))


def fit_segments(
    document: SegmentedText, count_tokens: Callable[[str], int], max_tokens: int
) -> SegmentedText:
    """Split every segment with letters that is too long.

    Words of more than `MAX_WORD_CHARACTERS` become segments of their own, of at most `MAX_WORD_TOKENS`.

    Raises:
        InputError: a single character exceeds the limit.
    """
    fits = [
        not has_letters(sentence) or _fits(sentence, count_tokens, max_tokens)
        for sentence in document.segments
    ]
    if all(fits):
        return document
    segments: list[str] = []
    gaps = [document.gaps[0]]
    for sentence, is_whole, gap in zip(document.segments, fits, document.gaps[1:], strict=True):
        if is_whole:
            segments.append(sentence)
        else:
            pieces = _split_at_spans(sentence, _split_to_fitting_spans(sentence, count_tokens, max_tokens))
            segments += pieces.segments
            gaps += pieces.gaps[1:-1]
        gaps.append(gap)
    return SegmentedText(tuple(segments), tuple(gaps))


def has_letters(text: str) -> bool:
    """Return whether there is anything to translate; segments without letters are copied."""
    return text[:1].isalpha() or any(map(str.isalpha, text))


def _fits(segment: str, count_tokens: Callable[[str], int], max_tokens: int) -> bool:
    """Return whether a segment stays whole: it has no overlong word, and few enough tokens."""
    is_long = len(segment) > MAX_WORD_CHARACTERS
    if is_long and (len(segment) > WINDOW_CHARS or _OVERLONG_WORD.search(segment)):
        return False
    return count_tokens(segment) <= max_tokens


def _split_at_spans(text: str, spans: Iterable[Bounds]) -> SegmentedText:
    segments: list[str] = []
    gaps: list[str] = []
    gap_start = 0
    for start, end in spans:
        gaps.append(text[gap_start:start])
        segments.append(text[start:end])
        gap_start = end
    return SegmentedText(tuple(segments), (*gaps, text[gap_start:]))


def _split_to_fitting_spans(
    segment: str, count_tokens: Callable[[str], int], max_tokens: int
) -> Iterator[Bounds]:
    boundaries = Boundaries(segment)
    start = 0
    for word in _OVERLONG_WORD.finditer(segment):
        yield from _halve_to_fit(boundaries, (start, word.start()), count_tokens, max_tokens)
        yield from _halve_to_fit(boundaries, word.span(), count_tokens, min(MAX_WORD_TOKENS, max_tokens))
        start = word.end()
    yield from _halve_to_fit(boundaries, (start, len(segment)), count_tokens, max_tokens)


def _halve_to_fit(
    boundaries: Boundaries, span: Bounds, count_tokens: Callable[[str], int], max_tokens: int
) -> Iterator[Bounds]:
    """Yield spans of pieces that fit, without white space at their ends."""
    segment = boundaries.text
    pending = list(_trim_span(segment, *span))
    while pending:
        start, end = pending.pop()
        # Cut anything longer than a window uncounted: counting its tokens would delay all other requests.
        if end - start <= WINDOW_CHARS and count_tokens(segment[start:end]) <= max_tokens:
            yield start, end
            continue
        if end - start == 1:
            problem = f"this character alone exceeds the limit of {max_tokens} tokens; remove it"
            raise InputError("text", f"{segment[start:end]!r}: {problem}")
        left_end, right_start = boundaries.best_cut(start, end)
        pending += [(right_start, end), (start, left_end)]


def _line_spans(text: str, language: str) -> list[Bounds]:
    if text.isprintable():  # has no line break
        return _sentence_spans(text, language)
    return [
        (line.start() + start, line.start() + end)
        for line in _LINE.finditer(text)
        for start, end in _sentence_spans(line[0], language)
    ]


def _sentence_spans(text: str, language: str) -> list[Bounds]:
    enumeration = _ENUMERATION.match(text)  # models drop or change enumeration marks
    first = start = 0 if enumeration is None else enumeration.end()
    spans: list[Bounds] = []
    for end in _sentence_ends(text[first:], _splitter_code(language)):
        spans += _trim_span(text, start, first + end)
        start = first + end
    return spans


@lru_cache
def _splitter_code(language: str) -> str:
    code = primary_subtag(language)
    return code if code.isascii() else "en"


def _whole_span(text: str, _language: str) -> Iterable[Bounds]:
    return _trim_span(text, 0, len(text))


def _trim_span(text: str, start: int, end: int) -> tuple[Bounds, ...]:
    """Return the span without white space at its ends; nothing if the rest is empty."""
    without_leading = text[start:end].lstrip()
    start = end - len(without_leading)
    return ((start, start + len(without_leading.rstrip())),) if without_leading else ()


def _sentence_ends(line: str, code: str) -> list[int]:
    """Return sentence ends, after any following white space; the line's own end is the last."""
    ends = _splitter_ends(line, code)
    if len(ends) == 1:
        return ends
    has_ordinals = _DOTTED_ORDINALS.fullmatch(code) is not None
    kept: list[int] = []
    for end in ends:
        start = kept[-1] if kept else 0
        if end == len(line) or not (
            sentence_goes_on(line, start, end, code) or (has_ordinals and _is_ordinal(line, start, end))
        ):
            kept.append(end)
    return kept


def _is_ordinal(line: str, start: int, end: int) -> bool:
    """Return whether an ordinal number seems to end a sentence: most do not, as in `Im 19. Jahrhundert`.

    A sentence cut in two reads worse than two sentences in one segment. Dates end some: `am 3.5.`
    """
    if _ORDINAL_AT_END.search(line[max(start, end - 9) : end]):
        return True
    return _DATE_AT_END.search(line[max(start, end - 16) : end]) is not None and (
        line[end].islower() or line[end] == "("
    )


def _splitter_ends(line: str, code: str) -> list[int]:
    """Return the splitter's sentence ends, found in windows that are at least half new each time."""
    # The splitter panics over multi-byte white space and cannot read surrogates: replace both by plain
    # characters of the same length.
    sanitised = line if line.isprintable() else _SURROGATE.sub("x", _OTHER_SPACE.sub(" ", line))
    ends: list[int] = []
    start = 0
    while len(sanitised) - start > WINDOW_CHARS:
        window = sanitised[start : start + WINDOW_CHARS]
        end = start
        for sentence in _sentences(window, code)[:-1]:  # the window may have cut the last one
            end += len(sentence)
            ends.append(end)
        if end - start < WINDOW_CHARS // 2:  # no sentence end found: continue at the next word
            end = start + (window.rfind(" ", WINDOW_CHARS // 2) + 1 or WINDOW_CHARS)
        start = end
    for sentence in _sentences(sanitised[start:], code):
        start += len(sentence)
        ends.append(start)
    return ends


def _sentences(text: str, code: str) -> list[str]:
    """Return sentences that concatenate to the text; if the splitter fails at that, the whole text."""
    try:
        sentences: list[str] = sentencex.segment(code, text)
    except BaseException as error:
        # A panic in the splitter's Rust code is a BaseException whose class cannot be imported.
        if type(error).__name__ != "PanicException":
            raise
        return [text]
    return sentences if "".join(sentences) == text else [text]


_SPANS: Mapping[Splitting, Callable[[str, str], Iterable[Bounds]]] = {
    Splitting.SENTENCES: _line_spans,
    Splitting.NO_NEWLINES: _sentence_spans,
    Splitting.OFF: _whole_span,
}
