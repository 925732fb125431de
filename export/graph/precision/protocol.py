"""What a precision writes, and the nouns that all of them share."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dragoman.contract import CacheDType
from export.graph.builder import GraphBuilder

MANY_PARTS = 16
"""onnxruntime folds constants when a graph is loaded, and copies the whole table for each operator that reads
it: from here on one operator makes all parts. Opening 31 parts of a gigabyte took 34 s, and then 8 s."""
Weights = NDArray[np.float32]
Map = tuple[str, Weights, Weights]
"""Name, weight [N, K] and bias [N]."""


@dataclass(frozen=True, slots=True)
class Output:
    """The output projection's weights, of all tokens."""

    name: str
    """Of the table in the graph."""
    table: Weights
    """[V, d]."""
    bias: Weights
    """[V]."""
    parts: tuple[range, ...]
    """Tokens that are projected together: all V, side by side."""


class Precision(Protocol):
    """Writes the operators that carry the model's big weights."""

    name: str
    cache_dtype: CacheDType
    takes_shortlists: bool
    """Whether a product with rows chosen at run time gives a row the same numbers in any batch."""
    real: type[np.floating[Any]]
    """What flows between the operators; norms and positions are constants of this type."""

    def linear(self, graph: GraphBuilder, value: str, name: str, weight: Weights, bias: Weights) -> str:
        """Value [..., K] x weight [N, K] transposed + bias [N] -> [..., N]."""
        ...

    def cached_linear(self, graph: GraphBuilder, value: str, maps: Sequence[Map]) -> str:
        """Maps of one value side by side, as K/V are kept: [..., K] -> [..., maps x N] in `cache_dtype`."""
        ...

    def embedding(self, graph: GraphBuilder, ids: str, name: str, table: Weights, factor: float) -> str:
        """Rows of table [V, d], times `factor` -> [..., d]."""
        ...

    def output(self, graph: GraphBuilder, value: str, output: Output, tokens: range) -> str:
        """Like `linear`, for one of the output's parts, as float32.

        `embedding` may read the same table by its name.
        """
        ...

    def shortlisted(self, graph: GraphBuilder, value: str, output: Output) -> str:
        """Value [R, d] x the table's rows named by `shortlist` [C] -> [R, C].

        The rows are those of `KEPT_ROWS` if there are any; else they leave it as `LISTED_ROWS` [C, d].
        """
        ...

    def cache_step(self, graph: GraphBuilder) -> str | None:
        """The step that K/V are rounded to, float32 [1]; None where they are not."""
        ...


def some_rows(graph: GraphBuilder, table: str, parts: Sequence[range], tokens: range) -> str:
    """Rows of a table [V, d] that stand side by side; the table itself where it is all of them.

    Args:
        graph: where they are read.
        table: the constant.
        parts: into which all V are divided.
        tokens: one of them.
    """
    if len(parts) == 1:
        return table
    if len(parts) < MANY_PARTS:
        return graph.op("Slice", table, graph.ints(tokens.start), graph.ints(tokens.stop), graph.ints(0))
    return graph.split(table, [len(part) for part in parts])[parts.index(tokens)]
