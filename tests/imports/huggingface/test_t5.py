"""T5's family against `transformers`: configuration, weights, positions, tokenizer; and what is rejected."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import MT5Config, T5Config, UMT5Config
from transformers.models.t5.modeling_t5 import T5Attention

from dragoman.text.tokenizer import Tokenizer
from export.bundle import write_tokenizer
from export.huggingface.architectures import MT5, T5, UMT5, Architecture
from export.huggingface.t5 import read_t5_shape
from export.model_config import ModelConfig
from export.original import Original
from export.relative_positions import distance_buckets
from export.tensors.safetensors_file import read_safetensors
from tests.imports.huggingface.conftest import load, problems_of
from tests.imports.huggingface.make_models import edit_json, german
from tests.imports.huggingface.make_t5 import MADLAD, MADLAD_TAGS, MODEL, original_tokenizer, write_t5


def open_tokenizer(original: Original, folder: Path) -> Tokenizer:
    """The source's, as in a bundle."""
    folder.mkdir()
    files = write_tokenizer(folder, "source", original.source_tokenizer)
    assert files.vocabulary is not None
    return Tokenizer.load(folder / files.model, folder / files.vocabulary, normalises=files.normalises)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_t5(tmp_path)
    return tmp_path


@pytest.mark.parametrize("is_bidirectional", [False, True])
@pytest.mark.parametrize(
    ("buckets", "reach"), [(32, 128), (16, 24), (4, 3), (64, 256), (32, 100), (32, 1000)]
)
def test_buckets_are_those_of_transformers(buckets: int, reach: int, *, is_bidirectional: bool) -> None:
    config = ModelConfig(4, 4, positions="relative", relative_buckets=buckets, relative_max_distance=reach)
    places = torch.arange(-reach, reach + 1) if is_bidirectional else -torch.arange(reach + 1)

    expected = T5Attention._relative_position_bucket(
        places, bidirectional=is_bidirectional, num_buckets=buckets, max_distance=reach
    )

    assert distance_buckets(config, is_bidirectional=is_bidirectional).tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("architecture", "config"),
    [(T5, T5Config()), (MT5, MT5Config()), (UMT5, UMT5Config())],
    ids=["t5", "mt5", "umt5"],
)
def test_missing_fields_have_the_defaults_of_the_class(architecture: Architecture, config: Any) -> None:
    problems: list[str] = []

    shape = read_t5_shape({}, architecture, problems)

    assert problems == []
    found = (shape.source_vocab_size, shape.d_model, shape.head_size, shape.ffn, shape.heads)
    assert found == (config.vocab_size, config.d_model, config.d_kv, config.d_ff, config.num_heads)
    layers = (shape.encoder_layers, shape.decoder_layers)
    assert layers == (config.num_layers, config.num_decoder_layers)
    names = {"relu": "relu", "gelu_new": "gelu_tanh"}
    assert (shape.activation, shape.is_gated) == (names[config.dense_act_fn], config.is_gated_act)
    relative = (shape.relative_buckets, shape.relative_max_distance)
    own = (config.relative_attention_num_buckets, config.relative_attention_max_distance)
    assert relative == own
    assert (shape.norm_epsilon, shape.pad_id, shape.eos_id) == (1e-6, 0, 1)


def test_ids_are_those_of_the_tokenizer_of_transformers(tmp_path: Path) -> None:
    write_t5(tmp_path)
    original = load(tmp_path)
    ours = open_tokenizer(original, tmp_path / "ours")
    theirs = original_tokenizer(tmp_path)
    prefix = original.languages.targets["en"].source_before
    lines = german()[:200]

    found = [[*prefix, *ids, 1] for ids in ours.encode(lines)]

    assert found == [theirs(f"translate German to English: {line}").input_ids for line in lines]


def test_text_never_becomes_a_tag_or_an_extra_id(tmp_path: Path) -> None:
    write_t5(tmp_path, MADLAD, tags=MADLAD_TAGS, is_untied=True)
    original = load(tmp_path)
    tokenizer = open_tokenizer(original, tmp_path / "ours")
    tags = {target.source_before[-1] for target in original.languages.targets.values()}

    assert len(tags) == len(MADLAD_TAGS)
    assert tags.isdisjoint(tokenizer.encode(["<2de> Haus <2fr>"])[0])


def test_a_tag_before_the_source_selects_the_target_language(tmp_path: Path) -> None:
    write_t5(tmp_path, MADLAD, tags=MADLAD_TAGS, is_untied=True)

    languages = load(tmp_path, sources=("de",), targets=("en", "zh_Hant")).languages

    assert list(languages.sources) == ["de"]
    assert list(languages.targets) == ["en", "zh-Hant"]
    assert languages.targets["en"].begin == (0,)


def test_a_task_gives_languages_and_the_ids_before_a_source(folder: Path) -> None:
    more = {
        "translation_en_to_de": {"prefix": "translate English to German: "},
        "translation_en_to_fr": {"prefix": "translate English to French: "},
    }
    edit_json(folder / "config.json", {"task_specific_params": more})

    languages = load(folder).languages

    assert (list(languages.sources), list(languages.targets)) == (["en"], ["de", "fr"])
    assert len({target.source_before for target in languages.targets.values()}) == len(languages.targets)
    assert list(load(folder, targets=("fr",)).languages.targets) == ["fr"]
    de_en = {"translation_de_to_en": {"prefix": "translate German to English: "}}
    edit_json(folder / "config.json", {"task_specific_params": more | de_en})
    assert "choose it with --source-lang" in str(problems_of(folder))
    assert list(load(folder, sources=("de",)).languages.targets) == ["en"]


def test_without_a_task_the_caller_names_the_languages(folder: Path) -> None:
    edit_json(folder / "config.json", {"task_specific_params": None})

    assert "give --source-lang" in str(problems_of(folder))
    languages = load(folder, sources=("de",), targets=("en",)).languages
    assert languages.targets["en"].source_before == ()


def test_the_folder_of_transformers_has_a_tokenizer_that_is_rebuilt(tmp_path: Path) -> None:
    write_t5(tmp_path)
    before = open_tokenizer(load(tmp_path), tmp_path / "before")
    original_tokenizer(tmp_path).save_pretrained(tmp_path)
    (tmp_path / MODEL).unlink()

    after = open_tokenizer(load(tmp_path), tmp_path / "after")

    assert before.encode(german()) == after.encode(german())


def test_queries_have_the_factor_that_our_attention_divides_by(folder: Path) -> None:
    stored = read_safetensors(folder / "model.safetensors")["encoder.block.0.layer.0.SelfAttention.q.weight"]
    model = load(folder).model

    found = model.weights["encoder.0.self_attention.query.weight"]

    np.testing.assert_allclose(found, stored.read() * 8**0.5, rtol=1e-6)
