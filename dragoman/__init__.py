"""Dragoman, the engine: text in, text out.

>>> from dragoman import Translator
>>> translator = Translator.open("models/de-en")  # doctest: +SKIP
>>> translator.translate("Guten Morgen!").text  # doctest: +SKIP
'Good morning!'
"""

from dragoman.decoding.options import DecodingOptions
from dragoman.errors import (
    BundleError,
    DeadlineExceeded,
    DragomanError,
    InputError,
    Overloaded,
    ProviderError,
    TranslatorClosed,
    UnsupportedPair,
)
from dragoman.translator import Translator
from dragoman.types import (
    Alternative,
    FinishReason,
    Hypothesis,
    Priority,
    SegmentTranslation,
    Translation,
)

__all__ = [
    "Alternative",
    "BundleError",
    "DeadlineExceeded",
    "DecodingOptions",
    "DragomanError",
    "FinishReason",
    "Hypothesis",
    "InputError",
    "Overloaded",
    "Priority",
    "ProviderError",
    "SegmentTranslation",
    "Translation",
    "Translator",
    "TranslatorClosed",
    "UnsupportedPair",
]
