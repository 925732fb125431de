# ruff: noqa: E501 -- files are read more easily unbroken
"""Small files of strings as their programs write them: i18next, Flutter, Android, Java, Rails, Xcode, Qt, .NET, Aegisub."""

I18NEXT = """{
  "greeting": "Hallo {{name}}, <b>willkommen</b>!",
  "docs": "https://example.org/a",
  "file_one": "{{count}} Datei gelöscht",
  "file_other": "{{count}} Dateien gelöscht",
  "menu": {"items": ["Ja", "Nein", 1.50, true, null, ""], "again": "$t(greeting) Noch einmal"},
  "icu": "{count, plural, one {# Datei} other {# Dateien}}"
}
""".encode()
EXTENSION = """{
  "app_name": {"message": "Meine <b>Erweiterung</b>", "description": "Name"},
  "found": {
    "message": "$USER$ hat $1 Dateien für $$5 gefunden",
    "description": "Anzahl",
    "placeholders": {"user": {"content": "$2", "example": "Bob"}}
  },
  "url": {"message": "https://example.org/$1"}
}
""".encode()
ARB = """{
    "@@locale": "de",
    "@@last_modified": "2026-01-01T00:00:00",
    "title": "Meine App",
    "hello": "Hallo {userName}",
    "@hello": {
        "description": "Gruß an den Benutzer",
        "placeholders": {"userName": {"type": "String", "example": "Bob"}}
    },
    "wombats": "{count, plural, =0{keine Wombats} =1{ein Wombat} other{{count} Wombats}}"
}
""".encode()
ANDROID = rb"""<?xml version="1.0" encoding="utf-8"?>
<!-- Texte -->
<resources xmlns:tools="http://schemas.android.com/tools" xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2">
    <string name="app_name" translatable="false">Dragoman</string>
    <string name="hello">Hallo, %1$s! Das ist\'s.\nZeile \u00fc</string>
    <string name="styled">Ein <b>fetter</b> Text mit <a href="https://a.b/c">Link</a> &amp; mehr</string>
    <string name="alias">@string/hello</string>
    <string name="countdown"><xliff:g id="time" example="5 Tage">%1$s</xliff:g> bis zum Urlaub</string>
    <string name="quoted">"Viel   Platz 'hier' "</string>
    <string name="multi">
        Viele Zeilen
        hier
    </string>
    <string name="html">Klicken Sie &lt;b>hier&lt;/b>!</string>
    <string name="cdata"><![CDATA[Mit <i class="x">CDATA</i> & so]]></string>
    <color name="c">#fff</color>
    <plurals name="files">
        <item quantity="one">%d Datei</item>
        <item quantity="other">%d Dateien</item>
    </plurals>
    <string-array name="days"><item>Montag</item><item>@string/hello</item><item>12</item></string-array>
</resources>
"""
PROPERTIES = rb"""# Kommentar
! auch einer
welcome = Willkommen, {0}! Das ist''s
fehler:Datei \u00fc nicht gefunden\: %s
lang = Erste Zeile\n\
    zweite Zeile \
    weiter
url=https://example.org/c
leer=
  a\ b\=c   Wert mit Raum
choice={0,choice,0#keine|1#eine}
ende=Ende"""
RAILS = r"""# Rails
de:
  hello: Hallo %{name}   # Gruß
  title: "Die \"Welt\" \u00fc"
  single: 'Das ist''s'
  yes: Ja
  "no": nein
  num: 5
  date: 2020-01-01
  anchored: &a Anker Text
  alias: *a
  symbol: !ruby/symbol foo
  files:
    one: "%{count} Datei"
    other: "%{count} Dateien"  # Kommentar
  list: [Montag, "Dienstag", {a: Mittwoch}]
  literal: |
    Erste Zeile
      eingerückt

    Letzte
  folded: >-
    Gefaltete
    Zeilen

    Absatz
  kept: |+
    Behalten

  plain: mehr
    Zeilen
  last: Schluss
""".encode()
STRINGS = r"""/* Gruß */
"hello" = "Hallo %@, %1$d \"Dateien\" \U00fc\n";
// Zeile
key.unquoted   = "Ein Wert";
"Nur Schlüssel";
"url" = "https://a.b";
"multi" = "Erste
Zweite";
""".encode()
STRINGSDICT = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
\t<!-- Dateien -->
\t<key>%d files in %d folders</key>
\t<dict>
\t\t<key>NSStringLocalizedFormatKey</key>
\t\t<string>%1$#@files@ in %2$#@folders@</string>
\t\t<key>files</key>
\t\t<dict>
\t\t\t<key>NSStringFormatSpecTypeKey</key>
\t\t\t<string>NSStringPluralRuleType</string>
\t\t\t<key>NSStringFormatValueTypeKey</key>
\t\t\t<string>d</string>
\t\t\t<key>one</key>
\t\t\t<string>%d gelöschte Datei</string>
\t\t\t<key>other</key>
\t\t\t<string>%d gelöschte Dateien</string>
\t\t</dict>
\t\t<key>folders</key>
\t\t<dict>
\t\t\t<key>NSStringFormatSpecTypeKey</key>
\t\t\t<string>NSStringPluralRuleType</string>
\t\t\t<key>NSStringFormatValueTypeKey</key>
\t\t\t<string>d</string>
\t\t\t<key>one</key>
\t\t\t<string>einem Ordner</string>
\t\t\t<key>other</key>
\t\t\t<string>%d &lt;b&gt;Ordnern&lt;/b&gt; &amp; mehr</string>
\t\t</dict>
\t</dict>
\t<key>greeting</key>
\t<dict>
\t\t<key>NSStringVariableWidthRuleType</key>
\t\t<dict>
\t\t\t<key>1</key>
\t\t\t<string>Hallo</string>
\t\t\t<key>50</key>
\t\t\t<string><![CDATA[Guten Morgen]]></string>
\t\t\t<key>60</key>
\t\t\t<string>%@</string>
\t\t</dict>
\t</dict>
</dict>
</plist>
""".encode()
XCSTRINGS = b"""{
  "sourceLanguage" : "de",
  "strings" : {
    "" : {

    },
    "%lld Dateien" : {
      "comment" : "Zahl",
      "localizations" : {
        "de" : {
          "variations" : {
            "plural" : {
              "one" : {
                "stringUnit" : {
                  "state" : "translated",
                  "value" : "%lld Datei"
                }
              },
              "other" : {
                "stringUnit" : {
                  "state" : "translated",
                  "value" : "%lld Dateien"
                }
              }
            }
          }
        },
        "fr" : {
          "stringUnit" : {
            "state" : "translated",
            "value" : "%lld fichiers"
          }
        }
      }
    },
    "Abbrechen" : {

    },
    "Marke" : {
      "shouldTranslate" : false
    },
    "Neu" : {
      "extractionState" : "manual",
      "localizations" : {
        "en" : {
          "stringUnit" : {
            "state" : "new",
            "value" : ""
          }
        }
      }
    },
    "Schon da" : {
      "localizations" : {
        "en" : {
          "stringUnit" : {
            "state" : "translated",
            "value" : "Already there"
          }
        }
      }
    }
  },
  "version" : "1.0"
}
"""
QT = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" sourcelanguage="de">
<context>
    <name>MainWindow</name>
    <message numerus="yes">
        <location filename="main.cpp" line="3"/>
        <source>%n Datei(en) gelöscht</source>
        <translation type="unfinished">
            <numerusform></numerusform>
        </translation>
    </message>
    <message>
        <source>&amp;Öffnen &lt;b&gt;%1&lt;/b&gt;…</source>
        <comment>Menü</comment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Fertig</source>
        <translation>Done</translation>
    </message>
    <message>
        <source>Alt</source>
        <translation type="vanished"></translation>
    </message>
</context>
</TS>
""".encode()
RESX = """<?xml version="1.0" encoding="utf-8"?>
<root>
  <resheader name="resmimetype"><value>text/microsoft-resx</value></resheader>
  <data name="Hello" xml:space="preserve">
    <value>Hallo {0}, &lt;b&gt;willkommen&lt;/b&gt;!</value>
    <comment>Gruß</comment>
  </data>
  <data name="Icon" type="System.Resources.ResXFileRef, System.Windows.Forms"><value>icon.ico;System.Drawing.Icon</value></data>
  <data name="&gt;&gt;button.Name"><value>knopf</value></data>
  <data name="Image" mimetype="application/x-microsoft.net.object.bytearray.base64"><value>AAAA</value></data>
</root>
""".encode()
ASS = rb"""[Script Info]
; Kommentar
ScriptType: v4.00+

[V4+ Styles]
Format: Name, Fontname
Style: Default,Arial

[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
Dialogue: 0,0:00:01.00,0:00:03.00,Default,Ann,0,0,0,,{\an8}Ich habe,\Nein {\i1}kleines{\i0} Haus.
Dialogue: 0,0:00:04.00,0:00:05.00,Default,,0,0,0,,- Gut.\N- Ja,\hna\{klar\}.
Dialogue: 0,0:00:06.00,0:00:07.00,Default,,0,0,0,,{\p1}m 0 0 l 10 0{\p0}
Comment: 0,0:00:06.00,0:00:07.00,Default,,0,0,0,,Notiz
Dialogue: 0,0:00:06.00,0:00:07.00,Default,,0,0,0,,
"""

