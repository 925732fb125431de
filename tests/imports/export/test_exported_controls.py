"""Controls and alignment from a checkpoint's record to the manifest; no text spells controls."""

import dataclasses
import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from dragoman.bundle import read_bundle
from dragoman.manifest import AlignmentHeads, Controls, FormalityControls, ModelLimits, TermControls
from dragoman.text.tokenizer import Tokenizer
from export import checkpoint_import
from export.alignment import default_alignment
from export.bundle import BundleMetadata, ExportError, write_bundle
from export.checkpoint_folder import read_checkpoint
from export.marian.load import read_alignment
from export.model import ModelConfig
from export.original import ImportRejectedError, Original, RequestedLanguages
from export.run import choose_alignment
from tests.imports.export.conftest import tiny_original
from tests.imports.export.rejections import GERMAN_TO_ENGLISH
from tests.paths import ROOT
from training.controls import CONTROLS, mark

TINY = ROOT / "tests" / "tiny" / "checkpoint"
VOCABULARY = ROOT / "training" / "checkpoints" / "both" / "source.spm"
"""A vocabulary with controls."""
RECORD = {
    "terms": {"begin": "<term>", "translation": "<translation>", "end": "</term>"},
    "formality": {"formal": "<formal>", "informal": "<informal>", "targets": ["de"]},
}
ENGLISH_TO_GERMAN = RequestedLanguages(("en",), ("de",))


def controls_of(
    record: dict[str, Any], languages: RequestedLanguages, vocabulary: Path = VOCABULARY
) -> Controls | None:
    checkpoint = replace(read_checkpoint(TINY), source_tokenizer=vocabulary, training=record)
    return checkpoint_import.import_checkpoint(checkpoint, languages, "tiny").controls


@cache
def processor() -> sentencepiece.SentencePieceProcessor:
    return sentencepiece.SentencePieceProcessor(model_file=str(VOCABULARY))


def piece_id(piece: str) -> int:
    found: int = processor().piece_to_id(piece)
    return found


TERMS = TermControls(*map(piece_id, ("<term>", "<translation>", "</term>")))
FORMALITY = FormalityControls(piece_id("<formal>"), piece_id("<informal>"), ("de",))


def test_the_recorded_controls_are_exported_as_ids_of_their_pieces() -> None:
    found = controls_of({"controls": RECORD}, ENGLISH_TO_GERMAN)

    assert found == Controls(TERMS, FORMALITY)


def test_formality_is_a_control_of_german_targets_only() -> None:
    into_austrian, into_english = (
        controls_of({"controls": RECORD}, RequestedLanguages((source,), (target,))) or Controls()
        for source, target in (("en", "de-AT"), ("de", "en"))
    )

    assert into_austrian.formality == replace(FORMALITY, targets=("de-AT",))
    assert into_english == Controls(TERMS)
    assert controls_of({"controls": {"formality": RECORD["formality"]}}, GERMAN_TO_ENGLISH) is None


def test_a_record_without_controls_makes_a_bundle_without_controls() -> None:
    assert controls_of({}, ENGLISH_TO_GERMAN) is None
    assert controls_of({"controls": {}}, ENGLISH_TO_GERMAN) is None


def test_a_control_that_text_could_spell_is_rejected() -> None:
    spelt = {"terms": {"begin": "<term>", "translation": "▁the", "end": "</term>"}}

    assert piece_id("▁the") != piece_id("<unk>")
    for piece, record, vocabulary in (("▁the", spelt, VOCABULARY), ("<term>", RECORD, TINY / "source.spm")):
        with pytest.raises(ImportRejectedError, match=rf"{piece} is no control symbol of source\.spm"):
            controls_of({"controls": record}, GERMAN_TO_ENGLISH, vocabulary)


def test_an_exported_bundle_has_the_controls_in_its_manifest(tmp_path: Path) -> None:
    controls = Controls(terms=TermControls(300, 301, 302))
    original = replace(tiny_original(), controls=controls)

    write_bundle(tmp_path, original, "fp32", BundleMetadata("tiny", "CC0-1.0", ModelLimits(48, 64)), [])

    assert read_bundle(tmp_path).manifest.controls == controls
    content = json.loads((tmp_path / "manifest.json").read_text(encoding="utf8"))
    assert content["controls"] == {"terms": {"begin": 300, "translation": 301, "end": 302}}


@pytest.fixture(scope="module")
def engine_tokenizer() -> Tokenizer:
    """The engine's own tokenizer with the vocabulary that has controls."""
    return Tokenizer.load(VOCABULARY)


@pytest.fixture(scope="module")
def control_ids() -> set[int]:
    """All controls of the vocabulary, with those that begin, end and fill a target."""
    found = {piece for piece in range(processor().vocab_size()) if processor().is_control(piece)}
    assert found > {piece_id(control) for control in CONTROLS}
    return found


spellings = st.sampled_from([*CONTROLS, *map(mark, CONTROLS), "▁", "<", ">", " ", "<pad>", "<s>", "</s>"])


@given(parts=st.lists(spellings | st.text(max_size=3), max_size=12))
def test_a_users_text_is_never_encoded_as_a_control(
    engine_tokenizer: Tokenizer, control_ids: set[int], parts: list[str]
) -> None:
    (ids,) = engine_tokenizer.encode(["".join(parts)])

    assert control_ids.isdisjoint(ids)


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
