"""A Marian model's languages: what it is told of them, in ids."""

from collections.abc import Iterable, Mapping

import langcodes

from dragoman.languages import Languages, SourceLanguage, TargetLanguage, list_languages
from export.marian.release import Spoken
from export.marian.vocabulary import Vocabulary
from export.original import WantedLanguages

NO_LANGUAGE = "xxx"
"""Stands for text in none; some vocabularies have `>>xxx<<`."""


def find_languages(
    wanted: WantedLanguages,
    spoken: Spoken,
    vocabularies: tuple[Vocabulary, Vocabulary],
    start_id: int,
    problems: list[str],
) -> Languages | None:
    """Languages by code, as the caller names them or else the files.

    A source vocabulary with tokens such as `>>deu<<` is one of a model for several targets, which is told
    the one by a token before the source.

    Args:
        wanted: by the caller.
        spoken: by the files.
        vocabularies: of source and target.
        start_id: begins every target.
        problems: what is missing or contradicts is added here.

    Returns:
        None where there are problems.
    """
    source, _ = vocabularies
    found: list[str] = []
    tokens = {name: index for name, index in source.target_tokens.items() if name != NO_LANGUAGE}
    sources = wanted.sources or spoken.sources
    if not sources:
        found.append("the files do not say with certainty what its source language is; give --source-lang")
    targets = _targets(wanted.targets, spoken.targets, tokens, start_id, found)
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
    wanted: tuple[str, ...],
    spoken: tuple[str, ...],
    tokens: Mapping[str, int],
    start_id: int,
    problems: list[str],
) -> dict[str, TargetLanguage]:
    begin = (start_id,)
    if tokens:
        chosen = _chosen(wanted, tokens, problems)
        return {
            code: TargetLanguage(names, source_before=(tokens[token],), begin=begin)
            for code, (token, names) in _by_code(chosen).items()
        }
    named = wanted or spoken
    if not named:
        problems.append("the files do not say with certainty what its target language is; give --target-lang")
    elif len(named) > 1:
        problems.append(
            f"{', '.join(named)} cannot all be its target: the vocabulary has no tokens such as"
            f" >>{named[0]}<< to choose one with; give --target-lang"
        )
    return {
        code: TargetLanguage(names, source_before=(), begin=begin)
        for code, (_, names) in _by_code(named).items()
    }


def _chosen(wanted: tuple[str, ...], tokens: Mapping[str, int], problems: list[str]) -> list[str]:
    """Tokens of the targets that are wanted, in their order; all where none is named."""
    if not wanted:
        return list(tokens)
    codes = {token: code_of(token) for token in tokens}
    chosen: list[str] = []
    for name in wanted:
        matching = [token for token in tokens if token == name] or [
            token for token, code in codes.items() if code == code_of(name)
        ]
        if matching:
            chosen.append(matching[0])
        else:
            problems.append(f"{name} is no target of this model; it has {list_languages(tokens)}")
    return chosen


def code_of(name: str) -> str:
    """BCP-47 for a language in whatever spelling; what is none stays as it is."""
    try:
        return langcodes.standardize_tag(name)
    except ValueError:
        return name


def _by_code(names: Iterable[str]) -> dict[str, tuple[str, tuple[str, ...]]]:
    """By code, the name each was given, and that name again if the code is another one.

    Where two names have the same code, as `zh` and `zho`, the later goes by its own name.
    """
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for name in dict.fromkeys(names):
        code = code_of(name)
        if code in found:
            code = name
        found[code] = (name, () if code == name else (name,))
    return found
