"""Import of a folder with a Marian model."""

import math
import reprlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dragoman.bundle import file_sha256
from dragoman.manifest import AlignmentHeads
from export.marian.files import MarianFiles, find_files, is_marian_folder
from export.marian.languages import find_languages
from export.marian.model import build_model
from export.marian.npz import Array, read_arrays
from export.marian.release import ReleaseLanguages, read_languages, read_licence
from export.marian.search import MarianSearch, read_search
from export.marian.shape import MarianShape, model_options, read_shape
from export.marian.vocabulary import MarianVocabulary, read_vocabulary
from export.marian.weights import POSITIONS_ARRAY, precision_problems
from export.original import ImportRejectedError, Original, RequestedLanguages

LAYER = "transformer-guided-alignment-layer"
LAST = "last"
"""Value that Marian writes if no layer was chosen."""
FIRST_HEAD = 0


def read_alignment(
    options: Mapping[str, Any], decoder_options: Mapping[str, Any], decoder_layers: int
) -> AlignmentHeads | None:
    """Return the trained head; None if no option says that one was trained, or the layer does not exist.

    Marian trains the first head of one decoder layer on given alignments, at the step that predicts the token
    (Chen et al. 2016, "Guided Alignment Training for Topic-Aware Neural Machine Translation",
    arXiv:1607.01628). The `alignment` option of its decoder returns the same head. A model's own options
    name the layer even if it was not trained, and do not say whether alignments were given.

    Args:
        options: options of the model, including those of its training if they were saved.
        decoder_options: options in decoder.yml.
        decoder_layers: number of decoder layers of the model.
    """
    layer = str(options.get(LAYER) or LAST)
    requested = (options.get("guided-alignment"), decoder_options.get("alignment"))
    is_trained = layer != LAST or any(value not in (None, False, "", "none") for value in requested)
    if not is_trained:
        return None
    number = decoder_layers if layer == LAST else int(layer) if layer.isdecimal() else 0
    if not 1 <= number <= decoder_layers:
        return None
    return AlignmentHeads(number - 1, (FIRST_HEAD,), reads_token=False)


KIND = "Marian npz"
NOT_USED = "decoder_options_not_used"
"""Field of `origin` that lists settings without a counterpart in the engine."""
MAX_RECORDED = 1000
"""Maximum number of items, or characters, of an option that is recorded."""


def recognises(path: Path) -> bool:
    """Return whether a folder has a Marian model, complete or not."""
    return is_marian_folder(path)


def load(path: Path, wanted: RequestedLanguages) -> Original:
    """Read a Marian model.

    Writing a bundle reads the SentencePiece models again: a folder unpacked from an archive
    (`export.marian.archive.unpacked`) must exist until then.

    Args:
        path: folder with one .npz, its vocabularies (.yml, .yaml, .json or .spm), SentencePiece models, and
            possibly decoder.yml.
        wanted: languages requested by the caller; needed if the files do not name them.

    Raises:
        ImportRejectedError: something is unsupported, missing or damaged; with all reasons.
    """
    problems: list[str] = []
    files = find_files(path, problems)
    if files is None:
        raise ImportRejectedError(str(path), tuple(problems))
    return load_arrays(path, files, read_arrays(files.model), wanted, read_languages(path))


def load_arrays(
    path: Path,
    files: MarianFiles,
    arrays: dict[str, Array],
    wanted: RequestedLanguages,
    named: ReleaseLanguages,
) -> Original:
    """Read a Marian model whose arrays are known.

    Args:
        path: folder of the files.
        files: its files.
        arrays: its arrays by name; each is removed as it is read.
        wanted: languages requested by the caller.
        named: languages that the files name.

    Raises:
        ImportRejectedError: something is unsupported, missing or damaged; with all reasons.
    """
    problems: list[str] = []
    options = model_options(arrays, problems)
    has_learned_positions = POSITIONS_ARRAY in arrays
    problems += precision_problems(arrays)
    shape = read_shape(options, problems) if options else None
    search = read_search(files.decoder_options, problems)
    vocabularies = _read_vocabularies(files, shape, problems)
    model = languages = None
    if vocabularies is not None:
        languages = find_languages(wanted, named, vocabularies, vocabularies[1].size, problems)
        if shape is not None:
            suppressed_ids = search.suppressed_ids(vocabularies[1])
            model = build_model(shape, arrays, vocabularies, suppressed_ids, problems)
    if problems or model is None or languages is None or vocabularies is None:
        raise ImportRejectedError(str(path), tuple(problems))
    source, target = vocabularies
    return Original(
        kind=KIND,
        model=model,
        source_tokenizer=source.tokenizer(model.config.source_vocab_size),
        target_tokenizer=target.tokenizer(model.config.target_vocab_size),
        languages=languages,
        decoding=search.defaults,
        licence=read_licence(path),
        origin=_origin(files, options, search, has_learned_positions=has_learned_positions),
        alignment=read_alignment(options, files.decoder_options, model.config.decoder_layers),
    )


def _read_vocabularies(
    files: MarianFiles, shape: MarianShape | None, problems: list[str]
) -> tuple[MarianVocabulary, MarianVocabulary] | None:
    found: list[str] = []
    pair = [
        read_vocabulary(path, model, found)
        for path, model in zip(files.vocabularies, files.tokenizers, strict=True)
    ]
    problems += dict.fromkeys(found)  # both are often the same file
    source, target = pair
    if source is None or target is None:
        return None
    sizes = (source.size, target.size)
    declared = sizes if shape is None or shape.vocab_sizes is None else shape.vocab_sizes
    if declared != sizes:
        problems.append(f"dim-vocabs are {list(declared)}, but the vocabularies have {list(sizes)} pieces")
    if shape is not None and shape.shared_vocab and source.size != target.size:
        problems.append("source and target share embeddings, but their vocabularies differ in size")
    return source, target


def _origin(
    files: MarianFiles, options: Mapping[str, Any], search: MarianSearch, *, has_learned_positions: bool
) -> dict[str, Any]:
    """Return the record for the manifest."""
    origin: dict[str, Any] = {
        "tool": "Marian",
        "version": str(options.get("version", "")),
        "model": files.model.name,
        "model_sha256": file_sha256(files.model),
        "vocabularies": [path.name for path in files.vocabularies],
        "options": {
            name: _to_manifest_value(value) for name, value in sorted(options.items()) if name != "version"
        },
        "decoder_options": {
            name: _to_manifest_value(value) for name, value in sorted(files.decoder_options.items())
        },
        "positions": "learned" if has_learned_positions else "sinusoidal",
    }
    if files.scripts:
        origin["scripts_not_run"] = list(files.scripts)
    if search.not_used:
        origin[NOT_USED] = list(search.not_used)
    return origin


def _to_manifest_value(value: object) -> object:
    """Return an option for the manifest; all but short texts, numbers and lists of these become text."""
    if isinstance(value, list) and len(value) <= MAX_RECORDED:
        return [
            _to_manifest_value(part) if not isinstance(part, list) else reprlib.repr(part) for part in value
        ]
    if isinstance(value, str) and len(value) <= MAX_RECORDED:
        return value
    if value is None or isinstance(value, bool | int):
        return value
    return value if isinstance(value, float) and math.isfinite(value) else reprlib.repr(value)
