"""Rules of `python -m bench.controls` and `bench.numbers`, on made-up outputs and random values."""

import lzma
import re
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from bench.controls import (
    form_share,
    measure_formality,
    measure_neutral,
    measure_orders,
    measure_terms,
    misses_of,
    required_terms,
    term_share,
)
from bench.everyday import TRIALS, is_right
from bench.invented import invented_words, read_known
from bench.numbers import FRAMES, Value, ValueOutcome, draw_value, judge
from bench.trials import Trial, read_trials
from training.controls import FORMAL, INFORMAL, TERM, TERM_END, TRANSLATION, has_control, mark
from training.corpus import TextPair
from training.variants.terms import TermDictionary

DICTIONARY = TermDictionary([TextPair("Haus", "building"), TextPair("Licht", "light")])
PAIRS = [
    TextPair("Das Haus ist alt.", "The building is old."),
    TextPair("Der Hund schläft.", "The dog is sleeping."),
    TextPair("Das Licht im Haus ist an.", "The light in the building is on."),
]
ADDRESSED = [
    TextPair("Can you help me?", "Können Sie mir helfen?"),
    TextPair("I love you.", "Ich liebe dich."),
    TextPair("The dog is sleeping.", "Der Hund schläft."),
]


def obedient(sources: Sequence[str]) -> list[str]:
    """Return the reference of an annotated source, and none of the terms otherwise."""
    references = [PAIRS[2].target if "Licht" in source else PAIRS[0].target for source in sources]
    return [
        reference if has_control(source) else "The house with a lamp is very old."
        for source, reference in zip(sources, references, strict=True)
    ]


def test_required_terms_are_read_from_the_marks_of_an_annotated_source() -> None:
    source = (
        f"Das {mark(TERM)} Licht {mark(TRANSLATION)} light {mark(TERM_END)} im "
        f"{mark(TERM)} Haus {mark(TRANSLATION)} old building {mark(TERM_END)} ist an."
    )

    assert required_terms(source) == ["light", "old building"]
    assert required_terms("Das Licht ist an.") == []


@pytest.mark.parametrize(
    ("output", "share"),
    [
        ("The building is old.", 1.0),
        ("Buildings are old.", 1.0),  # inflected, capital
        ("The rebuilding is old.", 0.0),  # another word
        ("The buildingworkers are old.", 0.0),
        ("The house is old.", 0.0),
    ],
)
def test_a_term_is_kept_if_the_output_has_it_perhaps_inflected(output: str, share: float) -> None:
    assert term_share([["building"]], [output]) == share


def test_the_share_of_terms_counts_each_term_in_its_own_output() -> None:
    assert term_share([["building"], ["light", "building"]], ["A light.", "A light building."]) == 0.6667
    assert term_share([[]], ["A light."]) is None


def test_terms_are_measured_on_annotated_lines_with_and_without_their_annotations() -> None:
    found = measure_terms(obedient, PAIRS, DICTIONARY, num_lines=300)

    assert found["lines"] == 2
    assert found["terms"] in {2, 3}  # of the second line, one term or both are drawn
    assert (found["share"], found["share_without_control"]) == (1.0, 0.0)
    assert found["bleu"] > found["bleu_without_control"]
    assert measure_terms(obedient, PAIRS, DICTIONARY, num_lines=1)["lines"] == 1


def test_an_output_with_the_other_form_or_both_does_not_comply_and_one_without_form_does_not_count() -> None:
    outputs = [
        "Können Sie mir helfen?",
        "Kannst du mir helfen?",
        "Hast du gehört, was Sie sagten?",
        "Der Hund schläft.",
    ]

    assert form_share(FORMAL, outputs) == {"with_form": 3, "share": 0.3333}
    assert form_share(INFORMAL, outputs) == {"with_form": 3, "share": 0.3333}
    assert form_share(FORMAL, ["Der Hund schläft."]) == {"with_form": 0, "share": None}


def test_both_forms_are_requested_for_the_lines_whose_reference_shows_one() -> None:
    translated: list[list[str]] = []

    def translate(sources: Sequence[str]) -> list[str]:
        translated.append(list(sources))
        return ["Ich sehe Sie." if mark(FORMAL) in source else "Ich sehe dich." for source in sources]

    found = measure_formality(translate, ADDRESSED, num_lines=300)

    assert [has_control(sources[0]) for sources in translated] == [False, True, True]
    assert all(sources[0].endswith("Can you help me?") and len(sources) == 2 for sources in translated)
    assert (found["formal"]["share"], found["formal"]["share_without_control"]) == (1.0, 0.0)
    assert (found["informal"]["share"], found["informal"]["share_without_control"]) == (1.0, 1.0)


def test_orders_are_formal_if_their_output_has_a_formal_pronoun() -> None:
    pairs = [
        TextPair("Close the door!", "Schließ die Tür!"),
        TextPair("Water is wet.", "Wasser ist nass."),  # begins with a word that may be a verb
        TextPair("The door is open.", "Die Tür ist auf."),
    ]

    found = measure_orders(lambda sources: ["Schließen Sie die Tür."] * len(sources), pairs, num_lines=300)

    assert found == {"lines": 1, "formal": 1.0, "informal": 0.0}


