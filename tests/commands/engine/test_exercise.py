"""Whatever is done with the kernels, they read and write only memory that is theirs."""

import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from dragoman.native import library
from dragoman.native.library import best_kernels
from tests.commands.engine.compiled import SOURCES, compile_program, require, run_program
from tests.imports.parity.conftest import Export
from tests.imports.parity.random_bundles import SSRU
from tests.paths import ROOT
from tests.processor import x86_kernels

TINY = ROOT / "tests" / "tiny" / "bundle-int8"
SANITIZERS = (
    "-O1",
    "-g",
    "-fPIC",
    "-shared",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=undefined",
)
GCC_WARNINGS = ("-Wno-uninitialized", "-Wno-maybe-uninitialized")
SHAPES = (
    {"heads": 3, "d_model": 24, "ffn": 20},
    {"heads": 3, "d_model": 120, "ffn": 72, "suppressed_ids": (9, 17), **SSRU},
    {"heads": 2, "d_model": 160, "activation": "swish", "norm": "post"},
)

pytestmark = pytest.mark.skipif(not best_kernels(), reason="the kernels are not built, or not for this CPU")


def exercise(
    folder: Path, kernels: str, seed: int, bundles: Sequence[Path], environment: Mapping[str, str]
) -> None:
    """Run in a process of its own, which a crash ends."""
    python = [sys.executable, "-X", "faulthandler", "-m", "tests.commands.engine.exercise"]
    finished = subprocess.run(
        [*python, folder, kernels, str(seed), *bundles],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr[-5000:]


def test_random_uses_wrong_ids_and_changed_graphs_end_in_results_or_errors() -> None:
    exercise(library.FOLDER, best_kernels(), 1, [TINY], {})


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a library whose wrong accesses and undefined behaviour end the process."""
    if platform.machine() != "x86_64" or sys.platform != "linux":
        pytest.skip("the sanitized library is built for Linux on x86-64")
    compiler, folder = require("g++", "g++"), tmp_path_factory.mktemp("sanitized")
    stems = ("self_check", "model", "steps", "search", "api", "avx2")
    assert {f"{stem}.cpp" for stem in stems} <= {path.name for path in SOURCES.glob("*.cpp")}
    stub = folder / "stub.cpp"  # so that only one instruction set needs to be compiled
    stub.write_text(
        '#include "kernels.h"\n'
        "namespace dragoman {\n"
        'extern const Kernels AMX_KERNELS{"none"}, AVX_VNNI_KERNELS{"none"}, AVX512_KERNELS{"none"};\n'
        "bool may_use_amx() { return false; }\n"
        "}\n"
    )
    sources = [stub, *(SOURCES / f"{stem}.cpp" for stem in stems)]
    flags = [*SANITIZERS, *GCC_WARNINGS, "-mavx2", "-mfma"]
    compile_program(folder / "_kernels.so", compiler, sources, flags)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_sanitizers_find_nothing(sanitized: Path, seed: int, exported: Export) -> None:
    if "avx2" not in x86_kernels():
        pytest.skip("the sanitized library has only the kernels for AVX2, which this processor lacks")
    libraries = [
        run_program(["g++", f"-print-file-name={name}.so"]).strip() for name in ("libasan", "libstdc++")
    ]
    bundles = [TINY, *(exported(shape, "int8") for shape in SHAPES)]

    environment = {"LD_PRELOAD": " ".join(libraries), "ASAN_OPTIONS": "detect_leaks=0"}
    exercise(sanitized, "avx2", seed, bundles, environment)


KEEP_OPENING = """
import sys
from pathlib import Path

import numpy as np

from dragoman.bundle import open_bundle
from dragoman.decoding.loop import StepLimit
from dragoman.decoding.strategy import Source, TargetLimits, TargetVocabulary
from dragoman.native.model import NativeModel
from dragoman.native.search_lane import NativeSearchLane
from dragoman.native.search_state import NativeEncoder, NativeSteps
from dragoman.shortlist import Shortlist
from dragoman.types import SearchKind

bundle = open_bundle(Path(sys.argv[1]))
sizes = bundle.manifest.sizes
offsets, none = np.zeros(sizes.source_vocab + 1, np.int64), np.arange(0)
model = NativeModel(bundle, shortlist=Shortlist.of(np.arange(4, 90), offsets, none, sizes.target_vocab))
encoder, target = NativeEncoder(model), TargetVocabulary(3, sizes.target_vocab, {}, str)

def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

def run_round():
    steps, lane = NativeSteps(model, SearchKind(4, True)), NativeSearchLane(model, SearchKind(4), target)
    sources = [[5, 6, 7, 8] * 5 + [3]] * 8
    steps.join(encoder.run(sources))
    for _ in range(50):
        steps.step(np.full(32, 5), 5)
        steps.select(np.repeat(np.arange(8) * 4, 4))
    lane.join([Source([3], TargetLimits(50, 50), (2,)) for _ in sources], encoder.run(sources))
    lane.step(StepLimit(49))
    try:
        encoder.run([[-1]])
    except IndexError:
        pass

for _ in range(40):
    run_round()
before = resident_bytes()
for _ in range(200):
    run_round()
print(resident_bytes() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_closed_lanes_and_sources_give_their_memory_back() -> None:
    """One round allocates more than a megabyte, so 200 would show."""
    finished = subprocess.run(
        [sys.executable, "-c", KEEP_OPENING, TINY], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert finished.returncode == 0, finished.stderr
    assert int(finished.stdout) < 8 * 2**20
