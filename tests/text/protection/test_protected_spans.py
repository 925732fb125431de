"""What is protected in a text and what is not, also among random signs and tags."""

from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from service.text.context import TextContext
from service.text.marked_text import MarkedText, Shown
from service.text.patterns import find_spans
from tests.linear import is_linear
from tests.text.markup.marked import as_it_is, outcome
from tests.text.protection.bad_model import translate_badly

PROTECTED = {
    "%s in %d": ["%s", "%d"],
    "%(name)s hat %(num)d Dateien": ["%(name)s", "%(num)d"],
    "%1$s und %2$.3f und %-5ld": ["%1$s", "%2$.3f", "%-5ld"],
    "{} und {0} und {name!r:>10} und {{ x }}": ["{}", "{0}", "{name!r:>10}", "{{ x }}"],
    "${home} %{user} #{user.name} %1 von %L2": ["${home}", "%{user}", "#{user.name}", "%1", "%L2"],
    "$USER$ hat $count$ und $@a_1$, $HOME$PATH": ["$USER$", "$count$", "$@a_1$", "$HOME"],
    "%1%2 $HOME %<n>s %@": ["%1", "%2", "$HOME", "%<n>s", "%@"],
    "<b>fett</b> &amp; <br/> <x id='1'/>": ["<b>", "</b>", "&amp;", "<br/>", "<x id='1'/>"],
    "100 %% sicher": ["%%"],
    "%d% geladen": ["%d"],
    "{when, date, short} {n, number}": ["{when, date, short}", "{n, number}"],
    "{{#if a}} {% for x in y %} <%= z %>": ["{{#if a}}", "{% for x in y %}", "<%= z %>"],
    "Siehe https://a.example/b?c=d&e=%20#f.": ["https://a.example/b?c=d&e=%20#f"],
    "(https://de.example.org/wiki/A_(B))": ["https://de.example.org/wiki/A_(B)"],
    "www.example.org/x, oder?": ["www.example.org/x"],
    "an max.muster@ex-ample.co.at!": ["max.muster@ex-ample.co.at"],
    "Version 2.1.3, v1.0.0-rc.1 und 192.168.0.1": ["2.1.3", "v1.0.0-rc.1", "192.168.0.1"],
    "in /etc/hosts. und ~/x, C:\\Users\\x": ["/etc/hosts", "~/x", "C:\\Users\\x"],
    "README.md und src/app.py": ["README.md", "src/app.py"],
    "mit --dry-run und --level=3": ["--dry-run", "--level=3"],
    "mit --to={{ x }}/{{ y }}": ["--to", "{{ x }}", "{{ y }}"],
    "Rufe `rm -rf x` auf": ["`rm -rf x`"],
    "Ja {{- html}} nein {{when, datetime}} ja": ["{{- html}}", "{{when, datetime}}"],
    'Ja $t(key) nein $t(ns:key, {"count": 1}) ja': ["$t(key)", '$t(ns:key, {"count": 1})'],
    "Ja %#@files@ nein %1$#@a_b@ ja": ["%#@files@", "%1$#@a_b@"],
    "{0,10:C} am {1:dd.MM.yyyy HH:mm}, {2,-10} {Name,8}": [
        "{0,10:C}",
        "{1:dd.MM.yyyy HH:mm}",
        "{2,-10}",
        "{Name,8}",
    ],
    "{0} Keine|[1,19] Einige| [20,*] Viele|]-Inf,0[ Ja": ["{0}", "|[1,19]", "| [20,*]", "|]-Inf,0["],
    '{ DATETIME($d, month: "short", x: ")") } { -brand-name } { $name } { "x }" } {\n $y }': [
        '{ DATETIME($d, month: "short", x: ")") }',
        "{ -brand-name }",
        "{ $name }",
        '{ "x }" }',
        "{\n $y }",
    ],
    "@sonne, @a.b. und @caf\u00e9 @cafe\u0301, @a@b.example": [
        "@sonne",
        "@a.b",
        "@caf\u00e9",
        "@cafe\u0301",
        "@a@b.example",
    ],
    "#SchönerTag, #2024er und #a_b!": ["#SchönerTag", "#2024er", "#a_b"],
    "u/gartenfreund in r/Hunde, /u/name": ["u/gartenfreund", "r/Hunde", "/u/name"],
    "Bei haus.de, Booking.com-Konto, a-b.co.uk/x?y=1. www.a.de": [
        "haus.de",
        "Booking.com",
        "a-b.co.uk/x?y=1",
        "www.a.de",
    ],
    "__NAME__ und @@name@@ und [[1]]": ["__NAME__", "@@name@@", "[[1]]"],
    "Ja\n==WEBLATE_PART==\nNein == a ==": ["==WEBLATE_PART=="],
    "<@U12> an <#C1|alle>, <!here>, <:hund:12> <t:16:R>": [
        "<@U12>",
        "<#C1|alle>",
        "<!here>",
        "<:hund:12>",
        "<t:16:R>",
    ],
    "{\\an8}Guten {\\i1}Tag{\\i0}": ["{\\an8}", "{\\i1}", "{\\i0}"],
    "Ort: ____ Inhalt ..... 12 ---- ====": ["____", ".....", "----", "===="],
    "$name ist <code>ls -l</code>, <kbd>Strg</kbd>": ["$name", "<code>ls -l</code>", "<kbd>Strg</kbd>"],
}
ORDINARY = [
    "50% discount, 50 % discount, 100% der Zeit, 10%ige und 10 %ige Lösung",
    "am 24.12.2024, 1.1.24 und 1.234.567,89 Euro",
    "und/oder, km/h, 24/7, z.B. usw.",
    "er kam --wie immer-- zu spät -- und ging",
    "a < b und c > d & e",
    "{siehe oben} oder { kein Wort }",
    "Preis: 5 $ oder $5, R&D, Tom & Jerry",
    "US$ 5 und A$ 6, $5$6$, $a b$",
    "2.1.3 Einleitung",
    "Nr. 3.4, 3,14 und 12:30",
    "gut.Er kam, Ende.in, z.B. am 5.de, A.B.C, ASP.NET, Haus.des",
    "Und dann..... kam er -- so --, <!-- nicht --> a__b",
    "#1, # Titel, C# und F#, um 5 @ 6, u/o, und/oder, das [1,19] und x [2,*]",
    "",
]


