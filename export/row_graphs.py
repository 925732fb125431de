"""Writer of the engine's own small graphs: `python -m export.row_graphs`. They move K/V on a device, and
compute from queries and keys how much a row attends to each token of its source.

The engine ships them as files, because it has no library to write graphs with. The opset is old on purpose:
onnxruntime's kernels support the operator versions that they name, and CUDA's Pad names none after 18.
"""

from pathlib import Path
from string import Template

import onnx
from onnx import parser

from dragoman.graphs.attention import ATTENTION_GRAPH
from dragoman.graphs.device import FOLDER, ROW_GRAPHS

SOURCES = Path(__file__).parent / "graph" / "rows"
"""Folder of the graphs in ONNX's own language; `$type` and the like stand for element types."""
HEADER = '<ir_version: 8, opset_import: ["" : 18]>'
TYPES = {"float16": "float16", "float32": "float"}
"""Element types of K/V on a device; int8 K/V are never there."""
ATTENTION_TYPES = {
    "int8": ("float", "int8"),
    "float16": ("float16", "float16"),
    "float32": ("float", "float"),
}
"""Element types of queries and keys, by dtype of K/V; int8 keys have a quantisation step of one."""


def make(name: str, dtype: str) -> onnx.ModelProto:
    """Return one of ROW_GRAPHS for one dtype."""
    return _parse(name, type=TYPES[dtype])


def make_attention(dtype: str) -> onnx.ModelProto:
    """Return the attention graph for one dtype of K/V.

    It computes the softmax over a source's own tokens of query times key over the square root of D (Vaswani
    et al. 2017, equation 1), averaged over h heads. ReduceSum adds up the products, CumSum the shares from
    left to right: with MatMul and Softmax, a row's sums would depend on the widths of other sources.
    """
    query, key = ATTENTION_TYPES[dtype]
    return _parse(ATTENTION_GRAPH, query=query, key=key)


def _parse(name: str, **types: str) -> onnx.ModelProto:
    source = Template((SOURCES / f"{name}.txt").read_text(encoding="utf8"))
    return parser.parse_model(HEADER + source.substitute(types))


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    graphs = {f"{name}.{dtype}": make(name, dtype) for name in ROW_GRAPHS for dtype in TYPES}
    graphs |= {f"{ATTENTION_GRAPH}.{dtype}": make_attention(dtype) for dtype in ATTENTION_TYPES}
    for name, graph in graphs.items():
        onnx.checker.check_model(graph, full_check=True)
        onnx.save(graph, FOLDER / f"{name}.onnx")


if __name__ == "__main__":
    main()
