"""Cost of an import: `python -m bench.imports FOLDER` exports big models and opens the bundles.

The export's time is that to read, calibrate, write and validate; its peak is the larger one of the
exporter and its validation, and includes mapped pages of the original files. Opening hashes every file and
loads both graphs; the memory includes the interpreter and all libraries.

`--memory` measures only the peaks of the export and of its validation, which is another process.

CTranslate2's converter makes the models of CONVERTED; `make .venv-bench/.peers` installs it.
"""

import shutil
import subprocess
import sys
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

from bench.command import Command, Options, show
from bench.first_use import measure_first_use
from bench.models import run_peer
from bench.processes import MIB, ProcessRun, run_process
from bench.provenance import write_json

MODELS = ("opus-mt", "nllb-600m", "madlad-quarter")
"""Models of `bench.foreign`, which is not imported here since it needs much memory."""
PRECISIONS = ("fp32", "int8")
WEIGHTS = ("model.safetensors", "model.bin", "model/model.bin")
"""Places of the weights in a folder."""
CONVERTED: Mapping[str, str] = {"opus-mt-ctranslate2": "float32", "opus-mt-argos": "int8"}
"""Types of weights of the first of MODELS in another format; with int8, it is an Argos package."""
ARGOS_METADATA = {"package_version": "1.0", "argos_version": "1.0", "from_code": "de", "to_code": "en"}


def make_original(name: str, folder: Path) -> Path:
    """Return the folder of a model; make it if it does not exist."""
    original = folder / name
    if name in CONVERTED and not original.is_dir():
        _convert(make_original(MODELS[0], folder), original, CONVERTED[name])
    elif not original.is_dir():
        make = [sys.executable, "-m", "bench.foreign", name, str(original)]
        subprocess.run(make, check=True)  # noqa: S603 -- our own module
    return original


def _convert(model: Path, folder: Path, quantization: str) -> None:
    """Write a model as a folder of CTranslate2, or as an Argos package if its weights are int8."""
    is_package = quantization == "int8"
    inner = folder / "model" if is_package else folder
    arguments = {"original": str(model), "folder": str(inner), "quantization": quantization}
    run_peer("convert-transformers", arguments)
    shutil.copyfile(model / "source.spm", folder / "sentencepiece.model")  # both sides have the same pieces
    if is_package:
        write_json(folder / "metadata.json", ARGOS_METADATA)


def _weights_bytes(original: Path) -> int:
    """Return the size of a model's weights."""
    return sum((original / name).stat().st_size for name in WEIGHTS if (original / name).is_file())


def export(original: Path, precision: str, sentences: Path | None) -> tuple[Path, ProcessRun]:
    """Export a model; return its bundle and what that cost."""
    bundle = original.with_name(f"{original.name}-{precision}")
    command = [sys.executable, "-m", "export", original, bundle, "--precision", precision]
    if original.name in CONVERTED:
        command += ["--source-lang", "de", "--target-lang", "en"]
    command += ["--sentences", sentences] if sentences is not None else []
    return bundle, run_process(*command)


def measure_memory(original: Path, precision: str, sentences: Path | None) -> dict[str, Any]:
    """Export a model; compare the peaks with the size of its weights."""
    _, exported = export(original, precision, sentences)
    size_bytes = _weights_bytes(original)
    return {
        "model": original.name,
        "precision": precision,
        "weights_mib": size_bytes / MIB,
        "write_peak_mib": exported.own_peak_bytes / MIB,
        "compare_peak_mib": exported.children_peak_bytes / MIB,
        "times_weights": exported.peak_bytes / size_bytes,
    }


def measure(original: Path, precision: str, sentences: Path | None) -> dict[str, Any]:
    """Export a model and open its bundle."""
    bundle, exported = export(original, precision, sentences)
    used = measure_first_use([bundle], 1)  # in a process without torch
    return {
        "model": original.name,
        "precision": precision,
        "parameters": _weights_bytes(original) // 4,
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
    options: Options = {
        "folder": Path("runs/bench/imports"),
        f"--models of {', '.join(MODELS)}, or with --memory also of {', '.join(CONVERTED)}": [str],
        "--precisions": PRECISIONS,
        "--sentences": Path,
        "--memory measure only the memory of the export": False,
    }
    command = Command("imports", __doc__, options)
    arguments = command.parse()
    known = {*MODELS, *(CONVERTED if arguments.memory else ())}
    if unknown := [name for name in arguments.models if name not in known]:
        command.parser.error(f"--models {' '.join(unknown)}: choose from {', '.join(sorted(known))}")
    cases = list(product(arguments.models or MODELS, arguments.precisions))
    rows = []
    for name, precision in cases:
        original = make_original(name, arguments.folder)
        one = measure_memory if arguments.memory else measure
        rows.append(one(original, precision, arguments.sentences))
        show(rows[-1:])
    command.write(arguments.folder / "-".join(cases[0]), {"imports": rows})


if __name__ == "__main__":
    main()
