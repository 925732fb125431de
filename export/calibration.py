"""What rounding needs to know of activations, measured on real text run through the model.

Every int8 projection reads its input through one range that never changes: a row's numbers then do not
depend on the rows beside it, nor on anything seen at run time.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from export.model import Transformer
from export.model.attention import Attention
from export.model.generate import generate_greedy, pad

OUTPUT = "output"
"""Stands for the output projection among the names of the model's linear maps."""
NUM_BINS = 4096
SIGNED_LEVELS = 127
UNSIGNED_LEVELS = 255
SMALLEST_CLIP = 1 / 64
"""Of the largest magnitude seen; no outlier is worth cutting the range further."""
NUM_CLIPS = 256
BATCH_SOURCES = 16
"""That are read together."""

Ids = Sequence[int]


@dataclass(frozen=True, slots=True)
class Sample:
    """A source to measure on."""

    ids: Ids
    """As the encoder reads it: the end-of-sentence id, and those of languages, among them."""
    begin: Ids
    """What its target begins with: the first id starts the decoder, the others are forced."""


@dataclass(frozen=True, slots=True)
class ActivationRange:
    """What the input of a projection is cut to before it is rounded to 8 bits."""

    clip: float
    """Largest magnitude kept."""
    is_signed: bool
    """Whether values below zero were seen; if none were, all 255 steps lie above zero."""

    @property
    def scale(self) -> float:
        """Distance of two neighbouring steps."""
        return self.clip / (SIGNED_LEVELS if self.is_signed else UNSIGNED_LEVELS)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Everything that int8 and int4 graphs fix in advance."""

    ranges: Mapping[str, ActivationRange]
    """Of the input of every linear map, by the map's name in the model, and of `OUTPUT`."""
    moments: Mapping[str, NDArray[np.float64]]
    """Of the input x of the maps that were asked for: the mean of x xᵀ, [K, K]."""


def calibrate(model: Transformer, samples: Sequence[Sample], moments_of: Sequence[str] = ()) -> Calibration:
    """Measure every range.

    Padding is not counted, and the decoder reads the model's own greedy output. The clip of an activation
    range minimises the mean squared error of rounding and cutting together.

    Args:
        model: in eval mode.
        samples: a few hundred do.
        moments_of: names of linear maps, or `OUTPUT`; a map of K inputs costs 8 K² bytes.

    Raises:
        ValueError: there is no sample.
    """
    texts = _texts(model, samples)
    extremes = {name: _Extremes() for name in _maps(model)}
    _read_all(model, texts, extremes, {})
    histograms = {name: _Histogram(found.largest) for name, found in extremes.items()}
    _read_all(model, texts, histograms, {})
    moments = {name: _Moments() for name in moments_of}
    if moments:
        _read_all(model, texts, moments, {})
    ranges = {
        name: _range(found, histograms[name], is_signed=found.smallest < 0 or name == OUTPUT)
        for name, found in extremes.items()
    }
    return Calibration(ranges, {name: found.mean for name, found in moments.items()})


def cache_steps(model: Transformer, samples: Sequence[Sample]) -> dict[str, NDArray[np.float32]]:
    """Steps in which K/V fit into 8 bits: the output of every key and value map in the decoder, by channel.

    Args:
        model: in eval mode.
        samples: as for `calibrate`.

    Returns:
        By the map's name, float32 [d]: a 127th of the largest magnitude of each channel.

    Raises:
        ValueError: there is no sample.
    """
    caches = {name: _Channels(model.config.d_model) for name in _cached_maps(model)}
    _read_all(model, _texts(model, samples), {}, caches)
    return {name: found.scales for name, found in caches.items()}


