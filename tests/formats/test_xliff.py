# ruff: noqa: E501 -- markup is read more easily unbroken
"""Catalogues of gettext, read again by polib, XLIFF, and marks of texts that want a review."""

from collections.abc import Mapping, Sequence
from random import Random

import polib
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from service.formats.bilingual_xml import XliffFormat
from service.formats.entries import FileFormatError, TargetText
from service.formats.po import PoFormat
from service.formats.registry import open_format
from service.text.marked_text import MarkedText
from service.text.outcome import TextOrigin
from tests.formats.fuzz.seeds import FILES
from tests.formats.rewriting import (
    BILINGUAL,
    OPTIONS,
    anything,
    entries,
    own,
    rewritten,
    target_text,
    texts,
    written,
)
from tests.text.markup.marked import SEEDS

XLIFF = XliffFormat(OPTIONS)
V1 = "urn:oasis:names:tc:xliff:document:1.2"


def _v1(units: str) -> bytes:
    return (
        f"<?xml version='1.0' encoding='UTF-8'?>\r\n<xliff xmlns='{V1}' version=\"1.2\">"
        f'<file source-language="de" original="x&#10;y" datatype="plaintext"><body>{units}</body></file></xliff>\n'
    ).encode()


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ('a <g id="1">b</g>', 'a <g i="0">b</g>'),
        ('a <bpt id="1">&lt;b></bpt>b<ept id="1">&lt;/b></ept> c', 'a <g i="0">b</g> c'),
        ('a <bx id="1" rid="r"/>b <ex id="2" rid="r"/>c', 'a <g i="0">b </g>c'),
        ('a <ept id="9">x</ept>b', "a <?p 0?>b"),
        ('a <bx id="1"/>b <bx id="2"/>c <ex id="1"/>d <ex id="2"/>e', None),
        ('a <ph id="1">{0}</ph> b<x id="2" ctype="lb"/>c', 'a <x i="0"/> b<br i="1"/>c'),
        ('a <mrk mtype="protected">x</mrk> <mrk mtype="term">b</mrk> c', 'a <x i="0"/> <g i="1">b</g> c'),
        ("a <![CDATA[<b> & ]]>c", "a <b> & c"),
        ('a <x id="START_LINK"/>b<x id="CLOSE_LINK"/> c', 'a <g i="0">b</g> c'),
    ],
)  # fmt: skip
def test_inline_codes_are_handed_over_without_their_names(source: str, text: str | None) -> None:
    unit = "<trans-unit id='1'><source>•</source></trans-unit>".replace("•", source)
    content = _v1(unit)
    written = source.replace("<![CDATA[<b> & ]]>", "&lt;b&gt; &amp; ")

    assert text is None or texts(XLIFF, content) == [text]
    target = f'</source><target state="translated">{written}</target>'
    assert rewritten(XLIFF, content, own) == _v1(unit.replace("</source>", target))


_CODES = st.lists(
    st.sampled_from(
        [
            "Wort", " ", "\n", "&lt;", '<g id="1">fett</g>', '<g id="2">a<x id="3"/></g>', "<x id='4'/>",
            '<bpt id="5">{</bpt>', '<ept id="5">}</ept>', '<ph id="6">%s</ph>', "<!-- c -->", "<?pi?>",
        ]
    ),
    max_size=10,
).map("".join)  # fmt: skip


@settings(max_examples=150)
@given(st.lists(_CODES, max_size=3), SEEDS)
def test_for_any_translation_each_code_is_there_once(sources: list[str], random: Random) -> None:
    content = _v1("".join(f"<trans-unit id='1'><source>{source}</source></trans-unit>" for source in sources))

    result = etree.fromstring(rewritten(XLIFF, content, anything(random)))

    for unit in result.iter(f"{{{V1}}}trans-unit"):
        source, target = unit.find(f"{{{V1}}}source"), unit.find(f"{{{V1}}}target")
        assert source is not None
        if target is not None:
            codes, wanted = (
                sorted(str(code.tag) for code in one.iterdescendants()) for one in (target, source)
            )
            assert codes == wanted


PO = PoFormat(OPTIONS)
HEADER = r"""# Kopf
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=3; plural=(n%10==1 ? 1 : n==0 ? 0 : 2);\n"

"""


def _entry(msgid: str) -> str:
    return f"{HEADER}{polib.POEntry(msgid=msgid)}"


def test_tags_stay_and_may_move_and_placeholders_are_part_of_the_text() -> None:
    catalogue = _entry("%s hat <b>%d neue</b> Dateien")
    [text] = texts(PO, catalogue.encode())
    assert text == '%s hat <g i="0">%d neue</g> Dateien'

    said = '<g i="0">New (%d)</g> files: %s'

    assert polib.pofile(rewritten(PO, catalogue.encode(), lambda _: said).decode())[0].msgstr == (
        "<b>New (%d)</b> files: %s"
    )


