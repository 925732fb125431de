"""The graphs' inputs and outputs: the only list of them. Exporter, engine and tests all read it here.

The contract is about a step, not about attention. A step takes the last token of every row and a *state*,
and gives back the best next tokens and the state after it. What the state is made of is the decoder's own
affair; the engine only has to know how it moves with its rows:

- attention: self K/V, one position longer after every step. Of a row that joins nothing is read.
- ssru: a cell for each layer, as wide as the model, which a step replaces. A row that joins has zeros.
  Any other recurrent decoder fits here, one that reads its source by additive attention among them (Bahdanau
  et al. 2015, "Neural Machine Translation by Jointly Learning to Align and Translate"): its state is a cell
  too, and what it reads of the source, the projected encoder output, is computed once per source as cross
  K/V are.

A search takes the best next tokens of a step. A target that is given is read in steps as well: of each, the
log-probability of a wanted token, the queries with which the source was read, or both. Where there is a
shortlist and nothing is on it, no token is looked at.

Axes: B sources, S source tokens (padded on the right), R rows (hypotheses; R = B x beams, the beams of a
source side by side), T capacity of the self K/V caches in positions, K best candidates asked for,
L key and value of each decoder layer in turn, H heads, D head size, N model width (H x D), C tokens on the
batch's shortlist, G of these or none, P tokens on the longest shortlist of a source, 1 a single position.
"""

from dataclasses import dataclass
from typing import Literal

FORMAT_VERSION = 5
"""Bundles of another major version are refused. Raised when an older engine could not read a new bundle."""

ENCODER_FILE = "encoder.onnx"
DECODER_FILE = "decoder.onnx"

SHORTLIST_PRECISIONS = ("int8", "int4")
"""Bundles of these read the inputs about shortlists; others have them too, and look at all tokens."""

SOURCE_WIDTH_MULTIPLE = 8
"""The source axis S is padded to a multiple of this. onnxruntime's attention takes another path through odd
widths, which rounds differently: with this padding a source's numbers do not depend on its neighbours."""

