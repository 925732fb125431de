"""Ranges of int8 activations have the least error that a clip can give."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from export.activation_ranges import Quantisation
from export.calibration import NUM_BINS, Sample, _Histogram, best_clip, calibrate, translate_samples
from export.graph.precision.protocol import OUTPUT
from export.model import Transformer
from export.model.generate import generate_greedy
from tests.imports.parity.random_bundles import random_model as random_translation_model

VOCAB = 40
BOS, EOS = 2, 3
SOURCES = [
    Sample([*np.random.default_rng(seed).integers(4, VOCAB, length).tolist(), EOS], (BOS,))
    for seed, length in enumerate((5, 1, 17, 30, 9, 2))
]
Floats = NDArray[np.float64]


def random_model(**shape: Any) -> Transformer:
    model = random_translation_model(shape)
    assert isinstance(model, Transformer)
    return model


def calibrate_on(model: Transformer, samples: Sequence[Sample] = SOURCES) -> Quantisation:
    weights = model.to_weights()
    pairs, _ = translate_samples(weights, samples)
    return calibrate(weights, pairs)


def cache_steps(model: Transformer) -> dict[str, NDArray[np.float32]]:
    _, steps = translate_samples(model.to_weights(), SOURCES)
    return steps


def real_error(values: Floats, clip: float, least: int, most: int) -> float:
    """Mean squared error of cutting at `clip` and rounding to the whole steps from `least` to `most`."""
    step = clip / most
    restored = np.clip(np.round(values / step), least, most) * step
    return float(np.mean((restored - values) ** 2))


def clip_of(values: Floats, *, is_signed: bool) -> float:
    largest = float(np.abs(values).max())
    counts, _ = np.histogram(np.abs(values), NUM_BINS, (0.0, largest))
    return best_clip(counts, largest, is_signed=is_signed)


def searched_clip(values: Floats, least: int, most: int) -> tuple[float, float]:
    """The best of many clips, tried one by one, and its error."""
    clips = np.geomspace(1 / 32, 1.0, 150) * np.abs(values).max()
    errors = [real_error(values, clip, least, most) for clip in clips.tolist()]
    return float(clips[np.argmin(errors)]), min(errors)


SAMPLES = {
    "normal": np.random.default_rng(0).normal(0, 3, 50_000),
    "heavy tails": np.random.default_rng(1).laplace(0, 1, 50_000),
    "one outlier": np.append(np.random.default_rng(2).normal(0, 1, 50_000), -40.0),
    "even": np.random.default_rng(3).uniform(-2, 2, 50_000),
    "never negative": np.abs(np.random.default_rng(4).normal(0, 1, 50_000)),
    "never negative, one outlier": np.append(np.random.default_rng(5).exponential(1, 50_000), 90.0),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_the_best_clip_equals_that_of_an_exhaustive_search(name: str) -> None:
    values = SAMPLES[name]
    is_signed = bool((values < 0).any())
    least, most = (-127, 127) if is_signed else (0, 255)
    expected, least_error = searched_clip(values, least, most)

    clip = clip_of(values, is_signed=is_signed)

    assert clip == pytest.approx(expected, rel=0.08), "the error is flat around the best clip"
    assert real_error(values, clip, least, most) <= 1.02 * least_error


def test_one_outlier_among_a_million_values_is_clipped_far_below_itself() -> None:
    values = np.append(np.random.default_rng(6).normal(0, 1, 1_000_000), -60.0)

    clip = clip_of(values, is_signed=True)

    assert 4.0 < clip < 60.0 / 4
    assert real_error(values, clip, -127, 127) < real_error(values, 60.0, -127, 127) / 4


def test_equal_magnitudes_are_not_clipped() -> None:
    assert clip_of(np.array([-2.0, 2.0] * 50), is_signed=True) == pytest.approx(2.0)


def test_values_that_are_never_negative_use_all_255_levels() -> None:
    """Twice the steps make each half as wide, so a wider clip pays and the scale is finer."""
    values = SAMPLES["never negative"]

    unsigned, signed = clip_of(values, is_signed=False), clip_of(values, is_signed=True)

    assert unsigned > signed
    calibration = calibrate_on(random_model())
    for found in calibration.ranges.values():
        assert found.scale == pytest.approx(found.clip / (127 if found.is_signed else 255))


@pytest.mark.parametrize("activation", ["relu", "gelu", "swish"])
def test_every_product_and_the_output_have_a_range(activation: str) -> None:
    """Layers that read the same vector are one product, except the keys and values of the source."""
    model = random_model(activation=activation)
    joined = (".self_attention.key", ".self_attention.value")
    names = {
        name
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Linear) and not name.endswith(joined)
    }

    ranges = calibrate_on(model).ranges

    assert len(names) == 2 * (2 + 2) + 2 * (2 + 4 + 2)
    assert ranges.keys() == names | {OUTPUT}
    unsigned = {name for name, found in ranges.items() if not found.is_signed}
    after_activation = {name for name in names if name.endswith("feed_forward.outer")}
    assert unsigned == (after_activation if activation == "relu" else set())


def read_and_said(model: Transformer, sample: Sample) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """A source's ids [1, S] and mask, and its target's ids behind those that begin it, [1, T]."""
    ids = torch.tensor([sample.ids])
    mask = torch.ones_like(ids, dtype=torch.bool)
    most = min(2 * len(sample.ids) + 10, model.config.max_positions - 1)
    (target,) = generate_greedy(model, ids, mask, most, sample.begin)
    return ids, mask, torch.tensor([[*sample.begin, *target]])


def read_texts(model: Transformer) -> Iterator[tuple[torch.Tensor, list[torch.Tensor]]]:
    """Each source's decoder states [T, d], and self and cross K/V [T, d], over the model's own output."""
    for sample in SOURCES:
        ids, mask, target = read_and_said(model, sample)
        with torch.inference_mode():
            cross = model.cross_keys_values(model.encode(ids, mask))
            states, present = model.decode(target, cross, mask)
        caches = [cache[0] for layers in (present.layers, cross) for layer in layers for cache in layer]
        channels = [cache.transpose(0, 1).flatten(1) for cache in caches]
        yield states[0], channels


@pytest.mark.parametrize("share_kv", [False, True])
def test_cache_steps_cover_every_key_and_value_exactly(*, share_kv: bool) -> None:
    model = random_model(share_kv=share_kv)
    by_text = [channels for _, channels in read_texts(model)]
    largest = [torch.cat(caches).abs().amax(dim=0).numpy() for caches in zip(*by_text, strict=True)]
    names = [
        f"decoder.{layer}.{kind}_attention.{part}"
        for kind in ("self", "cross")
        for layer in (0, 1)
        for part in ("key", "value")
    ]
    expected = dict(zip(names, largest, strict=True))
    if share_kv:
        expected = {name: expected[name] for name in names if name.endswith("key")}

    scales = cache_steps(model)

    assert scales.keys() == expected.keys()
    for name, channels in expected.items():
        assert scales[name].dtype == np.float32
        np.testing.assert_allclose(scales[name] * 127, channels, rtol=1e-4)
        assert (scales[name] * np.float32(127) >= channels * np.float32(1 - 1e-4)).all()


def test_the_output_range_covers_the_states_before_the_projection() -> None:
    model = random_model()
    states = torch.cat([states for states, _ in read_texts(model)]).double().numpy().ravel()

    found = calibrate_on(model).ranges[OUTPUT]

    assert found.is_signed
    assert found.clip == pytest.approx(clip_of(states, is_signed=True), rel=0.02)


@pytest.fixture
def recurrent() -> Transformer:
    return random_model(autoregression="ssru")


def test_a_recurrent_unit_has_ranges_but_no_self_attention_cache(recurrent: Transformer) -> None:
    """Its gate is made with its cell, in one product that reads through the cell's range."""
    units = {f"decoder.{layer}.self_recurrence.cell" for layer in (0, 1)}

    calibration = calibrate_on(recurrent)
    steps = cache_steps(recurrent)

    assert {name for name in calibration.ranges if "self_" in name and "decoder" in name} == units
    assert steps.keys() == {
        f"decoder.{layer}.cross_attention.{part}" for layer in (0, 1) for part in ("key", "value")
    }


def test_calibration_without_sources_is_rejected() -> None:
    with pytest.raises(ValueError, match="at least one source"):
        calibrate_on(random_model(), [])


def test_the_order_of_sources_does_not_change_the_calibration() -> None:
    model = random_model()
    first, turned = calibrate_on(model), calibrate_on(model, SOURCES[::-1])

    assert first.ranges == turned.ranges


def test_a_repeated_source_does_not_widen_a_range() -> None:
    """Extremes stay where they are, and twice every count moves no minimum."""
    model = random_model()
    first, again = calibrate_on(model), calibrate_on(model, SOURCES + SOURCES)

    clips, again_clips = (
        {name: each.clip for name, each in found.ranges.items()} for found in (first, again)
    )
    assert again_clips == pytest.approx(clips, rel=1e-5)


def test_zeros_do_not_influence_the_best_clip() -> None:
    histogram = _Histogram(largest=2.0)

    histogram.read(np.array([[0.0, -1.0], [0.0, 2.0]], np.float32))

    assert histogram.counts.sum() == 2