@pytest.mark.parametrize("said", ["files", "<?p 0?><?p 0?> files", "<?p 7?> files"])
def test_a_translation_that_lost_a_tag_is_rejected(said: str) -> None:
    with pytest.raises(FileFormatError, match="line 8: the translation changed inline elements"):
        rewritten(PO, _entry("Alle<br/>Dateien").encode(), lambda _: said)


def test_entries_are_messages_and_an_icu_message_with_tags_is_one_text() -> None:
    message = "{n, plural, one {<b>#</b> Datei} other {# Dateien}}"
    [entry] = entries(PO, _entry(message).encode())

    assert (entry.marked, entry.is_message) == (MarkedText(message), True)


_TEXTS = st.lists(
    st.sampled_from(
        ["Wort", " ", "\n", "%s", "{x}", "<b>", "</b>", "<br/>", '"', "\\", "\t", "ü", "&", "]]>", "\x07"]
    ),
    min_size=1,
    max_size=10,
).map("".join)


@settings(max_examples=150)
@given(st.lists(_TEXTS, max_size=5), SEEDS)
def test_for_any_translation_each_tag_is_there_once(msgids: list[str], random: Random) -> None:
    catalogue = (HEADER + "\n".join(str(polib.POEntry(msgid=msgid)) for msgid in msgids)).encode()

    result = polib.pofile(rewritten(PO, catalogue, anything(random)).decode())

    assert [entry.msgstr for entry in polib.pofile(rewritten(PO, catalogue, own).decode())] == msgids
    assert [entry.msgid for entry in result] == msgids
    for entry in result:
        for tag in ("<b>", "</b>", "<br/>"):
            assert not entry.msgstr or entry.msgstr.count(tag) == entry.msgid.count(tag)


