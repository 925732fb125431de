"""Parsing of the requests that clients send."""

from dataclasses import dataclass

from dragoman import DecodingOptions
from service.api.catalogue import Catalogue, present_code
from service.api.languages import english_name
from service.api.libretranslate import errors
from service.api.libretranslate.schemas import LibreTranslateRequest
from service.http.errors import ApiError, ErrorKind, field_error
from service.http.fields import Fields
from service.http.validation import listed
from service.settings.groups import LimitSettings
from service.text.options import MarkupLanguage, MarkupOptions
from service.translation.options import TranslationOptions
from service.translation.request import AUTO, TranslationRequest

MIN_BEAM_SIZE = 4
"""Minimum beam size of a search for alternatives. It is also the models' default unless their makers chose
another, so the best translation stays the same when alternatives are requested."""


@dataclass(frozen=True, slots=True)
class LanguagePair:
    """A source and a target language, by the models' own codes."""

    source: str
    """A code, or `auto`."""
    target: str
    is_copied: bool
    """Whether both are one language that no model translates into itself: texts stay unchanged."""


def translation_request(
    sent: LibreTranslateRequest, texts: tuple[str, ...], pair: LanguagePair
) -> TranslationRequest:
    """Return the request to the translation service."""
    is_html = sent.format == "html"
    return TranslationRequest(
        texts,
        pair.target,
        pair.source,
        options=TranslationOptions(alternatives_options(0 if is_html else sent.alternatives or 0)),
        markup=MarkupOptions(MarkupLanguage.HTML) if is_html else None,
    )


def alternatives_options(count: int) -> DecodingOptions:
    """Return options of a search that finds this many translations besides the best."""
    if not count:
        return DecodingOptions()
    return DecodingOptions(beam_size=max(MIN_BEAM_SIZE, count + 1), num_hypotheses=count + 1)


def read_texts(fields: Fields, sent: str | list[str], limits: LimitSettings) -> tuple[str, ...]:
    """Return the texts of the field `q`, a string or an array; raise an ApiError for none or too many."""
    if not sent:
        raise field_error("q", "is missing")
    texts = tuple(listed(sent) if "q" in fields.json else map(_normalize_line_ends, listed(sent)))
    for size, limit in ((len(texts), limits.max_texts), (sum(map(len, texts)), limits.max_characters)):
        if size > limit:
            raise errors.rejected(f"request ({size}) exceeds text limit ({limit})")
    return texts


def find_pair(source: str, target: str, catalogue: Catalogue) -> LanguagePair:
    """Return the pair that two names of languages mean.

    Raises:
        ApiError: one is not served, or nothing translates from one into the other.
    """
    if source.lower() == AUTO:
        target_code = _resolve(target, catalogue)
        if target_code not in catalogue.routes.targets():
            raise _unavailable_error(target_code)
        return LanguagePair(AUTO, target_code, is_copied=False)
    source_code, target_code = _resolve(source, catalogue), _resolve(target, catalogue)
    is_copied = not catalogue.has_route(source_code, target_code)
    if is_copied and present_code(source_code) != present_code(target_code):
        raise _unavailable_error(target_code, source_code)
    return LanguagePair(source_code, target_code, is_copied)


def _normalize_line_ends(text: str) -> str:
    r"""Replace each line end with `\n`; browsers send forms with `\r\n`."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _resolve(requested: str, catalogue: Catalogue) -> str:
    code = catalogue.resolve(requested)
    if code is None:
        raise errors.unsupported_value_error(requested)
    return code


def _unavailable_error(target: str, source: str | None = None) -> ApiError:
    message = f"{_display_name(target)} is not available as a target language"
    return ApiError(
        ErrorKind.MALFORMED, message if source is None else f"{message} from {_display_name(source)}"
    )


def _display_name(code: str) -> str:
    return f"{english_name(code)} ({present_code(code)})"
