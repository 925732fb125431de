"""Files of text, markup and strings with other texts: how these are escaped."""

from collections.abc import Mapping, Sequence

import pytest

from service.formats.entries import Entry, TargetText
from service.formats.registry import open_format
from tests.formats.rewriting import OPTIONS, own, rewritten
from tests.formats.string_samples import RESX

STRING = (
    '<resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2"><string name="a">{}</string></resources>'
)
EVENT = "[Script Info]\n\n[Events]\nFormat: Start, End, Text\nDialogue: 0:00:01.00,0:00:02.00,{}\n"
MESSAGE = '{"a": {"message": "{}", "description": "Wozu", "placeholders": {"user": {"content": "$1"}}}}'
HEADER = 'msgid ""\nmsgstr "Language: en\\nContent-Type: text/plain; charset=ISO-8859-1\\n"\n\n'
CATALOGUE = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=ISO-8859-1\\n"\n\n{}'
FRAMES = {"a.xml": STRING, "a.ass": EVENT, "messages.json": MESSAGE, "a.po": CATALOGUE}
SAID: Mapping[tuple[str, str], Sequence[tuple[str, str, str]]] = {
    ("a.xml", "utf-8"): [
        ("ja", "don't", r"don\'t"),
        ("ja", 'a "b" \\ c\n\td', r"a \"b\" \\ c\n\td"),
        ("ja", "@yes", r"\@yes"),
        ("ja", "?", r"\?"),
        ("ja", " a  b ", r"\u0020a \u0020b\u0020"),
        (r"\q ja", " a", r"\q \u0020a"),
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
    ("a.resx", "utf-8"): [
        (
            RESX.decode(),
            'A &amp; ]]&gt; {0}<g i="0">b</g>',
            RESX.decode().replace(
                "Hallo {0}, &lt;b&gt;willkommen&lt;/b&gt;!", "A &amp; ]]&gt; {0}&lt;b&gt;b&lt;/b&gt;"
            ),
        )
    ],
    ("a.html", "utf-8"): [("<p>x</p>", "<script>&amp;", "<p>&lt;script&gt;&amp;amp;</p>")],
    ("a.po", "latin-1"): [('msgid "Tür"\nmsgstr ""\n', "TÜR", 'msgid "Tür"\nmsgstr "TÜR"\n')],
    ("b.po", "latin-1"): [(HEADER + 'msgid "ü"\nmsgstr ""\n', "Ü", HEADER + 'msgid "ü"\nmsgstr "Ü"\n')],
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

    def say(entry: Entry) -> str | TargetText:
        return next(translations, own(entry))

    found = rewritten(open_format(name, OPTIONS), before.encode(encoding), say)

    assert found.decode(encoding) == after
