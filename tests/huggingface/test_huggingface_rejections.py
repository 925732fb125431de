"""Which folders are recognised and which are rejected, with all reasons at once."""

from collections.abc import Callable
from pathlib import Path

import pytest
from transformers import M2M100Config, MarianConfig, MBartConfig, PreTrainedConfig

from export import huggingface
from export.huggingface import files
from export.huggingface.architectures import M2M_100, MARIAN, MBART, Architecture
from export.huggingface.configuration import HuggingFaceShape, read_shape
from tests.huggingface.loading import load, problems_of
from tests.huggingface.make_models import edit_json, write_json, write_m2m, write_mbart, write_nllb

Copy = Callable[[Path], Path]


def test_a_folder_with_a_configuration_is_recognised(marian_folder: Path, tmp_path: Path) -> None:
    assert huggingface.recognises(marian_folder)
    assert not huggingface.recognises(tmp_path)
    assert not huggingface.recognises(tmp_path / "nothing")


def test_other_classes_are_rejected_by_name(folder: Path) -> None:
    edit_json(folder / "config.json", {"architectures": ["LongT5ForConditionalGeneration"]})
    families = ("M2M100", "MBart", "T5", "MT5", "UMT5")
    imported = ", ".join(["MarianMTModel", *(f"{family}ForConditionalGeneration" for family in families)])
    problem = f"architecture LongT5ForConditionalGeneration is not supported; supported are {imported}"
    assert problems_of(folder) == (problem,)
    edit_json(folder / "config.json", {"architectures": ["MarianModel"]})
    assert "architecture MarianModel is not supported;" in str(problems_of(folder))
    edit_json(folder / "config.json", {"architectures": None, "model_type": "bart"})
    types = "marian, m2m_100, mbart, t5, mt5, umt5"
    assert problems_of(folder) == (f"model_type bart is not supported; supported are {types}",)
    edit_json(folder / "config.json", {"model_type": None})
    assert "names no architecture" in str(problems_of(folder))


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


def test_all_problems_of_the_configuration_are_reported(folder: Path) -> None:
    edit_json(
        folder / "config.json",
        {
            "activation_function": "tanh",
            "decoder_attention_heads": 2,
            "encoder_attention_heads": 8,
            "encoder_layers": "six",
            "decoder_ffn_dim": True,
            "scale_embedding": 1,
            "quantization_config": {"bits": 4},
            "pruned_heads": {"0": [1]},
            "position_embedding_type": "relative_key",
            "rope_theta": 10000.0,
            "is_encoder_decoder": False,
            "normalize_before": True,
            "normalize_embedding": True,
            "static_position_embeddings": False,
        },
    )
    edit_json(folder / "generation_config.json", {"do_sample": True})
    edit_json(folder / "tokenizer_config.json", {"sp_model_kwargs": {"nbest_size": 4}, "source_lang": None})

    assert problems_of(folder) == (
        "config.json: encoder_layers is 'six', not a whole number from 1 to 1000",
        "config.json: decoder_ffn_dim is True, not a whole number from 1 to 1048576",
        "activation tanh is not supported",
        "config.json: scale_embedding is 1, not true or false",
        "the encoder has 8 attention heads, but the decoder has 2",
        "head size 4 is not a multiple of 8",
        "quantised weights (quantization_config) are not supported",
        "pruned heads are not supported",
        "relative_key positions (position_embedding_type) are not supported",
        "rotary positions (rope_theta) are not supported",
        "only encoder-decoder models are supported (is_encoder_decoder)",
        "normalize_before true is not supported by MarianMTModel",
        "normalize_embedding true is not supported by MarianMTModel",
        "static_position_embeddings false is not supported by MarianMTModel",
        "generation_config.json: do_sample True is not supported",
        "tokenizer_config.json: sp_model_kwargs {'nbest_size': 4} are not supported",
        "no file names its source language; give --source-lang",
    )


@pytest.mark.parametrize(
    "field", ["vocab_size", "encoder_layers", "decoder_layers", "max_position_embeddings", "d_model"]
)
def test_impossible_sizes_are_rejected_before_anything_is_allocated(field: str, folder: Path) -> None:
    edit_json(folder / "config.json", {field: 10**15})

    assert problems_of(folder)[0].startswith(f"config.json: {field} is 1000000000000000, not a whole number")


def test_d_model_must_be_a_multiple_of_heads(folder: Path) -> None:
    edit_json(folder / "config.json", {"encoder_attention_heads": 3, "decoder_attention_heads": 3})

    assert problems_of(folder) == ("width 32 is not a multiple of its 3 heads",)


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


def test_special_ids_outside_the_vocabulary_are_rejected(folder: Path) -> None:
    edit_json(folder / "generation_config.json", {"pad_token_id": 9999})

    assert problems_of(folder) == ("model config: pad_id 9999 is not an id of a vocabulary of 646",)


