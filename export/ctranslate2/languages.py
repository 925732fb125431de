"""Languages of a CTranslate2 model: by tokens in its vocabulary, or as requested."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from dragoman.languages import Languages
from export.ctranslate2.settings import Ct2Settings
from export.ctranslate2.vocabulary import Ct2Vocabulary
from export.huggingface.fairseq import CONVENTIONS
from export.huggingface.files import JsonFiles
from export.huggingface.generation import GenerationSettings
from export.huggingface.languages import find_languages
from export.huggingface.vocabularies import Vocabularies
from export.original import RequestedLanguages, TokenizerSource

MIN_LANGUAGES = 2
"""Fewer tokens that look like languages are pieces of text."""
_M2M = re.compile("__([a-z_]+)__")


@dataclass(frozen=True, slots=True)
class LanguageTokens:
    """Ids of languages by the model's own codes, and where they are."""

    ids: Mapping[str, int]
    source_code: Literal["none", "before", "after"]
    target_code: Literal["source", "start", "forced"]
    drops_regions: bool = False


def find_language_tokens(vocabulary: Ct2Vocabulary, settings: Ct2Settings) -> LanguageTokens:
    """Return the language tokens of a source vocabulary, which may have none."""
    m2m = ((_M2M.fullmatch(token), index) for index, token in enumerate(vocabulary.tokens))
    languages = {match[1]: index for match, index in m2m if match is not None}
    if len(languages) >= MIN_LANGUAGES:
        return LanguageTokens(languages, "before", "forced")
    names = ("NllbTokenizer", "MBartTokenizer" if settings.start_token is None else "MBart50Tokenizer")
    for convention in map(CONVENTIONS.__getitem__, names):
        matching = {
            token: index
            for index, token in enumerate(vocabulary.tokens)
            if convention.pattern.fullmatch(token)
        }
        if len(matching) >= MIN_LANGUAGES:
            return LanguageTokens(
                matching, convention.source_code, convention.target_code, convention.drops_regions
            )
    return LanguageTokens(vocabulary.targets(), "none", "source")


@dataclass(frozen=True, slots=True)
class SpecialTokenIds:
    """Ids around sources and targets."""

    start: int
    """Begins a target, unless its language does."""
    eos: int
    before_source: tuple[int, ...]
    after_source: tuple[int, ...]


def read_languages(
    folder: Path,
    tokens: LanguageTokens,
    tokenizers: tuple[TokenizerSource, TokenizerSource],
    special: SpecialTokenIds,
    wanted: RequestedLanguages,
    problems: list[str],
) -> Languages | None:
    """Return the languages that a bundle serves; None, with problems added, if they are unclear.

    They are found as in a folder of Transformers whose tokenizer puts the language tokens at the same places.
    """
    vocabularies = Vocabularies(
        tokenizer_class="",
        source=tokenizers[0],
        target=tokenizers[1],
        unk_id=0,
        eos_id=special.eos,
        languages=tokens.ids,
        source_code=tokens.source_code,
        target_code=tokens.target_code,
        drops_regions=tokens.drops_regions,
    )
    generation = GenerationSettings(eos_id=special.eos, pad_id=special.eos)
    settings = JsonFiles(folder, {}, None, {})
    languages = find_languages(vocabularies, settings, generation, special.start, wanted, problems)
    if languages is None:
        return None
    sources = {
        code: replace(
            source,
            before=(*special.before_source, *source.before),
            after=(*special.after_source, *source.after[1:]),  # the first is the end of sentence
        )
        for code, source in languages.sources.items()
    }
    return Languages(sources, languages.targets)
