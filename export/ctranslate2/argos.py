"""Import of Argos packages: a CTranslate2 model, its SentencePiece model, and its languages.

Data for splitting text into sentences (`stanza`, `minisbd`, `spacy`) are ignored: the engine splits text.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dragoman.languages import Languages, SourceLanguage, TargetLanguage
from dragoman.manifest import DecodingDefaults
from export.ctranslate2.binary import MODEL_FILE
from export.ctranslate2.load import load_with_tokenizers
from export.huggingface.fields import ConfigFields
from export.huggingface.files import read_licence, read_object
from export.huggingface.languages import to_bcp47
from export.model_weights import OUTPUT_BIAS, ModelWeights
from export.original import ImportRejectedError, Original, RequestedLanguages

KIND = "CTranslate2 model of an Argos package"
SUFFIX = ".argosmodel"
METADATA_FILE, MODEL_FOLDER = "metadata.json", "model"
ARGOS_DECODING = DecodingDefaults(beam_size=4, length_penalty=0.2, early_stopping=True)
"""Search of Argos Translate. `early_stopping` is CTranslate2's patience of 1."""
OWN_CODES: Mapping[str, str] = {"zt": "zh-Hant", "pb": "pt-BR"}
"""BCP-47 codes of languages that only Argos calls so."""
RECORDED = ("package_version", "argos_version", "from_code", "to_code", "target_prefix")
MAX_DEPTH = 4
"""Depth of folders under a data folder in which packages are looked for."""
MAX_FOLDERS = 10_000


@dataclass(frozen=True, slots=True)
class PackageInfo:
    """Content of metadata.json."""

    source: str
    target: str
    version: str
    target_prefix: str | None
    """Token that every target begins with, after the start token."""
    recorded: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Package:
    """A package in a data folder."""

    path: Path
    """Folder of an installed package."""
    source: str
    target: str
    """BCP-47 codes."""
    version: str


@dataclass(frozen=True, slots=True)
class FoundPackages:
    """Packages of a data folder."""

    chosen: tuple[Package, ...]
    older: tuple[str, ...]
    """Packages that are older than another of their pair, each with that one."""
    rejected: tuple[str, ...]
    """Packages that cannot be imported, each with the reasons."""


def recognises(folder: Path) -> bool:
    """Return whether a folder is an unpacked package, complete or not."""
    return (folder / METADATA_FILE).is_file() and (folder / MODEL_FOLDER).is_dir()


def load(folder: Path, wanted: RequestedLanguages) -> Original:
    """Read an unpacked package.

    The unknown token is never produced: Argos Translate replaces it by a source token, the engine does not.

    Raises:
        ImportRejectedError: something is unsupported, missing or damaged; with all reasons.
    """
    problems: list[str] = []
    info = _read_info(folder, problems)
    if info is None:
        raise ImportRejectedError(str(folder), tuple(problems))
    requested = RequestedLanguages(
        wanted.sources or (to_package_code(info.source),), wanted.targets or (to_package_code(info.target),)
    )
    original = load_with_tokenizers(folder / MODEL_FOLDER, folder, requested, info.target_prefix)
    return replace(
        original,
        kind=KIND,
        model=_without_unknown(original.model),
        languages=_with_argos_codes(original.languages, info),
        decoding=ARGOS_DECODING,
        licence=read_licence(folder),
        origin={**original.origin, "package": dict(info.recorded)},
    )


