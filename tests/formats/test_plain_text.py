# ruff: noqa: E501 -- texts are read more easily unbroken
"""Plain text, tables and JSON lines: what is translated, and all else stays byte for byte."""

import codecs
import csv
import io
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.formats.delimited import CommaFormat, TabFormat
from service.formats.entries import FileFormatError, FileOptions
from service.formats.json_lines import JsonLinesFormat
from service.formats.lines import MAX_LINE_BYTES
from service.formats.plain_text import PlainTextFormat
from service.formats.registry import open_format
from tests.formats.rewriting import OPTIONS, own, places, rewritten, texts, written

TEXT = PlainTextFormat(OPTIONS)
MARKS = {
    "utf-8": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}


contents = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]))


@given(
    lines=st.lists(st.tuples(contents, st.sampled_from(["\n", "\r\n"]))),
    last=contents,
    encoding=st.sampled_from([*MARKS]),
    has_mark=st.booleans(),
)
def test_with_their_own_texts_lines_come_back_byte_for_byte(
    lines: list[tuple[str, str]], last: str, encoding: str, *, has_mark: bool
) -> None:
    text = "".join(text + ending for text, ending in lines) + last
    # A NUL after the mark of UTF-16 looks like that of UTF-32.
    marked = MARKS[encoding] + (text.lstrip("\0") if encoding == "utf-16-le" else text).encode(encoding)

    for content in (marked, MARKS["utf-8"] * has_mark + text.encode()):
        assert rewritten(TEXT, content, own) == content


@pytest.mark.parametrize("encoding", MARKS)
def test_a_translation_is_in_the_encoding_that_its_file_is_in(encoding: str) -> None:
    content = MARKS[encoding] + "Größe\r\n\n𝄞 漢".encode(encoding)
    result = MARKS[encoding] + "Größer\r\n\nж 𝄞".encode(encoding)

    assert places(TEXT, content) == [("Größe", "line 1"), ("𝄞 漢", "line 3")]
    assert written(TEXT, content, "Gr\u00f6\u00dfer", "ж\n𝄞") == result


_CUE = "1\n00:00:01,000 --> 00:00:02,000\n{}\n"


@pytest.mark.parametrize(
    ("name", "text", "said", "result"),
    [
        ("a.txt", "Größe\r\nSPÄ“", "„Größer“", "„Größer“\r\nSPÄ“"),
        ("a.csv", "Name;text\nHaus;schön\n", "grün", "Name;text\nHaus;grün\n"),
        ("a.srt", _CUE.format("Grüße!"), "Größe?", _CUE.format("Größe?")),
    ],
)  # fmt: skip
def test_files_of_old_programs_are_read_and_written_in_windows_1252(
    name: str, text: str, said: str, result: str
) -> None:
    file_format, content = open_format(name, OPTIONS), text.encode("cp1252")

    assert rewritten(file_format, content, own) == content
    assert written(file_format, content, said, *texts(file_format, content)[1:]) == result.encode("cp1252")
    with pytest.raises(FileFormatError, match="cannot be written in cp1252; save the file in UTF-8"):
        rewritten(file_format, content, lambda _: "字")


def test_a_long_file_is_read_lazily() -> None:
    source = io.BytesIO(codecs.BOM_UTF16_LE + "Zeile\n".encode("utf-16-le") * 1_000_000)
    next(iter(TEXT.read(source)))

    assert source.tell() < 2_000_000


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])) | st.text("a\r\n")))
def test_no_translation_moves_the_lines_after_it(translations: list[str]) -> None:
    result = written(TEXT, b"".join(b"a%d\n" % i for i in range(len(translations))), *translations)

    assert result.count(b"\n") == len(translations)
    assert b"\r\n" not in result


def test_a_line_may_be_as_long_as_the_limit() -> None:
    content = b"\xef\xbb\xbf" + b"a" * MAX_LINE_BYTES + b"\r\nb\n"

    assert [len(text) for text in texts(TEXT, content)] == [MAX_LINE_BYTES, 1]


def test_a_longer_line_is_rejected_before_it_is_read_to_its_end() -> None:
    source = io.BytesIO(b"a" * 3 * MAX_LINE_BYTES)

    with pytest.raises(FileFormatError, match=r"^line 1 is longer than 10,000,000 bytes; split it"):
        next(TEXT.read(source))
    assert source.tell() < 2 * MAX_LINE_BYTES


WRAPPED = "Eine lange Zeile, die\nüber zwei Zeilen geht und\nerst hier endet."


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (WRAPPED, [" ".join(WRAPPED.split("\n"))]),
        (f"{WRAPPED}\n\nNoch ein Absatz mit einem\nzweiten Ende.\n", [" ".join(WRAPPED.split("\n")), "Noch ein Absatz mit einem zweiten Ende."]),
        ("Max Muster\nMusterstraße 12\n12345 Stadt", ["Max Muster", "Musterstraße 12", "12345 Stadt"]),
        ("Das ist ein ganzer Satz.\nDas ist noch ein ganzer.\nDas ist der dritte Satz.", [
            "Das ist ein ganzer Satz.", "Das ist noch ein ganzer.", "Das ist der dritte Satz."
        ]),
        ("kurz\neine lange Zeile mit vielen Worten\nund noch eine", ["kurz", "eine lange Zeile mit vielen Worten", "und noch eine"]),
    ],
)  # fmt: skip
def test_lines_that_are_wrapped_at_one_width_are_one_text(content: str, found: list[str]) -> None:
    assert texts(TEXT, content.encode()) == found
    assert rewritten(TEXT, content.encode(), own) == content.encode()


