"""What an import takes: `python -m bench.imports FOLDER` exports big models and opens the bundles."""

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.foreign import FOREIGN, write_foreign
from bench.provenance import provenance, write_result
from dragoman import DecodingOptions, Translator
from dragoman.types import Pair
from export.memory import peak_bytes

PRECISIONS = ("fp32", "int8")
PAIR = Pair("de", "en")
SENTENCE = "Das Wetter ist heute schön, und wir gehen in den Park."
OPTIONS = DecodingOptions(beam_size=4, min_length=20, max_length=20)
MEBIBYTE = 2**20


@dataclass(frozen=True, slots=True)
class Import:
    """One model in one precision."""

    model: str
    precision: str
    parameters: int
    original_mb: float
    bundle_mb: float
    export_s: float
    """Reading, calibrating, writing and validating."""
    export_peak_mib: float
    """The larger of the exporter's and its validation's; pages of the original's files that it maps count."""
    open_s: float
    """Hashing every file, then loading both graphs."""
    opened_mib: float
    """Resident, the interpreter and all libraries included."""
    first_s: float
    """The first sentence of 20 target tokens, beam 4."""
    translated_mib: float


def export(model: Path, bundle: Path, precision: str) -> tuple[float, float]:
    """Run the exporter: its seconds, and its peak in MiB."""
    command = [sys.executable, "-m", "export", str(model), str(bundle), "--precision", precision]
    began = time.perf_counter()
    started = subprocess.Popen(command)  # noqa: S603 -- our own module
    _, status, usage = os.wait4(started.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} failed")
    return time.perf_counter() - began, usage.ru_maxrss / 1024


def open_and_translate(bundle: Path) -> dict[str, float]:
    """For a process of its own."""
    began = time.perf_counter()
    with Translator.open(bundle, replicas=1) as translator:
        opened = time.perf_counter()
        opened_mib = _resident_mib()
        translator.translate(SENTENCE, OPTIONS, pair=PAIR)
        return {
            "open_s": opened - began,
            "opened_mib": opened_mib,
            "first_s": time.perf_counter() - opened,
            "translated_mib": peak_bytes() / MEBIBYTE,
        }


def measure(name: str, folder: Path, precision: str) -> Import:
    """Export and open one of FOREIGN, made first where it is not there."""
    original, bundle = folder / name, folder / f"{name}-{precision}"
    if not original.is_dir():
        _in_fresh_process("make", name, str(original))
    export_s, peak_mib = export(original, bundle, precision)
    opened = _in_fresh_process("open", str(bundle))
    return Import(
        model=name,
        precision=precision,
        parameters=(original / "model.safetensors").stat().st_size // 4,
        original_mb=_size_mb(original),
        bundle_mb=_size_mb(bundle),
        export_s=export_s,
        export_peak_mib=peak_mib,
        **opened,
    )


def _in_fresh_process(*words: str) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.imports", "--do", *words]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 -- this module
    found: dict[str, float] = json.loads(done.stdout or "{}")
    return found


def _resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / MEBIBYTE


def _size_mb(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.iterdir()) / 1e6


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.imports", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("runs/bench/imports"))
    parser.add_argument("--models", nargs="+", choices=FOREIGN, default=list(FOREIGN))
    parser.add_argument("--precisions", nargs="+", default=PRECISIONS)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--do", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.do:
        what, *words = arguments.do
        if what == "make":
            write_foreign(words[0], Path(words[1]))
        else:
            print(json.dumps(open_and_translate(Path(words[0]))))
        return 0
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
