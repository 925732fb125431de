"""Search settings of `generate`: which are imported and which are rejected."""

import math
from pathlib import Path

import numpy as np

from dragoman.manifest import DecodingDefaults
from export.original import Original
from tests.imports.huggingface.loading import load, problems_of
from tests.imports.huggingface.make_models import edit_json

FILE = "generation_config.json"
PAD = 645


def with_settings(folder: Path, settings: dict[str, object]) -> Original:
    edit_json(folder / FILE, settings)
    return load(folder)


def test_search_defaults_come_from_the_models_files(folder: Path) -> None:
    original = with_settings(folder, {"num_beams": 6, "length_penalty": 0.6, "early_stopping": True})
    assert original.decoding == DecodingDefaults(6, 0.6, early_stopping=True)
    original = with_settings(folder, {"num_beams": 1})
    assert original.decoding == DecodingDefaults(1, 0.6, early_stopping=False)
    original = with_settings(
        folder, {"num_beams": None, "length_penalty": None, "early_stopping": None, "max_length": None}
    )
    assert original.decoding == DecodingDefaults(1, 1.0, early_stopping=False)
    assert original.max_target_tokens is None


def test_the_maximum_target_length_excludes_the_start_id(folder: Path) -> None:
    assert with_settings(folder, {"max_length": 100}).max_target_tokens == 99
    assert with_settings(folder, {"max_new_tokens": 30}).max_target_tokens == 30


def test_older_folders_have_generation_settings_in_config_json(folder: Path) -> None:
    (folder / FILE).unlink()
    edit_json(folder / "config.json", {"num_beams": 6, "max_length": 512, "bad_words_ids": [[PAD]]})

    original = load(folder)

    assert original.decoding == DecodingDefaults(6, 1.0, early_stopping=False)
    assert original.max_target_tokens == 511
    assert original.model.config.suppressed_ids == (PAD,)
    edit_json(folder / "config.json", {"no_repeat_ngram_size": 3})
    assert problems_of(folder) == ("config.json: no_repeat_ngram_size 3 is not supported",)


def test_forbidden_ids_are_masked_before_or_after_the_softmax(folder: Path) -> None:
    settings: dict[str, object] = {"bad_words_ids": [[PAD], [9], [0]], "suppress_tokens": [9, 11]}

    lost = with_settings(folder, settings | {"renormalize_logits": False}).model
    assert lost.config.suppressed_ids == (9, 11, PAD)
    lost_bias = lost.weights["output_bias"]
    assert np.isfinite(lost_bias).all()

    shared = with_settings(folder, settings | {"renormalize_logits": True}).model
    assert shared.config.suppressed_ids == ()
    bias = shared.weights["output_bias"]
    assert np.flatnonzero(bias == -math.inf).tolist() == [9, 11, PAD]
    others = np.isfinite(bias)
    np.testing.assert_array_equal(bias[others], lost_bias[others])


def test_the_end_of_sentence_cannot_be_a_bad_word(folder: Path) -> None:
    model = with_settings(folder, {"bad_words_ids": [[0]], "renormalize_logits": False}).model

    assert model.config.suppressed_ids == ()


def test_special_ids_come_from_the_generation_settings(folder: Path) -> None:
    original = with_settings(folder, {"decoder_start_token_id": 5, "pad_token_id": 6, "bos_token_id": 7})
    assert (original.model.config.bos_id, original.model.config.pad_id) == (5, 6)
    assert original.languages.targets["en"].begin == (5,)
    original = with_settings(folder, {"decoder_start_token_id": None})
    assert original.languages.targets["en"].begin == (7,)
    original = with_settings(folder, {"bos_token_id": None})
    assert original.languages.targets["en"].begin == (PAD,)


def test_a_list_of_one_end_id_is_accepted(folder: Path) -> None:
    assert with_settings(folder, {"eos_token_id": [0]}).model.config.eos_id == 0


def test_settings_without_effect_are_accepted(folder: Path) -> None:
    harmless: dict[str, object] = {
        "do_sample": False,
        "temperature": 0.2,
        "top_k": 5,
        "min_length": 0,
        "repetition_penalty": 1.0,
        "no_repeat_ngram_size": 0,
        "num_beam_groups": 1,
        "diversity_penalty": 0.0,
        "num_return_sequences": 3,
        "stop_strings": [],
        "use_cache": False,
        "_from_model_config": True,
    }

    assert with_settings(folder, harmless).kind == "MarianMTModel"
