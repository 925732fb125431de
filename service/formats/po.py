"""Gettext catalogues: missing translations are filled in.

Existing translations stay, fuzzy and obsolete ones too, and so do comments, contexts and the header; only the
lines of missing translations change. A translation keeps the placeholders and tags of its text. Of the plural
forms, the one for n = 1 translates the singular, the others the plural.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from gettext import c2py
from typing import IO

import polib

from service.formats.encodings import codec_of_label
from service.formats.entries import FileFormatError
from service.formats.inline_runs import Item, TextRun, entries_in, fill_runs, pair_halves, text_runs
from service.formats.parts import TextFormat, TextPart, TextUnit, Unit, decode, encode
from service.markup.tokens import Kind

_CONVERSION = r"(?:\*|\d+)?+(?:\.(?:\*|\d+))?+(?:hh|h|ll|l|L|q|j|z|t)?[diouxXeEfFgGaAcrspn@]"
PLACEHOLDER = re.compile(
    rf"""
      (?<!\d)%(?:\(\w+\)|\d+\$)?+[-+0\#']*+{_CONVERSION}
    | %(?:\(\w+\)|\d+\$)?+[-+\ 0\#']*+{_CONVERSION}(?![^\W\d_])
    | %\(\w+\)                        # of Python, before a word
    | %[L]?\d{{1,2}} | %n             # of Qt
    | %%
    | \{{\{{[^{{}}]*\}}\}} | \{{%[^{{}}%]*%\}}   # of templates
    | [\#%]\{{\w+(?:\.\w+)*\}}        # of Ruby
    | \$\{{[\w.:-]+\}} | \$\(\w+\)    # of shells and JavaScript
    | \{{[\w.\[\]]*(?:![rsa])?(?::[^{{}}\s]*)?\}}  # of Python, C# and Java
    | </?[A-Za-z][^<>]*>              # tags
    | &(?:[A-Za-z]+|\#\d+|\#x[0-9A-Fa-f]+);
    """,
    re.VERBOSE,
)
"""Placeholders of C, Python, Qt, Ruby, JavaScript, C#, Java and templates; tags and references of HTML.

A percent sign and a letter are no placeholder if the letter begins a word: "100% sure".
"""


def split_placeholders(text: str) -> Iterator[Item]:
    """Yield a text with its placeholders as items that stay as they are."""
    at = 0
    for found in PLACEHOLDER.finditer(text):
        if at < found.start():
            yield Item(Kind.TEXT, text[at : found.start()])
        is_tag = found[0].startswith("<")
        yield Item(Kind.POINT if is_tag else Kind.WORD, raw=found[0], note=_half_note(found[0]))
        at = found.end()
    if at < len(text):
        yield Item(Kind.TEXT, text[at:])


def _half_note(raw: str) -> str | None:
    """Return a note that pairs start tags and end tags by name; None for anything else."""
    tag = re.match(r"<(/?)([A-Za-z][\w:-]*)", raw)
    if tag is None or raw.endswith("/>"):
        return None
    return f"{'close' if tag[1] else 'open'}:{tag[2]}"


_CHARSET = re.compile(rb"^\"Content-Type:[^\"\n]*charset=([A-Za-z0-9_.:-]+)", re.MULTILINE | re.IGNORECASE)
_FIELD = re.compile(r"\s*msgstr(?:\[(\d+)\])?\s*\"")
_CONTINUED = re.compile(r"\s*\"")
_MAYBE_TEXT = re.compile(r"\s*(?:msg|\")")
_TEXT = re.compile(r'(?:msg[a-z_]+(?:\[\d{1,3}\])?\s*)?"(?:[^"\\]|\\.)*"')
"""A text in quotation marks; polib misreads lines that lack one of them."""
_PLURAL = re.compile(r"nplurals\s*=\s*\d+\s*;\s*plural\s*=\s*([^;]+)")
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
        return _parts(decode(content, encoding)), partial(encode, encoding=encoding)


def _encoding(content: bytes) -> str:
    found = _CHARSET.search(content)
    label = "utf-8" if found is None else found[1].decode().lower()
    if label == _TEMPLATE_CHARSET:
        return "utf-8"
    encoding = codec_of_label(label)
    if encoding is None:
        raise FileFormatError(
            f"its header declares the encoding {label[:40]!r}, which is unknown; save it in UTF-8"
        )
    return encoding


def _parts(text: str) -> Iterator[TextPart]:
    lines = text.splitlines(keepends=True)  # as polib splits them
    catalogue = _parse_catalogue(lines)
    singular_form = _singular_form(catalogue.metadata.get("Plural-Forms", ""))
    at = 0
    for entry in catalogue:
        if entry.obsolete or not entry.msgid:
            continue
        forms = entry.msgstr_plural or {0: entry.msgstr}
        for field in _fields(lines, entry.linenum or 0):
            if forms.get(field.form):
                continue
            is_singular = not entry.msgid_plural or field.form == singular_form
            found = _text_runs(entry.msgid if is_singular else entry.msgid_plural, field)
            yield "".join(lines[at : field.start])
            yield _translation_unit(found, field, "".join(lines[field.start : field.stop]))
            at = field.stop
    yield "".join(lines[at:])


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


def _singular_form(header: str) -> int:
    """Return the number of the plural form for n = 1."""
    found = _PLURAL.search(header)
    if found is None:
        return 0
    try:
        return c2py(found[1].strip())(1)
    except (ValueError, ZeroDivisionError, RecursionError) as error:
        raise FileFormatError(f"its header's plural forms cannot be read: {error}; fix the header") from error


@dataclass(frozen=True, slots=True)
class _Field:
    """The lines of a translation."""

    form: int
    tag: str
    """Part before the opening quotation mark."""
    start: int
    stop: int


def _fields(lines: Sequence[str], first: int) -> Iterator[_Field]:
    """Yield the translations of the entry that begins at line `first`, counted from 1."""
    i = max(0, first - 1)
    while i < len(lines) and not _FIELD.match(lines[i]):
        i += 1
    while i < len(lines) and (found := _FIELD.match(lines[i])):
        start, i = i, i + 1
        while i < len(lines) and _CONTINUED.match(lines[i]):
            i += 1
        yield _Field(int(found[1] or 0), found[0].strip().removesuffix('"').rstrip(), start, i)


def _text_runs(text: str, field: _Field) -> list[TextRun | Item]:
    items = pair_halves(list(split_placeholders(text)))
    return list(text_runs(items, f"line {field.start + 1}", keeps_space=True))


def _translation_unit(found: Sequence[TextRun | Item], field: _Field, raw: str) -> TextUnit:
    line_end = raw[len(raw.rstrip("\r\n")) :]

    def spell(texts: Sequence[str]) -> str:
        if texts and not any(texts):
            return raw
        translated = "".join(item.raw or item.text for item in fill_runs(found, texts))
        lines = _wrap_translation(translated, field.tag)
        separator = line_end or "\n"
        return separator.join(lines) + line_end

    return Unit(entries_in(found), spell)


def _wrap_translation(text: str, tag: str) -> list[str]:
    """Return the lines of a translation, wrapped as gettext wraps them."""
    lines = str(polib.POEntry(msgid=".", msgstr=text)).rstrip("\n").split("\n")
    first = next(i for i, line in enumerate(lines) if line.startswith("msgstr "))
    return [tag + lines[first].removeprefix("msgstr"), *lines[first + 1 :]]
