"""Comparison of language codes: an entry for a language applies to its regional variants."""


def is_variant(one: str, other: str) -> bool:
    """Return whether two codes are equal, or one is the other with more subtags, as `en` and `en-GB`."""
    first, second = (code.replace("_", "-").casefold().split("-") for code in (one, other))
    size = min(len(first), len(second))
    return first[:size] == second[:size]
