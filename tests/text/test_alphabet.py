"""Which words of a text a vocabulary cannot spell."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman.text.alphabet import Alphabet
from dragoman.text.tokenizer import Tokenizer
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
