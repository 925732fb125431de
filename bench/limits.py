"""The machine's limits, measured through onnxruntime and compared with the engine's speed.

A decoder step has two limits: its multiplications at the best rate of the int8 GEMM, and its weights at
memory bandwidth. Both are measured and compared with the forced figures of bench.offline:
`python -m bench.limits FOLDER bench/results/offline-forced.json`.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper
from tqdm import tqdm

from bench.contenders import pin
from bench.models import CHECKPOINT, INT8
from bench.provenance import provenance, write_result
from bench.workloads import FORCED_TOKENS

ROWS = (1, 4, 8, 32, 128)
INNER, OUTER = 512, 2048
COLD_BYTES = 128_000_000
"""Bytes of different weights read in turn: three times an OPUS-MT-sized model, more than a core's caches."""
COPY_BYTES = 256_000_000
CONTRIB = "com.microsoft"
OPSET, CONTRIB_OPSET = 21, 1
IR_VERSION = 10


@dataclass(frozen=True, slots=True)
class GemmRate:
    """Measurements of one int8 product [M, K] x [K, N]."""

    rows: int
    is_cold: bool
    """Whether its weights come from outside the core's caches."""
    microseconds: float
    gops_per_s: float
    """Billions of multiplications and additions per second."""
    weight_gb_per_s: float


@dataclass(frozen=True, slots=True)
class Work:
    """The least work for a sentence of the forced workload, without the products inside attention."""

    operations: float
    """Number of multiplications and additions with weights."""
    weight_bytes: float
    """Bytes of int8 weights read, divided among the sentences of a batch."""


def measure_gemm(rows: int, num_weights: int, repeats: int) -> float:
    """Return the seconds of one product when `num_weights` different ones take turns."""
    session = _session(_gemm_graph(num_weights))
    values = np.random.default_rng(1).integers(0, 255, (rows, INNER), np.uint8)
    return _median_seconds(lambda: session.run(None, {"values": values}), repeats) / num_weights


def measure_copy(repeats: int) -> float:
    """Return the bytes per second that a copy reads and writes, both counted."""
    shape = [COPY_BYTES // 2 // 4]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("a", "b")]
    output = helper.make_tensor_value_info("copy", TensorProto.FLOAT, [2 * shape[0]])
    node = helper.make_node("Concat", ["a", "b"], ["copy"], axis=0)
    session = _session(_model(helper.make_graph([node], "copy", inputs, [output])))
    half = np.ones(shape, np.float32)
    binding = session.io_binding()
    target = onnxruntime.OrtValue.ortvalue_from_numpy(np.empty(2 * shape[0], np.float32))
    binding.bind_cpu_input("a", half)
    binding.bind_cpu_input("b", half)
    binding.bind_ortvalue_output("copy", target)
    return 2 * COPY_BYTES / _median_seconds(lambda: session.run_with_iobinding(binding), repeats)


def forced_work(shape: dict[str, Any], source_tokens: float, batch: int, beam_size: int) -> Work:
    """Return the work for one sentence, from the model's shape in model.json."""
    d_model, ffn = shape["d_model"], shape["ffn"]
    encoder = shape["encoder_layers"] * (4 * d_model**2 + 2 * d_model * ffn)
    cross = shape["decoder_layers"] * 2 * d_model**2
    # A step: four projections of self-attention, two of cross-attention, the feed-forward; then the logits.
    step = shape["decoder_layers"] * (6 * d_model**2 + 2 * d_model * ffn)
    step += d_model * shape["target_vocab_size"]
    return Work(
        operations=2 * ((encoder + cross) * source_tokens + step * FORCED_TOKENS * beam_size),
        weight_bytes=(encoder + cross + step * FORCED_TOKENS) / batch,
    )


def shares(
    rows: Sequence[dict[str, Any]], shape: dict[str, Any], gops_per_s: float, gb_per_s: float
) -> list[dict[str, Any]]:
    """Return time at the limits over measured time, for each engine and setting with one worker."""
    found = []
    for row in rows:
        if row["workers"] != 1:
            continue
        source_tokens = row["source_tokens"] / row["sentences"]
        work = forced_work(shape, source_tokens, row["batch"], row["beam_size"])
        arithmetic_ms = work.operations / gops_per_s / 1e6
        memory_ms = work.weight_bytes / gb_per_s / 1e6
        measured_ms = row["ms_per_sentence"]["median"]
        found.append(
            {
                "engine": row["engine"],
                "batch": row["batch"],
                "beam_size": row["beam_size"],
                "measured_ms": measured_ms,
                "arithmetic_ms": arithmetic_ms,
                "memory_ms": memory_ms,
                "arithmetic_share": arithmetic_ms / measured_ms,
                "memory_share": memory_ms / measured_ms,
            }
        )
    return found


def _gemm_graph(num_weights: int) -> onnx.ModelProto:
    """Return a graph of products of one input and different weights, all of them outputs against pruning."""
    rng = np.random.default_rng(2)
    weights: list[onnx.TensorProto] = [
        _constant("scale", np.array(1.0, np.float32)),
        _constant("zero", np.array(128, np.uint8)),
        _constant("scales", np.ones(OUTER, np.float32)),
    ]
    nodes = []
    for number in range(num_weights):
        weight: NDArray[Any] = rng.integers(-127, 127, (INNER, OUTER), np.int8)
        weights.append(_constant(f"weight.{number}", weight))
        inputs = ["values", f"weight.{number}", "scale", "scales", "zero"]
        nodes.append(helper.make_node("MatMulIntegerToFloat", inputs, [f"product.{number}"], domain=CONTRIB))
    inputs_info = [helper.make_tensor_value_info("values", TensorProto.UINT8, ["M", INNER])]
    outputs = [
        helper.make_tensor_value_info(f"product.{number}", TensorProto.FLOAT, ["M", OUTER])
        for number in range(num_weights)
    ]
    return _model(helper.make_graph(nodes, "gemm", inputs_info, outputs, weights))


def _model(graph: onnx.GraphProto) -> onnx.ModelProto:
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(CONTRIB, CONTRIB_OPSET)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)


