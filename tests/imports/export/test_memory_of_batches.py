"""Batches have few tokens, so that the activations of a model's layers fit into memory."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from export.calibration import BATCH_SOURCES, BATCH_TOKENS, batches


@given(st.lists(st.integers(1, 2 * BATCH_TOKENS)))
def test_batches_are_all_items_in_order_within_the_limits(lengths: list[int]) -> None:
    found = [list(batch) for batch in batches(lengths, lambda length: length)]

    assert [length for batch in found for length in batch] == lengths
    for batch in found:
        assert 1 <= len(batch) <= BATCH_SOURCES
        assert len(batch) == 1 or len(batch) * max(batch) <= BATCH_TOKENS


@given(st.lists(st.integers(1, BATCH_TOKENS), min_size=2).map(sorted))
def test_a_batch_ends_only_where_the_next_item_would_exceed_a_limit(lengths: list[int]) -> None:
    found = [list(batch) for batch in batches(lengths, lambda length: length)]

    for batch, following in pairwise(found):
        grown = [*batch, following[0]]
        assert len(grown) > BATCH_SOURCES or len(grown) * max(grown) > BATCH_TOKENS
