"""Which folders and search settings are recognised and which are rejected, with all reasons at once."""

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from transformers import M2M100Config, MarianConfig, MBartConfig, PreTrainedConfig

from dragoman.manifest import DecodingDefaults
from export import huggingface
from export.huggingface import files
from export.huggingface.architectures import M2M_100, MARIAN, MBART, Architecture
from export.huggingface.configuration import HuggingFaceShape, read_shape
from export.original import Original
from tests.cases import read_cases
from tests.imports.huggingface.conftest import load, problems_of
from tests.imports.huggingface.make_models import edit_json, write_m2m, write_mbart, write_nllb
from tests.imports.huggingface.make_t5 import write_t5

Copy = Callable[[Path], Path]
CASES = read_cases(__file__)
NESTED = ("[" * 100_000, "[1]", "1e999999", '{"a": 1')
"""JSON that is no object, or nested too deeply."""


def _change(path: Path, change: str) -> None:
    if not change:
        path.unlink()
        return
    if change[0] == "{" and path.exists():
        edit_json(path, json.loads(change))
    else:
        path.write_text(change, encoding="latin-1")


@pytest.fixture(scope="module")
def folders(marian_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """A sound folder of each kind."""
    m2m, t5 = (tmp_path_factory.mktemp(kind) for kind in ("m2m", "t5"))
    write_m2m(m2m)
    write_t5(t5)
    return {"marian": marian_folder, "m2m": m2m, "t5": t5}


@pytest.mark.parametrize(
    ("kind", "case"), [(kind, case) for kind, cases in CASES.items() for case in cases], ids=str
)
def test_a_folder_is_rejected_with_every_file_and_field_at_fault(
    kind: str, case: Mapping[str, Any], folders: Mapping[str, Path], copy_of: Copy
) -> None:
    folder = copy_of(folders[kind])
    for name, change in case["changes"].items():
        _change(folder / name, change)

    found, problems = problems_of(folder), case["problems"]

    if problems[-1] == "...":
        found, problems = found[: len(problems) - 1], problems[:-1]
    for wanted, problem in zip(problems, found, strict=True):
        assert wanted in problem


@pytest.mark.parametrize("content", NESTED, ids=lambda content: content[:9])
def test_json_that_is_no_object_or_too_deeply_nested_is_rejected(content: str, folder: Path) -> None:
    names = ["config.json", "generation_config.json", "tokenizer_config.json"]
    for name in names:
        (folder / name).write_text(content, encoding="utf8")

    assert [problem.split()[0] for problem in problems_of(folder)] == names


def test_a_folder_with_a_configuration_is_recognised(marian_folder: Path, tmp_path: Path) -> None:
    assert huggingface.recognises(marian_folder)
    assert not huggingface.recognises(tmp_path)
    assert not huggingface.recognises(tmp_path / "nothing")


def test_model_type_names_the_class_if_architectures_is_missing(folder: Path) -> None:
    edit_json(folder / "config.json", {"architectures": None})

    assert load(folder).kind == "MarianMTModel"


@pytest.mark.parametrize(
    ("architecture", "config"),
    [(MARIAN, MarianConfig()), (M2M_100, M2M100Config()), (MBART, MBartConfig())],
    ids=["marian", "m2m", "mbart"],
)
def test_missing_configuration_fields_have_the_defaults_of_the_class(
    architecture: Architecture, config: PreTrainedConfig
) -> None:
    problems: list[str] = []

    shape = read_shape({}, architecture, problems)

    assert problems == []
    assert shape == HuggingFaceShape(
        source_vocab_size=config.vocab_size,
        target_vocab_size=config.vocab_size,
        encoder_layers=config.encoder_layers,
        decoder_layers=config.decoder_layers,
        d_model=config.d_model,
        heads=config.encoder_attention_heads,
        ffn=config.encoder_ffn_dim,
        decoder_ffn=config.decoder_ffn_dim,
        activation=config.activation_function,
        max_positions=config.max_position_embeddings,
        scaled_embeddings=config.scale_embedding,
        has_shared_embeddings=True,
        has_tied_output=config.tie_word_embeddings,
        pad_id=config.pad_token_id,
        eos_id=config.eos_token_id,
    )


def test_fields_that_confirm_the_class_are_accepted(mbart_folder: Path, copy_of: Copy) -> None:
    folder = copy_of(mbart_folder)
    edit_json(
        folder / "config.json",
        {
            "normalize_before": True,
            "normalize_embedding": True,
            "add_final_layer_norm": True,
            "static_position_embeddings": False,
        },
    )

    assert load(folder).kind == "MBartForConditionalGeneration"


def test_a_file_over_the_size_limit_is_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = (folder / "vocab.json").stat().st_size
    monkeypatch.setattr(files, "MAX_JSON_BYTES", size)
    assert load(folder).kind == "MarianMTModel"

    monkeypatch.setattr(files, "MAX_JSON_BYTES", size - 1)
    assert problems_of(folder)[0] == f"vocab.json has more than {size - 1} bytes"


@pytest.mark.parametrize("unspecific", [None, "PreTrainedTokenizerFast"])
@pytest.mark.parametrize("write", [write_m2m, write_nllb, write_mbart])
def test_the_tokenizer_has_a_default_per_architecture(
    write: Callable[[Path], object], unspecific: str | None, tmp_path: Path
) -> None:
    write(tmp_path)
    named = load(tmp_path)
    edit_json(tmp_path / "tokenizer_config.json", {"tokenizer_class": unspecific})

    found = load(tmp_path)

    assert found.origin["tokenizer"] == named.origin["tokenizer"]
    assert found.source_tokenizer == named.source_tokenizer


def test_the_configuration_may_name_the_tokenizer(mbart_folder: Path, copy_of: Copy) -> None:
    folder = copy_of(mbart_folder)
    edit_json(folder / "tokenizer_config.json", {"tokenizer_class": None})
    edit_json(folder / "config.json", {"tokenizer_class": "MBart50TokenizerFast"})

    assert load(folder).origin["tokenizer"] == "MBart50Tokenizer"


@pytest.mark.parametrize(
    ("card", "licence"),
    [
        ("---\nlanguage: de\nlicense: apache-2.0\n---\n# Model\nlicense: mit\n", "apache-2.0"),
        ("---\r\nlicense: 'cc-by-nc-4.0'\r\n---\r\n", "cc-by-nc-4.0"),
        ("---\nlanguage: de\n---\nlicense: mit\n", None),
        ("license: mit\n", None),
        ("---\nlicense:\n- mit\n---\n", None),
    ],
)
def test_the_licence_comes_from_the_model_card(card: str, licence: str | None, folder: Path) -> None:
    (folder / "README.md").write_bytes(card.encode())

    assert load(folder).licence == licence


def test_the_origin_records_the_source_files(nllb_folder: Path, marian_folder: Path) -> None:
    origin = load(nllb_folder).origin

    assert origin["tool"] == "transformers"
    assert origin["tokenizer"] == "NllbTokenizer"
    assert (origin["weights"], origin["dtype"]) == ("model.safetensors", "float32")
    assert origin["generation"]["max_target_tokens"] == 199
    assert origin["model_max_length"] is None
    assert load(marian_folder).origin["model_max_length"] == 512


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
