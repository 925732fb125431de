"""The languages of a chat, from the model's name and what its instructions say, and the form of address."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from dragoman.routing.routes import MAX_NAME_LENGTH
from dragoman.types import Formality
from service.api.catalogue import Catalogue
from service.api.languages import english_name
from service.api.model_list import PREFIX
from service.api.openai.errors import rejected
from service.api.openai.language_names import LanguageNames
from service.http.errors import ErrorKind
from service.translation.request import AUTO

MAX_BEFORE = 120
"""Characters before a marker in which a source language, a verb or a negation is looked for."""
MAX_LISTED = 12
HOW = (
    "write it in the model, as in `dragoman-de`, or in a system message, as in `Translate into German` or "
    "`target: de`"
)
FIELD = r"(?:[\s_-]*lang(?:uage)?)?(?:\s*[:=]|\s+is\b)"
MARKER = re.compile(
    rf"(?P<target_field>\btarget{FIELD}|\b(?:output[\s_-]+lang(?:uage)?|zielsprache)\s*[:=])"
    rf"|(?P<source_field>\bsource{FIELD}|\bquellsprache\s*[:=])"
    r"|(?P<target_arrow>->|=>|→)"
    r"|(?P<target>\b(?:(?:in)?to|ins|nach)\b)"
    r"|(?P<source>\b(?:from|aus\s+dem|vom|von)\b)"
    r"|(?P<weak_in>\b(?:in|auf)\b)"
    r"|(?P<weak_pair>(?<=\w)[ ]?[-\u2013][ ]?(?=\w))"
    r"|(?P<weak_noun>\b(?:translation|version)\b)",
    re.IGNORECASE,
)
"""Words before a language, or after one; `weak_` ones count where nothing else names a target."""
HAS_NAME_BEFORE = frozenset({"target", "targetarrow", "weakpair", "weaknoun"})
VERB_BEFORE_IN = re.compile(
    r"\b(?:(?:re)?write|respond|reply|answer|output|return|translat\w+|antwort\w*|schreib\w*|gib|übersetz\w*)\b"
    r"[^.!?\n]*\Z",
    re.IGNORECASE,
)
NEGATION = re.compile(
    r"\b(?:not|never|nicht|niemals|kein\w*|\w+n['\u2019]t)\b(?:(?!\b(?:but|except|only|than|nur|sondern)\b)[^.,:;!?\n])*\Z",
    re.IGNORECASE,
)
QUALIFIERS = (
    "the a an correct fluent formal good grammatical high-quality idiomatic informal language modern native "
    "natural plain polite proper simple standard sprache"
)
BETWEEN = re.compile(
    rf"(?:[\s\"'`\u201c-\u201e\u2018\u2019«»*_(\[{{<,-]{{1,8}}(?:(?:{'|'.join(QUALIFIERS.split())})\b(?!-))?){{0,4}}",
    re.IGNORECASE,
)
"""Text between a marker and a language: quotes, brackets, and words such as `the` or `fluent`."""
AFTER_SOURCE = " -\t\"'`*"
CONTEXT = re.compile(
    r"^(?:#[^\n]{0,100}?\b(?:context|metadata)\b.*?(?=^#|\Z)"
    r"|[^\n:]{0,30}\b(?:title|summary|description) ?:[^\n]*)",
    re.IGNORECASE | re.DOTALL | re.MULTILINE,
)
"""Parts of an instruction about the page or the document that the text is from."""
ADDRESS = re.compile(
    r"\b(?:(?P<formal>(?i:formal|formally|polite|politely|formell\w*|förmlich\w*|höflich\w*|siezen?)|Sie-Form)"
    r"|(?P<informal>(?i:informal|informally|informell\w*|casual|duzen?|du-form)))\b"
    r"|(?i:\b(?:use|using|with|verwende|benutze|mit|per)\s+|(?=[\"'`„“]))[\"'`„“]?(?:(?P<sie>Sie)|(?P<du>[Dd]u))\b"
)
"""A form of address. `Sie` and `du` alone address the model itself, as in `Übersetzen Sie`."""


@dataclass(frozen=True, slots=True)
class ChatLanguages:
    """The languages that a chat names, by the models' own codes; None for those that it does not name."""

    target: str | None = None
    source: str | None = None


class Mention(NamedTuple):
    """A language that a text names."""

    side: str
    """`target` or `source`."""
    code: str
    start: int
    end: int
    is_weak: bool
    """Whether it counts only where nothing else names a target."""


def languages_of_model(model: str, catalogue: Catalogue) -> ChatLanguages:
    """Return the languages that a model's name stands for.

    The whole is read as a target first, then as a source and a target, as in `pt-BR-en`, and at last as a
    target with a region, as in `en-US`.

    Raises:
        ApiError: there is no such model.
    """
    name = "" if len(model) > MAX_NAME_LENGTH else model.strip().lower().removeprefix("openai/")
    if name in {PREFIX, f"{PREFIX}-{AUTO}"}:
        return ChatLanguages()
    found = _languages_of_codes(name.removeprefix(f"{PREFIX}-"), catalogue)
    if found is None:
        known = f"no such model; use `{PREFIX}`, or name languages that are served, as in `{PREFIX}-de`"
        raise rejected("model", known, "model_not_found", ErrorKind.NOT_FOUND)
    return found


