"""SentencePiece vocabularies, trained on a weighted sample of the corpora."""

import itertools
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

import numpy as np
import sentencepiece

from export.checkpoint_folder import SOURCE_TOKENIZER_FILE, TARGET_TOKENIZER_FILE
from export.model import ModelConfig
from training.config import TrainingConfig
from training.controls import CONTROLS
from training.corpus import TextPair
from training.errors import VocabularyError


def train_vocabularies(config: TrainingConfig, pairs: Mapping[str, Sequence[TextPair]], folder: Path) -> None:
    """Write source.spm, and target.spm if the vocabulary is not shared, to `folder`.

    Raises:
        VocabularyError: SentencePiece cannot make that many, or that few, pieces from this text.
    """
    sample = _sample(config, pairs)
    sources, targets = [pair.source for pair in sample], [pair.target for pair in sample]
    if config.vocabulary.is_shared:
        mixed = itertools.chain.from_iterable(zip(sources, targets, strict=True))
        _train(config, mixed, folder / SOURCE_TOKENIZER_FILE)
    else:
        _train(config, iter(sources), folder / SOURCE_TOKENIZER_FILE)
        _train(config, iter(targets), folder / TARGET_TOKENIZER_FILE)


def copy_vocabularies(checkpoint: Path, folder: Path) -> None:
    """Copy the vocabularies of a checkpoint, or those that a run has prepared, to `folder`.

    Raises:
        VocabularyError: the checkpoint has none.
    """
    if not (checkpoint / SOURCE_TOKENIZER_FILE).is_file():
        raise VocabularyError(
            f"start_from {checkpoint} is not a checkpoint folder: no {SOURCE_TOKENIZER_FILE}"
        )
    for name in (SOURCE_TOKENIZER_FILE, TARGET_TOKENIZER_FILE):
        if (checkpoint / name).is_file():
            shutil.copyfile(checkpoint / name, folder / name)


def load_vocabularies(
    folder: Path,
) -> tuple[sentencepiece.SentencePieceProcessor, sentencepiece.SentencePieceProcessor]:
    """Load the source and target tokenizers; return the same one twice if the vocabulary is shared."""
    source = sentencepiece.SentencePieceProcessor(model_file=str(folder / SOURCE_TOKENIZER_FILE))
    if not (folder / TARGET_TOKENIZER_FILE).exists():
        return source, source
    return source, sentencepiece.SentencePieceProcessor(model_file=str(folder / TARGET_TOKENIZER_FILE))


def _sample(config: TrainingConfig, pairs: Mapping[str, Sequence[TextPair]]) -> list[TextPair]:
    rng = np.random.default_rng(config.optimisation.seed)
    total_weight = sum(corpus.weight for corpus in config.data.corpora)
    sample: list[TextPair] = []
    for corpus in config.data.corpora:
        available = pairs[corpus.name]
        count = round(config.vocabulary.sample_pairs * corpus.weight / total_weight)
        chosen = rng.permutation(len(available))[:count]
        sample += [available[index] for index in chosen]
    return sample


def _train(config: TrainingConfig, sentences: Iterator[str], path: Path) -> None:
    partial = path.with_suffix(".partial")
    with partial.open("wb") as model_file:
        try:
            _run_sentencepiece(config, sentences, model_file)
        except RuntimeError as error:
            raise VocabularyError(f"vocabulary.size {config.vocabulary.size}: {error}") from error
    partial.replace(path)


def _run_sentencepiece(config: TrainingConfig, sentences: Iterator[str], model_file: IO[bytes]) -> None:
    specials = ModelConfig(config.vocabulary.size, config.vocabulary.size)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=sentences,
        model_writer=model_file,
        vocab_size=config.vocabulary.size,
        model_type="unigram",
        character_coverage=config.vocabulary.character_coverage,
        byte_fallback=True,
        control_symbols=list(CONTROLS) if config.vocabulary.has_controls else [],
        split_digits=True,
        normalization_rule_name="identity",
        pad_id=specials.pad_id,
        unk_id=specials.unk_id,
        bos_id=specials.bos_id,
        eos_id=specials.eos_id,
        num_threads=config.optimisation.threads,
        minloglevel=1,
    )
