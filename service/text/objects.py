"""Finds the objects among the words of a text: placeholders, code, addresses, identifiers, pairs, breaks."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from dragoman.types import Splitting
from service.text.accelerators import find_accelerators
from service.text.context import FoundTerm, TextContext
from service.text.marked_text import MarkedText, MarkKind, Object, Shown, pair_nesting
from service.text.numbers import NumberKind, find_numbers, short_numbers
from service.text.patterns import find_spans, named_partners

_ESCAPE = re.compile(r"\\(?:r\\n|[nrt])(?![a-z]*\{)")
"""Not the beginning of TeX's `\\textbf{`."""
_BACKSLASH = re.compile(rf"{_ESCAPE.pattern}|\\")
_AROUND_WORDS = re.compile(
    r"""
      (?<![\w*|~=+^])(?P<open>(?P<brace>\{)?(?P<sign>\*{1,3}|~{1,2}|\|{1,2}|'{2,3}|_{1,2}|==|\+\+|\^\^|(?(brace)--|(?!))))
      (?=[^\W_])(?:[^\s*~'_|=+^-]|-(?!-\})|(?<=[^\W_])['_](?=[^\W_])|[ ](?=\S)){1,200}+(?<=[\w.!?])
      (?P<open_end>(?P=sign)(?(brace)\}))(?![\w*~|=+^])
    | (?P<link>\[\[[^\[\]|\n]{1,200}\||<https?://[^<>|\s]{1,500}\|)[^\[\]<>|\n]{1,200}+(?P<link_end>\]\]|>)
    | (?P<label>!?\[)[^\[\]\n]{1,200}+
      (?P<label_end>\]\((?:[^(){<\s]|\([^()\s]*+\)|\{[^{}\n]*+\}|\{\{[^{}\n]*+\}\}|<[^<>\n]*+>){1,500}+(?:\s"[^"\n]*+")?\))
    | (?P<command>\\[A-Za-z]++\*?\{)[^{}\n]{1,300}+(?P<command_end>\})
    """,
    re.VERBOSE,
)
"""Emphasis, links of which only the label or what is after the `|` is text, and commands of TeX."""
_SIGN_AROUND_WORDS = re.compile(
    r"[*_~|\\'=+^\](-](?:(?<=[*_~|\\])|(?<=')'|(?<==)=|(?<=\+)\+|(?<=\^)\^|(?<=-)-\}|(?<=\])\()"
)
_STRING = re.compile(r"%(?:\d+\$|\(\w+\))?[s@]|[%$#]?\{{1,2}\s?[\w.-]+\s?\}{1,2}|\\[A-Z]++\[\d++\]|§.")
_NAME = re.compile(
    r"(?<![\w.@$\#%&/\\-])(?=[A-Za-z0-9]++(?:_|\(\))|[a-z0-9]{3,}+[A-Z][a-z0-9]{3}|[a-z0-9]{2,}+(?:[A-Z][a-z0-9]{2,}+){2})(?:[a-z][a-z0-9]*+(?:_[a-z0-9]++)++"
    r"|[A-Z][A-Z0-9]*+(?:_[A-Z0-9]++)++|[a-z][a-z0-9]++(?:[A-Z][a-z0-9]++)++|[A-Za-z]\w*+(?=\(\)))(?:\(\))?(?!\w)"
)
"""Name of a program, such as `max_size`, `maxSize`, `open()`; `Leser_innen` is a word."""
_SIGN_OF_NAME = re.compile(r"[A-Z_(](?:(?<=[a-z0-9].)|(?<=_)|(?<=\()\))")
_GENDER = re.compile(r"[/:*_(](?<=[^\W\d_]{3}.)-?in(?:nen)?\)?(?!\w)")
"""Second half of `Leser/innen`: the model reads the word before it."""
_COLUMN = re.compile(
    r"[ ]{3}(?<=\S   )[ ]*+(?=\S)|[ ](?<=\S )[|·•\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}][ ](?=\S)"
)
"""Three spaces, or a sign between labels, as in `Home | Shop`; prose has neither."""
_LINE_BREAK = re.compile(r"(?<![ \t])[ \t]*+(?:\r?\n\s*+|\r(?!\n)\s*+)")
_FENCE = re.compile(r"^[ ]{0,3}(?:`{3,}+|~{3,}+)[^`\n]*+$", re.MULTILINE)
_NOTE = re.compile(
    r"[*†‡®©§ªº¹²³⁰⁴-⁹](?:(?<=[^\W_][^\W_*][*†‡®©])\*{0,2}+(?![\w*])|(?<=[^\W_][.!?%€)][*†‡®©])(?!\w)"
    r"|(?<=[^\W\d_]{3}[§ªº])(?!\w)|(?:(?<=[^\W\d_]{3}[¹²³⁰⁴-⁹])|(?<=[^\W\d_]{2}¹)|(?<=[^\W_][.!?)][¹²³⁰⁴-⁹]))(?:[,⁾]?[¹²³⁰⁴-⁹]){0,4}+⁾?(?!\w))"
)
"""A sign that refers to a note or to a right, at the end of a word; not the one of a unit."""
_Kind = tuple[re.Pattern[str], re.Pattern[str], Shown, str | None]
"""A sign that each text with one has, the pattern, how it is shown, and what is put for it."""
_KINDS: Sequence[_Kind] = (
    (_COLUMN, _COLUMN, Shown.BREAK, None),
    (_NOTE, _NOTE, Shown.NOTE, None),
    (_SIGN_OF_NAME, _NAME, Shown.COPY, None),
)
_HALVES = (Shown.OPEN, Shown.CLOSE)
_MIN_LETTERS = 2
_MAX_BLANKS = 8


