import copy
import json
import math
import operator
from dataclasses import asdict
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman.bundle import read_bundle
from dragoman.confidence import MAX_WEIGHT, ConfidenceMap, map_problems
from dragoman.contract import FORMAT_VERSION
from dragoman.errors import BundleError
from dragoman.manifest import AlignmentHeads, Controls, FormalityControls, Manifest, TermControls
from dragoman.manifest_json import parse_manifest, to_json_content
from tests.engine.bundle.conftest import FORMALITY, TERMS, problems_of

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 400) | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
GOOD_RECORD: dict[str, object] = {"sha256": "00", "size_bytes": 1}
WRONG_TYPES: dict[str, tuple[object, str, str]] = {
    "format_version": (float(FORMAT_VERSION), "an integer", "a number with a fraction"),
    "name": (None, "a string", "null"),
    "languages": (["de"], "an object", "an array"),
    "precision": (True, "a string", "true or false"),
    "cache_dtype": (8, "a string", "an integer"),
    "autoregression": (True, "a string", "true or false"),
    "decoding": (4, "an object", "an integer"),
    "alignment": (["last"], "an object", "an array"),
    "sizes": ([2, 4, 8], "an object", "an array"),
    "special_ids": ("0 1 2 3", "an object", "a string"),
    "limits": (64, "an object", "an integer"),
    "source_tokenizer": ("source.spm", "an object", "a string"),
    "target_tokenizer": (1.5, "an object", "a number with a fraction"),
    "files": (["encoder.onnx"], "an object", "an array"),
    "licence": ([], "a string", "an array"),
    "origin": ("here", "an object", "a string"),
    "scores": (31.5, "an object", "a number with a fraction"),
}


def outcome_of(content: object) -> type:
    try:
        return type(parse_manifest(content, "de-en"))
    except BundleError:
        return BundleError


def test_every_field_is_read_as_written(manifest: dict[str, Any]) -> None:
    before = json.dumps(manifest)
    parsed = parse_manifest(manifest, "de-en")

    assert json.loads(json.dumps(to_json_content(parsed))) == manifest
    assert json.dumps(manifest) == before
    manifest["decoding"]["length_penalty"] = 1  # may be written without a fraction
    assert parse_manifest(manifest, "de-en").decoding.length_penalty == 1.0


def test_a_manifest_is_read_from_its_folder(folder: Path, manifest: dict[str, Any]) -> None:
    bundle = read_bundle(folder)

    assert bundle.manifest == parse_manifest(manifest, "")
    assert bundle.file("source.spm") == folder / "source.spm"


@pytest.mark.parametrize(
    "version",
    [FORMAT_VERSION + 1, FORMAT_VERSION - 1, str(FORMAT_VERSION), None, [[[[[[[[[1]]]]]]]]], "x" * 10**6],
)
def test_another_format_version_is_rejected_with_the_supported_one(
    version: object, manifest: dict[str, Any]
) -> None:
    (problem,) = problems_of(manifest | {"format_version": version, "fields_of_the_future": 1})

    assert f"this engine reads {FORMAT_VERSION}" in problem
    assert "matching release" in problem
    assert len(problem) < 300
    assert f"format_version is {version}," in problem or not isinstance(version, int)


@pytest.mark.parametrize("content", [[], [1], "manifest", 1, None, True])
def test_only_an_object_is_a_manifest(content: object) -> None:
    assert problems_of(content) == ("manifest.json is not a JSON object",)


@pytest.mark.parametrize("field", WRONG_TYPES)
def test_a_missing_field_or_one_of_another_type_is_named(field: str, manifest: dict[str, Any]) -> None:
    value, wanted, found = WRONG_TYPES[field]

    assert f"manifest.json: {field} must be {wanted}, not {found}" in problems_of(manifest | {field: value})
    del manifest[field]
    assert f"manifest.json: {field} is missing" in problems_of(manifest) or field == "format_version"


