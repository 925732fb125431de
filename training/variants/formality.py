"""Sources with a control for the German form of address, Sie or du (Sennrich et al. 2016, N16-1005)."""

import re

from training.config import GERMAN
from training.controls import FORMAL, INFORMAL, mark
from training.corpus import TextPair
from training.variants.inserts import Languages

_INFORMAL = re.compile(r"\b(?:du|dich|dir|dein(?:e[mnrs]?)?|euch|euer|eure[mnrs]?)\b", re.IGNORECASE)
_FORMAL = re.compile(r"(?<=[\w,;)] )(?:Sie|Ihnen|Ihre?[mnrs]?)\b")
"""Matches only after a word or a comma: at the beginning of a sentence, `Sie` may mean `they` or `she`."""


def address_forms(text: str) -> set[str]:
    """Return the controls for the forms of address that a German text shows."""
    patterns = {FORMAL: _FORMAL, INFORMAL: _INFORMAL}
    return {control for control, pattern in patterns.items() if pattern.search(text)}


def german_address(text: str) -> str | None:
    """Return the control for the form of address in a German text; None if it shows neither form or both."""
    forms = address_forms(text)
    return forms.pop() if len(forms) == 1 else None


def formality(pair: TextPair, languages: Languages) -> TextPair | None:
    """Put the control before the source; return None unless the target is German and shows one form."""
    if languages[1] != GERMAN:
        return None
    control = german_address(pair.target)
    return None if control is None else TextPair(f"{mark(control)} {pair.source}", pair.target)
