"""The attention that a bundle names for word alignment."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from dragoman.bundle import read_bundle
from dragoman.manifest import AlignmentHeads, ModelLimits
from export.alignment import default_alignment
from export.bundle import BundleMetadata, ExportError, write_bundle
from export.marian.alignment import read_alignment
from export.model import ModelConfig
from export.original import Original
from export.run import choose_alignment
from tests.imports.export.conftest import tiny_original

TRAINED = AlignmentHeads(0, (3,), reads_token=True)


def original(alignment: AlignmentHeads | None = None) -> Original:
    return dataclasses.replace(tiny_original(), alignment=alignment)


def written(folder: Path, model: Original, alignment: AlignmentHeads | None) -> AlignmentHeads:
    facts = BundleMetadata("tiny", "CC0-1.0", ModelLimits(48, 64), alignment=alignment)
    write_bundle(folder, model, "fp32", facts, [])
    return read_bundle(folder).manifest.alignment


def test_alignment_is_as_requested_else_as_trained_else_the_default(tmp_path: Path) -> None:
    requested = AlignmentHeads(1, (4, 0), reads_token=False)
    default = default_alignment(original().model.config)

    for trained, chosen, named in (
        (TRAINED, requested, requested),
        (TRAINED, None, TRAINED),
        (None, None, default),
    ):
        assert written(tmp_path, original(trained), chosen) == named


@pytest.mark.parametrize(
    ("alignment", "problem"),
    [
        (AlignmentHeads(2, (0,), reads_token=True), "alignment layer 2 is not between 0 and 1"),
        (AlignmentHeads(-1, (0,), reads_token=True), "alignment layer -1 is not between 0 and 1"),
        (AlignmentHeads(0, (), reads_token=True), "alignment heads must be one or more, each named once"),
        (AlignmentHeads(0, (1, 1), reads_token=True), "alignment heads must be one or more, each named once"),
        (AlignmentHeads(0, (5,), reads_token=True), "alignment head 5 is not between 0 and 4"),
    ],
)
def test_alignment_attention_that_the_model_lacks_is_rejected(
    alignment: AlignmentHeads, problem: str, tmp_path: Path
) -> None:
    with pytest.raises(ExportError) as caught:
        written(tmp_path, original(), alignment)

    assert str(caught.value) == problem
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((None, None, None), TRAINED),
        ((None, None, "saying"), AlignmentHeads(0, (3,), reads_token=False)),
        ((None, (1, 2), None), AlignmentHeads(0, (1, 2), reads_token=True)),
        ((1, None, None), AlignmentHeads(1, (0, 1, 2, 3, 4), reads_token=True)),
        ((1, (4,), "saying"), AlignmentHeads(1, (4,), reads_token=False)),
    ],
)
def test_alignment_options_default_to_the_trained_ones(arguments: Any, expected: AlignmentHeads) -> None:
    """But for the heads of another layer: those of the trained one mean nothing there."""
    layer, heads, step = arguments

    assert choose_alignment(layer, heads, step, original(TRAINED)) == expected


@pytest.mark.parametrize(
    ("layers", "expected"),
    [(1, (0, False)), (2, (1, False)), (3, (2, False)), (4, (1, True)), (6, (2, True))],
)
def test_by_default_a_deep_decoder_aligns_in_its_middle_layer_and_a_shallow_one_in_its_last(
    layers: int, expected: tuple[int, bool]
) -> None:
    config = ModelConfig(source_vocab_size=9, target_vocab_size=9, decoder_layers=layers, heads=2, d_model=16)

    found = default_alignment(config)

    assert (found.layer, found.reads_token) == expected
    assert found.heads == (0, 1)


LAYER = "transformer-guided-alignment-layer"


@pytest.mark.parametrize(
    ("options", "decoder_options", "layer"),
    [
        ({}, {}, None),
        ({LAYER: "last"}, {}, None),
        ({LAYER: "last", "guided-alignment": "none"}, {"alignment": False}, None),
        ({LAYER: "2"}, {}, 1),
        ({LAYER: 1}, {}, 0),
        ({LAYER: "last"}, {"alignment": "soft"}, 5),
        ({"guided-alignment": "corpus.aln.gz"}, {}, 5),
        ({LAYER: "2", "guided-alignment": "corpus.aln.gz"}, {}, 1),
        ({LAYER: "7"}, {}, None),
        ({LAYER: "first"}, {}, None),
    ],
)
def test_marian_models_align_with_the_first_head_of_the_configured_layer(
    options: dict[str, Any], decoder_options: dict[str, Any], layer: int | None
) -> None:
    expected = None if layer is None else AlignmentHeads(layer, (0,), reads_token=False)

    assert read_alignment(options, decoder_options, 6) == expected
