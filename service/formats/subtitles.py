r"""Subtitles: SubRip (.srt), WebVTT (https://www.w3.org/TR/webvtt1/) and SubStation Alpha (.ass, .ssa).

Lines that share a sentence are running text, which is broken into as many lines after translation; a sentence
may go on in the next cues.
Timings, numbers, settings, comments and styles stay byte for byte.

Of SubStation Alpha, the texts of events (`Dialogue:`) are read; their lines end with `\N`. Override tags
(`{\i1}`) move with their words. Headers and drawings stay byte for byte as well. Specification: "Advanced Sub
Station Alpha" v4.00+, as libass reads it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, groupby, pairwise
from typing import BinaryIO

from dragoman.text.segmentation import segment
from service.formats.cue_text import TagStyle, break_lines, cue_runs, strip_tags
from service.formats.entries import FileFormatError, TargetText
from service.formats.inline_runs import entries_in, fill_runs
from service.formats.language_tags import matches_language, renamed_language
from service.formats.lines import Line, read_lines
from service.formats.parts import BytesFormat, Part, Unit
from service.formats.plain_text import EncodedFormat
from service.text.tokens import InlineItem

MAX_JOINED_LINES = 8
"""Lines of cues that are translated together."""
MAX_PARAGRAPH_CHARACTERS = 1_000_000
"""Maximum number of characters between two blank lines; more is not a subtitle."""

_SRT_TIMING = re.compile(r"\s*\d+:\d\d?:\d\d?[,.]\d{1,3}\s*-->\s*\d+:\d\d?:\d\d?[,.]\d{1,3}")
_VTT_TIMING = "-->"
_VTT_FIRST = re.compile(r"WEBVTT(?:[ \t]|\Z)")
_VTT_LANGUAGE = re.compile(r"(Language:[ \t]*)([A-Za-z][\w-]*)[ \t]*\Z")
_SPEAKER_DASH = re.compile(r"\s*(?:[-\u2010-\u2015]|>>)\s*(?=\S)")
"""Dash before the words of a speaker."""
_SPEAKER_NAME = re.compile(r"[^\W\d_a-z][^:a-z\n]{1,30}:\s")
"""`MANN: Komm!`"""
_SOUND = re.compile(r"\[|[(\uff08].*[)\uff09]\Z|\u266a")
"""Beginning of a line about sounds, `[TÜR KNALLT]`, or of a song."""
_SOUND_END = re.compile(r"[\])\uff09\u266a]\Z")


class SrtFormat(EncodedFormat):
    r"""SubRip in UTF-8. An entry is a cue, or a part of one if a sentence ends at the end of a line or lines
    begin with dashes, one for each speaker.

    Tags (`<i>`, `{\an8}`) move with their words.
    """

    def parts(self, source: BinaryIO) -> Iterator[Part]:
        """Yield the parts of a file lazily."""
        return _parts_of(self._cues(source), TagStyle.SRT, self.options.source)

    def _cues(self, source: BinaryIO) -> Iterator[bytes | list[Line]]:
        has_begun = False
        for paragraph in _paragraphs(source):
            if _is_blank(paragraph[0]):
                yield _bytes_of(paragraph)
                continue
            timings = [i for i, line in enumerate(paragraph) if _SRT_TIMING.match(line.text)]
            if not (timings or has_begun):
                raise FileFormatError(
                    f"line {paragraph[0].number}: a cue with a timing is expected, "
                    "like 00:00:01,000 --> 00:00:02,000; this is not a SubRip file"
                )
            has_begun = True
            bounds = [*(_cue_start(paragraph, timing) for timing in timings), len(paragraph)]
            # Text after a blank line without a timing belongs to the cue before it.
            yield paragraph[: bounds[0]]
            for timing, (head, end) in zip(timings, pairwise(bounds), strict=True):
                yield _bytes_of(paragraph[head : timing + 1])
                yield paragraph[timing + 1 : end]


class VttFormat(BytesFormat):
    """WebVTT, with entries like those of `SrtFormat`; tags have classes and voices, `<c.loud>`, `<v Ann>`."""

    def parts(self, source: BinaryIO) -> Iterator[Part]:
        """Yield the parts of a file lazily; the header's language follows that of the first cue."""
        header: list[bytes] = []
        parts = _parts_of(self._cues(source), TagStyle.VTT, self.options.source)
        for part in parts:
            if isinstance(part, Unit):
                yield self._with_header(b"".join(header), part)
                break
            header.append(part)
        else:
            yield b"".join(header)
        yield from parts

    def _with_header(self, header: bytes, cue: Unit[bytes]) -> Unit[bytes]:
        def render(texts: Sequence[TargetText]) -> bytes:
            lines = header.decode().splitlines(keepends=True)
            return "".join(map(self._renamed, lines)).encode() + cue.render(texts)

        return Unit(cue.entries, render, None if cue.raw is None else header + cue.raw)

    def _renamed(self, line: str) -> str:
        text = line.rstrip("\r\n")
        found = _VTT_LANGUAGE.match(text)
        if found is None or not matches_language(found[2], self.options.source):
            return line
        return found[1] + renamed_language(found[2], self.options.target) + line[len(text) :]

    def _cues(self, source: BinaryIO) -> Iterator[bytes | list[Line]]:
        is_first = True
        for paragraph in _paragraphs(source):
            if is_first and not _VTT_FIRST.match(paragraph[0].text):
                raise FileFormatError("line 1: WEBVTT is expected; this is not a WebVTT file")
            timing = next((i for i, line in enumerate(paragraph) if _VTT_TIMING in line.text), None)
            # Comments, styles and regions have no timing.
            end = len(paragraph) if timing is None or is_first else timing + 1
            is_first = False
            yield _bytes_of(paragraph[:end])
            yield paragraph[end:]


