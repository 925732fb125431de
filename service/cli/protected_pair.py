"""Translation of many texts of one pair of languages, with their placeholders kept."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dragoman import DecodingOptions, FinishReason, InputError, Router, Translation
from dragoman.pipeline.engine_request import DEFAULTS
from dragoman.translator import READ_AHEAD_TEXTS
from dragoman.types import Pair
from service.batch.entry_translator import RoutedEntryTranslator
from service.batch.texts import Untranslated
from service.formats.entries import Entry
from service.protection.modes import PlaceholderMode


@dataclass(frozen=True, slots=True)
class ProtectedPair:
    """A `ManyTranslator` that translates texts like the entries of a file."""

    router: Router
    pair: Pair
    placeholders: PlaceholderMode = PlaceholderMode.AUTO

    def translate_many(
        self, texts: Iterable[str], options: DecodingOptions = DEFAULTS, read_ahead: int = READ_AHEAD_TEXTS
    ) -> Iterator[Translation | InputError]:
        """Translate lazily and in order; a translation has its text and its finish reason only."""
        translator = RoutedEntryTranslator(
            self.router, *self.pair, options, read_ahead=read_ahead, placeholders=self.placeholders
        )
        for outcome in translator.translate(Entry(text, "") for text in texts):
            if isinstance(outcome, Untranslated):
                yield InputError("text", outcome.problem)
            else:
                reason = FinishReason.LENGTH if outcome.is_cut else FinishReason.STOP
                yield Translation(outcome.text, None, reason, (), ())
