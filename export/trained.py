"""Import of checkpoints of `python -m training`."""

from pathlib import Path

from dragoman.languages import Languages, SourceLanguage, TargetLanguage
from dragoman.manifest import DecodingDefaults
from export.checkpoint import CONFIG_FILE, WEIGHTS_FILE, Checkpoint, load_checkpoint
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
    return import_checkpoint(load_checkpoint(folder), wanted, str(folder))


def import_checkpoint(checkpoint: Checkpoint, wanted: RequestedLanguages, name: str) -> Original:
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
        decoding=DecodingDefaults(),
        max_target_tokens=None,
        licence=None,
        origin={"tool": "dragoman training", **training},
    )


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
