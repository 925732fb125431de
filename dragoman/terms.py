"""Terminology of a request: terms with their required translations, and forbidden phrases."""

from dataclasses import dataclass

from dragoman.argument_types import checks_arguments
from dragoman.errors import InputError

MAX_PHRASE_CHARACTERS = 200
"""Maximum characters of a term, of a translation of it, or of a forbidden phrase."""
MAX_FORMS = 16
"""Maximum number of allowed translations of a term."""


@checks_arguments
@dataclass(frozen=True, slots=True)
class Term:
    """Words of the source language and their allowed translations.

    Raises:
        InputError: one of the phrases is empty or too long, or there are too many translations.
    """

    source: str
    """The term in its dictionary form, found in a text by words, in any inflection."""
    targets: tuple[str, ...] = ()
    """Allowed translations, the preferred one first; the model chooses. If empty, the words of the text are
    kept as they are."""

    def __post_init__(self) -> None:
        _check_phrase("terms.source", self.source)
        if len(self.targets) > MAX_FORMS:
            raise InputError("terms.targets", f"{len(self.targets)} are over the limit of {MAX_FORMS} a term")
        for target in self.targets:
            _check_phrase("terms.targets", target)


@checks_arguments
@dataclass(frozen=True, slots=True, eq=False)
class Terminology:
    """Terms and forbidden phrases. Compared by identity, so that what is computed for one can be cached.

    Raises:
        InputError: a phrase is empty or too long.
    """

    terms: tuple[Term, ...] = ()
    """Of two terms with the same source, the later one counts."""
    forbidden: tuple[str, ...] = ()
    """Phrases of the target language that no translation may contain."""

    def __post_init__(self) -> None:
        for phrase in self.forbidden:
            _check_phrase("forbidden", phrase)


def _check_phrase(name: str, phrase: str) -> None:
    """Raise an InputError that names the field if a phrase is empty or too long."""
    if not phrase.strip():
        raise InputError(name, "is empty; give at least one word")
    if len(phrase) > MAX_PHRASE_CHARACTERS:
        problem = f"{len(phrase)} characters are over the limit of {MAX_PHRASE_CHARACTERS}; shorten it"
        raise InputError(name, problem)
