"""Full stops that end no sentence, as they follow an abbreviation, and numbers that refer to something."""

import re
import tomllib
from collections.abc import Collection
from functools import lru_cache
from importlib.resources import files

from dragoman.text.inflections import function_words

_SPACE = "[ \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}]"
_AT_END = re.compile(rf"(?<!\w)(?:[^\W\d_]++\.{_SPACE}?){{1,4}}\Z")
_SHORT = re.compile(r"(?<![^\W_])[^\W\d_]{1,3}\.\s?\Z")
_HYPHENATED = re.compile("[-\N{NON-BREAKING HYPHEN}][\\w%]")
_AFTER_DIGIT = re.compile(rf"\d{_SPACE}\w+\.\s*\Z")
_FOLLOWING = re.compile(r"\w+")
_NUMBER = re.compile(rf"{_SPACE}?\d[\d.,]*[a-z]?(?![\w.,])(?:{_SPACE}(\w+)(\.?))?")
_LONGEST = 24


def sentence_goes_on(line: str, start: int, end: int, language: str) -> bool:
    """Return whether a sentence goes on after a full stop, and any white space, that end there.

    Args:
        line: a line of a text.
        start: where the sentence begins.
        end: where it may end.
        language: two letters.
    """
    before, following = line[max(start, end - _LONGEST) : end], line[end : end + 1]
    if _HYPHENATED.match(line, end) and not before[-1].isspace():
        return True
    if following.islower() and not line[start].islower() and _SHORT.search(before):
        return True
    found = _AT_END.search(before)
    known = _abbreviations(language)
    if found is None or known is None:
        return False
    parts = "".join(found[0].split()).split(".")[:-1]
    tails = {f"{'.'.join(parts[i:])}." for i in range(len(parts))}
    tails |= {tail[0].lower() + tail[1:] for tail in tails if before.startswith(found[0])}
    if following.isdigit():
        is_sure = not tails.isdisjoint(known["before_numbers"])
        may_refer = is_sure or not {f"{tail}?" for tail in tails}.isdisjoint(known["before_numbers"])
        return is_sure or (may_refer and refers(line, end, function_words(language)))
    if not tails.isdisjoint(known["always"]):
        return True
    word = _FOLLOWING.match(line, end)
    begins_sentence = word is None or word[0].lower() in function_words(language)
    return (
        not begins_sentence
        and not tails.isdisjoint(known["before_names"])
        and not _AFTER_DIGIT.search(before)
    )


def refers(text: str, end: int, words: Collection[str]) -> bool:
    """Return whether a number that begins there counts nothing: `3 der Verordnung`, not `3 Monate`.

    Args:
        text: any.
        end: where the abbreviation before the number ends.
        words: function words of the text's language, in lower case.
    """
    number = _NUMBER.match(text, end)
    if number is None or number[1] is None:
        return number is not None
    word = number[1]
    return word in words or word.isupper() or word[0].isdigit() or (word[0].isupper() and number[2] == ".")


@lru_cache
def _abbreviations(language: str) -> dict[str, frozenset[str]] | None:
    """Return the lists of a language; None if there are none."""
    table = tomllib.loads(files("dragoman.text").joinpath("abbreviations.toml").read_text("utf-8"))
    own = table.get(language)
    return None if own is None else {name: frozenset(listed.split()) for name, listed in own.items()}
