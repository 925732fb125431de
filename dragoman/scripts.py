"""Characters that form words."""

import unicodedata

SCRIPTS_WITHOUT_SPACES = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN")
"""Prefixes of Unicode character names. In these scripts a run of letters is a sentence, not a word."""


def is_word_character(character: str) -> bool:
    """Return whether a character forms a word together with an adjacent one of this kind."""
    if unicodedata.category(character)[0] not in "LMN":
        return False
    return character.isascii() or not unicodedata.name(character, "").startswith(SCRIPTS_WITHOUT_SPACES)
