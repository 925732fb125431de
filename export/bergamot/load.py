"""Import of a folder with a Bergamot student."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dragoman.bundle import file_sha256
from dragoman.shortlist import Shortlist
from export.bergamot.binary import BinaryItem, read_items
from export.bergamot.files import (
    GEMM_PRECISION,
    SHORTLIST,
    StudentFiles,
    find_files,
    find_languages,
    find_models,
)
from export.bergamot.lexicon import read_lexicon
from export.bergamot.weights import Multipliers, described, read_quantisation, read_weights
from export.marian.load import NOT_USED, load_arrays
from export.marian.shape import model_options, read_shape
from export.marian.weights import find_sources
from export.model_config import ModelConfig
from export.original import ImportRejectedError, Original, RequestedLanguages
from export.tensors.tensor import TensorFileError

KIND = "Bergamot student (Marian binary)"
WEIGHTS_FIELD = "weights"
"""Field of `origin` that describes how the file stores weights."""


def recognises(folder: Path) -> bool:
    """Return whether a folder has a binary model of Marian's."""
    return bool(find_models(folder))


def load(folder: Path, wanted: RequestedLanguages) -> Original:
    """Read a student: its weights, vocabularies, shortlist and settings.

    int8 bundles keep the integers and scales of its weights, and the ranges of activations if the file has
    them; in other precisions, a weight is its integer times its scale.

    Raises:
        ImportRejectedError: something is unsupported, missing or damaged; with all reasons.
    """
    problems: list[str] = []
    files = find_files(folder, problems)
    if files is None:
        raise ImportRejectedError(str(folder), tuple(problems))
    model_file = files.marian.model
    try:
        items = read_items(model_file)
        arrays, multipliers = read_weights(items)
    except (TensorFileError, OSError) as error:
        raise ImportRejectedError(str(folder), (str(error),)) from error
    names = frozenset(arrays)
    original = load_arrays(folder, files.marian, arrays, wanted, find_languages(folder, model_file))
    found: list[str] = []
    shape = read_shape(model_options(arrays, found), found)
    sources = [] if shape is None else find_sources(shape, original.model.config, names, (0, 0))
    quantisation = read_quantisation(original.model, sources, items, multipliers, found)
    problems += [f"{model_file.name}: {problem}" for problem in found]
    shortlist = _read_shortlist(files, original.model.config, problems)
    if problems:
        raise ImportRejectedError(str(folder), tuple(problems))
    return replace(
        original,
        kind=KIND,
        model=replace(original.model, quantisation=quantisation),
        shortlist=shortlist,
        origin=_origin(original.origin, files, multipliers, items),
    )


def _read_shortlist(files: StudentFiles, config: ModelConfig, problems: list[str]) -> Shortlist | None:
    if files.lexicon is None:
        return None
    source, target = files.marian.vocabularies
    try:
        return read_lexicon(files.lexicon).shortlist(
            (config.source_vocab_size, config.target_vocab_size),
            config.eos_id,
            lists_own_id=source == target,
            num_pieces=config.bos_id,  # the row after the pieces
        )
    except ValueError as error:
        problems.append(f"{files.lexicon.name} {error}")
    except OSError as error:
        problems.append(f"{files.lexicon.name} cannot be read: {error.strerror}")
    return None


def _origin(
    origin: Mapping[str, Any], files: StudentFiles, multipliers: Multipliers, items: Mapping[str, BinaryItem]
) -> dict[str, Any]:
    """Return the record for the manifest."""
    record = {**origin, WEIGHTS_FIELD: ", ".join(described(multipliers, items))}
    used = {GEMM_PRECISION}
    if files.lexicon is not None:
        record["lexical_shortlist"] = files.lexicon.name
        record["lexical_shortlist_sha256"] = file_sha256(files.lexicon)
        used.add(SHORTLIST)
    not_used = [option for option in record.pop(NOT_USED, []) if option not in used]
    return {**record, NOT_USED: not_used} if not_used else record
