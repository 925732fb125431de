"""A bundle: a folder with graphs, tokenizers, and a manifest with the hash of every file.

docs/reference/bundle-format.md describes the folder for people.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from dragoman.errors import BundleError
from dragoman.manifest import MANIFEST_FILE, FileRecord, Manifest
from dragoman.manifest_json import parse_manifest

MAX_NAMED = 5
"""Bundles that an error names."""
MAX_MANIFEST_BYTES = 4 * 2**20


@dataclass(frozen=True, slots=True)
class Bundle:
    """A folder whose manifest was read."""

    path: Path
    manifest: Manifest

    def file(self, name: str) -> Path:
        return self.path / name


def open_bundle(path: Path) -> Bundle:
    """Read the manifest and verify every file's presence, size and sha256.

    Raises:
        BundleError: lists all problems found.
    """
    bundle = read_bundle(path)
    if problems := verify_files(bundle):
        raise BundleError(str(path), tuple(problems))
    return bundle


def read_bundle(path: Path) -> Bundle:
    """Read only the manifest; `verify_files` checks the files.

    Raises:
        BundleError: the manifest is missing or invalid.
    """
    encoded = _read_manifest(path)
    try:
        content = _parse_json(encoded)
    except (ValueError, RecursionError) as error:
        raise BundleError(str(path), (f"{MANIFEST_FILE} is not JSON: {error}",)) from error
    return Bundle(path, parse_manifest(content, str(path)))


def verify_files(bundle: Bundle) -> list[str]:
    """Return a problem for every listed file that is missing or differs in size or content."""
    return [
        problem
        for name, record in bundle.manifest.files.items()
        if (problem := _verify_file(bundle.file(name), name, record)) is not None
    ]


def file_sha256(path: Path) -> str:
    """Return the hex digest of a file's content, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _verify_file(path: Path, name: str, record: FileRecord) -> str | None:
    """Return what is wrong with a file, or None. Links are followed: only the content matters."""
    try:
        if not path.is_file():
            return f"{name} is missing"
        if (size_bytes := path.stat().st_size) != record.size_bytes:
            return f"{name} has {size_bytes} bytes, the manifest says {record.size_bytes}"
        if file_sha256(path) != record.sha256:
            return f"{name} is damaged: its sha256 differs from the manifest's"
    except OSError as error:
        return f"{name} cannot be read: {error.strerror}"
    return None


def _read_manifest(path: Path) -> bytes:
    manifest_path = path / MANIFEST_FILE
    encoded = None
    try:
        if manifest_path.is_file():
            with manifest_path.open("rb") as file:
                encoded = file.read(MAX_MANIFEST_BYTES + 1)
    except OSError as error:
        raise BundleError(str(path), (f"{MANIFEST_FILE} cannot be read: {error.strerror}",)) from error
    if encoded is None:
        bundles = sorted(one.parent.name for one in path.glob(f"*/{MANIFEST_FILE}"))[:MAX_NAMED]
        hint = f"; it contains bundles, so name one of them: {', '.join(bundles)}" if bundles else ""
        raise BundleError(str(path), (f"{MANIFEST_FILE} is missing{hint}",))
    if len(encoded) > MAX_MANIFEST_BYTES:
        raise BundleError(str(path), (f"{MANIFEST_FILE} has more than {MAX_MANIFEST_BYTES} bytes",))
    return encoded


def _parse_json(encoded: bytes) -> object:
    """Parse JSON; reject what Python accepts but cannot write as JSON again.

    Raises:
        ValueError: not JSON; NaN, an infinity, or half a surrogate pair.
        RecursionError: nested too deeply.
    """
    content: object = json.loads(encoded)
    json.dumps(content, ensure_ascii=False, allow_nan=False).encode()
    return content