def find_objects(marked: MarkedText, context: TextContext) -> MarkedText:
    """Return a text with the objects among its words. Its own objects come first."""
    text = marked.text
    objects: Sequence[Object] = find_spans(text, context.pause)
    objects = _with(list(_fences(text)), objects) if "```" in text or "~~~" in text else objects
    for sign, pattern, shown, put in _kinds(context):
        if sign.search(text) is not None:
            found = (Object(*one.span(), shown, put=put, is_syntax=False) for one in pattern.finditer(text))
            objects = _with(objects, found)
    objects = _with(objects, [Object(*span, is_syntax=False) for span in context.find_unknown(text)])
    objects = _with(objects, _identifiers(text, objects, context.pause))
    objects = _with(objects, _literal_breaks(text))
    terms = context.find_terms(text)
    objects = _with(objects, find_accelerators(text, is_message=context.is_message))
    if not (objects or terms or _SIGN_AROUND_WORDS.search(text)):
        return marked
    if terms:
        objects = _with_terms(text, objects, terms, marked)
    objects = _without_marks(_free(objects, marked.objects), marked)
    has_pairs = any(mark.kind is not MarkKind.POINT for mark in marked.marks)
    has_pairs = has_pairs or any(each.shown is Shown.OPEN for each in marked.objects)
    objects = tuple(objects) if has_pairs else _with_pairs(text, objects)
    return replace(marked, objects=_joined(marked.objects, objects))


def _kinds(context: TextContext) -> Iterator[_Kind]:
    yield from _KINDS
    if context.source.startswith("de"):
        yield _GENDER, _GENDER, Shown.NOTE, ""
    if context.splitting is not Splitting.SENTENCES:
        yield _LINE_BREAK, _LINE_BREAK, Shown.LINE, None


def _fences(text: str) -> Iterator[Object]:
    """Yield the blocks of code between lines of backticks or tildes."""
    lines = list(_FENCE.finditer(text))
    for first, last in zip(lines[::2], lines[1::2], strict=False):
        yield Object(first.start(), last.end(), Shown.BREAK, is_syntax=False)


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


def with_pairs(marked: MarkedText, halves: Sequence[Object]) -> MarkedText:
    """Return a text with further pairs; without them where one overlaps an object, a mark or a pair."""
    partners = [*(mark.partner for mark in marked.marks), *(each.partner for each in marked.objects)]
    has_pairs = any(partner is not None for partner in partners)
    is_free = len(_without_marks(_free(halves, marked.objects), marked)) == len(halves)
    return replace(marked, objects=_joined(marked.objects, halves)) if is_free and not has_pairs else marked


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
    """Return the objects that have no mark in them, and blanks that part columns up to the first mark."""
    marks = [mark.at for mark in marked.marks]
    found: list[Object] = []
    for each in objects:
        within = marks[bisect_right(marks, each.start) : bisect_left(marks, each.end)]
        if not within:
            found.append(each)
        elif marked.text[each.start : each.end].isspace():
            found.append(replace(each, end=within[0]))
    return found


def _literal_breaks(text: str) -> Iterator[Object]:
    r"""Yield each `\n` that is written as two characters, if all backslashes of the text begin one."""
    if "\\" not in text or not all(map(_ESCAPE.fullmatch, _BACKSLASH.findall(text))):
        return
    for found in _ESCAPE.finditer(text):
        yield Object(*found.span(), Shown.BREAK)


def _with_pairs(text: str, objects: Sequence[Object]) -> tuple[Object, ...]:
    """Return objects with those as pairs that are around words and nest: tags, placeholders that touch,
    emphasis, links.
    """
    named = named_partners(text, objects)
    indices = [pair for pair in named.items() if pair[0] < pair[1]]
    indices += (pair for pair in _touching_pairs(text, objects) if named.keys().isdisjoint(pair))
    pairs = [*((objects[i], objects[j]) for i, j in indices), *_around_words(text, objects)]
    if not pairs:
        return tuple(objects)
    halves = [
        (one, shown, i) for i, pair in enumerate(pairs) for one, shown in zip(pair, _HALVES, strict=True)
    ]
    halves.sort(key=lambda half: _place(half[0]))
    partners = pair_nesting((shown.value, i) for _, shown, i in halves)
    places = {i: place for place, i in enumerate(sorted(partners))}
    paired = [
        replace(halves[i][0], shown=halves[i][1], partner=places[partners[i]]) for i in sorted(partners)
    ]
    found = _joined(_free(objects, paired), paired)
    return _joined(found, list(_touching_breaks(text, found)))


def _touching_breaks(text: str, objects: Sequence[Object]) -> Iterator[Object]:
    """Yield a break where a pair touches another one, and a text seems to end."""
    for first, last in pairwise(objects):
        if (first.shown, last.shown) == (Shown.CLOSE, Shown.OPEN) and first.end == last.start:
            before, after = text[first.start - 1], text[last.end]
            if after.isupper() and not before.isupper() and before.isalpha():
                yield Object(first.end, first.end, Shown.BREAK, is_syntax=False)


def _around_words(text: str, others: Sequence[Object]) -> Iterator[tuple[Object, Object]]:
    """Yield the halves of emphasis, links and commands that overlap no other object, or have it in them."""
    if not _SIGN_AROUND_WORDS.search(text):
        return
    starts, ends = [each.start for each in others], [each.end for each in others]

    def is_free(start: int, end: int) -> bool:
        within = others[bisect_right(ends, start) : bisect_left(starts, end)]
        return all(start <= one.start and one.end <= end and one.shown is not Shown.BREAK for one in within)

    for found in _AROUND_WORDS.finditer(text):
        name = found.lastgroup or ""
        first, last = found.span(name.removesuffix("_end")), found.span(name)
        if is_free(*first) and is_free(*last):
            yield Object(*first), Object(*last)


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