@pytest.mark.parametrize("text", PROTECTED)
def test_placeholders_addresses_paths_and_code_are_protected(text: str) -> None:
    assert [text[span.start : span.end] for span in find_spans(text)] == PROTECTED[text]


@pytest.mark.parametrize("end", [".", ",", ": ja", ")", "?", "!", ". Ja", "\n"])
@pytest.mark.parametrize(
    "part",
    [
        *(
            "%s",
            "%1$s",
            "{x}",
            "{{ x }}",
            "${x}",
            "$X$",
            "<b>",
            "&amp;",
            "`x`",
            "https://a.example/b",
            "a@b.example",
        ),
        *(
            "www.a.example",
            "1.2.3",
            "/etc/hosts",
            "~/x",
            "src/a.py",
            "--dry-run",
            "--level=3",
            "__NAME__",
            "@@a@@",
        ),
    ],
)
def test_punctuation_after_a_placeholder_is_no_part_of_it(part: str, end: str) -> None:
    text = f"(Siehe {part}{end}"

    assert [text[span.start : span.end] for span in find_spans(text)] == [part]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_is_not_protected(text: str) -> None:
    assert find_spans(text) == ()


@pytest.mark.parametrize(
    ("text", "breaks"),
    [
        ("{ $n -> [one] Ein Hund *[other] { $n } Hunde }", ["{ $n -> [one]", "*[other]", "}"]),
        ("Ja { NUMBER($n) ->\n  [0] nein\n *[other] gut\n} da", ["{ NUMBER($n) ->\n  [0]", "*[other]", "}"]),
        ("[1,2] Ein|{3} Zwei| [4,*] Drei", ["[1,2]", "|{3}", "| [4,*]"]),
        ("{1} Ein Apfel|[2,*] :n Äpfel", ["{1}", "|[2,*]"]),
        ("Ein Apfel|Zwei Äpfel", ["|"]),
        ("Wählen Sie ja|nein aus", []),
        ("{0} Seiten | [1,2] zeigen", ["{0}", "| [1,2]"]),
        ("{0} von {1} | Ende", []),
        ("Siehe [1] und a -> b } und { $n } *[x]", []),
    ],
)
def test_variants_of_a_choice_are_texts_of_their_own(text: str, breaks: list[str]) -> None:
    """Of Fluent's selects, and of Laravel's and Symfony's ranges."""
    found = [text[span.start : span.end] for span in find_spans(text) if span.shown is Shown.BREAK]

    assert found == breaks


