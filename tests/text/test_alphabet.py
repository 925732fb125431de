"""Which words of a text a vocabulary cannot spell, and where pieces and words stand."""

import itertools
import unicodedata

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dragoman.text.alphabet import Alphabet
from dragoman.text.normalization import normalise_segment, normalised_offsets
from dragoman.text.tokenizer import Tokenizer
from dragoman.text.words import group_into_words
from dragoman.types import Span
from tests.linear import is_linear
from tests.text.conftest import GERMAN, train_model

SHARED_ALPHABET = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
LETTERS = (("abcdefghijklmnopqrstuvwxyz äöüß ABCDEFGHIJKLMNOPQRSTUVWXYZ ÄÖÜ ():,.!-",) * 40,)
"""Often enough for the trainer to give each a piece."""
CHINESE = (("我", "你", "他们"), ("在学习", "在工作"), ("中文。", "数学。"))


@pytest.fixture(scope="module")
def with_bytes(tmp_path_factory: pytest.TempPathFactory) -> Alphabet:
    """Of a German and English vocabulary that spells everything else in bytes."""
    return _alphabet(tmp_path_factory, train_model((GERMAN, LETTERS), 360))


@pytest.fixture(scope="module")
def without_bytes(tmp_path_factory: pytest.TempPathFactory) -> Alphabet:
    """Of one that has a single unknown piece for everything else."""
    return _alphabet(tmp_path_factory, train_model((GERMAN, LETTERS), 104, has_bytes=False))


def _alphabet(factory: pytest.TempPathFactory, model: bytes) -> Alphabet:
    path = factory.mktemp("vocabulary") / "source.spm"
    path.write_bytes(model)
    return Alphabet(Tokenizer.load(path))


def words(alphabet: Alphabet, text: str) -> list[str]:
    return [text[start:end] for start, end in alphabet.unknown_spans(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Das Wort Привет, heute", ["Привет"]),
        ("Lew Tolstoi (Лев Толстой, граф)", ["Лев Толстой, граф"]),
        ("Die Stadt 北京 und 東京.", ["北京", "東京"]),
        ("Das 東京Tower-Haus", ["東京Tower"]),
        ("Der Nachbar Łukasz Wałęsa", ["Łukasz Wałęsa"]),
        ("Die Straße von हिन्दी und می‌خواهم", ["हिन्दी", "می‌خواهم"]),
        ("Im Garten: Привет\nund vor dem Haus: мир", ["Привет", "мир"]),
    ],
)
def test_a_word_with_a_letter_that_the_vocabulary_lacks_is_unknown(
    with_bytes: Alphabet, without_bytes: Alphabet, text: str, expected: list[str]
) -> None:
    assert words(with_bytes, text) == expected
    assert words(without_bytes, text) == expected


@pytest.mark.parametrize(
    "text",
    ["Der Hund läuft.", "DIE STRAẞE", "Der Hund\u00a0\u200b\tlauft e\u0308", "Der Hund \ud800", "", "\n"],
)
def test_letters_in_another_case_or_form_and_invisible_characters_are_known(
    with_bytes: Alphabet, text: str
) -> None:
    assert words(with_bytes, text) == []


def test_western_letters_and_punctuation_are_unknown_only_without_bytes(
    with_bytes: Alphabet, without_bytes: Alphabet
) -> None:
    text = "Der „Café“ im Garten 👍🏽👩‍🚀 ∈ ½!"

    assert words(with_bytes, text) == ["👍🏽👩‍🚀 ∈"]
    assert words(without_bytes, text) == ["„Café“", "👍🏽👩‍🚀 ∈ ½"]


def test_a_line_of_hardly_anything_but_unknown_letters_is_left_to_the_engine(with_bytes: Alphabet) -> None:
    assert words(with_bytes, "Привет, как дела?\nDer Hund: Привет\nこれは日本語の文です OK") == ["Привет"]