def test_lines_of_a_paragraph_are_joined_on_request_but_for_items_of_lists() -> None:
    joining = PlainTextFormat(replace(OPTIONS, join_lines=True))
    content = "Eine Zeile,\ndie weitergeht.\n\n- Haus\n- Garten und\n  Hund\n1. Ja\n \nEnde"

    assert texts(joining, content.encode()) == [
        "Eine Zeile, die weitergeht.",
        "- Haus",
        "- Garten und Hund",
        "1. Ja",
        "Ende",
    ]
    assert rewritten(joining, content.encode(), own) == content.encode()


def test_a_wrapped_paragraph_is_wrapped_again_into_as_many_lines() -> None:
    result = written(
        TEXT, f"{WRAPPED}\n\nja\n".encode(), "A long line that spans two lines and only ends here.", "yes"
    )

    assert result.decode() == "A long line that\nspans two lines and\nonly ends here.\n\nyes\n"


cells = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\0"), max_size=8)
cells_with_marks = st.text('ab,;\t"\n ü', max_size=6) | cells
QUOTINGS = (csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC)


def of(*columns: str) -> CommaFormat:
    return CommaFormat(FileOptions("de", "en", columns))


@given(
    rows=st.lists(st.tuples(cells_with_marks, cells_with_marks, cells_with_marks), min_size=1),
    delimiter=st.sampled_from([",", "\t"]),
    quoting=st.sampled_from(QUOTINGS),
    ending=st.sampled_from(["\n", "\r\n"]),
    mark=st.sampled_from(["", "\ufeff"]),
    has_last_ending=st.booleans(),
)
def test_tables_of_the_csv_module_round_trip_byte_for_byte(
    rows: list[tuple[str, str, str]],
    delimiter: str,
    quoting: int,
    ending: str,
    mark: str,
    *,
    has_last_ending: bool,
) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter, quoting=quoting, lineterminator=ending).writerows(rows)  # type: ignore[arg-type]
    content = (mark + text.getvalue().removesuffix("" if has_last_ending else ending)).encode()
    table = (CommaFormat if delimiter == "," else TabFormat)(FileOptions("de", "en", ("1", "3")))

    assert texts(table, content) == [
        row[i] for row in rows for i in (0, 2) if row[i] and not row[i].isspace()
    ]
    assert rewritten(table, content, own) == content


@given(
    rows=st.lists(st.tuples(cells_with_marks, st.text("xy", min_size=1)), min_size=1),
    translation=cells_with_marks,
    ending=st.sampled_from(["\n", "\r\n"]),
)
def test_translations_are_read_back_from_their_cells(
    rows: list[tuple[str, str]], translation: str, ending: str
) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator=ending).writerows([("id", "text"), *rows])

    result = rewritten(of(), text.getvalue().encode(), lambda _: translation)

    assert list(csv.reader(io.StringIO(result.decode(), newline=""))) == [
        ["id", "text"],
        *([kept, translation] for kept, _ in rows),
    ]


@given(st.text('ab,"\n', max_size=30))
def test_every_accepted_table_is_what_csv_reads(text: str) -> None:
    try:
        found = texts(of("1"), text.encode())
    except FileFormatError:
        return
    records = list(csv.reader(io.StringIO(text, newline="")))
    assert found == [row[0] for row in records if row and row[0].strip()]


def test_a_quotation_mark_that_is_not_closed_does_not_gather_the_file() -> None:
    source = io.BytesIO(b'"' + (b"a" * 9_999 + b"\n") * 2000)
    with pytest.raises(FileFormatError, match=r"^line 1: a quoted cell is not closed"):
        list(of("1").read(source))
    assert source.tell() < 11_000_000


strings = st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | strings,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(strings, inner, max_size=3),
    max_leaves=5,
)
objects = st.dictionaries(strings.filter(lambda key: key != "text"), values, max_size=4)


JSON_LINES = JsonLinesFormat(OPTIONS)


@given(
    rows=st.lists(st.tuples(objects, strings), min_size=1),
    is_ascii=st.booleans(),
    separators=st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " :  ")]),
    ending=st.sampled_from(["\n", "\r\n", "\n\n"]),
)
def test_translations_are_in_their_places_and_all_else_is_as_it_was_byte_for_byte(
    rows: list[tuple[dict[str, Any], str]], *, is_ascii: bool, separators: tuple[str, str], ending: str
) -> None:
    content = "".join(
        json.dumps({"a": 1, "text": text, **row}, ensure_ascii=is_ascii, separators=separators) + ending
        for row, text in rows
    ).encode()

    result = rewritten(JSON_LINES, content, lambda entry: entry.text[::-1])

    assert texts(JSON_LINES, content) == [text for _, text in rows if text.strip()]
    assert rewritten(JSON_LINES, content, own) == content
    assert [json.loads(line) for line in result.split(b"\n") if line.strip()] == [
        {"a": 1, "text": text[::-1] if text.strip() else text, **row} for row, text in rows
    ]