def _texts(model: Transformer, samples: Sequence[Sample]) -> list[tuple[Ids, Ids]]:
    """Sources, each with the target that the decoder reads: the model's own output."""
    if not samples:
        raise ValueError("calibration needs at least one source")
    order = sorted(range(len(samples)), key=lambda index: (samples[index].begin, len(samples[index].ids)))
    targets: dict[int, Ids] = {}
    for begin, alike in itertools.groupby(order, key=lambda index: samples[index].begin):
        indices = list(alike)
        for first in range(0, len(indices), BATCH_SOURCES):
            batch = indices[first : first + BATCH_SOURCES]
            found = _greedy(model, [samples[index].ids for index in batch], begin)
            targets.update(zip(batch, found, strict=True))
    return [(sample.ids, [*sample.begin, *targets[index]]) for index, sample in enumerate(samples)]


def maps_of_a_step(model: Transformer) -> list[str]:
    """Linear maps that a decoder step reads, by their first name: key and value are made with the query, a
    recurrent unit's gate with its cell.
    """
    return [
        name
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear)
        and name.startswith("decoder.")
        and not name.endswith((".key", ".value", ".forget"))
    ]


def _range(found: "_Extremes", histogram: "_Histogram", *, is_signed: bool) -> ActivationRange:
    """`OUTPUT` is signed whatever was seen: a shortlist's product reads it so."""
    return ActivationRange(best_clip(histogram.counts, found.largest, is_signed=is_signed), is_signed)


def best_clip(counts: NDArray[np.int64], largest: float, *, is_signed: bool) -> float:
    """The clip with the least mean squared error: rounding errors shrink with it, cutting errors grow.

    Args:
        counts: int64 [N], a histogram of magnitudes over [0, largest].
        largest: the largest magnitude.
        is_signed: whether the levels are shared with negative values.
    """
    levels = SIGNED_LEVELS if is_signed else UNSIGNED_LEVELS
    width = largest / len(counts)
    magnitudes = (np.arange(len(counts)) + 0.5) * width
    clips = np.geomspace(SMALLEST_CLIP, 1.0, NUM_CLIPS) * largest
    over = np.maximum(magnitudes - clips[:, None], 0.0)  # [clips, bins]
    cut = (over**2 * counts).sum(axis=1)
    # An error between half a step below and half above, all alike, has the variance step ** 2 / 12.
    rounded = np.where(over > 0, 0, counts).sum(axis=1) * (clips / levels) ** 2 / 12
    return float(clips[np.argmin(cut + rounded)])


class _Reader(Protocol):
    def read(self, values: Tensor) -> None: ...


class _Extremes:
    """Smallest and largest value, and the largest magnitude."""

    def __init__(self) -> None:
        self.smallest = np.inf
        self.largest = 1e-6

    def read(self, values: Tensor) -> None:
        self.smallest = min(self.smallest, float(values.min()))
        self.largest = max(self.largest, float(values.abs().max()))


class _Channels:
    """The largest magnitude of every channel."""

    def __init__(self, num_channels: int) -> None:
        self.largest: NDArray[np.float32] = np.full(num_channels, 1e-6, np.float32)

    def read(self, values: Tensor) -> None:
        self.largest = np.maximum(self.largest, values.abs().flatten(0, -2).amax(dim=0).numpy())

    @property
    def scales(self) -> NDArray[np.float32]:
        return (self.largest / SIGNED_LEVELS).astype(np.float32)


class _Histogram:
    """Counts of magnitudes over [0, largest]."""

    def __init__(self, largest: float) -> None:
        self.largest = largest
        self.counts = np.zeros(NUM_BINS, np.int64)

    def read(self, values: Tensor) -> None:
        """Zeros are left out: they are exact at any clip."""
        magnitudes = values[values != 0].abs()
        self.counts += torch.histc(magnitudes, NUM_BINS, 0.0, self.largest).long().numpy()


