"""Fields of the manifest: the map to a confidence, and the controls that a model was trained with."""

import json
import math
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.confidence import MAX_WEIGHT, ConfidenceMap, map_problems
from dragoman.manifest import Controls, FormalityControls, TermControls
from dragoman.manifest_json import parse_manifest, to_json_content
from tests.engine.bundle.conftest import FORMALITY, TERMS, problems_of

MAP = ConfidenceMap(-2.5, 7.0, 1.5, -3.0, 0.75, 10, 400)
FIELD = asdict(MAP)

weights = st.floats(-MAX_WEIGHT, MAX_WEIGHT)
maps = st.builds(
    ConfidenceMap,
    intercept=weights,
    logprob=st.floats(0, MAX_WEIGHT, exclude_min=True),
    source_length=weights,
    shortfall=st.floats(-MAX_WEIGHT, 0),
    length_ratio=st.floats(1 / MAX_WEIGHT, MAX_WEIGHT),
    min_source_characters=st.integers(1, 50),
    max_source_characters=st.integers(50, 10**6),
)
lengths = st.integers(0, 10**6)
logprobs = st.floats(-100, 0)


@given(fitted=maps, source=lengths, target=lengths, pair=st.tuples(logprobs, logprobs))
def test_a_higher_log_probability_never_lowers_the_confidence(
    fitted: ConfidenceMap, source: int, target: int, pair: tuple[float, float]
) -> None:
    low, high = (fitted.log_confidence(source, target, logprob) for logprob in sorted(pair))

    assert map_problems(fitted) == []
    assert low <= high <= 0
    assert 0 <= math.exp(low) <= math.exp(high) <= 1


@given(fitted=maps, source=lengths, logprob=logprobs, pair=st.tuples(lengths, lengths))
def test_a_shorter_target_never_raises_the_confidence(
    fitted: ConfidenceMap, source: int, logprob: float, pair: tuple[int, int]
) -> None:
    shorter, longer = (fitted.log_confidence(source, target, logprob) for target in sorted(pair))

    assert shorter <= longer


def test_the_confidence_is_the_logistic_function_of_the_weighted_features() -> None:
    log_odds = -2.5 + 7.0 * -0.2 + 1.5 * math.log(100) - 3.0 * math.log(75 / 50)

    assert math.exp(MAP.log_confidence(100, 50, -0.2)) == pytest.approx(1 / (1 + math.exp(-log_odds)))
    assert MAP.log_confidence(100, 75, -0.2) == MAP.log_confidence(100, 90, -0.2)


def test_sources_outside_the_calibrated_lengths_count_as_the_nearest_calibrated_length() -> None:
    assert MAP.log_confidence(2, 9, -0.2) == MAP.log_confidence(10, 9, -0.2)
    assert MAP.log_confidence(4000, 4000, -0.2) == MAP.log_confidence(400, 400, -0.2)
    assert MAP.log_confidence(9, 9, -0.2) < MAP.log_confidence(11, 9, -0.2)


def test_a_map_is_read_as_written_and_a_bundle_without_one_has_no_field(manifest: dict[str, Any]) -> None:
    without, with_map = parse_manifest(manifest, ""), parse_manifest(manifest | {"confidence": FIELD}, "")

    assert (without.confidence, with_map.confidence) == (None, MAP)
    assert "confidence" not in to_json_content(without)
    assert to_json_content(with_map)["confidence"] == FIELD


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"logprob": 0}, ".logprob is 0.0, but must be above 0"),
        ({"logprob": -1.5}, ".logprob is -1.5, but must be above 0"),
        ({"shortfall": 0.5}, ".shortfall is 0.5, but must be at most 0"),
        ({"intercept": 1e9}, ".intercept is 1000000000.0, but must be from -1000 to 1000"),
        ({"source_length": math.nan}, ".source_length is nan, but must be from -1000 to 1000"),
        ({"logprob": math.inf}, ".logprob is inf, but must be from -1000 to 1000"),
        ({"length_ratio": 0}, ".length_ratio is 0.0, but must be from 0.001 to 1000"),
        ({"min_source_characters": 0}, ".min_source_characters is 0, but must be at least 1"),
        (
            {"max_source_characters": 9},
            ".max_source_characters is 9, but must be at least min_source_characters, 10",
        ),
        ({"intercept": "1"}, ".intercept must be a number with a fraction, not a string"),
        ({"intercept": 10**400}, ".intercept is too large for a number"),
        ({"bias": 1.0}, ".bias is not a known field"),
        *(({name: None}, f".{name} is missing") for name in FIELD),
        (None, " must be an object, not null"),
    ],
)
def test_a_map_with_an_impossible_value_is_rejected(
    changes: dict[str, Any] | None, problem: str, manifest: dict[str, Any]
) -> None:
    """None stands for what is not there."""
    fields = {name: value for name, value in (FIELD | (changes or {})).items() if value is not None}
    problems = problems_of(manifest | {"confidence": None if changes is None else fields})

    assert f"manifest.json: confidence{problem}" in problems
    assert len(problems) == 1 or changes is None  # which has no fields either


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            {"controls": {"terms": TERMS, "formality": FORMALITY}},
            Controls(TermControls(4, 5, 6), FormalityControls(7, 8, ("en",))),
        ),
        ({"controls": {"terms": TERMS}}, Controls(terms=TermControls(4, 5, 6))),
        ({"controls": {"formality": FORMALITY}}, Controls(formality=FormalityControls(7, 8, ("en",)))),
        ({}, None),
    ],
)
def test_the_controls_of_a_bundle_are_read_as_written(
    content: dict[str, Any], expected: Controls | None, manifest: dict[str, Any]
) -> None:
    parsed = parse_manifest(manifest | content, "de-en")

    assert parsed.controls == expected
    assert json.loads(json.dumps(to_json_content(parsed))) == manifest | content