Axis = Literal["B", "S", "R", "T", "K", "L", "H", "D", "N", "C", "G", "P", "1"]
DType = Literal["bool", "int8", "uint8", "int32", "int64", "float16", "float32"]
Autoregression = Literal["attention", "ssru"]
"""What a decoder layer reads its own past with, and so what the state of a row is."""
CacheDType = Literal["int8", "float16", "float32"]
"""Of self and cross K/V.

float16, float32: the beams of a source share its cross K/V, and every source is read as wide as the widest,
masked.
int8: every row has its source's cross K/V to itself, and reads as many tokens as the source has."""
CELL_DTYPE: CacheDType = "float32"
"""Of SSRU's cells, whatever K/V are: a cell goes through a product at every step, and errors would add up."""


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output of a graph."""

    name: str
    dtype: DType
    axes: tuple[Axis, ...]


def padded_width(num_tokens: int) -> int:
    """Width S of a graph's source axis that has room for so many tokens."""
    return -(-num_tokens // SOURCE_WIDTH_MULTIPLE) * SOURCE_WIDTH_MULTIPLE


def encoder_inputs() -> tuple[Port, ...]:
    """What the encoder reads, once per source."""
    return (
        Port("source_ids", "int64", ("B", "S")),
        Port("source_lengths", "int32", ("B",)),  # tokens; what follows is padding
    )


def encoder_outputs(cache_dtype: CacheDType) -> tuple[Port, ...]:
    """Cross K/V of every decoder layer: what the decoder reads of the source, at every step."""
    return (Port("cross", cache_dtype, ("L", "B", "H", "S", "D")),)


def decoder_inputs(
    decoder_layers: int, cache_dtype: CacheDType, autoregression: Autoregression
) -> tuple[Port, ...]:
    """One step: every row is extended by one token."""
    return (
        Port("last_ids", "int64", ("R",)),  # the token picked one step ago
        Port("lengths", "int32", ("R",)),  # positions that the row's state has seen
        Port("total_length", "int32", ()),  # the longest of them, plus one
        Port("num_best", "int64", ()),  # K
        Port("has_shortlist", "bool", ()),  # if not, every token may come next, C is 0 and P 1 or 0
        Port("shortlist", "int64", ("C",)),  # all tokens that any source may use
        # What `LISTED_ROWS` was in an earlier step with the same shortlist: G is C; or nothing, G is 0.
        Port(KEPT_ROWS, "uint8", ("G", "N")),
        # Places in it of the tokens of the row's source, then any; without it a wanted token, or none.
        Port("candidates", "int64", ("R", "P")),
        Port("candidate_bias", "float32", ("R", "P")),  # 0 for its own, minus infinity for the rest
        *_source_inputs(cache_dtype),
        *_cross(decoder_layers, cache_dtype, ""),
        *_state(decoder_layers, cache_dtype, autoregression, ""),
    )


def decoder_outputs(
    decoder_layers: int, cache_dtype: CacheDType, autoregression: Autoregression
) -> tuple[Port, ...]:
    """The K best next tokens of each row, best first, and the state after the step.

    A wanted token has the log-probability that it would have among the best, bit for bit: minus
    infinity if the model never says it. With a shortlist none is wanted.

    The rows of the output projection that the shortlist names come out where they were gathered, which takes
    a good part of a step of few rows: the next steps may be given them. Where they were given, or all tokens
    are looked at, none come out.

    A state's output is meant to be bound to the memory of its input: the step then writes in place.
    int8 cross K/V come out as they went in, as their operator also could write to them.
    """
    return (
        Port("best_logprobs", "float32", ("R", "K")),  # natural logarithms; minus infinity: forbidden
        Port("best_ids", "int64", ("R", "K")),
        Port("wanted_logprobs", "float32", ("R", "P")),
        Port(LISTED_ROWS, "uint8", ("C", "N")),
        Port(QUERIES, "float16" if cache_dtype == "float16" else "float32", ("R", "1", "N")),
        *_state(decoder_layers, cache_dtype, autoregression, NEW),
        *(_cross(decoder_layers, cache_dtype, NEW) if cache_dtype == "int8" else ()),
    )


KEPT_ROWS = "kept_rows"
LISTED_ROWS = "listed_rows"
"""Rows of the output projection in the precision's own numbers, one for each token on the shortlist."""
QUERIES = "cross_queries"
"""With which one layer read the source: the one that the manifest names as `alignment`."""
NEW = "new_"
"""Stands before the name of a state's part, or of cross K/V, where it leaves the decoder graph."""


def _source_inputs(cache_dtype: CacheDType) -> tuple[Port, ...]:
    if cache_dtype != "int8":
        return (Port("source_mask", "int32", ("B", "S")),)
    return (
        Port("source_ends", "int32", ("R",)),  # position of the last token of the row's source
        Port("source_width", "int32", ()),  # S
    )


def _state(
    decoder_layers: int, cache_dtype: CacheDType, autoregression: Autoregression, prefix: str
) -> tuple[Port, ...]:
    names = state_names(decoder_layers, autoregression)
    if autoregression == "ssru":
        return tuple(Port(prefix + name, CELL_DTYPE, ("R", "N")) for name in names)
    return tuple(Port(prefix + name, cache_dtype, ("R", "H", "T", "D")) for name in names)


def _cross(decoder_layers: int, cache_dtype: CacheDType, prefix: str) -> tuple[Port, ...]:
    owner: Axis = "R" if cache_dtype == "int8" else "B"
    return tuple(
        Port(prefix + name, cache_dtype, (owner, "H", "S", "D")) for name in cross_names(decoder_layers)
    )


def state_names(decoder_layers: int, autoregression: Autoregression) -> tuple[str, ...]:
    """Of the state's parts: key and value of each layer in turn, or each layer's cell."""
    layers = range(decoder_layers)
    if autoregression == "ssru":
        return tuple(cell(layer) for layer in layers)
    return tuple(name for layer in layers for name in (self_key(layer), self_value(layer)))


def cross_names(decoder_layers: int) -> tuple[str, ...]:
    """Of cross K/V, in the order of the encoder's axis L."""
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
