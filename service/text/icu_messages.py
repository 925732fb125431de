"""ICU messages as sentences: each combination of branches is translated whole, and the branches are rebuilt.

Text around branches moves into them, as other languages change it too: `You have {n, plural, one {# file}
other {# files}}` gives a sentence for each plural category that the target language has.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from service.text.icu_parser import (
    Argument,
    Choice,
    ChoiceKind,
    Hash,
    IcuSyntaxError,
    Node,
    Nodes,
    Text,
    parse_icu,
    write_text,
)
from service.text.marked_text import OBJECT, MarkedText, Object, Shown
from service.text.plural_rules import OTHER, PluralRules, plural_rules

MAX_SENTENCES = 64
"""Maximum number of combinations of branches."""
MAX_CHARACTERS = 20_000
"""Maximum characters of all of them."""

MAX_CHOICES = 64
"""Maximum number of choices in one combination."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A combination of branches to translate."""

    marked: MarkedText
    """Text without quoting, in which arguments and inline elements are objects, numbered in order."""
    arguments: tuple[Argument | Hash, ...]
    """What each of these objects is."""
    in_plural: bool


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

    def rebuild(self, translations: Sequence[MarkedText]) -> MarkedText:
        """Return the message with translations, one for each of `sentences`."""
        writer = _MessageWriter(iter(translations), self._doubles_apostrophes)
        writer.write(self._tree)
        return MarkedText("".join(writer.pieces), (), tuple(writer.objects))


@dataclass(slots=True, eq=False)
class _MessageWriter:
    """Writes a message with its inline elements, each as often as the branches have it."""

    translations: Iterator[MarkedText]
    doubles_apostrophes: bool
    pieces: list[str] = field(default_factory=list)
    objects: list[Object] = field(default_factory=list)
    length: int = 0

    def write(self, tree: _Tree) -> None:
        """Write a tree of branches."""
        if isinstance(tree, Sentence):
            self._write_sentence(tree, next(self.translations))
            return
        choice = tree.choice
        offset = f" offset:{choice.offset}" if choice.offset else ""
        self._add(f"{{{choice.name}, {choice.kind},{offset}")
        for selector, branch in tree.branches:
            self._add(f" {selector} {{")
            self.write(branch)
            self._add("}")
        self._add("}")

    def _write_sentence(self, sentence: Sentence, translated: MarkedText) -> None:
        at = 0
        for found in translated.objects:
            self._add_words(translated.text[at : found.start], sentence)
            at = found.end
            argument = sentence.arguments[found.number or 0]
            if isinstance(argument, Argument) and argument.number is not None:
                self.objects.append(Object(self.length, self.length + 1, Shown.COPY, argument.number))
            self._add(argument.raw if isinstance(argument, Argument) else "#")
        self._add_words(translated.text[at:], sentence)

    def _add_words(self, text: str, sentence: Sentence) -> None:
        self._add(
            write_text(text, in_plural=sentence.in_plural, doubles_apostrophes=self.doubles_apostrophes)
        )

    def _add(self, text: str) -> None:
        self.pieces.append(text)
        self.length += len(text)


def icu_message(marked: MarkedText, source: str, target: str) -> IcuMessage:
    """Parse a message and choose the branches of its translation.

    Args:
        marked: message with branches, without marks.
        source: BCP-47 code of its language.
        target: BCP-47 code of the language to translate into.

    Raises:
        IcuSyntaxError: it is malformed, or has too many combinations of branches.
    """
    numbers = [each.number for each in marked.objects]
    nodes = parse_icu(marked.text)
    if numbers and marked.text.count(OBJECT) == len(numbers):
        nodes = _with_elements(nodes, iter(numbers))
    builder = _TreeBuilder(source, target)
    num_sentences, num_choices = builder.count(nodes)
    if num_sentences > MAX_SENTENCES or num_choices > MAX_CHOICES:
        raise _too_many_error()
    tree = builder.build(nodes, None)
    return IcuMessage(tuple(builder.sentences), tree, "''" in marked.text)


def _too_many_error() -> IcuSyntaxError:
    return IcuSyntaxError(
        f"its branches make more than {MAX_SENTENCES} sentences or {MAX_CHARACTERS:,} characters; "
        "split the message"
    )


def _with_elements(nodes: Nodes, numbers: Iterator[int | None]) -> Nodes:
    """Return nodes in which inline elements are arguments, not characters of texts."""
    found: list[Node] = []
    for node in nodes:
        if isinstance(node, Text):
            for i, text in enumerate(node.text.split(OBJECT)):
                found += [Argument(OBJECT, next(numbers))] if i else []
                found += [Text(text)] if text else []
        elif isinstance(node, Choice):
            branches = ((selector, _with_elements(content, numbers)) for selector, content in node.branches)
            found.append(replace(node, branches=tuple(branches)))
        else:
            found.append(node)
    return tuple(found)


class _TreeBuilder:
    def __init__(self, source: str, target: str) -> None:
        self.sentences: list[Sentence] = []
        self._source = source
        self._target = target
        self._num_characters = 0

    def count(self, nodes: Nodes) -> tuple[int, int]:
        """Return how many sentences nodes make, up to a few too many, and how many choices one can have."""
        num_sentences, num_choices = 1, 0
        for node in nodes:
            if isinstance(node, Choice):
                branches = _target_branches(node, self._source, self._target).values()
                counts = [self.count(content) for content in branches]
                num_sentences = min(num_sentences * sum(num for num, _ in counts), MAX_SENTENCES + 1)
                num_choices += 1 + max(num for _, num in counts)
        return num_sentences, num_choices

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
        text, arguments, objects = "", list[Argument | Hash](), list[Object]()
        for node in nodes:
            if isinstance(node, Text):
                text += node.text
            elif not isinstance(node, Choice):
                objects.append(Object(len(text), len(text) + 1, Shown.COPY, len(arguments)))
                arguments.append(node)
                text += OBJECT
        sentence = Sentence(MarkedText(text, (), tuple(objects)), tuple(arguments), plural is not None)
        self.sentences.append(sentence)
        self._num_characters += len(text)
        if self._num_characters > MAX_CHARACTERS:
            raise _too_many_error()
        return sentence


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
