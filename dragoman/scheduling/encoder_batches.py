"""Choice of the sources that are encoded together."""

import math
from collections.abc import Sequence

from dragoman.contract import padded_width


def encoder_batches(lengths: Sequence[int], budget_tokens: int, run_tokens: int) -> list[list[int]]:
    """Group sources of similar length, so that encoder runs and padding together cost least.

    A batch is a rectangle, as wide as its longest source padded (`padded_width`), and each run costs
    `run_tokens` more. One of the best groupings takes sources in order of length, so one pass over the cut
    positions finds it.

    Args:
        lengths: tokens of each source.
        budget_tokens: maximum tokens of a batch, with padding; a longer source is alone.
        run_tokens: fixed cost of a run, in source tokens.

    Returns:
        Batches of indices into `lengths`: each index once, longest first.
    """
    order = sorted(range(len(lengths)), key=lambda index: -lengths[index])
    widths = [padded_width(lengths[index]) for index in order]
    costs = [0.0] + [math.inf] * len(order)  # by number of sources, the longest first
    begins = [0] * (len(order) + 1)  # start of the last batch, by number of sources
    for begin, width in enumerate(widths):
        most = min(len(order), begin + max(1, budget_tokens // width))
        base = costs[begin] + run_tokens
        first = begin + 1
        if begin and width == widths[begin - 1] and costs[begin] >= costs[begin - 1] + width:
            first = most  # a batch from one source earlier is as good for all other ends
        for end in range(first, most + 1):
            cost = base + width * (end - begin)
            if cost < costs[end]:
                costs[end], begins[end] = cost, begin
    batches: list[list[int]] = []
    end = len(order)
    while end:
        batches.append(order[begins[end] : end])
        end = begins[end]
    return batches[::-1]