UNMARKED, MACHINE, SURE, MEMORY, SOURCE = (
    target_text(MarkedText("one"), origin, confidence)
    for origin, confidence in (
        (None, None),
        (TextOrigin.MACHINE, None),
        (TextOrigin.MACHINE, 0.876),
        (TextOrigin.MEMORY, None),
        (TextOrigin.SOURCE, None),
    )
)
UNSURE = target_text(MarkedText("two"), TextOrigin.MACHINE, 0.4)
COMMENTED = """# von Hand
#. Hinweis
#: a.c:1
#, c-format
#| msgid "alt"
msgid "eins"
msgstr ""

msgid "drei"
msgstr "three"
"""
COMMENTED_AND_MARKED = """# von Hand
# dragoman, confidence: 0.88
#. Hinweis
#: a.c:1
#, fuzzy, c-format
#| msgid "alt"
msgid "eins"
msgstr "one"

msgid "drei"
msgstr "three"
"""
PLURALS = 'msgid ""\nmsgstr ""\n"Plural-Forms: nplurals=2; plural=n != 1;\\n"\n\n•msgid "a"\nmsgid_plural "b"\nmsgstr[0] "•"\nmsgstr[1] "•"\n'
FRAMES = {
    "1.xliff": '<xliff version="1.2"><file><body><trans-unit id="1"><source>eins</source>•<note>n</note></trans-unit>'
    '<trans-unit id="2"><source>zwei</source><target state="final">two</target></trans-unit></body></file></xliff>',
    "2.xliff": '<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="de" trgLang="en"><file id="f"><unit id="1">•</unit>'
    '<unit id="2"><segment state="final"><source>zwei</source><target>two</target></segment></unit></file></xliff>',
    "a.tmx": '<tmx version="1.4"><header srclang="de"/><body><tu><tuv xml:lang="de"><seg>eins</seg></tuv>•</tu></body></tmx>',
    "a.xcstrings": '{"sourceLanguage":"de","strings":{"eins":{•}}}',
    "a.ts": '<TS language="en"><context>\n<message>\n    <source>eins</source>\n    •\n</message></context></TS>',
}
"""Files, each with a place for a translation."""
NEW = '<target state="new" state-qualifier="id-match"/>'
SEGMENT = "<segment><source>eins</source></segment>"
MARKED_SEGMENT = '<segment state="translated" subState="dragoman:machine"><source>eins</source><target>one</target></segment>'
NOTE = '<note category="dragoman" appliesTo="target">confidence: 0.88</note>'
STATED_SEGMENT = '<segment subState="x:y" state="initial"><source>eins</source></segment>'
NO_TRANSLATION = '<translation type="unfinished"></translation>'
MARKS: Mapping[str, Sequence[tuple[Sequence[TargetText], str, str]]] = {
    "a.po": [
        ([SURE], COMMENTED, COMMENTED_AND_MARKED),
        ([MACHINE], '#, fuzzy\nmsgid "a"\nmsgstr ""\n', '#, fuzzy\nmsgid "a"\nmsgstr "one"\n'),
        (
            [SURE],
            'msgid "a"\r\nmsgstr ""\r\n',
            '# dragoman, confidence: 0.88\r\n#, fuzzy\r\nmsgid "a"\r\nmsgstr "one"\r\n',
        ),
        ([MEMORY], 'msgid "a"\nmsgstr ""\n', '# dragoman, memory: exact\nmsgid "a"\nmsgstr "one"\n'),
        (
            [SURE, UNSURE],
            PLURALS.replace("•", ""),
            PLURALS.replace("•", "# dragoman, confidence: 0.40\n#, fuzzy\n", 1)
            .replace("•", "one", 1)
            .replace("•", "two"),
        ),
    ],
    "1.xliff": [
        ([UNMARKED], NEW, '<target state="translated">one</target>'),
        (
            [MACHINE],
            NEW,
            '<target state="needs-review-translation" state-qualifier="mt-suggestion">one</target>',
        ),
        (
            [SURE],
            NEW,
            '<target state="needs-review-translation" state-qualifier="mt-suggestion">one</target><note from="dragoman" annotates="target">confidence: 0.88</note>',
        ),
        ([MEMORY], NEW, '<target state="translated" state-qualifier="exact-match">one</target>'),
        ([SOURCE], NEW, '<target state="needs-translation">one</target>'),
    ],
    "2.xliff": [
        (
            [UNMARKED],
            STATED_SEGMENT,
            '<segment state="translated"><source>eins</source><target>one</target></segment>',
        ),
        ([MACHINE], STATED_SEGMENT, MARKED_SEGMENT),
        ([MEMORY], STATED_SEGMENT, MARKED_SEGMENT.replace("machine", "memory-exact")),
        (
            [SOURCE],
            STATED_SEGMENT,
            '<segment state="initial" subState="dragoman:untranslated"><source>eins</source><target>one</target></segment>',
        ),
        ([SURE], SEGMENT, f"<notes>{NOTE}</notes>{MARKED_SEGMENT}"),
        (
            [SURE],
            f"<notes><note>n</note></notes>{SEGMENT}",
            f"<notes><note>n</note>{NOTE}</notes>{MARKED_SEGMENT}",
        ),
        (
            [SURE],
            f"<originalData><data id='d'>x</data></originalData>{SEGMENT}",
            f"<notes>{NOTE}</notes><originalData><data id='d'>x</data></originalData>{MARKED_SEGMENT}",
        ),
    ],
    "a.tmx": [
        ([UNMARKED], "", '<tuv xml:lang="en"><seg>one</seg></tuv>'),
        ([MACHINE], "", '<tuv xml:lang="en" creationid="dragoman"><seg>one</seg></tuv>'),
        (
            [SURE],
            "",
            '<tuv xml:lang="en" creationid="dragoman"><prop type="x-confidence">0.88</prop><seg>one</seg></tuv>',
        ),
        (
            [MEMORY],
            "",
            '<tuv xml:lang="en" creationid="dragoman"><prop type="x-memory">exact</prop><seg>one</seg></tuv>',
        ),
        (
            [SOURCE],
            "",
            '<tuv xml:lang="en" creationid="dragoman"><prop type="x-state">untranslated</prop><seg>one</seg></tuv>',
        ),
    ],
    "a.xcstrings": [
        ([text], "", f'"localizations":{{"en":{{"stringUnit":{{"state":"{state}","value":"one"}}}}}}')
        for text, state in (
            (UNMARKED, "translated"),
            (SURE, "needs_review"),
            (MEMORY, "translated"),
            (SOURCE, "new"),
        )
    ],
    "a.ts": [
        ([UNMARKED], NO_TRANSLATION, "<translation>one</translation>"),
        ([MEMORY], NO_TRANSLATION, "<translation>one</translation>"),
        ([SOURCE], NO_TRANSLATION, '<translation type="unfinished">one</translation>'),
        (
            [SURE],
            NO_TRANSLATION,
            '<translatorcomment>dragoman, confidence: 0.88</translatorcomment>\n    <translation type="unfinished">one</translation>',
        ),
    ],
}


@pytest.mark.parametrize(
    ("name", "texts", "before", "after"), [(name, *case) for name, cases in MARKS.items() for case in cases]
)
def test_a_file_of_two_languages_says_who_translated_and_how_surely(
    name: str, texts: Sequence[TargetText], before: str, after: str
) -> None:
    content, result = (FRAMES.get(name, "•").replace("•", each) for each in (before, after))

    assert written(open_format(name, OPTIONS), content.encode(), *texts).decode() == result


@pytest.mark.parametrize("suffix", sorted(FILES.keys() - BILINGUAL - {".pdf"}))
def test_other_formats_have_no_marks(suffix: str) -> None:
    content, file_format = FILES[suffix][0], open_format(f"a{suffix}", OPTIONS)
    own = [entry.marked for entry in entries(file_format, content)]

    marked = written(file_format, content, *(target_text(each, TextOrigin.MACHINE, 0.5) for each in own))

    assert marked == written(file_format, content, *(target_text(each) for each in own))
