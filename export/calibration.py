"""Ranges of activations for quantisation, measured by running the model on real text.

Every int8 projection reads its input through one fixed range. A row's result then does not depend on the
other rows of the batch, or on anything seen at run time.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dragoman import contract
from dragoman.graphs.process_memory import give_back_free_memory
from export.activation_ranges import SIGNED_LEVELS, UNSIGNED_LEVELS, ActivationRange, Quantisation
from export.graph.precision.protocol import OUTPUT
from export.model_weights import Floats, ModelWeights, query_key_value
from export.recurrent_weights import KEY, state_ranges
from export.reference import DecoderRows, ReferenceGraphs

NUM_BINS = 4096
MIN_CLIP_RATIO = 1 / 64
"""Smallest clip, as a share of the largest magnitude: no outlier justifies a narrower range."""
NUM_CLIPS = 256
SMALLEST_MAGNITUDE = 1e-6
"""Lower bound on the largest magnitude: channels that are always zero have a range, too."""
BATCH_SOURCES = 16
"""Maximum number of sources per batch."""
BATCH_TOKENS = 384
"""Maximum number of tokens per batch, padding included, unless a single source has more. Activations of all
layers are in memory at once: 16 sources of 200 tokens took 2.5 times a model of OPUS-MT's size."""

Ids = Sequence[int]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Sample:
    """A source to calibrate on."""

    ids: Ids
    """Ids that the encoder reads, including the end-of-sentence id and any language ids."""
    begin: Ids
    """Ids that begin the target: the first starts the decoder, the others are forced."""


@dataclass(frozen=True, slots=True)
class SamplePair:
    """A source with the target that the decoder reads: `begin`, then the model's own greedy output."""

    source: Ids
    target: Ids


def translate_samples(
    model: ModelWeights, samples: Sequence[Sample], advance: Callable[[int], object] = lambda _: None
) -> tuple[list[SamplePair], dict[str, Floats]]:
    """Translate samples; find the steps with which decoder keys and values fit into 8 bits, per channel.

    Args:
        model: the model.
        samples: sources to calibrate on; a few hundred are enough.
        advance: called with the number of samples that are done.

    Returns:
        The pairs, and by the name of each key or value layer float32 [d]: 1/127 of the largest magnitude of
        each channel.

    Raises:
        ValueError: there are no samples.
    """
    if not samples:
        raise ValueError("calibration needs at least one source")
    graphs = ReferenceGraphs(model)
    largest: dict[str, Floats] = {}
    pairs: list[SamplePair] = []
    order = sorted(samples, key=lambda sample: (sample.begin, len(sample.ids)))
    for begin, group in itertools.groupby(order, key=lambda sample: sample.begin):
        for sources in batches([sample.ids for sample in group], len):
            limits = [min(2 * len(source) + 10, model.config.max_positions - 1) for source in sources]
            targets, rows = graphs.greedy(sources, begin, limits)
            pairs += (
                SamplePair(source, [*begin, *target]) for source, target in zip(sources, targets, strict=True)
            )
            for name, maxima in _cached_maxima(model, rows, pairs[-len(sources) :]):
                largest[name] = np.maximum(largest.get(name, np.float32(SMALLEST_MAGNITUDE)), maxima)
            advance(len(sources))
            give_back_free_memory()  # each batch has another size, and the C library would keep the holes
    return pairs, {name: maxima / np.float32(SIGNED_LEVELS) for name, maxima in largest.items()}


def calibrate(
    model: ModelWeights, pairs: Sequence[SamplePair], *, advance: Callable[[int], object] = lambda _: None
) -> Quantisation:
    """Measure the activation ranges of a model.

    Padding is not counted. The clip of a range minimises the mean squared error of rounding and clipping
    together.

    Args:
        model: the model.
        pairs: sources and targets to run.
        advance: called with the number of pairs that are done; each is run twice.
    """
    graphs = ReferenceGraphs(model, reads_inputs=True)
    extremes = {name: _ExtremeValues() for name in graphs.layers}
    _collect(graphs, pairs, lambda name, values: extremes[name].read(values), advance)
    histograms = {name: _Histogram(found.largest) for name, found in extremes.items()}

    _collect(graphs, pairs, lambda name, values: histograms[name].read(values), advance)
    ranges = {
        name: _range(found, histograms[name], is_signed=found.smallest < 0 or name == OUTPUT)
        for name, found in extremes.items()
    }
    return Quantisation(ranges | state_ranges(model.config))


