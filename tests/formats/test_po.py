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


def _fill(catalogue: str) -> polib.POFile:
    return polib.pofile(rewritten(PO, catalogue.encode(), shouted).decode())


def _entry(msgid: str) -> str:
    return f"{HEADER}{polib.POEntry(msgid=msgid)}"


def test_only_missing_translations_are_filled_in() -> None:
    catalogue = HEADER + (
        '#. Hinweis\n#: a.c:1\n#, fuzzy\nmsgctxt "Menü"\nmsgid "auf"\nmsgstr "open"\n\n'
        '# von Hand\nmsgctxt "Tür"\nmsgid "auf"\nmsgstr ""\n\n#~ msgid "alt"\n#~ msgstr ""\n'
    )

    assert texts(PO, catalogue.encode()) == ["auf"]
    assert rewritten(PO, catalogue.encode(), shouted).decode() == catalogue.replace(
        'msgid "auf"\nmsgstr ""', 'msgid "auf"\nmsgstr "AUF"'
    )


def test_plural_forms_translate_what_they_are_of() -> None:
    catalogue = HEADER + (
        'msgid "%d Datei"\nmsgid_plural "%d Dateien"\nmsgstr[0] ""\nmsgstr[1] ""\nmsgstr[2] "da"\n'
    )

    [entry] = _fill(catalogue)

    assert entry.msgstr_plural == {0: "%d DATEIEN", 1: "%d DATEI", 2: "da"}


def test_line_ends_and_quotes_are_written_as_gettext_does() -> None:
    catalogue = HEADER + 'msgid ""\n"Eine \\"Zeile\\"\\n"\n"und\\tzwei\\n"\nmsgstr ""\n'

    result = rewritten(PO, catalogue.encode(), shouted).decode()

    assert result.endswith('msgstr ""\n"EINE \\"ZEILE\\"\\n"\n"UND\\tZWEI\\n"\n')
    assert polib.pofile(result)[0].msgstr == 'EINE "ZEILE"\nUND\tZWEI\n'


def test_a_file_keeps_its_line_ends_and_its_last_line_without_one() -> None:
    catalogue = 'msgid "eins"\nmsgstr ""\n\nmsgid "zwei"\nmsgstr ""'

    for line_end in ("\n", "\r\n"):
        content = catalogue.replace("\n", line_end).encode()
        expected = 'msgid "eins"\nmsgstr "EINS"\n\nmsgid "zwei"\nmsgstr "ZWEI"'.replace("\n", line_end)
        assert rewritten(PO, content, shouted) == expected.encode()


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


def test_tags_without_partners_take_no_time_to_speak_of() -> None:
    text = "<a>" * 30_000 + "x" + "</b>" * 30_000 + "{{" * 30_000

    [entry] = entries(PO, f'msgid "{text}"\nmsgstr ""\n'.encode())

    assert entry.text.startswith('<t xml:space="preserve">x<?p 0?><?p 1?>')


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
    catalogue = HEADER + "\n".join(str(polib.POEntry(msgid=msgid)) for msgid in msgids)

    result = polib.pofile(rewritten(PO, catalogue.encode(), anything(random)).decode())

    assert [entry.msgid for entry in result] == msgids
    for entry in result:
        for placeholder in ("%s", "%(a)d", "{x}", "<b>", "</b>"):
            assert not entry.msgstr or entry.msgstr.count(placeholder) == entry.msgid.count(placeholder)


@settings(max_examples=300)
@given(st.lists(_TEXTS, max_size=5))
def test_own_texts_are_their_own_translations(msgids: list[str]) -> None:
    catalogue = HEADER + "\n".join(str(polib.POEntry(msgid=msgid)) for msgid in msgids)

    result = polib.pofile(rewritten(PO, catalogue.encode(), own).decode())

    assert [entry.msgstr for entry in result] == msgids
