"""Languages of a Marian model, and the ids that select them."""

from collections.abc import Iterable, Mapping

import langcodes

from dragoman.languages import Languages, SourceLanguage, TargetLanguage, list_languages
from export.marian.release import ReleaseLanguages
from export.marian.vocabulary import MarianVocabulary
from export.original import RequestedLanguages

NO_LANGUAGE = "xxx"
"""Code for text in no language; some vocabularies have `>>xxx<<`."""


def find_languages(
    requested: RequestedLanguages,
    release_languages: ReleaseLanguages,
    vocabularies: tuple[MarianVocabulary, MarianVocabulary],
    start_id: int,
    problems: list[str],
) -> Languages | None:
    """Return languages by code, as named by the caller or else by the files.

    A source vocabulary with tokens such as `>>deu<<` is one of a model for several targets. One such token
    before the source selects the target.

    Args:
        requested: languages requested by the caller.
        release_languages: languages named by the files.
        vocabularies: vocabularies of source and target.
        start_id: begins every target.
        problems: missing and contradictory information is added here.

    Returns:
        The languages; None if there are problems.
    """
    source, _ = vocabularies
    found: list[str] = []
    tokens = {name: index for name, index in source.target_tokens.items() if name != NO_LANGUAGE}
    sources = requested.sources or release_languages.sources
    if not sources:
        found.append("the files do not name the source language clearly; give --source-lang")
    targets = _targets(requested.targets, release_languages.targets, tokens, start_id, found)
    problems += found
    if found:
        return None
    return Languages(
        {
            code: SourceLanguage(names=names, before=(), after=(source.eos_id,))
            for code, (_, names) in _by_code(sources).items()
        },
        targets,
    )


def _targets(
    requested: tuple[str, ...],
    release_languages: tuple[str, ...],
    tokens: Mapping[str, int],
    start_id: int,
    problems: list[str],
) -> dict[str, TargetLanguage]:
    begin = (start_id,)
    if tokens:
        chosen = _choose_targets(requested, tokens, problems)
        return {
            code: TargetLanguage(names, source_before=(tokens[token],), begin=begin)
            for code, (token, names) in _by_code(chosen).items()
        }
    named = requested or release_languages
    if not named:
        problems.append("the files do not name the target language clearly; give --target-lang")
    elif len(named) > 1:
        problems.append(
            f"{', '.join(named)} cannot all be target languages: the vocabulary has no tokens such as"
            f" >>{named[0]}<<; give one with --target-lang"
        )
    return {
        code: TargetLanguage(names, source_before=(), begin=begin)
        for code, (_, names) in _by_code(named).items()
    }


def _choose_targets(requested: tuple[str, ...], tokens: Mapping[str, int], problems: list[str]) -> list[str]:
    """Return the tokens of the requested targets, in their order; of all targets if none is requested."""
    if not requested:
        return list(tokens)
    codes = {token: to_bcp47(token) for token in tokens}
    chosen: list[str] = []
    for name in requested:
        matching = [token for token in tokens if token == name] or [
            token for token, code in codes.items() if code == to_bcp47(name)
        ]
        if matching:
            chosen.append(matching[0])
        else:
            problems.append(f"{name} is not a target language of this model; it has {list_languages(tokens)}")
    return chosen


def to_bcp47(name: str) -> str:
    """Return the BCP-47 code of a language in any spelling; other names are returned as they are."""
    try:
        return langcodes.standardize_tag(name)
    except ValueError:
        return name


def _by_code(names: Iterable[str]) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return each name by its code, with the name as another name of the language if the code differs.

    Of two names with the same code, such as `zh` and `zho`, the later one is its own code.
    """
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for name in dict.fromkeys(names):
        code = to_bcp47(name)
        if code in found:
            code = name
        found[code] = (name, () if code == name else (name,))
    return found
