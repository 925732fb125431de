"""Registries of models that others publish: Mozilla's (Firefox Translations) and Argos's.

A model is named by its registry and pair, such as `firefox:es-en`. A registry is a JSON file at an address,
or in a folder with the files that it names.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import zstandard
from pydantic import BaseModel, Field

from dragoman.bundle import file_sha256
from dragoman.types import Pair
from service.models.errors import ModelError
from service.models.locations import REMOTE, append, open_location, parse_content, read_location, resolve

FIREFOX, ARGOS, OPUS = "firefox", "argos", "opus"
REGISTRIES: Mapping[str, str] = {
    FIREFOX: "https://firefox.settings.services.mozilla.com/v1/buckets/main/collections/"
    "translations-models-v2/records",
    ARGOS: "https://raw.githubusercontent.com/argosopentech/argospm-index/main/index.json",
}
"""Addresses by name."""
FIREFOX_FILES = "https://firefox-settings-attachments.cdn.mozilla.net/"
"""Address below which Mozilla's files are; those of a registry elsewhere are below its own folder."""
FIREFOX_LICENCE = "MPL-2.0"
FIREFOX_VERSION = "3."
"""Beginning of the versions that Firefox itself reads."""
ARCHITECTURES = ("base-memory", "base", "tiny")
"""Architectures of Firefox's models, the preferred first."""
HUB_NAMES = ("Helsinki-NLP/opus-mt-tc-big-{source}-{target}", "Helsinki-NLP/opus-mt-{source}-{target}")
"""Names of OPUS-MT's models on the Hugging Face hub, the larger ones first."""
OWN_CODES: Mapping[str, Mapping[str, str]] = {
    FIREFOX: {"zh": "zh-Hans", "no": "nb"},
    ARGOS: {"pt-BR": "pb", "zh-Hant": "zt", "zh-Hans": "zh"},
}
"""Codes of the registries that differ from BCP 47."""
PIVOT = "en"
MAX_REGISTRY_BYTES = 32 * 2**20
MAX_FILE_BYTES = 2**31
_CODE = r"[a-z]{2,3}(?:-[A-Z][a-z]{3}|-[A-Z]{2})?"
_PAIR = re.compile(f"({_CODE})-({_CODE})")
_NAMED = re.compile(rf"({FIREFOX}|{ARGOS}|{OPUS}):({_CODE})-({_CODE})")

Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
FileName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """A file of a model."""

    name: str
    location: str
    size_bytes: int | None = None
    sha256: str | None = None
    """Of the file as it is published; None if the registry names none."""


@dataclass(frozen=True, slots=True)
class PublishedModel:
    """A model of a registry."""

    name: str
    """Such as `firefox:es-en`."""
    pair: Pair
    files: tuple[PublishedFile, ...]
    licence: str | None
    version: str

    @property
    def size_bytes(self) -> int | None:
        """Return the size of all files; None if the registry does not say."""
        sizes = [file.size_bytes for file in self.files]
        return None if None in sizes else sum(filter(None, sizes))

    def download(self, folder: Path, on_bytes: Callable[[int], object]) -> Path:
        """Download all files; return the folder that has them, or the only file if it is a package.

        Raises:
            ModelError: a file cannot be read, or is not the one that the registry promises.
        """
        for file in self.files:
            _download(file, folder / file.name, on_bytes)
        return folder if len(self.files) > 1 else folder / self.files[0].name


class _Attachment(BaseModel):
    location: str
    hash: Sha256
    size: Annotated[int, Field(ge=0)]


class _FirefoxRecord(BaseModel):
    """One file of a model."""

    name: FileName
    source_language: str = Field(alias="sourceLanguage")
    target_language: str = Field(alias="targetLanguage")
    architecture: str = ""
    version: str
    file_type: str = Field(alias="fileType")
    filter_expression: str = ""
    """Channels or systems for which a file is meant; empty for all."""
    attachment: _Attachment


class _FirefoxRegistry(BaseModel):
    data: list[_FirefoxRecord]


class _ArgosPackage(BaseModel):
    from_code: str
    to_code: str
    package_version: str
    links: list[str]


def read_pair(text: str) -> Pair | None:
    """Return the pair that a text such as `es-en` names; None if it names none."""
    found = _PAIR.fullmatch(text)
    return None if found is None else Pair(*found.groups())


def read_names(text: str) -> list[tuple[str, Pair]]:
    """Return registry and pair of each name in a text such as `firefox:es-en,argos:fr-en`; none of others."""
    found = [_NAMED.fullmatch(name.strip()) for name in text.split(",")]
    named = [(each[1], Pair(each[2], each[3])) for each in found if each is not None]
    return named if len(named) == len(found) else []