def _constant(name: str, value: NDArray[Any]) -> onnx.TensorProto:
    return onnx.numpy_helper.from_array(value, name)


def _session(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    onnxruntime.disable_telemetry_events()
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(
        model.SerializeToString(), settings, providers=["CPUExecutionProvider"]
    )


def _median_seconds(run: Callable[[], object], repeats: int) -> float:
    seconds = []
    for _ in range(repeats + 1):
        began = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds[1:])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.limits", description=__doc__)
    parser.add_argument("folder", type=Path, help="written by `python -m bench.models`")
    parser.add_argument("offline", type=Path, help="forced figures that bench.offline wrote on this machine")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--output", type=Path, help="JSON file, such as bench/results/limits.json")
    arguments = parser.parse_args()
    pin(0, 1)
    rates = []
    for rows in tqdm(ROWS, desc="GEMM"):
        for num_weights in (1, COLD_BYTES // (INNER * OUTER)):
            # A hot product takes microseconds: many runs are cheap.
            repeats = arguments.repeats * (100 if num_weights == 1 else 1)
            seconds = measure_gemm(rows, num_weights, repeats)
            rates.append(
                GemmRate(
                    rows=rows,
                    is_cold=num_weights > 1,
                    microseconds=seconds * 1e6,
                    gops_per_s=2 * rows * INNER * OUTER / seconds / 1e9,
                    weight_gb_per_s=INNER * OUTER / seconds / 1e9,
                )
            )
    gops_per_s = max(rate.gops_per_s for rate in rates)
    copy_gb_per_s = measure_copy(arguments.repeats) / 1e9
    shape = json.loads((arguments.folder / CHECKPOINT / "model.json").read_text(encoding="utf8"))
    measured = json.loads(arguments.offline.read_text(encoding="utf8"))["results"]
    figures = {
        "gemm_shape": [INNER, OUTER],
        "gemm": [asdict(rate) for rate in rates],
        "best_gops_per_s": gops_per_s,
        "copy_gb_per_s": copy_gb_per_s,
        # A copy reads and writes, weights are only read; the same rate in bytes is assumed.
        "results": shares(measured, shape, gops_per_s, copy_gb_per_s),
    }
    json.dump(figures, sys.stdout, indent=2)
    if arguments.output:
        command = f"python -m bench.limits {arguments.folder} {arguments.offline}"
        write_result(arguments.output, provenance(arguments.folder / INT8, command), figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
