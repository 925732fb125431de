"""Tables and JSON lines: cells and strings are translated, and all else stays byte for byte."""

import csv
import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.formats.delimited import CommaFormat, TabFormat
from service.formats.entries import FileFormatError, FileOptions
from service.formats.json_lines import JsonLinesFormat
from tests.formats.rewriting import OPTIONS, own, rewritten, texts

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
