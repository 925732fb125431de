"""Catalogues of gettext, read again by polib."""

from random import Random

import polib
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.formats.entries import FileFormatError
from service.formats.po import PoFormat
from service.text.marked_text import MarkedText
from tests.formats.rewriting import OPTIONS, anything, entries, own, rewritten, texts
from tests.text.markup.translations import SEEDS

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


@pytest.mark.parametrize(
    "said",
    [
        "files",
        "<?p 0?><?p 0?> files",
        "<?p 7?> files",
    ],
)
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
