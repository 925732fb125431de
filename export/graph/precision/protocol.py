"""Interface of a precision, and the types that all of them share."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dragoman.contract import CacheDType
from export.graph.builder import GraphBuilder

OUTPUT = "output"
"""Name of the output projection among the names of linear layers."""
MIN_SPLIT_PARTS = 16
"""Number of parts from which one operator makes them all. onnxruntime folds constants when it loads a graph
and copies the table for each operator that reads it: 31 parts of a gigabyte took 34 s to open, then 8 s."""
Weights = NDArray[np.float32]
LinearLayer = tuple[str, Weights, Weights]
"""Linear layer: name, weight [N, K] and bias [N]."""


@dataclass(frozen=True, slots=True)
class OutputProjection:
    """Weights of the output projection, for all tokens."""

    name: str
    """Name of the table in the graph."""
    table: Weights
    """Output vectors of all tokens, [V, d]."""
    bias: Weights
    """Bias of all tokens, [V]."""
    parts: tuple[range, ...]
    """Ranges of tokens that are projected together; in order, they are all of V."""


class Precision(Protocol):
    """Writer of the operators that have the model's large weights."""

    name: str
    cache_dtype: CacheDType
    can_use_shortlists: bool
    """Whether a product with rows chosen at run time gives a row the same numbers in any batch."""
    real: type[np.floating[Any]]
    """Type that flows between the operators; norms and positions are constants of this type."""

    def linear(self, graph: GraphBuilder, value: str, layers: Sequence[LinearLayer]) -> str:
        """Write linear layers of one value, as one product if possible, and join their outputs.

        A layer is value [..., K] x weight [N, K] transposed + bias [N] -> [..., N].
        """
        ...

    def cached_linear(self, graph: GraphBuilder, value: str, layers: Sequence[LinearLayer]) -> str:
        """Write joined layers of one value in `cache_dtype`, as K/V are kept: [..., K] -> [..., maps x N]."""
        ...

    def embedding(self, graph: GraphBuilder, ids: str, name: str, table: Weights, factor: float) -> str:
        """Write a lookup of rows of table [V, d], times `factor` -> [..., d]."""
        ...

    def output(self, graph: GraphBuilder, value: str, output: OutputProjection, tokens: range) -> str:
        """Write `linear` for one of the output's parts, with a float32 result.

        `embedding` may read the same table by its name.
        """
        ...

    def shortlist_output(self, graph: GraphBuilder, value: str, output: OutputProjection) -> str:
        """Write value [R, d] x the table's rows listed in `shortlist` [C] -> [R, C].

        The rows are those of `KEPT_ROWS` if it has any; else they become the output `LISTED_ROWS` [C, d].
        """
        ...

    def cache_step(self, graph: GraphBuilder) -> str | None:
        """Return the step to which K/V are rounded, float32 [1]; None if they are not rounded."""
        ...


def join_layers(layers: Sequence[LinearLayer]) -> LinearLayer:
    """Return layers of one value as one layer with the first one's name; a single one is not copied."""
    if len(layers) == 1:
        return layers[0]
    names, weights, biases = zip(*layers, strict=True)
    return names[0], np.concatenate(weights), np.concatenate(biases)


def slice_rows(graph: GraphBuilder, table: str, parts: Sequence[range], tokens: range) -> str:
    """Return adjacent rows of a table [V, d]; the table itself if that is all of them.

    Args:
        graph: graph that reads them.
        table: the constant.
        parts: parts that V is divided into.
        tokens: one of the parts.
    """
    if len(parts) == 1:
        return table
    if len(parts) < MIN_SPLIT_PARTS:
        return graph.op("Slice", table, graph.ints(tokens.start), graph.ints(tokens.stop), graph.ints(0))
    return graph.split(table, [len(part) for part in parts])[parts.index(tokens)]
