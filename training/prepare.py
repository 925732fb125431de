"""Text to vocabularies and token ids, once per run folder."""

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import ValidationError

from training.bars import bar_over
from training.config import Corpus, Data, Section, TrainingConfig, Vocabulary
from training.corpus import Pair, read_pairs
from training.errors import CorpusError, RunFolderError
from training.tokenised import TokenisedCorpus, tokenise
from training.variants.copies import with_variants
from training.variants.lines import generated_pairs
from training.vocabulary import copy_vocabularies, load_vocabularies, train_vocabularies

log = logging.getLogger(__name__)

RECIPE_FILE = "recipe.json"


class _Recipe(Section):
    """What tokenised corpora depend on. A file of before a key was there means the key's default."""

    start_from: Path | None
    data: Data
    vocabulary: Vocabulary


def prepare(config: TrainingConfig) -> list[TokenisedCorpus]:
    """Tokenised corpora in the config's order; made on the first call, read from disk afterwards.

    Raises:
        CorpusError: a file is missing or not what it should be, or leaves no pair.
        VocabularyError: the text does not carry the vocabulary.
        RunFolderError: the folder was prepared from other data or vocabulary settings.
    """
    folder = config.run_dir / "data"
    recipe = _Recipe(start_from=config.start_from, data=config.data, vocabulary=config.vocabulary)
    recipe_path = folder / RECIPE_FILE
    if recipe_path.exists():
        _check_recipe(recipe_path, recipe)
    else:
        _demand_files(config)
        folder.mkdir(parents=True, exist_ok=True)
        _prepare(config, folder)
        recipe_path.write_text(recipe.model_dump_json(indent=2), encoding="utf8")
    return [TokenisedCorpus.load(_corpus_path(folder, corpus)) for corpus in config.data.corpora]


def corpus_pairs(corpus: Corpus, config: TrainingConfig) -> Iterator[Pair]:
    """A corpus's pairs, read or generated, without copies in other shapes.

    Raises:
        CorpusError: it leaves no pair, or a file is not what it should be.
    """
    pairs: Iterable[Pair]
    if corpus.generated_pairs is None:
        pairs = read_pairs(corpus, config.data)
    else:
        seed, source_language = config.optimisation.seed, config.data.source_language
        pairs = generated_pairs(corpus.generated_pairs, seed, source_language)
    is_empty = True
    for pair in pairs:
        is_empty = False
        yield pair
    if is_empty:
        raise CorpusError(
            f"corpus {corpus.name} has no usable pair: check its files and data.max_length_ratio"
        )


def _prepare(config: TrainingConfig, folder: Path) -> None:
    if config.start_from is None:
        pairs = {corpus.name: list(_read(corpus, config)) for corpus in config.data.corpora}
        log.info("training the vocabulary: %s pieces", config.vocabulary.size)
        train_vocabularies(config, pairs, folder)
    else:
        copy_vocabularies(config.start_from, folder)
        pairs = {}
    source_processor, target_processor = load_vocabularies(folder)
    for corpus in config.data.corpora:
        tokenised = tokenise(
            bar_over(pairs.get(corpus.name) or _read(corpus, config), f"tokenise {corpus.name}", "pair"),
            source_processor,
            target_processor,
            config.data.max_tokens,
        )
        if not len(tokenised):
            raise CorpusError(f"corpus {corpus.name} has no pair within data.max_tokens")
        tokenised.save(_corpus_path(folder, corpus))
        lengths = tokenised.lengths().mean(axis=0)
        log.info("%s: %d pairs, %.1f + %.1f tokens", corpus.name, len(tokenised), *lengths)


def _demand_files(config: TrainingConfig) -> None:
    paths = [path for corpus in config.data.corpora for path in corpus.files]
    if missing := [str(path) for path in paths if not path.is_file()]:
        raise CorpusError(f"no such file: {', '.join(missing)}")


def _read(corpus: Corpus, config: TrainingConfig) -> Iterator[Pair]:
    languages = (config.data.source_language, config.data.target_language)
    pairs = corpus_pairs(corpus, config)
    return with_variants(pairs, corpus, config.optimisation.seed, languages)


def _corpus_path(folder: Path, corpus: Corpus) -> Path:
    return folder / f"{corpus.name}.npz"


def _check_recipe(path: Path, recipe: _Recipe) -> None:
    try:
        is_same = _Recipe.model_validate_json(path.read_bytes()) == recipe
    except ValidationError:  # keys that this release does not know, or half a file
        is_same = False
    if not is_same:
        raise RunFolderError(
            f"{path.parent} was prepared with another start_from or other [data] or [vocabulary] settings; "
            "choose another run_dir or remove that folder"
        )
