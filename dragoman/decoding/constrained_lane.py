"""The lane of constrained searches, whose steps also return the log-probabilities of wanted tokens.

Shapes: R rows (B sources x beam_size), K candidates of a row, W wanted tokens of a row.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dragoman.decoding.constrained import ConstrainedBeam
from dragoman.decoding.loop import Encoded_contra, Lane, Stepper
from dragoman.decoding.strategy import TargetVocabulary
from dragoman.types import SearchKind


class ConstrainedStepper(Stepper[Encoded_contra], Protocol[Encoded_contra]):
    """A stepper that also returns log-probabilities of wanted tokens, whichever they are."""

    def step_with(
        self, last_ids: NDArray[np.int64], num_best: int, wanted_ids: NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Extend every row by one token.

        Args:
            last_ids: int64 [R].
            num_best: K, at most the size of the vocabulary.
            wanted_ids: int64 [R, W], tokens whose log-probabilities are wanted.

        Returns:
            Log-probabilities float32 [R, K + W] and ids int64 [R, K + W]: the K best of each row, best
            first, then its wanted ones.
        """
        ...


class ConstrainedLane(Lane[Encoded_contra]):
    """A `Lane` of searches with required and forbidden phrases."""

    def __init__(
        self, kind: SearchKind, stepper: ConstrainedStepper[Encoded_contra], target: TargetVocabulary
    ) -> None:
        beam = ConstrainedBeam(kind.beam_size, target)
        super().__init__(kind, stepper, beam)
        self._beam = beam
        self._constrained_stepper = stepper

    def _candidates(self) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        beam = self._beam
        return self._constrained_stepper.step_with(beam.last_ids, beam.num_best, beam.wanted_ids)
