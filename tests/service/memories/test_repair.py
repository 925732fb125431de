"""Translations of similar texts that differ only in numbers and placeholders."""

import pytest

from dragoman.types import Pair
from service.memories.pairs import SegmentPair
from service.memories.repair import find_repaired, repaired_target, repairer
from service.memories.similarity import SimilarityIndex

LANGUAGES = Pair("de", "en")
PAGE = SegmentPair("Seite 5 von 10", "Page 5 of 10")


@pytest.mark.parametrize(
    ("text", "source", "target", "expected"),
    [
        ("Seite 12 von 240", "Seite 5 von 10", "Page 5 of 10", "Page 12 of 240"),
        ("Seite 10 von 5", "Seite 5 von 10", "Page 5 of 10", "Page 10 of 5"),
        (" Seite  7 von 10 ", "Seite 5 von 10", "Page 5 of 10", " Page 7 of 10 "),
        ("Es kostet 1.250,50 €.", "Es kostet 1.000,00 €.", "It is 1,000.00 €.", "It is 1,250.50 €."),
        (
            "Hallo {vorname}: %d neue",
            "Hallo {name}: %d neue",
            "Hello {name}: %d new",
            "Hello {vorname}: %d new",
        ),
        ("Siehe <b>4</b>", "Siehe <b>3</b>", "See <b>3</b>", "See <b>4</b>"),
    ],
)
def test_numbers_and_placeholders_of_the_text_take_the_place_of_the_stored_ones(
    text: str, source: str, target: str, expected: str
) -> None:
    assert repaired_target(text, SegmentPair(source, target), LANGUAGES) == expected


@pytest.mark.parametrize(
    ("text", "source", "target"),
    [
        ("Ein Hund rennt.", "Eine Katze rennt.", "A cat runs."),
        ("Blatt 5 von 10", "Seite 5 von 10", "Page 5 of 10"),
        ("Seite 5", "Seite 5 von 10", "Page 5 of 10"),
        ("Zimmer 3", "Zimmer 2", "Room two"),
        ("Zimmer 3 und 4", "Zimmer 2 und 2", "Rooms 2 and 2"),
        ("Um 17:30 Uhr", "Um 16:30 Uhr", "At 4:30 pm"),
    ],
)
def test_any_other_difference_leaves_the_text_to_the_model(text: str, source: str, target: str) -> None:
    assert repaired_target(text, SegmentPair(source, target), LANGUAGES) is None


def test_the_most_similar_pair_that_can_be_repaired_is_used_from_its_score_on() -> None:
    index = SimilarityIndex([SegmentPair("Seite 7 von zehn", "Page 7 of ten"), PAGE])
    text = "Seite 7 von 12"
    found = find_repaired(text, index, 0.5, LANGUAGES)

    assert found is not None
    assert found.repaired is not None
    assert (found.repaired.source, found.target) == (PAGE.source, "Page 7 of 12")
    assert find_repaired(text, index, found.repaired.score, LANGUAGES) == found
    assert find_repaired(text, index, found.repaired.score + 0.01, LANGUAGES) is None


def test_equal_sources_only_are_used_at_a_hundred_per_cent() -> None:
    assert repairer([PAGE], 1.0, LANGUAGES)("Seite 5 von 11") is None
    assert repairer([PAGE], 0.99, LANGUAGES)("Seite 5 von 11") is None
    assert repairer([PAGE], 0.75, LANGUAGES)("Seite 5 von 11") == "Page 5 of 11"
