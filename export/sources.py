"""Sources of models: a folder, an archive or a hub; the files determine the kind of model."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from export import bergamot, checkpoint_import, ctranslate2, huggingface, marian
from export.bergamot.compressed import decompressed
from export.ctranslate2 import argos
from export.hub import download
from export.marian.archive import unpacked
from export.original import ImportRejectedError, Original, RequestedLanguages

ARCHIVE_SUFFIXES = (".zip", ".tar", ".tar.gz", ".tgz", argos.SUFFIX)
_HUGGINGFACE_WEIGHTS = ("model.safetensors*", "pytorch_model*")
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")


@dataclass(frozen=True, slots=True)
class _ModelFormat:
    what: str
    """Description of the kind, for error messages."""
    recognises: Callable[[Path], bool]
    load: Callable[[Path, RequestedLanguages], Original]


def _recognises_huggingface(folder: Path) -> bool:
    """Return whether a folder is one of Hugging Face; CTranslate2's may have a config.json, too."""
    weights = (path for pattern in _HUGGINGFACE_WEIGHTS for path in folder.glob(pattern))
    is_only_ctranslate2 = ctranslate2.recognises(folder) and next(weights, None) is None
    return huggingface.recognises(folder) and not is_only_ctranslate2


def _recognises_marian(folder: Path) -> bool:
    """Return whether a folder is one of Marian; settings that name models are found next to students, too."""
    has_arrays = next(folder.glob("*.npz"), None) is not None
    return marian.recognises(folder) and (has_arrays or not bergamot.recognises(folder))


def _recognises_ctranslate2(folder: Path) -> bool:
    """Return whether a folder is one of CTranslate2; a student may be called `model.bin`, too."""
    return ctranslate2.recognises(folder) and not bergamot.recognises(folder)


KINDS = (
    _ModelFormat(
        "a checkpoint of `python -m training` (model.json)",
        checkpoint_import.recognises,
        checkpoint_import.load,
    ),
    _ModelFormat("a Hugging Face folder (config.json)", _recognises_huggingface, huggingface.load),
    _ModelFormat("a Marian model (.npz)", _recognises_marian, marian.load),
    _ModelFormat("a Bergamot student (Marian's .bin)", bergamot.recognises, bergamot.load),
    _ModelFormat("a CTranslate2 model (model.bin)", _recognises_ctranslate2, ctranslate2.load),
    _ModelFormat("an Argos package (metadata.json)", argos.recognises, argos.load),
)


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """Files of a model on this machine."""

    folder: Path
    revision: str | None = None
    """Commit of the hub repository; None for local files."""


@contextmanager
def found(model: str) -> Iterator[ModelFiles]:
    """Provide a model's files locally: unpack an archive, or download from the hub.

    Args:
        model: a folder, an archive, or `OWNER/NAME` on the Hugging Face hub.

    Raises:
        ImportRejectedError: nothing has that name, or it cannot be unpacked or downloaded.
    """
    path = Path(model)
    if path.is_dir():
        with decompressed(path) as folder:
            yield ModelFiles(folder)
    elif path.is_file() and path.name.lower().endswith(ARCHIVE_SUFFIXES):
        with unpacked(path) as packed, decompressed(packed) as folder:
            yield ModelFiles(folder)
    elif path.is_file():
        raise ImportRejectedError(
            model, ("is a file; give its folder, or a .zip, .tar.gz or .argosmodel of the folder",)
        )
    elif _HUB_ID.fullmatch(model):
        downloaded, revision = download(model)
        with decompressed(downloaded) as folder:
            yield ModelFiles(folder, revision)
    else:
        raise ImportRejectedError(model, ("not found, and not a hub id (OWNER/NAME)",))


def load_original(folder: Path, wanted: RequestedLanguages) -> Original:
    """Read a model of any supported kind.

    Raises:
        ImportRejectedError: the files match no kind or several, or cannot be imported; with all reasons.
        CheckpointError: one of our own checkpoints is incomplete.
    """
    kinds = [kind for kind in KINDS if kind.recognises(folder)]
    if len(kinds) != 1:
        raise ImportRejectedError(str(folder), (_describe_mismatch(kinds),))
    return kinds[0].load(folder, wanted)


def _describe_mismatch(kinds: Sequence[_ModelFormat]) -> str:
    if kinds:
        both = " and ".join(kind.what for kind in kinds)
        return f"contains {both}; put each model in its own folder"
    return f"contains no supported model; supported are {', '.join(kind.what for kind in KINDS)}"
