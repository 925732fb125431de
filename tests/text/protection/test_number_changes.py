"""Comparisons of the numbers of a text with those of its translation, and other checks."""

from functools import partial
from random import Random

import pytest

from service.text.checks import check_length, check_syntax
from service.text.number_changes import Read, number_forms
from service.text.numbers import find_numbers
from service.text.outcome import Check
from tests.linear import is_linear
from tests.reading.bundled import find

NUM_VALUES = 2_000
GERMAN = ("Das Haus kostet %s Euro.", "Er hat %s Freunde.", "Nach %s Tagen", "(%s)", "Fast %s: viel", "%s €")
ENGLISH = (
    "The house costs %s euros.",
    "He has %s friends.",
    "After %s days",
    "(%s)",
    "Nearly %s: much",
    "€%s",
)
SIGNS = {"de": (",", "."), "en": (".", ",")}


def reading_of(languages: str) -> Read | None:
    """Return what the bundled model of a pair reads; None for other pairs."""
    return partial(find, language=languages[:2]) if languages in {"de en", "en de"} else None


def written(value: int, fraction: str, *, grouped: bool, language: str) -> str:
    """Return a number with the signs of a language."""
    decimal, group = SIGNS[language]
    whole = f"{value:,}".replace(",", group) if grouped else str(value)
    return f"{whole}{decimal}{fraction}" if fraction else whole


def values(random: Random) -> tuple[int, str, bool]:
    """Return a random number: digits before and after its decimal sign, and whether it is grouped."""
    value = random.randrange(10 ** random.randint(2, 8))
    return value, random.choice(("", "", str(random.randint(10, 99)))), random.random() < 0.5


@pytest.mark.parametrize(("source", "target"), [("de", "en"), ("en", "de")])
def test_no_change_of_a_number_is_missed_and_the_targets_signs_are_none(source: str, target: str) -> None:
    """A digit more, less, or another one, in random numbers, grouped right or wrong; other signs are kept."""
    random = Random(2)  # noqa: S311 -- draws samples
    forms = number_forms(source, target)
    sources, targets = (GERMAN, ENGLISH) if source == "de" else (ENGLISH, GERMAN)

    for i in range(NUM_VALUES):
        value, fraction, grouped = values(random)
        own = sources[i % len(sources)] % written(value, fraction, grouped=grouped, language=source)
        frame = targets[i % len(targets)]
        same = frame % written(value, fraction, grouped=random.random() < 0.5, language=target)
        digits = str(value)
        at = random.randrange(len(digits))
        wrong = int(random.choice((digits[:at] + digits[at + 1 :], f"{digits[:at]}7{digits[at:]}")) or 8)
        changed = written(wrong, fraction, grouped=grouped, language=target)
        cut = random.randint(1, len(str(wrong)))
        misgrouped = f"{str(wrong)[:cut]}{SIGNS[target][1]}{str(wrong)[cut:]}".rstrip(SIGNS[target][1])

        assert not forms.compare(own, same), (own, same)
        for other in (changed, misgrouped):
            assert wrong == value or forms.compare(own, frame % other).missing, (own, other)


