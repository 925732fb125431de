"""Cost of an import: `python -m bench.imports FOLDER` exports big models and opens the bundles."""

import os
import subprocess
import sys
import time
from itertools import product
from pathlib import Path
from typing import Any

from bench.command import Command, Options, show
from bench.first_use import measure_first_use
from bench.processes import MIB

MODELS = ("opus-mt", "nllb-600m")
"""Models of `bench.foreign`, which is not imported: a child's peak would include this process's memory."""
PRECISIONS = ("fp32", "int8")


def export(model: Path, bundle: Path, precision: str) -> tuple[float, float]:
    """Run the exporter; return its seconds and its peak memory in MiB."""
    command = [sys.executable, "-m", "export", str(model), str(bundle), "--precision", precision]
    began = time.perf_counter()
    started = subprocess.Popen(command)  # noqa: S603 -- our own module
    _, status, usage = os.wait4(started.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} failed")
    return time.perf_counter() - began, usage.ru_maxrss / 1024


def measure(name: str, folder: Path, precision: str) -> dict[str, Any]:
    """Export and open one of MODELS, after making it if it does not exist.

    The export's time is that to read, calibrate, write and validate; its peak is the larger one of the
    exporter and its validation, and includes mapped pages of the original files. Opening hashes every file
    and loads both graphs; the memory includes the interpreter and all libraries.
    """
    original, bundle = folder / name, folder / f"{name}-{precision}"
    if not original.is_dir():
        make = [sys.executable, "-m", "bench.foreign", name, str(original)]
        subprocess.run(make, check=True)  # noqa: S603 -- our own module
    export_s, peak_mib = export(original, bundle, precision)
    used = measure_first_use([bundle], 1)  # in a process without torch
    return {
        "model": name,
        "precision": precision,
        "parameters": (original / "model.safetensors").stat().st_size // 4,
        "original_mb": _size_mb(original),
        "bundle_mb": _size_mb(bundle),
        "export_s": export_s,
        "export_peak_mib": peak_mib,
        "open_s": used.open_s,
        "opened_mib": used.loaded_bytes / MIB,
        "first_s": used.first_s,
        "translated_mib": used.translated_bytes / MIB,
    }


def _size_mb(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.iterdir()) / 1e6


def main() -> None:
    options: Options = {"folder": Path("runs/bench/imports"), "--models": MODELS, "--precisions": PRECISIONS}
    command = Command("imports", __doc__, options)
    arguments = command.parse()
    cases = list(product(arguments.models, arguments.precisions))
    rows = [measure(name, arguments.folder, precision) for name, precision in cases]
    show(rows)
    command.write(arguments.folder / "-".join(cases[0]), {"imports": rows})


if __name__ == "__main__":
    main()
