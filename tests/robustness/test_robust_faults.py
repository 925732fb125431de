"""Each fault is found in an output that was made to have it, and not in a good one."""

import pytest

from bench.robustness.faults import count_sentences, invented, is_empty, looped


@pytest.mark.parametrize(
    ("source", "output", "reason"),
    [
        ("Apfel", "The apple is a fruit that grows.", "length"),
        ("Ich bin müde.", "I am tired. He is tired.", "sentences"),
        ("Wie geht es", "How are you? I am fine", "sentences"),
        ("Guten Morgen", "Good morning\nGood night", "sentences"),
        ("Datei öffnen", "Open file %s", "placeholder"),
        ("Hallo {name}", "Hello {name} {user}", "placeholder"),
        ("Das ist wichtig", "This is <b>important", "tag"),
        ("Schreiben Sie uns", "Write to a@b.org", "address"),
        ("Alles Gute", "All the best 🎉", "emoji"),
        ("Das kostet 19,99", "This costs 19.99 9", "number"),
        ("Im Saal saßen 248 Gäste.", "In 248, 248 guests sat.", "number"),
        ("Das Kapitel ist neu", "Chapter 12 is new", "number"),
    ],
)
def test_words_without_a_source_count_as_invented(source: str, output: str, reason: str) -> None:
    assert (invented(source, output) or "").partition(":")[0] == reason


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("Na?", "How are you?"),
        ("Ich bin müde", "I am tired."),
        ("Wir gingen ins Kino, es war schön.", "We went to the cinema. It was nice."),
        ("Der Eintritt (inkl. Getränk) ist frei.", "Admission (incl. drink) is free."),
        ("Herr Müller kommt um 14 Uhr.", "Mr. Müller will come at 2 p.m."),
        ("Ich weiß nicht ...", "I don't know ..."),
        ("1. Milch\n2. Brot", "1. Milk\n2. Bread"),
        ("Hallo {{user}}", "Hello {user}"),  # altered is lost, not invented
        ("Siehe hilfe@example.org", "See help@example.org"),
        ("Der fünfte Mann", "The 5th man"),
        ("Um 20 Uhr", "At 8:00 p.m."),
        ("am 5. November 2024", "on 2024-11-05"),
        ("1.299,00 EUR", "EUR 1.29,000"),
    ],
)
def test_words_of_good_translations_are_not_invented(source: str, output: str) -> None:
    assert invented(source, output) is None


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("", 0),
        ("...", 0),
        ("42", 1),
        ("One", 1),
        ("One. Two! Three? Four", 4),
        ("Really?! No way!", 2),
        ("He said: „Nein.“ Then he left.", 2),
        ("See e.g. p. 3 or no. 4 of Mr. Smith.", 1),
        ("On the 3. October", 1),
        ("No. 3 is there", 1),
        ("No. Not there", 2),
        ("It costs 3.50 a piece, see www.example.org.", 1),
        ("No ... But yes ... Or no", 1),
        ("what? i do not know", 1),  # a small letter goes on
        ("One\nTwo\tThree", 3),
        ("Wichtig.<br/>Bitte lesen!", 2),
    ],
)
def test_sentences_are_counted_as_a_reader_would(text: str, sentences: int) -> None:
    assert count_sentences(text) == sentences


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("Guten Tag", "Good day good day"),
        ("Das Schiff", "The surface surface"),
        ("Sehr gut", "Very very very good"),
        ("Im Auto", "We were in the car, we were in the car"),
        ("Angela", "Angelalalala"),
        ("Wort Wort", "word word word"),
        ("wort " * 3, "wordwordword"),  # words in a row are no excuse for letters in a row
        ("Der Mensch", "A person and the person or a person, no person"),
        ("Aha", "Aaaaaah"),
    ],
)
def test_repeated_words_are_a_loop(source: str, output: str) -> None:
    assert looped(source, output) is not None


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("Test Test Test", "test test test"),
        ("Hahahaha", "Hahahaha"),
        ("Tschüss", "Bye bye"),
        ("Wenn ich es gewusst hätte, wäre ich gekommen", "Wenn ich das gewusst hätte, hätte ich es getan"),
        ("Ich weiß, dass das das ist", "I know that that is that"),
        ("Der Mensch", "A person and the person or a person"),
        ("Er hat es satt, satt zu sein", "He is tired of being full"),
    ],
)
def test_words_that_people_repeat_are_no_loop(source: str, output: str) -> None:
    assert looped(source, output) is None


@pytest.mark.parametrize(
    ("source", "output", "expected"),
    [
        ("Ja", "", True),
        ("Ja", " ... ", True),
        ("42", "?", True),
        ("?", "", True),
        ("👍", " ", True),
        ("Ja", "y", False),
        ("?", "?", False),
        ("👍", "👍", False),
        (" ", "", False),
    ],
)
def test_an_empty_translation_counts_as_empty(source: str, output: str, expected: bool) -> None:  # noqa: FBT001 -- a case
    assert is_empty(source, output) is expected