def languages_of_text(text: str, names: LanguageNames, *, is_target_known: bool = False) -> ChatLanguages:
    """Return the languages that an instruction names; none if it names none.

    Args:
        text: the instruction.
        names: the names of languages.
        is_target_known: whether the target is named elsewhere, so that only plain words can contradict it.

    Raises:
        ApiError: it names several targets or sources, or one that is not served.
    """
    catalogue, text = names.catalogue, CONTEXT.sub("", text)
    whole = languages_of_word(text, names)
    if whole is not None:
        return ChatLanguages(whole.target and _served("target", whole.target, catalogue), whole.source)
    found = list(find_mentions(text, names))
    if is_target_known or any(each.side == "target" and not each.is_weak for each in found):
        found = [each for each in found if not each.is_weak]
    target, source = (
        _only(side, {_served(side, each.code, catalogue) for each in found if each.side == side})
        for side in ("target", "source")
    )
    return ChatLanguages(target, source)


def languages_of_word(text: str, names: LanguageNames) -> ChatLanguages | None:
    """Return the languages of a text that is one name, or codes, as in `en-de`; None for others."""
    word = text.strip(" \t\r\n\"'`*.:")
    named = names.name_at(word, 0)
    if named is not None and named[1] == len(word):
        return ChatLanguages(named[0])
    is_code = re.fullmatch(r"[\w-]+", word) is not None and len(word) <= MAX_NAME_LENGTH
    return _languages_of_codes(word.lower().replace("_", "-"), names.catalogue) if is_code else None


def find_mentions(
    text: str, names: LanguageNames, start: int = 0, end: int | None = None
) -> Iterator[Mention]:
    """Yield each language at a marker in a part of a text, and a source such as `English` in `English to`."""
    for found in MARKER.finditer(text, start, len(text) if end is None else end):
        kind, _, form = str(found.lastgroup).partition("_")
        is_weak, first = kind == "weak", max(0, found.start() - MAX_BEFORE)
        before = text[first : found.start()]
        named = None if form == "noun" else _language_after(found, names, form, accepts_codes=not is_weak)
        if (
            (named is None and form != "noun")
            or NEGATION.search(before) is not None
            or (form == "in" and VERB_BEFORE_IN.search(before) is None)
        ):
            continue
        prior = names.name_before(before.rstrip(AFTER_SOURCE)) if kind + form in HAS_NAME_BEFORE else None
        if prior is None and form == "arrow":
            prior = names.code_before(before.rstrip(AFTER_SOURCE))
        if named is None and prior is not None:
            yield Mention("target", prior[0], first + prior[1], found.end(), is_weak)
        elif named is not None and (prior is not None or form != "pair"):
            yield Mention("target" if is_weak else kind, named[0], found.start(), named[1], is_weak)
            if prior is not None:
                yield Mention("source", prior[0], first + prior[1], found.start(), is_weak)


def formality_of(text: str) -> Formality | None:
    """Return the form of address that an instruction names; None if it names none or both."""
    found = {
        str(each.lastgroup) in {"formal", "sie"}
        for each in ADDRESS.finditer(text)
        if NEGATION.search(text, max(0, each.start() - MAX_BEFORE), each.start()) is None
    }
    if len(found) != 1:
        return None
    return Formality.PREFER_FORMAL if found.pop() else Formality.PREFER_INFORMAL


def agreed(named: ChatLanguages, of_text: ChatLanguages) -> ChatLanguages:
    """Return the languages that are named in one of two ways.

    Raises:
        ApiError: both name one, and differ.
    """
    sides = (("target", named.target, of_text.target), ("source", named.source, of_text.source))
    for side, one, other in sides:
        if one is not None and other is not None and one != other:
            problem = f"{one} and {other} are named as the {side} language; name one of them"
            raise rejected("messages", problem, "ambiguous_language")
    return ChatLanguages(named.target or of_text.target, named.source or of_text.source)


def check_languages(named: ChatLanguages, parameter: str, catalogue: Catalogue) -> None:
    """Raise an ApiError if a chat names no target, or a pair that is not served."""
    if named.target is None:
        raise rejected("messages", f"the target language is missing; {HOW}", "missing_language")
    if named.source is not None and not catalogue.has_route(named.source, named.target):
        problem = f"nothing translates from {named.source} into {named.target}"
        raise rejected(parameter, problem, "unsupported_language")


def _language_after(
    marker: re.Match[str], names: LanguageNames, form: str, *, accepts_codes: bool
) -> tuple[str, int] | None:
    between = BETWEEN.match(marker.string, marker.end())
    start = marker.end() if between is None else between.end()
    named = names.name_at(marker.string, start)
    if named is None and accepts_codes:
        named = names.code_at(marker.string, start, accepts_words=bool(form))
    return named


def _languages_of_codes(name: str, catalogue: Catalogue) -> ChatLanguages | None:
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


def _served(side: str, code: str, catalogue: Catalogue) -> str:
    served = catalogue.routes.targets() if side == "target" else catalogue.routes.sources()
    resolved = catalogue.resolve(code)
    if resolved in served:
        return str(resolved)
    listed = ", ".join(served[:MAX_LISTED]) + (", …" if len(served) > MAX_LISTED else "")
    problem = f"a message names {code} as the {side} language, which is not served; served: {listed}"
    raise rejected("messages", problem, "unsupported_language")


def _only(side: str, codes: set[str]) -> str | None:
    if len(codes) > 1:
        named = ", ".join(sorted(codes))
        problem = f"a message names several {side} languages ({named}); name one: {HOW}"
        raise rejected("messages", problem, "ambiguous_language")
    return next(iter(codes), None)
