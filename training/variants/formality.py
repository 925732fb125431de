"""Sources with a control for the German form of address, Sie or du (Sennrich et al. 2016, N16-1005).

A control must change nothing where nobody is addressed: some sources get one although their target has
neither form.
"""

import re
from random import Random

from dragoman.text import address
from dragoman.text.address import has_second_person, is_order, may_address
from dragoman.types import Formality
from training.config import ENGLISH, GERMAN
from training.controls import FORMAL, INFORMAL, mark
from training.corpus import TextPair
from training.variants.drawing import words
from training.variants.informal import to_informal
from training.variants.inserts import Languages

_CONTROLS = {Formality.FORMAL: FORMAL, Formality.INFORMAL: INFORMAL}
_ANY_GERMAN_ADDRESS = re.compile(
    r"\b(?:du|dich|dir|dein(?:e[mnrs]?)?|euch|euer|eure[mnrs]?|ihr)\b|\b(?:Sie|Ihnen|Ihre?[mnrs]?)\b"
)
_NO_IMPERATIVES = frozenset(words("bitte nicht nie keine kein niemand niemals los schluss weg ruhe hilfe"))
_LAST_INFINITIVE = re.compile(r"\b[a-zäöü]\w*n\W*$")
_FIRST_WORD = re.compile(r"[^\W\d_]+(?:['\u2019]t)?")


def address_forms(text: str) -> set[str]:
    """Return the controls for the forms of address that a German text shows."""
    return {_CONTROLS[form] for form in address.address_forms(text)}


def german_address(text: str) -> str | None:
    """Return the control for the form of address in a German text; None if it shows neither form or both."""
    forms = address_forms(text)
    return forms.pop() if len(forms) == 1 else None


def formality(pair: TextPair, languages: Languages) -> TextPair | None:
    """Put the control before the source; return None unless the target is German and shows one form."""
    if languages[1] != GERMAN:
        return None
    control = german_address(pair.target) or _informal_request(pair)
    return None if control is None else TextPair(f"{mark(control)} {pair.source}", pair.target)


def informal(pair: TextPair, languages: Languages) -> TextPair | None:
    """Change a German target from `Sie` to `du`, with the control before the source; None if no rule fits."""
    if languages[1] != GERMAN or german_address(pair.target) != FORMAL:
        return None
    target = to_informal(pair.source, pair.target)
    return None if target is None else TextPair(f"{mark(INFORMAL)} {pair.source}", target)


def _informal_request(pair: TextPair) -> str | None:
    """Return the informal control for a German imperative without a pronoun, such as `Geh nach Hause!`.

    An infinitive (`Datei öffnen`), a first person plural (`Gehen wir`) and a formal imperative end in -n; the
    infinitive stands last.
    """
    first = _FIRST_WORD.search(pair.target)
    is_informal = (
        is_order(pair.source)
        and pair.target.endswith("!")
        and first is not None
        and first.group().lower() not in _NO_IMPERATIVES
        and not first.group().endswith("n")
        and not _LAST_INFINITIVE.search(pair.target)
        and _ANY_GERMAN_ADDRESS.search(pair.target) is None
    )
    return INFORMAL if is_informal else None


def neutral_formality(pair: TextPair, rng: Random, languages: Languages) -> TextPair | None:
    """Put either control before the source; return None if a side may address somebody."""
    if languages[1] != GERMAN or may_address(pair.source, ENGLISH) or shows_second_person(pair):
        return None
    return TextPair(f"{mark(rng.choice((FORMAL, INFORMAL)))} {pair.source}", pair.target)


def shows_second_person(pair: TextPair) -> bool:
    """Return whether an English source or its German translation shows a second person."""
    return has_second_person(pair.source) or _ANY_GERMAN_ADDRESS.search(pair.target) is not None
