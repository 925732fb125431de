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
    KernelsError,
    MemoryBudgetExceeded,
    Overloaded,
    ProviderError,
    TranslatorClosed,
    UnsupportedPair,
)
from dragoman.pipeline.engine_request import EngineRequest
from dragoman.routing.options import RouterOptions, TranslatorOptions
from dragoman.routing.results import RoutedTranslation
from dragoman.routing.router import Router
from dragoman.scheduling.deadline import Deadline
from dragoman.terms import Term, Terminology
from dragoman.translator import Translator
from dragoman.types import (
    Alternative,
    FinishReason,
    Hypothesis,
    Pair,
    Priority,
    SegmentTranslation,
    Translation,
)

__all__ = [
    "Alternative",
    "BundleError",
    "Deadline",
    "DeadlineExceeded",
    "DecodingOptions",
    "DragomanError",
    "EngineRequest",
    "FinishReason",
    "Hypothesis",
    "InputError",
    "KernelsError",
    "MemoryBudgetExceeded",
    "Overloaded",
    "Pair",
    "Priority",
    "ProviderError",
    "RoutedTranslation",
    "Router",
    "RouterOptions",
    "SegmentTranslation",
    "Term",
    "Terminology",
    "Translation",
    "Translator",
    "TranslatorClosed",
    "TranslatorOptions",
    "UnsupportedPair",
]
