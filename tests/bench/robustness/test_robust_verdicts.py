"""Faults are found in outputs made to have them; what counts as kept; verdicts counted by hand."""

import pytest

from bench.robustness.faults import count_sentences, invented, is_empty, looped
from bench.robustness.inputs import Input, RequiredItem, Rule
from bench.robustness.required_items import find_missing_words, lost, positions
from bench.robustness.verdicts import Rates, Verdict, by_kind, judge, rates_of
from dragoman import Pair


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


PAIR = Pair("de", "en")
KEEP = RequiredItem(Rule.MARK, ("{a}",))
SAY = RequiredItem(Rule.SAYS, ("yes",))


def verdict(output: str, kind: str = "k", wanted: tuple[RequiredItem, ...] = (KEEP, SAY)) -> Verdict:
    given = Input("x", kind, "Ja {a}", is_ordered=False, wanted=wanted, good="")
    return judge(given, output, PAIR)


def test_rates_are_shares_of_things_words_and_inputs() -> None:
    verdicts = [
        verdict("yes {a}"),
        verdict("yes"),
        verdict("yes yes yes {a}"),
        verdict("...", wanted=(KEEP,)),
    ]

    assert rates_of(verdicts) == Rates(
        inputs=4, good=0.25, things=4, kept=0.5, words=3, said=1.0, invented=0.0, loop=0.25, empty=0.25
    )


def test_without_requests_there_is_no_rate() -> None:
    rates = rates_of([verdict("yes", wanted=())])

    assert (rates.kept, rates.said, rates.good) == (None, None, 1.0)


def test_kinds_are_rated_apart_in_the_lists_order() -> None:
    rates = by_kind([verdict("yes", "b"), verdict("{a}", "a"), verdict("no", "b")])

    assert list(rates) == ["b", "a"]
    assert [(one.inputs, one.kept, one.said) for one in rates.values()] == [(2, 0.0, 0.5), (1, 1.0, 0.0)]


def test_an_output_cut_by_the_length_limit_counts_as_a_loop() -> None:
    given = Input("x", "k", "Ja", is_ordered=False, wanted=(), good="")

    assert judge(given, "yes", PAIR, is_cut=True).looped == "cut by the length limit"
    assert judge(given, "yes", PAIR).looped is None


def given(*things: str, is_ordered: bool = False) -> Input:
    wanted = tuple(
        RequiredItem(Rule(rule), tuple(forms.split(" = ")))
        for rule, _, forms in (thing.partition(":") for thing in things)
    )
    return Input("x", "x", "x", is_ordered, wanted, "")


def is_kept(thing: str, output: str, target: str = "en", source: str = "de") -> bool:
    return not lost(given(thing), output, target, source)


@pytest.mark.parametrize(
    ("thing", "output"),
    [
        ("mark:{name}", "Hello {name}, welcome"),
        ("mark:%s", "The file '%s' is there"),
        ("mark:</b>", "a <b>b</b>c"),
        ("mark:2.14.3", "version 2.14.3."),
        ("mark:1.", "1. milk"),
        ("token:info@example.org", "Write to <info@example.org>."),
        ("token:/etc/hosts", "see “/etc/hosts”, please"),
        ("token:./run.sh", "Run ./run.sh."),
        ("token:http://x.org/a?b=1", "See http://x.org/a?b=1."),
        ("name:anna", "with Anna"),
        ("name:Anna", "Anna's house"),
        ("name:kg = kilos", "23kg"),
        ("name:kg = kilos", "23 kilos"),
        ("name:€ = EUR = euro", "20 euros"),
        ("sign:„", "an 'odd' one"),
        ("sign:?", "What???"),
        ("sign:?", "Really?!"),
        ("sign:-", "\N{EN DASH} the window"),
        ("number:1.234,5", "it is 1,234.5 now"),
        ("number:1.234.567", "all 1 234 567 of them"),
        ("number:1.234.567", "all 1.234.567 of them"),  # left as it was
        ("number:3,5", "3.5%"),
        ("number:60", "60% of them"),
        ("number:zwei", "two of them"),
        ("number:zwei", "2 of them"),
        ("number:2", "the second one"),
        ("number:12", "twelve months"),
        ("date:03.10.2023", "on 3 October 2023"),
        ("date:03.10.2023", "on October 3rd, 2023"),
        ("date:03.10.2023", "on 10/03/2023"),
        ("date:03.10.2023", "on 2023-10-03"),
        ("date:5. November 2024", "November 5, 2024"),
        ("date:24.12.", "on the 24th of December"),
        ("time:14:30 Uhr", "at 14:30"),
        ("time:14:30 Uhr", "at 2:30 p.m."),
        ("time:14:30 Uhr", "at 2.30pm"),
        ("time:20 Uhr", "at 8 o'clock"),
        ("time:20 Uhr", "at eight o\u2019clock"),
        ("time:8.15 Uhr", "at 8:15 a.m."),
    ],
)
def test_kept_items_and_equal_values_in_any_writing_count_as_kept(thing: str, output: str) -> None:
    assert is_kept(thing, output)


