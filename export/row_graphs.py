"""Writer of the engine's own small graphs: `python -m export.row_graphs`. They move K/V on a device, and
compute from queries and keys how much a row attends to each token of its source.

The engine ships them as files, because it has no library to write graphs with. The opset is old on purpose:
onnxruntime's kernels support the operator versions that they name, and CUDA's Pad names none after 18.
"""

import sys

import onnx
from onnx import parser

from dragoman.graphs.attention import ATTENTION_GRAPH
from dragoman.graphs.device import FOLDER, ROW_GRAPHS

HEADER = '<ir_version: 8, opset_import: ["" : 18]>'
SOURCES = {
    "zeros": """zeros (int64[5] shape) => ({type}[L,N,H,T,D] result)
    <{type}[1] zero = {{0}}> {{
        result = Expand(zero, shape)
    }}""",
    "take": """take ({type}[L,N,H,T,D] memory, int64[M] rows) => ({type}[L,M,H,T,D] result) {{
        result = Gather<axis = 1>(memory, rows)
    }}""",
    "fit": """fit ({type}[L,N,H,T,D] memory, int64[2] used, int64[10] pads) => ({type}[L,M,H,S,D] result)
    <int64[2] none = {{0,0}}, int64[2] axes = {{1,3}}> {{
        part = Slice(memory, none, used, axes)
        result = Pad(part, pads)
    }}""",
    "join": """join ({type}[L,N,H,T,D] memory, int64[1] first, {type}[L,B,H,S,D] source, int64[1] width,
        int64[10] source_pads, int64[10] pads) => ({type}[L,N,H,T,D] result)
    <int64[1] none = {{0}}, int64[1] rows = {{1}}, int64[1] positions = {{3}}> {{
        before = Slice(memory, none, first, rows)
        part = Slice(source, none, width, positions)
        joining = Pad(part, source_pads)
        both = Concat<axis = 1>(before, joining)
        result = Pad(both, pads)
    }}""",
}
TYPES = {"float16": "float16", "float32": "float"}
"""Element types of K/V on a device; int8 K/V are never there."""
ATTENTION = """attention ({query}[R,1,N] queries, {key}[B,H,S,D] keys, int32[B] source_ends, int64[h] heads)
    => (float[R,S] attention)
    <int64[1] rest = {{-1}}, int64[1] one = {{1}}, int64[1] last = {{-1}}, int64[3] beside = {{1,2,3}},
     int64[1] end = {{9223372036854775807}}, int64[1] by_head = {{2}}, float[1] impossible = {{-inf}}> {{
        sources = Shape<start = 0, end = 1>(keys)
        num_heads = Shape<start = 1, end = 2>(keys)
        head_size = Shape<start = 3, end = 4>(keys)
        split = Concat<axis = 0>(sources, rest, num_heads, one, head_size)
        all_queries = Reshape(queries, split)
        some_queries = Gather<axis = 2>(all_queries, heads)
        real_queries = Cast<to = 1>(some_queries)
        some_keys = Gather<axis = 1>(keys, heads)
        real_keys = Cast<to = 1>(some_keys)
        shared_keys = Unsqueeze(real_keys, one)
        products = Mul(real_queries, shared_keys)
        scores = ReduceSum<keepdims = 0>(products, last)
        size = Cast<to = 1>(head_size)
        root = Sqrt(size)
        scaled = Div(scores, root)
        width = Shape<start = 2, end = 3>(keys)
        num_tokens = Squeeze(width)
        zero = Constant<value_int = 0>()
        step = Constant<value_int = 1>()
        places = Range(zero, num_tokens, step)
        ends = Cast<to = 7>(source_ends)
        own_ends = Unsqueeze(ends, beside)
        is_token = LessOrEqual(places, own_ends)
        possible = Where(is_token, scaled, impossible)
        largest = ReduceMax(possible, last)
        distance = Sub(possible, largest)
        shares = Exp(distance)
        axis = Constant<value_int = -1>()
        sums = CumSum(shares, axis)
        total = Slice(sums, last, end, last)
        weights = Div(shares, total)
        mean = ReduceMean<keepdims = 0>(weights, by_head)
        attention = Flatten<axis = 2>(mean)
    }}"""
"""Softmax over a source's own tokens of query times key over the square root of D (Vaswani et al. 2017,
equation 1), averaged over h heads. ReduceSum adds up the products, and CumSum the shares from left to right:
with MatMul and Softmax, a row's sums would depend on the widths of other sources."""
ATTENTION_TYPES = {
    "int8": ("float", "int8"),
    "float16": ("float16", "float16"),
    "float32": ("float", "float"),
}
"""Element types of queries and keys, by dtype of K/V; int8 keys have a quantisation step of one."""


def make(name: str, dtype: str) -> onnx.ModelProto:
    """Return one of ROW_GRAPHS for one dtype."""
    return parser.parse_model(HEADER + SOURCES[name].format(type=TYPES[dtype]))


def make_attention(dtype: str) -> onnx.ModelProto:
    """Return the attention graph for one dtype of K/V."""
    query, key = ATTENTION_TYPES[dtype]
    return parser.parse_model(HEADER + ATTENTION.format(query=query, key=key))


def main() -> int:
    FOLDER.mkdir(exist_ok=True)
    graphs = {f"{name}.{dtype}": make(name, dtype) for name in ROW_GRAPHS for dtype in TYPES}
    graphs |= {f"{ATTENTION_GRAPH}.{dtype}": make_attention(dtype) for dtype in ATTENTION_TYPES}
    for name, graph in graphs.items():
        onnx.checker.check_model(graph, full_check=True)
        onnx.save(graph, FOLDER / f"{name}.onnx")
    return 0


if __name__ == "__main__":
    sys.exit(main())
