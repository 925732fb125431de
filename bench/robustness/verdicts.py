"""Verdicts on outputs, and rates over them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.robustness.faults import invented, is_empty, looped
from bench.robustness.inputs import TARGETS, Input, RequiredItem
from bench.robustness.required_items import find_missing_words, lost
from dragoman import DecodingOptions, Pair, Router
from service.batch.entry_translator import RoutedEntryTranslator
from service.formats.entries import Entry
from service.translation.options import TranslationOptions

BEAM_SIZES = (1, 4)
"""Beam sizes with which every bundle is judged."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The faults of one output."""

    given: Input
    output: str
    lost: tuple[RequiredItem, ...]
    """Things to keep that the output lacks."""
    unsaid: tuple[RequiredItem, ...]
    """Required words that the output lacks."""
    invented: str | None
    looped: str | None
    is_empty: bool

    @property
    def is_good(self) -> bool:
        """Return whether there is no fault."""
        return not (self.lost or self.unsaid or self.invented or self.looped or self.is_empty)


@dataclass(frozen=True, slots=True)
class Rates:
    """Rates over a group of inputs, 0 to 1; None if the inputs require nothing of a kind."""

    inputs: int
    good: float
    """Share of inputs without any fault."""
    things: int
    """Number of things to keep."""
    kept: float | None
    words: int
    """Number of required words."""
    said: float | None
    invented: float
    loop: float
    empty: float


def judge(given: Input, output: str, pair: Pair, *, is_cut: bool = False) -> Verdict:
    """Judge an output by all rules."""
    return Verdict(
        given=given,
        output=output,
        lost=tuple(lost(given, output, pair.target, pair.source)),
        unsaid=tuple(find_missing_words(given, output, pair.target, pair.source)),
        invented=invented(given.text, output),
        looped="cut by the length limit" if is_cut else looped(given.text, output),
        is_empty=is_empty(given.text, output),
    )


def rates_of(verdicts: Sequence[Verdict]) -> Rates:
    """Compute the rates: of things and words over all inputs together, of faults per input."""
    things = sum(len(verdict.given.kept) for verdict in verdicts)
    words = sum(len(verdict.given.said) for verdict in verdicts)
    lost = sum(len(verdict.lost) for verdict in verdicts)
    unsaid = sum(len(verdict.unsaid) for verdict in verdicts)

    def share(faults: Iterable[object]) -> float:
        return round(sum(map(bool, faults)) / len(verdicts), 4)

    return Rates(
        inputs=len(verdicts),
        good=share(verdict.is_good for verdict in verdicts),
        things=things,
        kept=round(1 - lost / things, 4) if things else None,
        words=words,
        said=round(1 - unsaid / words, 4) if words else None,
        invented=share(verdict.invented for verdict in verdicts),
        loop=share(verdict.looped for verdict in verdicts),
        empty=share(verdict.is_empty for verdict in verdicts),
    )


def by_kind(verdicts: Sequence[Verdict]) -> dict[str, Rates]:
    """Return the rates of each kind, in the order of the list."""
    kinds = dict.fromkeys(verdict.given.kind for verdict in verdicts)
    return {kind: rates_of([one for one in verdicts if one.given.kind == kind]) for kind in kinds}


def listed_pairs(router: Router) -> list[Pair]:
    """Return the pairs of a router's only bundle that have a list."""
    [offer] = router.offers()
    return [pair for pair in offer.languages.pairs() if TARGETS.get(pair.source) == pair.target]


def translate_and_judge(router: Router, inputs: Sequence[Input], pair: Pair, beam_size: int) -> list[Verdict]:
    """Translate the inputs as files, jobs and all APIs do; return verdicts in the order of the list."""
    options = TranslationOptions(DecodingOptions(beam_size=beam_size))
    translator = RoutedEntryTranslator(router, *pair, options)
    verdicts = []
    outcomes = translator.translate(Entry(given.text, "") for given in inputs)
    for given, outcome in zip(inputs, outcomes, strict=True):
        if outcome.is_source:
            verdicts.append(judge(given, given.text, pair))
        else:
            verdicts.append(judge(given, outcome.marked.text, pair, is_cut=outcome.is_cut))
    return verdicts
