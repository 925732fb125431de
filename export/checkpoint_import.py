"""Import of checkpoints of `python -m training`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import sentencepiece

from dragoman.languages import Languages, SourceLanguage, TargetLanguage
from dragoman.manifest import Controls, FormalityControls, TermControls
from export.checkpoint_folder import CONFIG_FILE, WEIGHTS_FILE, Checkpoint, read_checkpoint
from export.model_weights import ModelWeights
from export.original import ImportRejectedError, Original, RequestedLanguages, TokenizerSource

KIND = "dragoman checkpoint"


def recognises(folder: Path) -> bool:
    """Return whether a folder is one of our checkpoints, complete or not."""
    return (folder / CONFIG_FILE).is_file() and (folder / WEIGHTS_FILE).is_file()


def load(folder: Path, wanted: RequestedLanguages) -> Original:
    """Open a checkpoint folder.

    Raises:
        CheckpointError: it is incomplete or unreadable.
        ImportRejectedError: its languages are unknown, or several are requested for one side.
    """
    return import_checkpoint(read_checkpoint(folder), wanted, str(folder))


def import_checkpoint(
    checkpoint: Checkpoint[ModelWeights], wanted: RequestedLanguages, name: str
) -> Original:
    """Convert a checkpoint in memory; `name` appears in errors."""
    config, training = checkpoint.model.config, checkpoint.training
    source = _choose_single("source", wanted.sources, training.get("source_language"), name)
    target = _choose_single("target", wanted.targets, training.get("target_language"), name)
    return Original(
        kind=KIND,
        model=checkpoint.model,
        source_tokenizer=TokenizerSource(checkpoint.source_tokenizer, None, normalises=True),
        target_tokenizer=TokenizerSource(checkpoint.target_tokenizer, None, normalises=True),
        languages=Languages(
            {source: SourceLanguage(names=(), before=(), after=(config.eos_id,))},
            {target: TargetLanguage(names=(), source_before=(), begin=(config.bos_id,))},
        ),
        origin={"tool": "dragoman training", **training},
        controls=_read_controls(training.get("controls", {}), checkpoint.source_tokenizer, target, name),
    )


def _read_controls(
    record: Mapping[str, Mapping[str, Any]], vocabulary: Path, target: str, name: str
) -> Controls | None:
    """Return the ids of the controls in a training record, for one target language; None if there are none.

    Raises:
        ImportRejectedError: a control's piece is no control symbol of the vocabulary: text could spell it.
    """
    processor = sentencepiece.SentencePieceProcessor(model_file=str(vocabulary))

    def id_of(piece: str) -> int:
        found: int = processor.piece_to_id(piece)
        if not processor.is_control(found):
            raise ImportRejectedError(name, (f"{piece} is no control symbol of {vocabulary.name}",))
        return found

    terms = formality = None
    if "terms" in record:
        pieces = record["terms"]
        terms = TermControls(id_of(pieces["begin"]), id_of(pieces["translation"]), id_of(pieces["end"]))
    if "formality" in record and target.split("-", maxsplit=1)[0] in record["formality"]["targets"]:
        pieces = record["formality"]
        formality = FormalityControls(id_of(pieces["formal"]), id_of(pieces["informal"]), (target,))
    return None if terms is None and formality is None else Controls(terms, formality)


def _choose_single(side: str, wanted: tuple[str, ...], recorded: object, name: str) -> str:
    if len(wanted) > 1:
        problem = f"{len(wanted)} {side} languages are requested ({', '.join(wanted)}), but the model has one"
        raise ImportRejectedError(name, (problem,))
    if wanted:
        return wanted[0]
    if not isinstance(recorded, str) or not recorded:
        problem = f"the training record names no {side} language; give --{side}-lang"
        raise ImportRejectedError(name, (problem,))
    return recorded
