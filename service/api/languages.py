"""Languages in the APIs: their names, and what is derived from the routes between them."""

from collections.abc import Callable
from functools import lru_cache
from typing import Generic, TypeVar

from langcodes import Language
from langcodes.tag_parser import LanguageTagError

from dragoman.routing.routes import Routes
from service.translation.inference import Inference

Derived = TypeVar("Derived")


@lru_cache(1024)
def english_name(code: str) -> str:
    """Return a language's English name, from CLDR and the IANA registry; its code if it has no name."""
    try:
        language = Language.get(code)
    except LanguageTagError:
        return code
    return language.display_name("en") if language.is_valid() else code


class RoutesCache(Generic[Derived]):
    """A value that is derived from the current routes. For one event loop."""

    def __init__(self, inference: Inference, derive: Callable[[Routes], Derived]) -> None:
        self._inference = inference
        self._derive = derive
        self._cached: tuple[Routes, Derived] | None = None

    async def current(self) -> Derived:
        """Return the value; derive it again after models change, which is slow for hundreds of languages."""
        routes = self._inference.router.routes
        if self._cached is None or self._cached[0] is not routes:
            self._cached = routes, await self._inference.run_in_thread(lambda: self._derive(routes))
        return self._cached[1]
