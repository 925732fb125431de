"""Configuration of the model: every size and choice that shapes its weights."""

from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from dragoman.contract import Autoregression

Activation = Literal["relu", "gelu", "gelu_tanh", "quick_gelu", "swish"]
"""gelu: exact, x times the normal distribution function of x. gelu_tanh: its approximation with tanh.
quick_gelu: x sigmoid(1.702 x). swish: x sigmoid(x)."""
QUICK_GELU = 1.702
NormPosition = Literal["pre", "post"]
NormKind = Literal["layer", "rms"]
"""layer: LayerNorm (Ba et al. 2016). rms: RMSNorm (Zhang and Sennrich 2019), which subtracts no mean."""
Positions = Literal["sinusoidal", "tensor2tensor", "learned", "relative"]
"""sinusoidal: rates 10000^(-i / (d/2)), sines first, then cosines. tensor2tensor: d/2 - 1 in the denominator,
as in Marian and fairseq. relative: nothing is added to token vectors; self-attention adds a learned number to
each score, by head and by bucket of the distance (T5, Raffel et al. 2020, section 2.1)."""
Architecture = Literal["transformer", "bahdanau"]
"""transformer: Vaswani et al. 2017. bahdanau: recurrent, with additive attention (Bahdanau et al. 2015)."""
BAHDANAU_FIELDS = (
    *("architecture", "source_vocab_size", "target_vocab_size", "d_model", "scaled_embeddings"),
    *("max_positions", "shared_vocab", "tied_output", "dropout"),
    *("pad_id", "unk_id", "bos_id", "eos_id", "suppressed_ids"),
)
"""Fields that shape a recurrent model; the others are as in `BAHDANAU_CONSTANTS`, or their defaults."""
BAHDANAU_CONSTANTS: dict[str, Any] = {
    "architecture": "bahdanau",
    "autoregression": "gru",
    "encoder_layers": 1,
    "decoder_layers": 1,
    "heads": 1,
}
"""One bidirectional layer, one decoder layer, and one attention as wide as the model."""
MIN_RELATIVE_BUCKETS = 4
"""Two directions, and in each one a bucket for short and one for long distances."""


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """Shape of an encoder-decoder model. Sizes are numbers of elements.

    Raises:
        ValueError: on construction, naming every invalid field.
    """

    source_vocab_size: int
    target_vocab_size: int
    architecture: Architecture = "transformer"
    encoder_layers: int = 6
    decoder_layers: int = 2
    d_model: int = 256
    heads: int = 8
    ffn: int = 1024
    decoder_ffn: int | None = None
    """Feed-forward size of the decoder; None: the encoder's `ffn`."""
    d_head: int | None = None
    """Size of an attention head; None: `d_model` / `heads`."""
    activation: Activation = "relu"
    gated_ffn: bool = False
    """Whether a third layer of the feed-forward, `gate`, goes through the activation and is multiplied with
    the inner one, which then has no activation (Shazeer 2020, "GLU Variants Improve Transformer", eq. 6)."""
    biases: bool = True
    """Whether linear layers have biases; the output projection always has one."""
    norm: NormPosition = "pre"
    norm_kind: NormKind = "layer"
    final_norm: bool | None = None
    """Whether a norm follows the last layer; None: if `norm` is "pre"."""
    embedding_norm: bool = False
    """Whether a norm follows the sum of token and position vectors, in encoder and decoder."""
    norm_epsilon: float = 1e-5
    scaled_embeddings: bool = True
    """Whether token vectors are multiplied by the square root of `d_model`."""
    autoregression: Autoregression = "attention"
    """Way in which a decoder layer reads its past."""
    positions: Positions = "sinusoidal"
    first_position: int = 0
    """Position of the first token in a sinusoidal table."""
    shared_positions: bool = True
    """Whether encoder and decoder share one table of learned positions."""
    relative_buckets: int = 32
    """Number of buckets of relative positions; in the encoder half of them are for each direction."""
    relative_max_distance: int = 128
    """Distance from which all relative positions share the last bucket."""
    shared_relative: bool = True
    """Whether all layers of a stack add the biases of its first one; if not, each layer has its own."""
    max_positions: int = 512
    """Maximum length of a source or target in tokens, special tokens included."""
    shared_vocab: bool = True
    """Whether source and target share one embedding table."""
    tied_output: bool = True
    """Whether the target embedding table is also the output projection."""
    share_kv: bool = False
    """Whether keys also serve as values; exists to measure what separate values gain."""
    dropout: float = 0.1
    """Dropout after the embeddings and each sublayer."""
    inner_dropout: float = 0.0
    """Dropout on attention weights and feed-forward activations."""
    pad_id: int = 0
    unk_id: int = 1
    bos_id: int = 2
    eos_id: int = 3
    suppressed_ids: tuple[int, ...] = ()
    """Target ids that are never produced. Masked after the softmax: others do not get their probability."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "suppressed_ids", tuple(self.suppressed_ids))  # JSON has no tuples
        if problems := self._problems():
            raise ValueError("model config: " + "; ".join(problems))

    @property
    def head_size(self) -> int:
        return self.d_model // self.heads if self.d_head is None else self.d_head

    @property
    def attention_size(self) -> int:
        """Width of the queries, keys or values of all heads together."""
        return self.heads * self.head_size

    @property
    def decoder_ffn_size(self) -> int:
        return self.ffn if self.decoder_ffn is None else self.decoder_ffn

    @property
    def has_final_norm(self) -> bool:
        return self.norm == "pre" if self.final_norm is None else self.final_norm

    def _problems(self) -> list[str]:
        return [
            *self._size_problems(),
            *self._choice_problems(),
            *self._id_problems(),
            *self._contradictions(),
            *self._architecture_problems(),
        ]

    def _size_problems(self) -> list[str]:
        sizes = {
            "source_vocab_size": self.source_vocab_size,
            "target_vocab_size": self.target_vocab_size,
            "encoder_layers": self.encoder_layers,
            "decoder_layers": self.decoder_layers,
            "d_model": self.d_model,
            "heads": self.heads,
            "ffn": self.ffn,
            "decoder_ffn": self.decoder_ffn_size,
            "d_head": 1 if self.d_head is None else self.d_head,
            "max_positions": self.max_positions,
        }
        problems = [f"{name} must be at least 1, not {size}" for name, size in sizes.items() if size < 1]
        if self.first_position < 0:
            problems.append(f"first_position must be at least 0, not {self.first_position}")
        if not self.norm_epsilon > 0:
            problems.append(f"norm_epsilon must be above 0, not {self.norm_epsilon}")
        problems += [
            f"{name} must be at least 0 and below 1, not {share}"
            for name, share in (("dropout", self.dropout), ("inner_dropout", self.inner_dropout))
            if not 0.0 <= share < 1.0
        ]
        return problems

    def _choice_problems(self) -> list[str]:
        choices: dict[str, tuple[str, tuple[str, ...]]] = {
            "architecture": (self.architecture, get_args(Architecture)),
            "activation": (self.activation, get_args(Activation)),
            "norm": (self.norm, get_args(NormPosition)),
            "norm_kind": (self.norm_kind, get_args(NormKind)),
            "positions": (self.positions, get_args(Positions)),
            "autoregression": (self.autoregression, get_args(Autoregression)),
        }
        return [
            f"{name} must be one of {', '.join(allowed)}, not {value!r}"
            for name, (value, allowed) in choices.items()
            if value not in allowed
        ]

    def _id_problems(self) -> list[str]:
        smallest_vocab = min(self.source_vocab_size, self.target_vocab_size)
        special_ids = {
            "pad_id": (self.pad_id, smallest_vocab),
            "unk_id": (self.unk_id, smallest_vocab),
            "bos_id": (self.bos_id, self.target_vocab_size),  # it only begins targets
            "eos_id": (self.eos_id, smallest_vocab),
        }
        problems = [
            f"{name} {special_id} is not an id of a vocabulary of {size}"
            for name, (special_id, size) in special_ids.items()
            if not 0 <= special_id < size
        ]
        problems += [
            f"suppressed_ids: {token} is not an id of a target vocabulary of {self.target_vocab_size}"
            for token in self.suppressed_ids
            if not 0 <= token < self.target_vocab_size
        ]
        if self.eos_id in self.suppressed_ids:
            problems.append(f"suppressed_ids: must not contain eos_id {self.eos_id}")
        return problems

    def _contradictions(self) -> list[str]:
        problems: list[str] = []
        if self.heads >= 1 and self.d_head is None and self.d_model % self.heads:
            problems.append(f"d_model {self.d_model} must be a multiple of heads {self.heads}")
        if self.positions == "relative":
            problems += self._relative_problems()
        elif self.positions == "learned":
            if self.first_position:
                problems.append("first_position must be 0 with learned positions")
        elif self.d_model % 2:
            problems.append(f"d_model {self.d_model} must be even for {self.positions} positions")
        if self.positions == "tensor2tensor" and self.d_model == 2:  # noqa: PLR2004 -- one rate: 0 / 0
            problems.append("d_model 2 has no tensor2tensor positions")
        if self.shared_vocab and self.source_vocab_size != self.target_vocab_size:
            problems.append("shared_vocab needs source_vocab_size = target_vocab_size")
        return problems

    def _architecture_problems(self) -> list[str]:
        """Return what a recurrent model cannot have, and what only a recurrent model has."""
        if self.architecture != "bahdanau":
            is_gru = self.autoregression == "gru"
            return ["autoregression gru needs architecture bahdanau"] if is_gru else []
        values = {field.name: (getattr(self, field.name), field.default) for field in fields(self)}
        return [
            f"{name} must be {wanted!r} with architecture bahdanau, not {value!r}"
            for name, (value, default) in values.items()
            if name not in BAHDANAU_FIELDS and value != (wanted := BAHDANAU_CONSTANTS.get(name, default))
        ]

    def _relative_problems(self) -> list[str]:
        problems: list[str] = []
        if self.relative_buckets < MIN_RELATIVE_BUCKETS or self.relative_buckets % 2:
            problems.append(
                f"relative_buckets must be even and at least {MIN_RELATIVE_BUCKETS},"
                f" not {self.relative_buckets}"
            )
        elif self.relative_max_distance <= self.relative_buckets // 2:
            problems.append(
                f"relative_max_distance {self.relative_max_distance} must be above half of the"
                f" {self.relative_buckets} relative_buckets"
            )
        if self.autoregression != "attention":
            problems.append(f"relative positions need autoregression attention, not {self.autoregression}")
        return problems
