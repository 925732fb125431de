# ruff: noqa: E501 -- markup is read more easily unbroken
"""What files say about their translations: state, author, confidence."""

from collections.abc import Mapping, Sequence

import pytest

from service.formats.entries import TargetText
from service.formats.registry import open_format
from service.text.marked_text import MarkedText
from service.text.outcome import TextOrigin
from tests.formats.fuzz.seeds import FILES
from tests.formats.rewriting import BILINGUAL, OPTIONS, entries, target_text, written

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
    ("name", "texts", "before", "after"),
    [(name, *case) for name, cases in MARKS.items() for case in cases],
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
