"""Kernels of all instruction sets give the same bits, also of those that this processor lacks."""

import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from dragoman.bundle import open_bundle
from dragoman.native.library import best_kernels
from dragoman.native.model import NativeModel
from dragoman.native.search_state import NativeEncoder, NativeSteps
from dragoman.types import SearchKind
from tests.commands.engine.compiled import (
    HERE,
    SOURCES,
    compile_program,
    require,
    require_header,
    run_program,
)
from tests.imports.shortlist.random_shortlists import random_shortlist
from tests.paths import MODELS
from tests.processor import x86_kernels

BITS = HERE / "kernel_bits.cpp"
MODEL = MODELS / "de-en"
AVX2_FLAGS = ("-mavx2", "-mfma")
EMULATED = {
    "avx_vnni": ("-D__AVXVNNI__", "-include", str(HERE / "emulated" / "avx_vnni.h")),
    "avx512": ("-include", str(HERE / "emulated" / "avx512.h")),
}
AVX512_FLAGS = ("-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512vnni", "-mfma")
ARM_ROOT = "/usr/aarch64-linux-gnu"


def kernel_bits(folder: Path, name: str, compiler: str, flags: tuple[str, ...], *runner: str) -> list[str]:
    """Run every kernel of an instruction set; return a line for each case, with a hash of what it gave.

    The flags may define MAY_RUN: what the program asks before it uses the kernels.
    """
    flags = (*flags, *(() if any("MAY_RUN" in flag for flag in flags) else ("-DMAY_RUN=true",)))
    program = folder / name
    sources = [BITS, SOURCES / f"{name}.cpp"]
    compile_program(program, compiler, sources, ["-O1", f"-DKERNELS={name.upper()}_KERNELS", *flags])
    return run_program([*runner, program]).splitlines()


@pytest.fixture(scope="module")
def avx2_bits(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What the others are compared with: these kernels run wherever the tests usually do."""
    if "avx2" not in x86_kernels():
        pytest.skip("kernels are compared with those for AVX2, which this processor lacks")
    found = kernel_bits(tmp_path_factory.mktemp("avx2"), "avx2", require("g++", "g++"), AVX2_FLAGS)
    assert len(found) > 800
    return found


@pytest.mark.parametrize("name", EMULATED)
def test_emulated_kernels_give_the_bits_of_avx2(avx2_bits: list[str], name: str, tmp_path: Path) -> None:
    require_header("simde/x86/avx512.h", "libsimde-dev")

    assert kernel_bits(tmp_path, name, "g++", (*AVX2_FLAGS, *EMULATED[name])) == avx2_bits


@pytest.mark.parametrize(
    ("name", "flags", "processor"),
    [("dotprod", ("-march=armv8.2-a+dotprod",), "neoverse-n1"), ("neon", (), "cortex-a72")],
)
def test_kernels_of_arm_processors_give_the_bits_of_avx2(
    avx2_bits: list[str], name: str, flags: tuple[str, ...], processor: str, tmp_path: Path
) -> None:
    compiler = require("aarch64-linux-gnu-g++", "g++-aarch64-linux-gnu")
    emulator = require("qemu-aarch64", "qemu-user")
    runner = (emulator, "-cpu", processor, "-L", ARM_ROOT)

    assert kernel_bits(tmp_path, name, compiler, flags, *runner) == avx2_bits


@pytest.mark.skipif("amx-int8" not in x86_kernels(), reason="this processor has no AMX")
def test_tiles_give_the_bits_of_avx2(avx2_bits: list[str], tmp_path: Path) -> None:
    flags = (*AVX512_FLAGS, "-DMAY_RUN=may_use_amx()")

    assert kernel_bits(tmp_path, "amx", require("g++", "g++"), flags) == avx2_bits


@pytest.mark.skipif("amx-int8" not in x86_kernels(), reason="this processor has no AMX")
def test_a_process_that_may_not_use_tiles_runs_the_next_best_kernels(tmp_path: Path) -> None:
    rejecting = tmp_path / "refusing.so"
    source = tmp_path / "refusing.cpp"
    source.write_text('extern "C" long syscall(long, ...) { return -1; }\n')
    compile_program(rejecting, require("g++", "g++"), [source], ["-shared", "-fPIC"])
    program = "from dragoman.native.library import best_kernels; print(best_kernels())"

    def best(**variables: str) -> str:
        command = [sys.executable, "-c", program]
        return subprocess.run(
            command, env={**os.environ, **variables}, capture_output=True, text=True, check=True
        ).stdout.strip()

    assert best() == "amx-int8"
    assert best(LD_PRELOAD=str(rejecting)) == "avx512-vnni"


def test_kernels_that_this_processor_lacks_are_rejected() -> None:
    with pytest.raises(ValueError, match="the kernels do not know"):
        NativeModel(open_bundle(MODEL), "of another processor")


@pytest.mark.skipif(platform.machine() != "x86_64", reason="other processors have one instruction set")
def test_all_kernels_of_this_processor_translate_alike_to_the_last_bit() -> None:
    bundle = open_bundle(MODEL)
    rng, sizes = np.random.default_rng(3), bundle.manifest.sizes
    shortlist = random_shortlist(rng, sizes.source_vocab, sizes.target_vocab, np.arange(0), 50)
    models = [NativeModel(bundle, name, shortlist) for name in x86_kernels()]
    found = [list(steps_of_a_changing_batch(model)) for model in models]

    assert best_kernels() == x86_kernels()[0]
    for other in found[1:]:
        for arrays, expected in zip(other, found[0], strict=True):
            np.testing.assert_array_equal(arrays, expected)


def steps_of_a_changing_batch(model: NativeModel) -> Iterator[tuple[NDArray[np.float32], NDArray[np.int64]]]:
    """Yield what steps of 2 to 28 rows give, with shortlists and without, while sources join and leave."""
    rng = np.random.default_rng(3)
    for is_shortlisted in (False, True):
        steps, num_sources = NativeSteps(model, SearchKind(2, is_shortlisted)), 0
        for joining, staying in ((1, 1), (5, 6), (0, 3), (9, 12), (2, 14), (0, 4), (3, 7), (0, 1)):
            sources = [
                [*rng.integers(4, 4000, length).tolist(), 3] for length in rng.integers(1, 60, joining)
            ]
            steps.join(NativeEncoder(model).run(sources))
            num_sources += joining
            last_ids = rng.integers(4, 4000, 2 * num_sources)
            logprobs, ids = steps.step(last_ids, 50)
            yield logprobs.copy(), ids.copy()
            places = rng.permutation(num_sources)[:staying]
            steps.select((2 * places[:, None] + np.arange(2)).ravel())
            num_sources = staying
