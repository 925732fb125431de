# ruff: noqa: E501 -- files are read more easily unbroken
"""Rules that hold for files of every format, and kinds of files by the ends of their names."""

import gzip
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random

import pytest
from hypothesis import given, settings

from dragoman.types import Translation
from service.formats.compression import CompressedFormat
from service.formats.delimited import CommaFormat, TabFormat
from service.formats.entries import Entry, FileFormatError, FileOptions
from service.formats.json_lines import JsonLinesFormat
from service.formats.parquet import ParquetFormat
from service.formats.plain_text import PlainTextFormat
from service.formats.registry import is_known, open_format, output_name, output_suffix, requested_output
from service.formats.subtitles import SrtFormat, VttFormat
from service.text.context import TextContext
from service.text.marked_text import MarkedText, MarkKind
from tests.formats.fuzz.seeds import FILES
from tests.formats.rewriting import BILINGUAL, OPTIONS, entries, own, rewritten, target_text, texts, written
from tests.formats.string_samples import EXTENSION, STRINGSDICT
from tests.text.markup.marked import SEEDS, outcome
from tests.text.protection.bad_model import translate_badly
from tests.text.protection.test_text_rules import WORDS


@pytest.mark.parametrize("suffix", FILES)
def test_writing_takes_as_many_texts_as_reading_gives(suffix: str) -> None:
    content, file_format = FILES[suffix][0], open_format(f"a{suffix}", OPTIONS)
    own = texts(file_format, content)

    with pytest.raises(ValueError, match=r"fewer texts than entries: none for \w+"):
        written(file_format, content, *own[:-1])
    with pytest.raises(ValueError, match="more texts than entries"):
        written(file_format, content, *own, "one more")


KEYED = b'{"a": {"b": "eins", "c": ["zwei"]}, "a.d": "drei", "e": "vier", "ab": "nein"}'
RULES, MESSAGES, LINES = STRINGSDICT, EXTENSION, b"a=eins\na.b=zwei\nab=drei"


@pytest.mark.parametrize(
    ("name", "content", "columns", "expected"),
    [
        ("a.json", KEYED, ("a.c", "e"), ["zwei", "vier"]),
        ("a.json", KEYED, ("a",), ["eins", "zwei", "drei"]),
        ("a.json", KEYED, ("a", "x.y"), None),
        ("a.csv.gz", gzip.compress(b"a,b\n1,Hallo\n", mtime=0), ("b",), ["Hallo"]),
        ("a.properties", LINES, ("a",), ["eins", "zwei"]),
        ("a.properties", LINES, ("x",), None),
        ("a.stringsdict", RULES, ("greeting",), ["Hallo", "Guten Morgen"]),
        ("a.stringsdict", RULES, ("%d files in %d folders.folders.one",), ["einem Ordner"]),
        ("a.stringsdict", RULES, ("x",), None),
        ("messages.json", MESSAGES, ("app_name",), ['Meine <g i="0">Erweiterung</g>']),
        ("messages.json", MESSAGES, ("x",), None),
    ],
)
def test_columns_of_strings_are_keys_with_all_within_them(
    name: str, content: bytes, columns: tuple[str, ...], expected: list[str] | None
) -> None:
    file_format = open_format(name, FileOptions("de", "en", columns))

    if expected is None:
        with pytest.raises(
            FileFormatError, match=f"^no text has the key {columns[-1]}; choose keys of the file"
        ):
            texts(file_format, content)
    else:
        assert texts(file_format, content) == expected


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.txt", b"\nb\n", "line 2: its translation cannot be written in UTF-8: character 3"),
        ("a.jsonl", b'{"text": "a"}', "line 1, key text: its translation cannot be written"),
        ("a.jsonl", b'{"text": "\\u00fc"}', "line 1, key text: its translation cannot be written"),
        ("a.json", b'{"a": "ja"}', "line 1, key a: its translation cannot be written in UTF-8"),
        (
            "a.xcstrings",
            b'{"sourceLanguage": "de", "strings": {"ja": {}}}',
            "line 1, key ja: its translation cannot be written",
        ),
        ("a.csv", b"text\na\n", "line 2, column text: its translation cannot be written"),
        ("a.parquet", FILES[".parquet"][0], "row 1, column text: its translation cannot be written"),
        ("a.txt.gz", FILES[".txt.gz"][0], "line 1: its translation cannot be written"),
        (
            "a.po",
            FILES[".po"][1],
            r"'\\ud800' of a translation cannot be written in iso8859-1; save the file",
        ),
    ],
)
def test_a_translation_with_invalid_unicode_is_rejected_with_its_position(
    name: str, content: bytes, problem: str
) -> None:
    with pytest.raises(FileFormatError, match=f"^{problem}"):
        rewritten(open_format(name, OPTIONS), content, lambda _: "ab\ud800")


