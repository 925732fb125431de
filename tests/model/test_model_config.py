"""Shapes that a model may have."""

from typing import Any

import pytest

from export.model import ModelConfig


def test_an_impossible_config_reports_all_problems_at_once() -> None:
    wrong: dict[str, Any] = {
        "encoder_layers": 0,
        "d_model": 30,
        "heads": 4,
        "activation": "tanh",
        "norm": "both",
        "dropout": 1.0,
        "eos_id": 20,
    }

    with pytest.raises(ValueError, match="model config") as caught:
        ModelConfig(20, 30, **wrong)

    message = str(caught.value)
    for problem in (
        "encoder_layers must be at least 1, not 0",
        "d_model 30 must be a multiple of heads 4",
        "activation must be one of relu, gelu, gelu_tanh, quick_gelu, swish, not 'tanh'",
        "norm must be one of pre, post, not 'both'",
        "dropout must be at least 0 and below 1, not 1.0",
        "eos_id 20 is not an id of a vocabulary of 20",
        "shared_vocab needs source_vocab_size = target_vocab_size",
    ):
        assert problem in message
    assert message.count(";") == len(wrong) - 1  # heads and d_model make one problem, the vocabularies one


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("source_vocab_size", 0),
        ("target_vocab_size", -1),
        ("encoder_layers", 0),
        ("decoder_layers", 0),
        ("d_model", 0),
        ("heads", 0),
        ("ffn", 0),
        ("max_positions", 0),
        ("inner_dropout", -0.1),
        ("pad_id", -1),
        ("positions", "rotary"),
        ("autoregression", "lstm"),
        ("decoder_ffn", 0),
        ("norm_epsilon", 0.0),
        ("first_position", -1),
        ("bos_id", 20),
        ("suppressed_ids", (4, 20)),
        ("suppressed_ids", (-1,)),
        ("suppressed_ids", (3,)),  # the end of the sentence
    ],
)
def test_a_field_out_of_range_is_rejected_by_name(field: str, value: object) -> None:
    fields: dict[str, Any] = {"source_vocab_size": 20, "target_vocab_size": 20, field: value}

    with pytest.raises(ValueError, match=field):
        ModelConfig(**fields)


def test_the_start_id_must_be_in_the_target_vocabulary_only() -> None:
    """A start that no source has may stand at the end of the larger vocabulary."""
    assert ModelConfig(20, 30, shared_vocab=False, bos_id=29).bos_id == 29
    with pytest.raises(ValueError, match="pad_id 29 is not an id of a vocabulary of 20"):
        ModelConfig(20, 30, shared_vocab=False, pad_id=29)


def test_suppressed_ids_may_be_a_list_as_in_json() -> None:
    assert ModelConfig(20, 20, suppressed_ids=[5, 6]) == ModelConfig(20, 20, suppressed_ids=(5, 6))  # type: ignore[arg-type] # on purpose


def test_optional_fields_have_derived_defaults() -> None:
    assert ModelConfig(20, 20, norm="pre").has_final_norm
    assert not ModelConfig(20, 20, norm="post").has_final_norm
    assert ModelConfig(20, 20, norm="post", final_norm=True).has_final_norm
    assert not ModelConfig(20, 20, norm="pre", final_norm=False).has_final_norm
    assert ModelConfig(20, 20, ffn=50).decoder_ffn_size == 50
    assert ModelConfig(20, 20, ffn=50, decoder_ffn=30).decoder_ffn_size == 30


def test_an_unknown_kind_of_positions_is_rejected() -> None:
    with pytest.raises(ValueError, match="first_position must be 0 with learned positions"):
        ModelConfig(20, 20, positions="learned", first_position=2)
    with pytest.raises(ValueError, match="d_model 2 has no tensor2tensor positions"):
        ModelConfig(20, 20, d_model=2, heads=1, positions="tensor2tensor")


def test_sinusoidal_positions_need_an_even_width_and_learned_ones_do_not() -> None:
    with pytest.raises(ValueError, match="d_model 9 must be even"):
        ModelConfig(20, 20, d_model=9, heads=3)

    assert ModelConfig(20, 20, d_model=9, heads=3, positions="learned").head_size == 3
