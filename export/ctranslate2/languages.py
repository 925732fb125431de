"""Languages of a CTranslate2 model: by tokens in its vocabulary, or as requested."""

import re
from dataclasses import replace
from itertools import count

from dragoman.languages import Languages
from export.ctranslate2.settings import Ct2Settings
from export.ctranslate2.vocabulary import Ct2Vocabulary
from export.huggingface.fairseq import CONVENTIONS
from export.huggingface.generation import GenerationSettings
from export.huggingface.languages import LanguageSearch
from export.huggingface.vocabularies import LanguageTokens
from export.original import TARGET_TOKEN, RequestedLanguages, find_tokens

MIN_LANGUAGES = 2
"""Fewer tokens that look like languages are pieces of text."""
_M2M = re.compile("__([a-z_]+)__")


def find_language_tokens(vocabulary: Ct2Vocabulary, settings: Ct2Settings) -> LanguageTokens:
    """Return the language tokens of a source vocabulary, which may have none."""
    pieces, eos_id = list(zip(vocabulary.tokens, count(), strict=False)), vocabulary.ids[settings.eos_token]
    languages = find_tokens(_M2M, pieces)
    if len(languages) >= MIN_LANGUAGES:
        return LanguageTokens(languages, eos_id, "before", "forced")
    names = ("NllbTokenizer", "MBartTokenizer" if settings.start_token is None else "MBart50Tokenizer")
    for convention in map(CONVENTIONS.__getitem__, names):
        matching = {token: index for token, index in pieces if convention.pattern.fullmatch(token)}
        if len(matching) >= MIN_LANGUAGES:
            return LanguageTokens(
                matching,
                eos_id,
                convention.source_code,
                convention.target_code,
                drops_regions=convention.drops_regions,
            )
    return LanguageTokens(find_tokens(TARGET_TOKEN, pieces), eos_id, "none", "source")


def read_languages(
    tokens: LanguageTokens,
    start_id: int,
    around_source: tuple[tuple[int, ...], tuple[int, ...]],
    wanted: RequestedLanguages,
    problems: list[str],
) -> Languages | None:
    """Return the languages that a bundle serves; None, with problems added, if they are unclear.

    They are found as in a folder of Transformers whose tokenizer puts the language tokens likewise.

    Args:
        tokens: tokens of languages.
        start_id: begins a target, unless its language does.
        around_source: ids before and after a source, besides those of its language.
        wanted: languages requested by the caller.
        problems: problems are added here.
    """
    generation = GenerationSettings(eos_id=tokens.eos_id, pad_id=tokens.eos_id)
    languages = LanguageSearch(tokens, {}, generation, start_id, wanted, problems).find()
    if languages is None:
        return None
    before, after = around_source
    sources = {
        code: replace(
            source,
            before=(*before, *source.before),
            after=(*after, *source.after[1:]),  # the first is the end of sentence
        )
        for code, source in languages.sources.items()
    }
    return Languages(sources, languages.targets)