def test_all_problems_are_reported_at_once(manifest: dict[str, Any]) -> None:
    del manifest["name"]
    manifest["precision"] = 8
    manifest["colour"] = "red"
    manifest["sizes"]["heads"] = -1
    manifest["sizes"]["depth"] = 6
    del manifest["limits"]["max_source_tokens"]
    manifest["special_ids"]["eos"] = True
    manifest["files"]["encoder.onnx"]["size_bytes"] = "big"
    manifest["files"]["../secret"] = manifest["files"].pop("source.spm")

    assert set(problems_of(manifest)) == {
        "manifest.json: name is missing",
        "manifest.json: precision must be a string, not an integer",
        "manifest.json: colour is not a known field",
        "manifest.json: sizes.heads is -1, but must be at least 1",
        "manifest.json: sizes.depth is not a known field",
        "manifest.json: limits.max_source_tokens is missing",
        "manifest.json: special_ids.eos must be an integer, not true or false",
        "manifest.json: files.encoder.onnx.size_bytes must be an integer, not a string",
        "manifest.json: files: '../secret' does not name a file inside the bundle",
    }


@pytest.mark.parametrize(
    ("place", "value", "problem"),
    [
        ("cache_dtype", "float8", "cache_dtype must be one of int8, float16, float32, not 'float8'"),
        ("sizes.decoder_layers", 0, "sizes.decoder_layers is 0, but must be at least 1"),
        ("sizes.target_vocab", -7, "sizes.target_vocab is -7, but must be at least 1"),
        ("limits.max_target_tokens", 0, "limits.max_target_tokens is 0, but must be at least 1"),
        ("special_ids.pad", -1, "special_ids.pad is -1, but must be at least 0"),
        ("languages.sources", {}, "languages.sources is empty"),
        ("languages.targets", {}, "languages.targets is empty"),
        ("source_tokenizer.model", "/etc/passwd", "files: /etc/passwd is not listed"),
        ("files.x", GOOD_RECORD | {"size_bytes": -1}, "files.x.size_bytes is -1, but must be at least 0"),
        ("files.x", {"sha256": "00"}, "files.x.size_bytes is missing"),
        ("files.x", {"size_bytes": 1}, "files.x.sha256 is missing"),
        ("files.x", GOOD_RECORD | {"md5": ""}, "files.x.md5 is not a known field"),
        ("files.x", None, "files.x must be an object, not null"),
        ("alignment.layer", 2, "alignment.layer is 2, but must be from 0 to 1"),
        ("alignment.layer", -1, "alignment.layer is -1, but must be at least 0"),
        ("alignment.layer", True, "alignment.layer must be an integer, not true or false"),
        ("alignment.heads", [], "alignment.heads must have 1 or more ids, all at least 0"),
        ("alignment.heads", [-1], "alignment.heads must have 1 or more ids, all at least 0"),
        ("alignment.heads", [1, 4], "alignment.heads: 4 is not a head from 0 to 3"),
        ("alignment.heads", [1, 1], "alignment.heads names a head twice"),
        ("alignment.heads", ["0"], "alignment.heads: every item must be an integer"),
        ("alignment.step", "last", "alignment.step must be one of reading, saying, not 'last'"),
        ("alignment.colour", 1, "alignment.colour is not a known field"),
        ("controls", {}, "controls is empty"),
        ("controls", None, "controls must be an object, not null"),
        ("controls", {"tone": {}}, "controls.tone is not a known field"),
        ("controls", {"terms": {"begin": 4, "end": 6}}, "controls.terms.translation is missing"),
        ("controls", {"terms": TERMS | {"end": -1}}, "controls.terms.end is -1, but must be at least 0"),
        (
            "controls",
            {"terms": TERMS | {"end": 300}},
            "controls: 300 is not an id from 0 to 299 without another meaning",
        ),
        (
            "controls",
            {"terms": TERMS | {"end": 3}},
            "controls: 3 is not an id from 0 to 299 without another meaning",
        ),
        ("controls", {"terms": TERMS | {"end": 4}}, "controls has an id twice"),
        ("controls", {"terms": TERMS, "formality": FORMALITY | {"formal": 4}}, "controls has an id twice"),
        ("controls", {"terms": "<term>"}, "controls.terms must be an object, not a string"),
        (
            "controls",
            {"formality": FORMALITY | {"targets": ["de"]}},
            "controls.formality.targets: de is no target language of the bundle",
        ),
        (
            "controls",
            {"formality": FORMALITY | {"targets": []}},
            "controls.formality.targets must have one or more languages, each once",
        ),
        (
            "controls",
            {"formality": FORMALITY | {"targets": ["en", "en"]}},
            "controls.formality.targets must have one or more languages, each once",
        ),
    ],
)
def test_an_impossible_value_in_any_place_is_named(
    place: str, value: object, problem: str, manifest: dict[str, Any]
) -> None:
    *groups, field = place.split(".")
    reduce(operator.getitem, groups, manifest)[field] = value

    problems = problems_of(manifest)
    assert f"manifest.json: {problem}" in problems
    assert len(problems) == 1 or value in (None, ["0"]) or place == "controls"  # one makes others


