"""`reading.toml` of a bundle, which says what its model reads in place of a text as it is written."""

import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dragoman.errors import BundleError
from dragoman.reading.abbreviations import SECTIONS, Abbreviations
from dragoman.reading.grammar import Finder, Found, Grammar, Texts
from dragoman.reading.grammars import find_grammar
from dragoman.reading.read_text import RewordedText, render

READING_FILE = "reading.toml"
MAX_BYTES = 2**20
MAX_CHARACTERS = 80
"""Maximum length of an abbreviation, and of the words for it."""
RESPELLING, ABBREVIATIONS, GROUPS = "respelling", "abbreviations", "groups"
MAX_GROUP_TOKENS = 256
_WORD = re.compile(r"\w+")
_KEYS = frozenset({"grammar", "readings", "also_words", "not_with", "group_tokens", "group_words"})
"""Keys of a language's table that are no sections."""


@dataclass(frozen=True, slots=True)
class LanguageReading:
    """Rules for reading the texts of a language."""

    finders: tuple[Finder, ...] = ()
    has_respelling: bool = False
    """Whether words in capitals, Swiss spelling and quotation marks are read otherwise, too."""
    group_tokens: int = 0
    """Maximum tokens of consecutive sentences that are read together; 0 for one sentence at a time."""
    group_words: frozenset[str] = frozenset()
    """Words by which a sentence is read with the one before; if there are none, each is."""

    def needs_context(self, sentence: str) -> bool:
        """Return whether a sentence is read with the one before; a capital at its start does not count."""
        first, *others = _WORD.findall(sentence) or [""]
        return not self.group_words or not self.group_words.isdisjoint((first.lower(), *others))


_PLAIN = LanguageReading()


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """Rules for what a model reads in place of texts as they are written, by source language."""

    languages: Mapping[str, LanguageReading] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    """Names of the readings, sorted."""

    def read(self, segment: str, language: str) -> RewordedText | None:
        """Return what the model reads for a segment, but for respelling; None for the segment itself."""
        return self.read_all([segment], language)[0]

    def read_all(self, segments: Sequence[str], language: str) -> list[RewordedText | None]:
        """Return the same for several segments."""
        found: list[list[Found]] = [[] for _ in segments]
        finders = self.of(language).finders
        texts = Texts(segments if finders else ())
        for find, may_find in finders:
            for number in may_find(texts):
                found[number] += find(segments[number])
        return [render(*each) if each[1] else None for each in zip(segments, found, strict=True)]

    def of(self, language: str) -> LanguageReading:
        """Return what is read in place of texts of a language."""
        return self.languages.get(language, _PLAIN)


AS_WRITTEN = Reading()


def load_reading(path: Path, sources: Collection[str]) -> Reading:
    """Load the file of a bundle with some source languages.

    Raises:
        BundleError: it cannot be read; lists every table and key that is wrong.
    """
    try:
        content = path.read_bytes()
        if len(content) > MAX_BYTES:
            raise BundleError(str(path.parent), (f"{path.name} has more than {MAX_BYTES} bytes",))
        tables = tomllib.loads(content.decode())
    except (OSError, ValueError) as error:
        raise BundleError(str(path.parent), (f"{path.name}: {error}",)) from error
    reader = _Reader(path.name)
    reading = reader.take_reading(tables, sources)
    if reader.problems:
        raise BundleError(str(path.parent), tuple(reader.problems))
    return reading


