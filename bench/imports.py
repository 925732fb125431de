"""Cost of an import: `python -m bench.imports FOLDER` exports big models and opens the bundles."""

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.provenance import provenance, write_result

MODELS = ("opus-mt", "nllb-600m")
"""Models of `bench.foreign`, which is not imported: a child's peak would include this process's memory."""
PRECISIONS = ("fp32", "int8")


@dataclass(frozen=True, slots=True)
class ImportResult:
    """Figures of the import of one model in one precision."""

    model: str
    precision: str
    parameters: int
    original_mb: float
    bundle_mb: float
    export_s: float
    """Seconds to read, calibrate, write and validate."""
    export_peak_mib: float
    """The larger peak of the exporter and its validation, including mapped pages of the original files."""
    open_s: float
    """Seconds to hash every file and load both graphs."""
    opened_mib: float
    """Resident memory, including the interpreter and all libraries."""
    first_s: float
    """Seconds for the first sentence of 20 target tokens, beam 4."""
    translated_mib: float


def export(model: Path, bundle: Path, precision: str) -> tuple[float, float]:
    """Run the exporter; return its seconds and its peak memory in MiB."""
    command = [sys.executable, "-m", "export", str(model), str(bundle), "--precision", precision]
    began = time.perf_counter()
    started = subprocess.Popen(command)  # noqa: S603 -- our own module
    _, status, usage = os.wait4(started.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} failed")
    return time.perf_counter() - began, usage.ru_maxrss / 1024


def measure(name: str, folder: Path, precision: str) -> ImportResult:
    """Export and open one of MODELS, after making it if it does not exist."""
    original, bundle = folder / name, folder / f"{name}-{precision}"
    if not original.is_dir():
        make = [sys.executable, "-m", "bench.foreign", name, str(original)]
        subprocess.run(make, check=True)  # noqa: S603 -- our own module
    export_s, peak_mib = export(original, bundle, precision)
    return ImportResult(
        model=name,
        precision=precision,
        parameters=(original / "model.safetensors").stat().st_size // 4,
        original_mb=_size_mb(original),
        bundle_mb=_size_mb(bundle),
        export_s=export_s,
        export_peak_mib=peak_mib,
        **first_use(bundle),
    )


def first_use(bundle: Path) -> dict[str, float]:
    """Return the figures of `bench.first_use`, which runs in a process without torch."""
    command = [sys.executable, "-m", "bench.first_use", str(bundle)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 -- our own module
    found: dict[str, float] = json.loads(done.stdout)
    return found


def reopen(output: Path, folder: Path) -> list[ImportResult]:
    """Read the rows of a result and measure opening their bundles again; keep the export figures."""
    rows = json.loads(output.read_text(encoding="utf8"))["imports"]
    return [
        ImportResult(**{**row, **first_use(folder / f"{row['model']}-{row['precision']}")}) for row in rows
    ]


def _size_mb(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.iterdir()) / 1e6


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.imports", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("runs/bench/imports"))
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS)
    parser.add_argument("--precisions", nargs="+", default=PRECISIONS)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--reopen", action="store_true", help="only open the bundles of --output again")
    arguments = parser.parse_args()
    if arguments.reopen:
        rows = reopen(arguments.output, arguments.folder)
    else:
        rows = [
            measure(name, arguments.folder, precision)
            for name in arguments.models
            for precision in arguments.precisions
        ]
    for row in rows:
        print(asdict(row))
    if arguments.output:
        bundle = arguments.folder / f"{arguments.models[0]}-{arguments.precisions[0]}"
        origin = provenance(bundle, f"python -m bench.imports {arguments.folder}")
        write_result(arguments.output, origin, {"imports": [asdict(row) for row in rows]})
    return 0


if __name__ == "__main__":
    sys.exit(main())
