"""Names of languages in prose: where one begins or ends, and which language it is."""

import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import islice

from babel import Locale
from langcodes import Language

from dragoman.routing.routes import Routes
from service.api.catalogue import catalogue
from service.api.languages import english_name

MAX_NAME_CHARACTERS, MAX_NAME_WORDS = 40, 6
CODE = r"[A-Za-z]{2,3}(?:[-_](?:[A-Za-z]{4}|[A-Za-z]{2}|[0-9]{3}))*"
CODE_AT = re.compile(rf"(?:(?<=['\u2018\u2019]){CODE}(?![\w-])|{CODE}(?![\w\u2019'-]))")
"""A code; before an apostrophe only in quotes, because `it's` has none."""
CODE_BEFORE = re.compile(rf"(?<![\w\u2019'-]){CODE}\Z")
WORD_END = re.compile(r"(?<=\w)(?!\w)|(?<=[)\uff09])")
GERMAN_ENDING = re.compile(r"(?<=sch)en?\b")
"""Of a name such as `Deutsch` in `ins Deutsche` and `aus dem Deutschen`."""
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
WORDS = frozenset(
    [
        *("am", "an", "any", "as", "ban", "be", "bug", "for", "fur", "he", "hi", "his", "how", "id", "in"),
        *("is", "it", "la", "man", "may", "me", "men", "min", "my", "no", "of", "on", "one", "or", "our"),
        *("da", "so", "sun", "the", "us", "war", "was", "who"),
    ]
)
"""Codes that are words as well; after `to` they are no languages."""


class LanguageNames:
    """The names that a text may have for languages: English, German and their own ones, and served codes."""

    def __init__(self, routes: Routes) -> None:
        self.catalogue = catalogue(routes)
        self._codes = dict(_known_names())
        for code in self.catalogue.served:
            for name in (english_name(code), Language.get(code).autonym()):
                self._codes.setdefault(_normalise(name), code)

    def name_at(self, text: str, start: int) -> tuple[str, int] | None:
        """Return the code of the language whose name begins at a position, and where it ends."""
        part = text[start : start + MAX_NAME_CHARACTERS]
        ends = [found.start() for found in islice(WORD_END.finditer(part), MAX_NAME_WORDS)]
        for end in reversed(ends):
            code = self._codes.get(_normalise(part[:end]))
            if code is not None:
                return code, start + end
        return None

    def code_at(self, text: str, start: int, *, accepts_words: bool) -> tuple[str, int] | None:
        """Return the served code that begins at a position, and where it ends.

        Args:
            text: any.
            start: the position.
            accepts_words: whether a code may be a word, such as `it`.
        """
        found = CODE_AT.match(text, start)
        is_quoted = text[max(0, start - 1) : start] in {"'", '"', "`", "\u2018", "\u201c"}
        if found is None or (found[0].lower() in WORDS and not (accepts_words or is_quoted)):
            return None
        return None if self.catalogue.resolve(found[0]) is None else (found[0], found.end())

    def name_before(self, text: str) -> tuple[str, int] | None:
        """Return the code of the language with whose name a text ends, and where it begins."""
        first = max(0, len(text) - MAX_NAME_CHARACTERS)
        for found in re.finditer(r"(?<!\w)(?=\w)", text[first:]):
            code = self._codes.get(_normalise(text[first + found.start() :]))
            if code is not None:
                return code, first + found.start()
        return None

    def code_before(self, text: str) -> tuple[str, int] | None:
        """Return the served code with which a text ends, and where it begins."""
        found = CODE_BEFORE.search(text[-MAX_NAME_CHARACTERS:])
        if found is None or self.catalogue.resolve(found[0]) is None:
            return None
        return found[0], len(text) - len(found[0])


@lru_cache(1)
def _known_names() -> Mapping[str, str]:
    """Return the code of each English and German name that CLDR has, as in `simplified chinese`."""
    names = [item for locale in ("de", "en") for item in Locale.parse(locale).languages.items()]
    return {**{_normalise(name): code.replace("_", "-") for code, name in names}, **OTHER_NAMES}


def _normalise(name: str) -> str:
    return GERMAN_ENDING.sub("", " ".join(name.casefold().split()))
