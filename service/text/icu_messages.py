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
    Inline,
    Node,
    Nodes,
    Text,
    parse_icu,
    write_text,
)
from service.text.marked_text import OBJECT, Mark, MarkedText, MarkKind, Object, Shown, with_partners
from service.text.plural_rules import OTHER, plural_rules

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
    """Text without quoting, with its marks; arguments and objects are numbered in order."""
    arguments: tuple[Argument | Hash | Inline, ...]
    """Meaning of each of these objects."""
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
        return MarkedText("".join(writer.pieces), with_partners(writer.marks), tuple(writer.objects))


@dataclass(slots=True, eq=False)
class _MessageWriter:
    """Writes a message with its marks and objects, each as often as the branches have it."""

    translations: Iterator[MarkedText]
    doubles_apostrophes: bool
    pieces: list[str] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
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
        for start, end, found in _in_order(translated):
            self._add_words(translated.text[at:start], sentence)
            at = end
            if isinstance(found, Mark):
                self.marks.append(replace(found, at=self.length))
            else:
                self._add_argument(sentence.arguments[found.number or 0])
        self._add_words(translated.text[at:], sentence)

    def _add_argument(self, argument: Argument | Hash | Inline) -> None:
        if not isinstance(argument, Inline):
            self._add(argument.raw if isinstance(argument, Argument) else "#")
            return
        if argument.text and isinstance(argument.item, Object):
            self.objects.append(replace(argument.item, start=self.length, end=self.length + 1))
        self._add(argument.text)

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
        marked: message with branches.
        source: BCP-47 code of its language.
        target: BCP-47 code of the language to translate into.

    Raises:
        IcuSyntaxError: it is malformed, or has too many combinations of branches.
    """
    nodes = _parse(marked)
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


def _in_order(marked: MarkedText) -> list[tuple[int, int, Mark | Object]]:
    """Return the marks and objects of a text with their positions."""
    found: list[tuple[int, int, Mark | Object]] = [(mark.at, mark.at, mark) for mark in marked.marks]
    found += ((each.start, each.end, each) for each in marked.objects)
    return sorted(found, key=lambda one: one[:2])


def _parse(marked: MarkedText) -> Nodes:
    """Return the nodes of a message, in which each mark and object is one of its own."""
    if marked.is_plain:
        return parse_icu(marked.text)
    pieces: list[str] = []
    inline: list[Node] = []
    at = 0
    for start, end, item in _in_order(marked):
        words = marked.text[at:start]
        inline += [Text(OBJECT)] * words.count(OBJECT)
        inline.append(Inline(item, marked.text[start:end]))
        pieces += (words, OBJECT)
        at = end
    inline += [Text(OBJECT)] * marked.text.count(OBJECT, at)
    remaining = iter(inline)
    nodes = _with_inline(parse_icu("".join((*pieces, marked.text[at:]))), remaining)
    if next(remaining, None) is not None:
        raise IcuSyntaxError("an inline element is within the syntax of a message; move it into a branch")
    return nodes


def _with_inline(nodes: Nodes, inline: Iterator[Node]) -> Nodes:
    """Return nodes with others in place of the characters `OBJECT` of their texts."""
    found: list[Node] = []
    for node in nodes:
        if isinstance(node, Text):
            for i, text in enumerate(node.text.split(OBJECT)):
                found += [next(inline)] if i else []
                found += [Text(text)] if text else []
        elif isinstance(node, Choice):
            branches = ((selector, _with_inline(content, inline)) for selector, content in node.branches)
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
        text, arguments = "", list[Argument | Hash | Inline]()
        marks, objects = list[Mark](), list[Object]()
        for node in nodes:
            if isinstance(node, Text):
                text += node.text
            elif isinstance(node, Inline) and isinstance(node.item, Mark):
                marks.append(replace(node.item, at=len(text)))
            elif not isinstance(node, Choice):
                shown, characters = Shown.COPY, OBJECT
                if isinstance(node, Inline) and isinstance(node.item, Object):
                    shown, characters = node.item.shown, node.text
                objects.append(Object(len(text), len(text) + len(characters), shown, len(arguments)))
                arguments.append(node)
                text += characters
        marked = MarkedText(text, with_partners(marks), tuple(objects))
        if any(mark.partner is None and mark.kind is not MarkKind.POINT for mark in marked.marks):
            raise IcuSyntaxError("an inline element begins and ends in different branches; split it")
        sentence = Sentence(marked, tuple(arguments), plural is not None)
        self.sentences.append(sentence)
        self._num_characters += len(text) + len(marks)
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
        is_own = category in own.samples and category in branches
        wanted = category if is_own else own.category(sample)
        found[category] = branches[wanted if wanted in branches else OTHER]
    return found