def test_m2m_targets_that_start_with_padding_are_rejected(tmp_path: Path) -> None:
    write_m2m(tmp_path)
    edit_json(tmp_path / "generation_config.json", {"decoder_start_token_id": 1})

    assert problems_of(tmp_path) == ("a target that starts with the padding id is not supported",)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("source.spm", "source.spm is not a SentencePiece model"),
        ("vocab.json", "vocab.json is not JSON"),
        ("config.json", "config.json is not JSON"),
        ("generation_config.json", "generation_config.json is not JSON"),
        ("tokenizer_config.json", "tokenizer_config.json is not JSON"),
    ],
)
def test_a_damaged_file_is_named(name: str, problem: str, folder: Path) -> None:
    (folder / name).write_bytes(b"\xff" * 50)

    assert problems_of(folder)[0].startswith(problem)


@pytest.mark.parametrize("content", [b"[" * 100_000, b"[1]", b"1e999999", b'{"a": 1'])
def test_json_that_is_no_object_or_too_deeply_nested_is_rejected(content: bytes, folder: Path) -> None:
    for name in ("config.json", "tokenizer_config.json", "generation_config.json"):
        (folder / name).write_bytes(content)

    assert [problem.split()[0] for problem in problems_of(folder)] == [
        "config.json",
        "generation_config.json",
        "tokenizer_config.json",
    ]


def test_a_file_over_the_size_limit_is_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = (folder / "vocab.json").stat().st_size
    monkeypatch.setattr(files, "MAX_JSON_BYTES", size)
    assert load(folder).kind == "MarianMTModel"

    monkeypatch.setattr(files, "MAX_JSON_BYTES", size - 1)
    assert problems_of(folder)[0] == f"vocab.json has more than {size - 1} bytes"


@pytest.mark.parametrize("name", ["source.spm", "target.spm", "vocab.json"])
def test_a_missing_tokenizer_file_of_marian_is_named(name: str, folder: Path) -> None:
    (folder / name).unlink()

    assert problems_of(folder)[0].startswith(name)


def test_invalid_vocabulary_ids_are_rejected(folder: Path) -> None:
    edit_json(folder / "vocab.json", {"more": 646})
    assert problems_of(folder) == ("vocab.json: 'more' has id 646, which is not in the vocabulary of 646",)
    edit_json(folder / "vocab.json", {"more": True})
    assert problems_of(folder) == ("vocab.json: 'more' has id True, which is not in the vocabulary of 646",)
    edit_json(folder / "vocab.json", {"more": 5})
    assert problems_of(folder) == ("vocab.json: several pieces have the same id",)


def test_a_vocabulary_without_its_special_pieces_is_rejected(folder: Path) -> None:
    edit_json(folder / "vocab.json", {"<unk>": None})
    edit_json(folder / "tokenizer_config.json", {"eos_token": "[END]", "added_tokens_decoder": None})

    assert problems_of(folder) == (
        "vocab.json does not have '<unk>', the unk_token",
        "vocab.json does not have '[END]', the eos_token",
    )


def test_tokens_added_to_a_vocabulary_are_rejected(tmp_path: Path) -> None:
    write_m2m(tmp_path)
    tokens = {
        "0": {"content": "<s>", "special": True},
        "700": {"content": "<new>", "special": True},
        "5": {"content": "word", "special": False},
        "x": {"content": "<x>", "special": True},
    }
    edit_json(tmp_path / "tokenizer_config.json", {"added_tokens_decoder": tokens})
    write_json(tmp_path / "added_tokens.json", {"<old>": 701, "__de__": 517})

    problems = problems_of(tmp_path)

    assert problems[:2] == (
        "tokenizer_config.json: added token 'word' is not special, which is not supported",
        "tokenizer_config.json: added token {'content': '<x>', 'special': True} is not valid",
    )
    assert problems[2:] == (
        "added token '<new>' with id 700 is not in the vocabulary",
        "added token '<old>' with id 701 is not in the vocabulary",
    )


def test_an_unknown_list_of_codes_is_rejected(tmp_path: Path) -> None:
    write_m2m(tmp_path)
    edit_json(tmp_path / "tokenizer_config.json", {"language_codes": "mars"})

    assert "language_codes 'mars' is not one of m2m100, wmt21" in str(problems_of(tmp_path))


@pytest.mark.parametrize("named", ["SMALL100Tokenizer", "ByT5TokenizerFast"])
def test_other_tokenizers_are_rejected_by_name(named: str, folder: Path) -> None:
    edit_json(folder / "tokenizer_config.json", {"tokenizer_class": named})

    (problem,) = problems_of(folder)

    assert problem.startswith(
        f"tokenizer {named.removesuffix('Fast')} is not supported; supported are MarianTokenizer,"
    )


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


def test_the_origin_records_the_source_files(nllb_folder: Path) -> None:
    origin = load(nllb_folder).origin

    assert origin["tool"] == "transformers"
    assert origin["tokenizer"] == "NllbTokenizer"
    assert (origin["weights"], origin["dtype"]) == ("model.safetensors", "float32")
    assert origin["generation"]["max_target_tokens"] == 199
    assert origin["model_max_length"] is None


def test_the_origin_records_the_tokenizers_maximum_length(marian_folder: Path) -> None:
    assert load(marian_folder).origin["model_max_length"] == 512
