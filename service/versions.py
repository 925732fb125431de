"""Versions of installed packages."""

from importlib.metadata import PackageNotFoundError, version


def installed_version(distribution: str) -> str:
    """Return the version of an installed distribution; a checkout that is not installed has none."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "not installed"
