"""The models that come with Dragoman."""

from pathlib import Path

from dragoman.manifest import MANIFEST_FILE

INSTALLED = Path(__file__).resolve().parents[1] / "service" / "bundled_models"
"""Folder of the bundled models of an installed package; a checkout has them in its own `models`."""


def bundled_models() -> Path:
    """Return the folder of the bundled models."""
    return INSTALLED if INSTALLED.is_dir() else INSTALLED.parent.parent / "models"


def find_bundle(path: str | Path) -> Path:
    """Return a bundle's folder: the path, or the bundled model of this name if there is no such folder."""
    named = Path(path)
    bundled = bundled_models() / named.name
    is_bundled = len(named.parts) == 1 and not named.exists() and (bundled / MANIFEST_FILE).is_file()
    return bundled if is_bundled else named
