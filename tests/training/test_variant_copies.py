"""The copies of pairs: how many, in which order, always the same; and how they are shown."""

import itertools
from collections.abc import Callable

import pytest

from tests.imports.export.conftest import RunMain
from tests.training.conftest import (
    ENGLISH_TO_GERMAN,
    GERMAN_TO_ENGLISH,
    MADE,
    Recipe,
    WriteRecipe,
    change,
    copies_of,
    corpus_of,
)
from training.config import Variants
from training.corpus import TextPair
from training.show_variants import main
from training.variants.copies import add_variants, copied
from training.variants.inserts import Languages

SENTENCES = [
    TextPair(f"Der größere Hund sah Tom um {n} Uhr.", f"The Dog saw Tom at {n}.") for n in range(400)
]
CONTROLS = {"terms", "formality", "informal", "neutral_formality"}
"""They have a test module of their own."""
UNFITTING = {"abbreviated", "chat", "quotes", "repeated", "spoken_times"}
"""Variants that fit no sentence: they lack quotation marks, minutes, long words and have many words."""
ALL = {name: 0.2 for name in Variants.model_fields if name not in {"single_words", *CONTROLS}}


def test_pairs_are_read_one_at_a_time() -> None:
    endless = (TextPair(f"Hund {n}.", f"dog {n}.") for n in itertools.count())

    result = add_variants(endless, corpus_of(ALL), 1, GERMAN_TO_ENGLISH)

    assert len(list(itertools.islice(result, 50))) == 50


def test_copies_follow_their_pair_and_pairs_stay_in_order() -> None:
    result = list(add_variants(SENTENCES, corpus_of(ALL), 1, GERMAN_TO_ENGLISH))
    by_pair = list(copied(SENTENCES, corpus_of(ALL), 1, GERMAN_TO_ENGLISH))

    assert [pair for pair, _ in by_pair] == SENTENCES
    assert result == [line for pair, copies in by_pair for line in (pair, *(copy for _, copy in copies))]


SHAPES: dict[str, Callable[[TextPair], TextPair]] = {
    "lower_source": lambda pair: TextPair(pair.source.lower(), pair.target),
    "small_first": lambda pair: TextPair("d" + pair.source[1:], pair.target),
    "upper": lambda pair: TextPair(pair.source.upper(), pair.target.upper()),
    "no_final_stop": lambda pair: TextPair(pair.source[:-1], pair.target[:-1]),
    "spelt_umlauts": lambda pair: TextPair(pair.source.replace("öß", "oess"), pair.target),
}


@pytest.mark.parametrize("name", sorted(ALL))
def test_a_share_counts_only_the_pairs_that_the_variant_fits_and_the_seed_draws_them(name: str) -> None:
    """Other numbers do not fit those of 0 and 1."""
    copies, again, other = (copies_of(SENTENCES, {name: 0.25}, seed) for seed in (1, 1, 2))

    assert {variant for _, variant, _ in copies} == (set() if name in UNFITTING else {name})
    assert name in UNFITTING or 70 <= len(copies) <= 130
    for pair, _, copy in copies:
        assert copy != pair
        assert name not in SHAPES or copy == SHAPES[name](pair)
    assert copies == again
    assert name in UNFITTING or {pair for pair, _, _ in copies} != {pair for pair, _, _ in other}


def test_things_to_copy_differ_from_corpus_to_corpus() -> None:
    corpora = (corpus_of({"copied_beside": 0.5}, name) for name in ("tiny", "large"))
    tiny, large = (set(add_variants(SENTENCES, corpus, 1, GERMAN_TO_ENGLISH)) for corpus in corpora)

    assert tiny & large == set(SENTENCES)


def test_an_additional_variant_does_not_change_the_copies_of_the_others() -> None:
    alone = copies_of(SENTENCES, {"typo": 0.3, "lower_source": 0.1})
    together = copies_of(SENTENCES, {**ALL, "typo": 0.3, "lower_source": 0.1})

    assert alone == [found for found in together if found[1] in {"typo", "lower_source"}]


