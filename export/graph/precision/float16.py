"""float16 graphs, for processors that multiply half-precision numbers natively: GPUs."""

from typing import Any

import numpy as np
from onnx import TensorProto

from dragoman.contract import CacheDType
from export.graph.builder import GraphBuilder
from export.graph.precision.float32 import Float32
from export.graph.precision.protocol import OutputProjection


class Float16(Float32):
    """Weights, activations and caches in float16; log-probabilities in float32.

    onnxruntime's CPU provider runs it too, by casting to float32 and back around most operators.
    """

    name = "fp16"
    cache_dtype: CacheDType = "float16"
    real: type[np.floating[Any]] = np.float16

    def output(self, graph: GraphBuilder, value: str, output: OutputProjection, tokens: range) -> str:
        logits = super().output(graph, value, output, tokens)
        return graph.op("Cast", logits, to=TensorProto.FLOAT)
