"""The languages of a bundle: their codes, their names, and the ids that mark them.

Codes are BCP-47 (https://www.rfc-editor.org/info/bcp47): `de`, `pt-BR`, `zh-Hans`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from dragoman.errors import UnsupportedPair
from dragoman.types import Pair

MAX_NAMED = 12
"""Maximum number of languages that an error lists; above it, only their number."""


@dataclass(frozen=True, slots=True)
class SourceLanguage:
    """Ids that surround a source in this language."""

    names: tuple[str, ...]
    """Other names of the language, such as `deu_Latn`."""
    before: tuple[int, ...]
    after: tuple[int, ...]
    """Includes the end-of-sentence id."""


@dataclass(frozen=True, slots=True)
class TargetLanguage:
    """Ids that make a model translate into this language."""

    names: tuple[str, ...]
    """Other names of the language."""
    source_before: tuple[int, ...]
    """Ids before everything else in the source."""
    begin: tuple[int, ...]
    """First ids of a target: the first starts the decoder, the others are forced."""


class _Named(Protocol):
    @property
    def names(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True)
class Languages:
    """Languages of a bundle. A source pairs with every target but itself; one of each always make a pair."""

    sources: Mapping[str, SourceLanguage]
    """By code; at least one."""
    targets: Mapping[str, TargetLanguage]
    """By code; at least one."""

    @property
    def is_single_pair(self) -> bool:
        """Return whether there is only one pair, so that callers need not name it."""
        return len(self.sources) == 1 and len(self.targets) == 1

    def pairs(self) -> Iterator[Pair]:
        """Yield all pairs."""
        for source in self.sources:
            for target in self.targets:
                if source != target or self.is_single_pair:
                    yield Pair(source, target)

    def pair(self, source: str | None, target: str | None) -> Pair:
        """Return the requested pair, where None stands for the only language.

        Raises:
            UnsupportedPair: there is no such language or pair, or there are several and none was named.
        """
        wanted = Pair(
            _pick_language("source", source, self.sources), _pick_language("target", target, self.targets)
        )
        if wanted.source == wanted.target and not self.is_single_pair:
            raise UnsupportedPair("target", f"{wanted.target} is also the source language; choose another")
        return wanted


def find_language(name: str, served: Mapping[str, _Named]) -> str | None:
    """Return the served code that a name refers to; None if there is none.

    Tries in this order, ignoring case: the code itself; another name of a language; either without its last
    subtags (`en-US` -> `en`); the only served code that adds subtags to it (`zh` -> `zh-Hans`).
    """
    spelled = {_normalise_name(code): code for code in served}
    spelled.update(
        {
            _normalise_name(name): code
            for code, language in served.items()
            for name in language.names
            if _normalise_name(name) not in spelled
        }
    )
    subtags = _normalise_name(name).split("-")
    for count in range(len(subtags), 0, -1):
        if (code := spelled.get("-".join(subtags[:count]))) is not None:
            return code
    longer = [code for code in served if _normalise_name(code).startswith(_normalise_name(name) + "-")]
    return longer[0] if len(longer) == 1 else None


@lru_cache(1024)
def primary_subtag(code: str) -> str:
    """Return a code's language without script and region, in lower case, such as `de` of `de-CH`."""
    return code.replace("_", "-").partition("-")[0].lower()


def list_languages(codes: Iterable[str]) -> str:
    """Return all codes if there are few, else their number; for messages."""
    listed = list(codes)
    return ", ".join(listed) if len(listed) <= MAX_NAMED else f"{len(listed)} languages"


def _pick_language(field: str, name: str | None, served: Mapping[str, _Named]) -> str:
    if name is None:
        if len(served) == 1:
            return next(iter(served))
        raise UnsupportedPair(field, f"choose a language; served: {list_languages(served)}")
    code = find_language(name, served)
    if code is None:
        raise UnsupportedPair(field, f"this language is not served; served: {list_languages(served)}")
    return code


def _normalise_name(name: str) -> str:
    return name.replace("_", "-").casefold()
