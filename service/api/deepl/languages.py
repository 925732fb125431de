"""Languages as DeepL's clients name them: in upper case; English and Portuguese targets have a region."""

from collections.abc import Sequence
from functools import lru_cache

from langcodes import Language
from langcodes.tag_parser import LanguageTagError

from dragoman.errors import UnsupportedPair
from dragoman.routing.routes import Routes
from service.translation.inference import Inference

REGIONAL_TARGETS = {"en": ("en-GB", "en-US"), "pt": ("pt-BR", "pt-PT")}
"""Targets that clients offer instead of these languages; a model for `en` translates into either."""


def base_code(code: str) -> str:
    """Return the name of a language as a source: `PT` for `pt-BR`."""
    return code.replace("_", "-").split("-")[0].upper()


@lru_cache(1024)
def english_name(code: str) -> str:
    """Return the English name of a language, or its code if it has no name."""
    try:
        language = Language.get(code)
    except LanguageTagError:
        return code
    return language.display_name("en") if language.is_valid() else code


def source_codes(routes: Routes) -> list[str]:
    """Return the codes of all source languages."""
    return sorted({base_code(code).lower() for code in routes.sources()})


def target_codes(routes: Routes) -> list[str]:
    """Return the codes of all target languages."""
    return sorted({each for code in routes.targets() for each in REGIONAL_TARGETS.get(code, (code,))})


def are_variants(source: str | None, target: str | None, routes: Routes) -> bool:
    """Return whether two codes, such as `EN` and `EN-US`, name one language and no model translates between.

    Raises:
        UnsupportedPair: they do, but nothing translates into the target from any language.
    """
    if source is None or target is None or base_code(source) != base_code(target):
        return False
    try:
        routes.find(source, target)
    except UnsupportedPair:
        routes.sources_of(target)
        return True
    return False


class ServedPairs:
    """All served pairs of languages, by codes in lower case without regions. For one event loop."""

    def __init__(self, inference: Inference) -> None:
        self._inference = inference
        self._cached: tuple[Routes, Sequence[tuple[str, str]]] | None = None

    async def current(self) -> Sequence[tuple[str, str]]:
        """Return the pairs; find them again after models change, which is slow for hundreds of languages."""
        routes = self._inference.router.routes
        if self._cached is None or self._cached[0] is not routes:
            self._cached = (routes, await self._inference.run_in_thread(lambda: _pairs(routes)))
        return self._cached[1]


def _pairs(routes: Routes) -> list[tuple[str, str]]:
    found = {
        (base_code(source).lower(), base_code(target).lower())
        for source in routes.sources()
        for target, _ in routes.all_from(source)
    }
    return sorted(found)
