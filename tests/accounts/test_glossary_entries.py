"""What entries may be, and how they are read."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.accounts.errors import GlossaryInvalid
from service.accounts.glossaries import EntriesFormat, parse_entries, read_tsv, write_tsv

TSV, CSV = EntriesFormat.TSV, EntriesFormat.CSV
TERMS = (
    st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1, max_size=20)
    .map(str.strip)
    .filter(lambda term: term and not term.startswith("\ufeff"))
)
ENTRIES = st.dictionaries(TERMS, TERMS, min_size=1, max_size=10)


def parse(text: str, form: EntriesFormat = TSV) -> dict[str, str]:
    return parse_entries(text, form, "de", "en")


@given(ENTRIES)
def test_what_is_written_as_tsv_is_read_as_it_was(entries: dict[str, str]) -> None:
    written = write_tsv(entries)
    assert list(parse(written).items()) == list(entries.items())
    assert read_tsv(written) == entries


@given(ENTRIES, st.sampled_from(["\n", "\r\n"]), st.sampled_from([(), ("de", "EN")]))
def test_what_another_program_writes_as_csv_is_read_as_it_was(
    entries: dict[str, str], line_end: str, languages: tuple[str, ...]
) -> None:
    written = io.StringIO()
    csv.writer(written, lineterminator=line_end).writerows((*pair, *languages) for pair in entries.items())
    assert list(parse(written.getvalue(), CSV).items()) == list(entries.items())


@given(st.text(st.sampled_from('ab\t,"\n\r \u2028\x00é'), max_size=40), st.sampled_from(list(EntriesFormat)))
def test_any_text_is_parsed_as_entries_or_rejected(text: str, form: EntriesFormat) -> None:
    try:
        entries = parse(text, form)
    except GlossaryInvalid:
        return
    assert parse(write_tsv(entries)) == entries


def test_quotation_marks_are_characters_in_tsv_and_quote_in_csv() -> None:
    assert parse('"Hut"\ta "hat"') == {'"Hut"': 'a "hat"'}
    assert parse('"Hut, rot","a ""red"" hat"', CSV) == {"Hut, rot": 'a "red" hat'}


def test_a_byte_order_mark_and_empty_lines_are_ignored() -> None:
    assert parse("\ufeffHut\that\r\n\r\nRad\twheel\n\n") == {"Hut": "hat", "Rad": "wheel"}


@pytest.mark.parametrize(
    ("text", "form", "problem"),
    [
        ("", TSV, "is empty"),
        ("\n\n", CSV, "is empty"),
        ("Hut\that\nRad", TSV, "line 2 has 1 fields, but tsv needs 2"),
        ("Hut\that\tde\ten", TSV, "line 1 has 4 fields"),
        ("Hut,hat,de", CSV, "line 1 has 3 fields, but csv needs 2, or 4"),
        ("Hut,hat,de,fr", CSV, "line 1 must name the glossary's languages de, en"),
        ("Hut\that\n\nRad\twheel\nHut\tcap", TSV, "line 4 repeats the source term of line 1"),
        ("\that", TSV, "line 1: the source term is empty"),
        ("Hut\t ", TSV, "line 1: the target term is empty"),
        (" Hut\that", TSV, "line 1: the source term begins or ends with white space"),
        ("Hut\that\u00a0", TSV, "line 1: the target term begins or ends"),
        ('"Hu\nt",hat', CSV, "line 1: the source term has a control character"),
        ("Hut\tha\x85t", TSV, "line 1: the target term has a control character"),
        ("Hut\tha\u2028t", TSV, "line 1: the target term has a control character"),
        ("\n\ufeffHut\that", TSV, "line 2: the source term has a control character"),
        ('"Hut,hat', CSV, "line 1 cannot be read as csv"),
        ('Rad,wheel\n"Hut"x,hat', CSV, "line 2 cannot be read as csv"),
        ("x" * 1025 + "\that", TSV, "the source term has 1025 bytes; the limit is 1024"),
        ("Hut\t" + "é" * 513, TSV, "the target term has 1026 bytes"),
        ("Hut\t\ud800", TSV, "lone surrogate"),
    ],
)
def test_invalid_entries_are_rejected_by_line(text: str, form: EntriesFormat, problem: str) -> None:
    with pytest.raises(GlossaryInvalid) as refused:
        parse(text, form)
    assert refused.value.field == "entries"
    assert problem in str(refused.value)


def test_a_term_may_have_1024_bytes() -> None:
    assert parse("é" * 512 + "\t" + "x" * 1024) == {"é" * 512: "x" * 1024}


def test_entries_may_have_10_mebibytes_and_no_more() -> None:
    line = "{:09}\t" + "é" * 507 + "\n"  # 1025 bytes
    lines = [line.format(number) for number in range(10230)]
    room = 10 * 2**20 - 10230 * 1025
    assert 4 < room <= 1028
    last = "Rad\t" + "x" * (room - 4)
    assert len(parse("".join(lines) + last)) == 10231
    with pytest.raises(GlossaryInvalid, match="more than 10485760 bytes"):
        parse("".join(lines) + last + "x")


def test_an_error_quotes_no_term() -> None:
    for text in ("secret\tx\nsecret\ty", "secret", "secret \tx", "secret\t"):
        with pytest.raises(GlossaryInvalid) as refused:
            parse(text)
        assert "secret" not in str(refused.value)
