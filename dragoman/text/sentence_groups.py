"""Short neighbours among the sentences of a text, which a model reads together for their context.

A pronoun and a form of address need the sentence before. Longer groups lose sentences in translation.
"""

from collections.abc import Sequence

from dragoman.text.segmentation import SegmentedText

BETWEEN = " "
"""Gap between two sentences of a group; any other must be kept as it is."""


def group_sentences(
    document: SegmentedText, num_tokens: Sequence[int | None], follows: Sequence[bool], max_tokens: int
) -> list[range]:
    """Return the positions of the sentences of each group, in order; a group may be a single sentence.

    Args:
        document: a text's sentences.
        num_tokens: the tokens of each; None for one that must be alone.
        follows: whether each needs the one before.
        max_tokens: of a group with several sentences.
    """
    groups: list[range] = []
    num_left = -1
    for index, (count, needs_context) in enumerate(zip(num_tokens, follows, strict=True)):
        is_alone = count is None or count > num_left or not needs_context or document.gaps[index] != BETWEEN
        start = index if is_alone else groups.pop().start
        num_left = (max_tokens if is_alone else num_left) - (max_tokens if count is None else count)
        groups.append(range(start, index + 1))
    return groups
