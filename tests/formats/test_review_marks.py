# ruff: noqa: E501 -- markup is read more easily unbroken
"""What files say about their translations: state, author, confidence."""

import polib
import pytest
from lxml import etree

from service.formats.bilingual_xml import TmxFormat, XliffFormat
from service.formats.po import PoFormat
from service.formats.registry import open_format
from service.text.marked_text import MarkedText
from service.text.outcome import TextOrigin
from tests.formats.rewriting import OPTIONS, entries, target_text, written
from tests.fuzz.seeds import FILES

MACHINE, MEMORY, SOURCE = TextOrigin.MACHINE, TextOrigin.MEMORY, TextOrigin.SOURCE
V2 = "urn:oasis:names:tc:xliff:document:2.0"
PO = """msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\\n"

# von Hand
#. Hinweis
#: a.c:1
#, c-format
#| msgid "alt"
msgid "eins"
msgstr ""

#, fuzzy
msgid "zwei"
msgstr ""

msgid "drei"
msgstr "three"
"""
XLIFF_1 = (
    '<xliff version="1.2"><file><body><trans-unit id="1"><source>eins</source>'
    '<target state="new" state-qualifier="id-match"/><note>n</note></trans-unit>'
    '<trans-unit id="2"><source>zwei</source><target state="final">two</target></trans-unit></body></file></xliff>'
)
XLIFF_2 = (
    f'<xliff xmlns="{V2}" version="2.0" srcLang="de" trgLang="en"><file id="f"><unit id="1">{{notes}}'
    "<segment{state}><source>eins</source>{target}</segment></unit>"
    '<unit id="2"><segment state="final"><source>zwei</source><target>two</target></segment></unit></file></xliff>'
)
TMX = (
    '<tmx version="1.4"><header srclang="de"/><body><tu><tuv xml:lang="de"><seg>eins</seg></tuv>{variant}</tu>'
    "</body></tmx>"
)


def po_entries(*translations: str) -> list[polib.POEntry]:
    return list(polib.pofile(written(PoFormat(OPTIONS), PO.encode(), *translations).decode()))


def test_a_machine_translation_is_fuzzy_with_its_confidence_and_other_flags_and_comments_stay() -> None:
    first, second, third = po_entries(
        target_text(MarkedText("one"), MACHINE, 0.876), target_text(MarkedText("two"), MACHINE)
    )

    assert (first.msgstr, first.flags, first.previous_msgid) == ("one", ["fuzzy", "c-format"], "alt")
    assert first.tcomment == "von Hand\ndragoman, confidence: 0.88"
    assert (first.comment, first.occurrences) == ("Hinweis", [("a.c", "1")])
    assert (second.msgstr, second.flags, second.tcomment) == ("two", ["fuzzy"], "")
    assert (third.msgstr, third.flags) == ("three", [])


def test_plural_forms_share_a_flag_and_the_lowest_confidence() -> None:
    content = b'msgid ""\nmsgstr ""\n"Plural-Forms: nplurals=2; plural=n != 1;\\n"\n\nmsgid "a"\nmsgid_plural "b"\nmsgstr[0] ""\nmsgstr[1] ""\n'

    found = written(
        PoFormat(OPTIONS),
        content,
        target_text(MarkedText("A"), MACHINE, 0.9),
        target_text(MarkedText("B"), MACHINE, 0.4),
    )

    (entry,) = polib.pofile(found.decode())
    assert (entry.flags, entry.tcomment) == (["fuzzy"], "dragoman, confidence: 0.40")
    assert entry.msgstr_plural == {0: "A", 1: "B"}