SAMPLES = {
    ".json": I18NEXT,
    ".arb": ARB,
    ".xml": ANDROID,
    ".properties": PROPERTIES,
    ".yaml": RAILS,
    ".yml": RAILS,
    ".strings": STRINGS,
    ".stringsdict": STRINGSDICT,
    ".xcstrings": XCSTRINGS,
    ".ts": QT,
    ".resx": RESX,
    ".resw": RESX,
    ".ass": ASS,
    ".ssa": ASS,
}
"""By the suffixes of their names."""
STRING_TOKENS = (
    *(
        b"_one",
        b"_other",
        b"one: ",
        b"other: ",
        b"de",
        b":",
        b": ",
        b"{",
        b"[",
        b"- ",
        b"? ",
        b"&a ",
        b"*a",
        b"!b ",
        b"|+2\n",
    ),
    *(
        b">-\n  ",
        b"%YAML 1.1\n",
        b"\n---\n",
        b"\n...\n",
        b"#",
        b"\\u00",
        b"\\",
        b"\\N",
        b"{\\p1}",
        b"{\\i0}",
        b"=",
        b";",
        b"/*",
        b"*/",
    ),
    *(
        b"translatable='false'",
        b"quantity='many'",
        b"<xliff:g>",
        b"@string/a",
        b"type='obsolete'",
        b"<numerusform>",
        b"numerus='yes'",
    ),
    *(b"<key>few</key>", b"<dict>", b"</dict>", b"<string>", b"<key>", b'"message": ', b"$A$", b"$1", b"$$"),
    *(b"{0}", b"''", b'"stringUnit": ', b'"new"', b"Format: a, Text\n", b"[Events]", b"Dialogue: "),
)
"""Pieces that readers of these files look at."""
