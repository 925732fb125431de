"""The request and the result of a translation, for all APIs."""

from dataclasses import KW_ONLY, dataclass

from dragoman.routing.results import RoutedTranslation
from dragoman.routing.routes import Route
from service.glossaries.terminology import RequestTerminology
from service.memories.pairs import TextMatches
from service.text.options import MarkupOptions
from service.text.outcome import CheckFailure
from service.translation.options import TranslationOptions

AUTO = "auto"
"""As a source: to be detected."""
UNDETERMINED = "und"
"""BCP-47's word for the language of a text that has none, as one of digits."""
DEFAULT_OPTIONS = TranslationOptions()


@dataclass(frozen=True, slots=True)
class TranslationRequest:
    """Texts to translate, and how."""

    texts: tuple[str, ...]
    target: str | None
    """None where only one is possible."""
    source: str | None = None
    """None or `auto`: detected for each text by itself."""
    options: TranslationOptions = DEFAULT_OPTIONS
    markup: MarkupOptions | None = None
    """Markup of the texts; None for plain text."""
    terminology: RequestTerminology | None = None
    """Terms of glossaries and of the request, from which each text's language pair selects."""
    matches: tuple[TextMatches, ...] = ()
    """Matches of a translation memory for each text; empty without a memory."""
    linger_s: float = 0.0
    """Seconds for which its work goes on after its client has left, as the same request may come again."""

    @property
    def num_characters(self) -> int:
        return sum(map(len, self.texts))


@dataclass(frozen=True, slots=True)
class DetectedSource:
    """A language that a text seems to be in."""

    language: str
    """A code as the models have it, or `und`."""
    confidence: float
    """0 to 1."""


@dataclass(frozen=True, slots=True)
class TranslationResult:
    """Outcome of one text."""

    text: str
    _: KW_ONLY
    source: str
    """The language translated from; `und` where the text has none."""
    target: str
    detected: DetectedSource | None = None
    """None if the caller named the language."""
    route: Route | None = None
    """None where the text was left as it is: it was in the target language already, or in none."""
    parts: tuple[RoutedTranslation, ...] = ()
    """The text's translation; of a text with markup, its blocks'. Empty where it was left as it is."""
    alternatives: tuple[str, ...] = ()
    """Other translations of the whole text, the most likely first; none of a text with markup."""
    failed_checks: tuple[CheckFailure, ...] = ()
    """Checks that the translation failed, for which the text is the source."""
    matches: TextMatches | None = None
    """Matches of a translation memory for the text; None without a memory."""
    other_language: DetectedSource | None = None
    """The language that the text is in for certain, where the caller named another one."""
