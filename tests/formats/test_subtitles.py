"""Subtitles: cues are translated, and timings, numbers, settings, comments and styles stay byte for byte."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.formats.cue_text import CueText, TagStyle
from service.formats.entries import Entry, FileFormat, FileFormatError, FileOptions
from service.formats.subtitles import SrtFormat, VttFormat
from service.markup.marked_up import parse
from service.markup.options import MarkupLanguage

OPTIONS = FileOptions("de", "en")
SRT, VTT = SrtFormat(OPTIONS), VttFormat(OPTIONS)

SRT_FILE = (
    b"\xef\xbb\xbf1\r\n00:00:01,000 --> 00:00:04,074  X1:10 X2:20\r\nHallo, wie geht\r\nes dir heute?\r\n\r\n"
    b"2\r\n00:00:05,000 --> 00:00:06,000\r\n- Gut.\r\n- Und dir?\r\n\r\n\r\n"
    b"3\n00:00:07,000 --> 00:00:08,000\n{\\an8}<i>Leise</i> Musik & <3\n\n"
    b"4\n00:00:09,000 --> 00:00:10,000\n\n"
    b"5\n00:00:11,000 --> 00:00:12,000\nEnde"
)
VTT_FILE = (
    b"WEBVTT - Titel\nKind: captions\n\nNOTE Das ist eine Notiz,\nzwei Zeilen lang\n\n"
    b"STYLE\n::cue { color: red }\n\nREGION\nid:fred\n\n"
    b"intro\n00:01.000 --> 00:04.000 align:start line:0\n<v Ann>Hallo &amp; guten Tag\n\n"
    b"00:00:05.000 --> 00:00:06.000\n<c.loud>Gro\xc3\x9f</c> <00:00:05.500>und klein\n\n"
    b"00:07.000 --> 00:08.000\n- Ja?\n- Nein &lt;3\n"
)


def read(subtitles: FileFormat, content: bytes) -> list[Entry]:
    return list(subtitles.read(io.BytesIO(content)))


def written(subtitles: FileFormat, content: bytes, *texts: str) -> bytes:
    target = io.BytesIO()
    subtitles.write(io.BytesIO(content), iter(texts), target)
    return target.getvalue()


def plain(entries: list[Entry]) -> list[tuple[str, str]]:
    return [(entry.text, entry.place) for entry in entries]


def test_cues_of_subrip_are_entries_and_so_are_the_turns_of_speakers() -> None:
    assert plain(read(SRT, SRT_FILE)) == [
        ("Hallo, wie geht es dir heute?", "lines 3 to 4"),
        ("Gut.", "line 8"),
        ("Und dir?", "line 9"),
        ('<x i="0"/><g i="1">Leise</g> Musik &amp; &lt;3', "line 14"),
        ("Ende", "line 21"),
    ]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["Komm her!", "Ich warte."], ["Komm her!", "Ich warte."]),
        (["<i>Komm her!</i>", "Ich warte."], ['<g i="0">Komm her!</g>', "Ich warte."]),
        (["Hallo.", "Wie geht", "es dir?"], ["Hallo.", "Wie geht es dir?"]),
        (["Hallo. Wie geht", "es dir?", "Gut."], ["Hallo. Wie geht es dir?", "Gut."]),
        (["Das ist Dr.", "Meier."], ["Das ist Dr. Meier."]),
        (["Er kam am 3.", "Mai zu uns."], ["Er kam am 3. Mai zu uns."]),
        (["- Ja.", "Nein.", "- Doch!"], ["Ja.", "Nein.", "Doch!"]),
    ],
)
def test_a_line_of_a_cue_after_which_a_sentence_begins_is_an_entry(
    lines: list[str], expected: list[str]
) -> None:
    content = "1\n00:00:01,000 --> 00:00:04,000\n{}\n".format("\n".join(lines)).encode()

    found = read(SRT, content)

    assert [entry.text for entry in found] == expected
    assert written(SRT, content, *(entry.text for entry in found)) == content


def test_cues_of_webvtt_are_entries_and_its_other_blocks_are_none() -> None:
    assert plain(read(VTT, VTT_FILE)) == [
        ('<x i="0"/>Hallo &amp; guten Tag', "line 15"),
        ('<g i="0">Groß</g> <x i="1"/>und klein', "line 18"),
        ("Ja?", "line 21"),
        ("Nein <3", "line 22"),
    ]


def test_what_is_marked_up_is_one_text_for_the_translator() -> None:
    for entry in [*read(SRT, SRT_FILE), *read(VTT, VTT_FILE)]:
        if entry.markup is not None:
            assert entry.markup.language is MarkupLanguage.XML
            assert len(parse(entry.text, entry.markup).blocks) == 1


@pytest.mark.parametrize(("subtitles", "content"), [(SRT, SRT_FILE), (VTT, VTT_FILE)])
def test_with_their_own_texts_subtitles_come_back_byte_for_byte(
    subtitles: FileFormat, content: bytes
) -> None:
    texts = [entry.text for entry in read(subtitles, content)]

    assert written(subtitles, content, *texts) == content
    assert written(subtitles, content.replace(b"\n", b"\r\n"), *texts) == content.replace(b"\n", b"\r\n")


def test_translations_stand_in_as_many_lines_and_all_else_as_it_was() -> None:
    result = written(
        SRT,
        SRT_FILE,
        "Hello, how are you doing today?",
        "Fine.",
        "And you?",
        '<x i="0"/>Soft <g i="1">music</g> &amp; &lt;3',
        "The end",
    )

    assert result == (
        b"\xef\xbb\xbf1\r\n00:00:01,000 --> 00:00:04,074  X1:10 X2:20\r\n"
        b"Hello, how are\r\nyou doing today?\r\n\r\n"
        b"2\r\n00:00:05,000 --> 00:00:06,000\r\n- Fine.\r\n- And you?\r\n\r\n\r\n"
        b"3\n00:00:07,000 --> 00:00:08,000\n{\\an8}Soft <i>music</i> & <3\n\n"
        b"4\n00:00:09,000 --> 00:00:10,000\n\n"
        b"5\n00:00:11,000 --> 00:00:12,000\nThe end"
    )


def test_what_webvtt_would_take_for_markup_is_written_as_references() -> None:
    result = written(
        VTT,
        VTT_FILE,
        '<x i="0"/>Hello &amp; good day',
        '<x i="1"/>small and <g i="0">big</g>',
        "a --> b",
        "No <3",
    )

    assert result == VTT_FILE.replace(b"Hallo &amp; guten Tag", b"Hello &amp; good day").replace(
        b"<c.loud>Gro\xc3\x9f</c> <00:00:05.500>und klein", b"<00:00:05.500>small and <c.loud>big</c>"
    ).replace(b"- Ja?\n- Nein", b"- a --&gt; b\n- No")


def test_an_empty_text_leaves_no_blank_line_in_a_cue() -> None:
    cue = b"1\n00:00:01,000 --> 00:00:02,000\nja\nund\n- nein\n\n2\n00:00:03,000 --> 00:00:04,000\nEnde\n"

    assert plain(read(SRT, cue)) == [
        ("ja und", "lines 3 to 4"),
        ("nein", "line 5"),
        ("Ende", "line 9"),
    ]
    assert written(SRT, cue, "", "no", "end") == (
        b"1\n00:00:01,000 --> 00:00:02,000\n- no\n\n2\n00:00:03,000 --> 00:00:04,000\nend\n"
    )


def test_fewer_lines_end_as_the_cue_ended() -> None:
    cue = b"1\r\n00:00:01,000 --> 00:00:02,000\r\nja\r\ndoch"

    assert written(SRT, cue, "yes") == b"1\r\n00:00:01,000 --> 00:00:02,000\r\nyes"
    assert written(SRT, cue + b"\r\n\n", "yes").endswith(b"\r\nyes\r\n\n")


def test_text_after_a_blank_line_in_a_cue_of_subrip_is_an_entry() -> None:
    cue = b"1\n00:00:01,000 --> 00:00:02,000\neins\n\nzwei\n\n2\n00:00:03,000 --> 00:00:04,000\ndrei\n"

    assert [text for text, _ in plain(read(SRT, cue))] == ["eins", "zwei", "drei"]


def test_cues_may_follow_without_a_blank_line() -> None:
    cue = b"1\n00:00:01,000 --> 00:00:02,000\neins\n2\n00:00:03,000 --> 00:00:04,000\nzwei\n"

    assert plain(read(SRT, cue)) == [("eins", "line 3"), ("zwei", "line 6")]
    assert written(SRT, cue, "one", "two") == cue.replace(b"eins", b"one").replace(b"zwei", b"two")


@given(
    words=st.lists(st.text("abcdefg", min_size=1, max_size=9), min_size=1, max_size=30),
    num_lines=st.integers(1, 8),
)
def test_lines_are_as_many_as_before_none_is_blank_and_no_word_is_lost(
    words: list[str], num_lines: int
) -> None:
    text = CueText.of("x", TagStyle.SRT)

    lines = text.break_lines(" ".join(words), num_lines)

    assert len(lines) == min(num_lines, len(words))
    assert [word for line in lines for word in line.split(" ")] == words


@given(st.lists(st.text("abcdefg", min_size=4, max_size=6), min_size=8, max_size=20), st.integers(2, 4))
def test_lines_are_about_as_long_as_one_another(words: list[str], num_lines: int) -> None:
    lines = CueText.of("x", TagStyle.SRT).break_lines(" ".join(words), num_lines)

    # Both ends of a line are within half a word and its space of where they would best be, and it has no
    # space at its end.
    ideal = len(" ".join(words)) / num_lines
    assert all(abs(len(line) - ideal) <= 7 / 2 + 7 / 2 + 1 for line in lines)


def test_text_without_spaces_is_broken_where_its_script_allows() -> None:
    lines = CueText.of("x", TagStyle.SRT).break_lines("今日は良い天気ですね。散歩へ", 2)

    assert lines == ["今日は良い天気", "ですね。散歩へ"]
    assert CueText.of("x", TagStyle.SRT).break_lines("はい。", 3) == ["は", "い。"]


def test_a_line_breaks_before_the_tag_of_its_first_word() -> None:
    text = CueText.of("<i>eins</i> <b>zwei</b>", TagStyle.SRT)

    assert text.break_lines('<g i="0">one</g> <g i="1">two</g>', 2) == ["<i>one</i>", "<b>two</b>"]


TAGS = [
    "<i>",
    "</i>",
    "<b>",
    "</b>",
    "<v Ann Lee>",
    "</v>",
    "<c.a.b>",
    "</c>",
    "<00:01.000>",
    "{\\an8}",
    "&",
    "<",
]


@given(
    st.lists(st.sampled_from(TAGS) | st.text("ab &;", min_size=1, max_size=4), max_size=12),
    st.sampled_from(TagStyle),
)
def test_all_tags_come_back_from_what_the_translator_is_given(parts: list[str], style: TagStyle) -> None:
    running = " ".join("".join(parts).split())
    text = CueText.of(running, style)
    if text.is_blank:
        return

    if text.markup is not None:
        parse(text.entry_text, text.markup)  # well-formed
    lines = text.break_lines(text.entry_text, 1)

    assert len(lines) == 1
    if style is TagStyle.SRT:
        assert lines[0] == running


blocks = st.sampled_from(
    [
        "1",
        "00:00:01,000 --> 00:00:02,000",
        "00:01.000 --> 00:02.000",
        "- Ja",
        "<i>so",
        "so</i>",
        "",
        " ",
        "WEBVTT",
        "NOTE x",
        "&amp;",
    ]
)


@given(
    st.lists(st.tuples(blocks | st.text("ab<>-{}\\ \r", max_size=4), st.sampled_from(["\n", "\r\n"]))),
    st.sampled_from([(SRT, "00:00:01,000 --> 00:00:02,000\n"), (VTT, "WEBVTT\n\n")]),
)
def test_whatever_lines_there_are_come_back(
    lines: list[tuple[str, str]], kind: tuple[FileFormat, str]
) -> None:
    subtitles, first = kind
    content = (first + "".join(text + ending for text, ending in lines)).encode()

    assert written(subtitles, content, *(entry.text for entry in read(subtitles, content))) == content


@pytest.mark.parametrize(
    ("subtitles", "content", "problem"),
    [
        (SRT, b"\nHallo\n", "line 2: a cue with a timing is expected"),
        (SRT, b"WEBVTT\n\n00:01.000 --> 00:02.000\na\n", "line 1: a cue with a timing is expected"),
        (VTT, SRT_FILE, "line 1: WEBVTT is expected"),
        (VTT, b"WEBVTTX\n", "line 1: WEBVTT is expected"),
        (SRT, SRT_FILE + b"\n\xfc", "line 22 is not UTF-8: byte 0xfc at position 1"),
        (
            SRT,
            b"00:00:01,000 --> 00:00:02,000\n" + (b"a" * 99 + b"\n") * 10_102,
            "line 1: more than 1,000,000 characters",
        ),
    ],
)
def test_what_are_no_subtitles_is_refused_with_its_place(
    subtitles: FileFormat, content: bytes, problem: str
) -> None:
    with pytest.raises(FileFormatError, match=f"^{problem}"):
        read(subtitles, content)


def test_writing_takes_as_many_texts_as_reading_gives() -> None:
    with pytest.raises(ValueError, match="fewer texts than entries: none for line 21"):
        written(SRT, SRT_FILE, *"abcd")
    with pytest.raises(ValueError, match="more texts than entries"):
        written(SRT, SRT_FILE, *"abcdef")
