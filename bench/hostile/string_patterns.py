"""Patterns of files of strings that grow; see `bench.hostile.files`."""

from collections.abc import Mapping

_QT = '<TS><context><message><source>{}</source><translation type="unfinished"/></message></context></TS>'
_ANDROID = '<resources><string name="a">{}</string></resources>'
_CATALOGUE = '{"sourceLanguage": "de", "strings": {⟨"k№": {}, ⟩"a": {}}}'
_STRING = '{"sourceLanguage": "de", "strings": {"a": {"localizations": {"de": {}}}}}'
_MESSAGE = '{"a": {"message": "{}", "description": ""}}'
_RULE = (
    "<plist><dict><key>a</key><dict><key>NSStringFormatSpecTypeKey</key>"
    "<string>NSStringPluralRuleType</string>{}</dict></dict></plist>"
)
_DEEP = '⟨{"variations": {"plural": {"other": ⟩1⟨}}}⟩'

PATTERNS: Mapping[str, Mapping[str, str]] = {
    "a.json": {
        "keys": '{"a": "a"⟨, "k№": "a"⟩}',
        "one key": '{"a": "a"⟨, "a": "a"⟩}',
        "plurals": '{"a": "a"⟨, "k№_one": "a", "k№_other": "a"⟩}',
        "lines": '{"a": "a"⟨,\n"k№_one": "a",\n"k№_other": "a"⟩}',
        "a long key": '{"⟨k⟩": "a"}',
        "keys in long keys": '{"⟨k⟩": {"a": "a"⟨, "k№": "a"⟩}}',
        "lists": "⟨[⟩⟨]⟩",
        "objects": '⟨{"a":⟩1⟨}⟩',
        "texts": '["a"⟨, "a"⟩]',
        "spaces": '{⟨ ⟩"a_one"⟨ ⟩: "a",⟨ ⟩"a_other": "a"⟨ ⟩}',
        "a long number": '{"a": ⟨9⟩}',
        "an open string": '{"a": "⟨\\u00e4⟩',
        "tags": '{"a": "⟨<b>a</i>⟩"}',
        "braces": '{"a": "⟨{a, plural, other {⟩"}',
    },
    "messages.json": {
        "messages": '{"a": {"message": "a", "description": ""}⟨, "k№": {"message": "a"}⟩}',
        "names": '{"a": {"message": "a", "placeholders": {"a": {}⟨, "k№": {}⟩}}}',
        "placeholders": _MESSAGE.replace("{}", "a⟨$A$⟩"),
        "values": _MESSAGE.replace("{}", "a⟨$1⟩"),
        "dollars": _MESSAGE.replace("{}", "a⟨$⟩"),
        "open placeholders": _MESSAGE.replace("{}", "a⟨$A⟩"),
        "amounts": _MESSAGE.replace("{}", "a$$⟨1.⟩"),
    },
    "a.stringsdict": {
        "rules": "<plist><dict>⟨<key>k№</key><dict><key>a</key><string>a</string></dict>⟩</dict></plist>",
        "categories": _RULE.replace(
            "{}", "⟨<key>one</key><string>a</string>⟩<key>other</key><string>a</string>"
        ),
        "keys": _RULE.replace("{}", "⟨<key>a</key>⟩<string>a</string>"),
        "deep rules": "<plist>⟨<dict><key>a</key>⟩⟨</dict>⟩</plist>",
        "long keys": "<plist><dict><key>⟨a⟩</key><string>a</string></dict></plist>",
        "spaces": _RULE.replace("{}", "⟨ ⟩<key>other</key>⟨ ⟩<string>a</string>⟨ ⟩"),
        "sections": _RULE.replace("{}", "<key>other</key><string>⟨<![CDATA[a]]>⟩</string>"),
    },
    "a.xcstrings": {
        "strings": _CATALOGUE,
        "variations": _STRING.replace("{}", _DEEP),
        "languages": (
            '{"sourceLanguage": "de", "strings": {"a": {"localizations": {"de": {}⟨, "k№": {}⟩}}}}'
        ),
        "strings with spaces": (
            '{\n  "sourceLanguage" : "de",\n  "strings" : {⟨\n    "k№" : {\n\n    },⟩\n    "a" : {}}}'
        ),
    },
    "a.yaml": {
        "keys": "⟨k№: a\n⟩",
        "plurals": "⟨k№:\n  one: a\n  other: a\n⟩",
        "flow": "[a⟨, a⟩]",
        "flow mappings": "[a⟨, {one: a, other: a}⟩]",
        "open flow": "⟨[⟩",
        "open mappings": "⟨{a: ⟩",
        "sequences": "⟨- ⟩a",
        "keys without values": "⟨? ⟩a",
        "aliases": "- &a b\n⟨- *a\n⟩",
        "anchors": "⟨- &a№ b\n⟩",
        "anchors in one place": "⟨&a ⟩b",
        "tags in one place": "⟨!a ⟩b",
        "a plain text": "a: b⟨ b⟩",
        "a plain text of lines": "a: b⟨\n b⟩",
        "a quoted text": 'a: "⟨\\u00e4\\\n ⟩"',
        "a literal text": "a: |\n⟨  b\n\n⟩",
        "a folded text": "a: >\n⟨  b\n\n⟩",
        "comments": "⟨# a\n⟩a: b",
        "documents": "⟨---\na: b\n⟩",
        "colons": "a: b⟨:⟩",
        "an open string": "a: '⟨b''⟩",
        "directives": "⟨%A a\n⟩--- a",
    },
    "a.properties": {
        "keys": "⟨k№=a\n⟩",
        "continuations": "a=a⟨\\\n⟩",
        "continued texts": "a=⟨a\\\n  ⟩",
        "backslashes": "a=a⟨\\⟩",
        "a long key": "⟨\\:⟩=a",
        "spaces": "a⟨ ⟩a",
        "blank lines": "⟨ \n⟩a=a",
        "comments": "⟨#\r⟩",
        "apostrophes": "a={0} a⟨''⟩",
        "open arguments": "a=a⟨{0,⟩",
        "choices": "a=a⟨{0,choice,⟩",
        "surrogates": "a=a⟨\\ud83d\\ude00⟩",
        "no line end": "⟨\n\r⟩",
    },
    "a.strings": {
        "keys": '⟨"k№" = "a";\n⟩',
        "comments": "⟨/**/⟩",
        "an open comment": "/*⟨*⟩",
        "slashes": "⟨/⟩",
        "line comments": "⟨//\n⟩",
        "an open string": '"⟨\\"⟩',
        "an open value": '"a" = "⟨a⟩',
        "escapes": '"a" = "a⟨\\U00e4⟩";',
        "words": "⟨a⟩",
        "keys without values": '⟨"k№";⟩',
    },
    "a.xml": {
        "strings": '<resources>⟨<string name="k№">a</string>⟩</resources>',
        "items": '<resources><plurals name="a">⟨<item quantity="one">a</item>⟩</plurals></resources>',
        "arrays": '<resources><string-array name="a">⟨<item>a</item>⟩</string-array></resources>',
        **{
            title: _ANDROID.replace("{}", pattern)
            for title, pattern in {
                "elements": "a⟨<b>a</b>⟩",
                "deep elements": "⟨<b>⟩a⟨</b>⟩",
                "spaces": "⟨ ⟩a⟨ ⟩",
                "escaped spaces": "a⟨\\ ⟩",
                "backslashes": "a⟨\\⟩",
                "escapes": "a⟨\\u00e4⟩",
                "unknown escapes": "a⟨\\q⟩",
                "quotation marks": 'a⟨"⟩',
                "escaped quotation marks": '"a⟨\\"⟩',
                "sections": "⟨<![CDATA[a]]>⟩",
                "brackets": "<![CDATA[a⟨]⟩ ]]>",
                "tags in text": "a⟨&lt;b>⟩",
                "references": "@⟨a.⟩",
                "slashes": "@⟨a/⟩ ",
            }.items()
        },
    },
    "a.ts": {
        "messages": "<TS><context>⟨<message><source>a</source><translation/></message>⟩</context></TS>",
        "forms": (
            '<TS><context><message numerus="yes"><source>a</source><translation>'
            "⟨ <numerusform></numerusform>⟩</translation></message></context></TS>"
        ),
        "types": ("<TS><message><source>a</source><translation a='⟨ type=⟩'/></message></TS>"),
        "languages": "<TS a='⟨ language=⟩'/>",
        "bytes": _QT.replace("{}", '⟨a<byte value="x1"/>⟩'),
        "tags": _QT.replace("{}", "⟨&lt;a>x&lt;/b>⟩"),
    },
    "a.resx": {
        "strings": '<root>⟨<data name="k№"><value>a</value></data>⟩</root>',
        "values": '<root><data name="a">⟨<value>a</value>⟩</data></root>',
        "sections": '<root><data name="a"><value>⟨<![CDATA[a]]>⟩</value></data></root>',
        "brackets": '<root><data name="a"><value><![CDATA[⟨]⟩a]]></value></data></root>',
    },
    "a.ass": {
        title: "[Script Info]\n[Events]\nFormat: Start, Text\n" + pattern
        for title, pattern in {
            "events": "⟨Dialogue: 1,a\n⟩",
            "tags": "Dialogue: 1,⟨{\\i1}a⟩",
            "pairs": "Dialogue: 1,⟨{\\i1}⟩a⟨{\\i0}⟩",
            "crossed pairs": "Dialogue: 1,⟨{\\i1}{\\b1}⟩a⟨{\\i0}{\\b0}⟩",
            "braces": "Dialogue: 1,a⟨{⟩",
            "drawings": "Dialogue: 1,a⟨{\\p⟩",
            "lines": "Dialogue: 1,⟨a\\N⟩",
            "backslashes": "Dialogue: 1,a⟨\\⟩",
            "commas": "Dialogue: 1,a⟨,⟩",
            "fields": "Format: ⟨a,⟩Text\nDialogue: ⟨a,⟩a",
            "sections": "⟨[a]\n⟩",
            "formats": "⟨Format: Text\n⟩",
        }.items()
    },
}
"""Patterns by the name of their file and their title."""