def test_a_control_changes_sentences_to_nobody_only_where_the_engine_sends_it() -> None:
    pairs = [
        TextPair("The dog is sleeping.", "Der Hund schläft."),
        TextPair("Dogs bark and sleep.", "Hunde bellen und schlafen."),  # `sleep` may be an order
        TextPair("I see you.", "Ich sehe dich."),
        TextPair("Close the door.", "Schließ die Tür."),
    ]

    found = measure_neutral(lambda sources: [str(has_control(one)) for one in sources], pairs, num_lines=300)

    assert found == {
        "lines": 2,
        **dict.fromkeys(("changed_formal", "changed_informal"), 0.5),
        **dict.fromkeys(("changed_formal_if_always_sent", "changed_informal_if_always_sent"), 1.0),
    }


def test_shares_below_their_bars_are_named() -> None:
    results: dict[str, dict[str, dict[str, Any]]] = {
        "de-en": {"terms": {"share": 0.9}},
        "en-de": {"terms": {"share": 0.89}, "formal": {"share": 0.95}, "informal": {"share": None}},
    }

    results["en-de"]["neutral"] = {"changed_formal": 0.01, "changed_informal": 0.011}

    assert misses_of(results) == [
        "en-de terms: share 0.89 is below 0.9",
        "en-de informal: share None is below 0.95",
        "en-de neutral: 0.011 of the translations changed, 0.01 at most",
    ]


@pytest.mark.parametrize(("source", "target"), [("de", "en"), ("en", "de")])
def test_a_value_is_kept_as_it_is_and_with_the_targets_signs(source: str, target: str) -> None:
    """In any frame, and only whole."""
    random = Random(1)  # noqa: S311 -- draws samples
    frames = re.split(r"[|\n]", FRAMES[target])
    assert len(frames) == len(set(frames)) == 50

    for i in range(1000):
        value = draw_value(random, source, target)
        frame = frames[i % len(frames)]

        for form in value.forms:
            assert judge(value, frame.format(form), is_reported=False) is ValueOutcome.KEPT
            assert judge(value, frame.format(f"{form}7"), is_reported=False) is ValueOutcome.CHANGED


def test_a_value_that_is_gone_was_reported_or_changed_silently() -> None:
    """The same translation counts as either."""
    value = Value("number", "2643333", frozenset(("2643333", "2,643,333")))

    assert judge(value, "It costs 264333 euros.", is_reported=True) is ValueOutcome.FLAGGED
    assert judge(value, "It costs 264333 euros.", is_reported=False) is ValueOutcome.CHANGED


def test_no_trial_is_right_without_a_translation() -> None:
    trials = read_trials(TRIALS, ("de", "en"))

    assert trials
    assert [trial for trial in trials if is_right(trial, "")] == []


@pytest.mark.parametrize(
    ("name", "expected", "translation", "has_it"),
    [
        ("nouns", "pot|saucepan", "Where's the pot?", True),
        ("nouns", "pot|saucepan", "Where's the spot?", False),
        ("nouns", "pot|saucepan", "Where's the pottery?", False),
        ("names", "Fritz!Box", "I use the Fritz!Box by AVM.", True),
        ("interface", "Inbox", "Inbox", True),
        ("interface", "Inbox", "inbox", False),
        ("interface", "Inbox", "Inbox.", False),
        ("interface", "Forgot password?", "Forgot password?", True),
        ("pronouns", r"(?<=[.?!] )(Er)", "Ich habe einen Tisch. Er ist neu.", True),
        ("pronouns", r"(?<=[.?!] )(Er)", "Er ist neu. Es ist ein Tisch.", False),
        ("address", "", "Setz dich. Bist du müde?", True),
        ("address", "", "Setzen Sie sich. Bist du müde?", False),
    ],
)
def test_a_translation_is_right_if_it_has_what_is_expected(
    name: str, expected: str, translation: str, *, has_it: bool
) -> None:
    assert is_right(Trial(name, "de", "Sit down. Are you tired?", expected), translation) is has_it


KNOWN = {"haus", "tür", "schlüssel", "arbeit", "zimmer", "der", "die"}


@pytest.mark.parametrize("word", ["Hausarbeit", "Arbeitszimmer", "der", "Tür", "Bodiam"])
def test_a_known_word_a_compound_and_a_word_of_the_source_are_not_invented(word: str) -> None:
    assert invented_words("The house of Bodiam", word, KNOWN) == []


@pytest.mark.parametrize("word", ["Hausfrau", "Zimmerling", "Schlüsselxyz", "Ader"])
def test_other_words_are_invented(word: str) -> None:
    assert invented_words("The house", f"Der {word} die 7.", KNOWN) == [word.lower()]


def test_known_words_come_from_a_column_of_files_that_may_be_packed(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("tag\tDas Haus, das Haus\tthe house\n", "utf-8")
    (tmp_path / "b.tsv.xz").write_bytes(lzma.compress("tag\tdie Tür die Tür einmal\tthe door\n".encode()))

    assert read_known([tmp_path / "a.tsv", tmp_path / "b.tsv.xz"], 1) == {"das", "haus", "die", "tür"}
