"""What shapes a model may have."""

from typing import Any

import pytest

from export.model import ModelConfig


def test_an_impossible_config_names_all_its_problems_at_once() -> None:
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
        "activation must be one of relu, gelu, swish, not 'tanh'",
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
    ],
)
def test_each_field_out_of_its_range_is_refused_by_name(field: str, value: object) -> None:
    fields: dict[str, Any] = {"source_vocab_size": 20, "target_vocab_size": 20, field: value}

    with pytest.raises(ValueError, match=field):
        ModelConfig(**fields)


def test_sinusoidal_positions_need_an_even_width_and_learned_ones_do_not() -> None:
    with pytest.raises(ValueError, match="d_model 9 must be even"):
        ModelConfig(20, 20, d_model=9, heads=3)

    assert ModelConfig(20, 20, d_model=9, heads=3, positions="learned").head_size == 3
