"""What a model is made of: every size and choice that shapes its weights."""

from dataclasses import dataclass
from typing import Literal

Activation = Literal["relu", "gelu", "swish"]
NormPlace = Literal["pre", "post"]
Positions = Literal["sinusoidal", "learned"]


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """Shape of an encoder-decoder Transformer. Sizes are counts of elements.

    Raises:
        ValueError: on construction, naming every field that cannot be.
    """

    source_vocab_size: int
    target_vocab_size: int
    encoder_layers: int = 6
    decoder_layers: int = 2
    d_model: int = 256
    heads: int = 8
    ffn: int = 1024
    activation: Activation = "relu"
    norm: NormPlace = "pre"
    positions: Positions = "sinusoidal"
    max_positions: int = 512
    """Longest source or target in tokens, special tokens included."""
    shared_vocab: bool = True
    """Source and target read one embedding table."""
    tied_output: bool = True
    """The target embedding table is also the output projection."""
    share_kv: bool = False
    """Keys serve as values too; exists to measure what separate values are worth."""
    dropout: float = 0.1
    """After the embeddings and each sublayer."""
    inner_dropout: float = 0.0
    """On attention weights and feed-forward activations."""
    pad_id: int = 0
    unk_id: int = 1
    bos_id: int = 2
    eos_id: int = 3

    def __post_init__(self) -> None:
        if problems := self._problems():
            raise ValueError("model config: " + "; ".join(problems))

    @property
    def head_size(self) -> int:
        return self.d_model // self.heads

    def _problems(self) -> list[str]:
        sizes = {
            "source_vocab_size": self.source_vocab_size,
            "target_vocab_size": self.target_vocab_size,
            "encoder_layers": self.encoder_layers,
            "decoder_layers": self.decoder_layers,
            "d_model": self.d_model,
            "heads": self.heads,
            "ffn": self.ffn,
            "max_positions": self.max_positions,
        }
        problems = [f"{name} must be at least 1, not {size}" for name, size in sizes.items() if size < 1]
        choices: dict[str, tuple[str, tuple[str, ...]]] = {
            "activation": (self.activation, ("relu", "gelu", "swish")),
            "norm": (self.norm, ("pre", "post")),
            "positions": (self.positions, ("sinusoidal", "learned")),
        }
        problems += [
            f"{name} must be one of {', '.join(allowed)}, not {value!r}"
            for name, (value, allowed) in choices.items()
            if value not in allowed
        ]
        problems += [
            f"{name} must be at least 0 and below 1, not {share}"
            for name, share in (("dropout", self.dropout), ("inner_dropout", self.inner_dropout))
            if not 0.0 <= share < 1.0
        ]
        smallest_vocab = min(self.source_vocab_size, self.target_vocab_size)
        special_ids = {
            "pad_id": self.pad_id,
            "unk_id": self.unk_id,
            "bos_id": self.bos_id,
            "eos_id": self.eos_id,
        }
        problems += [
            f"{name} {special_id} is not an id of a vocabulary of {smallest_vocab}"
            for name, special_id in special_ids.items()
            if not 0 <= special_id < smallest_vocab
        ]
        if self.heads >= 1 and self.d_model % self.heads:
            problems.append(f"d_model {self.d_model} must be a multiple of heads {self.heads}")
        if self.positions == "sinusoidal" and self.d_model % 2:
            problems.append(f"d_model {self.d_model} must be even for sinusoidal positions")
        if self.shared_vocab and self.source_vocab_size != self.target_vocab_size:
            problems.append("shared_vocab needs source_vocab_size = target_vocab_size")
        return problems
