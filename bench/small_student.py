"""Train a small student of Marian's kind from scratch: `python -m bench.small_student PAIRS.tsv FOLDER`.

It is a transformer with norms after each block and SSRU in the decoder, with one vocabulary for both
languages. FOLDER gets its weights, and the three folders of KINDS, as Marian writes them. Random weights say
little about rounding: their scores are close to each other. Lines of pairs have columns between tabs: a
source and a target, perhaps after a tag. Weights that FOLDER has already are used again.
"""

import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from bench.command import Command, Options
from bench.student_files import OUTPUT_RANGE, Arrays, write_student
from export.marian.shape import MarianShape, read_shape
from export.marian.weights import weight_sources
from export.model import ModelConfig, Transformer
from export.shortlist.text import read_pairs
from training.batches import Batch, BatchSettings, BatchStream
from training.config import OptimisationSettings
from training.corpus import TextPair
from training.loss import linear_cross_entropy
from training.optimisers import learning_rate_factor, make_optimiser
from training.token_corpus import TokenCorpus, tokenise

EOS, UNK, SEED, MAX_TOKENS = 0, 1, 1, 60
NUM_PIECES = 2_000
"""A multiple of 8, as Marian's 8-bit products need."""
CONFIG = ModelConfig(
    source_vocab_size=NUM_PIECES + 1,
    target_vocab_size=NUM_PIECES + 1,
    encoder_layers=4,
    decoder_layers=2,
    d_model=128,
    ffn=512,
    norm="post",
    norm_epsilon=1e-6,
    autoregression="ssru",
    positions="tensor2tensor",
    pad_id=EOS,
    unk_id=UNK,
    bos_id=NUM_PIECES,
    eos_id=EOS,
)
"""The row after the pieces starts a target. It is zero, as in Marian."""
OPTIONS: Mapping[str, Any] = {
    "type": "transformer",
    "version": "v1.9.0",
    "dim-vocabs": [NUM_PIECES, NUM_PIECES],
    "dim-emb": CONFIG.d_model,
    "dim-rnn": 1024,
    "enc-cell": "gru",
    "enc-type": "bidirectional",
    "enc-cell-depth": 1,
    "enc-depth": CONFIG.encoder_layers,
    "dec-depth": CONFIG.decoder_layers,
    "dec-cell": "ssru",
    "dec-cell-base-depth": 2,
    "dec-cell-high-depth": 1,
    "skip": False,
    "layer-normalization": False,
    "right-left": False,
    "input-types": [],
    "tied-embeddings": False,
    "tied-embeddings-src": False,
    "tied-embeddings-all": True,
    "transformer-heads": CONFIG.heads,
    "transformer-no-projection": False,
    "transformer-dim-ffn": CONFIG.ffn,
    "transformer-decoder-dim-ffn": CONFIG.ffn,
    "transformer-ffn-depth": 2,
    "transformer-ffn-activation": "relu",
    "transformer-preprocess": "",
    "transformer-postprocess": "dan",
    "transformer-postprocess-emb": "d",
    "transformer-postprocess-top": "",
    "transformer-decoder-autoreg": "rnn",
    "transformer-tied-layers": [],
    "transformer-guided-alignment-layer": "last",
    "transformer-train-position-embeddings": False,
    "bert-train-type-embeddings": True,
    "bert-type-vocab-size": 2,
    "ulr": False,
    "ulr-trainable-transformation": False,
    "ulr-dim-emb": 0,
    "lemma-dim-emb": 0,
    "output-omit-bias": False,
}
"""Options that Marian stores in a model."""
OPTIMISATION = OptimisationSettings(
    optimizer="muon", learning_rate=2e-3, warmup_steps=200, budget_tokens=2_000, seed=SEED, decay_steps=0
)
NUM_MEASURED = 40
"""Number of batches that ranges of activations are found on."""
DEVIATIONS = 1.1
"""A range ends so many standard deviations above the mean of the largest magnitudes of the batches."""
KINDS: Mapping[str, tuple[bool, bool, bool]] = {
    "float": (False, False, False),
    "int8": (True, False, False),
    "int8-ranges": (True, True, False),
    "int8-ranges-shortlist": (True, True, True),
}
"""Whether a folder has integers, ranges of activations, and a shortlist, as Firefox Translations has."""
NUM_LISTED = 50
"""Number of candidates of each source piece."""
WEIGHTS_FILE, VOCABULARY_FILE = "weights.npz", "vocab.deen.spm"


