"""Removal, copying and installation of a bundle's shortlist."""

import dataclasses
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dragoman.bundle import file_sha256, open_bundle
from dragoman.errors import BundleError
from dragoman.manifest import FileRecord
from dragoman.shortlist import SHORTLIST_FILE, Shortlist
from export.bundle import write_manifest

ORIGIN_FIELD = "shortlist"
"""Field of the manifest's `origin` that records how the shortlist was made."""


def copy_without_shortlist(bundle: Path, folder: Path) -> None:
    """Copy a bundle without its shortlist into an empty folder; the copy uses the full vocabulary.

    Raises:
        BundleError: the bundle cannot be opened.
    """
    manifest = open_bundle(bundle).manifest
    shutil.copytree(bundle, folder, dirs_exist_ok=True)
    (folder / SHORTLIST_FILE).unlink(missing_ok=True)
    files = {name: record for name, record in manifest.files.items() if name != SHORTLIST_FILE}
    origin = {name: value for name, value in manifest.origin.items() if name != ORIGIN_FIELD}
    write_manifest(folder, dataclasses.replace(manifest, files=files, origin=origin))


def copy_shortlist(folder: Path, bundle: Path) -> None:
    """Copy the shortlist of a bundle with the same vocabularies, and the record of how it was made.

    Raises:
        BundleError: the other bundle cannot be opened, or has no shortlist for these vocabularies.
    """
    manifest, other = open_bundle(folder).manifest, open_bundle(bundle).manifest
    if SHORTLIST_FILE not in other.files:
        raise BundleError(str(bundle), (f"has no {SHORTLIST_FILE}",))
    sizes, eos_id = manifest.sizes, manifest.special_ids.eos
    shortlist = Shortlist.load(bundle / SHORTLIST_FILE, sizes.source_vocab, sizes.target_vocab, eos_id)
    write_shortlist(folder, shortlist, other.origin.get(ORIGIN_FIELD, {}))


def write_shortlist(folder: Path, shortlist: Shortlist, origin: Mapping[str, Any]) -> None:
    """Add a shortlist to a bundle that nobody else uses yet, and list it in the manifest.

    Args:
        folder: folder of the bundle; `staged_folder` replaces one that is in use.
        shortlist: shortlist for the bundle's vocabularies.
        origin: how it was made and what it covers, for the manifest.
    """
    path = folder / SHORTLIST_FILE
    manifest = open_bundle(folder).manifest
    shortlist.save(path)
    record = FileRecord(file_sha256(path), path.stat().st_size)
    changed = dataclasses.replace(
        manifest,
        files={**manifest.files, SHORTLIST_FILE: record},
        origin={**manifest.origin, ORIGIN_FIELD: dict(origin)},
    )
    write_manifest(folder, changed)
