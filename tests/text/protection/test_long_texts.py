"""Planning a long text lets other threads run: each search is short, and `pause` is called in between."""

import re
from collections.abc import Sequence
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.errors import TranslationCancelled
from service.text import numbers, patterns
from service.text.context import TextContext
from service.text.marked_text import MarkedText
from service.text.searching import WINDOW, find_all
from service.text.text_plan import plan_text

PIECES = (
    "Der Hund läuft. ", "{name}", "%1$s ", '<a href="x y">', "</a>", "https://ex.org/a?b=(c)d ", "12,5 km ",
    "`code x`", "--opt ", "/usr/bin/x ", " 1.2.3 ", "DE89 3704 0044 0532 0130 00 ", "a1b2c3d4 ", "\n", " ",
    "é\u0301", "@x.de ", "&amp;", "{{", "}}", "{ $n -> [one] ", "192.168.0.1", "x" * 90,
)  # fmt: skip
PATTERNS = (patterns._ALL, patterns.in_select(), numbers._SHAPES, numbers._TOKEN, numbers._NUMBER)
NUM_CHARACTERS = 100_000
LONG = {
    "words and one object": "Der Hund läuft durch den Wald. " * 3_000 + "%s",
    "many objects": "Der Hund läuft 12 km, und {name} sieht ihn am 3. Mai. " * 2_000,
    "braces": "{" * NUM_CHARACTERS,
    "tags without end": "<a " * (NUM_CHARACTERS // 3),
    "digits": "1" * NUM_CHARACTERS + "%s",
}


@settings(max_examples=15)
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=80))
def test_a_search_by_windows_finds_what_a_single_search_finds(pieces: Sequence[str]) -> None:
    text = "".join(pieces)
    text *= 1 + 3 * WINDOW // len(text)

    for pattern in PATTERNS:
        found = [(one.span(), one.lastgroup) for one in find_all(pattern, text)]
        assert found == [(one.span(), one.lastgroup) for one in pattern.finditer(text)]


def test_no_protected_span_begins_within_a_word_or_with_white_space() -> None:
    text = "".join(map("".join, product(PIECES, repeat=2)))

    for within in re.finditer(r"\B\w|\s", text):
        for kind in patterns.KINDS:
            assert re.compile(kind.pattern, re.VERBOSE).match(text, within.start()) is None, kind.name


def test_an_object_that_a_window_cuts_is_found_in_full() -> None:
    url = "https://example.org/" + "x" * (2 * WINDOW)
    text = "Hund " * (WINDOW // 5 - 1_000) + url + " Hund" * WINDOW

    assert [text[one.start : one.end] for one in patterns.find_spans(text)] == [url]


@pytest.mark.parametrize("name", LONG)
def test_planning_pauses_once_a_window_and_ends_when_it_is_cancelled(name: str) -> None:
    num_pauses = 0

    def pause() -> None:
        nonlocal num_pauses
        num_pauses += 1
        if num_pauses == limit:
            raise TranslationCancelled

    limit, context = 0, TextContext("de", "en", pause=pause)
    plan_text(MarkedText(LONG[name]), context)
    assert num_pauses >= len(LONG[name]) // WINDOW

    limit, num_pauses = 5, 0
    with pytest.raises(TranslationCancelled):
        plan_text(MarkedText(LONG[name]), context)
