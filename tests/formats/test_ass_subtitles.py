"""Subtitles of SubStation Alpha."""

import pytest

from service.formats.ass_subtitles import AssFormat
from service.formats.entries import FileFormatError
from tests.formats.rewriting import OPTIONS, entries, places, rewritten, shouted, texts
from tests.formats.string_samples import ASS

FORMAT = AssFormat(OPTIONS)
HEAD = "[Script Info]\n\n[Events]\nFormat: Start, End, Text\n"


def _event(text: str) -> bytes:
    return f"{HEAD}Dialogue: 0:00:01.00,0:00:02.00,{text}\n".encode()


def test_texts_of_events_are_entries_and_all_else_stays() -> None:
    assert places(FORMAT, ASS) == [
        ('<x i="0"/>Ich habe, ein <g i="1">kleines</g> Haus.', "line 11"),
        ("Gut.", "line 12"),
        ("Ja,\u00a0na{klar}.", "line 12"),
    ]
    assert rewritten(FORMAT, ASS, shouted) == ASS.replace(
        rb"Ich habe,\Nein {\i1}kleines{\i0} Haus.", rb"ICH HABE, EIN\N{\i1}KLEINES{\i0} HAUS."
    ).replace(rb"- Gut.\N- Ja,\hna\{klar\}.", rb"- GUT.\N- JA,\hNA\{KLAR\}.")


@pytest.mark.parametrize(
    ("text", "said", "result"),
    [
        (r"Ja,\ndas", "one two", r"one\ntwo"),
        ("Ja", "a {b} \\N c\u00a0d", "a \\{b\\} \\\u2060N c\\hd"),
        (r"{\pos(1,2)}Ja", 'x<x i="0"/>', r"x{\pos(1,2)}"),
        ("Ja, eins, zwei", "one, two", "one, two"),
        ("Ja", "", ""),
    ],
)
def test_translations_are_escaped_and_keep_tags(text: str, said: str, result: str) -> None:
    assert rewritten(FORMAT, _event(text), lambda _: said) == _event(result)


def test_own_escapes_are_read_again() -> None:
    written = rewritten(FORMAT, _event("Ja"), lambda _: "a {b} \\N c\u00a0d")

    assert texts(FORMAT, written) == ["a {b} \\N c\u00a0d"]


@pytest.mark.parametrize("text", [r"{\p1}m 0 0 l 1 0{\p0}", r"{\an8}", "", r"\N"])
def test_drawings_and_events_without_words_stay(text: str) -> None:
    assert texts(FORMAT, _event(text)) == []


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"1\n00:00:01,000 --> 00:00:02,000\na\n", r"line 1: \[Script Info\] is expected"),
        (b"[Events]\nDialogue: a\n", r"line 1: \[Script Info\] is expected"),
        (b"[Script Info]\n[Events]\nFormat: Text, Start\n", "line 3: the last field of events must be Text"),
        (b"[Script Info]\n[Events]\nDialogue: 0,a\n", "line 3: an event has 2 fields instead of 10"),
        (b"[Script Info]\n\xff", "line 2 is not UTF-8"),
        (_event("a" * 1_000_001), "line 5: a text is longer than 1,000,000 characters"),
    ],
)
def test_what_is_no_script_is_rejected(content: bytes, problem: str) -> None:
    with pytest.raises(FileFormatError, match=f"^{problem}"):
        entries(FORMAT, content)
