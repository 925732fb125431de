"""Ranges of activations for quantisation, measured by running the model on real text.

Every int8 projection reads its input through one fixed range. A row's result then does not depend on the
other rows of the batch, or on anything seen at run time.
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
"""Name of the output projection among the names of the model's linear layers."""
NUM_BINS = 4096
SIGNED_LEVELS = 127
UNSIGNED_LEVELS = 255
MIN_CLIP_RATIO = 1 / 64
"""Smallest clip, as a share of the largest magnitude: no outlier justifies a narrower range."""
NUM_CLIPS = 256
BATCH_SOURCES = 16
"""Number of sources per batch."""

Ids = Sequence[int]


@dataclass(frozen=True, slots=True)
class Sample:
    """A source to calibrate on."""

    ids: Ids
    """Ids that the encoder reads, including the end-of-sentence id and any language ids."""
    begin: Ids
    """Ids that begin the target: the first starts the decoder, the others are forced."""


@dataclass(frozen=True, slots=True)
class ActivationRange:
    """Range to which the input of a projection is clipped before it is rounded to 8 bits."""

    clip: float
    """Largest magnitude kept."""
    is_signed: bool
    """Whether the levels cover negative values; if not, all 255 of them lie above zero."""

    @property
    def scale(self) -> float:
        """Distance between neighbouring levels."""
        return self.clip / (SIGNED_LEVELS if self.is_signed else UNSIGNED_LEVELS)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Everything that int8 and int4 graphs fix at export."""

    ranges: Mapping[str, ActivationRange]
    """Range of the input of every linear layer, by the layer's name in the model, and of `OUTPUT`."""
    moments: Mapping[str, NDArray[np.float64]]
    """Mean of x xᵀ over the inputs x of the requested layers, [K, K]."""


def calibrate(
    model: Transformer, samples: Sequence[Sample], moment_layers: Sequence[str] = ()
) -> Calibration:
    """Measure the activation ranges of a model.

    Padding is not counted. The decoder reads the model's own greedy output. The clip of a range minimises the
    mean squared error of rounding and clipping together.

    Args:
        model: in eval mode.
        samples: sources to calibrate on; a few hundred are enough.
        moment_layers: names of linear layers, or `OUTPUT`, to compute moments for; K inputs cost 8 K² bytes.

    Raises:
        ValueError: there are no samples.
    """
    texts = _with_greedy_targets(model, samples)
    extremes = {name: _ExtremeValues() for name in _linear_layers(model)}
    _collect(model, texts, extremes, {})
    histograms = {name: _Histogram(found.largest) for name, found in extremes.items()}
    _collect(model, texts, histograms, {})
    moments = {name: _Moments() for name in moment_layers}
    if moments:
        _collect(model, texts, moments, {})
    ranges = {
        name: _range(found, histograms[name], is_signed=found.smallest < 0 or name == OUTPUT)
        for name, found in extremes.items()
    }
    return Calibration(ranges, {name: found.mean for name, found in moments.items()})


def cache_steps(model: Transformer, samples: Sequence[Sample]) -> dict[str, NDArray[np.float32]]:
    """Return the steps with which decoder keys and values fit into 8 bits, per output channel.

    Args:
        model: in eval mode.
        samples: as for `calibrate`.

    Returns:
        float32 [d] by name of the key or value layer: 1/127 of the largest magnitude of each channel.

    Raises:
        ValueError: there are no samples.
    """
    caches = {name: _ChannelMaxima(model.config.d_model) for name in _cached_layers(model)}
    _collect(model, _with_greedy_targets(model, samples), {}, caches)
    return {name: found.scales for name, found in caches.items()}


def _with_greedy_targets(model: Transformer, samples: Sequence[Sample]) -> list[tuple[Ids, Ids]]:
    """Return each source with the target that the decoder reads: the model's own greedy output."""
    if not samples:
        raise ValueError("calibration needs at least one source")
    order = sorted(range(len(samples)), key=lambda index: (samples[index].begin, len(samples[index].ids)))
    targets: dict[int, Ids] = {}
    for begin, group in itertools.groupby(order, key=lambda index: samples[index].begin):
        indices = list(group)
        for first in range(0, len(indices), BATCH_SOURCES):
            batch = indices[first : first + BATCH_SOURCES]
            found = _greedy(model, [samples[index].ids for index in batch], begin)
            targets.update(zip(batch, found, strict=True))
    return [(sample.ids, [*sample.begin, *targets[index]]) for index, sample in enumerate(samples)]


def decoder_step_layers(model: Transformer) -> list[str]:
    """Return the names of the linear layers in a decoder step. Joined layers have the name of the first:
    query, key and value that of the query; cell and gate of a recurrent unit that of the cell.
    """
    return [
        name
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear)
        and name.startswith("decoder.")
        and not name.endswith((".key", ".value", ".forget"))
    ]


def _range(found: "_ExtremeValues", histogram: "_Histogram", *, is_signed: bool) -> ActivationRange:
    """Return a range. `OUTPUT` is always signed, because the product with a shortlist reads it as signed."""
    return ActivationRange(best_clip(histogram.counts, found.largest, is_signed=is_signed), is_signed)


