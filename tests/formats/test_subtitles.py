"""Subtitles: cues are translated, and timings, numbers, settings, comments and styles stay byte for byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.formats.cue_text import TagStyle, break_lines, cue_runs
from service.formats.entries import FileFormat
from service.formats.inline_runs import TextRun, entries_in, fill_runs
from service.formats.registry import open_format
from service.text.tokens import InlineItem, TokenKind
from tests.formats.rewriting import OPTIONS, own, places, rewritten, target_text, texts, written
from tests.markup.marked import unnoted

SRT, VTT = open_format("a.srt", OPTIONS), open_format("a.vtt", OPTIONS)
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
CUES = {
    "cues and turns of speakers are entries and keep their number of lines": (
        "a.srt",
        SRT_FILE,
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
        VTT_FILE,
        [
            ("Hallo & guten Tag", "line 15"),
            ('<g i="0">Groß</g> <?p 2?>und klein', "line 18"),
            ("Ja?", "line 21"),
            ("Nein <3", "line 22"),
        ],
        ("Hello & good day", '<?p 2?>small and <g i="0">big</g>', "a --> b", "No <3"),
        VTT_FILE.replace(b"Hallo &amp; guten Tag", b"Hello &amp; good day")
        .replace(
            b"<c.loud>Gro\xc3\x9f</c> <00:00:05.500>und klein", b"<00:00:05.500>small and <c.loud>big</c>"
        )
        .replace(b"- Ja?\n- Nein", b"- a --&gt; b\n- No"),
    ),
    "an empty text leaves no blank line in a cue": (
        "a.srt",
        b"1\n00:00:01,000 --> 00:00:02,000\nja\nund\n- nein\n\n2\n00:00:03,000 --> 00:00:04,000\nEnde\n",
        [("ja und", "lines 3 to 4"), ("nein", "line 5"), ("Ende", "line 9")],
        ("", "no", "end"),
        b"1\n00:00:01,000 --> 00:00:02,000\n- no\n\n2\n00:00:03,000 --> 00:00:04,000\nend\n",
    ),
    "fewer lines end as the cue ended": (
        "a.srt",
        b"1\r\n00:00:01,000 --> 00:00:02,000\r\nja\r\ndoch",
        [("ja doch", "lines 3 to 4")],
        ("yes",),
        b"1\r\n00:00:01,000 --> 00:00:02,000\r\nyes",
    ),
    "fewer lines keep the blank lines after the cue": (
        "a.srt",
        b"1\r\n00:00:01,000 --> 00:00:02,000\r\nja\r\ndoch\r\n\n",
        [("ja doch", "lines 3 to 4")],
        ("yes",),
        b"1\r\n00:00:01,000 --> 00:00:02,000\r\nyes\r\n\n",
    ),
    "text after a blank line in a cue of SubRip is an entry": (
        "a.srt",
        b"1\n00:00:01,000 --> 00:00:02,000\neins\n\nzwei\n\n2\n00:00:03,000 --> 00:00:04,000\ndrei\n",
        [("eins", "line 3"), ("zwei", "line 5"), ("drei", "line 9")],
        ("one", "two", "three"),
        b"1\n00:00:01,000 --> 00:00:02,000\none\n\ntwo\n\n2\n00:00:03,000 --> 00:00:04,000\nthree\n",
    ),
    "cues may follow without a blank line": (
        "a.srt",
        b"1\n00:00:01,000 --> 00:00:02,000\neins\n2\n00:00:03,000 --> 00:00:04,000\nzwei\n",
        [("eins", "line 3"), ("zwei", "line 6")],
        ("one", "two"),
        b"1\n00:00:01,000 --> 00:00:02,000\none\n2\n00:00:03,000 --> 00:00:04,000\ntwo\n",
    ),
}


@pytest.mark.parametrize("rule", CUES)
def test_cues_are_read_with_their_place_and_written(rule: str) -> None:
    name, content, found, translations, result = CUES[rule]
    subtitles = open_format(name, OPTIONS)

    assert places(subtitles, content) == found
    assert written(subtitles, content, *translations) == result
    with_carriage_returns = content.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    for same in (content, with_carriage_returns):
        assert rewritten(subtitles, same, own) == same


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["Komm her!", "Ich warte."], ["Komm her!", "Ich warte."]),
        (["<i>Komm her!</i>", "Ich warte."], ["Komm her!", "Ich warte."]),
        (["Hallo.", "Wie geht", "es dir?"], ["Hallo.", "Wie geht es dir?"]),
        (["Hallo. Wie geht", "es dir?", "Gut."], ["Hallo. Wie geht es dir?", "Gut."]),
        (["Das ist Dr.", "Meier."], ["Das ist Dr. Meier."]),
        (["Er kam am 3.", "Mai zu uns."], ["Er kam am 3. Mai zu uns."]),
        (["- Ja.", "Nein.", "- Doch!"], ["Ja.", "Nein.", "Doch!"]),
        (["<i>Komm <b>her</i> zu mir."], ['<g i="0">Komm <?p 1?>her</g> zu mir.']),
    ],
)
def test_a_line_of_a_cue_after_which_a_sentence_begins_is_an_entry(
    lines: list[str], expected: list[str]
) -> None:
    content = "1\n00:00:01,000 --> 00:00:04,000\n{}\n".format("\n".join(lines)).encode()

    assert texts(SRT, content) == expected
    assert rewritten(SRT, content, own) == content


@given(
    words=st.lists(st.text("abcdefg", min_size=1, max_size=9), min_size=1, max_size=30),
    num_lines=st.integers(1, 8),
)
def test_lines_are_as_many_as_before_none_is_blank_and_no_word_is_lost(
    words: list[str], num_lines: int
) -> None:
    lines = break_lines([InlineItem(TokenKind.TEXT, " ".join(words))], TagStyle.SRT, num_lines)

    assert len(lines) == min(num_lines, len(words))
    assert [word for line in lines for word in line.split(" ")] == words


@given(st.lists(st.text("abcdefg", min_size=4, max_size=6), min_size=8, max_size=20), st.integers(2, 4))
def test_lines_are_about_as_long_as_one_another(words: list[str], num_lines: int) -> None:
    lines = break_lines([InlineItem(TokenKind.TEXT, " ".join(words))], TagStyle.SRT, num_lines)

    # Both ends of a line are within half a word and its space of where they would best be, and it has no
    # space at its end.
    ideal = len(" ".join(words)) / num_lines
    assert all(abs(len(line) - ideal) <= 7 / 2 + 7 / 2 + 1 for line in lines)


@pytest.mark.parametrize(
    ("cue", "translation", "lines"),
    [
        ("x", "今日は良い天気ですね。散歩へ", ["今日は良い天気", "ですね。散歩へ"]),
        ("x", "はい。", ["は", "い。"]),
        ("<i>eins</i> <b>zwei</b>", '<g i="0">one</g> <g i="2">two</g>', ["<i>one</i>", "<b>two</b>"]),
    ],
)
def test_lines_break_where_the_script_allows_and_before_the_tag_of_a_first_word(
    cue: str, translation: str, lines: list[str]
) -> None:
    [found] = cue_runs(cue, TagStyle.SRT, "")
    assert isinstance(found, TextRun)
    items = found.with_text(target_text(unnoted(translation, found.entry.marked)))
    assert break_lines(items, TagStyle.SRT, 2) == lines


TAGS = [
    "<i>", "</i>", "<b>", "</b>", "<v Ann Lee>", "</v>", "<c.a.b>", "</c>", "<00:01.000>", "{\\an8}", "&",
    "<",
]  # fmt: skip


@given(
    st.lists(st.sampled_from(TAGS) | st.text("ab &;", min_size=1, max_size=4), max_size=12),
    st.sampled_from(TagStyle),
)
def test_all_tags_come_back_from_what_the_translator_is_given(parts: list[str], style: TagStyle) -> None:
    running = " ".join("".join(parts).split())
    found = cue_runs(running, style, "")
    items = fill_runs(found, [entry.text for entry in entries_in(found)])
    lines = break_lines(items, style, 1)

    assert style is not TagStyle.SRT or not lines or lines == [running]


blocks = st.sampled_from(
    [
        "1", "00:00:01,000 --> 00:00:02,000", "00:01.000 --> 00:02.000", "- Ja", "<i>so", "so</i>", "", " ",
        "WEBVTT", "NOTE x", "&amp;",
    ]
)  # fmt: skip


@given(
    st.lists(st.tuples(blocks | st.text("ab<>-{}\\ \r", max_size=4), st.sampled_from(["\n", "\r\n"]))),
    st.sampled_from([(SRT, "00:00:01,000 --> 00:00:02,000\n"), (VTT, "WEBVTT\n\n")]),
)
def test_any_lines_are_written_back_unchanged(
    lines: list[tuple[str, str]], kind: tuple[FileFormat, str]
) -> None:
    subtitles, first = kind
    content = (first + "".join(text + ending for text, ending in lines)).encode()

    assert rewritten(subtitles, content, own) == content


@pytest.mark.parametrize(
    ("cue", "turns"),
    [
        ("[TÜR KNALLT]\nMANN: Komm sofort her!", ["[TÜR KNALLT]", "MANN: Komm sofort her!"]),
        ("[LEISE MUSIK\nIM HAUS]\nkomm doch", ["[LEISE MUSIK IM HAUS]", "komm doch"]),
        ("ANNA: ja\nDR. MÜLLER 2: nein", ["ANNA: ja", "DR. MÜLLER 2: nein"]),
        ("komm her\n(lacht)\nund geh", ["komm her", "(lacht)", "und geh"]),
        (">> ja\n>> nein", ["ja", "nein"]),
        ("\u266a la la \u266a\nwer singt da", ["\u266a la la \u266a", "wer singt da"]),
        ("er kam (wie immer)\nzu spät", ["er kam (wie immer) zu spät"]),
        ("Er sagte: komm\nmit mir", ["Er sagte: komm mit mir"]),
    ],
)
def test_sounds_and_speakers_have_texts_of_their_own(cue: str, turns: list[str]) -> None:
    """Lines that share a sentence are one text, and no others."""
    assert texts(SRT, f"1\n00:00:01,000 --> 00:00:03,000\n{cue}\n".encode()) == turns


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_the_language_of_webvtts_header_follows_the_translation(line_end: str) -> None:
    """Another language stays, and so does all if nothing changed."""
    content = line_end.join(
        ("WEBVTT", "Kind: captions", "Language: de-DE", "", "00:05.000 --> 00:06.000", "Gut")
    )
    foreign = content.replace("de-DE", "fr")

    assert written(VTT, content.encode(), "Good").decode() == content.replace("de-DE", "en").replace(
        "Gut", "Good"
    )
    assert written(VTT, content.encode(), "Gut").decode() == content
    assert written(VTT, foreign.encode(), "Good").decode() == foreign.replace("Gut", "Good")


def test_tags_around_a_sound_are_no_part_of_its_brackets() -> None:
    """`<i>[Hund bellt]</i>` is a sound, too."""
    _, words = texts(SRT, b"1\n00:00:01,000 --> 00:00:03,000\n<i>[Hund bellt]</i>\nwas ist das\n")

    assert words == "was ist das"
