"""The end of a decoder step: from states to the K best tokens of each row.

Shapes: R rows, B sources, d model width, V target vocabulary, K candidates asked for, C tokens on the batch's
shortlist, P tokens on the longest shortlist of a source.
"""

import itertools
from dataclasses import replace

import numpy as np

from export.calibration import OUTPUT
from export.graph.blocks import Writer, array
from export.graph.builder import GraphBuilder
from export.graph.precision import Output

MAX_PART_TOKENS = 8192
"""Logits of 32 rows and as many tokens are 1 MiB: what a core's own cache still holds beside the weights."""
BEST = {"best_logprobs": "float32", "best_ids": "int64"}
BLOCK_TOKENS = 64
"""Side by side, of which the largest logit is found before the best of all are looked for."""
MANY_ROWS = 16
"""From here on that takes half the time; below, the operators it needs take as long as they save."""
HAS_MANY_ROWS = "has_many_rows"


def write_best(writer: Writer, states: str) -> None:
    """[R, d] -> best_logprobs, best_ids [R, K]: of its source's shortlist, or of all tokens without one."""
    graph = writer.graph
    num_rows = graph.op("Shape", states, attributes={"start": 0, "end": 1})
    few = graph.weight("few_rows", np.array([MANY_ROWS - 1], np.int64))
    graph.op("Squeeze", graph.op("Greater", num_rows, few), output=HAS_MANY_ROWS)
    if not writer.precision.takes_shortlists:
        _best_of_all(writer, states)
        return
    shortlisted = GraphBuilder("shortlisted", graph)
    complete = GraphBuilder("complete", graph)
    _best_of_shortlist(replace(writer, graph=shortlisted), states)
    _best_of_all(replace(writer, graph=complete), states)
    graph.choose("has_shortlist", shortlisted, complete, BEST)


def _best_of_all(writer: Writer, states: str) -> None:
    """The vocabulary is projected in parts, each small enough for its logits to stay in a core's cache until
    its best are picked. A part's own log-softmax gives its logsumexp, and those of the parts add up.
    """
    graph, parts = writer.graph, _parts(writer)
    num_best = graph.reshape("num_best", 1)
    if len(parts) == 1:
        (tokens,) = parts
        logprobs = graph.op("LogSoftmax", _logits(writer, states, tokens), attributes={"axis": -1})
        outputs = (graph.named("best_logprobs"), graph.named("best_ids"))
        _top_of_many(graph, _forbid(writer, logprobs, tokens), num_best, outputs, len(tokens))
        return
    found = [_best_of_part(writer, states, tokens) for tokens in parts if _is_reachable(writer, tokens)]
    logits, ids, normalisers = (
        graph.op("Concat", *each, attributes={"axis": 1}) for each in zip(*found, strict=True)
    )
    normaliser = graph.op("ReduceLogSumExp", normalisers, graph.ints(1))
    places = graph.named("places")
    _top(graph, graph.op("Sub", logits, normaliser), num_best, (graph.named("best_logprobs"), places))
    graph.op("GatherElements", ids, places, output=graph.named("best_ids"), attributes={"axis": 1})


