"""What entries may be, and how they are read from text and TermBase eXchange files."""

import csv
import io
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.terms import Term
from dragoman.types import Pair
from service.glossaries.entries import EntriesFormat, EntryCollector, parse_entries, write_entries
from service.glossaries.errors import GlossaryInvalid
from service.glossaries.files import GlossaryFormat, format_of, read_glossary_file

TSV, CSV = EntriesFormat.TSV, EntriesFormat.CSV
TERMS = (
    st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1, max_size=20)
    .map(str.strip)
    .filter(lambda term: term and not term.startswith("\ufeff"))
)
ENTRIES = st.dictionaries(TERMS, TERMS, min_size=1, max_size=10)


def parse(text: str, form: EntriesFormat = TSV, max_entries: int = 20_000) -> dict[str, str]:
    terms = parse_entries(text, form, Pair("de", "en"), EntryCollector(max_entries=max_entries))
    return {term.source: " | ".join(term.targets) for term in terms}


def write(entries: dict[str, str], form: EntriesFormat = TSV) -> str:
    return write_entries([Term(source, (target,)) for source, target in entries.items()], form)


@given(ENTRIES, st.sampled_from(list(EntriesFormat)))
def test_written_entries_are_read_back(entries: dict[str, str], form: EntriesFormat) -> None:
    assert list(parse(write(entries, form), form).items()) == list(entries.items())


def test_of_several_translations_the_first_is_written_and_a_term_to_keep_is_its_own() -> None:
    terms = [Term("Hund", ("dog", "hound")), Term("Dragoman")]
    assert write_entries(terms, TSV) == "Hund\tdog\nDragoman\tDragoman\n"
    assert write_entries(terms, CSV) == "Hund,dog\nDragoman,Dragoman\n"


