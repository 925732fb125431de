"""Choice of the lane for each kind of search."""

from typing import Protocol, TypeVar

from dragoman.decoding.constrained_lane import ConstrainedLane, ConstrainedStepper
from dragoman.decoding.forced import ForcedDecodingLane, ForcedStepper
from dragoman.decoding.loop import AnyLane, Encoded_contra, Lane, open_strategy
from dragoman.decoding.strategy import TargetVocabulary
from dragoman.types import Method, SearchKind

Encoded = TypeVar("Encoded")


class AnyStepper(ConstrainedStepper[Encoded_contra], ForcedStepper[Encoded_contra], Protocol[Encoded_contra]):
    """A stepper for searches and for forced decoding; a lane uses only one of them."""


def open_lane(kind: SearchKind, stepper: AnyStepper[Encoded], target: TargetVocabulary) -> AnyLane[Encoded]:
    """Open a lane without sources.

    Args:
        kind: kind of search of all its sources.
        stepper: a stepper of this kind, without sources.
        target: the target vocabulary.
    """
    if kind.method in {Method.SCORE, Method.ALIGN}:
        return ForcedDecodingLane(kind, stepper, target)
    if kind.method is Method.CONSTRAINED:
        return ConstrainedLane(kind, stepper, target)
    return Lane(kind, stepper, open_strategy(kind, target))