def _parts_of(cues: Iterable[bytes | list[Line]], style: TagStyle, language: str) -> Iterator[Part]:
    for found in _joined_cues(cues, style):
        if isinstance(found, bytes):
            yield found
        else:
            yield from cue_parts(found, style, language)


def _joined_cues(cues: Iterable[bytes | list[Line]], style: TagStyle) -> Iterator[bytes | list[Line]]:
    """Yield the lines of cues and what is between them; a cue is joined with those that end its sentence.

    The ending of its last line then includes what is between them.
    """
    lines: list[Line] = []
    between: list[bytes] = []
    for found in cues:
        if isinstance(found, bytes):
            between.append(found)
            continue
        if found and lines and len(lines) < MAX_JOINED_LINES and _goes_on(lines[-1], found[0], style):
            lines[-1] = replace(lines[-1], ending=lines[-1].ending + b"".join(between))
            lines += found
        elif found:
            yield lines
            yield from between
            lines = found
        else:
            continue
        between = []
    yield lines
    yield from between


def _goes_on(last: Line, first: Line, style: TagStyle) -> bool:
    """Return whether the sentence of a cue's last line goes on in the first line of the next cue."""
    before, after = (strip_tags(line.text, style).strip() for line in (last, first))
    begins_inside = after[:1].islower() or (before.endswith(",") and after[:1].isalpha())
    return begins_inside and (before[-1:].isalnum() or before.endswith(","))


def _cue_start(paragraph: Sequence[Line], timing: int) -> int:
    """Return where a cue begins: at its number, if it has one."""
    has_number = timing > 0 and paragraph[timing - 1].text.strip().isdecimal()
    return timing - 1 if has_number else timing


