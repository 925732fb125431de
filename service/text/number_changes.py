"""Numbers of a text that its translation lacks, and the notation of numbers in another language."""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from babel import Locale, UnknownLocaleError

from dragoman.reading.read_text import RewordedText
from dragoman.types import Span
from service.text.number_words import count_number_words, is_ordinal, ordinal_sign
from service.text.numbers import Number, NumberKind, find_numbers, mask, short_numbers

Spans = Sequence[tuple[int, int]]
_NO_SPANS: Spans = ()
Read = Callable[[str], RewordedText | None]
"""Returns what the model reads for a segment; None for the segment itself."""

MIN_SIGNIFICANT_DIGITS = 5
"""Fewer digits of a translation may come from words: `eine Million`, `neunzehnhundertvierundachtzig`."""
_DIGIT = re.compile(r"\d")
_PLAIN = str.maketrans("\u2019\u2212\u00a0\u2009\u202f\u066b\u066c", "'-   .,")
_MINUS = re.compile(r"\bminus (?=\d)", re.IGNORECASE)
_SIGN = re.compile(r"[^\d-]")
_GROUPS = re.compile(r"[1-9]\d{0,2}(?:,\d{3})+|[1-9]\d?(?:,\d\d)+,\d{3}")
_DECADE = re.compile(r"(?:er|s|'s)\b|'?s\b")
_CLOCK = re.compile(r"(\d\d?)(?:[:.h](\d\d))?([ap]m)?", re.IGNORECASE)
_NOON = 12
_CLOCK_WORD = re.compile(
    r"(?:\s?(?:[-\u2013]|to|and|bis|und)\s?\d\d?(?:[:.]\d\d)?)?[\s.]?\s?(?:(?P<am>a\.?\s?m\b)|(?P<pm>p\.?\s?m\b)"
    r"|uhr\b|o['\u2019]clock\b|h\b|heures?\b|horas?\b|uur\b|[時点點시])",
    re.IGNORECASE,
)
"""Words that make a number a time; in `2 to 4 pm` also of the first one."""
_IN_UNITS = re.compile(
    r"[ \u00a0\u202f]?(?:[%\u2030\u00b0€$£¥]|(?:percent|per cent|million|billion|trillion|thousand|euros?"
    r"|dollars?|pounds?|EUR|USD|GBP|CHF|k?m|[cmn]m|k?g|mg|m?l|[kMGT]i?B|inch(?:es)?|feet|miles?|hours?"
    r"|minutes?|seconds?|years?|times|degrees)\b)"
)
_CURRENCIES = ("€", "$", "£", "¥")


class NumberChanges(NamedTuple):
    """Difference between the numbers of a text and those of its translation."""

    missing: tuple[Number, ...]
    """Numbers of the text that the translation has not, or not as often."""
    added: tuple[Number, ...]
    """Identifiers and long numbers of the translation that the text has not, or not as often."""

    def __bool__(self) -> bool:
        return bool(self.missing or self.added)


NO_CHANGES = NumberChanges((), ())


class _Value(NamedTuple):
    """A number without the signs of a language."""

    groups: tuple[str, ...]
    """Digits before the decimal sign, as they are grouped."""
    fraction: str | None
    is_certain: bool
    """Whether nothing else is written so, like `3.11` of a version in English."""

    @property
    def key(self) -> str:
        return "".join(self.groups) if self.fraction is None else f"{''.join(self.groups)}.{self.fraction}"