@pytest.mark.parametrize(
    "name", ["", ".", "/etc/passwd", "..", "../x", "a/../../x", "a\\b", "..\\x", "C:\\x", "//host/x"]
)
def test_a_path_that_may_leave_the_folder_is_rejected(name: str, manifest: dict[str, Any]) -> None:
    manifest["files"]["extra/..notes"] = GOOD_RECORD  # stays in it
    assert "extra/..notes" in parse_manifest(manifest, "de-en").files

    manifest["files"][name] = GOOD_RECORD

    assert problems_of(manifest) == (
        f"manifest.json: files: {name!r} does not name a file inside the bundle",
    )


@pytest.mark.parametrize(
    "name", ["encoder.onnx", "decoder.onnx", "source.spm", "target.spm", "target.vocab.json"]
)
def test_files_the_engine_opens_must_be_listed(name: str, manifest: dict[str, Any]) -> None:
    del manifest["files"][name]

    assert problems_of(manifest) == (f"manifest.json: files: {name} is not listed",)


def test_languages_are_read_with_all_problems_reported(manifest: dict[str, Any]) -> None:
    sources, targets = manifest["languages"]["sources"], manifest["languages"]["targets"]
    sources["de"]["after"] = ["3"]
    sources["zh-Hans"]["before"] = [-1]
    targets["en"]["begin"] = []
    targets["en"]["colour"] = "red"

    assert set(problems_of(manifest)) == {
        "manifest.json: languages.sources.de.after: every item must be an integer",
        "manifest.json: languages.sources.zh-Hans.before must have 0 or more ids, all at least 0",
        "manifest.json: languages.targets.en.begin must have 1 or more ids, all at least 0",
        "manifest.json: languages.targets.en.colour is not a known field",
    }


@pytest.mark.parametrize(("step", "reads_token"), [("reading", True), ("saying", False)])
def test_an_alignment_names_layer_heads_and_step(
    step: str, reads_token: object, manifest: dict[str, Any]
) -> None:
    manifest["alignment"]["step"] = step

    assert parse_manifest(manifest, "de-en").alignment == AlignmentHeads(
        1, (3, 0), reads_token=bool(reads_token)
    )


@given(content=JSON_VALUES)
def test_any_json_is_a_manifest_or_a_bundle_error(content: object) -> None:
    assert outcome_of(content) in {Manifest, BundleError}


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_json_in_any_place_is_a_manifest_or_a_bundle_error(
    data: st.DataObject, manifest: dict[str, Any]
) -> None:
    content: Any = copy.deepcopy(manifest)
    place = content
    field = data.draw(st.sampled_from(sorted(place)))
    while isinstance(place[field], dict) and data.draw(st.booleans()):
        place = place[field]
        field = data.draw(st.sampled_from(sorted(place)))
    place[data.draw(st.just(field) | st.text())] = data.draw(JSON_VALUES)

    assert outcome_of(content) in {Manifest, BundleError}


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
