"""The copies that are made of a pair."""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random

import numpy as np

from dragoman.text.address import may_address
from training.config import ENGLISH, GERMAN, Corpus, Variants
from training.controls import BACK_TRANSLATED, mark
from training.corpus import TextPair
from training.variants import noise
from training.variants.abbreviated import abbreviated
from training.variants.drawing import stream
from training.variants.formality import formality, german_address, informal, neutral_formality
from training.variants.inserts import (
    Languages,
    copied_beside,
    copied_inside,
    list_mark,
    other_number,
    quoted,
    repeated,
)
from training.variants.spoken import number_words, spoken_times
from training.variants.terms import TermDictionary, terms
from training.variants.tokens import tokens_of

NamedCopy = tuple[str, TextPair]
"""The name of a variant and the copy."""
MakeCopy = Callable[[TextPair, Random], TextPair | None]

_ENDS_SENTENCE = re.compile(r"\w.*[.!?][\"'”“»«)]?$")
_LAST_MARKS = re.compile(r"[.!?:…]+$")


def add_variants(
    pairs: Iterable[TextPair],
    corpus: Corpus,
    seed: int,
    languages: Languages,
    dictionary: TermDictionary | None = None,
) -> Iterator[TextPair]:
    """Yield every pair, followed by its copies if it has any.

    Args:
        pairs: pairs of the corpus, read one at a time; back-translated sources get their control.
        corpus: says which variants to make, and the share of each.
        seed: decides every copy, together with the pairs and the corpus's name.
        languages: languages of source and target.
        dictionary: terms for `variants.terms`.
    """
    control = "" if corpus.back_translated is None else f"{mark(BACK_TRANSLATED)} "
    for pair, copies in copied(pairs, corpus, seed, languages, dictionary):
        for each in (pair, *(copy for _, copy in copies)):
            yield TextPair(control + each.source, each.target)


def copied(
    pairs: Iterable[TextPair],
    corpus: Corpus,
    seed: int,
    languages: Languages,
    dictionary: TermDictionary | None = None,
) -> Iterator[tuple[TextPair, list[NamedCopy]]]:
    """Yield every pair with its copies."""
    variants = corpus.variants
    rng = np.random.default_rng(seed)
    makers = [
        (name, share, make, stream(seed, f"{corpus.name} {name}"))
        for name, make in _makers(languages, dictionary, corpus.reading_files).items()
        if (share := getattr(variants, name)) > 0.0
    ]
    words_rng, joined_rng = (stream(seed, f"{corpus.name} {name}") for name in ("single_words", "joined"))
    earlier = None
    for pair in pairs:
        lower, upper, no_stop = rng.random(3)
        copies = list(_case_and_stop_copies(pair, variants, (lower, upper, no_stop)))
        for name, share, make, own_rng in makers:
            if own_rng.random() < share and (copy := make(pair, own_rng)) is not None:
                copies.append((name, copy))
        if variants.single_words and _is_single_word(pair):
            copies += [("single_words", _word_copy(pair, words_rng)) for _ in range(variants.single_words)]
        if (
            earlier is not None
            and joined_rng.random() < variants.joined
            and (both := joined(earlier, pair, languages)) is not None
        ):
            requested = formality(both, languages) if joined_rng.random() < variants.formality / 2 else None
            copies.append(("joined", requested or both))
        earlier = pair
        yield pair, copies


def joined(first: TextPair, second: TextPair, languages: Languages) -> TextPair | None:
    """Put two pairs into one line; None if one is no sentence or they may differ in the form of address."""
    sides = (first.source, second.source), (first.target, second.target)
    if first.source == second.source or not all(
        _ENDS_SENTENCE.search(text) for side in sides for text in side
    ):
        return None
    by_language = dict(zip(languages, sides, strict=True))
    if GERMAN in by_language:
        forms = [german_address(text) for text in by_language[GERMAN]]
        addressed = [may_address(text, ENGLISH) for text in by_language.get(ENGLISH, ())]
        if all(addressed) and (forms[0] is None or forms[0] != forms[1]):
            return None
    return TextPair(*(" ".join(side) for side in sides))


