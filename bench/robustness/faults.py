"""Faults that input and output alone show: invented, repeated or missing text."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from bench.robustness.values import APOSTROPHES, MONTH, NUMERAL, QUOTES, WORD, numbers

LENGTH_FACTOR = 2.0
LENGTH_MARGIN = 10
"""Characters that a short text may gain, such as "Na?" to "How are you doing?"."""
LONG_UNIT = 5
"""Minimum number of letters of a unit that may not occur twice in a row; "bye" may."""
HOURS = 24
MAX_PERIOD_WORDS = 8
MIN_PERIOD_APART = 3
"""Minimum number of words of a repeated unit for which punctuation is ignored."""
_MONTH_NAMES = re.compile(rf"\b(?:{MONTH})\b", re.IGNORECASE)
_LETTERS = re.compile(r"(\w{1,20}?)\1+")
_TIMES_SHORT_UNIT = 3
_TIMES_LETTERS = 3
_TIMES_ONE_LETTER = 5
_TIMES_ANYWHERE = 4

_SENTENCE_END = re.compile(r"(?P<before>\S*?)(?P<end>[.!?]+)" + f"[{QUOTES}{APOSTROPHES})\\]]*" + r"(?=\s|$)")
_NO_END = re.compile(
    r"(?:\d+|[^\W\d_]|[^\W\d_]\.[^\W\d_]|mr|mrs|ms|dr|st|vs|etc|incl|inkl|ca|prof|bzw|usw|tel)\Z",
    re.IGNORECASE,
)
_NO_END_BEFORE_DIGITS = re.compile(r"(?:no|nr|art|abs|fig|abb)\Z", re.IGNORECASE)
_CLAUSE_END = re.compile(r"[,;:](?=\s)|\s[-\N{EN DASH}](?=\s)")
_TAG = re.compile(r"<[^<>\n]*>")
_ELLIPSIS = re.compile(r"\.{2,}")
_MARKS = {
    "placeholder": re.compile(r"\$?\{\{?[^{}\n]*\}\}?|%\(\w+\)[sd]|%\d\$[sd]|%[sd]\b"),
    "tag": re.compile(r"</?\w[^<>\n]*>|&#?\w+;"),
    "address": re.compile(r"\bhttps?://\S+|\bwww\.\S+|[\w.]+@[\w-]+\.\w+"),
    "emoji": re.compile(r"[\U0001F300-\U0001FAFF\u2600-\u27BF]"),
}


def invented(source: str, output: str) -> str | None:
    """Return what the output has that no translation of the source would have; None if nothing.

    It has such text if it is longer than twice the source plus 10 characters; has more sentences, even if
    each comma, semicolon, colon and dash of the source may end one; has more placeholders, tags, addresses or
    emoji, and one is not in the source; or has more numerals, and one matches nothing in the source. Text
    that is only altered counts as lost, not as invented.
    """
    most = LENGTH_FACTOR * len(source) + LENGTH_MARGIN
    if len(output) > most:
        return f"length: {len(output)} characters, {most:.0f} at most"
    sentences = count_sentences(source) + len(_CLAUSE_END.findall(source))
    if count_sentences(output) > sentences:
        return f"sentences: {count_sentences(output)}, {sentences} at most"
    for kind, pattern in _MARKS.items():
        known, found = pattern.findall(source), pattern.findall(output)
        strange = [mark for mark in found if mark not in known]
        if strange and len(found) > len(known):
            return f"{kind}: {strange[0]}"
    numerals = unmatched_numerals(source, output)
    return f"number: {numerals[0]}" if numerals else None


def count_sentences(text: str) -> int:
    """Count parts with a letter or digit, separated by line breaks, tabs and sentence ends.

    An ellipsis does not end a sentence. Neither does a full stop after a number, a single letter or a common
    abbreviation, nor any mark before a lower-case word.
    """
    return sum(_count_in_line(line) for line in re.split(r"[\n\r\t]+", _TAG.sub(" ", text)))


def _count_in_line(line: str) -> int:
    starts = [
        0,
        *(match.end() for match in _SENTENCE_END.finditer(line) if _is_end(match, line[match.end() :])),
    ]
    parts = (line[start:end] for start, end in pairwise([*starts, len(line)]))
    return sum(any(map(str.isalnum, part)) for part in parts)


def _is_end(match: re.Match[str], rest: str) -> bool:
    following = WORD.search(rest)
    if _ELLIPSIS.fullmatch(match["end"]) or (following is not None and following[0][0].islower()):
        return False
    before = re.sub(r"^\W+", "", match["before"])
    is_short_for = _NO_END.match(before) or (
        _NO_END_BEFORE_DIGITS.match(before) and rest.lstrip()[:1].isdigit()
    )
    return match["end"] != "." or not is_short_for


def unmatched_numerals(source: str, output: str) -> list[str]:
    """Return numerals of the output that match nothing in the source, if the output has more than the source.

    A run of digits matches if it is in the source, is a value that the source has in digits or as a word of
    either language, is such an hour on a 12-hour or 24-hour clock, or is zero. Each month name of the source
    allows one more numeral. A numeral that occurs more often than in the source does not match either.
    """
    found = [found for language in ("de", "en") for found in numbers(source, language)]
    in_source = {match.start() for match in NUMERAL.finditer(source)} | {one.start for one in found}
    in_output = NUMERAL.findall(output)
    if len(in_output) <= len(in_source) + len(_MONTH_NAMES.findall(source)):
        return []
    values = {value for one in found for value in one.readings}
    founded = _runs(source) | {int(value) for value in values if value == int(value)}
    founded |= {0} | {hour % 12 + half for hour in founded if hour <= HOURS for half in (0, 12)}
    unfounded = [numeral for numeral in in_output if not _runs(numeral) <= founded]
    return unfounded or [
        numeral
        for numeral, times in Counter(in_output).items()
        if times > max(1, NUMERAL.findall(source).count(numeral))
    ]


def _runs(text: str) -> set[int]:
    return {int(run) for run in re.findall(r"\d+", text)}


def looped(source: str, output: str) -> str | None:
    """Return what the output repeats, and the source repeats less often; None if nothing.

    Consecutive words: twice if they have 5 letters together, else three times; one or two words only without
    punctuation between them ("wenn du kannst, kannst du"). Letters inside a word: a group three times, a
    single letter five times. A word of 5 letters or more anywhere: four times.
    """
    for find in (_repeated_words, _repeated_letters):
        limit = max((times for _, times in find(source)), default=1)
        for unit, times in find(output):
            if times > limit:
                return f"{unit!r}, {times} times"
    most = max(Counter(_words(source)).values(), default=0)
    for word, times in Counter(_words(output)).items():
        if len(word) >= LONG_UNIT and times >= _TIMES_ANYWHERE and times > most:
            return f"{word!r}, {times} times"
    return None


def _repeated_words(text: str) -> Iterator[tuple[str, int]]:
    for words in map(_words, re.split(r"[.,;:!?]", text)):
        yield from _repeated_in(words, range(1, MAX_PERIOD_WORDS + 1))
    yield from _repeated_in(_words(text), range(MIN_PERIOD_APART, MAX_PERIOD_WORDS + 1))


def _repeated_in(words: Sequence[str], periods: Iterable[int]) -> Iterator[tuple[str, int]]:
    for period in periods:
        for start in range(len(words) - period):
            unit = words[start : start + period]
            times = _times_in_a_row(words, start, period)
            if times >= (2 if sum(map(len, unit)) >= LONG_UNIT else _TIMES_SHORT_UNIT):
                yield " ".join(unit), times


def _repeated_letters(text: str) -> Iterator[tuple[str, int]]:
    for word in _words(text):
        for match in _LETTERS.finditer(word):
            times = len(match[0]) // len(match[1])
            if times >= (_TIMES_LETTERS if len(match[1]) > 1 else _TIMES_ONE_LETTER):
                yield match[1], times


def _times_in_a_row(words: Sequence[str], start: int, period: int) -> int:
    unit, times = words[start : start + period], 1
    while words[start + times * period : start + (times + 1) * period] == unit:
        times += 1
    return times


def _words(text: str) -> list[str]:
    return [word.lower() for word in WORD.findall(text)]


def is_empty(source: str, output: str) -> bool:
    """Return whether the output has no letter or digit but the source has, or only the output is blank."""
    if any(map(str.isalnum, source)):
        return not any(map(str.isalnum, output))
    return bool(source.strip()) and not output.strip()
