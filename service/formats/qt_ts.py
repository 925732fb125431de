"""Translation sources of Qt Linguist (`.ts`): missing translations are filled in.

A translation is missing if it is empty and neither vanished nor obsolete. All numerus forms of a message get
the translation of its source: as many as the file has if it names the target language, else as many as
gettext has for it. A translation by a model keeps the type `unfinished`. A file that names no language gets
that of the target. Everything else stays byte for byte. Specification: "Qt Linguist TS File Format" (TS 2.1).
"""

import re
from collections.abc import Iterator, Sequence
from itertools import count
from typing import IO

from service.formats.entries import TargetText
from service.formats.inline_runs import fill_runs, messages_in, pair_halves, text_runs, xml_of
from service.formats.language_tags import check_target, matches_language
from service.formats.messages import has_words, split_tags
from service.formats.parts import TextPart, Unit
from service.formats.plural_forms import read_plural_forms
from service.formats.review_marks import TOOL, confidence_of, origin_of
from service.formats.xml_tree import Chars, Element, Name
from service.formats.xml_units import XmlFormat, through_root, xml_units
from service.text.escaping import escape_xml
from service.text.outcome import TextOrigin
from service.text.plural_rules import gettext_plural_forms
from service.text.tokens import InlineItem, TokenKind

_MESSAGE = Name("", "message")
_ROOT = re.compile(r"<TS(?=[\s/>])")
_LANGUAGE = re.compile(r"\slanguage\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_TYPE = re.compile(r"\stype\s*=\s*(?:\"[^\"]*\"|'[^']*')")
_DONE = frozenset(["vanished", "obsolete"])
_FINISHED = frozenset([None, TextOrigin.MEMORY])
_MAX_SHOWN = 100


class QtTsFormat(XmlFormat):
    """A translation source; an entry is the source of a message without a translation.

    Texts equal to their entries fill translations too, empty texts leave none.
    """

    def parts(self, source: IO[bytes]) -> Iterator[TextPart]:
        """See `XmlFormat`."""
        parts = xml_units(source, frozenset([_MESSAGE]), allows_doctype=True)
        num_forms: int | None = None
        for part in through_root(parts, _ROOT, "it is not a translation source of Qt: <TS> is missing"):
            if not _ROOT.match(part):
                yield part
                continue
            language = _LANGUAGE.search(part)
            code = "" if language is None else language[1] or language[2] or ""
            check_target(code, self.options.target)
            # Qt's forms of some languages are not those of gettext: those in the file count.
            num_forms = None if matches_language(code, self.options.target) else self._num_forms()
            yield part if code else self._with_language(part)
        numbers = count(1)
        for found in parts:
            yield found if isinstance(found, str) else _message(found, f"message {next(numbers)}", num_forms)

    def _with_language(self, root: str) -> str:
        code = self.options.target.replace("-", "_")
        return _LANGUAGE.sub("", root).replace("<TS", f'<TS language="{code}"', 1)

    def _num_forms(self) -> int | None:
        forms = read_plural_forms(gettext_plural_forms(self.options.target) or "")
        return None if forms is None else forms.number


def _message(message: Element, location: str, num_forms: int | None) -> TextPart:
    """Return a message as a unit; as it is if it needs no translation.

    Args:
        message: the element.
        location: its location.
        num_forms: number of numerus forms to write; None for as many as it has.
    """
    sources, translations = message.children("source"), message.children("translation")
    if len(sources) != 1 or len(translations) != 1 or not _is_missing(translations[0]):
        return message.raw
    [source], [translation] = sources, translations
    items = list(_items(source))
    if not has_words("".join(item.text for item in items)):
        return message.raw
    location = f"{location}, {source.text.strip()[:_MAX_SHOWN]}"
    found = list(text_runs(pair_halves(items), location, keeps_space=True))
    forms = translation.children("numerusform")
    is_numerus = message.attribute("numerus") == "yes"

    def render(texts: Sequence[TargetText]) -> str:
        if not any(text.text for text in texts):
            return message.raw
        content = xml_of(fill_runs(found, texts))
        if is_numerus:
            number = num_forms or max(1, len(forms))
            content = _numerus_forms(translation, forms, content, number)
        return _with_translation(message, translation, content, texts)

    return Unit(messages_in(found), render)


def _is_missing(translation: Element) -> bool:
    if translation.attribute("type") in _DONE or translation.attribute("variants") == "yes":
        return False
    texts = (translation, *translation.elements)
    return not any(element.text.strip() for element in texts) and all(
        element.local == "numerusform" for element in translation.elements
    )


def _items(source: Element) -> Iterator[InlineItem]:
    for node in source.nodes:
        if not isinstance(node, Chars):
            yield InlineItem(TokenKind.POINT, raw=node.raw)
            continue
        for item in split_tags(node.text):
            yield InlineItem(item.kind, item.text, escape_xml(item.raw), item.note)


def _numerus_forms(translation: Element, forms: Sequence[Element], content: str, number: int) -> str:
    """Return the numerus forms, all with one content, with the white space of the file around them."""
    form = f"<numerusform>{content}</numerusform>"
    spaces = [node.raw for node in translation.nodes if isinstance(node, Chars)]
    if len(spaces) <= len(forms):
        return form * number
    return "".join(f"{spaces[0]}{form}" for _ in range(number)) + spaces[-1]


def _with_translation(
    message: Element, translation: Element, content: str, texts: Sequence[TargetText]
) -> str:
    start_tag = _TYPE.sub("", translation.bare_tag)
    if origin_of(texts) not in _FINISHED:
        start_tag += ' type="unfinished"'
    written = f"{start_tag}>{content}</{translation.prefix}translation>"
    confidence = confidence_of(texts)
    if confidence is not None and not message.children("translatorcomment"):
        note = f"<translatorcomment>{TOOL}, confidence: {confidence}</translatorcomment>"
        written = f"{note}{message.space_before(translation)}{written}"
    return message.rewritten({id(translation): written})
