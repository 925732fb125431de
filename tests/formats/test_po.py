# ruff: noqa: E501 -- markup is read more easily unbroken
"""Catalogues of gettext, read again by polib."""

from random import Random

import polib
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.formats.entries import FileFormatError
from service.formats.po import PLACEHOLDER, PoFormat
from tests.formats.rewriting import OPTIONS, anything, entries, own, rewritten, shouted, texts
from tests.markup.translations import SEEDS

PO = PoFormat(OPTIONS)
HEADER = r"""# Kopf
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=3; plural=(n%10==1 ? 1 : n==0 ? 0 : 2);\n"

"""


def _entry(msgid: str) -> str:
    return f"{HEADER}{polib.POEntry(msgid=msgid)}"


CATALOGUES = {
    "only missing translations": (
        (
            '#. Hinweis\n#: a.c:1\n#, fuzzy\nmsgctxt "Menü"\nmsgid "auf"\nmsgstr "open"\n\n'
            '# von Hand\nmsgctxt "Tür"\nmsgid "auf"\nmsgstr ""\n\n#~ msgid "alt"\n#~ msgstr ""\n'
        ),
        (
            '#. Hinweis\n#: a.c:1\n#, fuzzy\nmsgctxt "Menü"\nmsgid "auf"\nmsgstr "open"\n\n'
            '# von Hand\nmsgctxt "Tür"\nmsgid "auf"\nmsgstr "AUF"\n\n#~ msgid "alt"\n#~ msgstr ""\n'
        ),
    ),
    "plural forms of what they are of": (
        'msgid "%d Datei"\nmsgid_plural "%d Dateien"\nmsgstr[0] ""\nmsgstr[1] ""\nmsgstr[2] "da"\n',
        (
            'msgid "%d Datei"\nmsgid_plural "%d Dateien"\n'
            'msgstr[0] "%d DATEIEN"\nmsgstr[1] "%d DATEI"\nmsgstr[2] "da"\n'
        ),
    ),
    "line ends and quotes, written as gettext does": (
        'msgid ""\n"Eine \\"Zeile\\"\\n"\n"und\\tzwei\\n"\nmsgstr ""\n',
        (
            'msgid ""\n"Eine \\"Zeile\\"\\n"\n"und\\tzwei\\n"\n'
            'msgstr ""\n"EINE \\"ZEILE\\"\\n"\n"UND\\tZWEI\\n"\n'
        ),
    ),
    "a last line without an end": (
        'msgid "eins"\nmsgstr ""\n\nmsgid "zwei"\nmsgstr ""',
        'msgid "eins"\nmsgstr "EINS"\n\nmsgid "zwei"\nmsgstr "ZWEI"',
    ),
}


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("what", CATALOGUES)
def test_what_is_missing_is_filled_in_and_nothing_else(what: str, line_end: str) -> None:
    before, after = ((HEADER + each).replace("\n", line_end).encode() for each in CATALOGUES[what])

    assert rewritten(PO, before, shouted) == after


@pytest.mark.parametrize(
    ("text", "placeholders"),
    [
        ("%s in %d", ["%s", "%d"]),
        ("%(name)s hat %(num)d Dateien", ["%(name)s", "%(num)d"]),
        ("%1$s und %2$.3f und %-5ld", ["%1$s", "%2$.3f", "%-5ld"]),
        ("{} und {0} und {name!r:>10} und {{ x }}", ["{}", "{0}", "{name!r:>10}", "{{ x }}"]),
        ("${home} %{user} #{user.name} %1 von %L2", ["${home}", "%{user}", "#{user.name}", "%1", "%L2"]),
        ("<b>fett</b> &amp; <br/>", ["<b>", "</b>", "&amp;", "<br/>"]),
        ("100 %% sicher", ["%%"]),
        ("100% sicher, 5 % der Zeit, 10%ige Lösung", []),
        ("%d% geladen", ["%d"]),
        ("{ kein } und a < b > c", []),
    ],
)
def test_placeholders_are_told_from_text(text: str, placeholders: list[str]) -> None:
    assert [found[0] for found in PLACEHOLDER.finditer(text)] == placeholders