def find_packages(folder: Path, wanted: RequestedLanguages) -> FoundPackages | None:
    """Return the packages in a data folder, or None if it has none or is a package itself.

    Of several packages for a pair, only the newest is imported. Links are not followed.

    Args:
        folder: Argos Translate's or LibreTranslate's data folder, or one with unpacked packages.
        wanted: languages of the packages to import; empty: all.

    Raises:
        ImportRejectedError: there are too many folders, or no package has the languages.
    """
    if not folder.is_dir() or recognises(folder):
        return None
    rejected: list[str] = []
    older: list[str] = []
    newest: dict[tuple[str, str], Package] = {}
    for path in sorted(_package_folders(folder)):
        problems: list[str] = []
        info = _read_info(path, problems)
        if info is None:
            rejected.append(f"{path}: {'; '.join(problems)}")
            continue
        package = Package(path, to_package_code(info.source), to_package_code(info.target), info.version)
        other = newest.get((package.source, package.target), package)
        newer = max(other, package, key=lambda each: _version_key(each.version))
        newest[package.source, package.target] = newer
        if other is not package:
            old = package if newer is other else other
            older.append(f"{old.path}: version {old.version} is older than {newer.path}")
    if not newest and not rejected:
        return None
    chosen = [each for each in newest.values() if _is_wanted(each, wanted)]
    if newest and not chosen:
        pairs = ", ".join(f"{each.source}-{each.target}" for each in newest.values())
        raise ImportRejectedError(str(folder), (f"no package has these languages; it has {pairs}",))
    return FoundPackages(tuple(chosen), tuple(older), tuple(rejected))


def _is_wanted(package: Package, wanted: RequestedLanguages) -> bool:
    sides = ((package.source, wanted.sources), (package.target, wanted.targets))
    return all(not codes or code in map(to_package_code, codes) for code, codes in sides)


def to_package_code(code: str) -> str:
    """Return the BCP-47 code of a language in a package; one that is no language stays as it is."""
    return OWN_CODES.get(code, to_bcp47(code) or code)


def _package_folders(folder: Path) -> Iterator[Path]:
    level, num_folders = [folder], 0
    for _ in range(MAX_DEPTH + 1):
        deeper: list[Path] = []
        for each in level:
            if recognises(each) and (each / MODEL_FOLDER / MODEL_FILE).is_file():
                yield each
            else:
                deeper += [path for path in each.iterdir() if path.is_dir() and not path.is_symlink()]
        num_folders += len(deeper)
        if num_folders > MAX_FOLDERS:
            raise ImportRejectedError(str(folder), (f"has more than {MAX_FOLDERS} folders",))
        level = deeper


def _version_key(version: str) -> tuple[float, ...]:
    """Return the numbers of a version such as 1.9; what is not a number is older than any number."""
    return tuple(float(part) if part.isdecimal() else -math.inf for part in re.split(r"[.\-+]", version))


def _read_info(folder: Path, problems: list[str]) -> PackageInfo | None:
    content = read_object(folder / METADATA_FILE, problems)
    if problems:
        return None
    fields = ConfigFields(content, METADATA_FILE, problems)
    kind = fields.text("type") or "translate"
    if kind != "translate":
        problems.append(f"{METADATA_FILE}: type is {kind!r}; only packages that translate are supported")
    codes = [fields.text(name) for name in ("from_code", "to_code")]
    problems += [
        f"{METADATA_FILE}: {name} is missing; packages of one pair are supported"
        for name, code in zip(("from_code", "to_code"), codes, strict=True)
        if not code
    ]
    version, prefix = fields.text("package_version") or "", fields.text("target_prefix")
    source, target = codes
    if problems or not source or not target:
        return None
    recorded = {name: content[name] for name in RECORDED if isinstance(content.get(name), str)}
    return PackageInfo(source, target, version, prefix or None, recorded)


def _with_argos_codes(languages: Languages, info: PackageInfo) -> Languages:
    """Return the languages with Argos' own codes among their other names."""

    def names(code: str, names: Iterable[str], own: str) -> tuple[str, ...]:
        has_own = to_package_code(own) == code and own != code
        return tuple(dict.fromkeys((*names, own) if has_own else names))

    return Languages(
        {
            code: SourceLanguage(names(code, each.names, info.source), each.before, each.after)
            for code, each in languages.sources.items()
        },
        {
            code: TargetLanguage(names(code, each.names, info.target), each.source_before, each.begin)
            for code, each in languages.targets.items()
        },
    )


def _without_unknown(model: ModelWeights) -> ModelWeights:
    """Return a model that never produces the unknown token; the others get its probability."""
    bias = model.weights[OUTPUT_BIAS].copy()
    bias[model.config.unk_id] = -math.inf
    return model.with_weights({OUTPUT_BIAS: bias})