def _parts(writer: Writer) -> tuple[range, ...]:
    """Of the vocabulary, all but the last of whole blocks and equally long."""
    num_tokens = writer.model.config.target_vocab_size
    num_parts = -(-num_tokens // MAX_PART_TOKENS)
    if num_parts == 1:
        return (range(num_tokens),)
    num_blocks = -(-num_tokens // (num_parts * BLOCK_TOKENS))
    bounds = [*range(0, num_tokens, num_blocks * BLOCK_TOKENS), num_tokens]
    return tuple(range(*part) for part in itertools.pairwise(bounds))


def _best_of_part(writer: Writer, states: str, tokens: range) -> tuple[str, str, str]:
    """Of some tokens side by side: the best ones' logits and ids [R, K'], and logsumexp [R, 1] of all."""
    graph = writer.graph
    first = tokens.start
    logits = _logits(writer, states, tokens)
    best_logprobs, places = graph.named(f"{first}.logprobs"), graph.named(f"{first}.places")
    num_best = graph.op("Min", graph.reshape("num_best", 1), graph.ints(len(tokens)))
    logprobs = graph.op("LogSoftmax", logits, attributes={"axis": -1})
    allowed = _forbid(writer, logprobs, tokens)
    _top_of_many(graph, allowed, num_best, (best_logprobs, places), len(tokens))
    if allowed == logprobs:
        best_logits = graph.op("GatherElements", logits, places, attributes={"axis": 1})
        shifts = graph.op("Sub", best_logits, best_logprobs)  # all alike but for rounding
        normaliser = graph.op("Slice", shifts, graph.ints(0), graph.ints(1), graph.ints(1))
    else:
        normaliser = _normaliser(writer, logits, logprobs, tokens)
        best_logits = graph.op("Add", best_logprobs, normaliser)
    return best_logits, graph.op("Add", places, graph.ints(first)), normaliser


def _normaliser(writer: Writer, logits: str, logprobs: str, tokens: range) -> str:
    """Logsumexp [R, 1] of a part whose best token may be a suppressed one, and so not among the best.

    Any token shows it that is not impossible before the softmax: minus infinity less itself is no number.
    """
    graph, bias = writer.graph, array(writer.model.output_bias)[tokens.start : tokens.stop]
    place = int(np.isfinite(bias).argmax())
    ends = (graph.ints(place), graph.ints(place + 1), graph.ints(1))
    return graph.op("Sub", graph.op("Slice", logits, *ends), graph.op("Slice", logprobs, *ends))


def _is_reachable(writer: Writer, tokens: range) -> bool:
    """Whether any of them is possible before the softmax; a part of others is left out, as it has no sum."""
    bias = array(writer.model.output_bias)[tokens.start : tokens.stop]
    return bool((bias > -np.inf).any())


def _forbid(writer: Writer, logprobs: str, tokens: range) -> str:
    """Log-probabilities [R, len(tokens)], minus infinity for the suppressed ones; as they are without any."""
    places = [token - tokens.start for token in writer.model.config.suppressed_ids if token in tokens]
    if not places:
        return logprobs
    bias = np.zeros(len(tokens), np.float32)
    bias[places] = -np.inf
    return writer.graph.op("Add", logprobs, writer.graph.weight(f"suppressed.{tokens.start}", bias))


def _best_of_shortlist(writer: Writer, states: str) -> None:
    """One product for the tokens on the batch's shortlist; then every row looks at its own source's only.

    A row's log-softmax runs over its own source's candidates, so its numbers do not depend on what others
    brought to the batch.
    """
    graph = writer.graph
    logits = writer.precision.shortlisted(graph, states, _output(writer))  # [R, C]
    own_logits = graph.op("GatherElements", logits, "candidates", attributes={"axis": 1})  # [R, P]
    allowed = graph.op("Add", own_logits, "candidate_bias")
    logprobs = graph.op("LogSoftmax", allowed, attributes={"axis": -1})
    if writer.model.config.suppressed_ids:
        logprobs = graph.op("Add", logprobs, _suppression(writer))
    places = graph.named("places")
    _top(graph, logprobs, graph.reshape("num_best", 1), (graph.named("best_logprobs"), places))
    listed = graph.op("GatherElements", "candidates", places, attributes={"axis": 1})
    graph.op("Gather", "shortlist", listed, output=graph.named("best_ids"))


def _suppression(writer: Writer) -> str:
    """0 for the row's candidates that may be said, minus infinity for the suppressed ones, [R, P]."""
    graph, config = writer.graph, writer.model.config
    bias = np.zeros(config.target_vocab_size, np.float32)
    bias[list(config.suppressed_ids)] = -np.inf
    listed = graph.op("Gather", graph.weight("suppressed", bias), "shortlist")
    return graph.op("Gather", listed, "candidates")


def _top(graph: GraphBuilder, values: str, count: str, outputs: tuple[str, str]) -> None:
    graph.node("TopK", (values, count), outputs, attributes={"axis": -1, "sorted": 1})


def _top_of_many(
    graph: GraphBuilder, values: str, count: str, outputs: tuple[str, str], num_values: int
) -> None:
    """`_top` of values [R, num_values]; both ways find the same, equal values included."""
    if num_values % BLOCK_TOKENS:
        _top(graph, values, count, outputs)
        return
    by_value, by_block = (GraphBuilder(f"{outputs[0]}.{way}", graph) for way in ("by_value", "by_block"))
    _top(by_value, values, count, (by_value.named(outputs[0]), by_value.named(outputs[1])))
    _top_by_block(by_block, values, count, (by_block.named(outputs[0]), by_block.named(outputs[1])))
    types = dict(zip(outputs, BEST.values(), strict=True))
    graph.choose(HAS_MANY_ROWS, by_block, by_value, types)


def _top_by_block(graph: GraphBuilder, values: str, count: str, outputs: tuple[str, str]) -> None:
    """The K best lie in the K blocks with the largest maxima.

    Of equal values the first counts as better, here as in `TopK`: so blocks are read in their order.
    """
    blocks = graph.reshape(values, 0, -1, BLOCK_TOKENS)
    maxima = graph.op("ReduceMax", blocks, graph.ints(-1), attributes={"keepdims": 0})
    num_blocks = graph.op("Min", count, graph.op("Shape", maxima, attributes={"start": 1, "end": 2}))
    best_blocks, in_order = graph.named("best_blocks"), graph.named("blocks_in_order")
    _top(graph, maxima, num_blocks, (graph.named("best_maxima"), best_blocks))
    graph.node(
        "TopK",
        (best_blocks, num_blocks),
        (in_order, graph.named("block_ranks")),
        attributes={"axis": -1, "largest": 0, "sorted": 1},
    )
    rows = graph.op("Unsqueeze", in_order, graph.ints(-1))
    candidates = graph.reshape(graph.op("GatherND", blocks, rows, attributes={"batch_dims": 1}), 0, -1)
    places = graph.named("places")
    _top(graph, candidates, count, (outputs[0], places))
    size = graph.weight("block_tokens", np.array(BLOCK_TOKENS, np.int64))
    nth = graph.op("Div", places, size)
    block = graph.op("GatherElements", in_order, nth, attributes={"axis": 1})
    shift = graph.op("Mul", graph.op("Sub", block, nth), size)
    graph.op("Add", places, shift, output=outputs[1])


def _logits(writer: Writer, states: str, tokens: range) -> str:
    """[R, d] -> [R, len(tokens)]."""
    return writer.precision.output(writer.graph, states, _output(writer), tokens)


def _output(writer: Writer) -> Output:
    model = writer.model
    name = "embedding" if model.output_weight is None else f"{OUTPUT}.weight"
    return Output(name, array(model.output_projection), array(model.output_bias), _parts(writer))
