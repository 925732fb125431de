"""Numbers that German and English texts write in words: `dreihundertzwölf`, `twelve hundred and five`.

Only those that the bundled models seldom translate right: numbers of several parts from 100, in English from
21; ordinal numbers from 21 to 99; `nineteen eighty-four`, `forty-hour`; all after `minus`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dragoman.types import Span

GERMAN = (
    *("ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf"),
    *("dreizehn", "vierzehn", "fünfzehn", "sechzehn", "siebzehn", "achtzehn", "neunzehn"),
)
_GERMAN_TENS = ("zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig")
ENGLISH = (
    *("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_ENGLISH_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ORDINAL_ONES = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")
_ORDINAL_TENS = tuple(f"{ten[:-1]}ieth" for ten in _ENGLISH_TENS)
_CARDINALS = dict(zip((*_ORDINAL_ONES, *_ORDINAL_TENS), (*ENGLISH[:9], *_ENGLISH_TENS), strict=True))
_ONES, _TEENS, _TENS = "|".join(ENGLISH[:9]), "|".join(ENGLISH[9:]), "|".join(_ENGLISH_TENS)
_GERMAN_WORD = re.compile(r"[^\W\d_]+")
_GERMAN_ORDINAL = re.compile(r"([^\W\d_]+ig)ste[nmrs]?\b(?= [^\W\d_])", re.IGNORECASE)
"""Only before a word: elsewhere the dot would end the sentence."""
_ENGLISH_WORDS = re.compile(
    rf"""
    (?<!\bat[ ])\b(?P<century>(?:six|seven|eigh|nine)teen|twenty)
      [ ](?P<year>(?:{_TENS})(?:-(?:{_ONES}))?|{_TEENS})\b(?![ ]hours|-)
  | \b(?P<cardinal>
        (?:a(?=[ ](?:hundred|thousand)\b)|{_ONES}|{_TEENS}|{_TENS})\b
        (?:(?:(?<=hundred|housand)(?:[ ]and[ ]|-and-)|[ -])(?:{_ONES}|{_TEENS}|{_TENS}|hundred|thousand)\b)*+
      )
      (?:
        (?:(?<=hundred|housand)(?:[ ]and[ ]|-and-)|-)(?P<ordinal>{"|".join(_CARDINALS)})\b
      | (?P<noun>-(?=[^\W\d_]))
      | (?P<other>[ ](?:{"|".join(_ORDINAL_ONES)}|point|and[ ]a)\b)
      )?
  | \b(?P<tens>{"|".join(_ORDINAL_TENS[1:])})\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
_JOINT = re.compile("[ -]and[ -]|[ -]")
_IN_WORD = r"[\w)'\N{RIGHT SINGLE QUOTATION MARK}]"
_MINUS = re.compile(rf"(?:(?<!{_IN_WORD})({_IN_WORD}++)[ ])?\b(minus )\Z", re.IGNORECASE)
"""With the word before it, if there is one."""
_BEFORE_OTHER_MINUS = frozenset({"or", "oder", "plus"})
_LONGEST_WORD = 40
_SIGNS = {
    "de": ("hundert", "tausend", "igste", "minus "),
    "en": ("hundred", "housand", "ty-", "teen ", "twenty ", "tieth", "minus "),
}
"""One of them is in every text that has such a number."""
_SUFFIXES = {1: "st", 2: "nd", 3: "rd"}
_GROUPED_FROM, _TWENTY, _HUNDRED = 10_000, 20, 100


class NumberInWords(NamedTuple):
    """A number that a text has in words."""

    span: Span
    value: int
    is_ordinal: bool = False

    def digits(self, language: str) -> str:
        """Return the number in digits, as German or English has it; four of them may be a year."""
        digits = f"{self.value:,}" if self.value >= _GROUPED_FROM else str(self.value)
        if language == "de":
            return digits.replace(",", ".") + "." * self.is_ordinal
        return digits + (_SUFFIXES.get(self.value % 10, "th") if self.is_ordinal else "")