def _cached_maxima(
    model: ModelWeights, rows: DecoderRows, pairs: Sequence[SamplePair]
) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Yield the largest magnitude of each channel of all keys and values that rows have read, [d]."""
    source_ends = [len(pair.source) for pair in pairs]
    if model.config.architecture == "bahdanau":
        yield KEY, _largest(rows.source[contract.cross_key(0)], source_ends)
        return
    target_ends = [len(pair.target) for pair in pairs]
    kinds = [("cross", rows.source, contract.cross_key, contract.cross_value, source_ends)]
    if model.config.autoregression == "attention":
        kinds.append(("self", rows.state, contract.self_key, contract.self_value, target_ends))
    layers = range(model.config.decoder_layers)
    for (kind, caches, key, value, ends), layer in itertools.product(kinds, layers):
        _, key_layer, value_layer = query_key_value(model.config, f"decoder.{layer}.{kind}_attention")
        for name, cache in {key_layer: caches[key(layer)], value_layer: caches[value(layer)]}.items():
            yield name, _largest(cache, ends)


def _largest(cache: Floats, ends: Sequence[int]) -> Floats:
    """Return the largest magnitude of each channel of keys or values [B, H, S, D] over tokens, [H x D]."""
    is_token = np.arange(cache.shape[2]) < np.array(ends)[:, None]
    vectors = cache.transpose(0, 2, 1, 3)[is_token]  # [tokens, H, D]
    largest: Floats = np.abs(vectors).max(axis=0).reshape(-1)
    return largest


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
    first_over = np.searchsorted(magnitudes, clips, side="right")

    def sum_over(values: NDArray[Any]) -> NDArray[np.float64]:
        """Return the sum over the bins above each clip."""
        return np.append(np.cumsum(values[::-1])[::-1], 0.0)[first_over]

    num_over = sum_over(counts)
    # The sum of (magnitude - clip) ** 2, expanded.
    cut = sum_over(counts * magnitudes**2) - 2 * clips * sum_over(counts * magnitudes) + clips**2 * num_over
    # Errors spread evenly from minus half a step to plus half a step have the variance step ** 2 / 12.
    rounded = (counts.sum() - num_over) * (clips / levels) ** 2 / 12
    return float(clips[np.argmin(cut + rounded)])


class _ExtremeValues:
    """Smallest value and largest magnitude."""

    def __init__(self) -> None:
        self.smallest = np.inf
        self.largest = SMALLEST_MAGNITUDE

    def read(self, values: Floats) -> None:
        smallest, greatest = float(values.min()), float(values.max())
        self.smallest = min(self.smallest, smallest)
        self.largest = max(self.largest, -smallest, greatest)


class _Histogram:
    """Histogram of magnitudes over [0, largest]."""

    def __init__(self, largest: float) -> None:
        self.largest = largest
        self.counts = np.zeros(NUM_BINS, np.int64)

    def read(self, values: Floats) -> None:
        """Count magnitudes, without zeros: they are exact at any clip."""
        magnitudes = np.abs(values[values != 0])
        bins = np.minimum((magnitudes * (NUM_BINS / self.largest)).astype(np.int64), NUM_BINS - 1)
        self.counts += np.bincount(bins, minlength=NUM_BINS)


def _collect(
    graphs: ReferenceGraphs,
    pairs: Sequence[SamplePair],
    read: Callable[[str, Floats], None],
    advance: Callable[[int], object],
) -> None:
    """Run all pairs; pass the inputs of each layer to `read`, without padding."""
    ordered = sorted(pairs, key=lambda pair: (len(pair.source), len(pair.target)))
    for batch in batches(ordered, lambda pair: max(len(pair.source), len(pair.target))):
        graphs.read_inputs([pair.source for pair in batch], [pair.target for pair in batch], read)
        advance(len(batch))
        give_back_free_memory()


def batches(items: Sequence[T], num_tokens: Callable[[T], int]) -> Iterator[Sequence[T]]:
    """Yield the items in order, as many at a time as the limits allow, and at least one."""
    batch: list[T] = []
    longest = 0
    for item in items:
        longest = max(longest, num_tokens(item))
        if batch and (len(batch) == BATCH_SOURCES or (len(batch) + 1) * longest > BATCH_TOKENS):
            yield batch
            batch, longest = [], num_tokens(item)
        batch.append(item)
    if batch:
        yield batch
