"""Writes the tiny graphs that move K/V on a device: `python -m export.row_graphs`.

The engine ships them as files, since it has no library to write graphs with. The opset is old on purpose:
a kernel of onnxruntime serves the versions of an operator that it names, and CUDA's Pad names none after 18.
"""

import sys

import onnx
from onnx import parser

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
"""int8 K/V never lie on a device."""


def make(name: str, dtype: str) -> onnx.ModelProto:
    """One of ROW_GRAPHS for one kind of numbers."""
    return parser.parse_model(HEADER + SOURCES[name].format(type=TYPES[dtype]))


def main() -> int:
    FOLDER.mkdir(exist_ok=True)
    for dtype in TYPES:
        for name in ROW_GRAPHS:
            onnx.checker.check_model(make(name, dtype), full_check=True)
            onnx.save(make(name, dtype), FOLDER / f"{name}.{dtype}.onnx")
    return 0


if __name__ == "__main__":
    sys.exit(main())
