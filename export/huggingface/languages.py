"""Language codes of a model as BCP-47, and the ids around a text in each language."""

import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import langcodes
from langcodes.tag_parser import LanguageTagError

from dragoman.languages import Languages, SourceLanguage, TargetLanguage, find_language, list_languages
from export.huggingface.codes import GROUPS
from export.huggingface.files import CONFIG_FILE, TOKENIZER_CONFIG_FILE
from export.huggingface.generation import GenerationSettings
from export.huggingface.vocabularies import LanguageTokens
from export.original import RequestedLanguages

CODE_REPLACEMENTS: Mapping[str, str] = {"ns": "nso"}
"""Replacements for codes of M2M-100 that mean nothing elsewhere."""
ALTERNATIVE_CODES: Mapping[str, str] = {"fil": "tl", "nb": "no"}
"""Older or broader codes that are often used instead."""
TWO_LETTERS = 2

_REGION = re.compile("[_-][A-Z]{2}$")

Language = TypeVar("Language", SourceLanguage, TargetLanguage)


@dataclass(frozen=True, slots=True)
class TaggedLanguage:
    """A model's language under its BCP-47 code."""

    code: str
    names: tuple[str, ...]
    """The model's own spelling, if it differs, and other names of the language."""
    id: int


def to_bcp47(model_code: str) -> str | None:
    """Return a BCP-47 code: `deu_Latn` -> `de`, `pt_br` -> `pt-BR`; None if it is not a language tag.

    A three-letter code becomes that of the language whose usual form it is (`arb_Arab` -> `ar`).
    """
    return _standardise(model_code, is_short=True)


def tag_languages(
    ids: Mapping[str, int], problems: list[str], *, drops_regions: bool = False
) -> list[TaggedLanguage]:
    """Return the BCP-47 codes of a model's languages, in the model's order.

    Languages with the same short code keep what distinguishes them. Codes that are not language tags, or that
    cannot be distinguished, are problems.

    Args:
        ids: language ids by the model's own codes.
        problems: problems are added here.
        drops_regions: whether each code has a region that says nothing about the language (`de_DE`).
    """
    short = {
        model_code: to_bcp47(_REGION.sub("", model_code) if drops_regions else model_code)
        for model_code in ids
    }
    times = Counter(short.values())
    chosen = {
        model_code: code if times[code] == 1 else _standardise(model_code, is_short=False)
        for model_code, code in short.items()
    }
    problems += [
        f"language {model_code!r} is not a language tag" for model_code in ids if chosen[model_code] is None
    ]
    found: dict[str, str] = {}
    for model_code, code in chosen.items():
        if code is not None and found.setdefault(code, model_code) != model_code:
            problems.append(f"languages {found[code]!r} and {model_code!r} have the same code {code}")
    return [
        TaggedLanguage(code, _names(code, model_code, found), ids[model_code])
        for code, model_code in found.items()
    ]