def test_a_rare_letter_does_not_make_a_sentence_without_spaces_unknown(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    chinese = _alphabet(tmp_path_factory, train_model((CHINESE,), 274))

    assert words(chinese, "我在学习龘数学。") == []
    assert words(chinese, "我在学习 Łukasz。") == ["Łukasz"]


@SHARED_ALPHABET
@given(text=st.text())
def test_unknown_words_are_parts_of_the_text_in_order_and_apart(with_bytes: Alphabet, text: str) -> None:
    found = with_bytes.unknown_spans(text)

    bounds = [bound for span in found for bound in span]
    assert bounds == sorted(set(bounds))
    assert all(0 <= start < end <= len(text) for start, end in found)
    assert all("\n" not in text[start:end] for start, end in found)


@pytest.mark.parametrize("unit", ["я", "я ", "a я", "яa", "👍", "👍a", "\u0301", "я\n", "日a", "a, "])
def test_twice_the_text_takes_twice_the_calls(without_bytes: Alphabet, unit: str) -> None:
    assert is_linear(lambda size: without_bytes.unknown_spans(f"Der Hund {unit * size} "))
    assert is_linear(lambda size: without_bytes.unknown_spans(f"Der Hund {unit * 50} " * size), 5)


SHARED_TOKENIZER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
SEGMENTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\u2581"))
PLAIN = st.text("aäß .,-日本1½e\u0301\u00ad\n\ufb01\ufb03")


@given(text=SEGMENTS | PLAIN)
def test_every_character_of_a_normalised_text_has_a_place_in_it(text: str) -> None:
    places = normalised_offsets(text)

    assert len(places) == len(normalise_segment(text)) + 1
    assert places == sorted(places)
    assert 0 <= places[0] <= places[-1] <= len(text)


@given(text=PLAIN)
def test_text_between_offsets_normalises_to_its_characters(text: str) -> None:
    places, normalised = normalised_offsets(text), normalise_segment(text)
    bounds = [index for index in range(len(normalised)) if not index or places[index - 1] < places[index]]

    for start, end in itertools.pairwise([*bounds, len(normalised)] if bounds else []):
        between = text[places[start] : places[end]]
        assert normalise_segment(between) == normalised[start:end].strip()


def test_dropped_and_composed_characters_move_what_follows() -> None:
    assert normalised_offsets(" \u00adGro\u0308\u00df  x ") == [2, 3, 4, 6, 7, 9, 10]
    assert normalised_offsets("o\ufb03n") == [0, 1, 1, 1, 2, 3]


def _trim_span(text: str) -> str:
    """Normalised; what a space held apart, as a letter and its accent, comes together."""
    return unicodedata.normalize("NFKC", normalise_segment(text).replace(" ", ""))


@example(segment="A \u0300")
@settings(SHARED_TOKENIZER)
@given(segment=SEGMENTS | PLAIN)
def test_the_pieces_of_a_source_stand_in_order_and_hold_all_that_is_visible(
    tokenizer: Tokenizer, segment: str
) -> None:
    spans = tokenizer.source_spans(segment)

    assert len(spans) == tokenizer.count(segment)
    assert all(span.start <= span.end for span in spans)
    assert spans == sorted(spans)
    shown = "".join(segment[start:end] for start, end in spans)
    assert _trim_span(shown) == _trim_span(segment)


@settings(SHARED_TOKENIZER)
@given(segment=SEGMENTS | PLAIN)
def test_the_pieces_of_a_target_stand_in_its_text_in_order(tokenizer: Tokenizer, segment: str) -> None:
    (ids,) = tokenizer.encode([segment])
    (text,) = tokenizer.decode([ids])

    spans = tokenizer.target_spans(ids)

    assert len(spans) == len(ids)
    assert spans == sorted(spans)
    assert "".join(text[start:end] for start, end in spans) == "".join(text.split(" "))


def words_of(text: str, *pieces: str) -> list[str]:
    """Words of a text that is made of pieces, in order."""
    spans, at = [], 0
    for piece in pieces:
        start = text.index(piece, at)
        at = start + len(piece)
        spans.append(Span(start, at))
    found = group_into_words(text, spans)
    assert sorted(piece for word in found for piece in word.pieces) == list(range(len(pieces)))
    return [text[word.span.start : word.span.end] for word in found]


@pytest.mark.parametrize(
    ("text", "pieces", "expected"),
    [
        ("Fuß ball spielt.", "Fu ß ball spiel t .", "Fuß ball spielt ."),
        ('"Ja", sie.', '" Ja " , sie .', '" Ja " , sie .'),
        ("私は学生です。", "私 は 学生 です 。", "私 は 学生 です 。"),  # a script without spaces
    ],
)
def test_pieces_of_a_word_are_put_together_and_punctuation_stays_apart(
    text: str, pieces: str, expected: str
) -> None:
    assert words_of(text, *pieces.split()) == expected.split()


def test_parts_of_a_character_belong_to_the_word_that_it_is_in() -> None:
    found = group_into_words("a½", [Span(0, 1), Span(1, 1), Span(1, 2)])

    assert [(word.span, word.pieces) for word in found] == [(Span(0, 2), (0, 1, 2))]
    assert group_into_words("a", [Span(0, 1), Span(1, 1)])[0].pieces == (0, 1)
    assert group_into_words("", []) == []
