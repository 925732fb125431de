# ruff: noqa: E501 -- files are read more easily unbroken
"""Plural texts, written in capitals in languages with other plural categories or forms."""

from collections.abc import Sequence

import pytest

from service.formats.entries import FileOptions
from service.formats.registry import open_format
from tests.formats.rewriting import rewritten, shouted

ANDROID = "<resources>•</resources>"
RULE = (
    '<plist version="1.0">\n<dict>\n\t<key>a</key>\n\t<dict>\n\t\t<key>v</key>\n\t\t<dict>\n'
    "\t\t\t<key>NSStringFormatSpecTypeKey</key>\n\t\t\t<string>NSStringPluralRuleType</string>\n{}"
    "\t\t</dict>\n\t</dict>\n</dict>\n</plist>\n"
)


def _rule(*categories: str) -> str:
    """A file with a plural rule of categories and their texts, such as `one Datei`."""
    parts = (each.partition(" ") for each in categories)
    return RULE.format(
        "".join(f"\t\t\t<key>{key}</key>\n\t\t\t<string>{text}</string>\n" for key, _, text in parts)
    )


TYPE = '"Content-Type: text/plain; charset=UTF-8\\n"\n'
UNKNOWN = '"Plural-Forms: nplurals=INTEGER; plural=EXPRESSION;\\n"\n'
UNKNOWN_ON_TWO_LINES = '"Plural-Forms: nplurals=INTEGER; "\n"plural=EXPRESSION;\\n"\n'
ENGLISH = '"Plural-Forms: nplurals=2; plural=(n != 1);\\n"\n'
POLISH = '"Plural-Forms: nplurals=3; plural=(n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2);\\n"\n'
ARABIC = '"Plural-Forms: nplurals=6; plural=(n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : n%100>=0 && n%100<=2 ? 4 : 5);\\n"\n'
JAPANESE = '"Plural-Forms: nplurals=1; plural=0;\\n"\n'
OWN = '"Plural-Forms: nplurals=3; plural=(n==1 ? 2 : n==0 ? 0 : 1);\\n"\n'
GENERATOR = '"X-Generator: none\\n"\n'


def _catalogue(header: str, forms: Sequence[str], end: str) -> str:
    fields = "".join(f'msgstr[{i}] "{form}"\n' for i, form in enumerate(forms))
    return (
        f'msgid ""\nmsgstr ""\n{header}\nmsgid "%d Datei"\nmsgid_plural "%d Dateien"\n{fields}\n'
        f'msgid "Ende"\nmsgstr "{end}"\n'
    )


