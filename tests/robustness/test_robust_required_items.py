"""What counts as kept, and as said."""

import pytest

from bench.robustness.inputs import Input, RequiredItem, Rule
from bench.robustness.required_items import find_missing_words, lost, places


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


def test_places_are_those_in_the_text() -> None:
    text = "at 2:30 p.m. or 14:30"

    assert places(RequiredItem(Rule.TIME, ("14:30 Uhr",)), text, "en", "de") == [3, 16]
