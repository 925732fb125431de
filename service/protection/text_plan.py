"""The plan of one text: what the engine translates, in one try or more, and what becomes of the results.

plain text, or the blocks of markup -- patterns, stand_ins --> texts for the engine
ICU message -- icu_messages --> sentences, each like a plain text
translations -- protected_block --> restored, or taken out and tried again
all blocks done -- markup, icu_messages, accelerators --> the text -- checks --> kept, or the source instead
"""

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.types import Translation
from service.markup.parsed_markup import ParsedMarkup
from service.protection.accelerators import find_label
from service.protection.checks import Check, CheckFailure, check_content, check_syntax
from service.protection.contents import Content, IcuContent, MarkedContent, PlainContent
from service.protection.icu_parser import IcuSyntaxError, has_branches
from service.protection.protected_block import ProtectedBlock
from service.protection.text_context import TextContext


@dataclass(frozen=True, slots=True)
class PlanResult:
    """The translation of a text."""

    text: str
    """The source if a check failed."""
    translations: tuple[Translation, ...]
    """Of each block or sentence; of plain text, its own, with positions in `text`."""
    failures: tuple[CheckFailure, ...]
    """Checks that the translation failed after all tries."""


def plan_text(text: str, marked: ParsedMarkup | None, context: TextContext) -> "TextPlan | PlanResult | None":
    """Return the plan of a text, or its result if it cannot be translated; None if there is nothing to
    protect or to check.

    Args:
        text: a text, or markup.
        marked: the parsed markup; None for plain text.
        context: languages and kind of the text.
    """
    if marked is not None:
        spans_of_blocks = list(map(context.find_spans, marked.blocks))
        is_needed = context.is_message or any(spans_of_blocks)
        return TextPlan(text, MarkedContent(marked, spans_of_blocks), context) if is_needed else None
    if has_branches(text):
        try:
            return TextPlan(text, IcuContent(text, context), context)
        except IcuSyntaxError as error:
            return PlanResult(text, (), (CheckFailure(Check.ICU, error.problem),))
    label = find_label(text) if context.is_message else None
    spans = context.find_spans(text if label is None else label.text)
    if not context.is_message and not spans:
        return None
    return TextPlan(text, PlainContent(text, label, spans), context)


class TextPlan:
    """Blocks of a text that the engine translates; those with damaged placeholders more than once."""

    def __init__(self, text: str, content: Content, context: TextContext) -> None:
        self._text = text
        self._content = content
        self._context = context
        self._pending: list[ProtectedBlock] = list(content.blocks)
        self._protects_numbers = False
        self._result: PlanResult | None = None

    @property
    def texts(self) -> list[str]:
        """Texts to translate now; empty if the plan is done."""
        return [block.text for block in self._pending]

    @property
    def needs_alignment(self) -> bool:
        """Whether the translations must have links."""
        return self._content.needs_alignment or any(block.needs_alignment for block in self._pending)

    @property
    def result(self) -> PlanResult:
        """The result of a plan that is done."""
        if self._result is None:
            raise ValueError("texts remain to be translated")
        return self._result

    def take_translations(self, translations: Sequence[Translation]) -> None:
        """Take one translation for each of `texts`, which then has what to try again."""
        self._pending = [
            block
            for block, translation in zip(self._pending, translations, strict=True)
            if not block.take_translation(translation)
        ]
        if not self._pending:
            self._finish()

    def _finish(self) -> None:
        """Check the translation; prepare another try, or set the result."""
        written = self._content.write()
        failures = self._check(written.text)
        if failures:
            self._pending = self._retry(failures)
            if self._pending:
                return
        text = self._text if failures else written.text
        self._result = PlanResult(text, written.translations, failures)

    def _check(self, text: str) -> tuple[CheckFailure, ...]:
        pairs = self._content.checked_pairs(self._text, text)
        syntax = [failure for pair in pairs for failure in check_syntax(*pair)]
        content = [failure for pair in pairs for failure in check_content(*pair)]
        return (*syntax, *content) if self._context.is_message else tuple(syntax)

    def _retry(self, failures: Sequence[CheckFailure]) -> list[ProtectedBlock]:
        """Return blocks to translate again; none if that would not help."""
        checks = {failure.check for failure in failures}
        if checks & {Check.PLACEHOLDERS, Check.TAGS}:
            return [block for block in self._content.blocks if block.take_all_out()]
        if Check.NUMBERS in checks and not self._protects_numbers:
            self._protects_numbers = True
            return [block for block in self._content.blocks if block.protect_numbers()]
        return []
