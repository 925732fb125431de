"""The manifest's field for the controls that a model was trained with."""

import json
from typing import Any

import pytest

from dragoman.manifest import Controls, FormalityControls, TermControls
from dragoman.manifest_json import parse_manifest, to_json_content
from tests.bundle.conftest import problems_of

TERMS = {"begin": 4, "translation": 5, "end": 6}
FORMALITY = {"formal": 7, "informal": 8, "targets": ["en"]}


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


@pytest.mark.parametrize(
    ("field", "problem"),
    [
        ({}, "controls is empty"),
        (None, "controls must be an object, not null"),
        ({"tone": {}}, "controls.tone is not a known field"),
        ({"terms": {"begin": 4, "end": 6}}, "controls.terms.translation is missing"),
        ({"terms": TERMS | {"end": -1}}, "controls.terms.end is -1, but must be at least 0"),
        ({"terms": TERMS | {"end": 300}}, "controls: 300 is not an id from 0 to 299 without another meaning"),
        ({"terms": TERMS | {"end": 3}}, "controls: 3 is not an id from 0 to 299 without another meaning"),
        ({"terms": TERMS | {"end": 4}}, "controls has an id twice"),
        ({"terms": TERMS, "formality": FORMALITY | {"formal": 4}}, "controls has an id twice"),
        ({"terms": "<term>"}, "controls.terms must be an object, not a string"),
        (
            {"formality": FORMALITY | {"targets": ["de"]}},
            "controls.formality.targets: de is no target language of the bundle",
        ),
        (
            {"formality": FORMALITY | {"targets": []}},
            "controls.formality.targets must have one or more languages, each once",
        ),
        (
            {"formality": FORMALITY | {"targets": ["en", "en"]}},
            "controls.formality.targets must have one or more languages, each once",
        ),
    ],
)
def test_impossible_controls_are_rejected(field: object, problem: str, manifest: dict[str, Any]) -> None:
    assert f"manifest.json: {problem}" in problems_of(manifest | {"controls": field})
