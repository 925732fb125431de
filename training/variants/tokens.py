"""Tokens without the punctuation around them, and tokens that both sides of a pair share."""

# ruff: noqa: RUF001 -- quotation marks of all kinds

import re
from collections import Counter
from dataclasses import dataclass

from training.corpus import TextPair
from training.variants.drawing import words

_LEADING_PUNCTUATION = "([\"'“”„‘’‚«»‹›¿¡–—-"
_TRAILING_PUNCTUATION = ".,;:!?…\"'“”„‘’‚«»‹›–—-"
_BRACKETS = {")": "(", "]": "["}
_PAIRS = (("(", ")"), ("[", "]"), ("{", "}"), ("<", ">"))

_TOKEN = re.compile(r"\S+")
_WHOLE_NUMBER = re.compile(r"[0-9]+")
_NAME = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
_CODE = re.compile(r"[_{}<>%$@#/\\=&|~^*+`]|\w[.:]\w|\w\(|[^\W\d_]-?[0-9]|[0-9]-?[^\W\d_]|[a-zäöüß][A-ZÄÖÜ]")

_NO_NAMES = frozenset(
    words("""
        all also am an april arm art august bald band bin brief chef die direkt ende er es fast for
        gift gut hat her hut in ist kind man mail mehr mine mit not november rat september so tag
        tod von wall war was were wen wer will wo
    """)
)
"""Words that mean something else in the other language, and months, which cannot be replaced by a name."""


@dataclass(frozen=True, slots=True)
class WordToken:
    """A token without the punctuation around it: `core` is text[begin:end]."""

    core: str
    begin: int
    end: int

    @property
    def is_number(self) -> bool:
        """Return whether it is a whole number in digits."""
        return _WHOLE_NUMBER.fullmatch(self.core) is not None

    @property
    def is_code(self) -> bool:
        return is_code(self.core)

    @property
    def has_balanced_brackets(self) -> bool:
        """Return whether it contains as many closing as opening brackets of each kind."""
        return all(self.core.count(opening) == self.core.count(closing) for opening, closing in _PAIRS)

    @property
    def is_name(self) -> bool:
        """Return whether it is a capitalised word and not in the list of words that are no names."""
        return (
            len(self.core) > 1
            and self.core[0].isupper()
            and _NAME.fullmatch(self.core) is not None
            and self.core.lower() not in _NO_NAMES
        )


def is_code(text: str) -> bool:
    """Return whether part of a text looks like code, an address or a placeholder rather than words."""
    return _CODE.search(text) is not None


def tokens_of(text: str) -> list[WordToken]:
    """Split a text at white space into tokens, each without the punctuation around it."""
    return [token for match in _TOKEN.finditer(text) if (token := _core(text, *match.span())).core]


def shared_tokens(pair: TextPair) -> list[tuple[WordToken, WordToken]]:
    """Return tokens that occur once in the source and once in the target, in the source's order.

    A token that is also part of another word, such as `Tom` in `Tom's`, is left out: a replacement would miss
    that occurrence.
    """
    sources, targets = tokens_of(pair.source), tokens_of(pair.target)
    in_source = Counter(token.core for token in sources)
    by_core = {token.core: token for token in targets}
    return [
        (token, by_core[token.core])
        for token in sources
        if token.core in by_core
        and in_source[token.core] == 1
        and pair.source.count(token.core) == 1
        and pair.target.count(token.core) == 1
    ]


def replaced(text: str, token: WordToken, by: str) -> str:
    """Replace the token in the text by something else."""
    return text[: token.begin] + by + text[token.end :]


def _core(text: str, begin: int, end: int) -> WordToken:
    while begin < end and text[begin] in _LEADING_PUNCTUATION:
        begin += 1
    while begin < end and _is_trailing_punctuation(text[begin:end]):
        end -= 1
    return WordToken(text[begin:end], begin, end)


def _is_trailing_punctuation(part: str) -> bool:
    """Return whether the last character is punctuation, or a bracket that is not opened inside the token."""
    last = part[-1]
    return last in _TRAILING_PUNCTUATION or (last in _BRACKETS and _BRACKETS[last] not in part)
