"""The right lane for each kind of sources."""

from typing import Protocol, TypeVar

from dragoman.decoding.forced import ForcedDecodingLane, ForcedStepper
from dragoman.decoding.loop import AnyLane, Lane, Stepper, open_strategy
from dragoman.decoding.strategy import TargetVocabulary
from dragoman.types import Method, SearchKind

Encoded = TypeVar("Encoded")
Encoded_contra = TypeVar("Encoded_contra", contravariant=True)


class AnyStepper(Stepper[Encoded_contra], ForcedStepper[Encoded_contra], Protocol[Encoded_contra]):
    """Steps for a search and for a reading; a lane asks for one of the two only."""


def open_lane(kind: SearchKind, stepper: AnyStepper[Encoded], target: TargetVocabulary) -> AnyLane[Encoded]:
    """A lane without sources.

    Args:
        kind: of all its sources.
        stepper: without sources, of the same kind.
        target: what is said.
    """
    if kind.method in {Method.SCORE, Method.ALIGN}:
        return ForcedDecodingLane(kind, stepper, target)
    return Lane(kind, stepper, open_strategy(kind, target))