def _case_and_stop_copies(
    pair: TextPair, variants: Variants, draws: tuple[float, float, float]
) -> Iterator[NamedCopy]:
    """Yield copies in lower case, in upper case and without a final stop, by one draw each."""
    lower, upper, no_stop = draws
    if lower < variants.lower_source and (source := noise.lower_source(pair)) is not None:
        yield "lower_source", TextPair(source, pair.target)
    if upper < variants.upper:
        yield "upper", TextPair(pair.source.upper(), pair.target.upper())
    if no_stop < variants.no_final_stop and pair.source.endswith(".") and pair.target.endswith("."):
        without = TextPair(pair.source.rstrip("."), pair.target.rstrip("."))
        if without.source and without.target:
            yield "no_final_stop", without


def _makers(
    languages: Languages, dictionary: TermDictionary | None, reading_files: tuple[Path, ...]
) -> dict[str, MakeCopy]:
    """Return the functions that make copies, by the name of their key in the config."""
    return {
        "small_first": _of_source(noise.small_first),
        "title_case": _of_source(noise.title_case),
        "quotes": _of_source(lambda pair, rng: noise.quotes(pair, rng, languages[0])),
        "punctuation": _of_source(noise.punctuation),
        "spelt_umlauts": _of_source(noise.spelt_umlauts if languages[0] == GERMAN else _no_copy),
        "swiss_spelling": _of_source(noise.swiss_spelling if languages[0] == GERMAN else _no_copy),
        "typo": _of_source(noise.typo),
        "upper_word": _of_source(noise.upper_word),
        "chat": _of_source(lambda pair, rng: noise.chat(pair, rng, languages[0])),
        "abbreviated": _of_source(lambda pair, rng: abbreviated(pair, rng, languages[0], reading_files)),
        "number_words": _of_source(lambda pair, rng: number_words(pair, rng, languages[0])),
        "spoken_times": _of_source(lambda pair, rng: spoken_times(pair, rng, languages[0])),
        "quoted": lambda pair, rng: quoted(pair, rng, languages),
        "list_mark": list_mark,
        "repeated": repeated,
        "copied_inside": lambda pair, rng: copied_inside(pair, rng, languages),
        "copied_beside": lambda pair, rng: copied_beside(pair, rng, languages),
        "other_number": lambda pair, rng: other_number(pair, rng, languages),
        "terms": lambda pair, rng: None if dictionary is None else terms(pair, rng, dictionary),
        "formality": lambda pair, _: formality(pair, languages),
        "informal": lambda pair, _: informal(pair, languages),
        "neutral_formality": lambda pair, rng: neutral_formality(pair, rng, languages),
    }


def _no_copy(_pair: TextPair, _rng: Random) -> None:
    return None


def _of_source(change: Callable[[TextPair, Random], str | None]) -> MakeCopy:
    def make(pair: TextPair, rng: Random) -> TextPair | None:
        source = change(pair, rng)
        return None if source is None else TextPair(source, pair.target)

    return make


def _is_single_word(pair: TextPair) -> bool:
    """Return whether each side is one word of letters."""
    words = [tokens_of(text) for text in (pair.source, pair.target)]
    return all(
        len(found) == 1 and found[0].core.replace("-", "").isalpha() and " " not in text
        for found, text in zip(words, (pair.source, pair.target), strict=True)
    )


def _word_copy(pair: TextPair, rng: Random) -> TextPair:
    """Return the pair as it is, or without the punctuation marks at its end."""
    bare = TextPair(_LAST_MARKS.sub("", pair.source), _LAST_MARKS.sub("", pair.target))
    return rng.choice((pair, bare, bare))
