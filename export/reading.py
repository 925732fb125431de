"""Installation of a bundle's `reading.toml`."""

from dataclasses import replace
from pathlib import Path

from dragoman.bundle import file_sha256, read_bundle
from dragoman.manifest import FileRecord
from dragoman.reading.reading_file import READING_FILE, load_reading
from export.bundle import write_manifest


def write_reading(folder: Path, file: Path) -> None:
    """Add what a model reads to a bundle that nobody else uses yet, and list it in the manifest.

    Args:
        folder: folder of the bundle; `staged_folder` replaces one that is in use.
        file: describes it; may be the bundle's own.

    Raises:
        BundleError: the file is wrong, or is for other languages.
    """
    manifest = read_bundle(folder).manifest
    load_reading(file, manifest.languages.sources)
    path = folder / READING_FILE
    if path != file:
        path.write_bytes(file.read_bytes())
    files = {**manifest.files, READING_FILE: FileRecord(file_sha256(path), path.stat().st_size)}
    write_manifest(folder, replace(manifest, files=dict(sorted(files.items()))))
