"""Role of each file in the folder of a Bergamot student.

Firefox Translations has `model.XXYY.intgemm.alphas.bin`, `vocab.XXYY.spm` or `srcvocab.XXYY.spm` and
`trgvocab.XXYY.spm`, and `lex.50.50.XXYY.s2t.bin`, without settings. Packages of translateLocally have a
`config.NAME.yml` that names the files.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import langcodes

from export.bergamot.binary import has_binary_model
from export.bergamot.lexicon import is_lexicon
from export.huggingface.files import read_object
from export.marian.files import DECODER_FILE, MarianFiles, join_names, named_files, source_and_target
from export.marian.release import ReleaseLanguages, read_languages
from export.marian.settings import read_options
from export.marian.vocabulary import SENTENCEPIECE_SUFFIX

BINARY_SUFFIX = ".bin"
CONFIG_PATTERNS = ("config*.yml", DECODER_FILE)
INFO_FILE = "model_info.json"
"""Names and languages of a package of translateLocally."""
DEFAULT_SEARCH: Mapping[str, Any] = {"beam-size": 1, "normalize": 1.0}
"""Search of Firefox Translations and translateLocally, where no file sets it."""
SHORTLIST, GEMM_PRECISION, SKIP_COST = "shortlist", "gemm-precision", "skip-cost"
_PAIR_IN_NAME = re.compile(r"(?:^|\.)([a-z]{2})([a-z]{2})\.")
_PAIR_FOLDER = re.compile(r"([a-z]{2})-?([a-z]{2})(?:\..*|-.*)?")


@dataclass(frozen=True, slots=True)
class StudentFiles:
    """Files of one student."""

    marian: MarianFiles
    lexicon: Path | None
    """Binary shortlist; None if there is none."""


def find_models(folder: Path) -> list[Path]:
    """Return Marian's binary models in a folder."""
    return [path for path in sorted(folder.glob(f"*{BINARY_SUFFIX}")) if has_binary_model(path)]


def find_files(folder: Path, problems: list[str]) -> StudentFiles | None:
    """Find the files of a student; missing or ambiguous ones are added to `problems`.

    Returns:
        The files; None if there are problems.
    """
    found: list[str] = []
    options = _settings(folder, found)
    model = _model(folder, options, found)
    vocabularies = _vocabularies(folder, options, found)
    lexicon = _lexicon(folder, options, found)
    problems += found
    if found or model is None or vocabularies is None:
        return None
    return StudentFiles(MarianFiles(model, vocabularies, (None, None), options, ()), lexicon)


def find_languages(folder: Path, model: Path) -> ReleaseLanguages:
    """Return the languages that the files name, or the names of the files."""
    named = read_languages(folder)
    if named.sources:
        return named
    info = read_object(folder / INFO_FILE, []) if (folder / INFO_FILE).is_file() else {}
    sources, target = info.get("srcTags"), info.get("trgTag")
    if isinstance(sources, dict) and sources and isinstance(target, str) and target:
        return ReleaseLanguages(tuple(sources), (target,))
    for found in (_PAIR_IN_NAME.search(model.name), _PAIR_FOLDER.fullmatch(folder.name)):
        if found is not None and all(map(langcodes.tag_is_valid, found.groups())):
            return ReleaseLanguages((found[1],), (found[2],))
    return ReleaseLanguages()


def _settings(folder: Path, problems: list[str]) -> Mapping[str, Any]:
    """Return the settings of the only file of them whose model exists, or the default ones."""
    paths = sorted({path for pattern in CONFIG_PATTERNS for path in folder.glob(pattern)})
    by_path = {path: read_options(path, problems) for path in paths}
    usable = [
        path
        for path, options in by_path.items()
        if any((folder / name).is_file() for name in named_files(options, "models"))
    ]
    if len(usable) > 1:
        problems.append(f"{join_names(usable)} are all settings; keep one")
        return {}
    if paths and not usable:
        problems.append(f"{join_names(paths)}: no file in models exists")
        return {}
    settings = {**DEFAULT_SEARCH, **(by_path[usable[0]] if usable else {})}
    if settings["beam-size"] == 1:
        settings.pop(SKIP_COST, None)  # the best token is the same with and without the softmax
    return settings


def _model(folder: Path, options: Mapping[str, Any], problems: list[str]) -> Path | None:
    named = named_files(options, "models")
    if len(named) > 1:
        problems.append(f"{', '.join(named)} are an ensemble, which is not supported")
        return None
    if named:
        if has_binary_model(folder / named[0]):
            return folder / named[0]
        problems.append(f"{named[0]} is not a binary model of Marian's, version 1")
        return None
    models = find_models(folder)
    if len(models) != 1:
        problems.append(f"{join_names(models)} are all models; keep one")
        return None
    return models[0]


def _vocabularies(folder: Path, options: Mapping[str, Any], problems: list[str]) -> tuple[Path, Path] | None:
    named = named_files(options, "vocabs")
    if not named:
        found = sorted(folder.glob(f"*{SENTENCEPIECE_SUFFIX}"))
        return source_and_target(found, "vocabulary", problems)
    for name in dict.fromkeys(named):
        if not name.endswith(SENTENCEPIECE_SUFFIX):
            problems.append(f"vocabulary {name}: only {SENTENCEPIECE_SUFFIX} is supported")
        elif not (folder / name).is_file():
            problems.append(f"vocabulary {name} not found")
    if len(named) > 2:  # noqa: PLR2004 -- a source and a target
        problems.append(f"{len(named)} vocabularies found; only models with 2 are supported")
    return folder / named[0], folder / named[-1]


def _lexicon(folder: Path, options: Mapping[str, Any], problems: list[str]) -> Path | None:
    """Return the binary shortlist. One in text is not used, as the manifest then records."""
    named = named_files(options, SHORTLIST)[:1]
    if named:
        path = folder / named[0]
        if not path.is_file():
            problems.append(f"{SHORTLIST} {named[0]} not found")
            return None
        return path if is_lexicon(path) else None
    found = [path for path in sorted(folder.glob(f"*{BINARY_SUFFIX}")) if is_lexicon(path)]
    if len(found) > 1:
        problems.append(f"{join_names(found)} are all shortlists; keep one")
    return found[0] if found else None
