"""Which releases run here."""

from importlib.metadata import PackageNotFoundError, version


def installed_version(distribution: str) -> str:
    """The release of an installed distribution; a checkout that runs without being installed has none."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "not installed"
