"""Doubt the source language that a caller names, where a text is certainly in another one."""

import re
from collections.abc import Sequence
from dataclasses import replace

from service.translation.detection import MAX_LOOKED_AT, other_language
from service.translation.request import TranslationResult

MIN_COPIED = 0.6
"""Share of a text's words from which its language is looked at: models copy what they cannot read."""
WORD = re.compile(r"[^\W\d_]{3,}")


def is_doubtful(text: str, result: TranslationResult) -> bool:
    """Return whether a text of a named language was copied more than translated."""
    if result.detected is not None or not result.parts:
        return False
    words, translated = (set(WORD.findall(one[:MAX_LOOKED_AT].lower())) for one in (text, result.text))
    return bool(words) and len(words & translated) >= MIN_COPIED * len(words)


def doubt_sources(
    texts: Sequence[str], results: Sequence[TranslationResult], served: Sequence[str]
) -> list[TranslationResult]:
    """Return the results, those of doubtful texts with the language that they are in, if that is certain."""
    return [
        replace(result, other_language=other_language(text, result.source, served))
        if is_doubtful(text, result)
        else result
        for text, result in zip(texts, results, strict=True)
    ]
