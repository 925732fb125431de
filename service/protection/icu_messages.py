"""ICU messages as sentences: each combination of branches is translated whole, and the branches are rebuilt.

Text around branches moves into them, as other languages change it too: `You have {n, plural, one {# file}
other {# files}}` gives a sentence for each plural category that the target language has.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from service.protection.icu_parser import (
    Argument,
    Choice,
    ChoiceKind,
    Hash,
    IcuSyntaxError,
    Nodes,
    Text,
    parse_icu,
    write_text,
)
from service.protection.patterns import ProtectedSpan, SpanForm, find_spans
from service.protection.plural_rules import OTHER, PluralRules, plural_rules

MAX_SENTENCES = 64
"""Maximum number of combinations of branches."""
MAX_CHARACTERS = 20_000
"""Maximum characters of all of them."""

_FIRST_MARK = 0xE000
"""Characters for private use stand for arguments."""
_MAX_MARKS = 1000


@dataclass(frozen=True, slots=True)
class Sentence:
    """A combination of branches to translate."""

    text: str
    """Text without quoting, with a character for private use in place of each argument."""
    spans: tuple[ProtectedSpan, ...]
    arguments: tuple[str, ...]
    """What each of these characters stands for, as the message has it."""
    in_plural: bool

    def write(self, translated: str, *, doubles_apostrophes: bool) -> str:
        """Return a translation that has all of these characters, as part of a message."""
        marks = {_mark(i): argument for i, argument in enumerate(self.arguments)}
        pieces: list[str] = []
        start = 0
        for i, character in enumerate(translated):
            if character in marks:
                pieces += (self._quote(translated[start:i], doubles_apostrophes), marks[character])
                start = i + 1
        return "".join((*pieces, self._quote(translated[start:], doubles_apostrophes)))

    def _quote(self, text: str, doubles_apostrophes: bool) -> str:  # noqa: FBT001 -- passed on
        return write_text(text, in_plural=self.in_plural, doubles_apostrophes=doubles_apostrophes)


@dataclass(frozen=True, slots=True)
class _Branches:
    """A choice whose branches are whole sentences."""

    choice: Choice
    branches: tuple[tuple[str, "_Tree"], ...]


_Tree = _Branches | Sentence


@dataclass(frozen=True, slots=True)
class IcuMessage:
    """A message with branches, for a pair of languages."""

    sentences: tuple[Sentence, ...]
    """Sentences to translate, in the order of the branches of the target."""
    _tree: _Tree
    _doubles_apostrophes: bool

    def rebuild(self, translations: Sequence[str]) -> str:
        """Return the message with translations, one for each of `sentences`."""
        return self._write(self._tree, iter(translations))

    def _write(self, tree: _Tree, translations: Iterator[str]) -> str:
        if isinstance(tree, Sentence):
            return tree.write(next(translations), doubles_apostrophes=self._doubles_apostrophes)
        choice = tree.choice
        offset = f" offset:{choice.offset}" if choice.offset else ""
        branches = " ".join(
            f"{selector} {{{self._write(branch, translations)}}}" for selector, branch in tree.branches
        )
        return f"{{{choice.name}, {choice.kind},{offset} {branches}}}"


def icu_message(text: str, source: str, target: str) -> IcuMessage:
    """Parse a message and choose the branches of its translation.

    Args:
        text: message with branches.
        source: BCP-47 code of its language.
        target: BCP-47 code of the language to translate into.

    Raises:
        IcuSyntaxError: it is malformed, or has too many combinations of branches.
    """
    nodes = parse_icu(text)
    if any(_FIRST_MARK <= ord(character) < _FIRST_MARK + _MAX_MARKS for character in text):
        raise IcuSyntaxError("the message has characters for private use; remove them")
    builder = _TreeBuilder(source, target)
    tree = builder.build(nodes, None)
    return IcuMessage(tuple(builder.sentences), tree, "''" in text)


class _TreeBuilder:
    def __init__(self, source: str, target: str) -> None:
        self.sentences: list[Sentence] = []
        self._source = source
        self._target = target
        self._num_characters = 0

    def build(self, nodes: Nodes, plural: Choice | None) -> _Tree:
        """Return the tree of a sequence of nodes.

        Args:
            nodes: text, arguments and choices.
            plural: the plural whose branch they are in, and which `#` means.
        """
        found = next(((i, node) for i, node in enumerate(nodes) if isinstance(node, Choice)), None)
        if found is None:
            return self._sentence(nodes, plural)
        i, choice = found
        is_plural = choice.kind is not ChoiceKind.SELECT
        before, after = nodes[:i], nodes[i + 1 :]
        if is_plural and plural is not None:
            outer = _without_hashes((*before, *after), plural)
            before, after = outer[: len(before)], outer[len(before) :]
        branches = _target_branches(choice, self._source, self._target)
        return _Branches(
            choice,
            tuple(
                (selector, self.build((*before, *content, *after), choice if is_plural else plural))
                for selector, content in branches.items()
            ),
        )

    def _sentence(self, nodes: Nodes, plural: Choice | None) -> Sentence:
        text, arguments, spans = "", list[str](), list[ProtectedSpan]()
        for node in nodes:
            if isinstance(node, Text):
                spans += [
                    span._replace(start=span.start + len(text), end=span.end + len(text))
                    for span in find_spans(node.text)
                ]
                text += node.text
                continue
            spans.append(ProtectedSpan(len(text), len(text) + 1, SpanForm.NUMBERED))
            text += _mark(len(arguments))
            arguments.append(node.raw if isinstance(node, Argument) else "#")
        sentence = Sentence(text, tuple(spans), tuple(arguments), plural is not None)
        self.sentences.append(sentence)
        self._num_characters += len(text)
        if len(self.sentences) > MAX_SENTENCES or self._num_characters > MAX_CHARACTERS:
            raise IcuSyntaxError(
                f"its branches make more than {MAX_SENTENCES} sentences or {MAX_CHARACTERS:,} characters; "
                "split the message"
            )
        if len(arguments) > _MAX_MARKS:
            raise IcuSyntaxError(f"it has more than {_MAX_MARKS} arguments; split the message")
        return sentence


def _mark(i: int) -> str:
    return chr(_FIRST_MARK + i)


def _without_hashes(nodes: Nodes, plural: Choice) -> Nodes:
    """Replace `#` of a plural, which would mean another one in the branches of that, by its argument."""
    if plural.offset and any(isinstance(node, Hash) for node in nodes):
        raise IcuSyntaxError(f"# of {plural.name} with an offset cannot move into another plural; split it")
    number = Argument(f"{{{plural.name}, number}}")
    return tuple(number if isinstance(node, Hash) else node for node in nodes)


def _target_branches(choice: Choice, source: str, target: str) -> Mapping[str, Nodes]:
    """Return the branches that the translation has, each with the branch of the source to translate."""
    branches = dict(choice.branches)
    if choice.kind is ChoiceKind.SELECT:
        return branches
    is_ordinal = choice.kind is ChoiceKind.ORDINAL
    own = plural_rules(source, is_ordinal=is_ordinal)
    found = {selector: content for selector, content in branches.items() if selector.startswith("=")}
    for category, sample in plural_rules(target, is_ordinal=is_ordinal).samples.items():
        found[category] = branches[_source_category(category, sample, own, branches)]
    return found


def _source_category(category: str, sample: int, own: PluralRules, branches: Mapping[str, Nodes]) -> str:
    if category in own.samples and category in branches:
        return category
    wanted = own.category(sample)
    return wanted if wanted in branches else OTHER
