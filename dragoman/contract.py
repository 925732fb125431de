"""The graphs' inputs and outputs: the only list of them, for exporter, engine and tests.

The contract describes a step, not attention. A step takes the last token of every row and a *state*, and
returns the best next tokens and the state after it. What the state consists of is up to the decoder; the
engine only needs to know how it moves with its rows:

- attention: self K/V, one position longer after every step. A row that joins has no past to read.
- ssru: a cell for each layer, as wide as the model, which a step replaces. A row that joins has zeros.
- gru: the state of a recurrent decoder with additive attention (Bahdanau et al. 2015, "Neural Machine
  Translation by Jointly Learning to Align and Translate"), kept as a cell. At length 0, a step computes the
  first state from the source instead of reading the cell. As cross key, the encoder returns its projected
  output, once per source; as cross value, the output itself. The step returns its attention to the source.

A search uses a step's best next tokens. Forced decoding of a given target also runs step by step; each step
returns the log-probability of a wanted token, the queries of one cross-attention layer (gru: the attention),
or both. With an empty shortlist no token is scored.

Axes: B sources, S source tokens (padded on the right), R rows (hypotheses; R = B x beams, the beams of a
source adjacent), T capacity of the self K/V caches in positions, K best candidates requested, L key and value
of each decoder layer in turn, H heads, D head size, A width of all heads (H x D), N model width, C tokens on
the batch's shortlist, G of these or none, P tokens on the longest shortlist of a source, 1 a single position.
"""

from dataclasses import dataclass
from typing import Literal

FORMAT_VERSION = 5
"""Bundles of other versions are rejected. Raised when older engines cannot read new bundles."""

ENCODER_FILE = "encoder.onnx"
DECODER_FILE = "decoder.onnx"

INT8 = "int8"
"""The precision with calibrated ranges, whose graphs use the shortlist inputs; others have these inputs too,
but look at all tokens."""

SOURCE_WIDTH_MULTIPLE = 8
"""The source axis S is padded to a multiple of this. onnxruntime's attention takes another code path for odd
widths, which rounds differently: with this padding a source's results do not depend on its neighbours."""

Axis = Literal["B", "S", "R", "T", "K", "L", "H", "D", "A", "N", "C", "G", "P", "1"]
DType = Literal["bool", "int8", "uint8", "int32", "int64", "float16", "float32"]
Autoregression = Literal["attention", "ssru", "gru"]
"""Way in which a decoder layer reads its past, which determines the state of a row."""
CacheDType = Literal["int8", "float16", "float32"]
"""Dtype of self and cross K/V.

float16, float32: the beams of a source share its cross K/V, and every source is read as wide as the widest,
masked.
int8: every row has its own copy of its source's cross K/V, and reads as many tokens as the source has."""
CELL_DTYPE: CacheDType = "float32"
"""Dtype of cells, whatever K/V have: each step multiplies a cell, and errors would add up."""


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output of a graph."""

    name: str
    dtype: DType
    axes: tuple[Axis, ...]


def padded_width(num_tokens: int) -> int:
    """Return the width S of a source axis that holds this many tokens."""
    return -(-num_tokens // SOURCE_WIDTH_MULTIPLE) * SOURCE_WIDTH_MULTIPLE


def encoder_inputs() -> tuple[Port, ...]:
    """Return the inputs of the encoder, which runs once per source."""
    return (
        Port("source_ids", "int64", ("B", "S")),
        Port("source_lengths", "int32", ("B",)),  # in tokens; the rest is padding
    )


def encoder_outputs(cache_dtype: CacheDType) -> tuple[Port, ...]:
    """Return the outputs: cross K/V of every decoder layer, which the decoder reads at every step."""
    return (Port("cross", cache_dtype, ("L", "B", "H", "S", "D")),)


def decoder_inputs(
    decoder_layers: int, cache_dtype: CacheDType, autoregression: Autoregression
) -> tuple[Port, ...]:
    """Return the inputs of one step, which extends every row by one token."""
    return (
        Port("last_ids", "int64", ("R",)),  # the token picked in the last step
        Port("lengths", "int32", ("R",)),  # positions in the row's state
        Port("total_length", "int32", ()),  # the longest of them, plus one
        Port("num_best", "int64", ()),  # K
        Port("has_shortlist", "bool", ()),  # if false, every token may come next, C is 0 and P 1 or 0
        Port("shortlist", "int64", ("C",)),  # all tokens that any source may use
        # `LISTED_ROWS` of an earlier step with the same shortlist: G is C; or empty: G is 0.
        Port(KEPT_ROWS, "uint8", ("G", "N")),
        # Positions in it of the tokens of the row's source, then any; without it a wanted token, or none.
        Port("candidates", "int64", ("R", "P")),
        Port("candidate_bias", "float32", ("R", "P")),  # 0 for the source's own, minus infinity for the rest
        *_source_inputs(cache_dtype),
        *_cross(decoder_layers, cache_dtype, ""),
        *_state(decoder_layers, cache_dtype, autoregression, ""),
    )


def decoder_outputs(
    decoder_layers: int, cache_dtype: CacheDType, autoregression: Autoregression
) -> tuple[Port, ...]:
    """Return the outputs: the K best next tokens of each row, best first, and the state after the step.

    A wanted token has the same log-probability, bit for bit, as among the best tokens: minus infinity if the
    model never produces it. With a shortlist there are no wanted tokens.

    Gathering the shortlist's rows of the output projection takes a good part of a step of few rows. So a step
    returns them, and the next steps may take them as input. A step that takes them, or looks at all tokens,
    returns none.

    Bind a state's output to the memory of its input: the step then writes in place. int8 cross K/V of a
    Transformer are returned unchanged, because their operator could also write to them.
    """
    return (
        Port("best_logprobs", "float32", ("R", "K")),  # natural logarithms; minus infinity: forbidden
        Port("best_ids", "int64", ("R", "K")),
        Port("wanted_logprobs", "float32", ("R", "P")),
        Port(LISTED_ROWS, "uint8", ("C", "N")),
        _alignment(cache_dtype, autoregression),
        *_state(decoder_layers, cache_dtype, autoregression, NEW_PREFIX),
        *(
            _cross(decoder_layers, cache_dtype, NEW_PREFIX)
            if returns_cross(cache_dtype, autoregression)
            else ()
        ),
    )


KEPT_ROWS = "kept_rows"
LISTED_ROWS = "listed_rows"
"""The shortlist's rows of the output projection, in the precision's own numbers."""
QUERIES = "cross_queries"
"""Queries of one layer's cross-attention, which the manifest names as `alignment`."""
ATTENTION = "attention"
"""Weight of each source token for each row; zero beyond its source."""
NEW_PREFIX = "new_"
"""Prefix of the names of state and cross K/V as outputs of the decoder graph."""


