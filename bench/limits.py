"""The machine's limits, measured through onnxruntime and compared with the engine's speed.

A decoder step has two limits: its multiplications at the best rate of the int8 GEMM, and its weights at
memory bandwidth. Both are measured and compared with the forced figures of bench.offline:
`python -m bench.limits FOLDER bench/results/offline-forced.json`.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnxruntime
from tqdm import tqdm

from bench.command import Command, show
from bench.contenders import pin
from bench.models import CHECKPOINT, INT8
from bench.provenance import read_result
from bench.workloads import FORCED_TOKENS

ROWS = (1, 4, 8, 32, 128)
INNER, OUTER = 512, 2048
COLD_BYTES = 128_000_000
"""Bytes of different weights read in turn: three times an OPUS-MT-sized model, more than a core's caches."""
COPY_BYTES = 256_000_000


def measure_gemm(rows: int, num_weights: int, repeats: int) -> dict[str, Any]:
    """Measure an int8 product [M, K] x [K, N] when `num_weights` different ones take turns.

    With many weights the product is cold: its weights come from outside the core's caches. A GOP is a billion
    multiplications and additions.
    """
    session = _session(_gemm_graph(num_weights))
    values = np.random.default_rng(1).integers(0, 255, (rows, INNER), np.uint8)
    seconds = _median_seconds(lambda: session.run(None, {"values": values}), repeats) / num_weights
    return {
        "rows": rows,
        "is_cold": num_weights > 1,
        "microseconds": seconds * 1e6,
        "gops_per_s": 2 * rows * INNER * OUTER / seconds / 1e9,
        "weight_gb_per_s": INNER * OUTER / seconds / 1e9,
    }


def measure_copy(repeats: int) -> float:
    """Return the bytes per second that a copy reads and writes, both counted."""
    source = np.ones(COPY_BYTES, np.uint8)
    target = np.empty_like(source)
    return 2 * COPY_BYTES / _median_seconds(lambda: np.copyto(target, source), repeats)


def forced_work(
    shape: dict[str, Any], source_tokens: float, batch: int, beam_size: int
) -> tuple[float, float]:
    """Return the least work for a sentence of the forced workload, without the products inside attention.

    It is the number of multiplications and additions with weights, and the bytes of int8 weights read,
    divided among the sentences of a batch.

    Args:
        shape: the model's shape in model.json.
        source_tokens: tokens of the source, on average.
        batch: sentences of a batch.
        beam_size: hypotheses of a sentence.
    """
    d_model, ffn = shape["d_model"], shape["ffn"]
    encoder = shape["encoder_layers"] * (4 * d_model**2 + 2 * d_model * ffn)
    cross = shape["decoder_layers"] * 2 * d_model**2
    # A step: four projections of self-attention, two of cross-attention, the feed-forward; then the logits.
    step = shape["decoder_layers"] * (6 * d_model**2 + 2 * d_model * ffn)
    step += d_model * shape["target_vocab_size"]
    operations = 2 * ((encoder + cross) * source_tokens + step * FORCED_TOKENS * beam_size)
    return operations, (encoder + cross + step * FORCED_TOKENS) / batch


def shares(
    rows: Sequence[dict[str, Any]], shape: dict[str, Any], gops_per_s: float, gb_per_s: float
) -> list[dict[str, Any]]:
    """Return time at the limits over measured time, for each engine and setting with one worker."""
    found = []
    for row in rows:
        if row["workers"] != 1:
            continue
        tokens, measured_ms = row["source_tokens"] / row["sentences"], row["ms_per_sentence"]["median"]
        operations, weight_bytes = forced_work(shape, tokens, row["batch"], row["beam_size"])
        limits_ms = {"arithmetic": operations / gops_per_s / 1e6, "memory": weight_bytes / gb_per_s / 1e6}
        share = {name: row[name] for name in ("engine", "batch", "beam_size")} | {"measured_ms": measured_ms}
        share |= {f"{name}_ms": limit_ms for name, limit_ms in limits_ms.items()}
        found.append(
            share | {f"{name}_share": limit_ms / measured_ms for name, limit_ms in limits_ms.items()}
        )
    return found


def _gemm_graph(num_weights: int) -> onnx.ModelProto:
    """Return a graph of products of one input and different weights, all of them outputs against pruning."""
    numbers = range(num_weights)
    outputs = ", ".join(f"float[M, {OUTER}] product{number}" for number in numbers)
    products = "\n".join(
        f"product{number} = com.microsoft.MatMulIntegerToFloat (values, weight{number}, scale, scales, zero)"
        for number in numbers
    )
    model = _parse(f"gemm (uint8[M, {INNER}] values) => ({outputs}) {{ {products} }}")
    rng = np.random.default_rng(2)
    constants = {
        "scale": np.float32(1.0),
        "zero": np.uint8(128),
        "scales": np.ones(OUTER, np.float32),
        **{f"weight{number}": rng.integers(-127, 127, (INNER, OUTER), np.int8) for number in numbers},
    }
    for name, value in constants.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(value), name))
    return model


def _parse(graph: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 21, "com.microsoft": 1]> {graph}')


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


def main() -> None:
    offline = "offline forced figures that bench.offline wrote on this machine"
    command = Command("limits", __doc__, {"folder": Path, offline: Path, "--repeats": 20})
    arguments = command.parse()
    pin(0, 1)
    # A hot product takes microseconds: many runs are cheap.
    hot, cold = (1, 100 * arguments.repeats), (COLD_BYTES // (INNER * OUTER), arguments.repeats)
    rates = [measure_gemm(rows, *which) for rows in tqdm(ROWS, desc="GEMM") for which in (hot, cold)]
    gops_per_s = max(rate["gops_per_s"] for rate in rates)
    copy_gb_per_s = measure_copy(arguments.repeats) / 1e9
    shape = read_result(arguments.folder / CHECKPOINT / "model.json")
    # A copy reads and writes, weights are only read; the same rate in bytes is assumed.
    results = shares(read_result(arguments.offline)["results"], shape, gops_per_s, copy_gb_per_s)
    rates_found = {"best_gops_per_s": gops_per_s, "copy_gb_per_s": copy_gb_per_s}
    show([*rates, rates_found, *results])
    figures = {"gemm_shape": [INNER, OUTER], "gemm": rates, **rates_found, "results": results}
    command.write(arguments.folder / INT8, figures)


if __name__ == "__main__":
    main()