@pytest.mark.parametrize(
    ("source", "target", "languages"),
    [
        ("Es kostet 1.234,50 €.", "It costs €1,234.50.", "de en"),
        ("Es kostet 1.234,50 €.", "It costs 1.234,50 €.", "de en"),
        ("5'777'369 Franken", "5,777,369 francs", "de en"),
        ("1 234 567 Leute", "1,234,567 people", "fr en"),
        ("Version 3.11", "Version 3.11", "de en"),
        ("um 5 Uhr", "at five o'clock", "de en"),
        ("um 17 Uhr", "at 5 p.m.", "de en"),
        ("um 17:30 Uhr", "at 5.30 pm", "de en"),
        ("at 5:30 p.m.", "um 17.30 Uhr", "en de"),
        ("at 5PM", "um 17:00 Uhr", "en de"),
        ("from 2 to 4 pm", "von 14 bis 16 Uhr", "en de"),
        ("9-11:30 p.m.", "21:00-23:30", "en de"),
        ("at 12 a.m.", "um 0 Uhr", "en de"),
        ("Der 2. Weltkrieg", "The Second World War", "de en"),
        ("The 5th time", "Das fünfte Mal", "en de"),
        ("in den 90er Jahren", "in the 1990s", "de en"),
        ("der 1990er Jahre", "of the 1990s", "de en"),
        ("am 07. Mai", "on 7 May", "de en"),
        ("Seiten 3,4 und 3, 4, 5", "Pages 3,4 and 3,4,5", "de en"),
        ("Die CO2-Steuer für 10-jährige", "The CO2 tax for 10-year-olds", "de en"),
        ("Das U21-Team", "The under-21 team", "de en"),
        ("\u0661\u0662\u0663", "123", "ar en"),
        ("-5 Grad", "\u22125 degrees", "de en"),
        ("Nummer DE96690911114656977781", "Number DE96690911114656977781", "de en"),
        ("Zwei Millionen", "2,000,000", "de en"),
        ("Es waren dreihundertzwölf.", "There were 312.", "de en"),
        ("Zwölftausenddreihundert Euro, 5 Uhr", "At five, 12,300 euros", "de en"),
        ("Twenty-one and twelve hundred and five", "21 und 1205", "en de"),
        ("Dreihundertzwölf", "Trois cent douze", "de fr"),
        ("Minus 5 Grad, minus 2,5 %", "-2.5 %, minus 5 degrees", "de en"),
        ("5 minus 3 ist 2", "5 minus 3 is 2", "de en"),
        ("Minus zwanzig Grad, minus zwei", "-2, minus 20 degrees", "de en"),
        ("minus 5 Grad", "moins 5 degrés", "de fr"),
        ("Vom 24.12. bis 3.5., Kapitel 2.4.", "Until 3 May from December 24th, chapter 2.4.", "de en"),
    ],
)
def test_numbers_that_are_written_another_way_are_kept(source: str, target: str, languages: str) -> None:
    """Each is the same number for any reader."""
    assert not number_forms(*languages.split()).compare(source, target, read=reading_of(languages))


@pytest.mark.parametrize(
    ("source", "target", "languages"),
    [
        ("Das Haus kostet 2643333 Euro.", "The house costs EUR 264333.", "de en"),
        ("5 Uhr und fünf Hunde", "five dogs", "de en"),
        ("um 17 Uhr", "at 5 a.m.", "de en"),
        ("um 17:30 Uhr", "at 5:13 pm", "de en"),
        ("from 2 to 4 pm", "von 3 bis 16 Uhr", "en de"),
        ("It is 1,234 now.", "Es ist jetzt 1,243.", "en de"),
        ("Es sind 1234 Leute.", "There are 1.234 people.", "de en"),
        ("-5 Grad", "5 degrees", "de en"),
        ("am 07.05.2024", "on 05/07/2024", "de en"),
        ("Die CO2-Steuer", "The CO tax", "de en"),
        ("Die 1990er", "The 1980s", "de en"),
        ("3 Hunde und 3 Katzen", "3 dogs and cats", "de en"),
        ("Kennung 3e69f4250ce0ef4783", "ID 3e69f4250ce0ef478", "de en"),
        ("Kennung aB3dE5fG7h", "ID ab3de5fg7h", "de en"),
        ("Der Code 1234", "The code 01234", "de en"),
        ("Es waren dreihundertzwölf.", "There were twelve.", "de en"),
        ("Es sind minus 5 Grad.", "It's at least 5 degrees.", "de en"),
        ("Es sind minus zwanzig Grad.", "It's at least twenty degrees.", "de en"),
        ("Twenty-one of a hundred and five", "21 von 150", "en de"),
        ("Bis 24.12. geschlossen", "Closed until 14 December", "de en"),
    ],
)
def test_numbers_that_are_changed_or_left_out_are_missing(source: str, target: str, languages: str) -> None:
    """The source's span is returned, so that it can be protected."""
    assert number_forms(*languages.split()).compare(source, target, read=reading_of(languages)).missing


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("Es kostet 2643333 Euro.", "It costs 2643333 euros, 264333 euros."),
        ("Es ist 3e69f4250ce0ef4783.", "It is 3e69f4250ce0ef4783 3e69f4250ce0ef4783."),
    ],
)
def test_long_numbers_and_identifiers_that_the_text_has_not_are_added(source: str, target: str) -> None:
    """No word becomes such a number."""
    changes = number_forms("de", "en").compare(source, target)

    assert not changes.missing
    assert changes.added


