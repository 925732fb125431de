"""Scan of a folder of bundles: its content, and changes since the last scan."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from dragoman.bundle import Bundle, read_bundle
from dragoman.errors import BundleError
from dragoman.manifest import MANIFEST_FILE, Manifest

SETTLE_S = 0.2
"""Seconds to wait before a second scan: replacing a folder renames the old one away first."""

MAX_REPLACED = 3
"""Maximum times that a folder may be replaced during opening before the next failure counts."""

T = TypeVar("T")
VerifyBundle = Callable[[Bundle], Sequence[str]]
Signature = tuple[tuple[str, int, int], ...]
"""Name, size and modification time of every file."""


@dataclass(frozen=True, slots=True)
class ScanResult:
    """Result of a scan: usable bundles, and problems of the others."""

    bundles: Mapping[str, Bundle]
    problems: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Reasons why a folder cannot be used, by name."""


@dataclass(frozen=True, slots=True)
class ReloadReport:
    """Changes found by another scan, as names of bundles."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    """Opened again on next use; running requests end with the old one."""
    removed: tuple[str, ...] = ()
    problems: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Reasons why a folder cannot be used. A bundle that was open before stays open."""

    @property
    def is_empty(self) -> bool:
        """Return whether nothing changed; ignores problems."""
        return not (self.added or self.changed or self.removed)


def bundle_folders(folder: Path) -> dict[str, Path]:
    """Return folders by name, sorted; hidden ones are bundles still being written."""
    if not folder.is_dir():
        return {}
    found = {path.name: path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(".")}
    return dict(sorted(found.items()))


def read_all(folders: Mapping[str, Path]) -> ScanResult:
    """Read every manifest; files are verified only when a bundle is opened."""
    bundles: dict[str, Bundle] = {}
    problems: dict[str, tuple[str, ...]] = {}
    for name, folder in folders.items():
        try:
            bundles[name] = read_bundle(folder)
        except BundleError as error:
            problems[name] = error.problems
    return ScanResult(bundles, problems)


class BundleScanner:
    """Scans repeatedly. Bundles that are new or changed are verified, as they may be only half written.

    Files whose size or time changed under the same manifest are verified as well: a loaded bundle continues
    to work, but could not be opened again.
    """

    def __init__(self, find_folders: Callable[[], Mapping[str, Path]], verify: VerifyBundle) -> None:
        """Create an inspector without scanning.

        Args:
            find_folders: returns the bundles' folders by name.
            verify: returns the problems of a bundle that is new or changed.
        """
        self._find_folders = find_folders
        self._verify = verify
        self._rejected: dict[str, tuple[Signature, tuple[str, ...]]] = {}
        self._accepted: dict[str, Signature] = {}

    def scan_manifests(self) -> ScanResult:
        """Read manifests only, so that a server starts quickly."""
        findings = read_all(self._find_folders())
        self._accepted = {name: _signature(bundle) for name, bundle in findings.bundles.items()}
        return findings

    def scan(self, known: Mapping[str, Bundle]) -> ScanResult:
        """Scan again.

        Args:
            known: bundles in use; a bundle with the same manifest over untouched files counts as the same and
                is not verified.
        """
        findings = self._scan_once(known)
        if known.keys() <= findings.bundles.keys():
            return findings
        time.sleep(SETTLE_S)
        return self._scan_once(known)

    def _scan_once(self, known: Mapping[str, Bundle]) -> ScanResult:
        found = read_all(self._find_folders())
        bundles = dict(found.bundles)
        problems = dict(found.problems)
        rejected: dict[str, tuple[Signature, tuple[str, ...]]] = {}
        accepted: dict[str, Signature] = {}
        for name, bundle in found.bundles.items():
            signature = _signature(bundle)
            if known.get(name) == bundle and self._accepted.get(name) == signature:
                accepted[name] = signature
                continue
            before = self._rejected.get(name)
            if before is not None and before[0] == signature:
                verdict = before[1]
            else:
                verdict = tuple(self._verify(bundle))
            if verdict:
                rejected[name] = (signature, verdict)
                problems[name] = verdict
                del bundles[name]
            else:
                accepted[name] = signature
        self._rejected, self._accepted = rejected, accepted
        return ScanResult(bundles, problems)


def open_with_retry(open_bundle: Callable[[Path], T], folder: Path) -> T:
    """Open a bundle; retry if its folder was replaced meanwhile, so that files of two bundles were read.

    Raises:
        BundleError: it cannot be opened, although its folder did not change.
    """
    for _ in range(MAX_REPLACED):
        before = _manifest(folder)
        try:
            return open_bundle(folder)
        except BundleError:
            if before is None:
                time.sleep(SETTLE_S)
            if before == _manifest(folder):
                raise
    return open_bundle(folder)


def compare(before: Mapping[str, Bundle], now: Mapping[str, Bundle]) -> ReloadReport:
    """Return which bundles were added, changed and removed."""
    return ReloadReport(
        added=tuple(sorted(now.keys() - before.keys())),
        changed=tuple(sorted(name for name in now.keys() & before.keys() if now[name] != before[name])),
        removed=tuple(sorted(before.keys() - now.keys())),
    )


def _manifest(folder: Path) -> Manifest | None:
    try:
        return read_bundle(folder).manifest
    except BundleError:
        return None


def _signature(bundle: Bundle) -> Signature:
    return tuple(
        (name, *_size_and_time(bundle.file(name))) for name in (MANIFEST_FILE, *bundle.manifest.files)
    )


def _size_and_time(path: Path) -> tuple[int, int]:
    """Return size and modification time of a file; zeros if it is missing."""
    try:
        status = path.stat()
    except OSError:
        return 0, 0
    return status.st_size, status.st_mtime_ns
