# ruff: noqa: E501 -- files are read more easily unbroken
"""Files whose texts are written in capitals: the words change, and nothing else does."""

from collections.abc import Mapping, Sequence

import pytest

from service.formats.entries import FileOptions
from service.formats.registry import open_format
from tests.formats.rewriting import BILINGUAL, own, rewritten, shouted
from tests.formats.string_samples import ARB, ASS, EXTENSION, PROPERTIES, QT, RAILS, STRINGSDICT, XCSTRINGS

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
RAILS_IN_CAPITALS = r"""# Rails
en:
  hello: HALLO %{NAME}   # Gruß
  title: "DIE \"WELT\" Ü"
  single: 'DAS IST''S'
  yes: JA
  "no": NEIN
  num: 5
  date: 2020-01-01
  anchored: &a ANKER TEXT
  alias: *a
  symbol: !ruby/symbol foo
  files:
    one: "%{COUNT} DATEI"
    other: "%{COUNT} DATEIEN"  # Kommentar
  list: [MONTAG, "DIENSTAG", {a: MITTWOCH}]
  literal: |
    ERSTE ZEILE
      EINGERÜCKT

    LETZTE
  folded: >-
    GEFALTETE ZEILEN

    ABSATZ
  kept: "BEHALTEN\n\n"

  plain: MEHR ZEILEN
  last: SCHLUSS
"""
QT_FORM = "<numerusform>%N DATEI(EN) GELÖSCHT</numerusform>"


