"""Text to vocabularies and token ids, once per run folder."""

import json
import logging
from pathlib import Path

from training.bars import bar_over
from training.config import Corpus, TrainingConfig
from training.corpus import Pair, read_pairs, with_variants
from training.errors import CorpusError, RunFolderError
from training.tokenised import TokenisedCorpus, tokenise
from training.vocabulary import copy_vocabularies, load_vocabularies, train_vocabularies

log = logging.getLogger(__name__)

RECIPE_FILE = "recipe.json"


def prepare(config: TrainingConfig) -> list[TokenisedCorpus]:
    """Tokenised corpora in the config's order; made on the first call, read from disk afterwards.

    Raises:
        CorpusError: a file is missing or not what it should be, or leaves no pair.
        VocabularyError: the text does not carry the vocabulary.
        RunFolderError: the folder was prepared from other data or vocabulary settings.
    """
    folder = config.run_dir / "data"
    recipe = config.model_dump_json(include={"start_from", "data", "vocabulary"}, indent=2)
    recipe_path = folder / RECIPE_FILE
    if recipe_path.exists():
        _check_recipe(recipe_path, recipe)
    else:
        _demand_files(config)
        folder.mkdir(parents=True, exist_ok=True)
        _prepare(config, folder)
        recipe_path.write_text(recipe, encoding="utf8")
    return [TokenisedCorpus.load(_corpus_path(folder, corpus)) for corpus in config.data.corpora]


def _prepare(config: TrainingConfig, folder: Path) -> None:
    pairs = {corpus.name: _read(corpus, config) for corpus in config.data.corpora}
    if config.start_from is None:
        log.info("training the vocabulary: %s pieces", config.vocabulary.size)
        train_vocabularies(config, pairs, folder)
    else:
        copy_vocabularies(config.start_from, folder)
    source_processor, target_processor = load_vocabularies(folder)
    for corpus in config.data.corpora:
        tokenised = tokenise(
            bar_over(pairs[corpus.name], f"tokenise {corpus.name}", "pair"),
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


def _read(corpus: Corpus, config: TrainingConfig) -> list[Pair]:
    read = bar_over(read_pairs(corpus, config.data), f"read {corpus.name}", "pair")
    pairs = list(with_variants(read, corpus.variants, config.optimisation.seed))
    if not pairs:
        raise CorpusError(
            f"corpus {corpus.name} has no usable pair: check its files and data.max_length_ratio"
        )
    return pairs


def _corpus_path(folder: Path, corpus: Corpus) -> Path:
    return folder / f"{corpus.name}.npz"


def _check_recipe(path: Path, recipe: str) -> None:
    if json.loads(path.read_text(encoding="utf8")) != json.loads(recipe):
        raise RunFolderError(
            f"{path.parent} was prepared with another start_from or other [data] or [vocabulary] settings; "
            "choose another run_dir or remove that folder"
        )
