"""Which fp16 bundles have a program for GPUs, its memory, and what it computes in the interpreter."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.bundle import Bundle, open_bundle
from dragoman.cuda import kernels
from dragoman.cuda.memory import MAX_BEAMS, MAX_ROWS, MAX_SOURCES, SlotPool, plan_memory
from dragoman.cuda.program import read_programs
from dragoman.cuda.search_lane import CudaSearchLane
from dragoman.decoding.strategy import Source, TargetLimits
from dragoman.native.instructions import InstructionKind, NotSupported
from dragoman.scheduling.policy import RESERVED_SHARE
from dragoman.types import SearchKind
from tests.cuda.cuda_models import DEVICE, open_model
from tests.cuda.cuda_models import logprobs_by_steps as ours_by_steps
from tests.cuda.half_bundles import write_half
from tests.parity.random_bundles import EOS, SSRU, VOCAB, logprobs_by_steps, random_model, write

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
    other = open_bundle(Path(__file__).parents[1] / "tiny" / "bundle-fp32")

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


@pytest.mark.parametrize(
    "shape",
    [
        {"decoder_layers": 2},
        {"norm": "post", "activation": "gelu"},
        {"activation": "gelu_tanh", "heads": 1, "d_model": 16},
        {"activation": "quick_gelu", "tied_output": True},
        {"activation": "swish", "ffn": 80},
    ],
)
def test_log_probabilities_are_those_of_onnxruntime(shape: dict[str, Any], tmp_path: Path) -> None:
    """A mixed-up row, position or layer moves some by units; fp16 rounds by hundredths."""
    folder = write_half(tmp_path / "bundle", **shape)
    rng = np.random.default_rng(5)
    sources = [[*rng.integers(4, VOCAB, length).tolist(), EOS] for length in (37, 1, 4)]
    targets = rng.integers(4, VOCAB, (len(sources) * 2, 4))

    found = ours_by_steps(open_model(folder), sources, targets)

    expected = logprobs_by_steps(folder, sources, targets, VOCAB)
    assert np.abs(found - expected).max() < 0.05
    assert np.abs(expected).max() > 3


def test_suppressed_tokens_are_never_chosen(tmp_path: Path) -> None:
    """The token that a search begins with is suppressed in another model, which is the same otherwise."""
    source = Source([7, 9, EOS], TargetLimits(4, 4), (2,))

    def first_ids(folder: Path) -> tuple[int, ...]:
        lane = CudaSearchLane(open_model(folder), SearchKind(1))
        lane.join([source], [])
        return lane.step(8)[0].hypotheses[0].ids

    (token, *_) = first_ids(write_half(tmp_path / "all"))

    assert token not in first_ids(write_half(tmp_path / "some", suppressed_ids=(token,)))


@pytest.mark.parametrize(("rows", "depth", "columns"), [(64, 32, 40), (128, 100, 64), (64, 128, 128)])
@pytest.mark.parametrize("is_by_row", [False, True])
def test_a_product_is_that_of_numpy(rows: int, depth: int, columns: int, *, is_by_row: bool) -> None:
    rng = np.random.default_rng(1)
    x, weight = rng.normal(size=(rows, depth)), rng.normal(size=(depth, columns))
    bias, other = rng.normal(size=columns), rng.normal(size=(rows, columns))
    arrays = (x, weight.T.copy() if is_by_row else weight, bias, other)
    tensors = [torch.tensor(array, dtype=torch.float32, device=DEVICE) for array in arrays]
    out = torch.zeros(rows, columns, device=DEVICE)

    kernels.linear[(rows // 64, -(-columns // 64))](
        *tensors, out, N=columns, K=depth, ACTIVATION=1, ALPHA=1.0, ADDS=True, BY_ROW=is_by_row,
        BM=64, BN=64, BK=64,
    )  # fmt: skip

    np.testing.assert_allclose(
        out.cpu().numpy(), np.maximum(x @ weight + bias, 0) + other, rtol=1e-3, atol=1e-4
    )


def test_a_norm_is_that_of_numpy() -> None:
    rng = np.random.default_rng(2)
    x, gain, bias = rng.normal(size=(3, 24)), rng.normal(size=24), rng.normal(size=24)
    out = torch.zeros(3, 24, device=DEVICE)
    tensors = [torch.tensor(array, dtype=torch.float32, device=DEVICE) for array in (x, gain, bias)]

    kernels.norm[(3,)](*tensors, out, EPSILON=1e-5, W=24, BW=32)

    centred = x - x.mean(1, keepdims=True)
    expected = centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5) * gain + bias
    np.testing.assert_allclose(out.cpu().numpy(), expected, rtol=1e-4, atol=1e-5)
