"""Entries of TermBase eXchange files, of both versions."""

from io import BytesIO

import pytest

from dragoman.terms import Term
from dragoman.types import Pair
from service.glossaries.entries import EntryCollector
from service.glossaries.errors import GlossaryInvalid
from service.glossaries.files import GlossaryFormat, format_of, read_glossary_file
from service.glossaries.tbx import read_tbx

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
    return read_tbx(BytesIO(text.encode()), pair, EntryCollector())


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
def test_a_suffix_tells_the_format(name: str) -> None:
    assert format_of(name, EntryCollector()) == name[-3:].lower()


def test_a_text_file_must_be_utf_8() -> None:
    file = BytesIO("Hüte\thats".encode("latin-1"))
    with pytest.raises(GlossaryInvalid, match="is not UTF-8 at byte 1; save it in UTF-8"):
        read_glossary_file(file, GlossaryFormat.TSV, PAIR, EntryCollector())
