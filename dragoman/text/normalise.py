"""One spelling of a text: what training saw is what the engine sees."""

import re
import unicodedata

_SPACES = re.compile(r"\s+")
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u200b\u2060\ufeff]")


def normalise_segment(text: str) -> str:
    """Drop invisible controls, compose characters (NFC), fold white space to single spaces.

    Nothing visible changes: ligatures, fractions and full-width forms stay (NFKC would not leave them).
    """
    composed = unicodedata.normalize("NFC", _CONTROLS.sub("", text))
    return _SPACES.sub(" ", composed).strip()
