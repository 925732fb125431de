"""The languages of a chat: from the model's name, or from what the system's messages say by a convention."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dragoman.routing.routes import MAX_NAME_LENGTH
from service.api.languages import english_name
from service.api.libretranslate.languages import Catalogue
from service.api.openai.errors import rejected
from service.api.openai.language_names import LanguageNames
from service.http.errors import ErrorKind
from service.translation.request import AUTO

PREFIX = "dragoman"
MAX_SYSTEM_CHARACTERS = 8000
"""Maximum characters of the system's messages together, which are searched for languages."""
MAX_BEFORE = 80
"""Characters before a marker in which a source language may end."""
MAX_LISTED = 12
HOW = (
    "write it in the model, as in `dragoman-de`, or in a system message, as in `Translate into German` or "
    "`target: de`"
)
LANGUAGE_WORDS = r"(?:[\s_-]*lang(?:uage)?)?(?:\s*[:=]|\s+is\b)"
TARGET_FIELD = rf"\btarget{LANGUAGE_WORDS}"
SOURCE_FIELD = rf"\bsource{LANGUAGE_WORDS}"
MARKER = re.compile(
    rf"(?P<target_field>{TARGET_FIELD})|(?P<source_field>{SOURCE_FIELD})"
    r"|(?P<target>\b(?:in)?to\b|->|=>|→)|(?P<source>\bfrom\b)",
    re.IGNORECASE,
)
"""What stands before a language."""
QUALIFIERS = (
    "the a an correct fluent formal good grammatical high-quality idiomatic informal language modern native "
    "natural plain polite proper simple standard"
)
BETWEEN = re.compile(
    rf"(?:[\s\"'`\u201c\u201d\u2018\u2019«»*_(\[{{<,-]{{1,8}}(?:(?:{'|'.join(QUALIFIERS.split())})\b(?!-))?){{0,4}}",
    re.IGNORECASE,
)
"""What may stand between a marker and a language: quotes, brackets, and words such as `the` or `fluent`."""


@dataclass(frozen=True, slots=True)
class ChatLanguages:
    """The languages that a chat names, by the models' own codes; None for those that it does not name."""

    target: str | None = None
    source: str | None = None


def find_languages(model: str, system_text: str, catalogue: Catalogue, names: LanguageNames) -> ChatLanguages:
    """Return the languages of a chat, the target at least.

    Raises:
        ApiError: the model is unknown; no target or several are named; a language or pair is not served; or
            the model and the system's messages differ.
    """
    of_model = languages_of_model(model, catalogue)
    if of_model is None:
        known = f"no such model; use `{PREFIX}`, or name languages that are served, as in `{PREFIX}-de`"
        raise rejected("model", known, "model_not_found", ErrorKind.NOT_FOUND)
    if len(system_text) > MAX_SYSTEM_CHARACTERS:
        problem = f"system messages have {len(system_text)} characters; the limit is {MAX_SYSTEM_CHARACTERS}"
        raise rejected("messages", problem, "string_above_max_length")
    of_system = languages_of_text(system_text, catalogue, names)
    target = _one_language("target", of_model.target, of_system.target)
    source = _one_language("source", of_model.source, of_system.source)
    if target is None:
        raise rejected("messages", f"the target language is missing; {HOW}", "missing_language")
    if source is not None and not catalogue.has_route(source, target):
        parameter = "model" if of_model.source and of_model.target else "messages"
        problem = f"nothing translates from {source} into {target}"
        raise rejected(parameter, problem, "unsupported_language")
    return ChatLanguages(target, source)


def languages_of_model(model: str, catalogue: Catalogue) -> ChatLanguages | None:
    """Return the languages that a model's name stands for; None if there is no such model.

    The whole is read as a target first, then as a source and a target, as in `pt-BR-en`, and at last as a
    target with a region, as in `en-US`.
    """
    name = "" if len(model) > MAX_NAME_LENGTH else model.strip().lower()
    if name in {PREFIX, f"{PREFIX}-{AUTO}"}:
        return ChatLanguages()
    name = name.removeprefix(f"{PREFIX}-")
    targets = {code.lower(): code for code in catalogue.routes.targets()}
    if name in targets:
        return ChatLanguages(targets[name])
    parts = name.split("-")
    for count in range(1, len(parts)):
        pair = _pair("-".join(parts[:count]), "-".join(parts[count:]), catalogue)
        if pair is not None:
            is_served = pair.source is None or catalogue.has_route(pair.source, str(pair.target))
            return pair if is_served else None
    whole = catalogue.resolve(name)
    is_pair = any(english_name(part) != part for part in parts[1:])  # `de-es` is no German of Spain
    return ChatLanguages(whole) if whole in targets.values() and not is_pair else None


