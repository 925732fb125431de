"""Finds the objects among the words of a text: placeholders, code, addresses, identifiers, pairs, breaks."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from service.text.accelerators import find_accelerators
from service.text.context import FoundTerm, TextContext
from service.text.marked_text import MarkedText, MarkKind, Object, Shown
from service.text.numbers import NumberKind, find_numbers, short_numbers
from service.text.patterns import find_spans

_TAG = re.compile(r"<(/?)([\w:.-]+)")
_ESCAPE = re.compile(r"\\(?:r\\n|[nrt])(?![a-z]*\{)")
"""Not the beginning of TeX's `\\textbf{`."""
_BACKSLASH = re.compile(rf"{_ESCAPE.pattern}|\\")
_EMPHASIS = re.compile(
    r"(?<![\w*|])(?P<s>\*{1,3}|~~|\|{1,2}|'{2,3}|_{1,2})(?=[^\W_])"
    r"(?:[^\s*~'_|]|(?<=\w)['_](?=\w)|[ ](?=\S)){1,200}+(?<=[\w.!?])(?P=s)(?![\w*~|])"
)
_STRING = re.compile(r"%(?:\d+\$|\(\w+\))?[s@]|[%$#]?\{{1,2}\s?[\w.-]+\s?\}{1,2}")
_LINK = re.compile(r"(\[\[[^\[\]|\n]{1,200}+\||<https?://[^<>|\s]{1,500}+\|)[^\[\]<>|\n]{1,200}+(\]\]|>)")
"""Links of wikis and of Slack: only what is after the `|` is text."""
_NAME = re.compile(
    r"(?<![\w.@$\#%&/\\-])(?:[a-z][a-z0-9]*+(?:_[a-z0-9]++)++|[A-Z][A-Z0-9]*+(?:_[A-Z0-9]++)++)(?:\(\))?(?!\w)"
)
"""Name of a program, such as `max_size`; `Leser_innen` is a word."""
_MIN_LETTERS = 2
_MAX_BLANKS = 8


def find_objects(marked: MarkedText, context: TextContext) -> MarkedText:
    """Return a text with the objects among its words. Its own objects come first."""
    text = marked.text
    if marked.is_plain and "|" in text:
        marked = replace(marked, objects=tuple(_links(text)))
    objects: Sequence[Object] = find_spans(text, context.pause)
    objects = _with(objects, [Object(*span, is_syntax=False) for span in context.find_unknown(text)])
    objects = _with(objects, _identifiers(text, objects, context.pause))
    objects = _with(objects, _literal_breaks(text))
    terms = context.find_terms(text)
    objects = _with(objects, find_accelerators(text, is_message=context.is_message))
    if "_" in text:
        objects = _with(objects, (Object(*one.span(), is_syntax=False) for one in _NAME.finditer(text)))
    if not (objects or terms or any(sign in text for sign in ("*", "_", "~~", "|", "''"))):
        return marked
    if terms:
        objects = _with_terms(text, objects, terms, marked)
    objects = _without_marks(_free(objects, marked.objects), marked)
    has_pairs = any(mark.kind is not MarkKind.POINT for mark in marked.marks)
    has_pairs = has_pairs or any(each.shown is Shown.OPEN for each in marked.objects)
    objects = objects if has_pairs else _with_pairs(text, objects)
    return replace(marked, objects=_joined(marked.objects, objects))


def _links(text: str) -> Iterator[Object]:
    """Yield both halves of each link."""
    for number, found in enumerate(_LINK.finditer(text)):
        yield Object(*found.span(1), Shown.OPEN, partner=2 * number + 1)
        yield Object(*found.span(2), Shown.CLOSE, partner=2 * number)


def _identifiers(text: str, objects: Sequence[Object], pause: Callable[[], None]) -> Iterator[Object]:
    if short_numbers(text) is not None:
        return
    for number in find_numbers(text, [_place(each) for each in objects], pause):
        if number.kind is NumberKind.IDENTIFIER:
            yield Object(number.start, number.end, is_syntax=False)


def _with(objects: Sequence[Object], found: Iterable[Object]) -> Sequence[Object]:
    """Return objects with others that overlap none of them; all are in order."""
    free = _free(found, objects)
    return sorted([*objects, *free], key=_place) if free else objects


def _with_terms(
    text: str, objects: Sequence[Object], terms: Sequence[FoundTerm], marked: MarkedText
) -> Sequence[Object]:
    """Return objects without those that terms translate, and with the terms that the model need not."""
    syntax = [each for each in objects if each.is_syntax]
    spans = [Object(term.start, term.end) for term in terms]
    kept = _with(syntax, _free([each for each in objects if not each.is_syntax], spans))
    breaks = [each for each in (*marked.objects, *syntax) if each.shown is Shown.BREAK]
    edges = {0, *(each.end for each in breaks)}, {len(text), *(each.start for each in breaks)}
    puts = ((term, (term.alone if _is_line(text, term, *edges) else None) or term.put) for term in terms)
    return _with(kept, [Object(term.start, term.end, put=put, is_syntax=False) for term, put in puts if put])


