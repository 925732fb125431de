"""Languages as clients of other APIs name them: codes, old and new, and English names."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain

from dragoman.errors import UnsupportedPair
from dragoman.languages import SourceLanguage, TargetLanguage, find_language
from dragoman.routing.routes import MAX_NAME_LENGTH, Routes
from service.api.languages import RoutesCache, english_name

NEW_CODES: Mapping[str, str] = {"pb": "pt-BR", "zh": "zh-Hans", "zt": "zh-Hant"}
"""Codes of LibreTranslate's models, and the codes that it accepts and returns for them since 1.6."""
OLD_CODES = {new.lower(): old for old, new in NEW_CODES.items()}
SCRIPTS_OF_REGIONS: Mapping[str, str] = {
    "zh-cn": "zh-hans",
    "zh-sg": "zh-hans",
    "zh-hk": "zh-hant",
    "zh-mo": "zh-hant",
    "zh-tw": "zh-hant",
}
"""Scripts by region: some clients, such as Mastodon, name a region where they mean a script."""


@dataclass(frozen=True, slots=True)
class CatalogueLanguage:
    """A language as clients see it."""

    code: str
    name: str
    targets: tuple[str, ...]
    """Codes of its target languages; its own is among them, and leaves texts unchanged."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The source and target languages of some routes."""

    routes: Routes
    served: Mapping[str, SourceLanguage | TargetLanguage]
    """Languages by the models' own codes."""
    listed: tuple[CatalogueLanguage, ...]
    """Languages sorted by name."""

    def resolve(self, requested: str) -> str | None:
        """Return the model's own code of a language in any spelling; None if it is not served.

        An exact match is preferred to a similar code: `zh-Hant` is `zt` rather than `zh`.
        """
        if len(requested) > MAX_NAME_LENGTH:
            return None
        spellings = _spellings(requested)
        codes = {code.lower(): code for code in self.served}
        exact = (codes.get(spelling) for spelling in spellings)
        similar = (find_language(spelling, self.served) for spelling in spellings)
        return next((code for code in chain(exact, similar) if code is not None), None)

    def sources(self) -> list[CatalogueLanguage]:
        """Return the source languages."""
        return self._listed_among(self.routes.sources())

    def targets(self) -> list[CatalogueLanguage]:
        """Return the target languages."""
        return self._listed_among(self.routes.targets())

    def has_route(self, source: str, target: str) -> bool:
        """Return whether there is a route between two languages, by the models' own codes."""
        try:
            self.routes.find(source, target)
        except UnsupportedPair:
            return False
        return True

    def _listed_among(self, codes: Iterable[str]) -> list[CatalogueLanguage]:
        among = {present_code(code) for code in codes}
        return [language for language in self.listed if language.code in among]


CatalogueCache = RoutesCache[Catalogue]


def catalogue(routes: Routes) -> Catalogue:
    """Build the catalogue of some routes."""
    served: dict[str, SourceLanguage | TargetLanguage] = {}
    for offer in routes.offers:
        for languages in (offer.languages.sources, offer.languages.targets):
            for code, language in languages.items():
                served.setdefault(code, language)
    targets: dict[str, set[str]] = {}
    for code in served:
        reached = targets.setdefault(present_code(code), {present_code(code)})
        reached.update(present_code(target) for target, _ in routes.all_from(code))
    listed = [
        CatalogueLanguage(code, english_name(code), tuple(sorted(reached)))
        for code, reached in targets.items()
    ]
    return Catalogue(
        routes, served, tuple(sorted(listed, key=lambda language: (language.name, language.code)))
    )


def present_code(code: str) -> str:
    """Return the code that clients get for a model's code."""
    return NEW_CODES.get(code.lower(), code)


def _spellings(requested: str) -> list[str]:
    plain = requested.replace("_", "-").lower()
    written = [plain, SCRIPTS_OF_REGIONS.get(plain, plain)]
    others = [codes[each].lower() for each in written for codes in (NEW_CODES, OLD_CODES) if each in codes]
    return list(dict.fromkeys([*written, *others]))
