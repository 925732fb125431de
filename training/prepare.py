"""Text to vocabularies and token ids, once per run folder."""

import json
import logging
from pathlib import Path

from tqdm import tqdm

from training.config import Corpus, TrainingConfig
from training.corpus import Pair, read_pairs, with_variants
from training.tokenised import TokenisedCorpus, tokenise
from training.vocabulary import load_vocabularies, train_vocabularies

log = logging.getLogger(__name__)

RECIPE_FILE = "recipe.json"


class RunFolderError(ValueError):
    """The run folder belongs to other data; the message says what to do."""


def prepare(config: TrainingConfig) -> list[TokenisedCorpus]:
    """Tokenised corpora in the config's order; made on the first call, read from disk afterwards.

    Raises:
        RunFolderError: the folder was prepared from other data or vocabulary settings.
    """
    folder = config.run_dir / "data"
    recipe = config.model_dump_json(include={"data", "vocabulary"}, indent=2)
    recipe_path = folder / RECIPE_FILE
    if recipe_path.exists():
        _check_recipe(recipe_path, recipe)
    else:
        folder.mkdir(parents=True, exist_ok=True)
        _prepare(config, folder)
        recipe_path.write_text(recipe, encoding="utf8")
    return [TokenisedCorpus.load(_corpus_path(folder, corpus)) for corpus in config.data.corpora]


def _prepare(config: TrainingConfig, folder: Path) -> None:
    pairs = {corpus.name: _read(corpus, config) for corpus in config.data.corpora}
    log.info("training the vocabulary: %s pieces", config.vocabulary.size)
    train_vocabularies(config, pairs, folder)
    source_processor, target_processor = load_vocabularies(folder)
    for corpus in config.data.corpora:
        tokenised = tokenise(
            tqdm(pairs[corpus.name], desc=f"tokenise {corpus.name}", unit="pair"),
            source_processor,
            target_processor,
            config.data.max_tokens,
        )
        if not len(tokenised):
            raise RunFolderError(f"corpus {corpus.name} holds no usable pair: check its files and data limits")
        tokenised.save(_corpus_path(folder, corpus))
        lengths = tokenised.lengths().mean(axis=0)
        log.info("%s: %d pairs, %.1f + %.1f tokens", corpus.name, len(tokenised), *lengths)


def _read(corpus: Corpus, config: TrainingConfig) -> list[Pair]:
    pairs = with_variants(
        tqdm(read_pairs(corpus, config.data), desc=f"read {corpus.name}", unit="pair"),
        corpus.variants,
        config.optimisation.seed,
    )
    return list(pairs)


def _corpus_path(folder: Path, corpus: Corpus) -> Path:
    return folder / f"{corpus.name}.npz"


def _check_recipe(path: Path, recipe: str) -> None:
    if json.loads(path.read_text(encoding="utf8")) != json.loads(recipe):
        raise RunFolderError(
            f"{path.parent} was prepared with other [data] or [vocabulary] settings; "
            "choose another run_dir or remove that folder"
        )
