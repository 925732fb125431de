"""No abbreviation of a bundle is read where it may be anything else; each is read where it is meant."""

import tomllib

import pytest

from bench.reading import FRAMES
from dragoman import Translator
from dragoman.reading.abbreviations import SECTIONS
from dragoman.reading.reading_file import READING_FILE
from dragoman.text.segmentation import segment
from tests.reading.bundled import FOLDERS, MODELS, read

TABLES = {
    code: tomllib.loads((folder / READING_FILE).read_text("utf-8"))[code] for code, folder in FOLDERS.items()
}
ENTRIES = [
    (code, section, abbreviation)
    for code, table in TABLES.items()
    for section in SECTIONS
    for abbreviation in table.get(section, {})
]
HIDDEN = ("x-{}", "x_{}", "x.{}", "`{} 5 X`", "v1.2.3-{} 5", "/{}", "--{}", "{}(5)", "{}=5", "{}-x 5", '"{}"')
"""Names and code with an abbreviation in them."""
AFTER = {
    "de": ("Lena ist da.", "Niemand kommt.", "Heute geht es mir besser.", "3 Monate vergehen.", "Sie lacht."),
    "en": ("Lena is here.", "Nobody comes.", "Today I feel better.", "3 people left.", "She laughs."),
}


@pytest.mark.parametrize("code", TABLES)
def test_no_abbreviation_is_read_inside_a_name_or_code(code: str) -> None:
    texts: list[str] = []
    for language, section, abbreviation in ENTRIES:
        before = "5 " if section == "after_number" else "siehe "
        if language == code and " " not in abbreviation:
            new = [before + frame.format(abbreviation) for frame in HIDDEN]
            # A slash after a number divides.
            texts += [text.replace("/", "x/") for text in new] if section == "after_number" else new

    assert len(texts) > 100
    assert [text for text in texts if read(text, code) != text] == []


@pytest.mark.parametrize(("language", "section", "abbreviation"), ENTRIES, ids=str)
def test_every_abbreviation_is_read_in_a_sentence_of_its_section(
    language: str, section: str, abbreviation: str
) -> None:
    texts = [frame.format(abbreviation) for frame in FRAMES[language][section]]

    assert any(read(text, language) != text for text in texts)


@pytest.mark.parametrize(
    ("language", "word"),
    [(code, word) for code, table in TABLES.items() for word in table["also_words"] if " " not in word],
)
def test_a_word_that_is_also_an_abbreviation_is_never_read_at_the_end_of_a_sentence(
    language: str, word: str
) -> None:
    name = word[0].lower() + word[1:] if language == "en" else word
    before = {"de": ("Das ist ", "Ich rufe "), "en": ("This is a ", "I call ")}[language]
    texts = [
        f"{first}{each} {after}".strip()
        for first in before
        for each in {word, name}
        for after in AFTER[language]
    ]
    texts += [f"{first}{each}" for first in before for each in {word, name}]

    assert [text for text in texts if read(text, language) != text] == []


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("de", "Evtl. komme ich i.d.R. später.", "Eventuell komme ich in der Regel später."),
        ("de", "Preis (inkl. MwSt.): 5 €", "Preis (inklusive MwSt.): 5 €"),
        ("de", "Mo.\N{EN DASH}Fr. 9-18 Uhr", "Montag bis Freitag 9 bis 18 Uhr"),
        ("de", "1 Wo. 30 Pkg. frei", "1 Woche 30 Packungen frei"),
        ("de", "Der Motor hat 90 PS.", "Der Motor hat 90 Pferdestärken."),
        ("de", "Es dauert 21 Wo.", "Es dauert 21 Wochen."),
        ("de", "Das Buch hat 300 S. Es ist gut.", "Das Buch hat 300 Seiten. Es ist gut."),
        ("de", "Siehe S. 12.", "Siehe Seite 12."),
        ("de", "Nach Art. 5 GG und Art. 3 Abs. 2", "Nach Artikel 5 GG und Artikel 3 Absatz 2"),
        ("de", "Fr. Meier kommt Fr. 12.5. um 8.", "Frau Meier kommt Freitag 12. Mai um 8."),
        ("en", "It costs $3.2bn, or 1 lb.", "It costs $3.2 billion, or 1 pound."),
        ("en", "Within 1 hr, at %1$s mph", "Within 1 hour, at %1$s miles per hour"),
        ("en", "Wait 5 mos. for 2 people.", "Wait 5 months for 2 people."),
        ("en", "See fig. 2 and Sec. 3 of the act.", "See figure 2 and Section 3 of the act."),
        ("en", "No. 5 of No. 7", "Nr. 5 of No. 7"),
        ("en", "Milk w/o sugar at $1.50/lb", "Milk without sugar at $1.50 per pound"),
    ],
)
def test_abbreviations_are_read_with_the_number_the_capital_and_the_dot_that_they_had(
    language: str, text: str, expected: str
) -> None:
    assert read(text, language) == expected


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("de", "Die k. u. k. Armee, u. z. sofort"),
        ("de", "Der U.S. Geological Survey"),
        ("de", "Lt. Smith und Höchst."),
        ("de", "Er wohnt in Bad Evtl.dorf mit Max."),
        ("de", "Eine S. Abb. ohne Zahl"),
        ("de", "Frag doch mal Max. Lena weiß es."),
        ("de", "Schäden dieser Art. 3 Monate danach verjähren sie."),
        ("de", "Der Eintritt kostet 12 Fr. Kinder zahlen die Hälfte."),
        ("de", "Wir sehen uns um 8 PS: Bring Wein mit."),
        ("en", "The P.1127 and the C.200"),
        ("en", "A film by Dev Sen. The film is long."),
        ("en", "The cat has been fed. It is asleep."),
        ("en", "She works as a temp. Her boss is kind."),
        ("en", "Wait a sec. 2 people are missing."),
        ("en", "Is Jan. 15 years old now or older?"),
        ("en", "No. That is wrong."),
        ("en", "No. 5 minutes is not enough."),
        ("en", "The potion restores 50 hp to you."),
        ("en", "The commit-msg hook"),
        ("en", "Send me an FYI when it is done."),
    ],
)
def test_what_only_looks_like_an_abbreviation_is_read_as_it_is(language: str, text: str) -> None:
    assert read(text, language) == text


