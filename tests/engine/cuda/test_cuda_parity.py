"""The program of a bundle in Triton's interpreter against onnxruntime; kernels against numpy."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.cuda import kernels
from dragoman.cuda.search_lane import CudaSearchLane
from dragoman.decoding.loop import StepLimit
from dragoman.decoding.strategy import Source, TargetLimits
from dragoman.types import SearchKind
from tests.engine.cuda.cuda_models import DEVICE, open_model
from tests.engine.cuda.cuda_models import logprobs_by_steps as ours_by_steps
from tests.engine.cuda.half_bundles import write_half
from tests.imports.parity.random_bundles import EOS, VOCAB, logprobs_by_steps


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
        return lane.step(StepLimit(8))[0].hypotheses[0].ids

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