class _Reader:
    """Takes the tables of a file, and collects what is wrong with them."""

    def __init__(self, file: str) -> None:
        self._file = file
        self.problems: list[str] = []

    def take_reading(self, tables: Mapping[str, Any], sources: Collection[str]) -> Reading:
        languages: dict[str, LanguageReading] = {}
        names: set[str] = set()
        for code, table in tables.items():
            if code not in sources or not isinstance(table, dict):
                self._reject(code, "", f"is no table of a source language: {', '.join(sorted(sources))}")
                continue
            languages[code], own = self._take_language(code, table)
            names |= own
        return Reading(languages, tuple(sorted(names)))

    def _take_language(self, code: str, table: Mapping[str, Any]) -> tuple[LanguageReading, set[str]]:
        grammar = self._take_grammar(code, table.get("grammar"))
        known = {} if grammar is None else grammar.READINGS
        names = set(self._take_words(code, "readings", table.get("readings", [])))
        for name in sorted(names - known.keys() - {RESPELLING}):
            self._reject(code, "readings", f"{name!r} is none of {', '.join(sorted({*known, RESPELLING}))}")
        for key in table.keys() - SECTIONS.keys() - _KEYS:
            self._reject(code, key, "is unknown")
        finders = [known[name] for name in sorted(names & known.keys())]
        sections = {
            section: self._take_section(f"{code}.{section}", table[section])
            for section in SECTIONS
            if section in table
        }
        if any(sections.values()):
            names.add(ABBREVIATIONS)
            not_with = self._take_table(f"{code}.not_with", table.get("not_with", {}))
            found = Abbreviations(
                sections,
                self._take_words(code, "also_words", table.get("also_words", [])),
                {key: self._take_words(f"{code}.not_with", key, value) for key, value in not_with.items()},
                frozenset() if grammar is None else grammar.FUNCTION_WORDS,
            )
            finders.insert(0, Finder(found.find, found.may_find))
        group_tokens = self._take_group_tokens(code, table.get("group_tokens", 0))
        if group_tokens:
            names.add(GROUPS)
        group_words = frozenset(self._take_words(code, "group_words", table.get("group_words", [])))
        return LanguageReading(tuple(finders), RESPELLING in names, group_tokens, group_words), names

    def _take_group_tokens(self, code: str, content: object) -> int:
        if type(content) is int and 0 <= content <= MAX_GROUP_TOKENS:
            return content
        self._reject(code, "group_tokens", f"must be a number of tokens, at most {MAX_GROUP_TOKENS}")
        return 0

    def _take_grammar(self, code: str, name: object) -> Grammar | None:
        if name is None:
            return None
        grammar = find_grammar(name) if isinstance(name, str) else None
        if grammar is None:
            self._reject(code, "grammar", f"there is no grammar {name!r}")
        return grammar

    def _take_section(self, table: str, content: object) -> dict[str, tuple[str, ...]]:
        forms: dict[str, tuple[str, ...]] = {}
        for abbreviation, full in self._take_table(table, content).items():
            words = tuple(self._take_words(table, abbreviation, [full] if isinstance(full, str) else full))
            if not any(map(str.isalpha, abbreviation)) or not 1 < len(abbreviation) <= MAX_CHARACTERS:
                self._reject(table, abbreviation, f"must have letters, and 2 to {MAX_CHARACTERS} characters")
            if not 1 <= len(words) <= 2:  # noqa: PLR2004 -- singular and plural
                self._reject(table, abbreviation, "must be words, or a list of the singular and the plural")
            forms[abbreviation] = words
        return forms

    def _take_table(self, name: str, content: object) -> dict[str, Any]:
        if isinstance(content, dict):
            return content
        self.problems.append(f"{self._file}: [{name}] is no table")
        return {}

    def _take_words(self, table: str, key: str, content: object) -> list[str]:
        words = [each for each in content if isinstance(each, str)] if isinstance(content, list) else []
        is_list = isinstance(content, list) and len(words) == len(content)
        if not is_list or not all(0 < len(each) <= MAX_CHARACTERS for each in words):
            self._reject(table, key, f"must be words of at most {MAX_CHARACTERS} characters")
        return words

    def _reject(self, table: str, key: str, problem: str) -> None:
        self.problems.append(f"{self._file}: [{table}] {key and repr(key)} {problem}".replace("  ", " "))
