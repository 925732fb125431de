"""Rules of the whole model under every option, and its position vectors."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from export.model import ModelConfig, Transformer
from export.model.generate import generate_greedy
from export.model.layers import DecoderLayer, EncoderLayer
from export.positions import position_table
from tests.every_pair import combinations_with_every_pair

OPTIONS: dict[str, tuple[object, ...]] = {
    "norm": ("pre", "post"),
    "positions": ("sinusoidal", "learned"),
    "shared_vocab": (True, False),
    "tied_output": (True, False),
    "share_kv": (True, False),
}
IMPORTED: dict[str, tuple[object, ...]] = {
    "norm": ("pre", "post"),
    "positions": ("tensor2tensor", "learned"),
    "autoregression": ("attention", "ssru"),
    "final_norm": (True, False),
    "embedding_norm": (True,),
    "shared_positions": (False,),
    "scaled_embeddings": (False,),
    "decoder_ffn": (10,),
    "norm_epsilon": (1e-3,),
}
"""Of models that were trained elsewhere."""
COMBINATIONS = [each for options in (OPTIONS, IMPORTED) for each in combinations_with_every_pair(options)]

every_option = pytest.mark.parametrize(
    "options", COMBINATIONS, ids=["-".join(map(str, combination.values())) for combination in COMBINATIONS]
)


def random_model(options: dict[str, Any], seed: int = 0) -> Transformer:
    """A tiny model in which every parameter, biases and norms included, is random."""
    config = ModelConfig(
        source_vocab_size=23,
        target_vocab_size=23 if options.get("shared_vocab", True) else 19,
        encoder_layers=2,
        decoder_layers=2,
        d_model=12,
        heads=3,
        ffn=20,
        max_positions=16,
        **options,
    )
    model = Transformer(config).eval()
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            is_scale = "norm" in name and name.endswith("weight")
            nn.init.normal_(parameter, mean=float(is_scale), std=0.4)
    return model


def random_source(lengths: list[int]) -> tuple[Tensor, Tensor]:
    ids = torch.randint(4, 19, (len(lengths), max(lengths)))
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    return ids.masked_fill(~mask, 0), mask


@every_option
def test_caches_padding_and_later_tokens_do_not_change_the_output(options: dict[str, Any]) -> None:
    model = random_model(options)
    source_ids, mask = random_source([5, 3])
    target_ids = torch.randint(4, 12, (2, 7))
    cross = model.cross_keys_values(model.encode(source_ids, mask))
    whole, whole_past = model.decode(target_ids, cross, mask)

    parts, past = [], None
    for begin, end in ((0, 1), (1, 2), (2, 5), (5, 7)):
        states, past = model.decode(target_ids[:, begin:end], cross, mask, past)
        parts.append(states)

    torch.testing.assert_close(torch.cat(parts, dim=1), whole, atol=1e-5, rtol=1e-5)
    assert past is not None
    assert past.positions == whole_past.positions == 7
    torch.testing.assert_close(past.layers, whole_past.layers, atol=1e-5, rtol=1e-5)

    padded_ids = torch.cat([source_ids.masked_fill(~mask, 7), torch.randint(0, 19, (2, 4))], dim=1)
    padded_mask = torch.cat([mask, torch.zeros(2, 4, dtype=torch.bool)], dim=1)
    torch.testing.assert_close(model(padded_ids, padded_mask, target_ids), whole, atol=1e-5, rtol=1e-5)

    changed_ids = target_ids.clone()
    changed_ids[:, 4:] += 5
    changed = model(source_ids, mask, changed_ids)
    torch.testing.assert_close(changed[:, :4], whole[:, :4], atol=1e-6, rtol=1e-6)
    assert (changed[:, 4:] - whole[:, 4:]).abs().amax(dim=2).min() > 1e-3


@every_option
def test_options_decide_which_weights_exist(options: dict[str, Any]) -> None:
    model = random_model(options)

    names = {name for name, _ in model.named_parameters()}

    config = model.config
    is_learned = config.positions == "learned"
    assert ("position_table" in names) == is_learned
    assert ("target_position_table" in names) == (is_learned and not config.shared_positions)
    assert ("target_embedding.weight" in names) == (not config.shared_vocab)
    assert ("output_weight" in names) == (not config.tied_output)
    assert any(".value." in name for name in names) == (not config.share_kv)
    for side in ("encoder", "decoder"):
        has_norm = {True: True, False: False, None: config.norm == "pre"}[config.final_norm]
        assert (f"{side}_norm.weight" in names) == has_norm
        assert (f"{side}_embedding_norm.weight" in names) == config.embedding_norm
    recurrence = {name.rpartition("self_recurrence.")[2] for name in names if "self_recurrence" in name}
    if config.autoregression == "ssru":
        assert recurrence == {"cell.weight", "forget.weight", "forget.bias"}
        assert not any("decoder" in name and "self_attention" in name for name in names)
    else:
        assert not recurrence


def test_attention_layers_share_no_weights_before_and_after_a_training_step() -> None:
    model = random_model({}).train()
    encoder = [layer for layer in model.encoder if isinstance(layer, EncoderLayer)]
    decoder = [layer for layer in model.decoder if isinstance(layer, DecoderLayer)]
    encoder_keys = [layer.self_attention.key.weight for layer in encoder]
    cross_keys = [layer.cross_attention.key.weight for layer in decoder]
    with torch.no_grad():
        for encoder_key, cross_key in zip(encoder_keys, cross_keys, strict=True):
            cross_key.copy_(encoder_key)  # equal to begin with, so that only being one tensor keeps them so

    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    source_ids, mask = random_source([5, 4])
    logits = model.logits(model(source_ids, mask, torch.randint(0, 19, (2, 6))))
    torch.autograd.backward(logits.logsumexp(dim=-1).sum())
    optimiser.step()

    for encoder_key, cross_key in zip(encoder_keys, cross_keys, strict=True):
        assert not torch.equal(encoder_key, cross_key)
    all_weights = [*encoder_keys, *cross_keys, *(layer.self_attention.key.weight for layer in decoder)]
    assert len({weight.data_ptr() for weight in all_weights}) == len(all_weights)


def test_a_token_beyond_the_last_position_is_rejected_not_truncated() -> None:
    model = random_model({})
    source_ids, mask = random_source([16])
    cross = model.cross_keys_values(model.encode(source_ids, mask))
    _, past = model.decode(torch.zeros(1, 16, dtype=torch.int64), cross, mask)

    with pytest.raises(ValueError, match="17 positions exceed max_positions 16"):
        model.encode(*random_source([17]))
    with pytest.raises(ValueError, match="17 positions exceed max_positions 16"):
        model.decode(torch.zeros(1, 1, dtype=torch.int64), cross, mask, past)
    with pytest.raises(ValueError, match="begin with at least one id"):
        generate_greedy(model, source_ids, mask, 10, [])


def naive_greedy(
    model: Transformer, source_ids: Tensor, max_tokens: int, begin: Sequence[int] = (2,)
) -> list[int]:
    """One unpadded sentence, no cache: the whole prefix again for every token."""
    mask = torch.ones(1, len(source_ids), dtype=torch.bool)
    prefix = list(begin)
    while len(prefix) <= max_tokens:
        states = model(source_ids[None], mask, torch.tensor([prefix]))
        logprobs = model.logits(states[0, -1]).log_softmax(dim=-1).tolist()
        allowed = [token for token in range(len(logprobs)) if token not in model.config.suppressed_ids]
        token = max(allowed, key=logprobs.__getitem__)
        if token == model.config.eos_id:
            break
        prefix.append(token)
    return prefix[len(begin) :]


GREEDY: list[tuple[dict[str, Any], tuple[int, ...]]] = [
    ({"norm": "pre"}, (2,)),
    ({"norm": "post"}, (2,)),
    ({"norm": "post"}, (3, 7, 9)),
    ({"autoregression": "ssru"}, (2,)),
    ({"autoregression": "ssru"}, (0, 11)),
    ({"suppressed_ids": tuple(range(6, 20))}, (2, 8)),
]


@pytest.mark.parametrize(("options", "begin"), GREEDY, ids=str)
def test_greedy_search_of_a_batch_equals_a_naive_loop_for_each_sentence(
    options: dict[str, Any], begin: tuple[int, ...]
) -> None:
    lengths_seen = set()
    for seed, eos_bias in itertools.product(range(2), (1.5, 2.5)):
        model = random_model({"tied_output": False, **options}, seed)
        with torch.no_grad():
            model.output_bias[model.config.eos_id] += eos_bias  # else a random model seldom ends
        lengths = [6, 1, 4, 3, 6]
        source_ids, mask = random_source(lengths)

        results = generate_greedy(model, source_ids, mask, 10, None if begin == (2,) else begin)

        assert results == [
            naive_greedy(model, row[:length], 10, begin)
            for row, length in zip(source_ids, lengths, strict=True)
        ]
        lengths_seen |= {len(result) for result in results}
    longest = 11 - len(begin)  # the forced ones count
    assert longest in lengths_seen  # some were ended by the limit,
    assert lengths_seen - {0, longest}  # some by themselves


def test_suppressed_ids_keep_their_share_of_probability() -> None:
    free, bound = random_model({}), random_model({"suppressed_ids": (0, 7, 22)})
    states = torch.randn(2, 5, 12)

    logprobs = bound.log_probabilities(states)

    expected = free.log_probabilities(states)
    torch.testing.assert_close(expected, free.logits(states).log_softmax(dim=-1), atol=0.0, rtol=0.0)
    expected[..., [0, 7, 22]] = -math.inf
    torch.testing.assert_close(logprobs, expected, atol=0.0, rtol=0.0)


def test_learned_target_positions_are_separate_unless_shared() -> None:
    own, shared = (random_model({"positions": "learned", "shared_positions": each}) for each in (False, True))
    ids, mask = random_source([4])

    for model, is_moved in ((own, False), (shared, True)):
        memory = model.encode(ids, mask)
        cross = model.cross_keys_values(memory)
        before, _ = model.decode(ids, cross, mask)
        with torch.no_grad():
            assert model.position_table is not None
            model.position_table.add_(1.0)
        after, _ = model.decode(ids, cross, mask)

        assert (not torch.equal(before, after)) == is_moved
        assert not torch.equal(model.encode(ids, mask), memory)


@pytest.mark.parametrize("options", [{}, {"autoregression": "ssru", "positions": "learned"}], ids=str)
def test_a_model_without_weights_uses_assigned_tensors_without_copying(options: dict[str, Any]) -> None:
    model = random_model(options)
    empty = Transformer.without_weights(model.config).eval()
    assert all(parameter.is_meta for parameter in empty.parameters())

    empty.load_state_dict(model.state_dict(), assign=True)

    theirs = dict(empty.named_parameters())
    for name, parameter in model.named_parameters():
        assert theirs[name].data_ptr() == parameter.data_ptr()
    ids, mask = random_source([5, 3])
    torch.testing.assert_close(empty(ids, mask, ids), model(ids, mask, ids), atol=0.0, rtol=0.0)


@pytest.mark.parametrize("positions", ["sinusoidal", "tensor2tensor"])
@given(half=st.integers(2, 40), first=st.integers(0, 3), position=st.integers(0, 300), data=st.data())
def test_every_entry_is_the_sine_or_cosine_of_position_over_a_power_of_ten_thousand(
    positions: str, half: int, first: int, position: int, data: st.DataObject
) -> None:
    """The last rate of tensor2tensor's get_timing_signal_1d is 1 in 10,000, as in Marian and fairseq."""
    channel = data.draw(st.integers(0, half - 1))
    shape: dict[str, Any] = {"positions": positions, "first_position": first, "max_positions": position + 1}
    angle = (first + position) / 10_000 ** (channel / (half - (positions == "tensor2tensor")))

    table = position_table(ModelConfig(4, 4, d_model=2 * half, heads=1, **shape))

    assert table.shape == (position + 1, 2 * half)
    assert table.dtype == np.float32
    assert math.isclose(table[position, channel].item(), math.sin(angle), abs_tol=1e-6)
    assert math.isclose(table[position, half + channel].item(), math.cos(angle), abs_tol=1e-6)
