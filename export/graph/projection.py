"""End of a decoder step: from states to the K best tokens of each row, and to wanted tokens.

Shapes: R rows, B sources, d model width, V target vocabulary, K requested candidates, C tokens on the batch's
shortlist, P tokens on the longest shortlist of a source, or without shortlists the wanted tokens: 1 or 0.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from dragoman.contract import LISTED_ROWS
from export.graph.blocks import GraphWriter
from export.graph.builder import GraphBuilder
from export.graph.precision.protocol import OUTPUT, OutputProjection
from export.model_weights import OUTPUT_BIAS, ModelWeights

MAX_PART_TOKENS = 8192
"""Maximum tokens per part: logits of 32 rows are then 1 MiB, which fits a core's cache with the weights."""
BEST = {"best_logprobs": "float32", "best_ids": "int64"}
WANTED = {"wanted_logprobs": "float32"}
LISTED = {LISTED_ROWS: "uint8"}
BLOCK_TOKENS = 64
"""Number of adjacent tokens per block; the largest logit of each is found before the best of all."""
MIN_BLOCK_ROWS = 16
"""Number of rows from which blocks halve the time; below, their operators take as long as they save."""
HAS_MANY_ROWS = "has_many_rows"


@dataclass(frozen=True, slots=True)
class _OutputWriter(GraphWriter):
    projection: OutputProjection
    """The output projection, read once: all its parts share it."""


def write_logprobs(writer: GraphWriter, states: str) -> None:
    """Write [R, d] -> best_logprobs, best_ids [R, K], wanted_logprobs [R, P], listed_rows [C, d].

    The best are of the source's shortlist, or of all tokens without one. A precision without shortlists
    returns nothing for a shortlist.
    """
    writer = _OutputWriter(writer.graph, writer.model, writer.precision, _read_projection(writer.model))
    graph = writer.graph
    num_rows = graph.op("Shape", states, start=0, end=1)
    max_few_rows = graph.weight("few_rows", np.array([MIN_BLOCK_ROWS - 1], np.int64))
    graph.op("Squeeze", graph.op("Greater", num_rows, max_few_rows), output=HAS_MANY_ROWS)
    shortlist_output, complete = GraphBuilder("shortlisted", graph), GraphBuilder("complete", graph)
    if writer.precision.can_use_shortlists:
        _best_of_shortlist(replace(writer, graph=shortlist_output), states)
        shortlist_output.add_empty(WANTED)
    else:
        shortlist_output.add_empty(BEST | WANTED | LISTED)
    _best_of_all(replace(writer, graph=complete), states)
    complete.add_empty(LISTED)
    graph.choose("has_shortlist", shortlist_output, complete, BEST | WANTED | LISTED)


def _best_of_all(writer: _OutputWriter, states: str) -> None:
    """Project the vocabulary in parts, each small enough for its logits to stay in a core's cache until its
    best are picked. A part's own log-softmax gives its logsumexp; these combine to that of the vocabulary.
    A wanted token is picked from the same numbers.
    """
    graph, parts = writer.graph, writer.projection.parts
    num_best = graph.reshape("num_best", 1)
    if len(parts) == 1:
        (tokens,) = parts
        logprobs = graph.op("LogSoftmax", _logits(writer, states, tokens), axis=-1)
        masked_logprobs = _mask_suppressed(writer, logprobs, tokens)
        _top_k_of_vocabulary(graph, masked_logprobs, num_best, ("best_logprobs", "best_ids"), len(tokens))
        wanted = graph.named("wanted_logprobs")
        graph.op("GatherElements", masked_logprobs, "candidates", output=wanted, axis=1)
        return
    own_places = graph.op("Mod", "candidates", graph.ints(len(parts[0])))
    found = [
        _best_of_part(writer, (states, own_places), tokens)
        for tokens in parts
        if _is_reachable(writer, tokens)
    ]
    logits, ids, normalisers = (
        graph.op("Concat", *(getattr(part, name) for part in found), axis=1)
        for name in ("best_logits", "best_ids", "normaliser")
    )
    normaliser = graph.op("ReduceLogSumExp", normalisers, graph.ints(1))
    positions = graph.named("places")
    _top_k(graph, graph.op("Sub", logits, normaliser), num_best, (graph.named("best_logprobs"), positions))
    graph.op("GatherElements", ids, positions, output=graph.named("best_ids"), axis=1)
    wanted = _wanted_of_parts(writer, {part.tokens: part.wanted_logits for part in found})
    graph.op("Sub", wanted, normaliser, output=graph.named("wanted_logprobs"))


