"""Makes the tiny model the tests run on: `python tests/tiny/make.py`.

It learns pairs.tsv by heart, which takes a minute, and writes
  checkpoint/    what `python -m training` would write
  bundle-fp32/   exported from it
  bundle-int8/
All are committed, so that tests of the engine need neither torch nor a training.
"""

import dataclasses
import shutil
import tempfile
from pathlib import Path

import torch
from torch.nn import functional

from dragoman.manifest import ModelLimits
from dragoman.text.tokenizer import Tokenizer
from export import checkpoint_import
from export.bundle import BundleMetadata, staged_folder, write_bundle
from export.calibration import Sample
from export.checkpoint import save_weights
from export.model import ModelConfig, Transformer
from export.original import RequestedLanguages
from training.batches import BatchSettings, BatchStream
from training.config import (
    Corpus,
    DataSettings,
    OptimisationSettings,
    TrainingConfig,
    ValidationSettings,
    VocabularySettings,
)
from training.corpus import read_pairs
from training.optimisers import make_optimiser
from training.token_corpus import tokenise
from training.vocabulary import load_vocabularies, train_vocabularies

HERE = Path(__file__).parent
PAIRS = HERE / "pairs.tsv"
STEPS = 2500
LICENCE = "CC0-1.0"

CONFIG = TrainingConfig(
    run_dir=HERE,
    data=DataSettings(
        source_language="de",
        target_language="en",
        corpora=(Corpus(name="tiny", files=(PAIRS,), weight=1.0, licence=LICENCE),),
    ),
    vocabulary=VocabularySettings(size=360, character_coverage=0.99999),
    optimisation=OptimisationSettings(learning_rate=5e-3, threads=1, budget_tokens=500),
    validation=ValidationSettings(source=PAIRS, target=PAIRS),
)


def main() -> None:
    checkpoint = HERE / "checkpoint"
    with tempfile.TemporaryDirectory() as scratch:
        _train(Path(scratch))
        shutil.rmtree(checkpoint, ignore_errors=True)
        shutil.copytree(scratch, checkpoint)
    export(checkpoint)


def export(checkpoint: Path) -> None:
    """Write the bundles."""
    original = checkpoint_import.load(checkpoint, RequestedLanguages())
    config = original.model.config
    pairs = read_pairs(CONFIG.data.corpora[0], CONFIG.data, seed=1)
    pieces = Tokenizer.load(checkpoint / "source.spm").encode([pair.source for pair in pairs])
    samples = [Sample([*source, config.eos_id], (config.bos_id,)) for source in pieces]
    for precision in ("fp32", "int8"):
        limits = ModelLimits(max_source_tokens=48, max_target_tokens=64)
        facts = BundleMetadata(f"tiny-{precision}", LICENCE, limits)
        with staged_folder(HERE / f"bundle-{precision}") as staging:
            write_bundle(staging, original, precision, facts, samples)


def _train(folder: Path) -> None:
    torch.manual_seed(1)
    torch.set_num_threads(1)
    pairs = list(read_pairs(CONFIG.data.corpora[0], CONFIG.data, seed=1))
    train_vocabularies(CONFIG, {"tiny": pairs}, folder)
    source, target = load_vocabularies(folder)
    model = Transformer(_shape(source.vocab_size()))
    optimiser = make_optimiser(model, CONFIG.optimisation)
    plan = BatchSettings(
        (1.0,), CONFIG.optimisation.budget_tokens, 1, model.config.pad_id, model.config.bos_id
    )
    stream = iter(BatchStream([tokenise(pairs, source, target, 48)], plan))
    for step in range(STEPS):
        for group in optimiser.param_groups:
            group["lr"] = CONFIG.optimisation.learning_rate * (1 - step / STEPS)
        batch = next(stream)
        states = model(batch.source_ids, batch.source_mask, batch.target_in)
        logits = model.logits(states[batch.target_mask])
        loss = functional.cross_entropy(logits, batch.target_out[batch.target_mask], label_smoothing=0.01)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call] # torch leaves it untyped
        optimiser.step()
        if step % 250 == 0:
            print(f"step {step}: loss {loss.item():.3f}")  # noqa: T201 -- a script's progress
    record = {"source_language": "de", "target_language": "en", "steps": STEPS}
    save_weights(folder, model, {**record, "shape": dataclasses.asdict(model.config)})


def _shape(vocab_size: int) -> ModelConfig:
    return ModelConfig(
        source_vocab_size=vocab_size,
        target_vocab_size=vocab_size,
        encoder_layers=2,
        decoder_layers=2,
        d_model=40,
        heads=5,
        ffn=80,
        max_positions=64,
        dropout=0.0,
    )


if __name__ == "__main__":
    main()
