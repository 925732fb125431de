# ruff: noqa: E501 -- files are read more easily unbroken
"""Files of text, markup and strings with other texts: what changes in them, and how texts are escaped."""

from collections.abc import Mapping, Sequence

import pytest

from service.formats.entries import Entry, FileOptions
from service.formats.registry import open_format
from tests.formats.rewriting import OPTIONS, own, rewritten, shouted
from tests.formats.string_samples import ASS, EXTENSION, PROPERTIES

PROPERTIES_IN_CAPITALS = rb"""# Kommentar
! auch einer
welcome = WILLKOMMEN, {0}! DAS IST''S
fehler:DATEI \u00dc NICHT GEFUNDEN: %S
lang = ERSTE ZEILE\n\
    ZWEITE ZEILE WEITER
url=https://example.org/c
leer=
  a\ b\=c   WERT MIT RAUM
choice={0,choice,0#keine|1#eine}
ende=ENDE"""
ANDROID = '<resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2">{}</resources>'
STRING = ANDROID.replace("{}", '<string name="a">{}</string>')
CAPITALS: Sequence[tuple[str, str, str | bytes, str | bytes]] = [
    (
        "a.html",
        "en",
        "<html lang='fr'><p lang='de'>Ja</p></html>",
        "<html lang='fr'><p lang='de'>JA</p></html>",
    ),
    ("a.properties", "en", PROPERTIES, PROPERTIES_IN_CAPITALS),
    (
        "a.ass",
        "en",
        ASS,
        ASS.replace(
            rb"Ich habe,\Nein {\i1}kleines{\i0} Haus.", rb"ICH HABE, EIN\N{\i1}KLEINES{\i0} HAUS."
        ).replace(rb"- Gut.\N- Ja,\hna\{klar\}.", rb"- GUT.\N- JA,\hNA\{KLAR\}."),
    ),
    (
        "messages.json",
        "en",
        EXTENSION,
        EXTENSION.decode()
        .replace("Meine <b>Erweiterung</b>", "MEINE <b>ERWEITERUNG</b>")
        .replace("hat $1 Dateien für $$5 gefunden", "HAT $1 DATEIEN FÜR $$5 GEFUNDEN"),
    ),
    ("a.xml", "en", STRING.format(r"ja \u2026 \q und"), STRING.format(r"JA … \q UND")),
    (
        "a.json",
        "en",
        '{ "n" : 1e400,\n\t"n": [ -0.0, null ], "a":"ja"  ,"url":"http://x.y/a" }\r\n',
        '{ "n" : 1e400,\n\t"n": [ -0.0, null ], "a":"JA"  ,"url":"http://x.y/a" }\r\n',
    ),
    ("a.json", "en", '{"a": "ja", "a": "nein"}', '{"a": "JA", "a": "NEIN"}'),
    ("a.json", "en", '{"de": {"a": "ja", "de": "nein"}}', '{"en": {"a": "JA", "de": "NEIN"}}'),
    ("a.json", "en", '{"de": "ja"}', '{"de": "JA"}'),
    ("a.json", "pt-BR", '{"de_AT": {"a": "ja"}}', '{"pt_BR": {"a": "JA"}}'),
    ("a.yaml", "no", "de:\n  a: ja\n", '"no":\n  a: JA\n'),
    ("a.yaml", "en", "de:\n  a: ja\nen:\n  a: nein\n", "de:\n  a: JA\nen:\n  a: NEIN\n"),
]


@pytest.mark.parametrize(("name", "target", "content", "result"), CAPITALS)
def test_words_and_the_language_that_a_file_names_change_and_nothing_else(
    name: str, target: str, content: str | bytes, result: str | bytes
) -> None:
    before, after = (each if isinstance(each, bytes) else each.encode() for each in (content, result))
    file_format = open_format(name, FileOptions("de", target))

    assert rewritten(file_format, before, shouted).decode() == after.decode()
    assert rewritten(file_format, before, own) in {before, after}


