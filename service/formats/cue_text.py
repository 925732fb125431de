"""Text of a subtitle cue: running text with tags, and lines of about the same length."""

import html
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import accumulate, pairwise

from service.formats.inline_runs import TextRun, text_runs
from service.text.marked_text import pair_nesting
from service.text.tokens import InlineItem, TokenKind

_SPACES = re.compile(r"[ \t\r\n]+")
_OPENING = re.compile(r"<([A-Za-z]+)(?:[\s.][^<>]*)?>|\{\\([bius])1\}")
_CLOSING = re.compile(r"</([A-Za-z]*)\s*>|\{\\([bius])0\}")
_TIME = re.compile(r"<[\d:.]+>|\{\\[kK]")
_REFERENCE = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{2,31});")


class TagStyle(StrEnum):
    """Tag syntax of a subtitle format."""

    SRT = "srt"
    """`<i>` and similar tags, and `{\\an8}`; everything else is text."""
    VTT = "vtt"
    """`<c.name>`, `<v Ann>`, `<00:00:01.000>`, and character references."""
    ASS = "ass"
    """`{\\i1}` and all else in braces; `\\h` for a space that does not break, `\\{` for a brace."""


_TAGS = {
    TagStyle.SRT: re.compile(r"</?(?:b|i|u|s|font)(?:\s[^<>]*)?>|\{\\[^{}]*\}", re.IGNORECASE),
    TagStyle.VTT: re.compile(r"<rt>[^<>]*</rt>|</?[A-Za-z]*(?:[.\s][^<>]*)?>|<[\d:.]+>"),
    TagStyle.ASS: re.compile(r"(?<!\\)\{[^{}]*\}"),
}
_ASS_ESCAPES = {"\\h": "\u00a0", "\\{": "{", "\\}": "}", "\\\u2060": "\\"}
"""A word joiner keeps a backslash from being one."""
_ASS_ESCAPE = re.compile("\\\\[h{}\u2060]")
_ASS_WRITTEN = {character: escape for escape, character in _ASS_ESCAPES.items()}


def cue_runs(text: str, style: TagStyle, location: str) -> list[TextRun | InlineItem]:
    """Return the text of a cue, with its tags; it has at most one run.

    Args:
        text: lines of the cue, joined with spaces.
        style: tag syntax.
        location: that of the entry.
    """
    return list(text_runs(list(_items(text, style)), location))


def _items(text: str, style: TagStyle) -> Iterator[InlineItem]:
    found = list(_TAGS[style].finditer(text))
    partners = pair_nesting(_half(tag[0]) for tag in found)
    at = 0
    for i, tag in enumerate(found):
        if at < tag.start():
            yield InlineItem(TokenKind.TEXT, _unescape(text[at : tag.start()], style))
        at = tag.end()
        partner = partners.get(i)
        kind = TokenKind.POINT if partner is None else TokenKind.OPEN if i < partner else TokenKind.CLOSE
        yield InlineItem(kind, raw=tag[0], keeps_order=_TIME.match(tag[0]) is not None)
    if at < len(text):
        yield InlineItem(TokenKind.TEXT, _unescape(text[at:], style))


def break_lines(items: Sequence[InlineItem], style: TagStyle, shares: Sequence[float]) -> list[str]:
    """Return the items of a cue as lines.

    Args:
        items: text and tags.
        style: tag syntax.
        shares: share of each line, in any unit; there are no more lines than these.

    Returns:
        non-blank lines of about these shares; an empty list for a blank text.
    """
    pieces = list(_pieces(items, style))
    return _break_lines(pieces, shares) if any(not is_tag for _, is_tag in pieces) else []


def _pieces(items: Sequence[InlineItem], style: TagStyle) -> Iterator[tuple[str, bool]]:
    """Yield tags, and the text between them character by character; each with whether it is a tag."""
    texts = [_SPACES.sub(" ", item.text) for item in items if item.kind is TokenKind.TEXT]
    is_blank = not "".join(texts).strip(" ")
    remaining = iter(texts)
    for item in items:
        if item.kind is not TokenKind.TEXT:
            yield item.raw, True
            continue
        for character in "" if is_blank else next(remaining):
            yield _escape(character, style), False


def strip_tags(text: str, style: TagStyle) -> str:
    """Return a line of a cue without its tags."""
    return _TAGS[style].sub("", text)


def _escape(character: str, style: TagStyle) -> str:
    if style is TagStyle.ASS:
        return _ASS_WRITTEN.get(character, character)
    return html.escape(character, quote=False) if style is TagStyle.VTT else character


def _unescape(text: str, style: TagStyle) -> str:
    if style is TagStyle.SRT:
        return text
    if style is TagStyle.ASS:
        return _ASS_ESCAPE.sub(lambda escape: _ASS_ESCAPES[escape[0]], text)
    return _REFERENCE.sub(lambda reference: html.unescape(reference[0]), text)


def _half(tag: str) -> tuple[str, str]:
    """Return the kind of a tag, and the name that pairs it with another."""
    if opening := _OPENING.fullmatch(tag):
        return "open", (opening[1] or opening[2]).lower()
    closing = _CLOSING.fullmatch(tag)
    return ("", "") if closing is None else ("close", (closing[2] or closing[1]).lower())


def _break_lines(pieces: list[tuple[str, bool]], shares: Sequence[float]) -> list[str]:
    """Break the text at or near the points that divide it into these shares."""
    breaks = _break_points(pieces)
    counts = [num_before for _, num_before in breaks]
    length = sum(not is_tag for _, is_tag in pieces)
    chosen: list[int] = []
    first = 0
    total = sum(shares)
    for number, before in enumerate(accumulate(shares[:-1]), start=1):
        last = len(breaks) - (len(shares) - 1 - number)  # leave one for each line that follows
        if first >= last:
            continue
        best = _nearest(counts, length * before / total, range(first, last))
        chosen.append(breaks[best][0])
        first = best + 1
    edges = [0, *chosen, len(pieces)]
    return ["".join(piece for piece, _ in pieces[start:end]).strip(" ") for start, end in pairwise(edges)]


def _nearest(counts: list[int], ideal: float, among: range) -> int:
    """Return the index in `among` of the nearest count; counts are in ascending order."""
    after = bisect_left(counts, ideal, among.start, among.stop - 1)
    is_before_nearer = after > among.start and ideal - counts[after - 1] <= counts[after] - ideal
    return after - 1 if is_before_nearer else after


def _break_points(pieces: list[tuple[str, bool]]) -> list[tuple[int, int]]:
    """Return where a line may begin: index into the pieces, and number of characters before it."""
    breaks: list[tuple[int, int]] = []
    num_before = 0
    previous = ""
    after_space = 0
    for i, (piece, is_tag) in enumerate(pieces):
        if is_tag:
            continue
        if piece == " ":
            after_space = i + 1
        elif previous == " ":
            breaks.append((after_space, num_before))
        elif previous and _may_break(previous, piece):
            breaks.append((i, num_before))
        num_before += 1
        previous = piece
    return breaks


def _may_break(previous: str, after: str) -> bool:
    """Return whether a line may break between two characters without a space, as in Chinese and Japanese."""
    if any(
        len(character) != 1 or unicodedata.east_asian_width(character) not in {"W", "F"}
        for character in (previous, after)
    ):
        return False
    return unicodedata.category(previous) not in {"Ps", "Pi"} and unicodedata.category(after)[0] not in "PM"
