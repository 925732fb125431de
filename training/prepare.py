"""Preparation of the data: text to vocabularies and token ids, once per run folder."""

import logging
import multiprocessing
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from pydantic import ValidationError

from training.bars import progress_bar
from training.config import Corpus, DataSettings, Direction, RecipeTable, TrainingConfig, VocabularySettings
from training.corpus import TextPair, read_pairs
from training.errors import CorpusError, RunFolderError
from training.start import data_seed, write_start_record
from training.token_corpus import TokenCorpus, tokenise
from training.variants.copies import add_variants
from training.variants.lines import generated_pairs
from training.variants.nouns import noun_sentences
from training.variants.terms import TermDictionary
from training.variants.verbs import verb_sentences
from training.vocabulary import copy_vocabularies, load_vocabularies, train_vocabularies

log = logging.getLogger(__name__)

RECIPE_FILE = "recipe.json"
MAX_PAIRS_FOR_FORMS = 100_000
"""Maximum number of pairs of each corpus that tell which forms of verbs exist."""


class _Recipe(RecipeTable):
    """The settings that tokenised corpora depend on. A key that an older file lacks has its default value."""

    start_from: Path | None
    only_direction: str | None = None
    data: DataSettings
    vocabulary: VocabularySettings


@dataclass(frozen=True, slots=True)
class WeightedCorpus:
    """Token ids of a corpus in one direction, and the share of training pairs drawn from it."""

    tokenised: TokenCorpus
    weight: float


def prepare(config: TrainingConfig) -> list[WeightedCorpus]:
    """Return the tokenised corpora in each direction: made on the first call, read from disk afterwards.

    Raises:
        CorpusError: a file is missing or cannot be used, or a corpus has no usable pair.
        VocabularyError: the vocabulary cannot be made from the text, or `start_from` has none.
        RunFolderError: the folder was prepared from other data or vocabulary settings.
    """
    folder = config.run_dir / "data"
    recipe = _Recipe(
        start_from=config.start_from,
        only_direction=config.only_direction,
        data=config.data,
        vocabulary=config.vocabulary,
    )
    recipe_path = folder / RECIPE_FILE
    if recipe_path.exists():
        _check_recipe(recipe_path, recipe)
    else:
        _check_files(config)
        folder.mkdir(parents=True, exist_ok=True)
        write_start_record(config)
        _prepare(config, folder)
        recipe_path.write_text(recipe.model_dump_json(indent=2), encoding="utf8")
    return [
        WeightedCorpus(TokenCorpus.load(corpus_path(folder, corpus, direction)), corpus.weight)
        for corpus in config.data.corpora
        for direction in config.trained_directions
        if direction in config.data.directions_of(corpus)
    ]


def corpus_pairs(corpus: Corpus, config: TrainingConfig) -> Iterator[TextPair]:
    """Yield a corpus's pairs from source to target language, without their variants.

    Raises:
        CorpusError: there is no usable pair, or a file cannot be used.
    """
    pairs: Iterable[TextPair]
    if corpus.generated_pairs is not None:
        pairs = generated_pairs(corpus.generated_pairs, data_seed(config), config.data.source_language)
    elif corpus.noun_readings is not None:
        pairs = noun_sentences(
            corpus.noun_readings, data_seed(config), config.data.source_language, _term_pairs(config)
        )
    else:
        pairs = read_pairs(corpus, config.data, data_seed(config))
        if corpus.verb_readings is not None:
            pairs = verb_sentences(
                corpus.verb_readings,
                data_seed(config),
                config.data.source_language,
                pairs,
                _text(config, corpus),
            )
    is_empty = True
    for pair in pairs:
        is_empty = False
        yield pair
    if is_empty:
        raise CorpusError(
            f"corpus {corpus.name} has no usable pair: check its files and data.max_length_ratio"
        )


def _text(config: TrainingConfig, dictionary: Corpus) -> Iterator[TextPair]:
    """Yield the first pairs of each corpus that has none of a dictionary's files."""
    for corpus in config.data.corpora:
        if not set(corpus.files) & set(dictionary.files):
            yield from islice(read_pairs(corpus, config.data, data_seed(config)), MAX_PAIRS_FOR_FORMS)


