"""Marian's 8-bit products in NumPy, in place of the matrices of `tests.imports.marian.reference`.

A product's input is multiplied with the number of its range, rounded and clipped to -127 to 127; everything
else is float64.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from tests.imports.bergamot.student_files import OUTPUT_RANGE, is_rounded, round_weight
from tests.imports.marian.reference import Matrix, Reference
from tests.imports.marian.written import Arrays, Options

MARGIN = 0.9
"""Share of the largest magnitude that a range keeps: some inputs are clipped."""


class _Product:
    """A matrix that remembers the largest magnitude of its inputs, or rounds them."""

    __array_ufunc__ = None  # so that `array @ matrix` is ours

    def __init__(
        self, name: str, weight: Matrix, ranges: Mapping[str, float], seen: dict[str, float]
    ) -> None:
        self._range_name = f"{name}_QuantMultA"
        self._ranges = ranges
        self._seen = seen
        rounded = round_weight(weight.astype(np.float32))
        self._integers, self._multiplier = rounded.integers.astype(np.float64), rounded.multiplier
        self._weight = (rounded.integers * (np.float32(1) / rounded.multiplier)).astype(np.float64)
        self.shape = weight.shape

    def __getitem__(self, index: list[int]) -> Matrix:
        return self._weight[index]

    @property
    def T(self) -> "_Product":  # noqa: N802 -- NumPy's name
        turned = _Product.__new__(_Product)
        turned._range_name, turned._ranges, turned._seen = OUTPUT_RANGE, self._ranges, self._seen
        turned._integers, turned._multiplier = self._integers.T, self._multiplier
        turned._weight, turned.shape = self._weight.T, self.shape[::-1]
        return turned

    def __rmatmul__(self, inputs: Matrix) -> Matrix:
        largest = float(np.abs(inputs).max())
        self._seen[self._range_name] = max(self._seen.get(self._range_name, 0.0), largest)
        if self._range_name not in self._ranges:
            product: Matrix = inputs @ self._weight
            return product
        multiplier = float(np.float32(self._ranges[self._range_name]))
        levels = np.clip(np.rint(inputs * multiplier), -127, 127)
        rounded: Matrix = levels @ self._integers / (multiplier * float(self._multiplier))
        return rounded


class IntegerReference(Reference):
    """A model with rounded weights, and with rounded inputs of its products if ranges are given."""

    def __init__(self, arrays: Arrays, options: Options, ranges: Mapping[str, float]) -> None:
        super().__init__(arrays, options)
        self.seen: dict[str, float] = {}
        """Largest magnitude of the inputs of each product."""
        products = {
            name: _Product(name, array, ranges, self.seen)
            for name, array in self.arrays.items()
            if is_rounded(name)
        }
        self.arrays.update(products)  # type: ignore[arg-type]  # they do what the formulas need


def find_ranges(
    arrays: Arrays, options: Options, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]
) -> dict[str, float]:
    """Return the numbers that inputs are multiplied with before they are rounded.

    Layers of one input get the same one, as in the published students.
    """
    reference = IntegerReference(arrays, options, {})
    for source, target in pairs:
        reference.log_probabilities(source, target)
    return {name: float(np.float32(127 / (MARGIN * largest))) for name, largest in reference.seen.items()}