@given(ENTRIES, st.sampled_from(["\n", "\r\n"]), st.sampled_from([(), ("de", "EN")]))
def test_entries_written_by_the_csv_module_are_read_back(
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
    assert parse(write(entries)) == entries


def test_quotation_marks_are_characters_in_tsv_and_quote_in_csv() -> None:
    assert parse('"Hut"\ta "hat"') == {'"Hut"': 'a "hat"'}
    assert parse('"Hut, rot","a ""red"" hat"', CSV) == {"Hut, rot": 'a "red" hat'}


def test_a_byte_order_mark_and_empty_lines_are_ignored() -> None:
    assert parse("\ufeffHut\that\r\n\r\nRad\twheel\n\n") == {"Hut": "hat", "Rad": "wheel"}


@pytest.mark.parametrize(
    ("text", "form", "problem"),
    [
        ("", "tsv", "is empty"),
        ("Hut\that\nRad", "tsv", "line 2 has 1 fields, but tsv needs 2"),
        ("Hut,hat,de", "csv", "line 1 has 3 fields, but csv needs 2, or 4"),
        ("Hut,hat,de,fr", "csv", "line 1 must name the glossary's languages de, en"),
        ("Hut\that\n\nRad\twheel\nHut\tcap", "tsv", "line 4 repeats the source term of line 1"),
        ("\that", "tsv", "line 1: the source term is empty"),
        ("Hut\t ", "tsv", "line 1: the target term is empty"),
        (" Hut\that", "tsv", "line 1: the source term begins or ends with white space"),
        ('"Hu\nt",hat', "csv", "line 1: the source term has a control character"),
        ("Hut\tha\x85t", "tsv", "line 1: the target term has a control character"),
        ("Hut\tha\u2028t", "tsv", "line 1: the target term has a control character"),
        ("\n\ufeffHut\that", "tsv", "line 2: the source term has a control character"),
        ('"Hut,hat', "csv", "line 1 cannot be read as csv"),
        ('Rad,wheel\n"Hut"x,hat', "csv", "line 2 cannot be read as csv"),
        ("x" * 201 + "\that", "tsv", "the source term has 201 characters; the limit is 200"),
        ("Hut\t\ud800", "tsv", "lone surrogate"),
    ],
)
def test_invalid_entries_are_rejected_by_line(text: str, form: str, problem: str) -> None:
    with pytest.raises(GlossaryInvalid) as refused:
        parse(text, EntriesFormat(form))
    assert refused.value.field == "entries"
    assert problem in str(refused.value)


def test_a_term_may_have_200_characters() -> None:
    assert parse("é" * 200 + "\t" + "x" * 200) == {"é" * 200: "x" * 200}


def test_entries_may_have_10_mebibytes_and_no_more() -> None:
    line = "{:09}\t" + "x" * 189 + "\n"
    lines = "".join(line.format(number) for number in range(10 * 2**20 // 200))
    assert len(parse(lines, max_entries=100_000)) == 52428
    with pytest.raises(GlossaryInvalid, match="more than 10485760 bytes"):
        parse(lines + "x" * 200, max_entries=100_000)


def test_one_entry_too_many_is_rejected() -> None:
    assert len(parse("a\tb\nc\td", max_entries=2)) == 2
    with pytest.raises(GlossaryInvalid, match="has more than 2 entries; split it"):
        parse("a\tb\nc\td\ne\tf", max_entries=2)


def test_an_error_quotes_no_term() -> None:
    for text in ("secret\tx\nsecret\ty", "secret", "secret \tx", "secret\t"):
        with pytest.raises(GlossaryInvalid) as refused:
            parse(text)
        assert "secret" not in str(refused.value)


PAIR = Pair("de", "en")
SECOND = """<?xml version="1.0" encoding="UTF-8"?>
<tbx type="TBX-Basic" style="dca" xml:lang="de" xmlns="urn:iso:std:iso:30042:ed-2">
  <tbxHeader><fileDesc><sourceDesc><p>Terms</p></sourceDesc></fileDesc></tbxHeader>
  <text><body>
    <conceptEntry id="c1">
      <langSec xml:lang="de"><termSec><term>Hund</term></termSec>
        <termSec><term>Köter</term></termSec></langSec>
      <langSec xml:lang="en">
        <termSec><term>dog</term></termSec>
        <termSec><term>hound</term></termSec>
        <termSec><term>cur</term>
          <termNote type="administrativeStatus">deprecatedTerm-admn-sts</termNote></termSec>
      </langSec>
      <langSec xml:lang="fr"><termSec><term>chien</term></termSec></langSec>
    </conceptEntry>
    <conceptEntry id="c2">
      <langSec xml:lang="de"><termSec><term>Katze</term></termSec></langSec>
    </conceptEntry>
  </body></text>
</tbx>"""
FIRST = """<?xml version="1.0"?>
<!DOCTYPE martif SYSTEM "TBXcoreStructV02.dtd">
<martif type="TBX" xml:lang="en"><text><body>
<termEntry><langSet xml:lang="de-DE"><ntig><termGrp><term>Ab<hi>lage</hi></term></termGrp></ntig></langSet>
<langSet xml:lang="en-US"><tig><term>filing
  system</term></tig></langSet></termEntry>
</body></text></martif>"""


def read(text: str, pair: Pair = PAIR) -> tuple[Term, ...]:
    return read_glossary_file(BytesIO(text.encode()), GlossaryFormat.TBX, pair, EntryCollector())


def test_each_term_of_a_concept_gets_all_terms_of_the_other_language_that_may_be_used() -> None:
    assert read(SECOND) == (Term("Hund", ("dog", "hound")), Term("Köter", ("dog", "hound")))


def test_any_pair_of_a_files_languages_can_be_read() -> None:
    assert read(SECOND, Pair("fr", "de")) == (Term("chien", ("Hund", "Köter")),)


def test_the_first_version_is_read_as_well() -> None:
    assert read(FIRST) == (Term("Ablage", ("filing system",)),)


def test_a_repeated_term_is_rejected_with_its_line() -> None:
    concept = SECOND[SECOND.index("<conceptEntry") : SECOND.index("</conceptEntry>")] + "</conceptEntry>\n"
    with pytest.raises(GlossaryInvalid, match="line 16 repeats the source term of line 5"):
        read(SECOND.replace('<conceptEntry id="c2">', concept + '<conceptEntry id="c2">'))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("<tbx><text>", "cannot be read as tbx: not well-formed XML"),
        ("Hund,dog", "not well-formed XML"),
        ("<tbx/>", "is empty"),
        (SECOND.replace('"en"', '"es"'), "is empty"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "entity 'b' is declared, which is not supported"),
    ],
)
def test_a_file_that_cannot_be_used_is_rejected(text: str, problem: str) -> None:
    with pytest.raises(GlossaryInvalid) as refused:
        read(text)
    assert problem in refused.value.problem


@pytest.mark.parametrize("name", ["terms.csv", "TERMS.TSV", "my.terms.tbx"])
def test_the_suffix_gives_the_format(name: str) -> None:
    assert format_of(name, EntryCollector()) == name[-3:].lower()


def test_a_text_file_must_be_utf_8() -> None:
    file = BytesIO("Hüte\thats".encode("latin-1"))
    with pytest.raises(GlossaryInvalid, match="is not UTF-8 at byte 1; save it in UTF-8"):
        read_glossary_file(file, GlossaryFormat.TSV, PAIR, EntryCollector())
