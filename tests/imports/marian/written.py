"""Small models written as Marian writes them: arrays by its names, its options, its vocabularies.

Names and shapes are those of marian-dev (src/models/transformer.h, src/rnn/cells.h, src/layers/output.cpp),
set down here once more and by hand, so that an import that misreads them cannot be right by chance.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece
from numpy.typing import NDArray

D_MODEL = 16
HEADS = 4
FFN = 24
DECODER_FFN = 20
ENCODER_LAYERS = 2
DECODER_LAYERS = 3
TRAINED_POSITIONS = 40

Arrays = dict[str, NDArray[Any]]
Options = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Variant:
    """What a model's options say."""

    preprocess: str = ""
    postprocess: str = "dan"
    top: str = ""
    embedding: str = "d"
    activation: str = "relu"
    tying: str = "all"
    """all, src, target, src+target or none."""
    autoregression: str = "self-attention"
    has_trained_positions: bool = False
    tied_layers: tuple[int, ...] = ()
    has_output_bias: bool = True
    has_legacy_output: bool = False
    decoder_ffn: int = 0
    encoder_layers: int = ENCODER_LAYERS
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def shares_table(self) -> bool:
        return self.tying in {"all", "src", "src+target"}

    @property
    def has_tied_output(self) -> bool:
        return self.tying in {"all", "target", "src+target"}


def options_of(variant: Variant, vocab_sizes: tuple[int, int]) -> Options:
    """As Marian 1.9 saves them."""
    return {
        "type": "transformer",
        "version": "v1.9.0 ba94c5b9 2020-05-17 10:42:17 +0100",
        "dim-vocabs": list(vocab_sizes),
        "dim-emb": D_MODEL,
        "dim-rnn": 1024,
        "enc-cell": "gru",
        "enc-type": "bidirectional",
        "enc-cell-depth": 1,
        "enc-depth": variant.encoder_layers,
        "dec-depth": DECODER_LAYERS,
        "dec-cell": "ssru" if variant.autoregression == "rnn" else "gru",
        "dec-cell-base-depth": 2,
        "dec-cell-high-depth": 1,
        "skip": False,
        "layer-normalization": False,
        "right-left": False,
        "input-types": [],
        "tied-embeddings": variant.tying in {"target", "src+target"},
        "tied-embeddings-src": variant.tying in {"src", "src+target"},
        "tied-embeddings-all": variant.tying == "all",
        "transformer-heads": HEADS,
        "transformer-no-projection": False,
        "transformer-dim-ffn": FFN,
        "transformer-decoder-dim-ffn": variant.decoder_ffn,
        "transformer-ffn-depth": 2,
        "transformer-ffn-activation": variant.activation,
        "transformer-dim-aan": 2048,
        "transformer-aan-depth": 2,
        "transformer-aan-activation": "swish",
        "transformer-aan-nogate": False,
        "transformer-preprocess": variant.preprocess,
        "transformer-postprocess": variant.postprocess,
        "transformer-postprocess-emb": variant.embedding,
        "transformer-postprocess-top": variant.top,
        "transformer-decoder-autoreg": variant.autoregression,
        "transformer-tied-layers": list(variant.tied_layers),
        "transformer-guided-alignment-layer": "last",
        "transformer-train-position-embeddings": variant.has_trained_positions,
        "bert-train-type-embeddings": True,
        "bert-type-vocab-size": 2,
        "ulr": False,
        "ulr-trainable-transformation": False,
        "ulr-dim-emb": 0,
        "lemma-dim-emb": 0,
        "output-omit-bias": not variant.has_output_bias,
        **variant.more,
    }


def arrays_of(variant: Variant, vocab_sizes: tuple[int, int], seed: int = 0) -> Arrays:
    """Random weights for every part that the options ask for."""
    made = _Made(variant, np.random.default_rng(seed))
    made.tables(*vocab_sizes)
    for side in ("encoder", "decoder"):
        if "n" in variant.embedding:
            made.norm(f"{side}_emb", "_pre")
        if "n" in variant.top:
            made.norm(f"{side}_top")
    for number in range(1, variant.encoder_layers + 1):
        made.attention(f"encoder_l{number}_self")
        made.feed_forward(f"encoder_l{number}_ffn", FFN)
    for number in sorted(set(variant.tied_layers or range(1, DECODER_LAYERS + 1))):
        if variant.autoregression == "rnn":
            made.recurrence(f"decoder_l{number}_rnn")
        else:
            made.attention(f"decoder_l{number}_self")
        made.attention(f"decoder_l{number}_context")
        made.feed_forward(f"decoder_l{number}_ffn", variant.decoder_ffn or FFN)
    return made.arrays