EVENT = "[Script Info]\n\n[Events]\nFormat: Start, End, Text\nDialogue: 0:00:01.00,0:00:02.00,{}\n"
MESSAGE = '{"a": {"message": "{}", "description": "Wozu", "placeholders": {"user": {"content": "$1"}}}}'
FRAMES = {"a.xml": STRING, "a.ass": EVENT, "messages.json": MESSAGE}
SAID: Mapping[tuple[str, str], Sequence[tuple[str, str, str]]] = {
    ("a.xml", "utf-8"): [
        ("ja", "don't", r"don\'t"),
        ("ja", 'a "b" \\ c\n\td', r"a \"b\" \\ c\n\td"),
        ("ja", "@yes", r"\@yes"),
        ("ja", "?", r"\?"),
        ("ja", " a  b ", r"\u0020a \u0020b\u0020"),
        ("ja", "a < b & c\u00a0d", r"a &lt; b &amp; c\u00A0d"),
        ("\n  ja\n", "yes", "\n  yes\n"),
        ('"ja"', 'don\'t  "go"', r'''"don't  \"go\""'''),
        ("<![CDATA[ja]]>", "a & <b> ]]>", "<![CDATA[a & <b> ]]]]><![CDATA[>]]>"),
        ("<b>ja</b>", "yes", "<b>yes</b>"),
    ],
    ("messages.json", "utf-8"): [
        ("es gewinnt", "$USER$ wins", "$USER$ wins"),
        ("es gewinnt", "$user$ wins", "$user$ wins"),
        ("es kostet", "it costs $5", "it costs $$5"),
        ("es gewinnt", "$OTHER$ wins", "$$OTHER$$ wins"),
        ("es gewinnt", "$USER$USER$", "$USER$USER$$"),
        ("es gewinnt", "$OTHER$USER$", "$$OTHER$USER$"),
        ("es gewinnt", "$$", "$$$$"),
    ],
    ("a.strings", "utf-8"): [
        ('"hello" = "Hallo\\n";', 'a\n"b"\\', '"hello" = "a\\n\\"b\\"\\\\\\n";'),
        ('key.unquoted   = "Ein Wert";', 'a\n"b"\\', 'key.unquoted   = "a\\n\\"b\\"\\\\";'),
        ('"Nur Schlüssel";', 'a\n"b"\\', '"Nur Schlüssel" = "a\\n\\"b\\"\\\\";'),
        ('"multi" = "Erste\nZweite";', 'a\n"b"\\', '"multi" = "a\n\\"b\\"\\\\";'),
    ],
    **{
        ("a.strings", encoding): [('"a" = "grün";\n', "GRÜN", '"a" = "GRÜN";\n')]
        for encoding in ("utf-16", "utf-16-le", "utf-16-be", "utf-8-sig")
    },
    **{("a.json", encoding): [('{"a": "ja"}', "Ü", '{"a": "Ü"}')] for encoding in ("utf-8-sig", "utf-16")},
    ("a.properties", "utf-8"): [
        ("a=ja", "ü字😀", r"a=\u00fc\u5b57\ud83d\ude00"),
        ("# é\na=ja", "ü字", "# é\na=ü字"),
        ("a=ja", " a\\\t\n b\r\x01", r"a=\ a\\\t\n b\r\u0001"),
        ("a=ja", "don't", "a=don't"),
        ("a={0} ja", "don't {0}", "a=don''t {0}"),
        ("a={0} 'ja", "don't {0}", "a=don't {0}"),
        ("a={n, plural, one {ja} other {ja}}", "don't", "a=don't"),
        ("a=eins\\n\\\r\n  zwei", "a\n b", "a=a\\n\\\r\n  \\ b"),
        ("a = \\\n   ja\nb: nein", "yes", "a = yes\nb: nein"),
        ("a ja\\\n", "yes", "a yes"),
    ],
    ("a.properties", "latin-1"): [("# é\na=ja", "ü字", "# é\na=ü\\u5b57")],
    ("a.json", "utf-8"): [
        ('{"a": "x", "b": "é"}', "ü", '{"a": "ü", "b": "é"}'),
        ('{"a": "x", "b": "\\u00e9"}', "ü😀", '{"a": "\\u00fc\\ud83d\\ude00", "b": "\\u00e9"}'),
        ('{"a": "x", "b": "1\\/2"}', "</b>", '{"a": "<\\/b>", "b": "1\\/2"}'),
        ('{"a": "x"}', 'a"\\\n', '{"a": "a\\"\\\\\\n"}'),
    ],
    ("a.yaml", "utf-8"): [
        ("a: ja", "yes", 'a: "yes"'),
        ("a: ja", "Norway: no", 'a: "Norway: no"'),
        ("a: ja", "5", 'a: "5"'),
        ("a: ja", "*b", 'a: "*b"'),
        ("a: ja", "C #", 'a: "C #"'),
        ("a: ja", "y", 'a: "y"'),
        ("a: ja", "yes, sir", "a: yes, sir"),
        ("[ja]", "yes, sir", '["yes, sir"]'),
        ("a: ja", "two\nlines", 'a: "two\\nlines"'),
        ("a: 'ja'", "two\nlines", 'a: "two\\nlines"'),
        ("a: |\n  ja\n", "  indented", 'a: "  indented\\n"\n'),
        ("a: |2\n    ja\n", "yes", 'a: "  yes\\n"\n'),
        ("a: >\n  ja\n", "two\nlines", "a: >\n  two\n\n  lines\n"),
        ("a: ja", "\x7f\u2028\x01", 'a: "\\u007f\\u2028\\u0001"'),
    ],
    ("a.ass", "utf-8"): [
        (r"Ja,\ndas", "one two", r"one\ntwo"),
        ("Ja", "a {b} \\N c\u00a0d", "a \\{b\\} \\\u2060N c\\hd"),
        (r"{\pos(1,2)}Ja", "x", r"{\pos(1,2)}x"),
        (r"Ja{\pos(1,2)} du", "x<?p 0?> y", r"x{\pos(1,2)} y"),
        ("Ja, eins, zwei", "one, two", "one, two"),
        ("Ja", "", ""),
    ],
    ("a.html", "utf-8"): [("<p>x</p>", "<script>&amp;", "<p>&lt;script&gt;&amp;amp;</p>")],
    ("a.html", "latin-1"): [
        ('<meta charset="iso-8859-1"><p>Tür</p>', "Tür 字", '<meta charset="iso-8859-1"><p>Tür &#23383;</p>')
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "encoding", "content", "said", "result"),
    [(*kind, *case) for kind, cases in SAID.items() for case in cases],
)
def test_a_translation_is_escaped_as_its_file_and_its_place_need_it(
    name: str, encoding: str, content: str, said: str, result: str
) -> None:
    """Of the first text; the others stay."""
    before, after = (FRAMES.get(name, "{}").replace("{}", each) for each in (content, result))
    translations = iter([said])

    def say(entry: Entry) -> str:
        return next(translations, own(entry))

    found = rewritten(open_format(name, OPTIONS), before.encode(encoding), say)

    assert found.decode(encoding) == after


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
        ANDROID.format(
            '<plurals name="n">\n  <!-- a --><item quantity="one">Datei</item>'
            '\n  <item quantity="other">Dateien</item>\n</plurals>'
        ),
        ANDROID.format(
            '<plurals name="n">\n  <!-- a --><item quantity="one">DATEI</item>'
            '\n  <item quantity="other">DATEIEN</item>\n  <item quantity="few">DATEIEN</item>'
            '\n  <item quantity="many">DATEIEN</item>\n</plurals>'
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
    ("a.stringsdict", "en", _rule("other %d"), _rule("other %d")),
]


@pytest.mark.parametrize(("name", "target", "content", "result"), CATEGORIES)
def test_plural_categories_of_the_target_language_are_added_to_plurals_alone(
    name: str, target: str, content: str, result: str
) -> None:
    file_format = open_format(name, FileOptions("de", target))

    assert rewritten(file_format, content.encode(), shouted).decode() == result
    assert rewritten(file_format, content.encode(), lambda _: "").count(b"few") == 0