def _is_line(text: str, term: FoundTerm, starts: Collection[int], ends: Collection[int]) -> bool:
    """Return whether a term is a line of its own, with a few blanks at most."""
    start, end = term.start, term.end
    while start > max(0, term.start - _MAX_BLANKS) and start not in starts and text[start - 1] == " ":
        start -= 1
    while end < min(len(text), term.end + _MAX_BLANKS) and end not in ends and text[end] == " ":
        end += 1
    begins = start in starts or text[start - 1] == "\n"
    return begins and (end in ends or text[end] == "\n")


def with_numbers(marked: MarkedText, numbers: Iterable[Object]) -> MarkedText:
    """Return a text with further objects, where these overlap none and have no mark in them."""
    free = _without_marks(_free(numbers, marked.objects), marked)
    return replace(marked, objects=_joined(marked.objects, free)) if free else marked


def _joined(first: Sequence[Object], second: Sequence[Object]) -> tuple[Object, ...]:
    """Return the objects of both in their order; partners are indexes among their own."""
    if not first or not second:
        return tuple(first or second)
    tagged = sorted(
        [*((each, 0, i) for i, each in enumerate(first)), *((each, 1, i) for i, each in enumerate(second))],
        key=lambda one: _place(one[0]),
    )
    indices = {one[1:]: index for index, one in enumerate(tagged)}
    return tuple(
        each if each.partner is None else replace(each, partner=indices[which, each.partner])
        for each, which, _ in tagged
    )


def _place(each: Object) -> tuple[int, int]:
    return each.start, each.end


def _free(objects: Iterable[Object], others: Sequence[Object]) -> list[Object]:
    """Return the objects that overlap none of the others; both are in order."""
    found: list[Object] = []
    i = 0
    for each in objects:
        while i < len(others) and others[i].end <= each.start:
            i += 1
        if i == len(others) or each.end <= others[i].start:
            found.append(each)
    return found


def _without_marks(objects: Iterable[Object], marked: MarkedText) -> list[Object]:
    """Return the objects that have no mark in them."""
    marks = [mark.at for mark in marked.marks]
    return [each for each in objects if bisect_right(marks, each.start) >= bisect_left(marks, each.end)]


def _literal_breaks(text: str) -> Iterator[Object]:
    r"""Yield each `\n` that is written as two characters, if all backslashes of the text begin one."""
    if "\\" not in text or not all(map(_ESCAPE.fullmatch, _BACKSLASH.findall(text))):
        return
    for found in _ESCAPE.finditer(text):
        yield Object(*found.span(), Shown.BREAK)


def _with_pairs(text: str, objects: Sequence[Object]) -> list[Object]:
    """Return objects with those as pairs that are around words: tags, placeholders that touch, emphasis."""
    pairs = [*_tag_pairs(text, objects), *_touching_pairs(text, objects)]
    paired = list(objects)
    for first, last in pairs:
        paired[first] = replace(objects[first], shown=Shown.OPEN, partner=last)
        paired[last] = replace(objects[last], shown=Shown.CLOSE, partner=first)
    return list(_joined(paired, list(_emphasis(text, paired))))


def _emphasis(text: str, others: Sequence[Object]) -> Iterator[Object]:
    """Yield the pairs of emphasis that overlap no other object, and have no half of another pair in them."""
    ends = [each.end for each in others]
    halves = [each.start for each in others if each.shown in {Shown.OPEN, Shown.CLOSE}]
    number = 0
    for found in _EMPHASIS.finditer(text):
        start, end = found.span("s")
        last = found.end() - (end - start)
        i, j = bisect_right(ends, start), bisect_right(ends, last)
        is_apart = i == len(others) or others[i].start >= end
        is_apart = is_apart and (j == len(others) or others[j].start >= found.end())
        if is_apart and bisect_left(halves, end) == bisect_left(halves, last):
            yield Object(start, end, Shown.OPEN, partner=number + 1)
            yield Object(last, found.end(), Shown.CLOSE, partner=number)
            number += 2


def _tag_pairs(text: str, objects: Sequence[Object]) -> Iterator[tuple[int, int]]:
    """Yield the tags whose pair nests properly."""
    opened: list[tuple[str, int]] = []
    for i, each in enumerate(objects):
        tag = _TAG.match(text, each.start, each.end)
        if tag is None or each.shown is not Shown.COPY or text[each.end - 2 : each.end] == "/>":
            continue
        if not tag[1]:
            opened.append((tag[2], i))
        elif opened and opened[-1][0] == tag[2]:
            yield opened.pop()[1], i


def _touching_pairs(text: str, objects: Sequence[Object]) -> Iterator[tuple[int, int]]:
    """Yield string placeholders around words: the first touches a letter to its right only, the second one to
    its left only, with two letters or more and no other object between.
    """
    for i, (first, last) in enumerate(pairwise(objects)):
        is_string = all(_STRING.fullmatch(text, one.start, one.end) for one in (first, last))
        if not is_string or sum(map(str.isalpha, text[first.end : last.start])) < _MIN_LETTERS:
            continue
        outer = text[max(0, first.start - 1) : first.start] + text[last.end : last.end + 1]
        inner = text[first.end] + text[last.start - 1]
        if inner.isalpha() and not any(map(str.isalpha, outer)):
            yield i, i + 1