class _Made:
    """Arrays so far."""

    def __init__(self, variant: Variant, rng: np.random.Generator) -> None:
        self.arrays: Arrays = {}
        self._variant = variant
        self._rng = rng

    def tables(self, sources: int, targets: int) -> None:
        variant, scale = self._variant, D_MODEL**-0.5
        if variant.shares_table:
            self._matrix("Wemb", sources, D_MODEL, scale)
        else:
            self._matrix("encoder_Wemb", sources, D_MODEL, scale)
            self._matrix("decoder_Wemb", targets, D_MODEL, scale)
        if not variant.has_tied_output and variant.has_legacy_output:
            self._matrix("decoder_ff_logit_out_W", D_MODEL, targets, scale)
        elif not variant.has_tied_output:
            self._matrix("decoder_ff_logit_out_Wt", targets, D_MODEL, scale)
        if variant.has_output_bias:
            self._matrix("decoder_ff_logit_out_b", 1, targets, 0.5)
        if variant.has_trained_positions:
            self._matrix("Wpos", TRAINED_POSITIONS, D_MODEL, 0.5)

    def norm(self, name: str, suffix: str = "") -> None:
        scale = self._rng.uniform(0.5, 1.5, (1, D_MODEL))
        self.arrays[f"{name}_ln_scale{suffix}"] = scale.astype(np.float32)
        self._matrix(f"{name}_ln_bias{suffix}", 1, D_MODEL, 0.2)

    def attention(self, prefix: str) -> None:
        for letter in "qkvo":
            self._linear(prefix, letter, D_MODEL, D_MODEL)
        self._sublayer_norms(f"{prefix}_Wo", f"{prefix}_Wo")

    def feed_forward(self, prefix: str, ffn: int) -> None:
        self._linear(prefix, "1", D_MODEL, ffn)
        self._linear(prefix, "2", ffn, D_MODEL)
        self._sublayer_norms(f"{prefix}_ffn", f"{prefix}_ffn")

    def recurrence(self, prefix: str) -> None:
        self._matrix(f"{prefix}_W", D_MODEL, D_MODEL, D_MODEL**-0.5)
        self._linear(prefix, "f", D_MODEL, D_MODEL)
        self._sublayer_norms(prefix, f"{prefix}_ffn")

    def _sublayer_norms(self, name: str, post_name: str) -> None:
        if "n" in self._variant.preprocess:
            self.norm(name, "_pre")
        if "n" in self._variant.postprocess:
            self.norm(post_name)

    def _linear(self, prefix: str, suffix: str, inputs: int, outputs: int) -> None:
        self._matrix(f"{prefix}_W{suffix}", inputs, outputs, inputs**-0.5)
        self._matrix(f"{prefix}_b{suffix}", 1, outputs, 0.1)

    def _matrix(self, name: str, rows: int, columns: int, scale: float) -> None:
        self.arrays[name] = self._rng.normal(0.0, scale, (rows, columns)).astype(np.float32)


def save_npz(path: Path, arrays: Arrays, options: Options | str | None) -> None:
    """Arrays, and the options as bytes with a NUL at the end. JSON is YAML too."""
    content = dict(arrays)
    if options is not None:
        text = options if isinstance(options, str) else yaml_text(options)
        content["special:model.yml"] = np.frombuffer(text.encode() + b"\0", np.int8)
    with path.open("wb") as file:
        np.savez(file, **content)  # type: ignore[arg-type]


def yaml_text(options: Mapping[str, Any]) -> str:
    """A line for each option, values in JSON, which YAML reads as well."""
    return "\n".join(f"{name}: {json.dumps(value)}" for name, value in options.items()) + "\n"


def save_vocabulary(path: Path, pieces: Sequence[str]) -> None:
    """As Marian writes one; quoted throughout."""
    lines = (f"{json.dumps(piece, ensure_ascii=False)}: {index}" for index, piece in enumerate(pieces))
    path.write_text("\n".join(lines) + "\n", encoding="utf8")


MARIANS_OWN_IDS = {"eos_id": 0, "unk_id": 1, "bos_id": -1}
"""Where Marian is to use SentencePiece's ids as they are."""


def pieces_of(model: bytes, *, before: Sequence[str] = ("</s>", "<unk>")) -> list[str]:
    """What an OPUS-MT vocabulary lists: two special pieces, those of the model, in an order of its own."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    ordinary = [
        processor.id_to_piece(index)
        for index in range(processor.vocab_size())
        if not processor.is_control(index) and not processor.is_unknown(index)
    ]
    return [*before, *reversed(ordinary)]
