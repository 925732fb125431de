"""What rounding needs to know of activations, measured on real text run through the model.

Every int8 projection reads its input through one range that never changes: a row's numbers then do not
depend on the rows beside it, nor on anything seen at run time.
"""

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
from export.model.generate import generate_greedy

OUTPUT = "output"
"""Stands for the output projection among the names of the model's linear maps."""
NUM_BINS = 4096
SIGNED_LEVELS = 127
UNSIGNED_LEVELS = 255
SMALLEST_CLIP = 1 / 64
"""Of the largest magnitude seen; no outlier is worth cutting the range further."""
NUM_CLIPS = 256

Ids = Sequence[int]


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


def calibrate(model: Transformer, sources: Sequence[Ids], moments_of: Sequence[str] = ()) -> Calibration:
    """Measure every range.

    Sources are read one by one, so that no padding is counted, and the decoder reads the model's own greedy
    output. The clip of an activation range minimises the mean squared error of rounding and cutting together.

    Args:
        model: in eval mode.
        sources: lists of ids, each ending in the end-of-sentence id; a few hundred do.
        moments_of: names of linear maps, or `OUTPUT`; a map of K inputs costs 8 K² bytes.

    Raises:
        ValueError: there is no source.
    """
    texts = _texts(model, sources)
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


def cache_steps(model: Transformer, sources: Sequence[Ids]) -> dict[str, NDArray[np.float32]]:
    """Steps in which K/V fit into 8 bits: the output of every key and value map in the decoder, by channel.

    Args:
        model: in eval mode.
        sources: as for `calibrate`.

    Returns:
        By the map's name, float32 [d]: a 127th of the largest magnitude of each channel.

    Raises:
        ValueError: there is no source.
    """
    caches = {name: _Channels(model.config.d_model) for name in _cached_maps(model)}
    _read_all(model, _texts(model, sources), {}, caches)
    return {name: found.scales for name, found in caches.items()}


def _texts(model: Transformer, sources: Sequence[Ids]) -> list[tuple[Ids, Ids]]:
    """Sources, each with the model's own output."""
    if not sources:
        raise ValueError("calibration needs at least one source")
    return [(source, _greedy(model, source)) for source in sources]


def maps_of_a_step(model: Transformer) -> list[str]:
    """Linear maps that a decoder step reads, by their first name: key and value are made with the query."""
    return [
        name
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear)
        and name.startswith("decoder.")
        and not name.endswith((".key", ".value"))
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
    with _watching(model, inputs, outputs), torch.inference_mode():
        for source, target in texts:
            ids = torch.tensor([source])
            model(ids, torch.ones_like(ids, dtype=torch.bool), torch.tensor([[model.config.bos_id, *target]]))


@contextmanager
def _watching(
    model: Transformer, inputs: Mapping[str, _Reader], outputs: Mapping[str, _Reader]
) -> Iterator[None]:
    def read_input(reader: _Reader, _module: nn.Module, values: tuple[Tensor, ...]) -> None:
        reader.read(values[0])

    def read_output(reader: _Reader, _module: nn.Module, _values: tuple[Tensor, ...], output: Tensor) -> None:
        reader.read(output)

    modules = dict(model.named_modules())
    handles = [
        modules[name].register_forward_pre_hook(partial(read_input, reader))
        for name, reader in inputs.items()
        if name != OUTPUT
    ]
    if OUTPUT in inputs:
        handles.append(model.decoder_norm.register_forward_hook(partial(read_output, inputs[OUTPUT])))
    handles += [
        modules[name].register_forward_hook(partial(read_output, reader)) for name, reader in outputs.items()
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _cached_maps(model: Transformer) -> list[str]:
    return [
        f"decoder.{index}.{kind}.{part}"
        for index, layer in enumerate(model.decoder_layers())
        for kind, attention in (
            ("self_attention", layer.self_attention),
            ("cross_attention", layer.cross_attention),
        )
        for part in ("key", "value")
        if part == "key" or attention.value is not None
    ]


def _maps(model: Transformer) -> list[str]:
    return [*(name for name, module in model.named_modules() if isinstance(module, nn.Linear)), OUTPUT]


def _greedy(model: Transformer, source: Ids) -> Ids:
    ids = torch.tensor([source])
    most = min(2 * len(source) + 10, model.config.max_positions - 1)
    (target,) = generate_greedy(model, ids, torch.ones_like(ids, dtype=torch.bool), most)
    return target
