"""Tokens without the punctuation that clings to them, and those that both sides of a pair share."""

# ruff: noqa: RUF001 -- quotation marks of all kinds are what this is about

import re
from collections import Counter
from dataclasses import dataclass

from training.corpus import Pair
from training.variants.drawing import words

_CLINGING_BEFORE = "([\"'“”„‘’‚«»‹›¿¡–—-"
_CLINGING_BEHIND = ".,;:!?…\"'“”„‘’‚«»‹›–—-"
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
"""Words of both languages that mean different things, and months, which stand where no name can."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token's core, and where it is: text[begin:end]."""

    core: str
    begin: int
    end: int

    @property
    def is_number(self) -> bool:
        """A whole number in digits."""
        return _WHOLE_NUMBER.fullmatch(self.core) is not None

    @property
    def is_code(self) -> bool:
        return is_code(self.core)

    @property
    def has_whole_brackets(self) -> bool:
        """Whether each bracket that it opens is closed in it, and the other way round."""
        return all(self.core.count(opening) == self.core.count(closing) for opening, closing in _PAIRS)

    @property
    def is_name(self) -> bool:
        """A word with a capital first letter that is not known to be no name."""
        return (
            len(self.core) > 1
            and self.core[0].isupper()
            and _NAME.fullmatch(self.core) is not None
            and self.core.lower() not in _NO_NAMES
        )


def is_code(text: str) -> bool:
    """Whether some of it looks like code, an address or a placeholder rather than words."""
    return _CODE.search(text) is not None


def tokens_of(text: str) -> list[Token]:
    """Tokens between white space, each without the punctuation around it."""
    return [token for match in _TOKEN.finditer(text) if (token := _core(text, *match.span())).core]


def shared_tokens(pair: Pair) -> list[tuple[Token, Token]]:
    """Tokens that occur once in the source and once in the target, in the source's order.

    Whatever occurs a second time as a part of another word, such as `Tom` in `Tom's`, is not among them: it
    would be left behind there.
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


def replaced(text: str, token: Token, by: str) -> str:
    """The text with something else in the token's place."""
    return text[: token.begin] + by + text[token.end :]


def _core(text: str, begin: int, end: int) -> Token:
    while begin < end and text[begin] in _CLINGING_BEFORE:
        begin += 1
    while begin < end and _clings_behind(text[begin:end]):
        end -= 1
    return Token(text[begin:end], begin, end)


def _clings_behind(part: str) -> bool:
    """Whether the last character is none of the token's own: a bracket is, if it was opened inside."""
    last = part[-1]
    return last in _CLINGING_BEHIND or (last in _BRACKETS and _BRACKETS[last] not in part)