def _paragraphs(source: BinaryIO) -> Iterator[list[Line]]:
    """Yield groups of consecutive non-blank lines, and blank lines one by one."""
    paragraph: list[Line] = []
    num_characters = 0
    for line in read_lines(source):
        if _is_blank(line):
            if paragraph:
                yield paragraph
            yield [line]
            paragraph, num_characters = [], 0
            continue
        paragraph.append(line)
        num_characters += len(line.text)
        if num_characters > MAX_PARAGRAPH_CHARACTERS:
            raise FileFormatError(
                f"line {paragraph[0].number}: more than {MAX_PARAGRAPH_CHARACTERS:,} characters follow "
                "without a blank line; this is not a subtitle file"
            )
    if paragraph:
        yield paragraph


def cue_parts(lines: Sequence[Line], style: TagStyle, language: str) -> Iterator[Part]:
    """Yield a cue's text, with a slot for each speaker's turn, each sound, and each group of lines that share
    a sentence.
    """
    sentence_starts = _sentence_starts(lines, style, language)
    turn, turn_end = 0, ""
    turns: list[int] = []
    is_sound = False
    for i, line in enumerate(lines):
        words = strip_tags(line.text, style).strip()
        begins_sound = _SOUND.match(words) is not None
        begins = any((begins_sound, _SPEAKER_DASH.match(words), _SPEAKER_NAME.match(words)))
        has_ended = is_sound and _SOUND_END.search(turn_end) is not None
        turn += i > 0 and (begins or has_ended or i in sentence_starts)
        is_sound = begins_sound or (is_sound and not (begins or has_ended))
        turn_end = words
        turns.append(turn)
    for _, numbered in groupby(zip(turns, lines, strict=True), key=lambda pair: pair[0]):
        yield from _turn_parts([line for _, line in numbered], style)


def _sentence_starts(lines: Sequence[Line], style: TagStyle, language: str) -> frozenset[int]:
    """Return the lines that begin with a new sentence."""
    if len(lines) < 2:  # noqa: PLR2004 -- a line, and one before it
        return frozenset()
    plain_lines = [strip_tags(line.text, style).strip() for line in lines]
    at = 0
    line_at: dict[int, int] = {}
    for i, text in enumerate(plain_lines):
        line_at[at] = i
        at += len(text) + 1
    document = segment(" ".join(plain_lines), language)
    found: set[int] = set()
    at = len(document.gaps[0])
    for sentence, gap in zip(document.segments, document.gaps[1:], strict=True):
        if at in line_at:
            found.add(line_at[at])
        at += len(sentence) + len(gap)
    return frozenset(found)


def _turn_parts(lines: Sequence[Line], style: TagStyle) -> Iterator[Part]:
    dash = _SPEAKER_DASH.match(lines[0].text)
    start = 0 if dash is None else dash.end()
    running = " ".join([lines[0].text[start:], *(line.text for line in lines[1:])])
    raw = _bytes_of(lines)
    first, last = lines[0].number, lines[-1].number
    location = f"line {first}" if first == last else f"lines {first} to {last}"
    found = cue_runs(" ".join(running.split()), style, location)
    entries = entries_in(found)
    if not entries:
        yield raw
        return
    if lines[0].mark:
        yield lines[0].mark
        raw = raw[len(lines[0].mark) :]

    def render(texts: Sequence[TargetText]) -> bytes:
        return _encode_turn(fill_runs(found, texts), style, lines[0].text[:start], lines)

    yield Unit(entries, render, raw)


def _encode_turn(items: Sequence[InlineItem], style: TagStyle, before: str, lines: Sequence[Line]) -> bytes:
    """Return the lines of a turn, none of them blank; only what is between cues for a blank translation."""
    ends_cue = [b"\n" in line.ending.rstrip(b"\r\n") for line in lines[:-1]]
    cues = list(accumulate(ends_cue, initial=0))
    sizes = Counter[int]()
    for cue, line in zip(cues, lines, strict=True):
        sizes[cue] += len(line.text)
    shares = [sizes[cue] / cues.count(cue) for cue in cues]
    written = break_lines(items, style, shares)
    endings = [line.ending for line in lines[:-1]]
    first = max(0, len(written) - 1)
    # Further timings and the last ending stay, even if there are fewer lines than before.
    rest = [ending for ending, is_last in zip(endings[first:], ends_cue[first:], strict=True) if is_last]
    if not written:
        return b"".join(rest)
    written[0] = before + written[0]
    ends = [*endings[:first], b"".join([*rest, lines[-1].ending])]
    return b"".join(line.encode() + end for line, end in zip(written, ends, strict=True))