FRAMES = {
    "a.json": '{"a": "•"}',
    "messages.json": '{"a": {"message": "•", "description": "Wozu", "placeholders": {"user": {"content": "$1"}}}}',
    "a.xml": '<resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2">•</resources>',
    "a.ts": "<TS><context><name>a</name><message>•</message></context></TS>",
    "a.xcstrings": '{"sourceLanguage": "de", "strings": {"ja": {"localizations": {"de": •}}}}',
    "a.ass": "[Script Info]\n\n[Events]\nFormat: Start, End, Text\nDialogue: 0:00:01.00,0:00:02.00,•\n",
    "a.yaml": "- &b •\n- *b\n",
}
"""Files, each with a place for what is tried."""
NO_TEXTS: Mapping[str, Sequence[str]] = {
    "a.json": [
        "", " ", "12", "-", "1.5 %", "https://example.org", "/etc/app", "{{name}}: <b>", "{{- html}}",
        "{{when, datetime}}", "$t(key)", '$t(ns:key, {\\"count\\": 1})', "%#@files@", "%1$#@a_b@",
    ],
    "messages.json": ["$USER$", "$1", "$USER$: $2"],
    "a.xml": [
        *(
            f'<string name="a">{text}</string>'
            for text in (
                "@string/other", "@android:string/ok", "?attr/colour", "@null", "%1$s", "12", "", " ",
                '<xliff:g id="a">Marke</xliff:g>', "https://example.org/a",
            )
        ),
        '<string name="a" translatable="false">A</string>',
        '<string-array name="b" translatable="false"><item>B</item></string-array>',
        '<dimen name="c">1dp</dimen><item type="id" name="d">D</item>',
    ],
    "a.ts": [
        "<source>ja</source><translation>yes</translation>",
        '<source>ja</source><translation type="obsolete"></translation>',
        '<source>ja</source><translation type="unfinished">yes?</translation>',
        "<source>%1</source><translation/>",
        "<source>ja</source>",
        "<source>ja</source><translation><numerusform>yes</numerusform><numerusform/></translation>",
        '<source>ja</source><translation variants="yes"><lengthvariant></lengthvariant></translation>',
    ],
    "a.xcstrings": [
        '{"substitutions": {}}',
        '{"stringUnit": {"state": "translated", "value": "a"}, "substitutions": {}}',
        '{"variations": {"plural": {"one": {"stringUnit": {"value": "a"}}}}}',
        '{"variations": {"plural": {"other": {"substitutions": {}}}}}',
    ],
    "a.ass": [r"{\p1}m 0 0 l 1 0{\p0}", r"{\an8}", "", r"\N"],
    "a.yaml": ["1", "1e3", "true", "no", "~", "2020-01-01", "12:30", "!!str ja", "!a ja"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text"), [(name, text) for name, found in NO_TEXTS.items() for text in found]
)
def test_strings_without_words_references_and_what_is_done_are_no_entries(name: str, text: str) -> None:
    assert texts(open_format(name, OPTIONS), FRAMES[name].replace("•", text).encode()) == []


MONOLINGUAL = sorted(FILES.keys() - BILINGUAL - {".pdf"})
KEPT = ["{app}", "12345", "1990", "https://example.org/a", "3e69f4250ce0ef47"]


def wording(random: Random) -> MarkedText:
    words = random.choices([*WORDS, *KEPT], k=random.randint(2, 9))
    return MarkedText(f"Wir {' '.join(words)}.")


def kept(marked: MarkedText) -> Counter[str]:
    """What is there as often in a text as in its translation."""
    found = Counter({each: marked.text.count(each) for each in KEPT})
    return found + Counter(each.shown.value for each in marked.objects)


def inner(marked: MarkedText, suffix: str) -> object:
    """A text with the places of its marks and objects; marks at its edges are outside of it in a file.

    In a presentation, a point after a blank stands for further blanks, which join the run before them.
    """
    inside = [
        (mark.at, mark.kind)
        for mark in marked.marks
        if 0 < mark.at < len(marked.text)
        and not (suffix == ".pptx" and mark.kind is MarkKind.POINT and marked.text[mark.at - 1] == " ")
    ]
    return marked.text, inside, [(each.start, each.end, each.shown) for each in marked.objects]


@pytest.mark.parametrize("suffix", MONOLINGUAL)
@settings(max_examples=4)
@given(random=SEEDS)
def test_texts_are_written_as_their_plans_made_them_and_others_as_they_were(
    suffix: str, random: Random
) -> None:
    file_format = open_format(f"a{suffix}", OPTIONS)

    def said(entry: Entry) -> MarkedText:
        if random.random() < 0.3:
            return entry.marked
        context = TextContext("de", "en", is_message=entry.is_message)
        return outcome(entry.marked, engine, context).marked

    def engine(text: str) -> Translation:
        return translate_badly(text, changes_digits=True)

    for seed in FILES[suffix]:
        content = rewritten(
            file_format,
            seed,
            lambda entry: target_text(wording(random)) if entry.marked.is_plain else own(entry),
        )
        before = entries(file_format, content)
        translated = [said(entry) for entry in before]
        after = entries(file_format, written(file_format, content, *map(target_text, translated)))

        assert [inner(entry.marked, suffix) for entry in after] == [
            inner(marked, suffix) for marked in translated
        ]
        assert [kept(entry.marked) for entry in after] == [kept(entry.marked) for entry in before]
        assert rewritten(file_format, content, own) == content


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("A.B.TXT", PlainTextFormat),
        ("a.ndjson", JsonLinesFormat),
        ("a.csv", CommaFormat),
        ("a.tsv", TabFormat),
        ("a.Parquet", ParquetFormat),
        ("a.srt", SrtFormat),
        ("a.vtt", VttFormat),
    ],
)
def test_the_suffix_of_a_file_name_gives_its_kind_also_before_a_compression_suffix(
    name: str, kind: type
) -> None:
    assert type(open_format(name, OPTIONS)) is kind
    for suffix in (".gz", ".zst", ".GZ"):
        opened = open_format(name + suffix, OPTIONS)
        assert isinstance(opened, CompressedFormat)
        assert (type(opened.inner), opened.suffix) == (kind, suffix.lower())