def train(pairs: Sequence[TextPair], folder: Path, steps: int) -> None:
    """Train a vocabulary and a model; write both into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / VOCABULARY_FILE).open("wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=(side for pair in pairs for side in (pair.source, pair.target)),
            model_writer=file,
            vocab_size=NUM_PIECES,
            eos_id=EOS,
            unk_id=UNK,
            bos_id=-1,
            num_threads=1,
            minloglevel=2,
        )
    torch.manual_seed(SEED)
    model = Transformer(CONFIG)
    table = model.source_embedding.weight
    with torch.no_grad():
        table[CONFIG.bos_id] = 0
    table.register_hook(  # type: ignore[no-untyped-call]
        lambda gradient: gradient.index_fill(0, torch.tensor([CONFIG.bos_id]), 0)
    )
    settings = OPTIMISATION.model_copy(update={"steps": steps, "decay_steps": steps // 2})
    optimiser = make_optimiser(model, settings)
    began_s = time.monotonic()
    for step, batch in zip(range(steps), _batches(pairs, folder), strict=False):
        for group in optimiser.param_groups:
            group["lr"] = settings.learning_rate * learning_rate_factor(step, settings)
        states = _run(model, batch)
        loss = linear_cross_entropy(
            states,
            model.output_projection,
            model.output_bias,
            batch.target_out[batch.target_mask],
            settings.label_smoothing,
        )
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), settings.clip_norm)
        optimiser.step()
        if (step + 1) % 100 == 0:
            took_s = time.monotonic() - began_s
            sys.stderr.write(f"step {step + 1}: loss {loss.item():.3f}, {took_s:.0f} s\n")
    np.savez(folder / WEIGHTS_FILE, **{name: tensor.numpy() for name, tensor in model.state_dict().items()})


def _tokenised(pairs: Sequence[TextPair], folder: Path) -> TokenCorpus:
    processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / VOCABULARY_FILE))
    return tokenise(pairs, processor, processor, MAX_TOKENS)


def _batches(pairs: Sequence[TextPair], folder: Path) -> Iterator[Batch]:
    corpus = _tokenised(pairs, folder)
    plan = BatchSettings((1.0,), OPTIMISATION.budget_tokens, SEED, CONFIG.pad_id, CONFIG.bos_id, len(corpus))
    return iter(BatchStream([corpus], plan))


def _run(model: Transformer, batch: Batch) -> Tensor:
    """Return the states of all target tokens, [tokens, d]."""
    states: Tensor = model(batch.source_ids, batch.source_mask, batch.target_in)
    return states[batch.target_mask]


def write(pairs: Sequence[TextPair], folder: Path) -> None:
    """Write the folders of `KINDS`."""
    model = Transformer(CONFIG).eval()
    with np.load(folder / WEIGHTS_FILE, allow_pickle=False) as stored:
        weights = {name: stored[name] for name in stored.files}
    model.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})
    problems: list[str] = []
    shape = read_shape(OPTIONS, problems)
    if shape is None:
        raise SystemExit(f"options: {', '.join(problems)}")
    ranges = _find_ranges(model, shape, islice(_batches(pairs, folder), NUM_MEASURED))
    vocabulary = {VOCABULARY_FILE: (folder / VOCABULARY_FILE).read_bytes()}
    arrays = _arrays(shape, weights)
    lists = _find_candidates(_tokenised(pairs, folder))
    for name, (has_integers, has_ranges, has_lists) in KINDS.items():
        write_student(
            folder / name,
            arrays,
            dict(OPTIONS),
            vocabulary,
            ranges if has_ranges else None,
            lists if has_lists else None,
            has_integers=has_integers,
        )


def _arrays(shape: MarianShape, weights: Mapping[str, NDArray[np.float32]]) -> Arrays:
    """Return Marian's arrays: without the row that starts a target, linear layers as [in, out]."""
    arrays: Arrays = {}
    for place in weight_sources(shape, {}, (NUM_PIECES, NUM_PIECES)):
        weight = weights[place.ours][: place.rows]
        arrays[place.theirs] = np.ascontiguousarray(
            weight.T if place.is_map else weight.reshape(place.their_shape)
        )
    return arrays


@torch.inference_mode()
def _find_ranges(model: Transformer, shape: MarianShape, batches: Iterator[Batch]) -> dict[str, float]:
    """Return the number that the input of each linear layer is multiplied with, by its item's name."""
    largest: dict[str, list[float]] = defaultdict(list)

    def record(item: str) -> Callable[[nn.Module, tuple[Tensor, ...]], None]:
        return lambda _, inputs: largest[item].append(float(inputs[0].abs().max()))

    for place in weight_sources(shape, {}, (NUM_PIECES, NUM_PIECES)):
        if place.is_map:
            layer = model.get_submodule(place.ours.removesuffix(".weight"))
            layer.register_forward_pre_hook(record(f"{place.theirs}_QuantMultA"))
    for batch in batches:
        largest[OUTPUT_RANGE].append(float(_run(model, batch).abs().max()))
    ends = {
        item: statistics.fmean(found) + DEVIATIONS * statistics.pstdev(found)
        for item, found in largest.items()
    }
    return {item: float(np.float32(127 / end)) for item, end in ends.items()}


def _find_candidates(corpus: TokenCorpus) -> list[list[int]]:
    """Return, for each source piece, the target pieces that occur with it more than by chance."""
    counts = np.zeros((NUM_PIECES, NUM_PIECES), np.float32)
    for pair in range(len(corpus)):
        counts[np.ix_(np.unique(corpus.source(pair)), np.unique(corpus.target(pair)))] += 1
    scores = counts / np.sqrt(1 + counts.sum(axis=0))
    listed: list[list[int]] = np.argsort(-scores, axis=1, kind="stable")[:, :NUM_LISTED].tolist()
    return listed


def main() -> None:
    options: Options = {"pairs": Path, "folder of the students": Path, "--steps": 2_500}
    arguments = Command("small_student", __doc__, options).parse()
    torch.set_num_threads(1)
    pairs = [TextPair(*pair) for pair in read_pairs([arguments.pairs])]
    if not (arguments.folder / WEIGHTS_FILE).exists():
        train(pairs, arguments.folder, arguments.steps)
    write(pairs, arguments.folder)


if __name__ == "__main__":
    main()