def _is_blank(line: Line) -> bool:
    return not line.text or line.text.isspace()


def _bytes_of(lines: Sequence[Line]) -> bytes:
    return b"".join(line.mark + line.text.encode() + line.ending for line in lines)


_SECTION = re.compile(r"\s*\[([^\]]*)\]\s*")
_FORMAT = re.compile(r"\s*Format:(.*)", re.IGNORECASE)
_DIALOGUE = re.compile(r"\s*Dialogue:", re.IGNORECASE)
_FIRST_SECTION = "script info"
_EVENTS = "events"
_TEXT = "text"
_DEFAULT_FIELDS = 10
_TAG = re.compile(r"\{[^{}]*\}")
_DRAWING = re.compile(r"\\p[1-9]")
_BREAK = re.compile(r"(\\[Nn])")


class AssFormat(BytesFormat):
    """SubStation Alpha in UTF-8. An entry is the text of an event, or a part of it as in `SrtFormat`."""

    def parts(self, source: BinaryIO) -> Iterator[Part]:
        """Yield the parts of a file lazily."""
        section: str | None = None
        num_fields = _DEFAULT_FIELDS
        for line in read_lines(source):
            found = _SECTION.fullmatch(line.text)
            if found is not None:
                is_first, section = section is None, found[1].strip().lower()
                if is_first and section != _FIRST_SECTION:
                    raise _no_script_error(line.number)
            elif section is None and line.text.strip() and not line.text.startswith((";", "!")):
                raise _no_script_error(line.number)
            declared = _FORMAT.fullmatch(line.text) if section == _EVENTS else None
            if declared is not None:
                num_fields = _num_fields(declared[1], line.number)
            if section == _EVENTS and _DIALOGUE.match(line.text):
                yield from self._event(line, num_fields)
            else:
                yield line.mark + line.text.encode() + line.ending

    def _event(self, line: Line, num_fields: int) -> Iterator[Part]:
        fields = line.text.split(",", num_fields - 1)
        if len(fields) < num_fields:
            raise FileFormatError(
                f"line {line.number}: an event has {len(fields)} fields instead of {num_fields}; fix it"
            )
        text = fields[-1]
        if len(text) > MAX_PARAGRAPH_CHARACTERS:
            raise FileFormatError(
                f"line {line.number}: a text is longer than {MAX_PARAGRAPH_CHARACTERS:,} characters; split it"
            )
        yield line.mark + line.text[: len(line.text) - len(text)].encode()
        if any(_DRAWING.search(tag) for tag in _TAG.findall(text)):
            yield text.encode()
        else:
            yield from cue_parts(list(_lines(text, line.number)), TagStyle.ASS, self.options.source)
        yield line.ending


def _lines(text: str, number: int) -> Iterator[Line]:
    """Yield the lines of an event's text."""
    pieces = [*_BREAK.split(text), ""]
    for content, line_end in zip(pieces[::2], pieces[1::2], strict=True):
        yield Line(number, b"", content, line_end.encode())


def _num_fields(declared: str, number: int) -> int:
    fields = [field.strip().lower() for field in declared.split(",")]
    if fields[-1] != _TEXT:
        raise FileFormatError(f"line {number}: the last field of events must be Text; move it")
    return len(fields)


def _no_script_error(number: int) -> FileFormatError:
    return FileFormatError(f"line {number}: [Script Info] is expected; this is not a SubStation Alpha file")
