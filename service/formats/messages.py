"""Messages of user interfaces: their tags are kept, and what has no words is no entry."""

import re
from collections.abc import Callable, Iterator, Sequence

from service.formats.entries import FileFormatError, TargetText
from service.formats.inline_runs import TextRun, fill_runs, messages_in, pair_halves, text_runs
from service.formats.parts import TextUnit, Unit
from service.text.icu_parser import has_branches
from service.text.patterns import find_spans
from service.text.tokens import InlineItem, TokenKind

_TAG = re.compile(r"<(/?)([A-Za-z][\w:-]*)[^<>]*>")
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)


def split_tags(text: str) -> Iterator[InlineItem]:
    """Yield a text with its tags as items that stay as they are; an ICU message is one text."""
    at = 0
    for found in () if has_branches(text) else _TAG.finditer(text):
        if at < found.start():
            yield InlineItem(TokenKind.TEXT, text[at : found.start()])
        is_break, is_empty = _BREAK.fullmatch(found[0]) is not None, found[0].endswith("/>")
        kind = TokenKind.WORD if is_break or is_empty else TokenKind.POINT
        note = None if is_empty else f"{'close' if found[1] else 'open'}:{found[2]}"
        yield InlineItem(kind, raw=found[0], note=note, ends_line=is_break)
        at = found.end()
    if at < len(text):
        yield InlineItem(TokenKind.TEXT, text[at:])


def message_runs(text: str, location: str) -> list[TextRun | InlineItem]:
    """Return a message with its tags as items.

    Raises:
        FileFormatError: it has a lone surrogate.
    """
    check_unicode(text, location)
    return list(text_runs(pair_halves(list(split_tags(text))), location, keeps_space=True))


def message_unit(text: str, location: str, raw: str | None, render: Callable[[str], str]) -> TextUnit:
    """Return the unit of a message.

    Args:
        text: the message.
        location: its location.
        raw: the part of the file that holds it; None if the file lacks it, and it is added unless its
            translation is empty.
        render: returns that part for another message.
    """
    return runs_unit(
        message_runs(text, location), raw, lambda items: render("".join(i.raw or i.text for i in items))
    )


def runs_unit(
    found: Sequence[TextRun | InlineItem], raw: str | None, render: Callable[[Sequence[InlineItem]], str]
) -> TextUnit:
    """Return the unit of a message that was split into runs.

    Args:
        found: the message.
        raw: see `message_unit`.
        render: returns the part of the file for other items.
    """

    def write(texts: Sequence[TargetText]) -> str:
        if raw is None and not any(text.text for text in texts):
            return ""
        items = fill_runs(found, texts)
        for item in items:
            item.text.encode()  # a lone surrogate is an error of this entry
        return render(items)

    return Unit(messages_in(found), write, raw)


def check_unicode(text: str, location: str) -> None:
    """Check that a string can be written.

    Raises:
        FileFormatError: it has a lone surrogate.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise FileFormatError(
            f"{location}: character {error.start + 1} is a lone surrogate; use well-formed Unicode"
        ) from error


def has_words(text: str) -> bool:
    """Return whether a text has letters outside of placeholders, tags, addresses and paths."""
    if not _has_letters(text):
        return False
    if has_branches(text):
        return True
    at = 0
    for span in find_spans(text):
        if _has_letters(text[at : span.start]):
            return True
        at = span.end
    return _has_letters(text[at:])


def _has_letters(text: str) -> bool:
    """Return whether the engine would translate the text; its own function would load the engine."""
    return any(map(str.isalpha, text))