@pytest.mark.parametrize("name", ["", "a", "txt", "a.doc", "a.gz", "a.txt.gz.gz", "a.txt ", "a.txt.bz2"])
def test_other_names_are_rejected_with_the_kinds_there_are(name: str) -> None:
    assert not is_known(name)
    supported = r"supported are \.txt, \.jsonl, .*, \.epub, .*, also followed by \.gz or \.zst"
    with pytest.raises(FileFormatError, match=supported):
        open_format(name, OPTIONS)


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("a.docm", "a.docx"),
        ("a.mdx", "a.md"),
        ("a.html.erb", "a.html"),
        ("a.ott", "a.odt"),
        ("a.xlsm", "a.xlsx"),
    ],
)
def test_a_file_that_is_read_as_another_kind_keeps_its_suffix(name: str, other: str) -> None:
    assert type(open_format(name, OPTIONS)) is type(open_format(other, OPTIONS))
    assert output_suffix(name, name) == ""
    for one, two in ((name, other), (other, name)):
        with pytest.raises(FileFormatError, match="use the same suffix"):
            output_suffix(one, two)


def test_a_long_name_is_shown_by_its_end() -> None:
    with pytest.raises(FileFormatError, match=rf"^'\.\.\.{'a' * 76}\.doc' has no supported suffix"):
        open_format("a" * 1000 + ".doc", OPTIONS)


@pytest.mark.parametrize(
    ("suffix", "package", "extra", "modules"),
    [(".parquet", "pyarrow", "parquet", ["parquet"]), (".pdf", "pypdfium2", "pdf", ["pdf", "pdf_pages"])],
)
def test_a_format_without_its_library_says_what_to_install(
    suffix: str, package: str, extra: str, modules: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in modules:
        monkeypatch.delitem(sys.modules, f"service.formats.{module}", raising=False)
    monkeypatch.setitem(sys.modules, package, None)

    problem = rf"^\{suffix} files are not read here: the operator has to install dragoman\[{extra}\]$"
    with pytest.raises(FileFormatError, match=problem):
        open_format(f"a{suffix}", OPTIONS)


@pytest.mark.parametrize(
    ("name", "output", "result_name"),
    [
        ("a.txt", "", "a.txt"),
        ("a", "", "a"),
        ("A.B.PDF", "", "A.B.docx"),
        ("a.pdf", ".txt", "a.txt"),
        ("a.pdf.gz", "", "a.docx.gz"),
        ("a.pdf.ZST", ".txt", "a.txt.ZST"),
    ],
)
def test_the_result_has_the_suffix_of_its_format(name: str, output: str, result_name: str) -> None:
    assert output_name(name, output) == result_name


@pytest.mark.parametrize(
    ("name", "requested", "output"),
    [
        ("a.txt", "", ""),
        ("a.txt", "txt", ""),
        ("a.md", "markdown", ""),
        ("a.pdf", "", ""),
        ("a.pdf", "docx", ".docx"),
        ("a.PDF", "TXT", ".txt"),
        ("a.pdf.gz", "txt", ".txt"),
        ("a.pdf.gz", "txt.gz", ".txt"),
    ],
)
def test_a_requested_format_chooses_the_output(name: str, requested: str, output: str) -> None:
    assert requested_output(name, requested) == output


@pytest.mark.parametrize(
    ("name", "requested", "problem"),
    [
        ("a.txt", "docx", "the output must have the format of a.txt; use the same suffix"),
        ("a.pdf", "pdf", "a.pdf can only be written as .docx or .txt; use such a suffix"),
        ("a.pdf", "docx.gz", "a.pdf can only be written as .docx or .txt"),
        ("a.pdf.gz", "odt", "a.pdf.gz can only be written as .docx.gz or .txt.gz"),
        ("a.pdf", "exe", "'.exe' has no supported suffix"),
        ("a.pdf", "docx/../x", "has no supported suffix"),
    ],
)
def test_other_requested_formats_are_rejected(name: str, requested: str, problem: str) -> None:
    with pytest.raises(FileFormatError, match=problem):
        requested_output(name, requested)