@dataclass(frozen=True, slots=True)
class LanguageSearch:
    """Finds the languages that a bundle serves."""

    tokens: LanguageTokens
    """Have the ids of languages."""
    settings: Mapping[str, Any]
    """Settings of the tokenizer, which name the pair of a model with only one."""
    generation: GenerationSettings
    """May force a target language."""
    start_id: int
    """Begins a target, unless its language has its own start."""
    wanted: RequestedLanguages
    """Languages requested by the caller."""
    problems: list[str]
    """Problems are added here."""

    def find(self) -> Languages | None:
        """Return the languages; None, with problems added, if they are unclear."""
        if self.tokens.tasks:
            return self._languages_of_tasks()
        if self.tokens.source_code == "none":
            sources = self._requested_sources()
        else:
            tagged, found = self._tagged()
            sources = {each.code: self._source(each) for each in tagged}
            sources = self._select("source", self.wanted.sources, sources, found)
        targets = self._targets_of_codes() if self.tokens.ids else self._requested_target()
        return Languages(sources, targets) if sources and targets else None

    @property
    def _forced(self) -> tuple[int, ...]:
        return () if self.generation.forced_first is None else (self.generation.forced_first,)

    def _tagged(self) -> tuple[list[TaggedLanguage], list[str]]:
        """Return the languages with ids, and what is unclear about them."""
        found: list[str] = []
        return tag_languages(self.tokens.ids, found, drops_regions=self.tokens.drops_regions), found

    def _source(self, language: TaggedLanguage) -> SourceLanguage:
        if self.tokens.source_code == "before":
            return SourceLanguage(language.names, (language.id,), (self.tokens.eos_id,))
        return SourceLanguage(language.names, (), (self.tokens.eos_id, language.id))

    def _requested_sources(self) -> dict[str, SourceLanguage]:
        """Return the source languages of a model without source language ids.

        A model of T5's family with tags reads all languages that it has tags for.
        """
        found: list[str] = []
        named = self.wanted.sources or tuple(self.tokens.ids if self.tokens.prefixes else ())
        tagged = tag_languages(dict.fromkeys(named or self._named_language("source"), 0), found)
        if self.wanted.sources or not self.tokens.prefixes:
            self.problems.extend(found)
        return {each.code: SourceLanguage(each.names, (), (self.tokens.eos_id,)) for each in tagged}

    def _requested_target(self) -> dict[str, TargetLanguage]:
        """Return the one target language of a model without target language ids."""
        named = self.wanted.targets or self._named_language("target")
        if len(named) > 1:
            self.problems.append(
                f"{len(named)} target languages are requested ({', '.join(named)}), but the model has one"
            )
        tagged = tag_languages(dict.fromkeys(named, 0), self.problems)
        begin = (self.start_id, *self._forced)
        return {each.code: TargetLanguage(each.names, (), begin) for each in tagged}

    def _targets_of_codes(self) -> dict[str, TargetLanguage]:
        ids, generation = self.tokens.ids, self.generation
        tagged, found = self._tagged()
        code_at = self.tokens.target_code
        if code_at == "start" and generation.decoder_start not in {None, *ids.values()}:
            code_at = "forced"
        begin: dict[int, tuple[int, ...]] = {
            each.id: {
                "source": (self.start_id, *self._forced),
                "start": (each.id, *self._forced),
                "forced": (self.start_id, each.id),
            }[code_at]
            for each in tagged
        }
        targets = {
            each.code: TargetLanguage(
                each.names,
                self.tokens.prefixes.get(each.id, (each.id,)) if code_at == "source" else (),
                begin[each.id],
            )
            for each in tagged
        }
        fixed = {"source": None, "start": generation.decoder_start, "forced": generation.forced_first}[
            code_at
        ]
        if fixed is not None and not self.wanted.targets:
            targets = {each.code: targets[each.code] for each in tagged if each.id == fixed}
            if not targets:
                self.problems.append(f"forced_bos_token_id {fixed} is not the id of one of its languages")
            return targets
        return self._select("target", self.wanted.targets, targets, found)

    def _languages_of_tasks(self) -> Languages | None:
        """Return the languages of a model that reads its task, which names both, before the source."""
        tasks, wanted = self.tokens.tasks, self.wanted
        sources = dict.fromkeys(source for source, _ in tasks)
        if wanted.sources:
            sources = dict.fromkeys(name for name in sources if find_language(name, _named(wanted.sources)))
        if len(sources) != 1:
            self.problems.append(
                f"{CONFIG_FILE}: task_specific_params is from {list_languages(sources) or 'none of them'};"
                " a bundle is for one source language: choose it with --source-lang"
            )
            return None
        (source,) = sources
        begin = (self.start_id, *self._forced)
        targets = {
            target: TargetLanguage((), prefix, begin)
            for (language, target), prefix in tasks.items()
            if language == source
        }
        targets = self._select("target", wanted.targets, targets, [])
        return Languages({source: SourceLanguage((), (), (self.tokens.eos_id,))}, targets)

    def _select(
        self, side: str, requested: Sequence[str], served: dict[str, Language], unclear: Iterable[str]
    ) -> dict[str, Language]:
        """Return the requested languages, or all; `unclear` ones are problems only if none is requested."""
        if not requested:
            self.problems.extend(f"{problem}; exclude it with --{side}-lang" for problem in unclear)
            return served
        codes = {name: find_language(name, served) for name in requested}
        self.problems.extend(
            f"{name} is not one of its {side} languages: {list_languages(served)}"
            for name, code in codes.items()
            if code is None
        )
        return {code: served[code] for code in codes.values() if code is not None}

    def _named_language(self, side: str) -> tuple[str, ...]:
        """Return the language that the tokenizer's settings name, if it is a single language."""
        named = self.settings.get(f"{side}_lang")
        if not isinstance(named, str) or not named:
            self.problems.append(f"no file names its {side} language; give --{side}-lang")
            return ()
        if to_bcp47(named) is None or named.casefold() in GROUPS:
            several = ", or several, separated by commas" if side == "source" else ""
            self.problems.append(
                f"{TOKENIZER_CONFIG_FILE}: {side}_lang {named!r} is not one language;"
                f" give one with --{side}-lang{several}"
            )
            return ()
        return (named,)


def _named(codes: Iterable[str]) -> dict[str, SourceLanguage]:
    """Return languages that have nothing but a code, to look names up in."""
    return {code: SourceLanguage((), (), ()) for code in codes}


def _names(code: str, model_code: str, taken: Container[str]) -> tuple[str, ...]:
    """Return other names: the model's own, and the common one unless it is another language's code."""
    also = ALTERNATIVE_CODES.get(code.split("-", maxsplit=1)[0])
    names = (model_code,) if also is None or also in taken else (model_code, also)
    return tuple(name for name in dict.fromkeys(names) if name != code)


def _standardise(model_code: str, *, is_short: bool) -> str | None:
    """Return the canonical form of a tag; None if it is not a tag.

    Args:
        model_code: the model's spelling.
        is_short: whether the usual form of a language (`cmn`) gets the code of the language (`zh`).
    """
    try:
        tag = langcodes.Language.get(CODE_REPLACEMENTS.get(model_code, model_code), normalize=True)
    except LanguageTagError:
        return None
    if tag.language is None or not tag.is_valid():
        return None
    if is_short and len(tag.language) > TWO_LETTERS:
        tag = tag.prefer_macrolanguage()
    return tag.simplify_script().to_tag()
