"""Gettext catalogues: missing translations are filled in.

Existing translations stay, fuzzy and obsolete ones too, and so do comments, contexts and the header; only the
lines of missing translations change, and the marks of their entries. A translation keeps the tags of its
text; its placeholders are part of the entry. Of the plural forms, the one for n = 1 translates the singular,
the others the plural. A template without plural forms gets those of the target language.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import IO

import polib

from service.formats.encodings import codec_of_label
from service.formats.entries import FileFormatError, TargetText
from service.formats.inline_runs import TextRun, fill_runs, messages_in
from service.formats.language_tags import check_target
from service.formats.messages import message_runs
from service.formats.parts import TextFormat, TextPart, TextUnit, Unit, decode, encode, joined
from service.formats.plural_forms import PluralForms, is_form_of_singular, read_plural_forms, set_plural_forms
from service.formats.review_marks import TOOL, confidence_of, origin_of
from service.text.outcome import TextOrigin
from service.text.tokens import InlineItem

_CHARSET = re.compile(
    rb"^(?:msgstr\s)?\"(?:[^\"\n]*\\n)?Content-Type:[^\"\n]*charset=([A-Za-z0-9_.:-]+)",
    re.MULTILINE | re.IGNORECASE,
)
_FIELD = re.compile(r"\s*msgstr(?:\[(\d{1,3})\])?\s*\"")
_CONTINUED = re.compile(r"\s*\"")
_MAYBE_TEXT = re.compile(r"\s*(?:msg|\")")
_TEXT = re.compile(r'(?:msg[a-z_]+(?:\[\d{1,3}\])?\s*)?"(?:[^"\\]|\\.)*"')
"""A text in quotation marks; polib misreads lines that lack one of them."""
MAX_HEADER_CHARACTERS = 100_000
_TEMPLATE_CHARSET = "charset"
"""Charset in a header that nobody filled in."""


class PoFormat(TextFormat):
    """A catalogue; an entry is a text without a translation, or a missing plural form of one.

    Texts equal to their entries are filled in too, empty texts are not.
    """

    def parse(self, source: IO[bytes]) -> tuple[Iterator[TextPart], Callable[[str], bytes]]:
        """See `TextFormat`."""
        content = source.read()
        encoding = _encoding(content)
        parts = _parts(decode(content, encoding), self.options.target)
        return parts, partial(encode, encoding=encoding)


def _encoding(content: bytes) -> str:
    found = _CHARSET.search(content)
    label = "utf-8" if found is None else found[1].decode().lower()
    return "utf-8" if label == _TEMPLATE_CHARSET else codec_of_label(label, "its header declares")


def _parts(text: str, target: str) -> Iterator[TextPart]:
    lines = text.splitlines(keepends=True)  # as polib splits them
    catalogue = _parse_catalogue(lines)
    check_target(catalogue.metadata.get("Language", ""), target)
    has_plurals = any(entry.msgid_plural and not entry.obsolete for entry in catalogue)
    plural_forms = read_plural_forms(catalogue.metadata.get("Plural-Forms", ""))
    if plural_forms is None and has_plurals:
        plural_forms = set_plural_forms(lines, target)
    at = 0
    for entry in catalogue:
        if entry.obsolete or not entry.msgid:
            continue
        forms = entry.msgstr_plural or {0: entry.msgstr}
        fields = list(_fields(lines, entry.linenum or 0))
        if entry.msgid_plural and plural_forms is not None:
            fields = _complete(fields, plural_forms)
        parts: list[TextPart] = []
        start = end = _entry_start(lines, entry.linenum or 0)
        for field in fields:
            if forms.get(field.form):
                continue
            is_singular = not entry.msgid_plural or is_form_of_singular(field.form, plural_forms)
            message = entry.msgid if is_singular else entry.msgid_plural
            found = message_runs(message, f"line {field.start + 1}")
            parts.append("".join(lines[end : field.start]))
            if field.is_needed:
                raw, before = "".join(lines[field.start : field.stop]), lines[field.stop - 1]
                parts.append(_translation_unit(found, field.tag, raw, before[len(before.rstrip("\r\n")) :]))
            end = field.stop
        if parts:
            yield "".join(lines[at:start])
            yield _marked_unit(joined(parts))
            at = end
    yield "".join(lines[at:])


def _marked_unit(entry: TextUnit) -> TextUnit:
    return Unit(entry.entries, lambda texts: _mark_entry(entry.write(texts), texts))


def _complete(fields: Sequence["_Field"], plural_forms: PluralForms) -> list["_Field"]:
    """Return the fields of a text with plural forms: those that the language has, and no others."""
    kept = [replace(field, is_needed=field.form < plural_forms.number) for field in fields]
    known = {field.form for field in fields}
    stop = fields[-1].stop if fields else 0
    missing = [form for form in range(plural_forms.number) if form not in known] if fields else []
    return [*kept, *(_Field(form, f"msgstr[{form}]", stop, stop) for form in missing)]


def _parse_catalogue(lines: Sequence[str]) -> polib.POFile:
    for i, line in enumerate(lines):
        if _MAYBE_TEXT.match(line) and not _TEXT.fullmatch(line.strip()):
            raise FileFormatError(f"line {i + 1} has no text between two quotation marks; fix it")
    try:
        # The line end keeps polib from taking a text of one line for a file name.
        return polib.pofile("\n".join(_join_continuations(lines)) + "\n\n")
    except (OSError, ValueError, IndexError, UnicodeError) as error:
        raise FileFormatError(f"it is not a valid gettext catalogue: {error}; fix that line") from error


def _join_continuations(lines: Sequence[str]) -> list[str]:
    """Return the lines with each text on one line and without comments, for which polib takes quadratic time.

    Raises:
        FileFormatError: the header is too long.
    """
    kept: list[str] = []
    pieces: list[str] = []
    """Parts of the latest text."""
    last = 0
    is_header = False
    for i, line in enumerate([*lines, "msgid"]):
        bare = line.strip()
        if bare.startswith('"') and pieces:
            pieces.append(bare[1:-1])
            kept.append("")
            continue
        if not bare or bare.startswith("#"):
            kept.append("")
            continue
        if pieces:
            kept[last] = f'{"".join(pieces)}"'
            is_header = kept[last] == 'msgid ""' or (is_header and not kept[last].startswith("msgid"))
            if is_header and len(kept[last]) > MAX_HEADER_CHARACTERS:
                raise FileFormatError(
                    f"line {last + 1}: the header is longer than {MAX_HEADER_CHARACTERS:,} characters"
                )
        pieces, last = [bare[:-1]] if bare.endswith('"') else [], i
        kept.append(bare)
    return kept[:-1]


@dataclass(frozen=True, slots=True)
class _Field:
    """The lines of a translation."""

    form: int
    tag: str
    """Part before the opening quotation mark."""
    start: int
    stop: int
    is_needed: bool = True
    """Whether the target language has this plural form."""


def _fields(lines: Sequence[str], first: int) -> Iterator[_Field]:
    """Yield the translations of the entry that begins at line `first`, counted from 1."""
    i = max(0, first - 1)
    while i < len(lines) and not _FIELD.match(lines[i]):
        i += 1
    while i < len(lines) and (found := _FIELD.match(lines[i])):
        start, i = i, i + 1
        while i < len(lines) and _CONTINUED.match(lines[i]):
            i += 1
        number = int(found[1] or 0)  # at most 3 digits
        yield _Field(number, found[0].strip().removesuffix('"').rstrip(), start, i)


def _translation_unit(found: Sequence[TextRun | InlineItem], tag: str, raw: str, line_end: str) -> TextUnit:
    """Return a translation; `raw` has its lines, and is empty if it is to be added."""

    def render(texts: Sequence[TargetText]) -> str:
        if texts and not any(text.text for text in texts):
            return raw
        translated = "".join(item.raw or item.text for item in fill_runs(found, texts))
        lines = _wrap_translation(translated, tag)
        if not line_end and not raw:  # the file ends before it
            lines.insert(0, "")
        return (line_end or "\n").join(lines) + line_end

    return Unit(messages_in(found), render)


def _wrap_translation(text: str, tag: str) -> list[str]:
    """Return the lines of a translation, wrapped as gettext wraps them."""
    lines = str(polib.POEntry(msgid=".", msgstr=text)).rstrip("\n").split("\n")
    first = [line.startswith("msgstr ") for line in lines].index(True)
    return [tag + lines[first].removeprefix("msgstr"), *lines[first + 1 :]]


_FUZZY = "fuzzy"


def _entry_start(lines: Sequence[str], first: int) -> int:
    """Return the index of an entry's first line, which may be a comment.

    Args:
        lines: lines of the catalogue.
        first: number of the entry's first line that is no comment, counted from 1.
    """
    start = max(0, first - 1)
    while start and lines[start - 1].startswith("#") and not lines[start - 1].startswith("#~"):
        start -= 1
    return start


def _mark_entry(entry: str, texts: Sequence[TargetText]) -> str:
    """Return an entry with the marks of the texts that were filled in; without any, it stays as it is."""
    filled_in = [text for text in texts if text.text]
    origin, confidence = origin_of(filled_in), confidence_of(filled_in)
    if origin is None:
        return entry
    lines = entry.splitlines(keepends=True)
    line_end = "\r\n" if lines[0].endswith("\r\n") else "\n"
    if origin is not TextOrigin.MEMORY:
        _add_flag(lines, line_end)
    comment = "memory: exact" if origin is TextOrigin.MEMORY else confidence and f"confidence: {confidence}"
    if comment:
        lines.insert(_num_comments(lines, "# "), f"# {TOOL}, {comment}{line_end}")
    return "".join(lines)


def _add_flag(lines: list[str], line_end: str) -> None:
    comments = [i for i, line in enumerate(lines[: _num_comments(lines, "#")]) if line.startswith("#,")]
    if not comments:
        others = [line for line in lines[: _num_comments(lines, "#")] if not line.startswith("#|")]
        lines.insert(len(others), f"#, {_FUZZY}{line_end}")
        return
    flags = {flag.strip() for i in comments for flag in lines[i].removeprefix("#,").split(",")}
    if _FUZZY not in flags:
        lines[comments[0]] = f"#, {_FUZZY}, {lines[comments[0]].removeprefix('#,').lstrip()}"


def _num_comments(lines: Sequence[str], start: str) -> int:
    """Return the number of lines at the beginning that start so."""
    return next((i for i, line in enumerate(lines) if not line.startswith(start)), len(lines))
