"""A model's double that is bad at copying.

It inflects words, drops, repeats and moves stand-ins, and may change digits, by chance that depends on the
line alone: the same line always gets the same translation.
"""

import re
from collections.abc import Callable
from random import Random

from dragoman.types import Alternative, FinishReason, Link, SegmentTranslation, Span, Translation
from service.text.context import TextContext
from service.text.marked_text import MarkedText
from service.text.outcome import TextOutcome
from tests.text.markup.marked import outcome, segment, translation

_WORD = re.compile(r"\S+")
_MOVES, _DROPS, _REPEATS, _TOUCHES = 0.4, 0.2, 0.3, 0.4


def translate_badly(text: str, *, changes_digits: bool = False) -> Translation:
    """A translation with one segment a line; lines without letters stay."""
    translated, at, segments = "", 0, list[SegmentTranslation]()
    for i, line in enumerate(text.split("\n")):
        translated += "\n" * (i > 0)
        if any(map(str.isalpha, line)):
            segments.append(_segment(line, at, len(translated), changes_digits=changes_digits))
            words = line.strip()
            translated += line.replace(words, segments[-1].text, 1)
        else:
            translated += line
        at += len(line) + 1
    return translation(translated, segments)


def _segment(line: str, at: int, start: int, *, changes_digits: bool) -> SegmentTranslation:
    """The translation of a line that begins at these positions of a text and its translation."""
    words = [Span(*found.span()) for found in _WORD.finditer(line)]
    random = Random(line.strip())  # noqa: S311 -- the same for the same line
    said = [(word, _said(random, line[slice(*word)], changes_digits=changes_digits)) for word in words]
    if random.random() < _MOVES:
        random.shuffle(said)
    source = Span(at + words[0].start, at + words[-1].end)
    first = start + words[0].start
    text, links = "", list[Link]()
    for word, other in said:
        if other:
            text += " " * bool(text)
            target = Span(first + len(text), first + len(text) + len(other))
            links.append(Link(Span(at + word.start, at + word.end), target))
            text += other
    return segment(source.start, line[words[0].start : words[-1].end], first, text, tuple(links))


def _said(random: Random, word: str, *, changes_digits: bool) -> str:
    chance = random.random()
    if "%" in word:
        if chance < _DROPS:
            return ""
        return f"{word} {word}" if chance < _REPEATS else f"x{word}" if chance < _TOUCHES else word
    if any(map(str.isdigit, word)):
        return re.sub(r"\d\d", "7", word, count=1) if changes_digits and chance < 0.5 else word
    return f"{word.upper()}S" if word.isalpha() else word.upper()


def answer(source: str, *targets: str) -> Translation:
    """A translation of one segment without links, and its alternatives."""
    whole = Span(0, len(source)), Span(0, len(targets[0]))
    segment = SegmentTranslation(source, targets[0], -1.0, FinishReason.STOP, 1, 1, *whole)
    alternatives = tuple(Alternative(target, -1.0) for target in targets)
    return Translation(targets[0], -1.0, FinishReason.STOP, (segment,), alternatives)


def translate(text: str, context: TextContext, engine: Callable[[str], Translation]) -> TextOutcome:
    """The outcome of a text that an engine translates."""
    return outcome(MarkedText(text), engine, context)