@dataclass(frozen=True, slots=True)
class _Signs:
    """Decimal and grouping sign of a language; empty if unknown."""

    language: str
    decimal: str
    group: str

    def read(self, number: str) -> _Value | None:
        """Return the value of a number without signs of spelling; None if it has not the language's form."""
        signs = _SIGN.findall(number)
        last = signs[-1] if signs else ""
        if not signs:
            return _Value((number,), None, is_certain=True)
        if signs == [self.decimal]:
            whole, _, fraction = number.partition(last)
            return _Value((whole,), fraction, is_certain=last == ",")
        head, _, fraction = number.rpartition(last)
        if last in ".," and last not in signs[:-1] and len(set(signs)) == 2:  # noqa: PLR2004 -- two signs
            groups = _grouped(head, signs[0])
            return None if groups is None else _Value(groups, fraction, is_certain=True)
        if len(set(signs)) > 1 or (last in ".," and last != self.group):  # 1.234 in English
            return None
        groups = _grouped(number, last)
        return None if groups is None else _Value(groups, None, is_certain=True)

    def write(self, value: _Value) -> str:
        """Return a number with the signs of the language."""
        digits = "".join(value.groups)
        if len(value.groups) > 1:
            first = len(digits) % 3 or 3
            digits = self.group.join(
                (digits[:first], *(digits[at : at + 3] for at in range(first, len(digits), 3)))
            )
        return digits if value.fraction is None else f"{digits}{self.decimal}{value.fraction}"


def _grouped(number: str, sign: str) -> tuple[str, ...] | None:
    return tuple(number.split(sign)) if _GROUPS.fullmatch(number.replace(sign, ",")) else None


@dataclass(slots=True)
class _Item:
    """A number in its text, with what it is compared by."""

    number: Number
    plain: str
    """With digits and signs of one spelling."""
    value: _Value | None
    value_key: str
    """The value in digits, with its sign; empty without a value."""
    text: str
    is_matched: bool = False

    @property
    def parts(self) -> list[str]:
        """Values of the parts of `3,4,5`, `100 200` and `16:09`, which may also be written apart."""
        signs = set(_SIGN.findall(self.plain))
        is_list = signs in ({" "}, {":"}) or (signs == {","} and self.value is None)
        return _SIGN.split(self.plain) if is_list else [self.value_key or self.plain]


_Keys = Callable[[_Item], Iterable[str]]


@dataclass(frozen=True, slots=True)
class NumberForms:
    """Notation of numbers in two languages."""

    source: _Signs
    target: _Signs

    def compare(
        self,
        source: str,
        target: str,
        source_objects: Spans = _NO_SPANS,
        target_objects: Spans = _NO_SPANS,
        read: Read | None = None,
    ) -> NumberChanges:
        """Return what differs between the numbers of a text and of its translation, in any order.

        A number is kept if it is there as it is, or with the signs of the target language; a time of day if
        it is equal modulo twelve hours; two to twelve and ordinals also as a word.

        Args:
            source: a text, or a segment of it.
            target: its translation.
            source_objects: spans of the text in which no number is compared, in order.
            target_objects: the same for the translation.
            read: returns what the model has read for the text, whose numbers are then compared.
        """
        found_read = _read(source, source_objects, read)
        if found_read is None:
            if _DIGIT.search(source) is None and _DIGIT.search(target) is None:
                return NO_CHANGES
            if not source_objects and not target_objects:
                short = short_numbers(source)
                if short is not None and short == short_numbers(target):
                    return NO_CHANGES
        read_text = source if found_read is None else found_read.text
        own = _items(read_text, source_objects if found_read is None else _NO_SPANS, self.source)
        signed = _MINUS.sub("     -", target) if any(item.plain.startswith("-") for item in own) else target
        found = _items(signed, target_objects, self.target)
        for keys in (_plain_key, _value_key, _loose_keys):
            _match(own, keys, found, keys)
        _match(own, _clock_keys, found, _clock_key)
        _match_parts(own, found)
        self._match_words(own, read_text, target)
        left = (item.number for item in own if not item.is_matched)
        found_missing = {one for number in left if (one := _as_written(number, source, found_read))}
        missing = tuple(sorted(found_missing, key=lambda number: number[:2]))
        return NumberChanges(missing, tuple(item.number for item in found if _is_added(item)))

    def put(self, text: str, number: Number) -> str | None:
        """Return a number of a text with the signs of the target language; None if it stays as it is.

        It stays if it has no sign, if it is an identifier or a word, and if its form is not certain: `3.11`
        in English is a version, too.
        """
        if number.read:
            item = _item(number.read, Number(0, len(number.read.rstrip(".")), NumberKind.NUMBER), self.source)
            if item.value is None:
                return number.read
            is_last = number.read.endswith(".")
            end = int(item.value.groups[-1][-2:])  # at most 2 digits
            sign = ordinal_sign(end, self.target.language) if is_last else ""
            return "-" * item.plain.startswith("-") + self.target.write(item.value) + sign
        if number.kind is not NumberKind.NUMBER or not self.target.decimal:
            return None
        item = _item(text, number, self.source)
        if item.value is None or not (item.value.is_certain or _has_unit(text, number)):
            return None
        written = text[number.start : number.end]
        sign = written[0] if item.plain.startswith("-") else ""
        put = sign + self.target.write(item.value)
        return None if put == written else put

    def find(self, source: str, read: Read | None = None) -> tuple[Number, ...]:
        """Return the numbers of a text, of those in words what the model reads."""
        found = _read(source, _NO_SPANS, read)
        items = _items(source if found is None else found.text, _NO_SPANS, self.source)
        numbers = (_as_written(item.number, source, found) for item in items)
        return tuple(dict.fromkeys(number for number in numbers if number is not None))

    def _match_words(self, source_items: Sequence[_Item], source: str, target: str) -> None:
        if all(item.is_matched for item in source_items):
            return
        words = Counter(count_number_words(target, self.target.language))
        words.subtract(count_number_words(source, self.source.language))
        for item in source_items:
            if item.is_matched or not item.plain.isdecimal() or len(item.plain) > 2:  # noqa: PLR2004 -- digits
                continue
            number = int(item.plain)  # at most 2 digits
            key = (number, is_ordinal(item.text, item.number.end, self.source.language))
            if words[key] > 0:
                words[key] -= 1
                item.is_matched = True