def hub_names(pair: Pair) -> list[str]:
    """Return names on the hub that an OPUS-MT model of a pair may have, the preferred first."""
    return [name.format(source=pair.source, target=pair.target) for name in HUB_NAMES]


def find_models(registry: str, location: str, pair: Pair) -> list[PublishedModel]:
    """Return the model of a pair, or two that lead through English if there is none.

    Args:
        registry: `FIREFOX` or `ARGOS`.
        location: address or path of the registry.
        pair: the languages, by BCP-47 codes.

    Raises:
        ModelError: the registry cannot be read, or has neither.
    """
    offered = {model.pair: model for model in _read_models(registry, location)}
    through = [Pair(pair.source, PIVOT), Pair(PIVOT, pair.target)]
    for wanted in ([pair], through):
        codes = [Pair(*(OWN_CODES[registry].get(code, code) for code in each)) for each in wanted]
        if all(each in offered for each in codes):
            return [offered[each] for each in codes]
    raise ModelError(f"{registry} has no model for {pair}, and none through {PIVOT}")


def _read_models(registry: str, location: str) -> Iterator[PublishedModel]:
    content = read_location(location, MAX_REGISTRY_BYTES)
    if registry == FIREFOX:
        return _firefox_models(parse_content(_FirefoxRegistry, content, location).data, location)
    return _argos_models(parse_content(list[_ArgosPackage], content, location), location)


def _firefox_models(records: Sequence[_FirefoxRecord], location: str) -> Iterator[PublishedModel]:
    """Yield the models of each pair, the preferred last: by architecture, then by version."""
    base = FIREFOX_FILES if location == REGISTRIES[FIREFOX] else location
    groups: dict[tuple[str, str, str, str], dict[str, _FirefoxRecord]] = {}
    for one in records:
        if one.version.startswith(FIREFOX_VERSION) and not one.filter_expression:
            key = (one.source_language, one.target_language, one.architecture, one.version)
            groups.setdefault(key, {})[one.file_type] = one
    for key in sorted(groups, key=lambda key: (_rank(key[2]), _version_key(key[3]))):
        (source, target, _, version), by_type = key, groups[key]
        if "model" in by_type and {"vocab", "srcvocab"} & by_type.keys():
            wanted = [(one.name, one.attachment) for kind, one in by_type.items() if kind != "qualityModel"]
            files = tuple(
                PublishedFile(f"{file}.zst", resolve(base, sent.location), sent.size, sent.hash)
                for file, sent in wanted
            )
            name = f"{FIREFOX}:{source}-{target}"
            yield PublishedModel(name, Pair(source, target), files, FIREFOX_LICENCE, version)


def _rank(architecture: str) -> int:
    return -ARCHITECTURES.index(architecture) if architecture in ARCHITECTURES else -len(ARCHITECTURES)


def _argos_models(packages: Sequence[_ArgosPackage], location: str) -> Iterator[PublishedModel]:
    """Yield the packages of each pair, the newest last."""
    for one in sorted(packages, key=lambda package: _version_key(package.package_version)):
        links = [link for link in one.links if urlsplit(link).scheme in {*REMOTE, ""}]
        if links:
            source, target = one.from_code, one.to_code
            file = PublishedFile(f"{source}_{target}.argosmodel", resolve(location, links[0]))
            name = f"{ARGOS}:{source}-{target}"
            yield PublishedModel(name, Pair(source, target), (file,), None, one.package_version)


def _version_key(version: str) -> list[int]:
    return [int(part[:9]) if part.isdecimal() else -1 for part in version.split(".")]


def _download(file: PublishedFile, target: Path, on_bytes: Callable[[int], object]) -> None:
    """Download a file, and decompress it if it ends in .zst. Both sizes are bounded."""
    stream, _ = open_location(file.location, 0)
    limit = file.size_bytes or MAX_FILE_BYTES
    with closing(stream), target.open("xb") as written:
        append(stream, written, limit + 1, file.location, on_bytes)
        num_bytes = written.tell()
    is_whole = num_bytes <= limit and file.size_bytes in {num_bytes, None}
    if not is_whole or file.sha256 not in {file_sha256(target), None}:
        raise ModelError(f"{file.location} is not the file that the registry names; try again")
    if target.suffix == ".zst":
        _decompress(target, target.with_suffix(""), file.location)


def _decompress(packed: Path, target: Path, location: str) -> None:
    num_bytes = 0
    try:
        with packed.open("rb") as source, target.open("xb") as written:
            for piece in zstandard.ZstdDecompressor().read_to_iter(source):
                num_bytes += len(piece)
                if num_bytes > MAX_FILE_BYTES:
                    raise ModelError(f"{location} unpacks to more than {MAX_FILE_BYTES} bytes")
                written.write(piece)
    except zstandard.ZstdError as error:
        raise ModelError(f"{location} cannot be decompressed: {error}") from error
    packed.unlink()
