"""Subtitles of SubStation Alpha."""

import pytest

from service.formats.ass_subtitles import AssFormat
from tests.formats.rewriting import OPTIONS, places, rewritten, shouted, texts
from tests.formats.string_samples import ASS

FORMAT = AssFormat(OPTIONS)
HEAD = "[Script Info]\n\n[Events]\nFormat: Start, End, Text\n"


def _event(text: str) -> bytes:
    return f"{HEAD}Dialogue: 0:00:01.00,0:00:02.00,{text}\n".encode()


def test_texts_of_events_are_entries_and_all_else_stays() -> None:
    assert places(FORMAT, ASS) == [
        ('Ich habe, ein <g i="0">kleines</g> Haus.', "line 11"),
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
        (r"{\pos(1,2)}Ja", "x", r"{\pos(1,2)}x"),
        (r"Ja{\pos(1,2)} du", "x<?p 0?> y", r"x{\pos(1,2)} y"),
        ("Ja, eins, zwei", "one, two", "one, two"),
        ("Ja", "", ""),
    ],
)
def test_translations_are_escaped_and_keep_tags(text: str, said: str, result: str) -> None:
    assert rewritten(FORMAT, _event(text), lambda _: said) == _event(result)


def test_own_escapes_are_read_again() -> None:
    written = rewritten(FORMAT, _event("Ja"), lambda _: "a {b} \\N c\u00a0d")

    assert texts(FORMAT, written) == ["a {b} \\N c\u00a0d"]
