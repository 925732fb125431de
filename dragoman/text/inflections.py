"""Forms of a word by the endings of its language.

A stem is no proof that two words are one: `nicht` has the stem of `Nichte`, and `with` that of `withe`. Forms
are made from the dictionary form. They are more than there are, as nothing is known of a word but its
letters; the others are no words at all, with few exceptions.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib.resources import files

from dragoman.text.stemming import has_same_stem

MIN_CHARACTERS = 3
"""Shorter words have no other forms here."""

_LAST_VOWEL = re.compile(r"(.*)(au|[ao]|(?<![aeo])u)([^aeiouyäöü]*(?:e[lnr])?)", re.IGNORECASE | re.DOTALL)
_UMLAUTS = str.maketrans("aouAOU", "äöüÄÖÜ")
_PLURAL_IN_ER = re.compile(
    r".*(?:amt|bad|band|bild|blatt|brett|buch|dach|denkmal|dorf|ei|fach|fass|feld|geist|geld|gesicht|gespenst"
    r"|gewand|glas|glied|gott|grab|gras|gut|haupt|haus|holz|horn|huhn|kalb|kind|kleid|korn|kraut|lamm|land"
    r"|licht|lid|lied|loch|mann|maul|nest|rad|rand|rind|schild|schlo(?:ss|ß)|schwert|strauch|tal|tuch|tum|volk"
    r"|wald|weib|wort|wurm)",
    re.IGNORECASE,
)
_PLURAL_IN_EN = re.compile(
    r".+(?:anz|ei|enz|heit|ik|ion|ist|keit|schaft|tät|ung|ur)|.*(?:arbeit|(?<!b)art|bahn|burg|fahrt|flut|form"
    r"|frau|frist|held|herr|jagd|last|mensch|pflicht|schicht|schrift|sicht|spur|tat|tür|uhr|wahl|welt|zahl|zeit)",
    re.IGNORECASE,
)
_PLURAL_IN_E_OR_EN = re.compile(r".+(?:ant|at|ent|or)")
_PLURAL_IN_S = re.compile(r".*(?:[aiouy]|[bp]|ail|ant|ark|eam|et|ff|i[cn]k|on|ool)")
"""Of other nouns a form in -s is a genitive."""
_UNSTRESSED = re.compile(r".*(?:[^ei]|ei)e[lnr]")
_SAME_IN_PLURAL = re.compile(rf"{_UNSTRESSED.pattern}|.+lein|ge.+e", re.IGNORECASE)
_WITH_S = re.compile(r".*(?:auge|ce|ee|ende|ge.+e|interesse|site|[^aeiourl]le)", re.IGNORECASE)
"""Nouns in -e that are neuter, or taken from another language."""
_LIKE_ADJECTIVE = re.compile(
    r"(.*(?:be|ent|er|ge|ver).+te|.{3,}(?:ell|en|end|ig|isch|lich|los)e)r?", re.IGNORECASE
)
"""Nouns with the endings of adjectives: `Angestellte`, `Reisender`."""
_SINGULAR_ARTICLE = re.compile(
    r"\b(?:de[mns]|am|beim|im|vom|zum|\w*ein(?:e[mns])|(?:dies|jed)e[mns])\s+(?:\w+e[mn]\s+)?\Z",
    re.IGNORECASE,
)
"""After one, `Kunden` may be a singular."""
_GERMAN_LATIN = re.compile(r"(.{3,})(?:a|is|us|um)")

_ENGLISH_LATIN = {"on": "a", "um": "a", "us": "i", "ex": "ices", "ix": "ices"}
_IRREGULAR = {
    "child": "children", "foot": "feet", "goose": "geese", "mouse": "mice", "ox": "oxen", "person": "people",
    "tooth": "teeth",
}  # fmt: skip
_PLURAL_IN_MEN = re.compile(r"(?!(?:ger|hu|otto|ro|shar|talis)man)(.*)man")
_PLURAL_IN_VES = re.compile(r"(.*(?:[ae]l|ea|loa|thie|wol)|.*[lnw]i)fe?")
_NO_PLURAL = re.compile(
    r".*(?:ware|ness)|advice|baggage|cash|clothing|content|damage|data|equipment|evidence|feedback|furniture|hair"
    r"|help|homework|information|jewel(?:le)?ry|knowledge|luggage|machinery|money|news|progress|research|staff"
    r"|stuff|support|traffic|training|weather|work"
)
_HISSING = re.compile(r".*(?:[sxz]|ch|sh)")
_DOUBLES_LAST = re.compile(r"(?:.*[^aeiou])?[aeiou][bdgklmnprt]")


def has_endings(language: str) -> bool:
    """Return whether the endings of a language are known."""
    return language.partition("-")[0] in _FORMS


def forms_of(word: str, language: str, *, is_noun: bool) -> frozenset[str]:
    """Return a word and its other forms, with its capitals; the word alone if no endings are known.

    Function words are never among the other forms.

    Args:
        word: one word, in its dictionary form.
        language: a BCP-47 code.
        is_noun: whether it has the endings of a noun, not of any word.
    """
    language = language.partition("-")[0]
    if language not in _FORMS or not _has_forms(word):
        return frozenset({word})
    find_forms, find_others = _FORMS[language]
    forms = {*find_forms(word), *(() if is_noun else find_others(word))}
    return frozenset({word, *(form for form in forms if form.lower() not in function_words(language))})


def plurals_of(noun: str, language: str) -> tuple[str, ...]:
    """Return what may be the plural of a noun; nothing if no endings of the language are known."""
    find = _PLURALS.get(language.partition("-")[0])
    return tuple(dict.fromkeys(find(noun))) if find is not None and _has_forms(noun) else ()


def is_inflected(language: str, word: str, other: str) -> bool:
    """Return whether a word may be a form of another one, in lower case; by their stems without endings."""
    if not has_endings(language):
        return has_same_stem(language, word, other)
    return other.lower() in forms_of(word.lower(), language, is_noun=False)


def _has_forms(word: str) -> bool:
    return len(word) >= MIN_CHARACTERS and word.isalpha()


def is_plural(noun: str, found: str, before: str, language: str) -> bool:
    """Return whether a form of a noun is its plural, and certainly no other form.

    Args:
        noun: in its dictionary form.
        found: the form, in any case.
        before: the text before it, whose last words may be an article.
        language: a BCP-47 code.
    """
    singular, form = noun.lower(), found.lower()
    plurals = {plural.lower() for plural in plurals_of(noun, language)} - {singular}
    is_german = language.partition("-")[0] == "de"
    if is_german and form in _datives(plurals):
        return True
    if form not in plurals or not is_german or not form.endswith(("n", "s")):
        return form in plurals
    return _SINGULAR_ARTICLE.search(before) is None


@lru_cache
def function_words(language: str) -> frozenset[str]:
    """Return pronouns, articles, conjunctions, prepositions, modal verbs and the like, in lower case."""
    found = files("dragoman.text").joinpath(f"function_words.{language}.txt")
    return frozenset(found.read_text("utf-8").split())


def _german_noun(noun: str) -> Iterator[str]:
    yield from _german_plurals(noun)
    yield from _with(noun, "n ns" if noun.endswith("e") else "s es e en ens ien n")
    if _WITH_S.fullmatch(noun):
        yield f"{noun}s"
    if found := _LIKE_ADJECTIVE.fullmatch(noun):
        yield from _with(found[1], "r n m s")
        yield found[1]
    yield from _datives(_german_plurals(noun))


def _datives(plurals: Iterable[str]) -> Iterator[str]:
    return (f"{plural}n" for plural in plurals if plural.endswith(("e", "el", "er")))


def _german_plurals(noun: str) -> Iterator[str]:
    if _PLURAL_IN_EN.fullmatch(noun):
        yield f"{noun}en"
    elif _PLURAL_IN_ER.fullmatch(noun):
        yield f"{_with_umlaut(noun)}er"
    elif noun.endswith("e"):
        yield from (noun, f"{noun}n") if _SAME_IN_PLURAL.fullmatch(noun) else (f"{noun}n",)
        if _WITH_S.fullmatch(noun):
            yield f"{noun}s"
    elif _SAME_IN_PLURAL.fullmatch(noun):
        yield from (noun, _with_umlaut(noun), f"{noun}n")
    else:
        yield from _other_german_plurals(noun)


def _other_german_plurals(noun: str) -> Iterator[str]:
    if _PLURAL_IN_S.fullmatch(noun):
        yield f"{noun}s"
    if found := _GERMAN_LATIN.fullmatch(noun):
        yield from _with(found[1], "en a" if noun.endswith("um") else "en")
    if noun.endswith("in"):
        yield f"{noun}nen"
    if noun[-1] not in "aouy":
        yield from (f"{noun}e", f"{_with_umlaut(noun)}e")
    if noun.endswith("s"):
        yield f"{noun}se"
    if _PLURAL_IN_E_OR_EN.fullmatch(noun):
        yield f"{noun}en"


def _with_umlaut(noun: str) -> str:
    """Return a noun with its last vowel as in `Häuser`; as it is if there is no such vowel."""
    found = _LAST_VOWEL.fullmatch(noun)
    if found is None:
        return noun
    return f"{found[1]}{found[2][0].translate(_UMLAUTS)}{found[2][1:]}{found[3]}"


def _german_others(word: str) -> Iterator[str]:
    """Yield the forms of a verb or an adjective, or of a noun without its capital."""
    yield from _with(word, "e en er em es n s st ste sten ster stes ere eren erer eres")
    if word.endswith("e"):
        yield from _with(word, "r m")
    verb = word.removesuffix("n").removesuffix("e")
    if verb != word:
        yield from _with(verb, "e st t est et te test ten tet ete eten end ende enden ender")
        yield from _with(f"ge{verb}", "t et en")


def _english_plurals(noun: str) -> Iterator[str]:
    if _NO_PLURAL.fullmatch(noun):
        yield noun
    if noun in _IRREGULAR:
        yield _IRREGULAR[noun]
    elif found := _PLURAL_IN_MEN.fullmatch(noun):
        yield f"{found[1]}men"
    elif found := _PLURAL_IN_VES.fullmatch(noun):
        yield f"{found[1]}ves"
    elif noun.endswith("sis"):
        yield f"{noun[:-2]}es"
    elif _ends_in_y(noun):
        yield f"{noun[:-1]}ies"
    else:
        yield f"{noun}es" if _HISSING.fullmatch(noun) else f"{noun}s"
        if noun.endswith("o"):
            yield f"{noun}es"
        for ending, plural in _ENGLISH_LATIN.items():
            if noun.endswith(ending):
                yield noun.removesuffix(ending) + plural


def _english_others(word: str) -> Iterator[str]:
    """Yield the forms of a verb."""
    yield from _with(word.removesuffix("e"), "ed ing")
    yield f"{word[:-1]}ied" if _ends_in_y(word) else f"{word}ing"
    if _DOUBLES_LAST.fullmatch(word):
        yield from _with(word + word[-1], "ed ing")


def _ends_in_y(word: str) -> bool:
    return word.endswith("y") and word[-2] not in "aeiou"


def _with(stem: str, endings: str) -> Iterator[str]:
    return (stem + ending for ending in endings.split())


_FORMS = {"de": (_german_noun, _german_others), "en": (_english_plurals, _english_others)}
_PLURALS = {"de": _german_plurals, "en": _english_plurals}