def test_placeholders_and_tags_stay_and_may_move() -> None:
    catalogue = _entry("%s hat <b>%d neue</b> Dateien")
    [text] = texts(PO, catalogue.encode())
    assert text == '<t xml:space="preserve"><x i="0"/> hat <g i="1"><x i="2"/> neue</g> Dateien</t>'

    said = '<t xml:space="preserve"><g i="1">New (<x i="2"/>)</g> files: <x i="0"/></t>'

    assert polib.pofile(rewritten(PO, catalogue.encode(), lambda _: said).decode())[0].msgstr == (
        "<b>New (%d)</b> files: %s"
    )


@pytest.mark.parametrize(
    "said",
    [
        '<t xml:space="preserve">files</t>',
        '<t xml:space="preserve"><x i="0"/><x i="0"/> files</t>',
        '<t xml:space="preserve"><x i="7"/> files</t>',
    ],
)
def test_a_translation_that_lost_a_placeholder_is_refused(said: str) -> None:
    with pytest.raises(FileFormatError, match="line 8: the translation changed inline elements"):
        rewritten(PO, _entry("%d Dateien").encode(), lambda _: said)


def test_an_empty_text_leaves_the_translation_missing() -> None:
    catalogue = _entry("%d Dateien").encode()

    assert rewritten(PO, catalogue, lambda _: "") == catalogue


def test_other_encodings_are_kept_and_what_they_lack_is_refused() -> None:
    catalogue = (HEADER.replace("UTF-8", "ISO-8859-1") + 'msgid "Tür"\nmsgstr ""\n').encode("latin-1")

    assert 'msgstr "TÜR"'.encode("latin-1") in rewritten(PO, catalogue, shouted)
    with pytest.raises(FileFormatError, match="cannot be written in iso8859-1"):
        rewritten(PO, catalogue, lambda _: "дверь")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b'msgid "x\nmsgstr ""\n', "line 1"),
        (b"Text\n", "line 1"),
        (b"/etc/passwd", "line 1"),
        (b'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=klingon\\n"\n', "'klingon', which is unknown"),
        (b'msgid ""\nmsgstr ""\n"Plural-Forms: nplurals=2; plural=import;\\n"\n', "plural forms cannot be read"),
        (b'msgid "\xfc"\nmsgstr ""\n', "not in utf-8"),
    ],
)  # fmt: skip
def test_what_is_no_catalogue_is_refused(content: bytes, problem: str) -> None:
    with pytest.raises(FileFormatError, match=problem):
        entries(PO, content)


_TEXTS = st.lists(
    st.sampled_from(
        ["Wort", " ", "\n", "%s", "%(a)d", "{x}", "<b>", "</b>", '"', "\\", "\t", "ü", "&", "]]>", "\x07"]
    ),
    min_size=1,
    max_size=10,
).map("".join)


@settings(max_examples=300)
@given(st.lists(_TEXTS, max_size=5), SEEDS)
def test_whatever_is_said_placeholders_are_there_once_each(msgids: list[str], random: Random) -> None:
    catalogue = (HEADER + "\n".join(str(polib.POEntry(msgid=msgid)) for msgid in msgids)).encode()

    result = polib.pofile(rewritten(PO, catalogue, anything(random)).decode())

    assert [entry.msgstr for entry in polib.pofile(rewritten(PO, catalogue, own).decode())] == msgids
    assert [entry.msgid for entry in result] == msgids
    for entry in result:
        for placeholder in ("%s", "%(a)d", "{x}", "<b>", "</b>"):
            assert not entry.msgstr or entry.msgstr.count(placeholder) == entry.msgid.count(placeholder)
