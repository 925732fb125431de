"""Comma- and tab-separated values: cells are translated, and all else stays byte for byte."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.formats.delimited import CommaFormat, TabFormat
from service.formats.entries import FileFormatError, FileOptions
from tests.formats.rewriting import entries, own, places, rewritten, texts, written

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


TABLES = {
    "untouched cells, quotes and endings stay": (
        (),
        b'\xef\xbb\xbfid,"text",note\r\n"1",Hallo," x"\n2,"Hallo ""du""\r\nda",y\r\n\r\n3,"",z',
        [("Hallo", "line 2, column text"), ('Hallo "du"\r\nda', "line 3, column text")],
        ("Hi, all", 'Hi "you"'),
        b'\xef\xbb\xbfid,"text",note\r\n"1","Hi, all"," x"\n2,"Hi ""you""",y\r\n\r\n3,"",z',
    ),
    "a cell in quotes stays in quotes": (
        (),
        b'text\n"Hallo"\nHallo\n',
        [("Hallo", "line 2, column text"), ("Hallo", "line 3, column text")],
        ("Hello", "Hello"),
        b'text\n"Hello"\nHello\n',
    ),
    "a cell of several lines keeps their endings": (
        (),
        b'id,text\r\n1,"a\r\nb\nc\r\n"",d"\r\n2,e\r\n',
        [('a\r\nb\nc\r\n",d', "line 2, column text"), ("e", "line 6, column text")],
        ("x", "y"),
        b'id,text\r\n1,"x"\r\n2,y\r\n',
    ),
    "an empty text leaves a record": (
        (),
        b"text\nHallo\n",
        [("Hallo", "line 2, column text")],
        ("",),
        b'text\n""\n',
    ),
    "numbers count columns and make no header": (
        ("2",),
        b"a,b\nc,d\n",
        [("b", "line 1, column 2"), ("d", "line 2, column 2")],
        ("x", "y"),
        b"a,x\nc,y\n",
    ),
    "names make a header also beside numbers": (
        ("3", "title"),
        b"id,title,body\n1,a,b\n",
        [("a", "line 2, column title"), ("b", "line 2, column 3")],
        ("x", "y"),
        b"id,title,body\n1,x,y\n",
    ),
    "a header that only semicolons give tells the delimiter": (
        (),
        b"id;text\n1;Hallo, Welt\n",
        [("Hallo, Welt", "line 2, column text")],
        ("a;",),
        b'id;text\n1;"a;"\n',
    ),
    "a header that only tabs give tells the delimiter": (
        (),
        b"id\ttext\n1\tHallo, Welt\n",
        [("Hallo, Welt", "line 2, column text")],
        ("a\t",),
        b'id\ttext\n1\t"a\t"\n',
    ),
    "an empty file has no entries": ((), b"", [], (), b""),
}


@pytest.mark.parametrize("rule", TABLES)
def test_cells_are_read_with_their_place_and_written(rule: str) -> None:
    columns, content, found, translations, result = TABLES[rule]

    assert places(of(*columns), content) == found
    assert written(of(*columns), content, *translations) == result


@pytest.mark.parametrize(
    ("columns", "content", "problem"),
    [
        ((), b"id,body\n1,a\n", "no column is named text in line 1; .*: id, body$"),
        ((), b"text,text\n1,a\n", "more than one column is named text in line 1; .*number from: text, text$"),
        (("3",), b"a,b\n", "column 3 not found: line 1 has 2"),
        (("0",), b"a,b\n", "column 0 not found: line 1 has 2"),
        (("text",), b'id,text\n1,"a\n\n"\n2\n', "line 5 has 1 cells, but column text is number 2"),
        (("1",), b'a\n"b\nc\n', "line 2: a quoted cell is not closed"),
        (("1",), b"a\rb\rc\n", "line 1: a carriage return has no line feed"),
        (("1",), b'a\n"b"\rc\n', "line 2: a carriage return has no line feed"),
        (("1",), b"a\n\xff\n", "line 2 is not UTF-8: byte 0xff at position 1"),
    ],
)
def test_bad_tables_are_rejected_with_their_place(
    columns: tuple[str, ...], content: bytes, problem: str
) -> None:
    with pytest.raises(FileFormatError, match=f"^{problem}"):
        entries(of(*columns), content)


def test_a_quotation_mark_that_is_not_closed_does_not_gather_the_file() -> None:
    class Endless(io.BytesIO):
        num_lines = 0

        def readline(self, size: int | None = -1, /) -> bytes:
            del size
            self.num_lines += 1
            return b'"' * (self.num_lines == 1) + b"a" * 9_999 + b"\n"

    source = Endless()
    with pytest.raises(FileFormatError, match=r"^line 1: a quoted cell is not closed"):
        list(of("1").read(source))
    assert source.num_lines < 1100
