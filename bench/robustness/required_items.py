"""Search for the required things in a translation."""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping

from bench.robustness.inputs import Input, RequiredItem, Rule
from bench.robustness.values import APOSTROPHES, QUOTES, Found, dates, numbers, numeral_value, times

_TOUCHING = QUOTES + APOSTROPHES
_ALONE_BEFORE = rf"(?<![^\s(\[<:{_TOUCHING}])"
_ALONE_AFTER = rf"(?=[)\]>.,;:!?{_TOUCHING}]*(?:[{APOSTROPHES}]s)?(?:\s|$))"
_CLASSES = (QUOTES, "-\N{EN DASH}\N{EM DASH}")
"""Signs that are styles of the same sign; position distinguishes apostrophes from quotation marks."""
_APOSTROPHE_QUOTE = rf"(?<!\w)[{APOSTROPHES}]|[{APOSTROPHES}](?!\w)"
_EXACT = frozenset({Rule.MARK, Rule.TOKEN})
"""Rules under which a thing counts as lost if it occurs too often."""


def positions(wanted: RequiredItem, text: str, language: str, source_language: str) -> list[int]:
    """Return the positions of a thing in a text, in order.

    Args:
        wanted: the thing, written in the source language.
        text: an output, or the input itself.
        language: language of the text.
        source_language: language of the thing.
    """
    if wanted.rule is Rule.NUMBER:
        return _number_positions(wanted.forms[0], text, language, source_language)
    if wanted.rule in _BY_VALUE:
        find = _BY_VALUE[wanted.rule]
        requested = [found.readings for found in find(wanted.forms[0]) if found.text == wanted.forms[0]]
        return sorted(
            {one.start for one in find(text) if any(one.readings & readings for readings in requested)}
        )
    pattern = "|".join(_PATTERNS[wanted.rule](form) for form in wanted.forms)
    flags = re.IGNORECASE if wanted.rule in {Rule.NAME, Rule.SAYS} else re.NOFLAG
    return [match.start() for match in re.finditer(pattern, text, flags)]


def lost(given: Input, output: str, target_language: str, source_language: str) -> list[RequiredItem]:
    """Return things to keep that the output lacks or has too often; all of them if their order is wrong."""
    found = {
        wanted: positions(wanted, output, target_language, source_language) for wanted in set(given.kept)
    }
    listed = Counter(given.kept)
    missing = []
    order = []
    seen: Counter[RequiredItem] = Counter()
    for wanted in given.kept:
        where, number = found[wanted], seen[wanted]
        seen[wanted] += 1
        if number >= len(where) or (wanted.rule in _EXACT and len(where) > listed[wanted]):
            missing.append(wanted)
        else:
            order.append(where[number])
    if given.is_ordered and order != sorted(order):
        return list(given.kept)
    return missing


def find_missing_words(
    given: Input, output: str, target_language: str, source_language: str
) -> list[RequiredItem]:
    """Return required words that the output lacks or has too rarely."""
    missing = Counter(given.said)
    for wanted in set(given.said):
        missing[wanted] -= len(positions(wanted, output, target_language, source_language))
    return list(missing.elements())


def _number_positions(thing: str, text: str, language: str, source_language: str) -> list[int]:
    requested = {value for found in numbers(thing, source_language) for value in found.readings}
    is_numeral = numeral_value(thing, source_language) is not None
    positions = {
        found.start
        for found in numbers(text, language)
        if found.readings & requested or (is_numeral and found.text == thing)
    }
    return sorted(positions)


def _mark(form: str) -> str:
    """Return a pattern for a form; letters or digits at its edges must not continue."""
    before = r"(?<!\w)" if form[0].isalnum() else ""
    after = r"(?!\w)" if form[-1].isalnum() else ""
    return f"{before}{re.escape(form)}{after}"


def _token(form: str) -> str:
    return f"{_ALONE_BEFORE}{re.escape(form)}{_ALONE_AFTER}"


def _name(form: str) -> str:
    after = rf"(?:[{APOSTROPHES}]?s)?(?!\w)" if form[-1].isalpha() else ""
    before = r"(?<![^\W\d_])" if form[0].isalpha() else ""
    return f"{before}{re.escape(form)}{after}"


def _sign(form: str) -> str:
    for signs in _CLASSES:
        if form in signs:
            one = f"[{re.escape(signs)}]"
            is_quote = form in _CLASSES[0]
            return f"(?:{one}|{_APOSTROPHE_QUOTE})" if is_quote else f"{one}+"
    return f"{re.escape(form)}(?:[!?]*{re.escape(form)})*"


def _says(form: str) -> str:
    """Return a pattern for words; `^` and `$` are the output's ends, apart from non-word characters."""
    words = re.escape(form.strip("^$")).replace(r"\*", r"\w*")
    before = r"\A\W*" if form.startswith("^") else r"(?<!\w)"
    after = r"\W*\Z" if form.endswith("$") else r"(?!\w)"
    return f"{before}{words}{after}"


_PATTERNS: Mapping[Rule, Callable[[str], str]] = {
    Rule.MARK: _mark,
    Rule.TOKEN: _token,
    Rule.NAME: _name,
    Rule.SIGN: _sign,
    Rule.SAYS: _says,
}
_BY_VALUE: Mapping[Rule, Callable[[str], Iterator[Found[Hashable]]]] = {Rule.DATE: dates, Rule.TIME: times}
