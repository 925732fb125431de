"""Options out of range are refused by name."""

import math
from typing import Any

import pytest

from dragoman.decoding.options import DecodingOptions
from dragoman.errors import InputError


@pytest.mark.parametrize(
    ("wishes", "field", "limit"),
    [
        ({"beam_size": 0}, "beam_size", "between 1 and 32"),
        ({"beam_size": 33}, "beam_size", "between 1 and 32"),
        ({"num_hypotheses": 0}, "num_hypotheses", "between 1 and 32"),
        ({"num_hypotheses": 33}, "num_hypotheses", "between 1 and 32"),
        ({"beam_size": 2, "num_hypotheses": 3}, "num_hypotheses", "more than beam_size 2"),
        ({"max_length": 0}, "max_length", "at least 1"),
        ({"min_length": -1}, "min_length", "at least 0"),
        ({"min_length": 6, "max_length": 5}, "min_length", "more than max_length 5"),
        ({"length_penalty": -0.1}, "length_penalty", "between 0 and 10"),
        ({"length_penalty": 10.1}, "length_penalty", "between 0 and 10"),
        ({"length_penalty": math.nan}, "length_penalty", "between 0 and 10"),
    ],
)
def test_an_option_out_of_range_is_refused_with_its_name_and_range(
    wishes: dict[str, Any], field: str, limit: str
) -> None:
    with pytest.raises(InputError) as raised:
        DecodingOptions(**wishes)

    assert raised.value.field == field
    assert str(wishes[field]) in raised.value.problem
    assert limit in raised.value.problem


@pytest.mark.parametrize(
    "wishes",
    [
        {},
        {"beam_size": 1},
        {"beam_size": 32, "num_hypotheses": 32},
        {"min_length": 5, "max_length": 5},
        {"length_penalty": 0.0},
        {"length_penalty": 10.0},
    ],
)
def test_the_ends_of_every_range_are_accepted(wishes: dict[str, Any]) -> None:
    options = DecodingOptions(**wishes)

    assert all(getattr(options, field) == value for field, value in wishes.items())