ARB_IN_CAPITALS = """{
    "@@locale": "en",
    "@@last_modified": "2026-01-01T00:00:00",
    "title": "MEINE APP",
    "hello": "HALLO {USERNAME}",
    "@hello": {
        "description": "Gruß an den Benutzer",
        "placeholders": {"userName": {"type": "String", "example": "Bob"}}
    },
    "wombats": "{COUNT, PLURAL, =0{KEINE WOMBATS} =1{EIN WOMBAT} OTHER{{COUNT} WOMBATS}}"
}
"""
CATALOGUE = r"""# Kopf
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=3; plural=(n%10==1 ? 1 : n==0 ? 0 : 2);\n"

"""
CATALOGUES = [
    (
        '#. Hinweis\n#: a.c:1\n#, fuzzy\nmsgctxt "Menü"\nmsgid "auf"\nmsgstr "open"\n\n# von Hand\nmsgctxt "Tür"\nmsgid "auf"\nmsgstr ""\n\n#~ msgid "alt"\n#~ msgstr ""\n',
        '#. Hinweis\n#: a.c:1\n#, fuzzy\nmsgctxt "Menü"\nmsgid "auf"\nmsgstr "open"\n\n# von Hand\nmsgctxt "Tür"\nmsgid "auf"\nmsgstr "AUF"\n\n#~ msgid "alt"\n#~ msgstr ""\n',
    ),
    (
        'msgid "1 Datei"\nmsgid_plural "2 Dateien"\nmsgstr[0] ""\nmsgstr[1] ""\nmsgstr[2] "da"\n',
        'msgid "1 Datei"\nmsgid_plural "2 Dateien"\nmsgstr[0] "2 DATEIEN"\nmsgstr[1] "1 DATEI"\nmsgstr[2] "da"\n',
    ),
    (
        'msgid ""\n"Eine \\"Zeile\\"\\n"\n"und\\tzwei\\n"\nmsgstr ""\n',
        'msgid ""\n"Eine \\"Zeile\\"\\n"\n"und\\tzwei\\n"\nmsgstr ""\n"EINE \\"ZEILE\\"\\n"\n"UND\\tZWEI\\n"\n',
    ),
    (
        'msgid "eins"\nmsgstr ""\n\nmsgid "zwei"\nmsgstr ""',
        'msgid "eins"\nmsgstr "EINS"\n\nmsgid "zwei"\nmsgstr "ZWEI"',
    ),
]
"""Missing translations, plural forms of what they are of, lines as gettext writes them, no line end at the end."""
XLIFF_1 = """<?xml version='1.0' encoding='UTF-8'?>\r
<xliff xmlns='urn:oasis:names:tc:xliff:document:1.2' version="1.2"><file source-language="de" original="x&#10;y" datatype="plaintext"><body>•</body></file></xliff>
"""
XLIFF_2 = '<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="de"•</file></xliff>'
SEGMENTED = (
    '<trans-unit id="u"><source>Eins ist da. Zwei <g id="1">auch. Drei</g> fehlt.</source><seg-source>'
    '<mrk mtype="seg" mid="1">Eins ist da.</mrk> <mrk mtype="seg" mid="2">Zwei <g id="1">auch.</g></mrk>'
    '<g id="1"> <mrk mtype="seg" mid="3"><x id="2"/>Drei</mrk></g> fehlt.</seg-source>{}</trans-unit>'
)
DONE = '<target><mrk mtype="seg" mid="1">One.</mrk><mrk mtype="seg" mid="2">Two.</mrk>'
ALL_SEGMENTS = (
    '<target state="translated"><mrk mtype="seg" mid="1">EINS IST DA.</mrk> <mrk mtype="seg" mid="2">ZWEI <g id="1">AUCH.</g></mrk>'
    '<g id="1"> <mrk mtype="seg" mid="3"><x id="2"/>DREI</mrk></g> FEHLT.</target>'
)
UNIT_2 = (
    '><file id="f"><unit id="u"><segment id="1"><source>Eins</source></segment><ignorable><source> </source></ignorable>'
    '<segment state="initial"><source>zwei</source><target/></segment>'
    '<segment state="final"><source>drei</source><target>three</target></segment></unit>'
)
UNIT_2_IN_CAPITALS = (
    '><file id="f"><unit id="u"><segment id="1" state="translated"><source>Eins</source><target>EINS</target></segment>'
    "<ignorable><source> </source></ignorable>"
    '<segment state="translated"><source>zwei</source><target>ZWEI</target></segment>'
    '<segment state="final"><source>drei</source><target>three</target></segment></unit>'
)
TMX = '<?xml version="1.0"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx version="1.4"><header srclang="de"/><body>•</body></tmx>'
ANDROID = '<resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2">•</resources>'
FRAMES = {
    "1.xliff": XLIFF_1,
    "2.xliff": XLIFF_2,
    "a.tmx": TMX,
    "a.po": CATALOGUE + "•",
    "windows.po": CATALOGUE.replace("\n", "\r\n") + "•",
    "a.xml": ANDROID,
}
"""Files, each with a place for what is tried."""
XCODE_STRING = """    "Abbrechen" : {
      "localizations" : {
        "en" : {
          "stringUnit" : {
            "state" : "translated",
            "value" : "ABBRECHEN"
          }
        }
      }
    },"""
XCODE_PLURAL = """        "en" : {
          "variations" : {
            "plural" : {
              "one" : {
                "stringUnit" : {
                  "state" : "translated",
                  "value" : "%LLD DATEI"
                }
              },
              "other" : {
                "stringUnit" : {
                  "state" : "translated",
                  "value" : "%LLD DATEIEN"
                }
              }
            }
          }
        },
        "fr" : {"""
NAMED = {"a.ts": ' language="en"', "2.xliff": ' trgLang="en"'}
"""What a file gets that names no target language, whatever is translated."""


def with_parts(sample: bytes, replacements: Mapping[str, str]) -> tuple[str, str]:
    """A sample, and the same with some parts of it replaced."""
    changed = sample.decode()
    for part, other in replacements.items():
        changed = changed.replace(part, other)
    return sample.decode(), changed


