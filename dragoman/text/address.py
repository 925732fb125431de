"""Forms of address: whether a text may address somebody, and the forms that a translation has.

Where a text addresses nobody, a requested form must change nothing: a model that is asked for `du` there
inserts one at times.
"""

import re
from collections.abc import Collection, Iterable
from functools import lru_cache
from importlib.resources import files

from dragoman.languages import primary_subtag
from dragoman.types import Formality, Pair

_ENGLISH = frozenset({"en", "eng"})
_YOU = re.compile(
    r"\b(?:you|your|yours|yourself|yourselves|thee|thou|thy|thine|u|ur|ya|y'all)\b", re.IGNORECASE
)
_BEFORE_CLAUSE = re.compile(
    r"(?:^|[.!?:;()\N{EN DASH}\N{EM DASH}\"\N{LEFT DOUBLE QUOTATION MARK}]|,(?! ?(?:and|or)\b)"
    r"|\b(?:but|then|please|(?P<joining>and|or)) )\W*",
    re.IGNORECASE,
)
_BEFORE_INFINITIVE = re.compile(r"(?i)\b(?:to|can|could|may|might|must|shall|should|will|would)\b")
"""After such a word, as in `to save time and give help`, a verb after `and` is most likely no order."""
_BEFORE_VERB = re.compile(
    r"(?:(?:please|just|now|then|and|so|ok|okay|hey|first|always|never|not"
    r"|do(?! (?:it|this|that|so|the|what)\b)|don['\N{RIGHT SINGLE QUOTATION MARK}]t),? ){0,4}",
    re.IGNORECASE,
)
_DO = re.compile(r"do (?:it|this|that|so|the|what)\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+")
_GERMAN = frozenset({"de", "deu", "ger"})
_FORMAL_PRONOUN = re.compile(r"\b(?:Sie|Ihnen|Ihre?[mnrs]?)\b")
_GERMAN_FORMS = {
    Formality.FORMAL: re.compile(rf"(?<=[\w,;)] ){_FORMAL_PRONOUN.pattern}"),
    Formality.INFORMAL: re.compile(r"\b(?i:du|dich|dir|dein(?:e[mnrs]?)?|euch|euer|eure[mnrs]?)\b"),
}
"""Formal pronouns only after a word or a comma: where a sentence begins, `Sie` may mean `they` or `she`."""
_PRONOUN = re.compile(
    rf"\b(?=[SIDdEe])(?:{_FORMAL_PRONOUN.pattern}|{_GERMAN_FORMS[Formality.INFORMAL].pattern})"
)
"""Matches in every German text that has a form of address; the letters make it fast."""
_THIRD_PERSON = re.compile(r"(?i)\b(?:she|hers?|they|them|theirs?|its?|these|those)\b")


def may_address(text: str, language: str) -> bool:
    """Return whether a text may address its reader: it has a second person, or a clause that may be an order.

    Args:
        text: any text.
        language: its language, by the model's code; texts in others than English may always address somebody.
    """
    if primary_subtag(language) not in _ENGLISH:
        return True
    joining_end = next((match.start() for match in _BEFORE_INFINITIVE.finditer(text)), len(text))
    return has_second_person(text) or any(
        _is_verb(text, match.end())
        for match in _BEFORE_CLAUSE.finditer(text)
        if match["joining"] is None or match.start() < joining_end
    )


def has_second_person(text: str) -> bool:
    """Return whether an English text has a word such as `you`."""
    return _YOU.search(text) is not None


def is_order(text: str) -> bool:
    """Return whether an English text begins like an order."""
    return _is_verb(text, 0)


def _is_verb(text: str, start: int) -> bool:
    """Return whether a verb that may be an order begins there, or after words such as `please`."""
    before = _BEFORE_VERB.match(text, start)
    start = start if before is None else before.end()
    if _DO.match(text, start):
        return True
    first = _WORD.match(text, start)
    return first is not None and first[0].lower() in _order_verbs()


def address_forms(text: str) -> set[Formality]:
    """Return the forms of address that a German text shows."""
    return {form for form, pattern in _GERMAN_FORMS.items() if pattern.search(text)}


def translated_forms(source: str, target: str, pair: Pair) -> frozenset[Formality]:
    """Return the forms of address that a translation shows; none in languages other than German."""
    may_have_form = primary_subtag(pair.target) in _GERMAN and _PRONOUN.search(target)
    if not may_have_form or not may_address(source, pair.source):
        return frozenset()
    forms = address_forms(target)
    if has_second_person(source) and not _THIRD_PERSON.search(source) and _FORMAL_PRONOUN.search(target):
        forms.add(Formality.FORMAL)
    return frozenset(forms)


def prevailing_form(segments: Iterable[Collection[Formality]]) -> Formality | None:
    """Return the form of address that most segments have, formal if as many; None without two forms."""
    found = [form for forms in segments for form in forms]
    if len(set(found)) < len(_GERMAN_FORMS):
        return None
    return max(set(found), key=lambda form: (found.count(form), form is Formality.FORMAL))


@lru_cache(maxsize=1)
def _order_verbs() -> frozenset[str]:
    """Return English verbs: words that often follow `to` or `can` in the training text."""
    return frozenset(files("dragoman.text").joinpath("order_verbs.txt").read_text("utf-8").split())
