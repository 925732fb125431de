"""Names of languages in prose: where one begins, and which language it is."""

import re
from collections.abc import Mapping
from functools import lru_cache

from babel import Locale
from langcodes import Language

from service.api.languages import english_name
from service.api.libretranslate.languages import Catalogue

MAX_NAME_CHARACTERS = 40
CODE = re.compile(r"[A-Za-z]{2,3}(?:[-_](?:[A-Za-z]{4}|[A-Za-z]{2}|[0-9]{3}))*(?![\w\u2019'-])")
WORD_END = re.compile(r"(?<=\w)(?!\w)|(?<=[)\uff09])")
OTHER_NAMES: Mapping[str, str] = {
    "chinese simplified": "zh-Hans",
    "chinese traditional": "zh-Hant",
    "简体中文": "zh-Hans",
    "繁體中文": "zh-Hant",
    "繁体中文": "zh-Hant",
    "farsi": "fa",
    "norwegian": "no",
}
"""Common names that CLDR does not have as such."""
ENGLISH_WORDS = frozenset(
    [
        *("am", "an", "any", "as", "ban", "be", "bug", "for", "fur", "he", "hi", "his", "how", "id", "in"),
        *("is", "it", "la", "man", "may", "me", "men", "min", "my", "no", "of", "on", "one", "or", "our"),
        *("so", "sun", "the", "us", "war", "was", "who"),
    ]
)
"""Codes that are English words as well; after `to` they are no languages."""


class LanguageNames:
    """The names that a text may have for languages: English ones, their own, and codes that are served."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._codes = dict(_english_names())
        for code in catalogue.served:
            for name in (english_name(code), Language.get(code).autonym()):
                self._codes.setdefault(_normalise(name), code)

    def at(self, text: str, start: int, *, accepts_words: bool) -> str | None:
        """Return the code of the language whose name begins at a position of a text; None if none does.

        Args:
            text: any.
            start: the position.
            accepts_words: whether a code may be an English word, such as `it`.
        """
        part = text[start : start + MAX_NAME_CHARACTERS]
        for end in reversed([found.start() for found in WORD_END.finditer(part)]):
            code = self._codes.get(_normalise(part[:end]))
            if code is not None:
                return code
        found = CODE.match(text, start)
        return None if found is None else self._served_code(found[0], accepts_words=accepts_words)

    def before(self, text: str) -> str | None:
        """Return the code of the language with whose name a text ends; None if it does not."""
        part = text[-MAX_NAME_CHARACTERS:]
        for found in re.finditer(r"(?<!\w)(?=\w)", part):
            code = self._codes.get(_normalise(part[found.start() :]))
            if code is not None:
                return code
        return None

    def _served_code(self, written: str, *, accepts_words: bool) -> str | None:
        if not accepts_words and written.lower() in ENGLISH_WORDS:
            return None
        return written if self._catalogue.resolve(written) is not None else None


@lru_cache(1)
def _english_names() -> Mapping[str, str]:
    """Return the code of each English name that CLDR has, as in `simplified chinese`."""
    names: Mapping[str, str] = Locale.parse("en").languages
    return {**{_normalise(name): code.replace("_", "-") for code, name in names.items()}, **OTHER_NAMES}


def _normalise(name: str) -> str:
    return " ".join(name.casefold().split())
