"""Languages as clients of Google's API name them."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

from langcodes import Language
from langcodes.tag_parser import LanguageTagError

from service.api.catalogue import Catalogue, present_code
from service.http.errors import field_error

GOOGLE_CODES: Mapping[str, str] = {"zh-hans": "zh-CN", "zh-hant": "zh-TW"}
"""Codes that clients get for codes in lower case."""
FORMER_CODES: Mapping[str, str] = {"iw": "he", "jw": "jv", "in": "id", "ji": "yi"}
"""Codes that ISO 639 has replaced and that clients still send."""
MAX_LANGUAGES_OF_NAMES = 64


def google_code(code: str) -> str:
    """Return the code that clients get for a model's code."""
    presented = present_code(code)
    return GOOGLE_CODES.get(presented.lower(), presented)


def resolve(requested: str, catalogue: Catalogue) -> str:
    """Return the model's own code of a language; the requested one if none is served."""
    former = FORMER_CODES.get(requested.lower())
    return catalogue.resolve(requested) or (former and catalogue.resolve(former)) or requested


def list_languages(catalogue: Catalogue, names_in: str | None) -> list[dict[str, str]]:
    """Return all languages by code, with their names in a language unless that is None.

    Raises:
        ApiError: there is no such language to write names in.
    """
    codes = sorted({google_code(code) for code in catalogue.served})
    if names_in is None:
        return [{"language": code} for code in codes]
    names = _names(tuple(codes), _language(names_in))
    return [{"language": code, "name": name} for code, name in zip(codes, names, strict=True)]


def _language(requested: str) -> str:
    try:
        language = Language.get(requested[:MAX_TAG_LENGTH])
    except LanguageTagError:
        language = None
    if language is None or not language.is_valid() or len(requested) > MAX_TAG_LENGTH:
        raise field_error("target", "is not a language code; send one such as `en`")
    return str(language)


MAX_TAG_LENGTH = 35
"""Maximum characters of a language tag (RFC 5646, section 4.4.1)."""


@lru_cache(MAX_LANGUAGES_OF_NAMES)
def _names(codes: Sequence[str], names_in: str) -> list[str]:
    """Return the names of languages in a language; English ones where CLDR has none."""
    return [Language.get(code).display_name(names_in) for code in codes]
