"""Subtitles: cues are translated, and timings, numbers, settings, comments and styles stay byte for byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.formats.cue_text import TagStyle, break_lines, cue_runs
from service.formats.entries import FileFormat
from service.formats.inline_runs import TextRun, entries_in, fill_runs
from service.formats.registry import open_format
from service.text.tokens import InlineItem, TokenKind
from tests.formats.rewriting import OPTIONS, own, rewritten, target_text, texts
from tests.text.markup.marked import unnoted

SRT, VTT = open_format("a.srt", OPTIONS), open_format("a.vtt", OPTIONS)


@given(
    words=st.lists(st.text("abcdefg", min_size=1, max_size=9), min_size=1, max_size=30),
    num_lines=st.integers(1, 8),
)
def test_lines_are_as_many_and_about_as_long_as_before_none_is_blank_and_no_word_is_lost(
    words: list[str], num_lines: int
) -> None:
    lines = break_lines([InlineItem(TokenKind.TEXT, " ".join(words))], TagStyle.SRT, [1] * num_lines)

    assert len(lines) == min(num_lines, len(words))
    assert [word for line in lines for word in line.split(" ")] == words
    longest = max(map(len, words))
    ideal = len(" ".join(words)) / num_lines
    # Both ends of a line are within half a word and its space of where they would best be, and it has no
    # space at its end; unless each line needs one of few words.
    assert ideal < 2 * longest or all(abs(len(line) - ideal) <= longest + 2 for line in lines)


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
    assert break_lines(items, TagStyle.SRT, [1, 1]) == lines


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
    items = fill_runs(found, map(own, entries_in(found)))
    lines = break_lines(items, style, [1])

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
        ("Komm her!\nIch warte.", ["Komm her!", "Ich warte."]),
        ("<i>Komm her!</i>\nIch warte.", ["Komm her!", "Ich warte."]),
        ("Hallo.\nWie geht\nes dir?", ["Hallo.", "Wie geht es dir?"]),
        ("Hallo. Wie geht\nes dir?\nGut.", ["Hallo. Wie geht es dir?", "Gut."]),
        ("Das ist Dr.\nMeier.", ["Das ist Dr. Meier."]),
        ("Er kam am 3.\nMai zu uns.", ["Er kam am 3. Mai zu uns."]),
        ("- Ja.\nNein.\n- Doch!", ["Ja.", "Nein.", "Doch!"]),
        ("<i>Komm <b>her</i> zu mir.", ['<g i="0">Komm <?p 1?>her</g> zu mir.']),
        ("[TÜR KNALLT]\nMANN: Komm sofort her!", ["[TÜR KNALLT]", "MANN: Komm sofort her!"]),
        ("[LEISE MUSIK\nIM HAUS]\nkomm doch", ["[LEISE MUSIK IM HAUS]", "komm doch"]),
        ("ANNA: ja\nDR. MÜLLER 2: nein", ["ANNA: ja", "DR. MÜLLER 2: nein"]),
        ("komm her\n(lacht)\nund geh", ["komm her", "(lacht)", "und geh"]),
        (">> ja\n>> nein", ["ja", "nein"]),
        ("\u266a la la \u266a\nwer singt da", ["\u266a la la \u266a", "wer singt da"]),
        ("<i>[Hund bellt]</i>\nwas ist das", ["[Hund bellt]", "was ist das"]),
        ("er kam (wie immer)\nzu spät", ["er kam (wie immer) zu spät"]),
        ("Er sagte: komm\nmit mir", ["Er sagte: komm mit mir"]),
    ],
)
def test_sentences_sounds_and_speakers_have_texts_of_their_own(cue: str, turns: list[str]) -> None:
    """Lines that share a sentence are one text, and no others."""
    assert texts(SRT, f"1\n00:00:01,000 --> 00:00:03,000\n{cue}\n".encode()) == turns


@pytest.mark.parametrize(
    ("said", "result"),
    [
        (
            "I wanted to tell you that I bought the house.",
            ("I wanted to tell you that", "I bought the house."),
        ),
        ("Bought.", ("Bought.", "")),
        ("", ("", "")),
    ],
)
@pytest.mark.parametrize(
    ("file_format", "cues"),
    [
        (SRT, "1\r\n00:05,0 --> 00:06,0\r\n{}\r\n\r\n2\r\n00:06,0 --> 00:07,0\r\n{}\r\n"),
        (VTT, "WEBVTT\n\n00:05.000 --> 00:06.000\n{}\n\na\n00:06.000 --> 00:07.000\n{}\n"),
    ],
)
def test_a_sentence_over_two_cues_is_one_text_and_is_parted_again(
    file_format: FileFormat, cues: str, said: str, result: tuple[str, str]
) -> None:
    content = cues.replace("00:0", "00:00:0").format(
        "Ich wollte dir sagen, dass ich", "das Haus gekauft habe."
    )

    assert texts(file_format, content.encode()) == ["Ich wollte dir sagen, dass ich das Haus gekauft habe."]
    assert rewritten(file_format, content.encode(), own).decode() == content
    found = rewritten(file_format, content.encode(), lambda _: said).decode()
    assert [line for line in found.splitlines() if line] == [
        line for line in cues.replace("00:0", "00:00:0").format(*result).splitlines() if line
    ]


def test_cues_that_end_with_a_stop_or_begin_again_are_texts_of_their_own() -> None:
    cues = ["Komm mit.", "das Haus", "Der Hund", "- und du?", "[Musik]", "(lacht)"]
    content = "".join(f"1\n00:00:01,000 --> 00:00:02,000\n{cue}\n\n" for cue in cues)

    assert texts(SRT, content.encode()) == [*cues[:3], "und du?", *cues[4:]]
