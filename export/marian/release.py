"""Languages and licence of an OPUS-MT release, from its documents.

README.md describes a release in a list under a heading with its name; some releases also have a YAML file
(https://github.com/Helsinki-NLP/OPUS-MT-train).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import langcodes

from export.bounded_files import read_beginning
from export.marian.settings import MAX_YAML_BYTES, read_options

README = "README.md"
LICENCE_FILES = ("LICENSE", "LICENSE.txt", "LICENSE.md")
LICENCES = {
    "CC-BY-4.0": r"Attribution 4\.0 International",
    "Apache-2.0": r"Apache License\s+Version 2\.0",
    "MPL-2.0": r"Mozilla Public License,? [Vv]ersion 2\.0",
    "MIT": r"Permission is hereby granted, free of charge",
}
"""Pattern of text that only this licence contains, by SPDX name."""

_HEADING = re.compile(r"(?m)^# +")
_LANGUAGES = {
    side: re.compile(rf"(?m)^\* +{side} language(?:s|\(s\)): *(.+)$") for side in ("source", "target")
}
_DOWNLOAD = re.compile(r"/OPUS-MT-models/([\w+]+)-([\w+]+)/")
_FOLDER = re.compile(r"(?:opus-mt-)?([a-z]{2,3})-([a-z]{2,3})")


@dataclass(frozen=True, slots=True)
class ReleaseLanguages:
    """Languages in the files' own spelling; empty if the files do not say, or are ambiguous."""

    sources: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()


def read_languages(folder: Path) -> ReleaseLanguages:
    """Return the languages in the files, or else in the folder's name."""
    for spoken in (_from_yaml(folder), _from_readme(folder), _from_name(folder.name)):
        if spoken.sources and spoken.targets:
            return spoken
    return ReleaseLanguages()


def read_licence(folder: Path) -> str | None:
    """Return the SPDX name of the licence next to the model; None if its text is not well known."""
    for name in LICENCE_FILES:
        text = read_beginning(folder / name)
        for licence, sign in LICENCES.items():
            if re.search(sign, text):
                return licence
    return None


def _from_yaml(folder: Path) -> ReleaseLanguages:
    for path in sorted(folder.glob("*.yml")):
        if path.stat().st_size > MAX_YAML_BYTES or "source-languages" not in read_beginning(path):
            continue
        options = read_options(path, [])
        found = [options.get(f"{side}-languages") for side in ("source", "target")]
        if all(isinstance(names, list) for names in found):
            sources, targets = (tuple(map(str, names or [])) for names in found)
            return ReleaseLanguages(sources, targets)
    return ReleaseLanguages()


def _from_readme(folder: Path) -> ReleaseLanguages:
    """Return the languages of the folder's release, or those that all releases in the file agree on."""
    sections = _HEADING.split(read_beginning(folder / README))
    named = [section for section in sections if section.startswith(f"{folder.name}.zip")]
    found = {spoken for section in named or sections if (spoken := _from_section(section)).sources}
    return found.pop() if len(found) == 1 else ReleaseLanguages()


def _from_section(section: str) -> ReleaseLanguages:
    lines = {side: pattern.search(section) for side, pattern in _LANGUAGES.items()}
    source, target = lines["source"], lines["target"]
    if source is not None and target is not None:
        return ReleaseLanguages(tuple(_split(source[1])), tuple(_split(target[1])))
    download = _DOWNLOAD.search(section)
    return (
        ReleaseLanguages()
        if download is None
        else ReleaseLanguages(*(tuple(side.split("+")) for side in download.groups()))
    )


def _split(listed: str) -> Iterator[str]:
    yield from (name for name in re.split(r"[\s,]+", listed) if name)


def _from_name(name: str) -> ReleaseLanguages:
    """Parse `opus-mt-de-en` or `deu-eng`; families such as `roa` are not languages."""
    found = _FOLDER.fullmatch(name)
    if found is None or not all(_is_single_language(code) for code in found.groups()):
        return ReleaseLanguages()
    return ReleaseLanguages((found[1],), (found[2],))


def _is_single_language(code: str) -> bool:
    """Return whether a code is certainly one language: only single languages have two-letter codes."""
    return langcodes.tag_is_valid(code) and len(langcodes.standardize_tag(code)) == 2  # noqa: PLR2004
