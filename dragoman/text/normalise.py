"""One spelling of a text: what training saw is what the engine sees."""

import re
import unicodedata

_SPACES = re.compile(r"\s+")
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u200b\u2060\ufeff]")


def normalise_segment(text: str) -> str:
    """Compose characters (NFC), drop invisible controls, fold white space to single spaces.

    Nothing visible changes: ligatures, fractions and full-width forms stay (NFKC would not leave them).
    """
    without_controls = _CONTROLS.sub("", unicodedata.normalize("NFC", text))
    return _SPACES.sub(" ", without_controls).strip()
