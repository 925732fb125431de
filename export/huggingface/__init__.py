"""Importer of Hugging Face folders: MarianMTModel, and M2M100, MBart and T5 for conditional generation."""

import dataclasses
import shutil
import weakref
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from dragoman.manifest import DecodingDefaults
from export.huggingface.architectures import ARCHITECTURES, Architecture, find_architecture
from export.huggingface.assembly import AssemblyOptions, assemble
from export.huggingface.configuration import HuggingFaceShape, read_shape
from export.huggingface.files import CONFIG_FILE, JsonFiles, read_licence, read_settings
from export.huggingface.generation import GenerationSettings, read_generation
from export.huggingface.languages import LanguageSearch
from export.huggingface.t5 import read_t5_shape
from export.huggingface.tokenizers import read_vocabularies
from export.huggingface.weights import Weights, read_weights
from export.original import ImportRejectedError, Original, RequestedLanguages

__all__ = ["ARCHITECTURES", "load", "recognises"]

NO_LIMIT = 2**31
"""Lengths from here on mean no limit: `transformers` writes 10^30 for a tokenizer without one."""


def recognises(folder: Path) -> bool:
    """Return whether this is a Hugging Face folder, of an imported class or of another."""
    return (folder / CONFIG_FILE).is_file()


def load(folder: Path, wanted: RequestedLanguages) -> Original:
    """Read a model with its tokenizers.

    float32 weights stay in their files. A SentencePiece model that had to be rebuilt exists as long as the
    model does.

    Raises:
        ImportRejectedError: it cannot be imported; with all reasons in its settings, or all in its
            weights.
    """
    settings = read_settings(folder)
    architecture = find_architecture(settings.config, str(folder))
    problems: list[str] = []
    read = read_t5_shape if architecture.is_t5 else read_shape
    shape = read(settings.config, architecture, problems)
    generation = read_generation(settings, shape.eos_id, shape.pad_id, shape.target_vocab_size, problems)
    start_id = _start_id(settings, architecture, shape, generation)
    if architecture.has_positions_after_padding and start_id == shape.pad_id:
        problems.append("a target that starts with the padding id is not supported")
    with ExitStack() as undo:
        vocabularies = read_vocabularies(settings, architecture, shape, problems)
        languages = None
        if vocabularies is not None:
            if vocabularies.scratch is not None:
                undo.callback(shutil.rmtree, vocabularies.scratch, ignore_errors=True)
            languages = LanguageSearch(
                vocabularies.languages, settings.tokenizer, generation, start_id, wanted, problems
            ).find()
        if problems or vocabularies is None or languages is None:
            raise ImportRejectedError(str(folder), tuple(dict.fromkeys(problems)))
        weights = read_weights(folder)
        plan = AssemblyOptions(architecture, shape, generation, start_id, vocabularies.unk_id)
        model = assemble(weights, plan, str(folder))
        weakref.finalize(model, undo.pop_all().close)
    return Original(
        kind=architecture.name,
        model=model,
        source_tokenizer=vocabularies.source,
        target_tokenizer=vocabularies.target,
        languages=languages,
        decoding=DecodingDefaults(generation.beam_size, generation.length_penalty, generation.early_stopping),
        max_target_tokens=generation.max_target_tokens,
        licence=read_licence(folder),
        origin=_origin(settings, vocabularies.tokenizer_class, generation, weights),
    )


def _start_id(
    settings: JsonFiles, architecture: Architecture, shape: HuggingFaceShape, generation: GenerationSettings
) -> int:
    """Return the start id that `generate` uses: the configured one, else the class's own or the BOS id."""
    default = shape.pad_id if architecture.is_t5 else None
    default = {"marian": shape.pad_id, "m2m_100": shape.eos_id}.get(architecture.model_type, default)
    defaults = (
        (generation.bos_id, default) if settings.generation is not None else (default, generation.bos_id)
    )
    found = (each for each in (generation.decoder_start, *defaults) if each is not None)
    return next(found, shape.eos_id)


def _origin(
    settings: JsonFiles, tokenizer_class: str, generation: GenerationSettings, weights: Weights
) -> Mapping[str, Any]:
    """Return the record for the manifest, including a clean-up of texts that is not applied here."""
    longest = settings.tokenizer.get("model_max_length")
    return {
        "tool": "transformers",
        "version": settings.config.get("transformers_version"),
        "name": settings.config.get("_name_or_path"),
        "tokenizer": tokenizer_class,
        "weights": weights.file,
        "dtype": weights.dtype,
        "model_max_length": longest if isinstance(longest, int) and longest < NO_LIMIT else None,
        "clean_up_tokenization_spaces": settings.tokenizer.get("clean_up_tokenization_spaces"),
        "generation": dataclasses.asdict(generation),
    }
