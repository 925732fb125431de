"""Verdicts on outputs, and their rates."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.robustness.faults import invented, is_empty, looped
from bench.robustness.inputs import TARGETS, Input, Wanted
from bench.robustness.kept import lost, unsaid
from dragoman import DecodingOptions, FinishReason, Pair, Translation, Translator

BEAM_SIZES = (1, 4)
"""Every bundle is judged with."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """On one output."""

    given: Input
    output: str
    lost: tuple[Wanted, ...]
    """Things to keep that did not come out."""
    unsaid: tuple[Wanted, ...]
    """Words that a translation holds and this one lacks."""
    invented: str | None
    looped: str | None
    is_empty: bool

    @property
    def is_good(self) -> bool:
        """Whether nothing was found fault with."""
        return not (self.lost or self.unsaid or self.invented or self.looped or self.is_empty)


@dataclass(frozen=True, slots=True)
class Rates:
    """Of some inputs, 0 to 1; None where nothing was asked for."""

    inputs: int
    good: float
    """Inputs without any fault."""
    things: int
    """To keep."""
    kept: float | None
    words: int
    """To be said."""
    said: float | None
    invented: float
    loop: float
    empty: float


def judge(given: Input, output: str, finish_reason: FinishReason, pair: Pair) -> Verdict:
    """By all rules."""
    is_cut = finish_reason is FinishReason.LENGTH
    return Verdict(
        given=given,
        output=output,
        lost=tuple(lost(given, output, pair.target, pair.source)),
        unsaid=tuple(unsaid(given, output, pair.target, pair.source)),
        invented=invented(given.text, output),
        looped="cut by the length limit" if is_cut else looped(given.text, output),
        is_empty=is_empty(given.text, output),
    )


def rates_of(verdicts: Sequence[Verdict]) -> Rates:
    """Shares of things and words over all inputs together, of faults by input."""
    things = sum(len(verdict.given.kept) for verdict in verdicts)
    words = sum(len(verdict.given.said) for verdict in verdicts)
    return Rates(
        inputs=len(verdicts),
        good=_share(verdicts, lambda verdict: verdict.is_good),
        things=things,
        kept=_left(sum(len(verdict.lost) for verdict in verdicts), things),
        words=words,
        said=_left(sum(len(verdict.unsaid) for verdict in verdicts), words),
        invented=_share(verdicts, lambda verdict: verdict.invented is not None),
        loop=_share(verdicts, lambda verdict: verdict.looped is not None),
        empty=_share(verdicts, lambda verdict: verdict.is_empty),
    )


def _share(verdicts: Sequence[Verdict], has: Callable[[Verdict], bool]) -> float:
    return round(sum(map(has, verdicts)) / len(verdicts), 4)


def _left(missing: int, total: int) -> float | None:
    return round(1 - missing / total, 4) if total else None


def by_kind(verdicts: Sequence[Verdict]) -> dict[str, Rates]:
    """In the list's order."""
    kinds = dict.fromkeys(verdict.given.kind for verdict in verdicts)
    return {kind: rates_of([one for one in verdicts if one.given.kind == kind]) for kind in kinds}


def listed_pairs(translator: Translator) -> list[Pair]:
    """Pairs of a bundle that there is a list for."""
    return [pair for pair in translator.manifest.languages.pairs() if TARGETS.get(pair.source) == pair.target]


def translate_and_judge(
    translator: Translator, inputs: Sequence[Input], pair: Pair, beam_size: int
) -> list[Verdict]:
    """In the list's order.

    Raises:
        InputError: an input that cannot be translated.
    """
    options = DecodingOptions(beam_size=beam_size)
    outcomes = translator.translate([given.text for given in inputs], options, pair=pair)
    verdicts = []
    for given, outcome in zip(inputs, outcomes, strict=True):
        if not isinstance(outcome, Translation):
            raise outcome
        verdicts.append(judge(given, outcome.text, outcome.finish_reason, pair))
    return verdicts
