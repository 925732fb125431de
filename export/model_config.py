"""Configuration of the model: every size and choice that shapes its weights."""

from dataclasses import dataclass
from typing import Literal, get_args

from dragoman.contract import Autoregression

Activation = Literal["relu", "gelu", "gelu_tanh", "quick_gelu", "swish"]
"""gelu: exact, x times the normal distribution function of x. gelu_tanh: its approximation with tanh.
quick_gelu: x sigmoid(1.702 x). swish: x sigmoid(x)."""
QUICK_GELU = 1.702
NormPosition = Literal["pre", "post"]
Positions = Literal["sinusoidal", "tensor2tensor", "learned"]
"""sinusoidal: rates 10000^(-i / (d/2)), sines first, then cosines. tensor2tensor: d/2 - 1 in the denominator,
as in Marian and fairseq."""


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """Shape of an encoder-decoder Transformer. Sizes are numbers of elements.

    Raises:
        ValueError: on construction, naming every invalid field.
    """

    source_vocab_size: int
    target_vocab_size: int
    encoder_layers: int = 6
    decoder_layers: int = 2
    d_model: int = 256
    heads: int = 8
    ffn: int = 1024
    decoder_ffn: int | None = None
    """Feed-forward size of the decoder; None: the encoder's `ffn`."""
    activation: Activation = "relu"
    norm: NormPosition = "pre"
    final_norm: bool | None = None
    """Whether a norm follows the last layer; None: if `norm` is "pre"."""
    embedding_norm: bool = False
    """Whether a norm follows the sum of token and position vectors, in encoder and decoder."""
    norm_epsilon: float = 1e-5
    scaled_embeddings: bool = True
    """Whether token vectors are multiplied by the square root of `d_model`."""
    autoregression: Autoregression = "attention"
    """How a decoder layer reads its own past."""
    positions: Positions = "sinusoidal"
    first_position: int = 0
    """Position of the first token in a sinusoidal table."""
    shared_positions: bool = True
    """Whether encoder and decoder share one table of learned positions."""
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
        return self.d_model // self.heads

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
            "activation": (self.activation, get_args(Activation)),
            "norm": (self.norm, get_args(NormPosition)),
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
        if self.heads >= 1 and self.d_model % self.heads:
            problems.append(f"d_model {self.d_model} must be a multiple of heads {self.heads}")
        if self.positions == "learned":
            if self.first_position:
                problems.append("first_position must be 0 with learned positions")
        elif self.d_model % 2:
            problems.append(f"d_model {self.d_model} must be even for {self.positions} positions")
        if self.positions == "tensor2tensor" and self.d_model == 2:  # noqa: PLR2004 -- one rate: 0 / 0
            problems.append("d_model 2 has no tensor2tensor positions")
        if self.shared_vocab and self.source_vocab_size != self.target_vocab_size:
            problems.append("shared_vocab needs source_vocab_size = target_vocab_size")
        return problems