CAPITALS: Mapping[tuple[str, str], Sequence[tuple[str, str]]] = {
    ("a.html", "en"): [
        ("<html lang='fr'><p lang='de'>Ja</p></html>", "<html lang='fr'><p lang='de'>JA</p></html>")
    ],
    ("a.properties", "en"): [(PROPERTIES.decode(), PROPERTIES_IN_CAPITALS.decode())],
    ("a.ass", "en"): [
        with_parts(
            ASS,
            {
                r"Ich habe,\Nein {\i1}kleines{\i0} Haus.": r"ICH HABE, EIN\N{\i1}KLEINES{\i0} HAUS.",
                r"- Gut.\N- Ja,\hna\{klar\}.": r"- GUT.\N- JA,\hNA\{KLAR\}.",
            },
        )
    ],
    ("messages.json", "en"): [
        with_parts(
            EXTENSION,
            {
                "Meine <b>Erweiterung</b>": "MEINE <b>ERWEITERUNG</b>",
                "hat $1 Dateien für $$5 gefunden": "HAT $1 DATEIEN FÜR $$5 GEFUNDEN",
            },
        )
    ],
    ("a.xml", "en"): [
        (r'<string name="a">ja \u2026 \q und</string>', r'<string name="a">JA … \q UND</string>')
    ],
    ("a.json", "en"): [
        (
            '{ "n" : 1e400,\n\t"n": [ -0.0, null ], "a":"ja"  ,"url":"http://x.y/a" }\r\n',
            '{ "n" : 1e400,\n\t"n": [ -0.0, null ], "a":"JA"  ,"url":"http://x.y/a" }\r\n',
        ),
        ('{"a": "ja", "a": "nein"}', '{"a": "JA", "a": "NEIN"}'),
        ('{"de": {"a": "ja", "de": "nein"}}', '{"en": {"a": "JA", "de": "NEIN"}}'),
        ('{"de": "ja"}', '{"de": "JA"}'),
        (ARB.decode(), ARB_IN_CAPITALS),
    ],
    ("a.json", "pt-BR"): [('{"de_AT": {"a": "ja"}}', '{"pt_BR": {"a": "JA"}}')],
    ("a.arb", "en"): [(ARB.decode(), ARB_IN_CAPITALS)],
    ("a.yaml", "no"): [("de:\n  a: ja\n", '"no":\n  a: JA\n')],
    ("a.yaml", "en"): [
        (RAILS.decode(), RAILS_IN_CAPITALS),
        ("de:\n  a: ja\nen:\n  a: nein\n", "de:\n  a: JA\nen:\n  a: NEIN\n"),
    ],
    ("a.stringsdict", "en"): [
        with_parts(
            STRINGSDICT,
            {
                "<string>%1$#@files@ in %2$#@folders@<": "<string>%1$#@FILES@ IN %2$#@FOLDERS@<",
                "%d gelöschte Datei<": "%D GELÖSCHTE DATEI<",
                "%d gelöschte Dateien": "%D GELÖSCHTE DATEIEN",
                "einem Ordner": "EINEM ORDNER",
                "%d &lt;b&gt;Ordnern&lt;/b&gt; &amp; mehr": "%D &lt;b&gt;ORDNERN&lt;/b&gt; &amp; MEHR",
                "Hallo": "HALLO",
                "<![CDATA[Guten Morgen]]>": "GUTEN MORGEN",
            },
        )
    ],
    ("a.ts", "en"): [
        with_parts(
            QT,
            {
                "<TS version": '<TS language="en" version',
                '<translation type="unfinished">\n': "<translation>\n",
                "<numerusform></numerusform>": f"{QT_FORM}\n            {QT_FORM}",
                '<translation type="unfinished"></': "<translation>&amp;ÖFFNEN &lt;b&gt;%1&lt;/b&gt;…</",
            },
        )
    ],
    ("a.xcstrings", "en"): [
        with_parts(
            XCSTRINGS,
            {
                '    "Abbrechen" : {\n\n    },': XCODE_STRING,
                '        "fr" : {': XCODE_PLURAL,
                '"state" : "new",\n            "value" : ""': '"state" : "translated",\n            "value" : "NEU"',
            },
        ),
        (
            '{"sourceLanguage":"de","strings":{"ja":{},"nein":{"comment":"c"}},"version":"1.0"}',
            '{"sourceLanguage":"de","strings":{"ja":{"localizations":{"en":{"stringUnit":{"state":"translated","value":"JA"}}}},"nein":{"comment":"c","localizations":{"en":{"stringUnit":{"state":"translated","value":"NEIN"}}}}},"version":"1.0"}',
        )
    ],
    ("a.po", "en"): CATALOGUES,
    ("windows.po", "en"): [
        (before.replace("\n", "\r\n"), after.replace("\n", "\r\n")) for before, after in CATALOGUES
    ],
    ("1.xliff", "en"): [
        (
            '<trans-unit id="1">\n  <source>Hallo</source>\n</trans-unit>',
            '<trans-unit id="1">\n  <source>Hallo</source>\n  <target state="translated">HALLO</target>\n</trans-unit>',
        ),
        (
            "<trans-unit id='1'><source>a &amp; b</source><target state=\"new\" x='y'/><note>n</note></trans-unit>",
            "<trans-unit id='1'><source>a &amp; b</source><target x='y' state=\"translated\">A &amp; B</target><note>n</note></trans-unit>",
        ),
        (
            '<trans-unit id="1"><source>a</source><seg-source><mrk mtype="seg" mid="1">a</mrk></seg-source></trans-unit>',
            '<trans-unit id="1"><source>a</source><seg-source><mrk mtype="seg" mid="1">a</mrk></seg-source><target state="translated"><mrk mtype="seg" mid="1">A</mrk></target></trans-unit>',
        ),
        (SEGMENTED.format(""), SEGMENTED.format(ALL_SEGMENTS)),
        (
            SEGMENTED.format(
                '<target><mrk mtype="seg" mid="1"/><mrk mtype="seg" mid="2"></mrk><mrk mtype="seg" mid="3"/></target>'
            ),
            SEGMENTED.format(ALL_SEGMENTS),
        ),
        (
            SEGMENTED.format(
                '<target><mrk mtype="seg" mid="2">Two <g id="1">too.</g></mrk><mrk mtype="seg" mid="1"/></target>'
            ),
            SEGMENTED.format(
                ALL_SEGMENTS.replace('ZWEI <g id="1">AUCH.</g>', 'Two <g id="1">too.</g>')
            ),
        ),
        *(
            (unit, unit)
            for unit in (
                "<trans-unit id='1'><source>a</source><target>b</target></trans-unit>",
                "<trans-unit id='1' translate='no'><source>a</source></trans-unit>",
                SEGMENTED.format(DONE + '<mrk mtype="seg" mid="3">Three</mrk> is missing.</target>'),
                SEGMENTED.format(DONE + " and three</target>"),
                "<trans-unit id='1'><source> <x id='1'/></source></trans-unit>",
            )
        ),
    ],
    ("2.xliff", "en"): [
        (UNIT_2, f' trgLang="en"{UNIT_2_IN_CAPITALS}'),
        (f" trgLang='en-GB'{UNIT_2}", f" trgLang='en-GB'{UNIT_2_IN_CAPITALS}"),
    ],
    ("a.tmx", "en"): [
        (
            '<tu tuid="1">\n <tuv xml:lang="DE_at"><seg>a <hi>b</hi></seg></tuv>\n</tu>',
            '<tu tuid="1">\n <tuv xml:lang="DE_at"><seg>a <hi>b</hi></seg></tuv>\n <tuv xml:lang="en"><seg>A <hi>B</hi></seg></tuv>\n</tu>',
        ),
        (
            '<tu><tuv lang="fr"><seg>x</seg></tuv><tuv lang="de"><seg>a</seg></tuv><tuv lang="es"><seg>y</seg></tuv></tu>',
            '<tu><tuv lang="fr"><seg>x</seg></tuv><tuv lang="de"><seg>a</seg></tuv><tuv lang="es"><seg>y</seg></tuv><tuv lang="en"><seg>A</seg></tuv></tu>',
        ),
        (
            '<tu><tuv xml:lang="de"><seg>a</seg></tuv><tuv xml:lang="en-US"><seg>b</seg></tuv></tu>',
            '<tu><tuv xml:lang="de"><seg>a</seg></tuv><tuv xml:lang="en-US"><seg>b</seg></tuv></tu>',
        ),
    ],
    ("a.vtt", "en"): [
        (
            "WEBVTT\nKind: captions\nLanguage: de-DE\n\n00:05.000 --> 00:06.000\nGut\n",
            "WEBVTT\nKind: captions\nLanguage: en\n\n00:05.000 --> 00:06.000\nGUT\n",
        ),
        (
            "WEBVTT\r\nLanguage: de-DE\r\n\r\n00:05.000 --> 00:06.000\r\nGut",
            "WEBVTT\r\nLanguage: en\r\n\r\n00:05.000 --> 00:06.000\r\nGUT",
        ),
        (
            "WEBVTT\nLanguage: fr\n\n00:05.000 --> 00:06.000\nGut\n",
            "WEBVTT\nLanguage: fr\n\n00:05.000 --> 00:06.000\nGUT\n",
        ),
    ],
    ("a.md", "en"): [
        (
            "Siehe [hier] und [dort][] und [da][hier].\n\n[hier]: http://x\n[dort]: http://y\n",
            "SIEHE [HIER][hier] UND [DORT][dort] UND [DA][hier].\n\n[hier]: http://x\n[dort]: http://y\n",
        ),
        ("# Titel #\n\nText\n", "# TITEL #\n\nTEXT\n"),
        ("Titel\n=====\r\n\r\nText", "TITEL\n=====\r\n\r\nTEXT"),
        ("> Zitat\n> - Punkt\n", "> ZITAT\n> - PUNKT\n"),
        ("1. eins\n2. zwei\n\n   mehr\n", "1. EINS\n2. ZWEI\n\n   MEHR\n"),
        ("- [ ] offen\n- [x] *da*\n", "- [ ] OFFEN\n- [x] *DA*\n"),
        ("[x] da\n", "[x] DA\n"),
        ("| a | b \\| c |\n|---|:-:|\n| **x** | x |\n", "| A | B \\| C |\n|---|:-:|\n| **X** | X |\n"),
        ("---\ntitle: x\n---\nText\n", "---\ntitle: X\n---\nTEXT\n"),
        ("\ufeffText\n", "\ufeffTEXT\n"),
        ("Ein *b* und **c** und ~~d~~\n", "EIN *B* UND **C** UND ~~D~~\n"),
        ("Ein `code` und ![alt](bild.png)\n", "EIN `code` UND ![alt](bild.png)\n"),
        ("Ein [Link](<a b> 'titel') und <http://x.y>\n", "EIN [LINK](<a b> 'titel') UND <http://x.y>\n"),
        ("Eine Zeile  \nund noch eine\\\nmehr\n", "EINE ZEILE  \nUND NOCH EINE\\\nMEHR\n"),
        ("Fuß[^1] und {{ x }}\n\n[^1]: Note\n", "FUSS[^1] UND {{ x }}\n\n[^1]: NOTE\n"),
        ("a <b>c</b><br>d\n", "A <b>C</b><br>D\n"),
        ("<div>\n<p>a <i>b</i></p>\n</div>\n", "<div>\n<p>A <i>B</i></p>\n</div>\n"),
        ("Text\n\n    code\n\n```python\ncode\n```\n<!-- x -->\n", "TEXT\n\n    code\n\n```python\ncode\n```\n<!-- x -->\n"),
        ("***beides***\n", "***BEIDES***\n"),
        ("> a *b*  \n> c *d*\\\n> e\n", "> A *B*  \n> C *D*\\\n> E\n"),
        ("# 1. eins\n\n2.1 zwei\n\n- 3 * 4 * x\n", "# 1. EINS\n\n2.1 ZWEI\n\n- 3 * 4 * X\n"),
        ("## Haus {#haus-kopf}\n\nText {: .klasse }\n", "## HAUS {#haus-kopf}\n\nTEXT {: .klasse }\n"),
        ("> [!NOTE]\n> Das *ist* eins\n> und zwei.\n", "> [!NOTE]\n> DAS *IST* EINS\n> UND ZWEI.\n"),
        ("> [!tip]- Ein Titel\n> Text\n> dazu\n", "> [!tip]- EIN TITEL\n> TEXT\n> DAZU\n"),
        (":::note\nEin Satz\nmehr\n:::\nText\n", ":::note\nEIN SATZ\nMEHR\n:::\nTEXT\n"),
        (":::tip[Guter *Hinweis*]{a=b}\n\nText\n\n:::\n", ":::tip[GUTER *HINWEIS*]{a=b}\n\nTEXT\n\n:::\n"),
        ("::: warning Titel\nText\n:::\n", "::: warning TITEL\nTEXT\n:::\n"),
        ("::: {.warning}\nText\n:::\n", "::: {.warning}\nTEXT\n:::\n"),
        ('!!! note "Der *Titel*: "gut""\n    Text\n    mehr\n\n    - Punkt\n\nDanach\n', '!!! note "DER *TITEL*: "GUT""\n    TEXT\n    MEHR\n\n    - PUNKT\n\nDANACH\n'),
        ('??? tip\n    Text\n\n=== "Reiter"\n\n    Text\n', '??? tip\n    TEXT\n\n=== "REITER"\n\n    TEXT\n'),
        ('??? note "Titel"\n    Text\n', '??? note "TITEL"\n    TEXT\n'),
        ("Text\n$$\nE = m\n\nc\n$$\nText\n$$ a $$\n", "TEXT\n$$\nE = m\n\nc\n$$\nTEXT\n$$ a $$\n"),
        ("import A, {b} from 'x';\nimport \"y\"\n\nimport das\n", "import A, {b} from 'x';\nimport \"y\"\n\nIMPORT DAS\n"),
        ('{% hint style="x" %}\nText\n{% endhint %}\n', '{% hint style="x" %}\nTEXT\n{% endhint %}\n'),
        ("- Punkt\n\n    !!! note\n        Text\n", "- PUNKT\n\n    !!! note\n        TEXT\n"),
        ("Siehe [[Startseite]] und [[Seite|den Text]].\n", "SIEHE [[Startseite]] UND [[Seite|DEN TEXT]].\n"),
        ("*[HTML]: Hyper Text\n*[CSS]: Mehr *davon*\n", "*[HTML]: HYPER TEXT\n*[CSS]: MEHR *DAVON*\n"),
        ("Begriff\n:   Eine Erklärung\n    mehr.\n:   Zweite\n", "BEGRIFF\n:   EINE ERKLÄRUNG\n    MEHR.\n:   ZWEITE\n"),
        ("Gut :smile: um 12:30:45\n", "GUT :smile: UM 12:30:45\n"),
        ("Der !!! Text\n\n!!! Achtung jetzt\n\n[!a](b)\n", "DER !!! TEXT\n\n!!! ACHTUNG JETZT\n\n[!A](b)\n"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "target", "content", "result"),
    [(*kind, *case) for kind, cases in CAPITALS.items() for case in cases],
)
def test_words_and_the_language_that_a_file_names_change_and_nothing_else(
    name: str, target: str, content: str, result: str
) -> None:
    before, after = (FRAMES.get(name, "•").replace("•", each) for each in (content, result))
    file_format, suffix = open_format(name, FileOptions("de", target)), f".{name.split('.')[1]}"

    assert rewritten(file_format, before.encode(), shouted).decode() == after
    same = rewritten(file_format, before.encode(), (lambda _: "") if suffix in BILINGUAL else own)
    assert same.decode().replace(NAMED.get(name, ""), "", 1) == before