@lru_cache(256)
def number_forms(source_language: str, target_language: str) -> NumberForms:
    """Return how two languages write numbers, by their BCP-47 codes."""
    return NumberForms(_signs(source_language), _signs(target_language))


def _signs(language: str) -> _Signs:
    try:
        locale = Locale.parse(language, sep="-")
    except (UnknownLocaleError, ValueError):
        return _Signs(language, "", "")
    symbols = locale.number_symbols["latn"]
    return _Signs(locale.language, symbols["decimal"], symbols["group"])


def _read(text: str, objects: Spans, read: Read | None) -> RewordedText | None:
    return None if read is None else read(mask(text, objects) if objects else text)


def _as_written(number: Number, source: str, read: RewordedText | None) -> Number | None:
    """Return a number of what was read, as the text has it; None if it is a part of what stands for words."""
    if read is None:
        return number
    span = read.in_segment(Span(number.start, number.end))
    digits, end = read.text[number.start : number.end], number.end
    if source[slice(*span)] == digits:
        return Number(*span, number.kind)
    while end < len(read.text) and read.in_segment(Span(end, end)).start == span.start:
        end += 1
    rest = read.text[number.end : end]
    is_ordinal_sign = rest == "." or rest.isalpha()
    if not rest.strip() or is_ordinal_sign:
        return Number(*span, NumberKind.IN_WORDS, digits + "." * is_ordinal_sign)
    return Number(*span, NumberKind.NUMBER) if _DIGIT.search(source, *span) else None


def _items(text: str, objects: Spans, signs: _Signs) -> list[_Item]:
    return [_item(text, number, signs) for number in find_numbers(text, objects)]


def _item(text: str, number: Number, signs: _Signs) -> _Item:
    """Return a number of a text."""
    written = text[number.start : number.end]
    plain = written if written.isascii() else _in_ascii(written)
    digits = plain.lstrip("-")
    if number.kind is NumberKind.WORD:
        digits = "".join(filter(str.isdecimal, plain)) if len(re.findall(r"\d+", plain)) == 1 else ""
    is_number = digits.isdecimal() or (
        bool(digits) and all(character.isdecimal() or character in " .,'" for character in digits)
    )
    value = signs.read(digits) if is_number else None
    key = "" if value is None else f"{'-' * plain.startswith('-')}{value.key}"
    return _Item(number, plain, value, key, text)


