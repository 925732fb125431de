"""Languages as DeepL names them, and what the server offers for each."""

from collections.abc import Mapping
from dataclasses import dataclass

from dragoman.errors import UnsupportedPair
from dragoman.routing.routes import Routes
from service.api.languages import english_name

REGIONAL_TARGETS: Mapping[str, tuple[str, ...]] = {
    "de": ("de-CH",),
    "en": ("en-GB", "en-US"),
    "pt": ("pt-BR", "pt-PT"),
}
"""Targets beside these languages; a model for `en` translates into either of its own."""
REPLACED = frozenset({"en", "pt"})
"""Targets of which clients of version 2 offer the regional ones only."""
AUTO_DETECTION, FORMALITY, GLOSSARY, MEMORY = "auto_detection", "formality", "glossary", "translation_memory"
BOTH = {"needs_source_support": True, "needs_target_support": True}
NEEDED_SIDES: Mapping[str, Mapping[str, bool]] = {
    AUTO_DETECTION: {"needs_source_support": True},
    FORMALITY: {"needs_target_support": True},
    GLOSSARY: BOTH,
    "tag_handling": BOTH,
    MEMORY: BOTH,
}
"""Languages of a pair that need a feature for the pair to have it."""
RESOURCES: Mapping[str, tuple[str, ...]] = {
    "translate_text": tuple(NEEDED_SIDES),
    "translate_document": (AUTO_DETECTION, FORMALITY, GLOSSARY, MEMORY),
    GLOSSARY: (),
    "style_rules": (),
    MEMORY: (),
    "voice": (),
    "write": (),
}
"""Features of each resource of DeepL's. Clients expect a list for every resource, with languages in it."""


@dataclass(frozen=True, slots=True)
class ServedLanguage:
    """A language or a regional target."""

    code: str
    is_source: bool
    is_target: bool
    features: frozenset[str]

    @property
    def name(self) -> str:
        return english_name(self.code)


def served_languages(routes: Routes) -> list[ServedLanguage]:
    """Return all languages by code: sources without regions, targets with and without."""
    sources = {base_code(code).lower() for code in routes.sources()}
    targets = {each: code for code in routes.targets() for each in (code, *REGIONAL_TARGETS.get(code, ()))}
    in_glossaries = {code for pair in direct_pairs(routes) for code in pair}
    with_formality = routes.formality_targets()

    def describe(code: str) -> ServedLanguage:
        has_feature = {
            AUTO_DETECTION: code in sources,
            FORMALITY: targets.get(code) in with_formality,
            GLOSSARY: base_code(code).lower() in in_glossaries,
        }
        features = frozenset(name for name in NEEDED_SIDES if has_feature.get(name, True))
        return ServedLanguage(code, code in sources, code in targets, features)

    return [describe(code) for code in sorted({*sources, *targets})]


def base_code(code: str) -> str:
    """Return the name of a language as a source: `PT` for `pt-BR`."""
    return code.replace("_", "-").split("-")[0].upper()


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


def direct_pairs(routes: Routes) -> list[tuple[str, str]]:
    """Return the pairs that a single model serves, by codes in lower case without regions."""
    found = {
        (base_code(source).lower(), base_code(target).lower())
        for source in routes.sources()
        for target, route in routes.all_from(source)
        if len(route.steps) == 1
    }
    return sorted(found)
