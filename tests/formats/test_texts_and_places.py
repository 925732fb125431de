"""Texts of files of lines, tables, subtitles and strings: where they are, and where their translations go."""

from collections.abc import Mapping, Sequence

import pytest

from service.formats.entries import FileOptions
from service.formats.registry import open_format
from tests.formats.rewriting import own, places, rewritten, written

SUBRIP = (
    b"\xef\xbb\xbf1\r\n00:00:01,000 --> 00:00:04,074  X1:10 X2:20\r\nHallo, wie geht\r\nes dir heute?\r\n\r\n"
    b"2\r\n00:00:05,000 --> 00:00:06,000\r\n- Gut.\r\n- Und dir?\r\n\r\n\r\n"
    b"3\n00:00:07,000 --> 00:00:08,000\n{\\an8}<i>Leise</i> Musik & <3\n\n"
    b"4\n00:00:09,000 --> 00:00:10,000\n\n"
    b"5\n00:00:11,000 --> 00:00:12,000\nEnde"
)
WEBVTT = (
    b"WEBVTT - Titel\nKind: captions\n\nNOTE Das ist eine Notiz,\nzwei Zeilen lang\n\n"
    b"STYLE\n::cue { color: red }\n\nREGION\nid:fred\n\n"
    b"intro\n00:01.000 --> 00:04.000 align:start line:0\n<v Ann>Hallo &amp; guten Tag\n\n"
    b"00:00:05.000 --> 00:00:06.000\n<c.loud>Gro\xc3\x9f</c> <00:00:05.500>und klein\n\n"
    b"00:07.000 --> 00:08.000\n- Ja?\n- Nein &lt;3\n"
)
PAGE = """<!DOCTYPE html>
<html lang="de"><head><title>A &amp; B</title><style>p {}</style></head>
<body><h1>Ein  <em>schöner</em> Titel</h1>
<p>Zeile eins.<br>Zeile <a href="x" title="y">zwei</a> &lt;<code>code</code></p>
<ul><li>eins<li>zwei</ul><pre>a
  b</pre><script>var x = "<p>nein</p>";</script></body></html>
"""
PAGE_IN_CAPITALS = """<!DOCTYPE html>
<html lang="en"><head><title>A &amp; B</title><style>p {}</style></head>
<body><h1>EIN <em>SCHÖNER</em> TITEL</h1>
<p>ZEILE EINS.<br>ZEILE <a href="x" title="y">ZWEI</a> &lt;<code>code</code></p>
<ul><li>EINS<li>ZWEI</ul><pre>A
  B</pre><script>var x = "<p>nein</p>";</script></body></html>
"""
MESSAGE = b'{"a": {"message": "%s", "description": "Wozu"}}'
FILES: Mapping[str, tuple[str, Sequence[str], bytes, Sequence[tuple[str, str]], Sequence[str], bytes]] = {
    "lines are texts, blank ones are none": (
        "a.txt",
        (),
        "\ufeffEins\r\n\n \t\nZwei\u2028und\x0bdrei\rvier\nFünf".encode(),
        [("Eins", "line 1"), ("Zwei\u2028und\x0bdrei\rvier", "line 4"), ("Fünf", "line 5")],
        ("One", "Two", "Five"),
        b"\xef\xbb\xbfOne\r\n\n \t\nTwo\nFive",
    ),
    "line feeds in translations of lines are spaces": (
        "a.txt",
        (),
        b"a\nb\r\nc",
        [("a", "line 1"), ("b", "line 2"), ("c", "line 3")],
        ("x\ny\r\nz\r", "x\r", "x\n"),
        b"x y z\nx\r\r\nx ",
    ),
    "untouched cells, quotes and endings stay": (
        "a.csv",
        (),
        b'\xef\xbb\xbfid,"text",note\r\n"1",Hallo," x"\n2,"Hallo ""du""\r\nda",y\r\n\r\n3,"",z',
        [("Hallo", "line 2, column text"), ('Hallo "du"\r\nda', "line 3, column text")],
        ("Hi, all", 'Hi "you"'),
        b'\xef\xbb\xbfid,"text",note\r\n"1","Hi, all"," x"\n2,"Hi ""you""",y\r\n\r\n3,"",z',
    ),
    "a cell in quotes stays in quotes": (
        "a.csv",
        (),
        b'text\n"Hallo"\nHallo\n',
        [("Hallo", "line 2, column text"), ("Hallo", "line 3, column text")],
        ("Hello", "Hello"),
        b'text\n"Hello"\nHello\n',
    ),
    "a cell of several lines keeps their endings": (
        "a.csv",
        (),
        b'id,text\r\n1,"a\r\nb\nc\r\n"",d"\r\n2,e\r\n',
        [('a\r\nb\nc\r\n",d', "line 2, column text"), ("e", "line 6, column text")],
        ("x", "y"),
        b'id,text\r\n1,"x"\r\n2,y\r\n',
    ),
    "an empty text leaves a record": (
        "a.csv",
        (),
        b"text\nHallo\n",
        [("Hallo", "line 2, column text")],
        ("",),
        b'text\n""\n',
    ),
    "numbers count columns and make no header": (
        "a.csv",
        ("2",),
        b"a,b\nc,d\n",
        [("b", "line 1, column 2"), ("d", "line 2, column 2")],
        ("x", "y"),
        b"a,x\nc,y\n",
    ),
    "names make a header also beside numbers": (
        "a.csv",
        ("3", "title"),
        b"id,title,body\n1,a,b\n",
        [("a", "line 2, column title"), ("b", "line 2, column 3")],
        ("x", "y"),
        b"id,title,body\n1,x,y\n",
    ),
    "a header that only semicolons give tells the delimiter": (
        "a.csv",
        (),
        b"id;text\n1;Hallo, Welt\n",
        [("Hallo, Welt", "line 2, column text")],
        ("a;",),
        b'id;text\n1;"a;"\n',
    ),
    "a header that only tabs give tells the delimiter": (
        "a.csv",
        (),
        b"id\ttext\n1\tHallo, Welt\n",
        [("Hallo, Welt", "line 2, column text")],
        ("a\t",),
        b'id\ttext\n1\t"a\t"\n',
    ),
    "an empty file has no entries": ("a.csv", (), b"", [], (), b""),
    "numbers, order and spacing of a changed line stay": (
        "a.jsonl",
        (),
        b'{ "n":1.0e+05,"big" : 123456789012345678901234567890, "text":"Hallo" , "t":true}\r\n',
        [("Hallo", "line 1, key text")],
        ("Hello",),
        b'{ "n":1.0e+05,"big" : 123456789012345678901234567890, "text":"Hello" , "t":true}\r\n',
    ),
    "a text that stays is spelled as it was": (
        "a.jsonl",
        (),
        b'{"text": "\\u0041 \\/ \\u00FC"}\n',
        [("A / ü", "line 1, key text")],
        ("A / ü",),
        b'{"text": "\\u0041 \\/ \\u00FC"}\n',
    ),
    "a value written in ASCII stays in ASCII": (
        "a.jsonl",
        (),
        b'{"text": "Gr\\u00fc\\u00dfe"}\n{"text": "Gr\xc3\xbc\xc3\x9fe"}\n',
        [("Grüße", "line 1, key text"), ("Grüße", "line 2, key text")],
        ("Ähre", "Ähre"),
        b'{"text": "\\u00c4hre"}\n{"text": "\xc3\x84hre"}\n',
    ),
    "keys reach into objects and lists": (
        "a.jsonl",
        ("title.de", "tags", "messages.content"),
        (
            b'{"title": {"de": "Titel", "n": 1}, "tags": ["eins", null, ["zwei"]], "messages": '
            b'[{"role": "user", "content": "drei"}, {"content": "vier"}, 5], "title.de": "flach"}\n'
        ),
        [
            ("Titel", "line 1, key title.de"),
            ("eins", "line 1, key tags[1]"),
            ("zwei", "line 1, key tags[3][1]"),
            ("drei", "line 1, key messages[1].content"),
            ("vier", "line 1, key messages[2].content"),
            ("flach", "line 1, key title.de"),
        ],
        ("Title", "one", "two", "three", "four", "flat"),
        (
            b'{"title": {"de": "Title", "n": 1}, "tags": ["one", null, ["two"]], "messages": '
            b'[{"role": "user", "content": "three"}, {"content": "four"}, 5], "title.de": "flat"}\n'
        ),
    ),
    "lines may lack a key or have nothing for it": (
        "a.jsonl",
        (),
        b'{"id": 1}\n\n{"text": null}\n{"text": ""}\n{"text": "a"}',
        [("a", "line 5, key text")],
        ("b",),
        b'{"id": 1}\n\n{"text": null}\n{"text": ""}\n{"text": "b"}',
    ),
    "numbers may have any number of digits": (
        "a.jsonl",
        (),
        b'{"n": ' + b"1" * 10_000 + b', "text": "Hallo"}',
        [("Hallo", "line 1, key text")],
        ("Hello",),
        b'{"n": ' + b"1" * 10_000 + b', "text": "Hello"}',
    ),
    "cues and turns of speakers are entries and keep their number of lines": (
        "a.srt",
        (),
        SUBRIP,
        [
            ("Hallo, wie geht es dir heute?", "lines 3 to 4"),
            ("Gut.", "line 8"),
            ("Und dir?", "line 9"),
            ('<g i="0">Leise</g> Musik &amp; &lt;3', "line 14"),
            ("Ende", "line 21"),
        ],
        (
            "Hello, how are you doing today?",
            "Fine.",
            "And you?",
            'Soft <g i="0">music</g> &amp; &lt;3',
            "The end",
        ),
        (
            b"\xef\xbb\xbf1\r\n00:00:01,000 --> 00:00:04,074  X1:10 X2:20\r\n"
            b"Hello, how are\r\nyou doing today?\r\n\r\n"
            b"2\r\n00:00:05,000 --> 00:00:06,000\r\n- Fine.\r\n- And you?\r\n\r\n\r\n"
            b"3\n00:00:07,000 --> 00:00:08,000\n{\\an8}Soft <i>music</i> & <3\n\n"
            b"4\n00:00:09,000 --> 00:00:10,000\n\n"
            b"5\n00:00:11,000 --> 00:00:12,000\nThe end"
        ),
    ),
    "other blocks of WebVTT are no entries, and what it would take for markup is written as references": (
        "a.vtt",
        (),
        WEBVTT,
        [
            ("Hallo & guten Tag", "line 15"),
            ('<g i="0">Groß</g> <?p 2?>und klein', "line 18"),
            ("Ja?", "line 21"),
            ("Nein <3", "line 22"),
        ],
        ("Hello & good day", '<?p 2?>small and <g i="0">big</g>', "a --> b", "No <3"),
        WEBVTT.replace(b"Hallo &amp; guten Tag", b"Hello &amp; good day")
        .replace(
            b"<c.loud>Gro\xc3\x9f</c> <00:00:05.500>und klein", b"<00:00:05.500>small and <c.loud>big</c>"
        )
        .replace(b"- Ja?\n- Nein", b"- a --&gt; b\n- No"),
    ),
    "an empty text leaves no blank line in a cue": (
        "a.srt",
        (),
        b"1\n00:00:01,000 --> 00:00:02,000\nja\nund\n- nein\n\n2\n00:00:03,000 --> 00:00:04,000\nEnde\n",
        [("ja und", "lines 3 to 4"), ("nein", "line 5"), ("Ende", "line 9")],
        ("", "no", "end"),
        b"1\n00:00:01,000 --> 00:00:02,000\n- no\n\n2\n00:00:03,000 --> 00:00:04,000\nend\n",
    ),
    "fewer lines end as the cue ended": (
        "a.srt",
        (),
        b"1\r\n00:00:01,000 --> 00:00:02,000\r\nja\r\ndoch",
        [("ja doch", "lines 3 to 4")],
        ("yes",),
        b"1\r\n00:00:01,000 --> 00:00:02,000\r\nyes",
    ),
    "fewer lines keep the blank lines after the cue": (
        "a.srt",
        (),
        b"1\r\n00:00:01,000 --> 00:00:02,000\r\nja\r\ndoch\r\n\n",
        [("ja doch", "lines 3 to 4")],
        ("yes",),
        b"1\r\n00:00:01,000 --> 00:00:02,000\r\nyes\r\n\n",
    ),
    "text after a blank line in a cue of SubRip is an entry": (
        "a.srt",
        (),
        b"1\n00:00:01,000 --> 00:00:02,000\neins\n\nZwei\n\n2\n00:00:03,000 --> 00:00:04,000\nDrei\n",
        [("eins", "line 3"), ("Zwei", "line 5"), ("Drei", "line 9")],
        ("one", "two", "three"),
        b"1\n00:00:01,000 --> 00:00:02,000\none\n\ntwo\n\n2\n00:00:03,000 --> 00:00:04,000\nthree\n",
    ),
    "cues may follow without a blank line": (
        "a.srt",
        (),
        b"1\n00:00:01,000 --> 00:00:02,000\neins\n2\n00:00:03,000 --> 00:00:04,000\nZwei\n",
        [("eins", "line 3"), ("Zwei", "line 6")],
        ("one", "two"),
        b"1\n00:00:01,000 --> 00:00:02,000\none\n2\n00:00:03,000 --> 00:00:04,000\ntwo\n",
    ),
    "blocks of a page are entries whose tags have no names": (
        "a.html",
        (),
        PAGE.encode(),
        [
            ("A & B", "block 1"),
            ('Ein <g i="0">schöner</g> Titel', "block 2"),
            ('Zeile eins.<br i="0"/>Zeile <g i="1">zwei</g> &lt;<x i="3"/>', "block 3"),
            ("eins", "block 4"),
            ("zwei", "block 5"),
            ("a\n  b", "block 6"),
        ],
        (
            "A & B",
            'EIN <g i="0">SCHÖNER</g> TITEL',
            'ZEILE EINS.<br i="0"/>ZEILE <g i="1">ZWEI</g> &lt;<x i="3"/>',
            "EINS",
            "ZWEI",
            "A\n  B",
        ),
        PAGE_IN_CAPITALS.encode(),
    ),
    "readings of ruby in a cue stay and are no part of the sentence": (
        "a.vtt",
        (),
        b"WEBVTT\n\n00:01.000 --> 00:02.000\n<ruby>Haus<rt>reading</rt></ruby> ist da.\n",
        [('<g i="0">Haus<?p 1?></g> ist da.', "line 4")],
        ('<g i="0">House<?p 1?></g> is here.',),
        b"WEBVTT\n\n00:01.000 --> 00:02.000\n<ruby>House<rt>reading</rt></ruby> is here.\n",
    ),
    "readings of ruby in a page stay and are no part of the sentence": (
        "a.html",
        (),
        b"<p>Das <ruby>Haus<rp>(</rp><rt>H&uuml;tte</rt><rp>)</rp></ruby> ist <ruby>neu<rt>n</ruby></p>",
        [('Das <g i="0">Haus<?p 1?><?p 2?><?p 3?></g> ist <g i="5">neu<?p 6?></g>', "block 1")],
        ('The <g i="0">house<?p 1?><?p 2?><?p 3?></g> is <g i="5">new<?p 6?></g>',),
        b"<p>The <ruby>house<rp>(</rp><rt>H&uuml;tte</rt><rp>)</rp></ruby> is <ruby>new<rt>n</ruby></p>",
    ),
    "escapes of SubStation Alpha are characters": (
        "a.ass",
        (),
        "[Script Info]\n[Events]\nDialogue: 0,0,0,0,0,0,0,0,0,a \\{b\\} \\\u2060N c\\hd\n".encode(),
        [("a {b} \\N c\u00a0d", "line 3")],
        ("{b} \\N\u00a0c",),
        "[Script Info]\n[Events]\nDialogue: 0,0,0,0,0,0,0,0,0,\\{b\\} \\\u2060N\\hc\n".encode(),
    ),
    "a paragraph of several lines is one entry and keeps its number of lines": (
        "a.md",
        (),
        b"> Eine Zeile\n> und *noch\n> eine*.\n",
        [('Eine Zeile und <g i="0">noch eine</g>.', "line 1")],
        ('One line and <g i="0">one more</g>.',),
        b"> One line\n> and *one\n> more*.\n",
    ),
    "texts after front matter and in HTML tell their line": (
        "a.md",
        (),
        b"---\na: b\n---\n\nText\n\n<p>x</p>\n",
        [("Text", "line 5"), ("x", "line 7, block 1")],
        ("text", "y"),
        b"---\na: b\n---\n\ntext\n\n<p>y</p>\n",
    ),
    "values of a message are kept": (
        "messages.json",
        (),
        MESSAGE % b"Nr. $1 von $9",
        [('Nr. <x i="0"/> von <x i="1"/>', "line 1, key a")],
        ('No. <x i="0"/> of <x i="1"/>',),
        MESSAGE % b"No. $1 of $9",
    ),
    "amounts in a message are kept": (
        "messages.json",
        (),
        MESSAGE % b"ab $$1.50.",
        [('ab <x i="0"/>.', "line 1, key a")],
        ('from <x i="0"/>.',),
        MESSAGE % b"from $$1.50.",
    ),
    "a dollar sign of a message is kept": (
        "messages.json",
        (),
        MESSAGE % b"ab $$ und $0",
        [('ab <x i="0"/> und $0', "line 1, key a")],
        ('from <x i="0"/> and $0',),
        MESSAGE % b"from $$ and $$0",
    ),
}


@pytest.mark.parametrize("rule", FILES)
def test_texts_are_read_with_their_places_and_written_there(rule: str) -> None:
    name, columns, content, found, translations, result = FILES[rule]
    file_format = open_format(name, FileOptions("de", "en", tuple(columns)))

    assert places(file_format, content) == found
    assert written(file_format, content, *translations) == result
    assert rewritten(file_format, content, own) == content
