"""Cost of an import: `python -m bench.imports FOLDER` exports big models and opens the bundles.

The export's time is that to read, calibrate, write and validate; its peak is the larger one of the
exporter and its validation, and includes mapped pages of the original files. Opening hashes every file and
loads both graphs; the memory includes the interpreter and all libraries.
"""

import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

from bench.command import Command, Options, show
from bench.first_use import measure_first_use
from bench.processes import MIB, run_process

MODELS = ("opus-mt", "nllb-600m")
"""Models of `bench.foreign`, which is not imported here since it needs much memory."""
PRECISIONS = ("fp32", "int8")


def measure(name: str, folder: Path, precision: str) -> dict[str, Any]:
    """Export and open one of MODELS, after making it if it does not exist."""
    original, bundle = folder / name, folder / f"{name}-{precision}"
    if not original.is_dir():
        make = [sys.executable, "-m", "bench.foreign", name, str(original)]
        subprocess.run(make, check=True)  # noqa: S603 -- our own module
    exported = run_process(sys.executable, "-m", "export", original, bundle, "--precision", precision)
    used = measure_first_use([bundle], 1)  # in a process without torch
    return {
        "model": name,
        "precision": precision,
        "parameters": (original / "model.safetensors").stat().st_size // 4,
        "original_mb": _size_mb(original),
        "bundle_mb": _size_mb(bundle),
        "export_s": exported.seconds,
        "export_peak_mib": exported.peak_bytes / MIB,
        "open_s": used["open_s"],
        "opened_mib": used["loaded_bytes"] / MIB,
        "first_s": used["first_s"],
        "translated_mib": used["translated_bytes"] / MIB,
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