def best_clip(counts: NDArray[np.int64], largest: float, *, is_signed: bool) -> float:
    """Return the clip with the least mean squared error; a smaller clip rounds finer but cuts off more.

    Args:
        counts: int64 [N], a histogram of magnitudes over [0, largest].
        largest: the largest magnitude.
        is_signed: whether the levels also cover negative values.
    """
    levels = SIGNED_LEVELS if is_signed else UNSIGNED_LEVELS
    width = largest / len(counts)
    magnitudes = (np.arange(len(counts)) + 0.5) * width
    clips = np.geomspace(MIN_CLIP_RATIO, 1.0, NUM_CLIPS) * largest
    over = np.maximum(magnitudes - clips[:, None], 0.0)  # [clips, bins]
    cut = (over**2 * counts).sum(axis=1)
    # Errors spread evenly from minus half a step to plus half a step have the variance step ** 2 / 12.
    rounded = np.where(over > 0, 0, counts).sum(axis=1) * (clips / levels) ** 2 / 12
    return float(clips[np.argmin(cut + rounded)])


class _Collector(Protocol):
    def read(self, values: Tensor) -> None: ...


class _ExtremeValues:
    """Smallest value and largest magnitude."""

    def __init__(self) -> None:
        self.smallest = np.inf
        self.largest = 1e-6

    def read(self, values: Tensor) -> None:
        self.smallest = min(self.smallest, float(values.min()))
        self.largest = max(self.largest, float(values.abs().max()))


class _ChannelMaxima:
    """Largest magnitude of every channel."""

    def __init__(self, num_channels: int) -> None:
        self.largest: NDArray[np.float32] = np.full(num_channels, 1e-6, np.float32)

    def read(self, values: Tensor) -> None:
        self.largest = np.maximum(self.largest, values.abs().flatten(0, -2).amax(dim=0).numpy())

    @property
    def scales(self) -> NDArray[np.float32]:
        return (self.largest / SIGNED_LEVELS).astype(np.float32)


class _Histogram:
    """Histogram of magnitudes over [0, largest]."""

    def __init__(self, largest: float) -> None:
        self.largest = largest
        self.counts = np.zeros(NUM_BINS, np.int64)

    def read(self, values: Tensor) -> None:
        """Count magnitudes, without zeros: they are exact at any clip."""
        magnitudes = values[values != 0].abs()
        self.counts += torch.histc(magnitudes, NUM_BINS, 0.0, self.largest).long().numpy()


class _Moments:
    """Mean of x xᵀ over all vectors x."""

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
            raise ValueError("no vectors were collected")
        return self._sum / self._count


def _collect(
    model: Transformer,
    texts: Sequence[tuple[Ids, Ids]],
    inputs: Mapping[str, _Collector],
    outputs: Mapping[str, _Collector],
) -> None:
    """Run the model on all texts; pass each reader the inputs or outputs of its layer."""
    order = sorted(texts, key=lambda text: (len(text[0]), len(text[1])))
    masks = _TokenMasks()
    with _register_hooks(model, inputs, outputs, masks), torch.inference_mode():
        for first in range(0, len(order), BATCH_SOURCES):
            sources, targets = zip(*order[first : first + BATCH_SOURCES], strict=True)
            source_ids, masks.source_mask = pad(sources, model.config.pad_id)
            target_ids, masks.target_mask = pad(targets, model.config.pad_id)
            model(source_ids, masks.source_mask, target_ids)


class _TokenMasks:
    """Token masks of a batch, bool [B, S] and [B, T], which hide padding from the readers."""

    source_mask: Tensor
    target_mask: Tensor

    def tokens(self, name: str, values: Tensor) -> Tensor:
        """Return the vectors of tokens, [tokens, K], in a layer's input or output [B, S or T, K]."""
        reads_source = name.startswith("encoder.") or name.endswith(
            ("cross_attention.key", "cross_attention.value")
        )
        return values[self.source_mask if reads_source else self.target_mask]


@contextmanager
def _register_hooks(
    model: Transformer,
    inputs: Mapping[str, _Collector],
    outputs: Mapping[str, _Collector],
    masks: _TokenMasks,
) -> Iterator[None]:
    def read_input(name: str, _module: nn.Module, values: tuple[Tensor, ...]) -> None:
        inputs[name].read(masks.tokens(name, values[0]))

    def read_output(
        readers: Mapping[str, _Collector],
        name: str,
        _module: nn.Module,
        _values: tuple[Tensor, ...],
        output: Tensor,
    ) -> None:
        readers[name].read(masks.tokens(name, output))

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


def _cached_layers(model: Transformer) -> list[str]:
    return [
        f"{name}.{part}"
        for name, attention in cached_attentions(model)
        for part in ("key", "value")
        if part == "key" or attention.value is not None
    ]


def cached_attentions(model: Transformer) -> list[tuple[str, Attention]]:
    """Return name and module of each decoder attention whose K/V are cached between steps."""
    kinds = ("cross",) if model.config.autoregression == "ssru" else ("self", "cross")
    return [
        (f"decoder.{index}.{kind}_attention", getattr(layer, f"{kind}_attention"))
        for index, layer in enumerate(model.decoder_layers())
        for kind in kinds
    ]


def _linear_layers(model: Transformer) -> list[str]:
    return [*(name for name, module in model.named_modules() if isinstance(module, nn.Linear)), OUTPUT]


def _greedy(model: Transformer, sources: Sequence[Ids], begin: Ids) -> list[Ids]:
    """Translate sources of similar length; each target ends where it would alone."""
    most = [min(2 * len(source) + 10, model.config.max_positions - 1) for source in sources]
    source_ids, mask = pad(sources, model.config.pad_id)
    found = generate_greedy(model, source_ids, mask, max(most), begin)
    return [target[: limit - len(begin) + 1] for target, limit in zip(found, most, strict=True)]
