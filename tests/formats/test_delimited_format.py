"""Comma- and tab-separated values: cells are translated, and all else stays byte for byte."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.formats.delimited import CommaFormat, DelimitedFormat, TabFormat
from service.formats.entries import Entry, FileFormatError, FileOptions

cells = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\0"), max_size=8)
cells_with_marks = st.text('ab,;\t"\n ü', max_size=6) | cells
QUOTINGS = (csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC)


def of(*columns: str) -> CommaFormat:
    return CommaFormat(FileOptions("de", "en", columns))


def tabs(*columns: str) -> TabFormat:
    return TabFormat(FileOptions("de", "en", columns))


def read(table: DelimitedFormat, content: bytes) -> list[Entry]:
    return list(table.read(io.BytesIO(content)))


def written(table: DelimitedFormat, content: bytes, *texts: str) -> bytes:
    target = io.BytesIO()
    table.write(io.BytesIO(content), iter(texts), target)
    return target.getvalue()


@given(
    rows=st.lists(st.tuples(cells_with_marks, cells_with_marks, cells_with_marks), min_size=1),
    delimiter=st.sampled_from([",", "\t"]),
    quoting=st.sampled_from(QUOTINGS),
    ending=st.sampled_from(["\n", "\r\n"]),
    mark=st.sampled_from(["", "\ufeff"]),
    has_last_ending=st.booleans(),
)
def test_what_csv_writes_is_read_as_csv_reads_it_and_comes_back_byte_for_byte(
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
    table = of("1", "3") if delimiter == "," else tabs("1", "3")

    entries = read(table, content)

    assert [entry.text for entry in entries] == [
        row[i] for row in rows for i in (0, 2) if row[i] and not row[i].isspace()
    ]
    assert written(table, content, *(entry.text for entry in entries)) == content


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

    result = written(of(), text.getvalue().encode(), *(translation for _ in rows))

    assert list(csv.reader(io.StringIO(result.decode(), newline=""))) == [
        ["id", "text"],
        *([kept, translation] for kept, _ in rows),
    ]


@given(st.text('ab,"\n', max_size=30))
def test_whatever_is_not_refused_is_what_csv_reads(text: str) -> None:
    try:
        entries = read(of("1"), text.encode())
    except FileFormatError:
        return
    records = list(csv.reader(io.StringIO(text, newline="")))
    assert [entry.text for entry in entries] == [row[0] for row in records if row and row[0].strip()]
    assert written(of("1"), text.encode(), *(entry.text for entry in entries)) == text.encode()


def test_untouched_cells_quotes_and_endings_stay() -> None:
    content = b'\xef\xbb\xbfid,"text",note\r\n"1",Hallo," x"\n2,"Hallo ""du""\r\nda",y\r\n\r\n3,"",z'

    assert read(of(), content) == [
        Entry("Hallo", "line 2, column text"),
        Entry('Hallo "du"\r\nda', "line 3, column text"),
    ]
    assert written(of(), content, "Hi, all", 'Hi "you"') == (
        b'\xef\xbb\xbfid,"text",note\r\n"1","Hi, all"," x"\n2,"Hi ""you""",y\r\n\r\n3,"",z'
    )


def test_a_cell_in_quotes_stays_in_quotes() -> None:
    assert written(of(), b'text\n"Hallo"\nHallo\n', "Hello", "Hello") == b'text\n"Hello"\nHello\n'


def test_a_cell_of_several_lines_keeps_their_endings() -> None:
    content = b'id,text\r\n1,"a\r\nb\nc\r\n"",d"\r\n2,e\r\n'

    assert read(of(), content) == [
        Entry('a\r\nb\nc\r\n",d', "line 2, column text"),
        Entry("e", "line 6, column text"),
    ]
    assert written(of(), content, "x", "y") == b'id,text\r\n1,"x"\r\n2,y\r\n'


def test_an_empty_text_leaves_a_record() -> None:
    assert written(of(), b"text\nHallo\n", "") == b'text\n""\n'


def test_numbers_count_columns_and_make_no_header() -> None:
    assert [entry.place for entry in read(of("2"), b"a,b\nc,d\n")] == [
        "line 1, column 2",
        "line 2, column 2",
    ]


def test_names_make_a_header_also_beside_numbers() -> None:
    content = b"id,title,body\n1,a,b\n"

    assert read(of("3", "title"), content) == [
        Entry("a", "line 2, column title"),
        Entry("b", "line 2, column 3"),
    ]


@pytest.mark.parametrize("delimiter", [b";", b"\t"])
def test_a_header_that_only_another_delimiter_gives_tells_the_delimiter(delimiter: bytes) -> None:
    content = b"id;text\n1;Hallo, Welt\n".replace(b";", delimiter)

    assert [entry.text for entry in read(of(), content)] == ["Hallo, Welt"]
    assert written(of(), content, "a" + delimiter.decode()) == b'id%btext\n1%b"a%b"\n' % (
        delimiter,
        delimiter,
        delimiter,
    )


def test_an_empty_file_has_no_entries() -> None:
    assert read(of(), b"") == []
    assert written(of(), b"") == b""


@pytest.mark.parametrize(
    ("columns", "content", "problem"),
    [
        ((), b"id,body\n1,a\n", "no column is named text in line 1; .*: id, body$"),
        (
            (),
            b"text,text\n1,a\n",
            "more than one column is named text in line 1; .*number from: text, text$",
        ),
        (("3",), b"a,b\n", "column 3 not found: line 1 has 2"),
        (("0",), b"a,b\n", "column 0 not found: line 1 has 2"),
        (("text",), b'id,text\n1,"a\n\n"\n2\n', "line 5 has 1 cells, but column text is number 2"),
        (("1",), b'a\n"b\nc\n', "line 2: a quoted cell is not closed"),
        (("1",), b"a\rb\rc\n", "line 1: a carriage return has no line feed"),
        (("1",), b'a\n"b"\rc\n', "line 2: a carriage return has no line feed"),
        (("1",), b"a\n\xff\n", "line 2 is not UTF-8: byte 0xff at position 1"),
    ],
)
def test_bad_tables_are_refused_with_their_place(
    columns: tuple[str, ...], content: bytes, problem: str
) -> None:
    with pytest.raises(FileFormatError, match=f"^{problem}"):
        read(of(*columns), content)


def test_a_quotation_mark_that_is_not_closed_does_not_gather_the_file() -> None:
    class Endless(io.BytesIO):
        num_lines = 0

        def readline(self, size: int | None = -1, /) -> bytes:
            del size
            self.num_lines += 1
            return b'"' + b"a" * 9_999 + b"\n" if self.num_lines == 1 else b"a" * 9_999 + b"\n"

    source = Endless()
    with pytest.raises(FileFormatError, match=r"^line 1: a quoted cell is not closed"):
        list(of("1").read(source))
    assert source.num_lines < 1100


def test_writing_takes_as_many_texts_as_reading_gives() -> None:
    with pytest.raises(ValueError, match="fewer texts than entries: none for line 3, column text"):
        written(of(), b"text\na\nb\n", "x")
    with pytest.raises(ValueError, match="more texts than entries"):
        written(of(), b"text\na\nb\n", "x", "y", "z")
