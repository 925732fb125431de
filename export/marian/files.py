"""Role of each file in a Marian folder."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from export.marian.npz import array_names
from export.marian.settings import read_options
from export.marian.shape import OPTIONS_ARRAY
from export.marian.vocabulary import SENTENCEPIECE_SUFFIX

DECODER_FILE = "decoder.yml"
DECODER_SUFFIX = ".decoder.yml"
"""Suffix of the file that Marian writes next to each model that it trains."""
VOCABULARY_SUFFIXES = (".yml", ".yaml", ".json", SENTENCEPIECE_SUFFIX)
SOURCE_MODEL, TARGET_MODEL = "source.spm", "target.spm"
PREPROCESSING = ("preprocess.sh", "postprocess.sh")
OTHER_SEGMENTATION = ("*.bpe", "*.tcmodel")
"""Files of BPE and truecasing, which were used before SentencePiece."""
_SIDES = ((".src.", ".trg."), (".source.", ".target."), ("srcvocab.", "trgvocab."))


@dataclass(frozen=True, slots=True)
class MarianFiles:
    """Files of one model."""

    model: Path
    vocabularies: tuple[Path, Path]
    """Vocabularies of source and target; often the same file."""
    tokenizers: tuple[Path | None, Path | None]
    """SentencePiece models of source and target; None if the vocabulary is one itself."""
    decoder_options: Mapping[str, Any]
    """Search options for the model; empty if there is no such file."""
    scripts: tuple[str, ...]
    """Scripts to process text before and after translation; they are not run."""


def is_marian_folder(folder: Path) -> bool:
    """Return whether a folder has a Marian model, or decoder options that name one."""
    if not folder.is_dir():
        return False
    if any(OPTIONS_ARRAY in array_names(path) for path in folder.glob("*.npz")):
        return True
    return any("models" in read_options(path, []) for path in _decoder_files(folder))


def find_files(folder: Path, problems: list[str]) -> MarianFiles | None:
    """Find the files of a model; missing or ambiguous ones are added to `problems`.

    Returns:
        The files; None if there are problems.
    """
    found: list[str] = []
    decoder_options = _decoder_options(folder, found)
    model = _model(folder, decoder_options, found)
    vocabularies = _vocabularies(folder, decoder_options, found)
    tokenizers = (None, None) if vocabularies is None else _tokenizers(folder, vocabularies, found)
    problems += found
    if found or model is None or vocabularies is None:
        return None
    scripts = tuple(name for name in PREPROCESSING if (folder / name).is_file())
    return MarianFiles(model, vocabularies, tokenizers, decoder_options, scripts)


def _decoder_files(folder: Path) -> list[Path]:
    named = folder / DECODER_FILE
    return [named] if named.is_file() else sorted(folder.glob(f"*{DECODER_SUFFIX}"))


def _decoder_options(folder: Path, problems: list[str]) -> Mapping[str, Any]:
    paths = _decoder_files(folder)
    if len(paths) > 1:
        problems.append(f"{join_names(paths)} are all decoder options; keep one, as {DECODER_FILE}")
        return {}
    return read_options(paths[0], problems) if paths else {}


def named_files(options: Mapping[str, Any], option: str) -> list[str]:
    """Return the names of files in an option, without the folders of the machine that wrote it."""
    names = options.get(option) or []
    listed = names if isinstance(names, list) else [names]
    return [PurePosixPath(str(name).replace("\\", "/")).name for name in listed]


def _model(folder: Path, options: Mapping[str, Any], problems: list[str]) -> Path | None:
    named = named_files(options, "models")
    if len(named) > 1:
        problems.append(f"{', '.join(named)} are an ensemble, which is not supported")
        return None
    if named and named[0].endswith(".bin"):
        problems.append(f"{named[0]} is in Marian's binary format, but cannot be read")
        return None
    if named and (folder / named[0]).is_file():
        return folder / named[0]
    models = sorted(path for path in folder.glob("*.npz") if OPTIONS_ARRAY in array_names(path))
    if len(models) == 1:
        return models[0]
    problems.append(
        f"{join_names(models)} are all models; keep one" if models else "no readable Marian .npz found"
    )
    return None


def _vocabularies(folder: Path, options: Mapping[str, Any], problems: list[str]) -> tuple[Path, Path] | None:
    named = named_files(options, "vocabs")
    if named:
        missing = sorted({name for name in named if not (folder / name).is_file()})
        if len(named) > 2:  # noqa: PLR2004 -- a source and a target
            problems.append(f"{len(named)} vocabularies found; only models with 2 are supported")
        elif missing:
            problems.append(f"vocabularies not found: {', '.join(missing)}")
        elif all(name.endswith(VOCABULARY_SUFFIXES) for name in named):
            return folder / named[0], folder / named[-1]
        else:
            problems.append(
                f"vocabularies {', '.join(named)}: only {', '.join(VOCABULARY_SUFFIXES)} are supported"
            )
        return None
    candidates = sorted(
        path for path in folder.glob("*vocab*") if path.suffix in VOCABULARY_SUFFIXES and path.is_file()
    )
    return source_and_target(
        candidates or sorted(folder.glob(f"*{SENTENCEPIECE_SUFFIX}")), "vocabulary", problems
    )


def _tokenizers(
    folder: Path, vocabularies: tuple[Path, Path], problems: list[str]
) -> tuple[Path | None, Path | None]:
    if all(path.suffix == SENTENCEPIECE_SUFFIX for path in vocabularies):
        return None, None
    others = sorted(path for pattern in OTHER_SEGMENTATION for path in folder.glob(pattern))
    if others:
        problems.append(f"{join_names(others)}: BPE subwords are not supported, only SentencePiece is")
        return None, None
    models = source_and_target(
        sorted(folder.glob(f"*{SENTENCEPIECE_SUFFIX}")), "SentencePiece model", problems
    )
    return (None, None) if models is None else models


def source_and_target(paths: Sequence[Path], what: str, problems: list[str]) -> tuple[Path, Path] | None:
    """Return the source's and the target's file: one for both, or two identified by their names."""
    if len(paths) == 1:
        return paths[0], paths[0]
    by_name = {path.name: path for path in paths}
    if by_name.keys() >= {SOURCE_MODEL, TARGET_MODEL}:
        return by_name[SOURCE_MODEL], by_name[TARGET_MODEL]
    for source_part, target_part in _SIDES:
        sources = [path for path in paths if source_part in path.name]
        targets = [path for path in paths if target_part in path.name]
        if len(sources) == len(targets) == 1:
            return sources[0], targets[0]
    problems.append(
        f"cannot tell which {what} is the source's and which the target's: {join_names(paths)}; name them"
        f" in {DECODER_FILE} (vocabs), or rename SentencePiece models to {SOURCE_MODEL} and {TARGET_MODEL}"
        if paths
        else f"no {what} found"
    )
    return None


def join_names(paths: Sequence[Path]) -> str:
    """Return the names of files, for an error message."""
    return ", ".join(path.name for path in paths)