def _source_inputs(cache_dtype: CacheDType) -> tuple[Port, ...]:
    if cache_dtype != "int8":
        return (Port("source_mask", "int32", ("B", "S")),)
    return (
        Port("source_ends", "int32", ("R",)),  # position of the last token of the row's source
        Port("source_width", "int32", ()),  # S
    )


def is_recurrent(autoregression: Autoregression) -> bool:
    """Return whether a row's state is a cell for each layer, instead of self K/V."""
    return autoregression != "attention"


def returns_attention(autoregression: Autoregression) -> bool:
    """Return whether a step returns its attention, instead of queries from which it can be computed."""
    return autoregression == "gru"


def returns_cross(cache_dtype: CacheDType, autoregression: Autoregression) -> bool:
    """Return whether a step returns cross K/V."""
    return cache_dtype == "int8" and autoregression != "gru"


def _alignment(cache_dtype: CacheDType, autoregression: Autoregression) -> Port:
    if returns_attention(autoregression):
        return Port(ATTENTION, "float32", ("R", "S"))
    return Port(QUERIES, "float16" if cache_dtype == "float16" else "float32", ("R", "1", "A"))


def _state(
    decoder_layers: int, cache_dtype: CacheDType, autoregression: Autoregression, prefix: str
) -> tuple[Port, ...]:
    names = state_names(decoder_layers, autoregression)
    if is_recurrent(autoregression):
        return tuple(Port(prefix + name, CELL_DTYPE, ("R", "N")) for name in names)
    return tuple(Port(prefix + name, cache_dtype, ("R", "H", "T", "D")) for name in names)


def _cross(decoder_layers: int, cache_dtype: CacheDType, prefix: str) -> tuple[Port, ...]:
    owner: Axis = "R" if cache_dtype == "int8" else "B"
    return tuple(
        Port(prefix + name, cache_dtype, (owner, "H", "S", "D")) for name in cross_names(decoder_layers)
    )


def state_names(decoder_layers: int, autoregression: Autoregression) -> tuple[str, ...]:
    """Return the names of the state's parts: key and value of each layer in turn, or each layer's cell."""
    layers = range(decoder_layers)
    if is_recurrent(autoregression):
        return tuple(cell(layer) for layer in layers)
    return tuple(name for layer in layers for name in (self_key(layer), self_value(layer)))


def cross_names(decoder_layers: int) -> tuple[str, ...]:
    """Return the names of cross K/V, in the order of the encoder's axis L."""
    return tuple(name for layer in range(decoder_layers) for name in (cross_key(layer), cross_value(layer)))


def cross_key(layer: int) -> str:
    return f"cross_key.{layer}"


def cross_value(layer: int) -> str:
    return f"cross_value.{layer}"


def self_key(layer: int) -> str:
    return f"self_key.{layer}"


def self_value(layer: int) -> str:
    return f"self_value.{layer}"


def cell(layer: int) -> str:
    return f"cell.{layer}"