def _in_ascii(number: str) -> str:
    return "".join(str(unicodedata.decimal(one, one)) for one in number.translate(_PLAIN))


def _match(source_items: Iterable[_Item], source_keys: _Keys, found: Iterable[_Item], keys: _Keys) -> None:
    """Pair the numbers that have a key in common, each with one."""
    by_key: defaultdict[str, list[_Item]] = defaultdict(list)
    for item in found:
        if not item.is_matched:
            for key in keys(item):
                by_key[key].append(item)
    for item in source_items:
        if item.is_matched:
            continue
        for key in source_keys(item):
            candidates = by_key[key]
            while candidates and candidates[-1].is_matched:
                candidates.pop()
            if candidates:
                candidates[-1].is_matched = item.is_matched = True
                break


def _match_parts(source_items: Sequence[_Item], found: Iterable[_Item]) -> None:
    """Pair lists, which one language may write as one number and the other one as several.

    All of a list must be in the source: `1,1111` is no `1.111`.
    """
    wanted = Counter(part for item in source_items if not item.is_matched for part in item.parts)
    left = [item for item in found if not item.is_matched and not Counter(item.parts) - wanted]
    pool = Counter(part for item in left for part in item.parts)
    for item in source_items:
        needed = Counter(() if item.is_matched else item.parts)
        if needed and all(pool[part] >= number for part, number in needed.items()):
            pool.subtract(needed)
            item.is_matched = True
    for item in left:
        item.is_matched = any(pool[part] == 0 for part in item.parts)


def _plain_key(item: _Item) -> list[str]:
    return [item.plain]


def _value_key(item: _Item) -> list[str]:
    return [item.value_key] if item.value else []


def _loose_keys(item: _Item) -> list[str]:
    """Return the values of `07` and `7`, of `90er` and `1990s`."""
    keys = _value_key(item)
    if not item.plain.isdecimal() or len(item.plain) != 2:  # noqa: PLR2004 -- digits
        return keys
    if item.plain[0] == "0":
        return [*keys, item.plain[1]]
    is_decade = item.plain[1] == "0" and _DECADE.match(item.text, item.number.end)
    return [*keys, f"19{item.plain}", f"20{item.plain}"] if is_decade else keys


def _clock(item: _Item) -> tuple[str, str] | None:
    """Return a time of day modulo twelve hours, and the half of the day; `?` if that is not said."""
    found = _CLOCK.fullmatch(item.plain)
    if found is None:
        return None
    word = _CLOCK_WORD.match(item.text, item.number.end - len(found[3] or ""))
    hour, minute = int(found[1]), found[2] or "00"  # at most 2 digits
    is_time = word is not None or ":" in item.plain or "h" in item.plain
    if not is_time or hour > 24 or minute >= "60":  # noqa: PLR2004 -- hours, minutes
        return None
    half = "?"
    if word is not None and (word["am"] or word["pm"]):
        half = "am" if word["am"] else "pm"
    elif hour > _NOON or hour == 0:
        half = "pm" if _NOON < hour < 2 * _NOON else "am"
    return f"{hour % _NOON}:{minute}", half


def _clock_key(item: _Item) -> list[str]:
    clock = _clock(item)
    return [] if clock is None else [" ".join(clock)]


def _clock_keys(item: _Item) -> list[str]:
    clock = _clock(item)
    if clock is None:
        return []
    key, own = clock
    return [f"{key} {half}" for half in (("?", "am", "pm") if own == "?" else (own, "?"))]


def _is_added(item: _Item) -> bool:
    if item.is_matched:
        return False
    digits = item.value.key.replace(".", "").strip("0") if item.value else ""
    return item.number.kind is NumberKind.IDENTIFIER or len(digits) >= MIN_SIGNIFICANT_DIGITS


def _has_unit(text: str, number: Number) -> bool:
    before = text[max(0, number.start - 2) : number.start].rstrip()
    return before.endswith(_CURRENCIES) or _IN_UNITS.match(text, number.end) is not None