def test_placeholders_without_name_or_number_keep_their_order() -> None:
    forms = [span.shown for span in find_spans("{} %s %5.2f %1$s {0} <b>")]

    assert forms == [Shown.STRING, Shown.STRING, Shown.NUMBER, Shown.COPY, Shown.COPY, Shown.COPY]


@pytest.mark.parametrize(
    "part", ["%s", "{x}", "@name", "#tag", "haus.de", "{ $name }", "https://a.example/b"]
)
def test_controls_of_direction_that_touch_a_placeholder_belong_to_it(part: str) -> None:
    """One half of a pair of these alone would turn the rest of the text around."""
    isolated, marked = f"\u2068{part}\u2069", f"\u200f{part}\u200f"
    text = f"Hallo {isolated} und {marked}!"

    assert [text[span.start : span.end] for span in find_spans(text)] == [isolated, marked]


@pytest.mark.parametrize("part", ["{x}", "@name", "#tag", "haus.de", "$HOME", "src/a.py"])
def test_combining_marks_belong_to_the_character_before(part: str) -> None:
    """No placeholder ends within a character."""
    text = f"Hallo {part}\u0301\ufe0f da"

    assert [text[span.start : span.end] for span in find_spans(text)] == [f"{part}\u0301\ufe0f"]


_HOSTILE = (
    "a", "{", "%", "<a ", "/a", "a.", "--a ", "`", "a@", "1.", "$", "<a b='", "<a b='c' ", "__a", "_a", "{{a",
    "C:\\", "a/", "a.b/", "%(", "a-", "@@a", "https://a.", "{ ", "{a,", "{a , date", "-a", "a--a ", "[[1",
    "&a", "{%", "<%", "v1.", "=a", ".tar", "~/", "$", "$a", "$a$", "@", "@a.",
    "#", "#a", "#_", "#1", "u/", "r/a", "a.de", "a.de.", "a-", "{ A(", '{ $a("', '{A(""', "[1,", "|[1,2]",
    "\u2068", "{x}\u0301",
    "<@", "<@a|", "{\\", "{\\a", "<code>", "____", "....", "----", "####", "$a ", "a|", "_ ", ".... ",
    "{0,", "{0:", "{\n", "{ $a -> [b]", "{a ->", "[a]", "}", "|[1", "|{1}",
)  # fmt: skip


@pytest.mark.parametrize("part", _HOSTILE)
def test_hostile_texts_take_linear_work(part: str) -> None:
    assert is_linear(lambda size: find_spans(part * size))
    assert is_linear(lambda size: find_spans("https://" + part * size))


CONTEXT = TextContext("de", "en")
WORDS = st.sampled_from(["Haus", "und", "öffnen", "die", "Hunde", "sehr", "nicht", "Datei", "Wir"])
SENTENCES = st.lists(WORDS, min_size=1, max_size=5).map(" ".join)
NAMES = st.from_regex(r"[a-zA-ZäöüÄÖÜ][a-zA-Z0-9äöüß]{1,12}([._-][a-zA-Z][a-z0-9]{1,8})?", fullmatch=True)
EMPHASIS, SIGILS, OPENING = "*_~=+^|", "$%@#&", "([{<"
MIRROR = str.maketrans("([{<", ")]}>")


