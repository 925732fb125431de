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

    for problem in (
        "encoder_layers must be at least 1, not 0",
        "d_model 30 must be a multiple of heads 4",
        "activation must be one of relu, gelu, gelu_tanh, quick_gelu, swish, not 'tanh'",
        "norm must be one of pre, post, not 'both'",
        "dropout must be at least 0 and below 1, not 1.0",
        "eos_id 20 is not an id of a vocabulary of 20",
        "shared_vocab needs source_vocab_size = target_vocab_size",
    ):
        assert problem in str(caught.value)
    assert str(caught.value).count(";") == len(wrong) - 1  # d_model and heads make one, the vocabularies too


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"source_vocab_size": 0}, "source_vocab_size"),
        ({"target_vocab_size": -1}, "target_vocab_size"),
        *(({name: 0}, name) for name in ("encoder_layers", "decoder_layers", "d_model", "heads", "ffn")),
        *(({name: 0}, name) for name in ("max_positions", "decoder_ffn", "norm_epsilon")),
        ({"inner_dropout": -0.1}, "inner_dropout"),
        ({"pad_id": -1}, "pad_id"),
        ({"positions": "rotary"}, "positions"),
        ({"autoregression": "lstm"}, "autoregression"),
        ({"first_position": -1}, "first_position"),
        ({"bos_id": 20}, "bos_id"),
        *(({"suppressed_ids": ids}, "suppressed_ids") for ids in ((4, 20), (-1,), (3,))),  # 3 ends sentences
        ({"target_vocab_size": 30, "shared_vocab": False, "pad_id": 29}, "pad_id 29 is not .* of 20"),
        ({"positions": "learned", "first_position": 2}, "first_position must be 0 with learned positions"),
        (
            {"d_model": 2, "heads": 1, "positions": "tensor2tensor"},
            "d_model 2 has no tensor2tensor positions",
        ),
        ({"d_model": 9, "heads": 3}, "d_model 9 must be even"),
    ],
)
def test_a_field_out_of_range_is_rejected_by_name(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        ModelConfig(**{"source_vocab_size": 20, "target_vocab_size": 20, **fields})


def test_values_that_other_fields_allow_are_accepted() -> None:
    """A start that no source has may stand at the end of the larger vocabulary; JSON has lists alone."""
    assert ModelConfig(20, 30, shared_vocab=False, bos_id=29).bos_id == 29
    assert ModelConfig(20, 20, d_model=9, heads=3, positions="learned").head_size == 3
    assert ModelConfig(20, 20, suppressed_ids=[5, 6]).suppressed_ids == (5, 6)  # type: ignore[arg-type] # on purpose