def _wanted_of_parts(writer: _OutputWriter, found: Mapping[range, str]) -> str:
    """Return logits [R, P] of the wanted tokens, each from its own part; all parts in `found` have [R, P]."""
    graph, parts = writer.graph, writer.projection.parts
    if len(found) < len(parts):
        impossible = graph.weight("impossible", np.array([-np.inf], np.float32))
        unreachable_logits = graph.op("Expand", impossible, graph.op("Shape", "candidates"))
        found = {tokens: found.get(tokens, unreachable_logits) for tokens in parts}
    joined = graph.op("Concat", *(found[tokens] for tokens in parts), axis=1)
    part = graph.op("Div", "candidates", graph.ints(len(parts[0])))
    return graph.op("GatherElements", joined, part, axis=1)


def _vocabulary_parts(num_tokens: int) -> tuple[range, ...]:
    """Split the vocabulary into parts; all but the last have whole blocks and the same length."""
    num_parts = -(-num_tokens // MAX_PART_TOKENS)
    if num_parts == 1:
        return (range(num_tokens),)
    num_blocks = -(-num_tokens // (num_parts * BLOCK_TOKENS))
    bounds = [*range(0, num_tokens, num_blocks * BLOCK_TOKENS), num_tokens]
    return tuple(range(*part) for part in itertools.pairwise(bounds))


@dataclass(frozen=True, slots=True)
class _PartResult:
    """Results for a part of the vocabulary."""

    tokens: range
    best_logits: str
    """Best logits, [R, K'], with K' at most the number of tokens."""
    best_ids: str
    """Ids of these, [R, K']."""
    normaliser: str
    """Logsumexp of all tokens of the part, [R, 1]."""
    wanted_logits: str
    """Logits of the wanted tokens, [R, P]; meaningful only for a wanted token in this part."""


def _best_of_part(writer: _OutputWriter, read: tuple[str, str], tokens: range) -> _PartResult:
    """Project a part. `read`: states [R, d], and positions [R, P] of the wanted tokens within their parts."""
    graph, (states, own_places) = writer.graph, read
    first = tokens.start
    logits = _logits(writer, states, tokens)
    names = (f"{first}.logprobs", f"{first}.places")
    best_logprobs, positions = map(graph.named, names)
    num_best = graph.op("Min", graph.reshape("num_best", 1), graph.ints(len(tokens)))
    logprobs = graph.op("LogSoftmax", logits, axis=-1)
    masked_logprobs = _mask_suppressed(writer, logprobs, tokens)
    _top_k_of_vocabulary(graph, masked_logprobs, num_best, names, len(tokens))
    if len(tokens) < len(writer.projection.parts[0]):
        own_places = graph.op("Min", own_places, graph.ints(len(tokens) - 1))
    wanted = graph.op(
        "GatherElements", logits if masked_logprobs == logprobs else masked_logprobs, own_places, axis=1
    )
    if masked_logprobs == logprobs:
        best_logits = graph.op("GatherElements", logits, positions, axis=1)
        shifts = graph.op("Sub", best_logits, best_logprobs)  # equal except for rounding
        normaliser = graph.op("Slice", shifts, graph.ints(0), graph.ints(1), graph.ints(1))
    else:
        normaliser = _normaliser(writer, logits, logprobs, tokens)
        best_logits = graph.op("Add", best_logprobs, normaliser)
        wanted = graph.op("Add", wanted, normaliser)
    return _PartResult(tokens, best_logits, graph.op("Add", positions, graph.ints(first)), normaliser, wanted)


def _normaliser(writer: _OutputWriter, logits: str, logprobs: str, tokens: range) -> str:
    """Return the logsumexp [R, 1] of a part whose best token may be suppressed, so that it has no best logit.

    Any token that is possible before the softmax gives it; minus infinity minus itself would be NaN.
    """
    graph, bias = writer.graph, writer.projection.bias[tokens.start : tokens.stop]
    position = int(np.isfinite(bias).argmax())
    ends = (graph.ints(position), graph.ints(position + 1), graph.ints(1))
    return graph.op("Sub", graph.op("Slice", logits, *ends), graph.op("Slice", logprobs, *ends))


def _is_reachable(writer: _OutputWriter, tokens: range) -> bool:
    """Return whether any token is possible before the softmax; a part without one is left out."""
    bias = writer.projection.bias[tokens.start : tokens.stop]
    return bool((bias > -np.inf).any())


def _mask_suppressed(writer: _OutputWriter, logprobs: str, tokens: range) -> str:
    """Set log-probabilities [R, len(tokens)] of suppressed tokens to minus infinity, if there are any."""
    positions = [token - tokens.start for token in writer.model.config.suppressed_ids if token in tokens]
    if not positions:
        return logprobs
    bias = np.zeros(len(tokens), np.float32)
    bias[positions] = -np.inf
    return writer.graph.op("Add", logprobs, writer.graph.weight(f"suppressed.{tokens.start}", bias))


def _best_of_shortlist(writer: _OutputWriter, states: str) -> None:
    """Project the tokens on the batch's shortlist at once; each row then uses only its own source's.

    A row's log-softmax runs over its own source's candidates, so its numbers do not depend on the other
    sources in the batch.
    """
    graph = writer.graph
    logits = writer.precision.shortlist_output(graph, states, writer.projection)  # [R, C]
    own_logits = graph.op("GatherElements", logits, "candidates", axis=1)  # [R, P]
    masked_logprobs = graph.op("Add", own_logits, "candidate_bias")
    logprobs = graph.op("LogSoftmax", masked_logprobs, axis=-1)
    if writer.model.config.suppressed_ids:
        logprobs = graph.op("Add", logprobs, _suppression(writer))
    positions = graph.named("places")
    _top_k(graph, logprobs, graph.reshape("num_best", 1), (graph.named("best_logprobs"), positions))
    listed = graph.op("GatherElements", "candidates", positions, axis=1)
    graph.op("Gather", "shortlist", listed, output=graph.named("best_ids"))


def _suppression(writer: _OutputWriter) -> str:
    """Return 0 for the row's allowed candidates, minus infinity for the suppressed ones, [R, P]."""
    graph, config = writer.graph, writer.model.config
    bias = np.zeros(config.target_vocab_size, np.float32)
    bias[list(config.suppressed_ids)] = -np.inf
    listed = graph.op("Gather", graph.weight("suppressed", bias), "shortlist")
    return graph.op("Gather", listed, "candidates")


def _top_k(graph: GraphBuilder, values: str, count: str, outputs: tuple[str, str]) -> None:
    graph.node("TopK", (values, count), outputs, axis=-1, sorted=1)


def _top_k_of_vocabulary(
    graph: GraphBuilder, values: str, count: str, outputs: tuple[str, str], num_values: int
) -> None:
    """Write `_top_k` of values [R, num_values] in one of two ways with the same result, ties included.

    `outputs` do not have a branch's prefix yet (`named`).
    """
    if num_values % BLOCK_TOKENS:
        _top_k(graph, values, count, (graph.named(outputs[0]), graph.named(outputs[1])))
        return
    by_value, by_block = (GraphBuilder(f"{outputs[0]}.{way}", graph) for way in ("by_value", "by_block"))
    _top_k(by_value, values, count, (by_value.named(outputs[0]), by_value.named(outputs[1])))
    _top_k_by_block(by_block, values, count, (by_block.named(outputs[0]), by_block.named(outputs[1])))
    types = dict(zip(outputs, BEST.values(), strict=True))
    graph.choose(HAS_MANY_ROWS, by_block, by_value, types)


def _top_k_by_block(graph: GraphBuilder, values: str, count: str, outputs: tuple[str, str]) -> None:
    """Find the K best values in the K blocks with the largest maxima.

    Of equal values the first is better, here as in `TopK`, so blocks are read in ascending order.
    """
    blocks = graph.reshape(values, 0, -1, BLOCK_TOKENS)
    maxima = graph.op("ReduceMax", blocks, graph.ints(-1), keepdims=0)
    num_blocks = graph.op("Min", count, graph.op("Shape", maxima, start=1, end=2))
    best_blocks, in_order = graph.named("best_blocks"), graph.named("blocks_in_order")
    _top_k(graph, maxima, num_blocks, (graph.named("best_maxima"), best_blocks))
    graph.node(
        "TopK",
        (best_blocks, num_blocks),
        (in_order, graph.named("block_ranks")),
        axis=-1,
        largest=0,
        sorted=1,
    )
    rows = graph.op("Unsqueeze", in_order, graph.ints(-1))
    candidates = graph.reshape(graph.op("GatherND", blocks, rows, batch_dims=1), 0, -1)
    positions = graph.named("places")
    _top_k(graph, candidates, count, (outputs[0], positions))
    size = graph.weight("block_tokens", np.array(BLOCK_TOKENS, np.int64))
    nth = graph.op("Div", positions, size)
    block = graph.op("GatherElements", in_order, nth, axis=1)
    shift = graph.op("Mul", graph.op("Sub", block, nth), size)
    graph.op("Add", positions, shift, output=outputs[1])


def _logits(writer: _OutputWriter, states: str, tokens: range) -> str:
    """Project [R, d] to [R, len(tokens)]."""
    return writer.precision.output(writer.graph, states, writer.projection, tokens)


def _read_projection(model: ModelWeights) -> OutputProjection:
    name = "embedding" if model.config.tied_output else f"{OUTPUT}.weight"
    parts = _vocabulary_parts(model.config.target_vocab_size)
    return OutputProjection(name, model.output_projection, model.weights[OUTPUT_BIAS], parts)
