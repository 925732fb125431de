"""Lookup of bundles on disk by folder or name, and their list."""

from dataclasses import dataclass
from pathlib import Path

from dragoman import BundleError
from dragoman.bundle import Bundle, read_bundle, verify_files
from dragoman.routing.bundle_scan import bundle_folders


@dataclass(frozen=True, slots=True)
class BundleListing:
    """One folder under the models folder."""

    name: str
    bundle: Bundle | None
    """The bundle; None if its manifest cannot be read."""
    problems: tuple[str, ...]
    """Reasons why it cannot be served; empty if all files verify."""


def find_bundle(model: str, models_dir: Path) -> Path:
    """Return the folder `model`, or else the folder of that name under `models_dir`.

    Raises:
        BundleError: neither exists; the message lists the available names.
    """
    path, named = Path(model), models_dir / model
    if path.is_dir():
        return path
    if named.is_dir():
        return named
    names = ", ".join(bundle_folders(models_dir)) or "none"
    raise BundleError(model, (f"neither {path} nor {named} is a folder; models in {models_dir}: {names}",))


def list_bundles(models_dir: Path) -> list[BundleListing]:
    """Read and verify all bundles under `models_dir`; return them sorted by name."""
    return [inspect(folder) for folder in bundle_folders(models_dir).values()]


def inspect(folder: Path) -> BundleListing:
    """Read and verify one bundle."""
    try:
        bundle = read_bundle(folder)
    except BundleError as error:
        return BundleListing(folder.name, None, error.problems)
    return BundleListing(folder.name, bundle, tuple(verify_files(bundle)))
