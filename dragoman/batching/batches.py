"""Batches of sources of like length: pure policy, counted in padded tokens."""

from collections.abc import Sequence


def plan_batches(lengths: Sequence[int], budget_tokens: int, max_sources: int) -> list[list[int]]:
    """Group sources so that little is padded: longest first, cut when the next would not fit.

    A batch is a rectangle, every source padded to the longest. Among neighbours in order of length the
    padding of all batches together is at most (most sources of a batch) x (longest - shortest).

    Args:
        lengths: tokens of each source.
        budget_tokens: most tokens of a batch, padding included; a source longer than that runs alone.
        max_sources: most sources of a batch.

    Returns:
        Batches of indices into `lengths`: each index once, longest first, equal lengths in the order given.

    Raises:
        ValueError: `budget_tokens` or `max_sources` is below 1.
    """
    if budget_tokens < 1 or max_sources < 1:
        raise ValueError(f"budget_tokens {budget_tokens} and max_sources {max_sources} must be at least 1")
    batches: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        if batches and _fits_one_more(batches[-1], lengths, budget_tokens, max_sources):
            batches[-1].append(index)
        else:
            batches.append([index])
    return batches


def _fits_one_more(
    batch: Sequence[int], lengths: Sequence[int], budget_tokens: int, max_sources: int
) -> bool:
    rows = len(batch) + 1
    longest = lengths[batch[0]]
    return rows <= max_sources and rows * longest <= budget_tokens