def test_carriage_returns_stay() -> None:
    content = b'msgid "eins"\r\nmsgstr ""\r\n'

    found = written(PoFormat(OPTIONS), content, target_text(MarkedText("one"), MACHINE, 0.5))

    assert found == b'# dragoman, confidence: 0.50\r\n#, fuzzy\r\nmsgid "eins"\r\nmsgstr "one"\r\n'


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("one", '<target state="translated">one</target>'),
        (
            target_text(MarkedText("one"), MACHINE),
            '<target state="needs-review-translation" state-qualifier="mt-suggestion">one</target>',
        ),
        (
            target_text(MarkedText("one"), MACHINE, 0.5),
            (
                '<target state="needs-review-translation" state-qualifier="mt-suggestion">one</target>'
                '<note from="dragoman" annotates="target">confidence: 0.50</note>'
            ),
        ),
        (
            target_text(MarkedText("one"), MEMORY),
            '<target state="translated" state-qualifier="exact-match">one</target>',
        ),
        (target_text(MarkedText("eins"), SOURCE), '<target state="needs-translation">eins</target>'),
    ],
)
def test_targets_of_xliff_1_2_have_a_state(text: str, target: str) -> None:
    expected = XLIFF_1.replace('<target state="new" state-qualifier="id-match"/>', target)
    assert written(XliffFormat(OPTIONS), XLIFF_1.encode(), text).decode() == expected


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("one", 'state="translated"'),
        (target_text(MarkedText("one"), MACHINE), 'state="translated" subState="dragoman:machine"'),
        (target_text(MarkedText("one"), MEMORY), 'state="translated" subState="dragoman:memory-exact"'),
        (target_text(MarkedText("one"), SOURCE), 'state="initial" subState="dragoman:untranslated"'),
    ],
)
def test_segments_of_xliff_2_have_a_state(text: str, state: str) -> None:
    content = XLIFF_2.format(notes="", state=' subState="x:y" state="initial"', target="")

    found = written(XliffFormat(OPTIONS), content.encode(), text).decode()

    assert found == XLIFF_2.format(notes="", state=f" {state}", target="<target>one</target>")


@pytest.mark.parametrize(
    ("notes", "expected"),
    [
        ("", "<notes>{}</notes>"),
        ("<notes><note>n</note></notes>", "<notes><note>n</note>{}</notes>"),
        (
            "<originalData><data id='d'>x</data></originalData>",
            "<notes>{}</notes><originalData><data id='d'>x</data></originalData>",
        ),
    ],
)
def test_the_confidence_in_xliff_2_is_a_note_of_the_unit(notes: str, expected: str) -> None:
    note = '<note category="dragoman" appliesTo="target">confidence: 0.25</note>'
    content = XLIFF_2.format(notes=notes, state="", target="")

    found = written(
        XliffFormat(OPTIONS), content.encode(), target_text(MarkedText("one"), MACHINE, 0.25)
    ).decode()

    assert found == XLIFF_2.format(
        notes=expected.format(note),
        state=' state="translated" subState="dragoman:machine"',
        target="<target>one</target>",
    )
    etree.fromstring(found.encode())


@pytest.mark.parametrize(
    ("text", "attributes", "properties"),
    [
        ("one", "", ""),
        (target_text(MarkedText("one"), MACHINE), ' creationid="dragoman"', ""),
        (
            target_text(MarkedText("one"), MACHINE, 0.5),
            ' creationid="dragoman"',
            '<prop type="x-confidence">0.50</prop>',
        ),
        (
            target_text(MarkedText("one"), MEMORY),
            ' creationid="dragoman"',
            '<prop type="x-memory">exact</prop>',
        ),
        (
            target_text(MarkedText("one"), SOURCE),
            ' creationid="dragoman"',
            '<prop type="x-state">untranslated</prop>',
        ),
    ],
)
def test_variants_of_tmx_name_their_author(text: str, attributes: str, properties: str) -> None:
    variant = f'<tuv xml:lang="en"{attributes}>{properties}<seg>one</seg></tuv>'
    found = written(TmxFormat(OPTIONS), TMX.format(variant="").encode(), text).decode()
    assert found == TMX.format(variant=variant)


@pytest.mark.parametrize("suffix", [".txt", ".csv", ".jsonl", ".srt", ".html", ".md"])
def test_other_formats_have_no_marks(suffix: str) -> None:
    content, file_format = FILES[suffix][0], open_format(f"a{suffix}", OPTIONS)
    own = [entry.marked for entry in entries(file_format, content)]

    marked = written(file_format, content, *(target_text(each, MACHINE, 0.5) for each in own))

    assert marked == written(file_format, content, *(target_text(each) for each in own))