def _pair(source: str, target: str, catalogue: Catalogue) -> ChatLanguages | None:
    """Return a target with its source, or without one for `auto`; None if one of them is not served."""
    target_code = catalogue.resolve(target)
    source_code = None if source == AUTO else catalogue.resolve(source)
    if target_code not in catalogue.routes.targets() or (source_code is None and source != AUTO):
        return None
    return ChatLanguages(target_code, source_code)


def languages_of_text(text: str, catalogue: Catalogue, names: LanguageNames) -> ChatLanguages:
    """Return the languages that system messages name by the convention; none if they name none.

    Raises:
        ApiError: they name several targets or sources, or one that is not served.
    """
    whole = names.at(text.strip(), 0, accepts_words=True)
    if whole is not None and len(text.split()) == 1:
        return ChatLanguages(_served("target", whole, catalogue))
    found = list(_find_names(text, names))
    target, source = (
        _only(side, {_served(side, code, catalogue) for each, code in found if each == side})
        for side in ("target", "source")
    )
    return ChatLanguages(target, source)


def names_language(text: str, names: LanguageNames) -> bool:
    """Return whether a text names a language to translate into or from, by the convention."""
    return any(True for _ in _find_names(text, names))


def model_names(catalogue: Catalogue) -> list[str]:
    """Return the names of models to list: any languages, each target, and the pairs of bilingual models."""
    pairs = [
        pair
        for offer in catalogue.routes.offers
        if offer.languages.is_single_pair
        for pair in offer.languages.pairs()
    ]
    names = [PREFIX, *(f"{PREFIX}-{AUTO}-{target}" for target in catalogue.routes.targets())]
    return [*names, *sorted({f"{PREFIX}-{pair.source}-{pair.target}" for pair in pairs})]


def _find_names(text: str, names: LanguageNames) -> Iterator[tuple[str, str]]:
    """Yield each language after a marker, with its side; and a source such as `English` in `English to`."""
    for found in MARKER.finditer(text):
        kind = str(found.lastgroup)
        side = kind.removesuffix("_field")
        between = BETWEEN.match(text, found.end())
        start = found.end() if between is None else between.end()
        code = names.at(text, start, accepts_words=kind != side)
        if code is None:
            continue
        yield side, code
        before = text[max(0, found.start() - MAX_BEFORE) : found.start()].rstrip(" -\t\"'`*")
        source = names.before(before) if kind == "target" else None
        if source is not None:
            yield "source", source


def _served(side: str, code: str, catalogue: Catalogue) -> str:
    served = catalogue.routes.targets() if side == "target" else catalogue.routes.sources()
    resolved = catalogue.resolve(code)
    if resolved in served:
        return str(resolved)
    listed = ", ".join(served[:MAX_LISTED]) + (", …" if len(served) > MAX_LISTED else "")
    problem = f"a system message names {code} as the {side} language, which is not served; served: {listed}"
    raise rejected("messages", problem, "unsupported_language")


def _only(side: str, codes: set[str]) -> str | None:
    if len(codes) > 1:
        named = ", ".join(sorted(codes))
        problem = f"system messages name several {side} languages ({named}); name one: {HOW}"
        raise rejected("messages", problem, "ambiguous_language")
    return next(iter(codes), None)


def _one_language(side: str, of_model: str | None, of_system: str | None) -> str | None:
    if of_model is not None and of_system is not None and of_model != of_system:
        problem = f"the model names {of_model} as the {side} language, but a system message {of_system}"
        raise rejected("messages", f"{problem}; name one of them", "ambiguous_language")
    return of_model or of_system
