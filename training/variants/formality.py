"""Sources that say how their German translation addresses people (Sennrich et al. 2016, N16-1005)."""

import re

from training.config import GERMAN
from training.controls import FORMAL, INFORMAL, mark
from training.corpus import Pair
from training.variants.inserts import Languages

_INFORMAL = re.compile(r"\b(?:du|dich|dir|dein(?:e[mnrs]?)?|euch|euer|eure[mnrs]?)\b", re.IGNORECASE)
_FORMAL = re.compile(r"(?<=[\w,;)] )(?:Sie|Ihnen|Ihre?[mnrs]?)\b")
"""A capital after a word or a comma: at the beginning of a sentence it could be `they` or `her`."""


def german_address(text: str) -> str | None:
    """Return the control that a German text obeys; None where it shows neither form, or both."""
    is_formal, is_informal = _FORMAL.search(text) is not None, _INFORMAL.search(text) is not None
    if is_formal == is_informal:
        return None
    return FORMAL if is_formal else INFORMAL


def formality(pair: Pair, languages: Languages) -> Pair | None:
    """Put the control before the source, if the target is German and shows how it addresses people."""
    if languages[1] != GERMAN:
        return None
    control = german_address(pair.target)
    return None if control is None else Pair(f"{mark(control)} {pair.source}", pair.target)
