"""Which fp16 bundles have a program for GPUs, and how much memory is planned for one."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dragoman.bundle import Bundle, open_bundle
from dragoman.cuda.memory import MAX_BEAMS, MAX_ROWS, MAX_SOURCES, SlotPool, plan_memory
from dragoman.cuda.program import read_programs
from dragoman.native.instructions import InstructionKind, NotSupported
from dragoman.scheduling.policy import RESERVED_SHARE
from tests.imports.parity.random_bundles import SSRU, random_model, write
from tests.paths import TINY

SHAPE = {"d_model": 32, "heads": 2, "ffn": 64}


def bundle(folder: Path, **shape: Any) -> Bundle:
    return open_bundle(write(folder, random_model(SHAPE | shape), "fp16"))


def test_a_step_is_as_few_kernels_as_its_sums_allow(tmp_path: Path) -> None:
    programs = read_programs(bundle(tmp_path))

    kinds = [each.kind for each in programs.decoder.instructions]
    layer = ["NORM", "LINEAR", "SELF_ATTENTION", "LINEAR_ADD", "NORM", "LINEAR", "CROSS_ATTENTION"]
    layer += ["LINEAR_ADD", "NORM", "LINEAR", "LINEAR_ADD"]
    assert [kind.name for kind in kinds] == ["EMBED", *layer, *layer, "NORM"]
    encoder = [each.kind for each in programs.encoder.instructions]
    assert encoder.count(InstructionKind.WRITE_CROSS) == 2
    assert programs.linears[0].weight.shape == (32, 3 * 32)


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        ({"heads": 4}, "not for 4 heads of 8"),
        ({"gated_ffn": True}, "operator Split"),
        ({"norm_kind": "rms"}, "operator SimplifiedLayerNormalization"),
        (SSRU, "recurrent"),
    ],
)
def test_a_bundle_without_a_program_says_why(shape: dict[str, Any], reason: str, tmp_path: Path) -> None:
    with pytest.raises(NotSupported, match=reason):
        read_programs(bundle(tmp_path, **shape))


def test_only_fp16_has_programs() -> None:
    other = open_bundle(TINY / "bundle-fp32")

    with pytest.raises(NotSupported, match="its precision is fp32, and CUDA kernels are for fp16"):
        read_programs(other)


def test_memory_is_planned_within_half_of_what_is_free_and_to_what_helps_at_most(tmp_path: Path) -> None:
    opened = bundle(tmp_path)
    programs, manifest = read_programs(opened), opened.manifest

    much = plan_memory(manifest, programs, 1 << 37)
    little = plan_memory(manifest, programs, 1 << 27)

    capacity = much.capacity(1)
    assert (capacity.max_rows, capacity.max_sources) == (MAX_ROWS, MAX_SOURCES)
    assert capacity.max_rows * (RESERVED_SHARE + 1) // RESERVED_SHARE + MAX_BEAMS <= much.num_rows
    assert little.num_rows < much.num_rows
    assert much.capacity(2).max_rows == MAX_ROWS // 2
    assert (much.source_tokens, much.target_tokens) == (112, 112)
    with pytest.raises(NotSupported, match="the GPU has 64 MiB free, which is too little"):
        plan_memory(manifest, programs, 1 << 26)


def test_a_slot_that_is_not_to_be_had_takes_no_rows(tmp_path: Path) -> None:
    opened = bundle(tmp_path)
    plan = plan_memory(opened.manifest, read_programs(opened), 1 << 37)
    pool = SlotPool(replace(plan, num_sources=2, num_rows=5))
    first, rows = pool.take(4)

    assert len(set(rows)) == 4
    with pytest.raises(MemoryError):
        pool.take(2)
    assert pool.num_free == (1, 1)
    pool.release([first])
    assert pool.num_free == (2, 5)