@dataclass(frozen=True, slots=True)
class _Words:
    """Rules by which a language joins the words of a number."""

    hundred: str
    thousand: str
    below_100: Mapping[str, int]

    def parts(self, number: str) -> list[int]:
        """Return the summands of a number that are not 0; none if the words are no number."""
        thousands, has_thousands, rest = number.rpartition(self.thousand)
        try:
            if not has_thousands:
                return self._parts_below_1000(number)
            parts = [1000 * part for part in self._parts_below_1000(thousands) or [1]]
            return [*parts, *self._parts_below_1000(rest.removeprefix("und"))]
        except KeyError:
            return []

    def _parts_below_1000(self, number: str) -> list[int]:
        """Return the summands of a number below 1000; raise a KeyError if it is none."""
        hundreds, has_hundreds, rest = number.rpartition(self.hundred)
        if not has_hundreds:
            return [self.below_100[number]] if number else []
        rest = rest.removeprefix("und")
        return [
            100 * (self.below_100[hundreds] if hundreds else 1),
            *([self.below_100[rest]] if rest else []),
        ]


def _below_100(ones: Sequence[str], tens: Sequence[str], join: str) -> dict[str, int]:
    found = {word: number for number, word in enumerate(ones, 1)}
    for number, ten in enumerate(tens, 2):
        found[ten] = 10 * number
        found |= {join.format(ten=ten, one=one): 10 * number + i for i, one in enumerate(ones[:9], 1)}
    return found


_IN_GERMAN = _Words("hundert", "tausend", _below_100(GERMAN, _GERMAN_TENS, "{one}und{ten}") | {"eins": 1})
_IN_ENGLISH = _Words("hundred", "thousand", _below_100(ENGLISH, _ENGLISH_TENS, "{ten}{one}") | {"a": 1})


def find_numbers_in_words(text: str, language: str) -> Iterator[NumberInWords]:
    """Yield the numbers in words, in order.

    Args:
        text: any.
        language: `de` or `en`; no number of another one is known.
    """
    lower = text.lower()
    if not any(map(lower.__contains__, _SIGNS.get(language, ()))):
        return
    has_minus = "minus " in lower
    is_german = language == "de"
    pattern, read, known = (
        (_GERMAN_WORD, _read_german, _IN_GERMAN)
        if is_german
        else (_ENGLISH_WORDS, _read_english, _IN_ENGLISH)
    )
    for words in pattern.finditer(text):
        before = max(0, words.start() - _LONGEST_WORD) if has_minus else words.start()
        minus = _MINUS.search(text, before, words.start())
        is_negative = minus is not None and _is_sign(minus[1] or "", known)
        found = read(words, is_negative=is_negative)
        if found is not None and minus is not None and is_negative and not found.is_ordinal:
            found = found._replace(span=Span(minus.start(2), found.span.end), value=-found.value)
        if found is not None:
            yield found


def _is_sign(before: str, known: _Words) -> bool:
    """Return whether a `minus` after this word is a sign; else it subtracts, or follows `plus or`."""
    word = before.lower()
    if not word:
        return True
    is_word = len(word) > 1 and word[-1].isalpha()
    return is_word and word not in _BEFORE_OTHER_MINUS and not known.parts(word)


def _read_german(word: re.Match[str], *, is_negative: bool) -> NumberInWords | None:
    ordinal = _GERMAN_ORDINAL.match(word.string, word.start())
    number = word[0] if ordinal is None else ordinal[1]
    parts = _IN_GERMAN.parts(number.lower().replace("dreissig", "dreißig"))
    is_read = len(parts) > 1 - is_negative if ordinal is None else _TWENTY < sum(parts) < _HUNDRED
    return NumberInWords(Span(*word.span()), sum(parts), ordinal is not None) if is_read else None


def _read_english(words: re.Match[str], *, is_negative: bool) -> NumberInWords | None:
    below_100 = _IN_ENGLISH.below_100
    if words["century"]:
        year = below_100[words["year"].lower().replace("-", "")]
        return NumberInWords(Span(*words.span()), 100 * below_100[words["century"].lower()] + year)
    if words["tens"]:
        return NumberInWords(
            Span(*words.span()), below_100[_CARDINALS[words["tens"].lower()]], is_ordinal=True
        )
    number, last = words["cardinal"].lower(), words["ordinal"]
    ordinal_one = "" if last is None else _CARDINALS[last.lower()]
    parts = _IN_ENGLISH.parts(_JOINT.sub("", number) + ordinal_one)
    is_compound = len(parts) > 1 - is_negative or "-" in number or last is not None
    is_joined = words["noun"] is not None and _TWENTY <= sum(parts) < _HUNDRED
    if words["other"] or not parts or not (is_compound or is_joined):
        return None
    end = words.end("cardinal" if last is None else "ordinal")
    return NumberInWords(Span(words.start(), end), sum(parts), last is not None)