@pytest.mark.parametrize(
    ("thing", "output"),
    [
        ("mark:{name}", "Hello {Name}, welcome"),
        ("mark:{name}", "Hello { name }, welcome"),
        ("mark:{{user}}", "Dear {user},"),
        ("mark:{name}", "Hello {name}, {name}"),  # once too often
        ("mark:%s", "The files %ss are there"),
        ("mark:2.14.3", "version 12.14.3"),
        ("token:info@example.org", "Write to info@example.org.uk"),
        ("token:info@example.org", "Write to my-info@example.org"),
        ("token:info@example.org", "Write to info@ example.org"),
        ("token:http://x.org/a", "See http://x.org/a/b."),
        ("token:./run.sh", "Run /run.sh."),
        ("token:MAX_SIZE", "Set MAX_SIZE_B to 3"),
        ("name:Anna", "Annabel's house"),
        ("name:g = grams", "250 bags"),
        ("sign:?", "What."),
        ("sign:„", "it's an odd one"),  # an apostrophe is no quotation mark
        ("number:1.234,5", "it is 1.2345 now"),
        ("number:1.299,00", "now 1.29,000"),
        ("number:3,5", "3.50.5"),
        ("number:7", "on the A7"),
        ("number:12", "123"),
        ("number:2", "too many"),
        ("date:03.10.2023", "on March 10, 2023"),
        ("date:03.10.2023", "on 03,10.2023"),
        ("date:03.10.2023", "on 3 October"),
        ("date:03.10.2023", "on 3 October 2032"),
        ("time:14:30 Uhr", "at 2:30"),
        ("time:14:30 Uhr", "at 2:30 a.m."),
        ("time:20 Uhr", "20 people"),
        ("time:18 Uhr", "at 18:05"),
    ],
)
def test_lost_items_and_other_values_count_as_lost(thing: str, output: str) -> None:
    assert not is_kept(thing, output)


@pytest.mark.parametrize(
    ("thing", "output"),
    [
        ("number:1,234.5", "1.234,5"),
        ("number:two", "zweite"),
        ("number:Two", "Die beiden, also 2,"),
        ("date:03/10/2023", "am 10. März 2023"),
        ("date:03/10/2023", "am 3.10.2023"),
        ("date:December 24th", "am 24. Dezember"),
        ("time:2:30 p.m.", "um 14.30 Uhr"),
        ("time:8 o'clock", "um acht Uhr"),
        ("time:8 o'clock", "um 20 Uhr"),
    ],
)
def test_german_writes_values_otherwise(thing: str, output: str) -> None:
    assert is_kept(thing, output, target="de", source="en")


def test_a_value_that_only_the_source_language_reads_so_is_another() -> None:
    """1.500 is a thousand and a half in German, one and a half in English."""
    assert not is_kept("number:1500", "1.500")
    assert is_kept("number:1500", "1,500")


def test_each_of_several_must_be_there() -> None:
    twice = given("mark:😂", "mark:😂", "mark:😂", "number:3")

    assert lost(twice, "😂 so funny 😂", "en", "de") == [
        RequiredItem(Rule.MARK, ("😂",)),
        RequiredItem(Rule.NUMBER, ("3",)),
    ]
    assert lost(twice, "😂😂😂 three", "en", "de") == []


def test_quotation_marks_are_counted_together() -> None:
    quoted = given("sign:„", "sign:„")

    assert lost(quoted, '"Good day," he said.', "en", "de") == []
    assert lost(quoted, '"Good day, he said.', "en", "de") == [RequiredItem(Rule.SIGN, ("„",))]


def test_the_order_counts_only_where_it_is_requested() -> None:
    output = "%d new messages for %s"

    assert lost(given("mark:%s", "mark:%d"), output, "en", "de") == []
    assert lost(given("mark:%s", "mark:%d", is_ordered=True), output, "en", "de") == [
        RequiredItem(Rule.MARK, ("%s",)),
        RequiredItem(Rule.MARK, ("%d",)),
    ]
    assert lost(given("mark:%d", "mark:%s", is_ordered=True), output, "en", "de") == []


@pytest.mark.parametrize(
    ("form", "said", "not_said"),
    [
        ("time", "What TIME is it", "timeless"),
        ("thank*", "many thanks", "outthanked"),
        ("*sicherheit", "Datensicherheit", "Sicherheiten"),
        ("^hospital$", "Hospital.", "Go to the hospital"),
        ("^ladies", "Ladies and gentlemen,", "Very ladies and gentlemen,"),
        ("o'clock", "8 o'clock", "o clock"),
    ],
)
def test_required_words_match_whole_words_in_any_case(form: str, said: str, not_said: str) -> None:
    wanted = given(f"says:{form}")

    assert find_missing_words(wanted, said, "en", "de") == []
    assert find_missing_words(wanted, not_said, "en", "de") == list(wanted.said)


def test_a_word_required_twice_must_occur_twice() -> None:
    wanted = given("says:no", "says:no", "says:no")

    assert len(find_missing_words(wanted, "no, no", "en", "de")) == 1
    assert len(find_missing_words(wanted, "nono", "en", "de")) == 3


def test_positions_are_those_in_the_text() -> None:
    text = "at 2:30 p.m. or 14:30"

    assert positions(RequiredItem(Rule.TIME, ("14:30 Uhr",)), text, "en", "de") == [3, 16]
