"""Translations of similar texts in a memory that differ only in numbers and placeholders."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from dragoman.pipeline.pacing import never_pause
from dragoman.types import Pair
from service.memories.pairs import SegmentPair, TextMatches, fit_target, normalise
from service.memories.similarity import SimilarityIndex
from service.text.checks import check_syntax
from service.text.number_changes import NumberForms, number_forms
from service.text.numbers import Number, NumberKind, find_numbers
from service.text.patterns import find_spans

MAX_TRIED = 5
"""Maximum number of similar pairs that are tried for a text."""
_FRAME = "\0"


Repair = Callable[[str], str | None]
"""Returns the repaired translation of a text; None if there is none."""


class _Variable(NamedTuple):
    """A number or a placeholder of a text."""

    text: str
    start: int
    end: int
    written: str
    """As the other language writes it."""


def find_repaired(
    text: str,
    index: SimilarityIndex,
    min_score: float,
    languages: Pair,
    pause: Callable[[], None] = never_pause,
) -> TextMatches | None:
    """Return the translation repaired from that of the most similar pair that allows it; None if none does.

    Args:
        text: text in the language of the sources.
        index: all pairs of the memory.
        min_score: minimum similarity of the sources.
        languages: of the pairs.
        pause: called every few milliseconds.
    """
    if not _variables(text, number_forms(*languages)):
        return None
    for match in index.search(text, MAX_TRIED, pause, min_score):
        target = repaired_target(text, SegmentPair(match.source, match.target), languages)
        if target is not None:
            return TextMatches(target, repaired=match)
    return None


def repairer(
    pairs: Iterable[SegmentPair], min_score: float, languages: Pair, pause: Callable[[], None] = never_pause
) -> Repair:
    """Return a function that repairs the translation of the most similar text of a memory.

    Args:
        pairs: all pairs of the memory.
        min_score: minimum similarity of the sources; 1 repairs none.
        languages: of the pairs.
        pause: called every few milliseconds.
    """
    if min_score >= 1:
        return repair_none
    index = SimilarityIndex(pairs, pause)

    def repair(text: str) -> str | None:
        found = find_repaired(text, index, min_score, languages, pause)
        return None if found is None else found.target

    return repair


def repair_none(_text: str) -> None:
    """Return that a text has no translation."""


def repaired_target(text: str, stored: SegmentPair, languages: Pair) -> str | None:
    """Return a stored translation with the numbers and placeholders of a text in place of its source's.

    Return None if the texts differ in anything else, or if the translation has a number or placeholder to
    replace in another form, or more often than once.
    """
    forms = number_forms(*languages)
    wanted, known = _variables(text, forms), _variables(stored.source, forms)
    if _frame(text, wanted) != _frame(stored.source, known):
        return None
    replaced: list[tuple[int, int, str]] = []
    in_target = _variables(stored.target, forms)
    for new, old in zip(wanted, known, strict=True):
        if new.text == old.text:
            continue
        found = [each for each in in_target if each.text in {old.text, old.written}]
        if len(found) != 1:
            return None
        replaced.append((found[0].start, found[0].end, new.written))
    repaired = _with_replaced(stored.target, sorted(replaced))
    if check_syntax(text, repaired) or forms.compare(text, repaired):
        return None
    return fit_target(text, SegmentPair(text, repaired))


def _variables(text: str, forms: NumberForms) -> list[_Variable]:
    placeholders = [(each.start, each.end) for each in find_spans(text)]
    found = [_Variable(text[start:end], start, end, text[start:end]) for start, end in placeholders]
    found += [
        _number(text, number, forms)
        for number in find_numbers(text, placeholders)
        if number.kind is not NumberKind.IN_WORDS
    ]
    return sorted(found, key=lambda each: each.start)


def _number(text: str, number: Number, forms: NumberForms) -> _Variable:
    digits = text[number.start : number.end]
    return _Variable(digits, number.start, number.end, forms.put(text, number) or digits)


def _frame(text: str, variables: Iterable[_Variable]) -> str:
    """Return a text as memories compare it, without what stands at the variables."""
    return normalise(_with_replaced(text, ((each.start, each.end, _FRAME) for each in variables)))


def _with_replaced(text: str, parts: Iterable[tuple[int, int, str]]) -> str:
    """Return a text in which parts, in their order, are replaced: start, end and new text of each."""
    pieces, end = [], 0
    for start, stop, written in parts:
        pieces += [text[end:start], written]
        end = stop
    return "".join([*pieces, text[end:]])
