"""Names are many, and the same in both languages."""

import re

import pytest

from tests.training.conftest import copies_of
from training.corpus import TextPair
from training.variants import names
from training.variants.drawing import Maker, stream

ALWAYS = 1 - 1e-9


def drawn(maker: Maker[str], count: int = 3000) -> set[str]:
    return {maker(stream(seed, "test")) for seed in range(count)}


@pytest.mark.parametrize(
    ("maker", "fewest"),
    [
        (names.first_name, 700),
        (names.last_name, 1000),
        (names.full_name, 2900),
        (names.town, 700),
        (names.street, 1500),
        (names.product, 1200),
    ],
)
def test_there_are_many_names_of_each_kind(maker: Maker[str], fewest: int) -> None:
    found = drawn(maker)

    assert len(found) > fewest
    assert all(re.fullmatch(r"\S+(?: \S+)*", name) for name in found)


@pytest.mark.parametrize("name", ["Essen", "Regen", "Reading", "Halle", "Worms"])
def test_towns_that_are_words_are_among_the_names(name: str) -> None:
    assert name in names.TOWNS


def test_a_german_street_is_followed_and_an_english_one_preceded_by_its_number() -> None:
    for address in drawn(names.street_address):
        is_german = re.search(r"(allee|gasse|platz|ring|steig|straße|weg) \d+$", address, re.IGNORECASE)
        assert bool(is_german) != bool(re.match(r"\d+ ", address)), address


def test_a_shared_name_often_becomes_another_name_on_both_sides() -> None:
    pairs = [TextPair(f"Nummer {n} gehört Thomas.", f"Number {n} belongs to Thomas.") for n in range(2, 300)]
    plain = re.compile(r"belongs to ([^\W\d_][\w '-]*)\.")
    others = set()
    for _, _, copy in copies_of(pairs, {"copied_inside": ALWAYS}):
        if (name := plain.search(copy.target)) and name[1] != "Thomas":
            assert f"gehört {name[1]}." in copy.source
            others.add(name[1])
    assert len(others) > 40
