r"""Subtitles of SubStation Alpha: `.ass` and `.ssa`.

The texts of events (`Dialogue:`) are read like those of other subtitles: lines, which end with `\N`, are
running text if they share a sentence. Override tags (`{\i1}`) move with their words. Headers, styles,
timings, comments and drawings stay byte for byte. Specification: "Advanced Sub Station Alpha" v4.00+, as
libass reads it.
"""

import re
from collections.abc import Iterator
from typing import BinaryIO

from service.formats.cue_text import TagStyle
from service.formats.entries import FileFormatError
from service.formats.lines import Line, read_lines
from service.formats.parts import BytesFormat, Part
from service.formats.subtitles import MAX_PARAGRAPH_CHARACTERS, cue_parts

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