@pytest.mark.parametrize(
    ("text", "put", "languages"),
    [
        ("Es kostet 1.234,50 €.", "1,234.50", "de en"),
        ("Es kostet 1.234 €.", "1,234", "de en"),
        ("Es kostet -3,5 €.", "-3.5", "de en"),
        ("It costs 1,234,567 euros.", "1.234.567", "en de"),
        ("It costs $3.50.", "3,50", "en de"),
        ("It grew by 3.5%.", "3,5", "en de"),
        ("Es sind 5'777'369.", "5,777,369", "de en"),
        ("It is 1,234.5 now.", "1\u202f234,5", "en fr"),
        ("Version 3.11", None, "en de"),
        ("Version 3.11", None, "de en"),
        ("am 07.05.2024", None, "de en"),
        ("Es kostet 2643333.", None, "de en"),
        ("Das A4-Papier", None, "de en"),
        ("Bei 49.798236 Grad", None, "de en"),
        ("Es kostet 1.234,50 €.", None, "de xx"),
    ],
)
def test_numbers_get_the_signs_of_the_target_if_their_form_is_certain(
    text: str, put: str | None, languages: str
) -> None:
    """Others stay as they are."""
    (number,) = find_numbers(text)

    assert number_forms(*languages.split()).put(text, number) == put


@pytest.mark.parametrize(
    ("text", "put", "languages"),
    [
        ("Es waren dreihundertzwölf.", "312", "de en"),
        ("Zwölftausenddreihundert Euro", "12,300", "de en"),
        ("Im einundzwanzigsten Jahrhundert", "21st", "de en"),
        ("Bei minus fünf Grad", "-5", "de en"),
        ("Bis 24.12. geschlossen", None, "de en"),
        ("the twenty-first century", "21.", "en de"),
    ],
)
def test_numbers_in_words_are_put_in_digits_of_the_target_language(
    text: str, put: str | None, languages: str
) -> None:
    """A date stays as it is."""
    forms = number_forms(*languages.split())
    (number,) = forms.find(text, reading_of(languages))

    assert forms.put(text, number) == put


@pytest.mark.parametrize(
    "unit", ["1 ", "5 Uhr ", "fünf 5 ", "3,4,5 ", "17:30 ", "A4 ", "07 ", "1.234,5 ", "90er "]
)
def test_comparing_takes_linear_work(unit: str) -> None:
    """As many numbers as fit, of which none is kept."""
    forms = number_forms("de", "en")

    def compare(size: int) -> None:
        assert forms.compare((unit * size)[:size], "9 8 " * (size // 4)).missing

    assert is_linear(compare)


@pytest.mark.parametrize(
    ("source", "target", "check"),
    [
        ("Datei {name}", "File", Check.PLACEHOLDERS),
        ("Datei {name}", "File {name} {name}", Check.PLACEHOLDERS),
        ("Datei", "File {name}", Check.PLACEHOLDERS),
        ("%s von %d", "%d of %s", Check.PLACEHOLDERS),
        ("<b>Datei</b>", "<b>File", Check.TAGS),
        ("Datei", "<i>File</i>", Check.TAGS),
        ("Datei", " ", Check.EMPTY),
        ("{n, plural, other {#}}", "{n, plural, other {#}", Check.ICU),
    ],
)
def test_broken_syntax_is_found(source: str, target: str, check: Check) -> None:
    [failure] = check_syntax(source, target)

    assert failure.check is check
    assert str(failure).startswith(f"{check}: ")


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("Datei {a} und {b}", "{b} and file {a}"),
        ("%1$s von %2$s", "%2$s of %1$s"),
        ("<b>Datei</b>", "<b>File</b>"),
        ("https://a.example", "See https://a.example"),
        ("50% Rabatt", "50% discount"),
        ("...", ""),
        ("{n, plural, other {# %s}}", "{n, plural, one {# %s} other {# %s}}"),
    ],
)
def test_sound_syntax_passes(source: str, target: str) -> None:
    assert check_syntax(source, target) == ()


@pytest.mark.parametrize(
    ("source", "target", "checks"),
    [
        ("Öffnen", "Open " * 20, [Check.LENGTH]),
        ("Wort " * 30, "Word", [Check.LENGTH]),
        ("OK", "All right then", []),
    ],
)
def test_lengths_are_compared(source: str, target: str, checks: list[Check]) -> None:
    assert [failure.check for failure in check_length(source, target)] == checks
