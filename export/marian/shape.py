"""Shape of a Marian model, from the options stored in it.

The options are Marian's command line (https://marian-nmt.github.io/docs/cmd/marian/).
"""

import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from dragoman.contract import Autoregression
from export.marian.npz import Array
from export.marian.settings import MAX_YAML_BYTES, parse_options
from export.model_config import Activation

OPTIONS_ARRAY = "special:model.yml"
NORM_EPSILON = 1e-6
"""Epsilon of every layer norm in Marian's transformer."""

ACTIVATIONS: Mapping[str, Activation] = {"relu": "relu", "swish": "swish", "gelu": "quick_gelu"}
"""Activations by Marian's names. Its gelu is x times the sigmoid of 1.702 x."""
FFN_LAYERS = 2
MAX_LAYERS = 1000
MAX_SIZE = 2**20

WITHOUT_EFFECT = frozenset(
    {
        # Recurrent models, average attention, BERT, and training.
        *("dim-rnn", "enc-type", "enc-cell", "enc-cell-depth", "dec-cell-base-depth", "dec-cell-high-depth"),
        *("skip", "best-deep", "transformer-dim-aan", "transformer-aan-depth", "transformer-aan-activation"),
        *("transformer-aan-nogate", "bert-train-type-embeddings", "bert-type-vocab-size"),
        *("transformer-guided-alignment-layer", "guided-alignment", "guided-alignment-cost"),
        *("guided-alignment-weight", "transformer-depth-scaling", "version"),
        *("ulr-dim-emb", "ulr-trainable-transformation"),  # `ulr` itself determines whether they matter
        # Marian's translation models ignore it; those with learned positions have an array of them.
        "transformer-train-position-embeddings",
    }
)
"""Options that do not change the output of a transformer."""
UNSUPPORTED = (
    *("right-left", "ulr", "lemma-dim-emb", "lemma-dependency", "factors-dim-emb", "special-vocab"),
    *("transformer-no-projection", "transformer-pool", "transformer-no-bias", "transformer-no-affine"),
    *("transformer-disable-position-embeddings", "transformer-alibi-shift", "transformer-alibi-trainable"),
    "separator-symbol",
)
"""Options that change the output in unsupported ways; false, 0 and empty values are accepted."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MarianShape:
    """Everything that determines which arrays a model has and how they are used."""

    d_model: int
    heads: int
    encoder_layers: int
    decoder_layers: tuple[int, ...]
    """For each layer, the number of the layer whose weights it uses, counted from 1."""
    ffn: int
    decoder_ffn: int
    activation: Activation
    embedding_norm: bool
    final_norm: bool
    autoregression: Autoregression
    shared_vocab: bool
    """Whether source and target share one embedding table."""
    tied_output: bool
    output_has_bias: bool
    vocab_sizes: tuple[int, int] | None
    """Sizes of source and target vocabulary; None if Marian was to take them from the vocabularies."""


def model_options(arrays: Mapping[str, Array], problems: list[str]) -> dict[str, Any]:
    """Return the options that a model stores as bytes of YAML with a NUL at the end."""
    array = arrays.get(OPTIONS_ARRAY)
    if array is None:
        problems.append(f"{OPTIONS_ARRAY} is missing: not a Marian model, or saved without its options")
        return {}
    if array.dtype.itemsize != 1 or array.nbytes > MAX_YAML_BYTES:
        problems.append(f"{OPTIONS_ARRAY} is {array.dtype} of {array.nbytes} bytes, not a text of options")
        return {}
    try:
        text = array.tobytes().rstrip(b"\0").decode("utf8")
    except UnicodeDecodeError as error:
        problems.append(f"{OPTIONS_ARRAY} is not UTF-8: {error}")
        return {}
    return parse_options(text, OPTIONS_ARRAY, problems)


def read_shape(options: Mapping[str, Any], problems: list[str]) -> MarianShape | None:
    """Read the shape from a model's options.

    Args:
        options: options by name, without leading dashes.
        problems: each unsupported option is added here.

    Returns:
        The shape; None if there are problems.
    """
    found: list[str] = []
    reader = _OptionReader(options, found)
    if (kind := reader.text("type", "")) != "transformer":
        found.append(f"type {kind!r} is not supported, only 'transformer' is")
    for option in UNSUPPORTED:
        reader.require_off(option)
    reader.require("factors-combine", "sum")
    reader.require("transformer-attention-mask", "default")
    embedding_norm, final_norm = _norms(reader)
    shared_vocab, tied_output = _tying(reader)
    decoder_depth = reader.count("dec-depth", 1, MAX_LAYERS)
    ffn = reader.count("transformer-dim-ffn", 2048)
    _require_two_layers(reader)
    shape = MarianShape(
        d_model=reader.count("dim-emb", 512),
        heads=reader.count("transformer-heads", 8),
        encoder_layers=reader.count("enc-depth", 1, MAX_LAYERS),
        decoder_layers=_tied_layers(reader, decoder_depth),
        ffn=ffn,
        decoder_ffn=reader.count("transformer-decoder-dim-ffn", 0) or ffn,
        activation=_activation(reader),
        embedding_norm=embedding_norm,
        final_norm=final_norm,
        autoregression=_autoregression(reader),
        shared_vocab=shared_vocab,
        tied_output=tied_output,
        output_has_bias=not reader.flag("output-omit-bias"),
        vocab_sizes=_vocab_sizes(reader),
    )
    reader.finish()
    problems += found
    return None if found else shape


def _norms(reader: "_OptionReader") -> tuple[bool, bool]:
    """Return whether there are layer norms after the embeddings and at the top; check those of the layers.

    Each letter is an operation, in order: d is dropout (in training only), a adds the input, n normalises.
    With a norm before a block, Marian's self-attention normalises its queries, but neither keys nor values
    (`LayerAttention` of Marian's `transformer.h`), which no graph here does.
    """
    before, after = (
        reader.operations("transformer-preprocess", ""),
        reader.operations("transformer-postprocess", "dan"),
    )
    embedding = reader.operations("transformer-postprocess-emb", "d")
    top = reader.operations("transformer-postprocess-top", "")
    if (before, after) != ("", "an"):
        reader.problems.append(
            f"transformer-preprocess {before!r} with transformer-postprocess {after!r} is not supported, only"
            " '' with 'an' is (d is ignored)"
        )
    for option, operations in (
        ("transformer-postprocess-emb", embedding),
        ("transformer-postprocess-top", top),
    ):
        if operations not in {"", "n"}:
            reader.problems.append(f"{option} {operations!r} is not supported, only '' and 'n' are")
    return embedding == "n", top == "n"


def _activation(reader: "_OptionReader") -> Activation:
    name = reader.text("transformer-ffn-activation", "swish")
    if name not in ACTIVATIONS:
        reader.problems.append(
            f"transformer-ffn-activation {name!r} is not supported, only {', '.join(ACTIVATIONS)} are"
        )
    return ACTIVATIONS.get(name, "relu")


def _require_two_layers(reader: "_OptionReader") -> None:
    for option, default in (
        ("transformer-ffn-depth", FFN_LAYERS),
        ("transformer-decoder-ffn-depth", 0),  # 0: the encoder's
    ):
        depth = reader.count(option, default)
        if (depth or FFN_LAYERS) != FFN_LAYERS:
            reader.problems.append(f"{option} {depth} is not supported, only {FFN_LAYERS} is")


def _autoregression(reader: "_OptionReader") -> Autoregression:
    """Return how a decoder layer reads its own past; options of recurrent cells matter only to those."""
    name = reader.text("transformer-decoder-autoreg", "self-attention")
    cell = reader.text("dec-cell", "gru")
    has_norm, has_map = reader.flag("layer-normalization"), reader.flag("transformer-rnn-projection")
    if name == "self-attention":
        return "attention"
    if name != "rnn":
        reader.problems.append(
            f"transformer-decoder-autoreg {name!r} is not supported, only 'self-attention' and 'rnn' are"
        )
        return "attention"
    if cell != "ssru":
        reader.problems.append(f"dec-cell {cell!r} is not supported, only 'ssru' is")
    if has_norm:
        reader.problems.append("layer-normalization inside the decoder's cells is not supported")
    if has_map:
        reader.problems.append("transformer-rnn-projection is not supported")
    return "ssru"


def _tied_layers(reader: "_OptionReader", depth: int) -> tuple[int, ...]:
    """Return the numbers of the layers whose weights the decoder's layers use, one for each."""
    tied = reader.counts("transformer-tied-layers")
    if tied and len(tied) != depth:
        reader.problems.append(
            f"transformer-tied-layers names {len(tied)} layers, but the decoder has {depth}"
        )
    return tied or tuple(range(1, depth + 1))


def _tying(reader: "_OptionReader") -> tuple[bool, bool]:
    """Return whether source and target share a table, and whether the output shares the target's."""
    every, source = reader.flag("tied-embeddings-all"), reader.flag("tied-embeddings-src")
    output = reader.flag("tied-embeddings")
    return every or source, every or output


def _vocab_sizes(reader: "_OptionReader") -> tuple[int, int] | None:
    sizes = reader.counts("dim-vocabs")
    types = reader.texts("input-types")
    if any(name != "sequence" for name in types):
        reader.problems.append(f"input-types {', '.join(types)} are not supported, only sequences are")
    if not any(sizes):
        return None
    if len(sizes) != 2:  # noqa: PLR2004 -- a source and a target
        reader.problems.append(
            f"dim-vocabs names {len(sizes)} vocabularies; only models with 2 are supported"
        )
        return None
    return sizes[0], sizes[1]


class _OptionReader:
    """Reads options one by one and collects their problems."""

    def __init__(self, options: Mapping[str, Any], problems: list[str]) -> None:
        self.left = {name: value for name, value in options.items() if value is not None}
        self.problems = problems

    def flag(self, option: str) -> bool:
        return self._take(option, bool, default=False)

    def text(self, option: str, default: str) -> str:
        return self._take(option, str, default)

    def count(self, option: str, default: int, most: int = MAX_SIZE) -> int:
        value = self._take(option, int, default)
        if not 0 <= value <= most:
            self.problems.append(f"{option} {value} is not between 0 and {most}")
            return default
        return value

    def counts(self, option: str) -> tuple[int, ...]:
        return self._list(option, int)

    def texts(self, option: str) -> tuple[str, ...]:
        return self._list(option, str)

    def operations(self, option: str, default: str) -> str:
        """Return the letters of a chain of operations, without dropout, which is for training only."""
        return self.text(option, default).replace("d", "")

    def require(self, option: str, only: str) -> None:
        """Reject an option unless it has its only supported value, which is also the default."""
        value = self.left.pop(option, only)
        if value not in (only, ""):
            self.problems.append(f"{option} {_describe(value)} is not supported, only {only!r} is")

    def require_off(self, option: str) -> None:
        value = self.left.pop(option, None)
        if value:
            self.problems.append(f"{option} {_describe(value)} is not supported")

    def finish(self) -> None:
        """Reject options that are on and were not read: they may matter."""
        self.problems += [
            f"{option} {_describe(value)} is unknown to this release and not supported"
            for option, value in self.left.items()
            if option not in WITHOUT_EFFECT and value
        ]

    def _take(self, option: str, kind: type[T], default: T) -> T:
        value = self.left.pop(option, default)
        if type(value) is not kind:  # not isinstance: bool is a subclass of int
            self.problems.append(f"{option} is {reprlib.repr(value)}, but must be of type {kind.__name__}")
            return default
        return value

    def _list(self, option: str, kind: type[T]) -> tuple[T, ...]:
        empty: list[Any] = []
        values = self._take(option, list, empty)
        if not all(type(value) is kind for value in values):
            self.problems.append(
                f"{option} is {reprlib.repr(values)}, but its items must be of type {kind.__name__}"
            )
            return ()
        return tuple(values)


def _describe(value: object) -> str:
    return "is on and" if value is True else reprlib.repr(value)
