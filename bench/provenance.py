"""Provenance of figures: machine, versions, commit, bundle."""

import hashlib
import json
import os
import platform
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import distributions
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dragoman.bundle import file_sha256, read_bundle
from dragoman.providers import SessionOptions
from dragoman.search_model import find_kernels

RESULTS = Path(__file__).parent / "results"
PACKAGES: Mapping[str, str] = {
    "onnxruntime": "onnxruntime",
    "onnxruntime-gpu": "onnxruntime",
    "numpy": "numpy",
    "sentencepiece": "sentencepiece",
}
"""Packages whose versions are recorded, and their modules; only one of the first two is imported."""
ON_CPU = SessionOptions()
CHECKPOINT_WEIGHTS = "model.safetensors"


def provenance(bundle: Path, command: str, session: SessionOptions = ON_CPU) -> dict[str, Any]:
    """Return everything needed to decide whether two figures are comparable.

    `bundle_sha256` is a hash over the hashes of graphs, tokenizers and other files, but not of the model
    card; of a checkpoint, the hash of its weights. `kernels` are those that run the bundle in such a session
    if nothing else is chosen.
    """
    return {
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command,
        "cpu": _cpu_name(),
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "packages": _versions(),
        "commit": _commit(),
        "bundle": bundle.name,
        "bundle_sha256": bundle_sha256(bundle),
        "kernels": _kernels(bundle, session),
    }


def read_result(path: Path) -> dict[str, Any]:
    """Read a result file."""
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf8"))
    return content


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a file that is never half written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf8")
    partial.replace(path)


def bundle_sha256(bundle: Path) -> str:
    """Return the hash that identifies a bundle or a checkpoint; see `provenance`."""
    if (weights := bundle / CHECKPOINT_WEIGHTS).is_file():
        return file_sha256(weights)
    files = read_bundle(bundle).manifest.files
    hashes = [f"{name} {record.sha256}" for name, record in sorted(files.items()) if not name.endswith(".md")]
    return hashlib.sha256("\n".join(hashes).encode()).hexdigest()


def _kernels(bundle: Path, session: SessionOptions) -> str | None:
    """Return the name of the kernels; None for a checkpoint."""
    if (bundle / CHECKPOINT_WEIGHTS).is_file():
        return None
    return find_kernels(read_bundle(bundle), session, "auto")[0]


def _versions() -> dict[str, str]:
    """Return the versions of the packages that are imported, not of others later on the path."""
    return {
        name: one.version
        for name, module in PACKAGES.items()
        for one in distributions(name=name)
        if Path(str(one.locate_file(""))).resolve() == _folder_of(module)
    }


def _folder_of(module: str) -> Path | None:
    """Return the folder that a package is imported from; None if it is not installed."""
    spec = find_spec(module)
    return Path(spec.origin).resolve().parents[1] if spec and spec.origin else None


def _cpu_name() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf8").splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 -- fixed words
    except FileNotFoundError:
        return "unknown"
    return done.stdout.strip() or "unknown"
