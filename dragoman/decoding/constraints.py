"""Phrases that a target must contain, and how far a hypothesis is with them."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Self


@dataclass(frozen=True, slots=True)
class PhraseForm:
    """A form of a required phrase."""

    ids: tuple[int, ...]
    """At least one."""
    last_word: str
    """Its last word, which a target may inflect."""


@dataclass(frozen=True, slots=True)
class RequiredPhrase:
    """A phrase that a target must contain in one of several forms."""

    forms: tuple[PhraseForm, ...]
    count: int = 1
    """Number of times that it must occur, not overlapping."""


@dataclass(frozen=True, slots=True)
class Constraints:
    """Phrases that a target must contain and must not contain."""

    language: str = ""
    """The target's, as a BCP-47 code."""
    required: tuple[RequiredPhrase, ...] = ()
    forbidden: tuple[str, ...] = ()
    """Phrases, in lower case as `str.casefold` makes it."""


@dataclass(slots=True, eq=False)
class FormNode:
    """A beginning that some forms of a phrase share."""

    children: "dict[int, FormNode]" = field(default_factory=dict)
    depth: int = 0
    """Number of tokens read."""
    last_word: str | None = None
    """Last word of the form that ends here; None if none does."""

    @classmethod
    def of(cls, forms: Iterable[PhraseForm]) -> Self:
        """Return the root of a phrase's forms."""
        root = cls()
        for form in forms:
            node: FormNode = root
            for one in form.ids:
                node = node.children.setdefault(one, cls(depth=node.depth + 1))
            node.last_word = form.last_word
        return root


class Progress(NamedTuple):
    """Progress of a hypothesis with its phrases.

    A phrase counts once the token after it begins another word.
    """

    roots: tuple[FormNode, ...]
    missing: tuple[int, ...]
    """Number of occurrences that each phrase still lacks."""
    begun: tuple[tuple[int, FormNode], ...] = ()
    """Phrases that the last tokens begin, each with its place in the phrase."""
    ended: tuple[tuple[int, str], ...] = ()
    """Phrases that end with the last token, each with its last word."""

    @classmethod
    def start(cls, constraints: Constraints) -> Self:
        """Return the progress of an empty hypothesis."""
        required = constraints.required
        return cls(tuple(FormNode.of(one.forms) for one in required), tuple(one.count for one in required))

    def after(
        self,
        token: int,
        continuation: str,
        is_inflected: Callable[[str, str], bool],
        *,
        may_begin: bool = True,
    ) -> "Progress":
        """Return the progress after another token.

        Args:
            token: its id.
            continuation: its text if it continues the word before it, else "".
            is_inflected: returns whether the second word is an inflected form of the first.
            may_begin: whether a phrase may begin with the token, given the text before it.
        """
        missing, inflected = self.missing, list[tuple[int, str]]()
        if continuation:
            longer = ((phrase, word, word + continuation) for phrase, word in self.ended)
            inflected = [(phrase, now) for phrase, word, now in longer if is_inflected(word, now)]
        elif self.ended:
            met = {phrase for phrase, _ in self.ended}
            missing = tuple(most - (phrase in met) for phrase, most in enumerate(missing))
        reached = list(self._continued(token, missing))
        if may_begin:
            roots = ((phrase, root) for phrase, root in enumerate(self.roots) if missing[phrase])
            reached += ((phrase, root.children[token]) for phrase, root in roots if token in root.children)
        if not reached and not self.begun and not self.ended:
            return self
        ended = [(phrase, node.last_word) for phrase, node in reached if node.last_word is not None]
        begun = tuple((phrase, node) for phrase, node in reached if node.children)
        return Progress(self.roots, missing, begun, tuple(dict([*inflected, *ended]).items()))

    def _continued(self, token: int, missing: tuple[int, ...]) -> Iterator[tuple[int, FormNode]]:
        """Yield the phrases that the token continues. What has just been met does not go on."""
        for phrase, node in self.begun:
            if token in node.children and missing[phrase] == self.missing[phrase]:
                yield phrase, node.children[token]

    @property
    def num_missing(self) -> int:
        """Number of occurrences that would be missing if the target ended here."""
        return sum(self.missing) - len(self.ended)

    @property
    def bank(self) -> tuple[int, int]:
        """Return the progress by which hypotheses compete: only with those that are equally far.

        The number of occurrences met, and how many tokens of another one it has.
        """
        return -self.num_missing, max((node.depth for _, node in self.begun), default=0)

    def next_ids(self) -> list[int]:
        """Return the tokens that continue the phrases begun; if there are none, those that begin others."""
        if self.begun:
            return list(dict.fromkeys(one for _, node in self.begun for one in node.children))
        ending = {phrase for phrase, _ in self.ended}
        awaited = [most - (phrase in ending) for phrase, most in enumerate(self.missing)]
        roots = (root for root, most in zip(self.roots, awaited, strict=True) if most > 0)
        return list(dict.fromkeys(one for root in roots for one in root.children))
