"""An exported bundle says what `generate` of the original says, token for token."""

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from dragoman import DecodingOptions
from tests.imports.sameness.exported import Both, Said

BEAM_SHARE = 0.95
pytestmark = pytest.mark.examples


def unexplained(both: Both, options: Mapping[str, Any], found: list[Said], expected: list[Said]) -> list[int]:
    """Inputs to which the original itself, in float64, says what it says in float32, and not what we say."""
    differing = [index for index, one in enumerate(expected) if found[index] != one]
    exact = replace(
        both, model=copy.deepcopy(both.model).double(), sources=[both.sources[index] for index in differing]
    )
    precise = exact.theirs(options) if differing else []
    return [
        index
        for index, one in zip(differing, precise, strict=True)
        if one == expected[index] and one != found[index]
    ]


def test_greedy_search_is_token_identical_on_all_inputs(both: Both) -> None:
    options: dict[str, Any] = {"num_beams": 1, "do_sample": False, "forced_eos_token_id": None}

    expected = both.theirs(options)
    found = both.ours(DecodingOptions(beam_size=1))

    assert len(set(expected)) > len(found) / 2, "they say different things to different sources"
    assert len(found) / 4 < sum(one.is_ended for one in expected) < len(found), "some end, some are cut"
    assert found == expected


@pytest.mark.parametrize("stops_early", [False, True])
def test_beam_search_is_token_identical_on_nearly_all_inputs(both: Both, *, stops_early: bool) -> None:
    options: dict[str, Any] = {
        "num_beams": 4,
        "length_penalty": 1.0,
        "early_stopping": stops_early,
        "forced_eos_token_id": None,
    }
    if not both.model.generation_config.renormalize_logits:  # else the end's share would go to the others
        options["min_new_tokens"] = len(both.begin)  # as the engine, whose targets are never empty

    expected = both.theirs(options)
    search_options = DecodingOptions(beam_size=4, length_penalty=1.0, early_stopping=stops_early)
    found = both.ours(search_options)

    num_equal = sum(one == other for one, other in zip(found, expected, strict=True))
    assert num_equal >= BEAM_SHARE * len(found)
    assert unexplained(both, options, found, expected) == []