class _Moments:
    """The mean of x xᵀ over all vectors x."""

    def __init__(self) -> None:
        self._sum: NDArray[np.float64] | None = None
        self._count = 0

    def read(self, values: Tensor) -> None:
        vectors = values.flatten(0, -2).numpy()
        products = (vectors.T @ vectors).astype(np.float64)
        self._sum = products if self._sum is None else self._sum + products
        self._count += len(vectors)

    @property
    def mean(self) -> NDArray[np.float64]:
        if self._sum is None:
            raise ValueError("the map read nothing")
        return self._sum / self._count


def _read_all(
    model: Transformer,
    texts: Sequence[tuple[Ids, Ids]],
    inputs: Mapping[str, _Reader],
    outputs: Mapping[str, _Reader],
) -> None:
    """Show every reader all that goes into, or comes out of, its map."""
    order = sorted(texts, key=lambda text: (len(text[0]), len(text[1])))
    shown = _Shown()
    with _watching(model, inputs, outputs, shown), torch.inference_mode():
        for first in range(0, len(order), BATCH_SOURCES):
            sources, targets = zip(*order[first : first + BATCH_SOURCES], strict=True)
            source_ids, shown.source_mask = pad(sources, model.config.pad_id)
            target_ids, shown.target_mask = pad(targets, model.config.pad_id)
            model(source_ids, shown.source_mask, target_ids)


class _Shown:
    """Where a batch's tokens are, bool [B, S] and [B, T]: readers are not shown what lies beside them."""

    source_mask: Tensor
    target_mask: Tensor

    def tokens(self, name: str, values: Tensor) -> Tensor:
        """Of a map's input or output [B, S or T, K] the tokens' own, [tokens, K]."""
        reads_source = name.startswith("encoder.") or name.endswith(
            ("cross_attention.key", "cross_attention.value")
        )
        return values[self.source_mask if reads_source else self.target_mask]


@contextmanager
def _watching(
    model: Transformer, inputs: Mapping[str, _Reader], outputs: Mapping[str, _Reader], shown: _Shown
) -> Iterator[None]:
    def read_input(name: str, _module: nn.Module, values: tuple[Tensor, ...]) -> None:
        inputs[name].read(shown.tokens(name, values[0]))

    def read_output(
        readers: Mapping[str, _Reader],
        name: str,
        _module: nn.Module,
        _values: tuple[Tensor, ...],
        output: Tensor,
    ) -> None:
        readers[name].read(shown.tokens(name, output))

    modules = dict(model.named_modules())
    handles = [
        modules[name].register_forward_pre_hook(partial(read_input, name))
        for name in inputs
        if name != OUTPUT
    ]
    if OUTPUT in inputs:
        handles.append(model.decoder_norm.register_forward_hook(partial(read_output, inputs, OUTPUT)))
    handles += [modules[name].register_forward_hook(partial(read_output, outputs, name)) for name in outputs]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _cached_maps(model: Transformer) -> list[str]:
    return [
        f"{name}.{part}"
        for name, attention in cached_attentions(model)
        for part in ("key", "value")
        if part == "key" or attention.value is not None
    ]


def cached_attentions(model: Transformer) -> list[tuple[str, Attention]]:
    """The decoder's attentions, whose K/V are kept from step to step, by name."""
    kinds = ("cross",) if model.config.autoregression == "ssru" else ("self", "cross")
    return [
        (f"decoder.{index}.{kind}_attention", getattr(layer, f"{kind}_attention"))
        for index, layer in enumerate(model.decoder_layers())
        for kind in kinds
    ]


def _maps(model: Transformer) -> list[str]:
    return [*(name for name, module in model.named_modules() if isinstance(module, nn.Linear)), OUTPUT]


def _greedy(model: Transformer, sources: Sequence[Ids], begin: Ids) -> list[Ids]:
    """Of sources of like length; each stops where it would alone."""
    most = [min(2 * len(source) + 10, model.config.max_positions - 1) for source in sources]
    source_ids, mask = pad(sources, model.config.pad_id)
    found = generate_greedy(model, source_ids, mask, max(most), begin)
    return [target[: limit - len(begin) + 1] for target, limit in zip(found, most, strict=True)]