@pytest.mark.parametrize(
    ("language", "text", "num_sentences"),
    [
        ("de", "Die Fa. Meier liefert zzgl. Versand.", 1),
        ("de", "Bitte Kd.-Nr. und Tel.-Nr. angeben.", 1),
        ("de", "Zu wg. Umbau, gg. Gebot, bei Gebr. Meier, geb. Schulz.", 1),
        ("de", "Frag doch mal Max. Lena hat keine Ahnung.", 2),
        ("en", "Open Mon.-Fri. and closed Sat. and Sun. in winter.", 1),
        ("en", "See vol. 3 and apt. 4B, ed. by Tom, est. 1920, in Ft. Hood.", 1),
        ("en", "The cat was fed. It is asleep.", 2),
        ("en", "i was sad. so i went home.", 2),
        ("en", "It's approx. Monday. He has five.", 2),
        ("en", "He lost 20 lbs. in a year.", 1),
        ("en", "He lost 20 lbs. In a year he wins.", 2),
        ("de", "Die Rechnung vom 3.5. über 5 Euro und vom 4. 5. (Montag) ist da.", 1),
        ("de", "Er kommt am 3.5. Danach gehen wir.", 2),
        ("fr", "Il a zzgl. Versand.", 2),
    ],
)
def test_sentences_end_after_words_and_go_on_after_abbreviations_that_end_none(
    language: str, text: str, num_sentences: int
) -> None:
    assert len(segment(text, language).segments) == num_sentences


def test_no_sentence_is_cut_inside_an_abbreviation() -> None:
    cut: list[str] = []
    for language, section, abbreviation in ENTRIES:
        before = "5 " if section == "after_number" else "Vor "
        after = "12.5. um 9" if "date" in section else "5 X"
        segments = segment(f"{before}{abbreviation} {after}", language).segments
        cut += [] if any(abbreviation in one for one in segments) else [abbreviation]

    assert cut == []


def test_the_bundled_models_say_what_abbreviations_mean() -> None:
    expected = {
        "de-en": {"Das dauert mind. 2 Std.": "at least 2 hours"},
        "en-de": {"He drove at 60 mph.": "60 Meilen pro Stunde", "It has 300 hp.": "300 PS"},
    }
    for name, cases in expected.items():
        with Translator.open(MODELS / name) as translator:
            for text, part in cases.items():
                assert part in translator.translate(text).text