def is_of_names(signs: str) -> bool:
    """Whether signs are no emphasis of words, as `{++`, and no brackets of a sentence, as `([`."""
    if signs[0] in OPENING:
        is_emphasis = signs[1] == signs[-1] and signs[1] in EMPHASIS
        return not is_emphasis and (signs[0] in "{<" or signs[1] in SIGILS or signs[0] == signs[1])
    return signs[0] in SIGILS or (signs[0] in EMPHASIS and signs[1] in SIGILS)


DELIMITERS = st.text(EMPHASIS + SIGILS + OPENING, min_size=2, max_size=3).filter(is_of_names)
VALUES = st.from_regex(r'"[a-zäöü0-9 ./,#]{0,12}"|\'[a-z0-9 ,]{0,9}\'|[a-z0-9#]{1,9}', fullmatch=True)
ATTRIBUTES = st.lists(st.tuples(NAMES, VALUES).map(lambda pair: f" {pair[0]}={pair[1]}"), max_size=3).map(
    "".join
)
TAGS = st.tuples(
    NAMES, ATTRIBUTES, st.sampled_from(["<>", "[]", "{}", "()"]), st.sampled_from(["", "#"])
).map(
    lambda tag: (
        f"{tag[2][0]}{tag[3]}{tag[0]}{tag[1]}{tag[2][1]}",
        f"{tag[2][0]}/{tag[3]}{tag[0]}{tag[2][1]}",
    )
)


def translated(text: str) -> str:
    return outcome(MarkedText(text), translate_badly, CONTEXT).marked.text


@settings(max_examples=500)
@given(SENTENCES, SENTENCES, st.lists(st.tuples(DELIMITERS, NAMES), min_size=1, max_size=3))
@example("Haus", "Haus", [("#_", "a0.a0")])
def test_names_between_random_signs_and_their_mirror_come_back(
    before: str, after: str, named: list[tuple[str, str]]
) -> None:
    forms = [f"{signs}{name}{signs[::-1].translate(MIRROR)}" for signs, name in named]
    text = " ".join((before, *forms, after))

    found = outcome(MarkedText(text), lambda shown: as_it_is(shown.upper()), CONTEXT).marked.text
    places = [found.find(form) for form in forms]

    assert all(place >= 0 for place in places), found
    assert len(set(forms)) < len(forms) or all(first < last for first, last in pairwise(places))
    assert all(form in translated(text) for form in forms)


@settings(max_examples=500)
@given(SENTENCES, SENTENCES, SENTENCES, TAGS)
@example("Wir", "sehr", "nicht", ("[b]", "[/b]"))
@example("Wir", "sehr", "nicht", ("{{#b}}", "{{/b}}"))
@example("Wir", "sehr", "nicht", ("{% b %}", "{% endb %}"))
@example("Wir", "sehr", "nicht", ("\\emph{", "}"))
@example("Wir", "sehr", "nicht", ("{++", "++}"))
@example("Wir", "nicht", "die", ("{--", "--}"))
@example("Wir", "sehr", "nicht", ("[", ']({{ a.b }} "t")'))
@example("Wir", "sehr", "nicht", ("[", "](<%= a %>)"))
@example("Wir", "sehr", "nicht", ("[", "](https://a.example/b)"))
def test_tags_of_any_name_go_around_the_words_that_b_goes_around(
    before: str, within: str, after: str, tag: tuple[str, str]
) -> None:
    first, last = tag

    found = translated(f"{before} {first}{within}{last} {after}")

    expected = translated(f"{before} <b>{within}</b> {after}")
    assert found == expected.replace("<b>", first).replace("</b>", last)


@settings(max_examples=300)
@given(SENTENCES, SENTENCES, TAGS)
def test_a_tag_without_its_other_half_comes_back(before: str, after: str, tag: tuple[str, str]) -> None:
    assert tag[1] in translated(f"{before} {tag[1]} {after}")