ONE, MANY = "%D DATEI", "%D DATEIEN"
CATALOGUES = [
    ("a.po", target, _catalogue(before, ["", ""], ""), _catalogue(after, forms, "ENDE"))
    for target, before, after, forms in (
        ("en", TYPE + UNKNOWN + GENERATOR, TYPE + ENGLISH + GENERATOR, [ONE, MANY]),
        ("en", TYPE + UNKNOWN_ON_TWO_LINES + GENERATOR, TYPE + ENGLISH + GENERATOR, [ONE, MANY]),
        ("en", TYPE + GENERATOR, ENGLISH + TYPE + GENERATOR, [ONE, MANY]),
        ("en", TYPE + OWN, TYPE + OWN, [MANY, MANY, ONE]),
        ("pl", TYPE + UNKNOWN, TYPE + POLISH, [ONE, MANY, MANY]),
        ("ar", TYPE + UNKNOWN, TYPE + ARABIC, [MANY, ONE, MANY, MANY, MANY, MANY]),
        ("ja", TYPE + UNKNOWN, TYPE + JAPANESE, [MANY]),
    )
]
UNENDED = _catalogue(TYPE + POLISH, ["", ""], "").partition('\n\nmsgid "Ende"')[0]
ENDED = _catalogue(TYPE + POLISH, [ONE, MANY, MANY], "").partition('\n\nmsgid "Ende"')[0]
CATALOGUES += [
    (name, target, before.replace("\n", "\r\n"), after.replace("\n", "\r\n"))
    for name, target, before, after in CATALOGUES
]
CATALOGUES += [("a.po", "pl", UNENDED, ENDED)]
UNFINISHED = ' type="unfinished"'
MESSAGE = (
    f'<message numerus="yes"><source>Datei</source><translation{UNFINISHED}>{{}}</translation></message>'
)
CATEGORIES: Sequence[tuple[str, str, str, str]] = [
    (
        "a.json",
        "pl",
        '{\n  "file_one": "Datei",\n  "file_other": "Dateien",\n  "end": "Ende"\n}',
        '{\n  "file_one": "DATEI",\n  "file_other": "DATEIEN",\n  "file_few": "DATEIEN",\n  "file_many": "DATEIEN",\n  "end": "ENDE"\n}',
    ),
    (
        "a.json",
        "en",
        '{"a_ordinal_one": "xa", "a_ordinal_other": "xb"}',
        '{"a_ordinal_one": "XA", "a_ordinal_other": "XB", "a_ordinal_two": "XB", "a_ordinal_few": "XB"}',
    ),
    ("a.json", "en", '{"one": "xa", "other": "xb"}', '{"one": "XA", "other": "XB"}'),
    (
        "a.json",
        "pl",
        '{"payment_other": "xa", "payment_card": "xb"}',
        '{"payment_other": "XA", "payment_card": "XB"}',
    ),
    ("a.json", "pl", '{"a_one": "xa", "a_other": 5}', '{"a_one": "XA", "a_other": 5}'),
    (
        "a.xml",
        "pl",
        ANDROID.replace(
            "•",
            '<plurals name="n">\n  <!-- a --><item quantity="one">Datei</item>'
            '\n  <item quantity="other">Dateien</item>\n</plurals>',
        ),
        ANDROID.replace(
            "•",
            '<plurals name="n">\n  <!-- a --><item quantity="one">DATEI</item>'
            '\n  <item quantity="other">DATEIEN</item>\n  <item quantity="few">DATEIEN</item>'
            '\n  <item quantity="many">DATEIEN</item>\n</plurals>',
        ),
    ),
    (
        "a.yaml",
        "pl",
        "de:\r\n  files:\r\n    one: Datei # a\r\n    other: Dateien # b\r\n  c: Ende\r\n",
        "pl:\r\n  files:\r\n    one: DATEI # a\r\n    other: DATEIEN # b\r\n    few: DATEIEN\r\n    many: DATEIEN\r\n  c: ENDE\r\n",
    ),
    (
        "a.yaml",
        "pl",
        "{one: Datei, other: Dateien}",
        "{one: DATEI, other: DATEIEN, few: DATEIEN, many: DATEIEN}",
    ),
    (
        "a.stringsdict",
        "pl",
        _rule("one x", "other y").replace("<string>y</string>\n", "<string>y</string>\n\n"),
        _rule("one X", "other Y", "few Y", "many Y").replace(
            "many</key>\n\t\t\t<string>Y</string>\n", "many</key>\n\t\t\t<string>Y</string>\n\n"
        ),
    ),
    ("a.stringsdict", "en", _rule("other x"), _rule("other X", "one X")),
    ("a.stringsdict", "en", _rule("one x"), _rule("one X")),
    ("a.stringsdict", "en", _rule("zero x", "one y", "other z"), _rule("zero X", "one Y", "other Z")),
    (
        "a.stringsdict",
        "en",
        _rule("other x").replace("PluralRule", "OtherRule"),
        _rule("other X").replace("PluralRule", "OtherRule"),
    ),
    (
        "a.xcstrings",
        "pl",
        '{"sourceLanguage":"de","strings":{"n":{"localizations":{"de":{"variations":{"plural":{"one":{"stringUnit":{"state":"translated","value":"Datei"}},"other":{"stringUnit":{"state":"translated","value":"Dateien"}}}}}}}}}',
        '{"sourceLanguage":"de","strings":{"n":{"localizations":{"de":{"variations":{"plural":{"one":{"stringUnit":{"state":"translated","value":"Datei"}},"other":{"stringUnit":{"state":"translated","value":"Dateien"}}}}},"pl":{"variations":{"plural":{"one":{"stringUnit":{"state":"translated","value":"DATEI"}},"few":{"stringUnit":{"state":"translated","value":"DATEIEN"}},"many":{"stringUnit":{"state":"translated","value":"DATEIEN"}},"other":{"stringUnit":{"state":"translated","value":"DATEIEN"}}}}}}}}}',
    ),
    (
        "a.xcstrings",
        "ja",
        '{"sourceLanguage":"de","strings":{"n":{"localizations":{"de":{"variations":{"plural":{"one":{"stringUnit":{"value":"Datei"}},"other":{"stringUnit":{"value":"Dateien"}}}}}}}}}',
        '{"sourceLanguage":"de","strings":{"n":{"localizations":{"de":{"variations":{"plural":{"one":{"stringUnit":{"value":"Datei"}},"other":{"stringUnit":{"value":"Dateien"}}}}},"ja":{"variations":{"plural":{"other":{"stringUnit":{"state":"translated","value":"DATEIEN"}}}}}}}}}',
    ),
    *(
        (
            "a.ts",
            "pl",
            f"<TS{declared}><context>{MESSAGE.format('<numerusform/>')}</context></TS>",
            f"<TS{written}><context>{MESSAGE.replace(UNFINISHED, '').format(forms)}</context></TS>",
        )
        for declared, written, forms in (
            (' language="pl_PL"', ' language="pl_PL"', "<numerusform>DATEI</numerusform>"),
            ("", ' language="pl"', "<numerusform>DATEI</numerusform>" * 3),
        )
    ),
    *CATALOGUES,
    (
        "a.po",
        "en",
        'msgid ""\nmsgstr "Plural-Forms: nplurals=INTEGER; plural=EXPRESSION;\\n"\n\nmsgid "Ende"\nmsgstr ""\n',
        'msgid ""\nmsgstr "Plural-Forms: nplurals=INTEGER; plural=EXPRESSION;\\n"\n\nmsgid "Ende"\nmsgstr "ENDE"\n',
    ),
    ("a.stringsdict", "en", _rule("other %d"), _rule("other %d")),
]


@pytest.mark.parametrize(("name", "target", "content", "result"), CATEGORIES)
def test_plural_categories_of_the_target_language_are_added_to_plurals_alone(
    name: str, target: str, content: str, result: str
) -> None:
    file_format = open_format(name, FileOptions("de", target))

    assert rewritten(file_format, content.encode(), shouted).decode() == result
    assert rewritten(file_format, content.encode(), lambda _: "").count(b"few") == 0