def joined_copies(*pairs: tuple[str, str], languages: Languages = GERMAN_TO_ENGLISH) -> list[TextPair]:
    found = copies_of([TextPair(*pair) for pair in pairs], {"joined": 0.999999}, languages=languages)
    return [copy for _, _, copy in found]


SIE = ("Wo wohnen Sie?", "Where do you live?"), ("Können Sie warten?", "Can you wait?")
DU = ("Wie heißt du?", "What is your name?")
NOBODY = ("Die Katze schläft.", "The cat is asleep.")
UNCLEAR = ("Bitte warten!", "Please wait!")


@pytest.mark.parametrize(
    ("pairs", "is_joined"),
    [
        (SIE, True),
        ((SIE[0], DU), False),
        ((SIE[0], NOBODY), True),
        ((NOBODY, DU), True),
        ((DU, UNCLEAR), False),
        ((UNCLEAR, SIE[0]), False),
        ((SIE[0], SIE[0]), False),
    ],
)
def test_neighbours_are_joined_in_order_unless_they_may_differ_in_the_form_of_address(
    pairs: tuple[tuple[str, str], tuple[str, str]], *, is_joined: bool
) -> None:
    german, english = (" ".join(pair[side] for pair in pairs) for side in (0, 1))
    swapped = [(pair[1], pair[0]) for pair in pairs]

    assert joined_copies(*pairs) == [TextPair(german, english)] * is_joined
    assert joined_copies(*swapped, languages=ENGLISH_TO_GERMAN) == [TextPair(english, german)] * is_joined


def test_only_sentences_are_joined() -> None:
    assert joined_copies(("Speichern", "Save"), ("Wie geht es?", "How is it?"), ("Gut.", "Fine")) == []


def test_no_copy_is_empty() -> None:
    pairs = [TextPair("...", "."), TextPair("Ja.", "."), TextPair("!", "!")]

    for _, _, copy in copies_of(pairs, {**dict.fromkeys(ALL, 0.999999), "single_words": 3}):
        assert copy.source
        assert copy.target


def test_single_words_are_repeated_some_without_final_marks() -> None:
    pairs = [
        TextPair("Willkommen!", "Welcome."),
        TextPair("Guten Tag!", "Hello!"),
        TextPair("42", "42"),
        TextPair("%s", "%s"),
    ]

    copies = copies_of(pairs, {"single_words": 40})

    assert {pair.source for pair, _, _ in copies} == {"Willkommen!"}
    assert len(copies) == 40
    assert {copy for _, _, copy in copies} == {pairs[0], TextPair("Willkommen", "Welcome")}


def test_the_command_counts_and_shows_copies(
    recipe: Recipe, write_recipe: WriteRecipe, run_main: RunMain
) -> None:
    change(recipe, {"data.corpora.0.variants": {"upper": 0.999999999}})
    recipe["data"]["corpora"] += [MADE]

    done = run_main(main, write_recipe(recipe), "--pairs", "20", "--examples", "2")

    lines = done.output.splitlines()
    assert done.status == 0
    assert lines[0] == "tiny, de-en: 20 pairs, 20 copies (100.0%)"
    assert lines[4] == "  upper: 20 (100.0%)"
    assert lines[5] == "    DER HUND SCHLÄFT IM GARTEN.\tTHE DOG SLEEPS IN THE GARDEN."
    assert lines[7] == "made, de-en: 20 pairs, 0 copies (0.0%)"
    assert len(lines) == 7 + 4


def test_an_invalid_recipe_gives_one_message_and_status_2(
    recipe: Recipe, write_recipe: WriteRecipe, run_main: RunMain
) -> None:
    change(recipe, {"data.corpora.0.variants": {"uper": 0.1}})

    done = run_main(main, write_recipe(recipe))

    assert done.status == 2
    assert "data.corpora.0.variants.uper: unknown key" in done.errors
