"""Training for a fixed time: the same function and the same optimiser as the ordinary trainer's."""

import json
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from export.checkpoint import load_checkpoint
from export.model import TranslationModel, model_class
from export.model_config import ModelConfig
from tests.imports.export.conftest import RunMain
from tests.training.conftest import Recipe, WriteRecipe, token_corpus
from training.config import OptimisationSettings
from training.loss import linear_cross_entropy
from training.optimisers import make_optimiser
from training.prepare import WeightedCorpus
from training.timed import device_batches
from training.timed.__main__ import main
from training.timed.device_batches import BatchLimits, DeviceBatches
from training.timed.forward import ForwardPass, UnsupportedShapeError, check_supported
from training.timed.stacked_muon import StackedMuon
from training.timed.stacked_weights import StackedWeights
from training.timed.trainer import grow_encoder

CPU = torch.device("cpu")
CONFIG = ModelConfig(40, 40, encoder_layers=2, decoder_layers=2, d_model=16, heads=2, ffn=32, dropout=0.0)


@pytest.fixture
def model() -> TranslationModel:
    torch.manual_seed(3)
    return model_class(CONFIG)(CONFIG)


@pytest.fixture
def batch() -> tuple[Tensor, Tensor, Tensor]:
    """Source ids, source mask and target inputs of three pairs of different lengths."""
    generator = torch.Generator().manual_seed(5)
    ids = torch.randint(4, 40, (3, 8), generator=generator)
    mask = torch.arange(8) < torch.tensor([[8], [5], [1]])
    return ids.where(mask, 0), mask, torch.randint(4, 40, (3, 6), generator=generator)


def states_of(model: TranslationModel, weights: StackedWeights, batch: tuple[Tensor, ...]) -> Tensor:
    assert isinstance(model, torch.nn.Module)
    positions = model.position_table
    assert isinstance(positions, Tensor)
    forward = ForwardPass(model.config, weights.cast(torch.float32), positions, dropout=0.0)
    return forward(weights.tables["source_embedding.weight"], *batch)


def test_the_forward_pass_gives_the_states_of_the_model(
    model: TranslationModel, batch: tuple[Tensor, Tensor, Tensor]
) -> None:
    weights = StackedWeights(model, CPU)
    torch.testing.assert_close(states_of(model, weights, batch), model(*batch), rtol=1e-4, atol=1e-5)


def test_a_step_changes_the_weights_as_the_ordinary_optimiser_does(
    model: TranslationModel, batch: tuple[Tensor, Tensor, Tensor]
) -> None:
    weights = StackedWeights(model, CPU)
    settings = OptimisationSettings(optimizer="muon", learning_rate=1e-3)
    targets = torch.randint(4, 40, (18,), generator=torch.Generator().manual_seed(6))
    loss = linear_cross_entropy(
        states_of(model, weights, batch).flatten(0, 1),
        weights.tables["source_embedding.weight"],
        weights.tables["output_bias"],
        targets,
        0.1,
    )
    torch.autograd.backward(loss)
    StackedMuon(weights, settings).step(1e-3)
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    ordinary = make_optimiser(model, settings)
    expected_loss = linear_cross_entropy(
        model(*batch).flatten(0, 1), model.output_projection, model.output_bias, targets, 0.1
    )
    torch.autograd.backward(expected_loss)
    torch.nn.utils.clip_grad_norm_(model.parameters(), settings.clip_norm)
    ordinary.step()
    after = dict(model.named_parameters())
    for name, weight in weights.named():
        if name.endswith(".weight") and weight.ndim > 1:
            change, expected = weight - before[name], after[name].detach() - before[name]
            # Muon works in bfloat16, and products of stacks round differently.
            assert torch.nn.functional.cosine_similarity(change, expected, dim=1).mean() > 0.98, name


def test_a_grown_encoder_has_the_function_of_the_shallow_one(
    model: TranslationModel, batch: tuple[Tensor, Tensor, Tensor]
) -> None:
    grown = grow_encoder(model, 5, dropout=0.0)
    assert grown.config.encoder_layers == 5
    torch.testing.assert_close(grown(*batch), model(*batch), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("other", "field"),
    [
        (replace(CONFIG, norm="post"), "norm"),
        (replace(CONFIG, activation="gelu"), "activation"),
        (replace(CONFIG, share_kv=True), "share_kv"),
    ],
)
def test_a_model_of_another_shape_is_rejected_by_its_field(other: ModelConfig, field: str) -> None:
    with pytest.raises(UnsupportedShapeError, match=field):
        check_supported(other)


@pytest.fixture
def pool() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(1) as executor:
        yield executor


def test_batches_hold_whole_pairs_in_the_shares_of_their_corpora(
    pool: ProcessPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_batches, "ROUND_PAIRS", 400)
    rng = np.random.default_rng(1)
    first, second = (
        [(rng.integers(low, low + 90, rng.integers(1, 30)).tolist(), [low, 3]) for _ in range(50)]
        for low in (4, 100)
    )
    corpora = [
        WeightedCorpus(token_corpus(chain(*pairs)), weight)
        for pairs, weight in ((first, 0.75), (second, 0.25))
    ]
    batches = DeviceBatches(lambda: corpora, BatchLimits(300, 1, 0, 2), CPU, pool)
    known = {(tuple(source), tuple(target)) for source, target in first + second}
    seen: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    for batch in islice(iter(batches), 60):
        rows, width = batch.target_in.shape
        assert rows * (width + batch.source_ids.shape[1]) <= 300 or rows == 1
        targets = torch.zeros(rows * width, dtype=torch.int64)
        targets[batch.target_positions] = batch.target_out
        for row, target in enumerate(targets.view(rows, width)):
            source = batch.source_ids[row][batch.source_mask[row]]
            seen.append((tuple(source.tolist()), tuple(target[target != 0].tolist())))
        assert batch.target_in[:, 0].eq(2).all()
    assert set(seen) <= known
    share = sum(pair in {(tuple(s), tuple(t)) for s, t in first} for pair in seen) / len(seen)
    assert 0.65 < share < 0.85


def test_a_run_ends_by_the_clock_and_writes_a_checkpoint_that_knows_its_start(
    finished: Recipe, run_main: RunMain, write_recipe: WriteRecipe, tmp_path: Path
) -> None:
    start = Path(finished["run_dir"]) / "checkpoint"
    path, output = write_recipe(finished), tmp_path / "timed"
    lanes = ("--lane", f"de-en={start}", "--lane", f"de-en-deeper={start}:3")
    done = run_main(main, path, "-o", output, "--seconds", "0.5", "--device", "cpu", *lanes)
    assert done.status == 0, done.errors
    deeper = load_checkpoint(output / "de-en-deeper")
    assert deeper.model.config.encoder_layers == 3
    assert deeper.training["started_from"]["steps"] == 30
    assert 0 < deeper.training["pairs_seen"] == load_checkpoint(output / "de-en").training["pairs_seen"]
    assert json.loads((output / "history.jsonl").read_text().splitlines()[-1])["learning_rate"] == 0.0