def read_terms(config: TrainingConfig, direction: Direction) -> TermDictionary | None:
    """Read the dictionaries of `data.term_files` in a direction; return None if there are none."""
    if not config.data.term_files:
        return None
    return TermDictionary(orient_pairs(_term_pairs(config), direction, config))


def _term_pairs(config: TrainingConfig) -> Iterator[TextPair]:
    if not config.data.term_files:
        return iter(())
    corpus = Corpus(name="terms", files=config.data.term_files, weight=1.0, licence="")
    return read_pairs(corpus, config.data, data_seed(config))


def orient_pairs(
    pairs: Iterable[TextPair], direction: Direction, config: TrainingConfig
) -> Iterator[TextPair]:
    """Yield pairs in `direction`, given pairs from the config's source to its target language."""
    is_swapped = direction != config.data.directions[0]
    return (TextPair(pair.target, pair.source) if is_swapped else pair for pair in pairs)


def _prepare(config: TrainingConfig, folder: Path) -> None:
    """Write vocabularies and token ids."""
    data = config.data
    if config.start_from is None:
        log.info("training the vocabulary: %s pieces", config.vocabulary.size)
        corpora = {corpus.name: list(corpus_pairs(corpus, config)) for corpus in data.corpora}
        train_vocabularies(config, corpora, folder)
    else:
        copy_vocabularies(config.start_from, folder)
    dictionaries = {direction: read_terms(config, direction) for direction in config.trained_directions}
    parts = [
        (config, corpus, direction, dictionaries[direction])
        for corpus in data.corpora
        for direction in config.trained_directions
        if direction in data.directions_of(corpus)
    ]
    if config.optimisation.data_processes == 0:
        for part in parts:
            log.info(_tokenise(*part))
        return
    context = multiprocessing.get_context("spawn")
    with context.Pool(config.optimisation.data_processes) as pool:
        for line in pool.starmap(_tokenise, parts, chunksize=1):
            log.info(line)
        pool.close()
        pool.join()  # so that none of its semaphores outlives this process


def _tokenise(
    config: TrainingConfig, corpus: Corpus, direction: Direction, dictionary: TermDictionary | None
) -> str:
    """Write the token ids of a corpus in one direction; return a line that says how many pairs it has."""
    folder = config.run_dir / "data"
    pairs = orient_pairs(corpus_pairs(corpus, config), direction, config)
    languages = (direction.source, direction.target)
    lines = add_variants(pairs, corpus, data_seed(config), languages, dictionary)
    tokenised = tokenise(
        progress_bar(lines, f"tokenise {corpus.name} {direction.name}", "pair"),
        *load_vocabularies(folder),
        config.data.max_tokens,
    )
    if not len(tokenised):
        raise CorpusError(f"corpus {corpus.name} has no pair within data.max_tokens")
    tokenised.save(corpus_path(folder, corpus, direction))
    lengths = tokenised.lengths().mean(axis=0)
    return (
        f"{corpus.name} {direction.name}: {len(tokenised)} pairs, {lengths[0]:.1f} + {lengths[1]:.1f} tokens"
    )


def _check_files(config: TrainingConfig) -> None:
    paths = [
        *config.data.term_files,
        *(path for corpus in config.data.corpora for path in (*corpus.files, *corpus.reading_files)),
    ]
    if missing := [str(path) for path in paths if not path.is_file()]:
        raise CorpusError(f"no such file: {', '.join(missing)}")


def corpus_path(folder: Path, corpus: Corpus, direction: Direction) -> Path:
    return folder / f"{corpus.name}.{direction.name}.npz"


def _check_recipe(path: Path, recipe: _Recipe) -> None:
    try:
        found = _Recipe.model_validate_json(path.read_bytes())
        is_same = found in (recipe, recipe.model_copy(update={"only_direction": None}))
    except ValidationError:  # keys of another release, or an incomplete file
        is_same = False
    if not is_same:
        raise RunFolderError(
            f"{path.parent} was prepared with another start_from or other [data] or [vocabulary] settings; "
            "choose another run_dir or remove that folder"
        )
