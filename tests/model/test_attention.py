"""Attention against PyTorch's own, and the rules of its variants."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional

from export.model.attention import Attention
from export.model.transformer import causal_bias, mask_to_bias


def random_attention(d_model: int, heads: int, *, share_kv: bool) -> Attention:
    attention = Attention(d_model, heads, share_kv=share_kv, dropout=0.0)
    with torch.no_grad():
        for parameter in attention.parameters():
            nn.init.normal_(parameter)
    return attention


def reference(attention: Attention, states: Tensor, memory: Tensor, padding: Tensor, later: Tensor) -> Tensor:
    """PyTorch's multi-head attention with the same weights; true in `padding` and `later` forbids."""
    value = attention.value or attention.key
    parts = (attention.query, attention.key, value)
    mixed, _ = functional.multi_head_attention_forward(
        states.transpose(0, 1),
        memory.transpose(0, 1),
        memory.transpose(0, 1),
        states.shape[2],
        attention.heads,
        torch.cat([part.weight for part in parts]),
        torch.cat([part.bias for part in parts]),
        None,
        None,
        add_zero_attn=False,
        dropout_p=0.0,
        out_proj_weight=attention.output.weight,
        out_proj_bias=attention.output.bias,
        training=False,
        key_padding_mask=padding,
        need_weights=False,
        attn_mask=later,
    )
    return mixed.transpose(0, 1)


@given(
    heads=st.integers(1, 4),
    head_size=st.integers(1, 8),
    lengths=st.lists(st.integers(1, 7), min_size=1, max_size=4),
    num_queries=st.integers(1, 6),
    share_kv=st.booleans(),
    seed=st.integers(0, 2**31),
)
@settings(max_examples=50)
def test_attention_over_padded_sources_and_causal_attention_equal_pytorchs(
    heads: int, head_size: int, lengths: list[int], num_queries: int, *, share_kv: bool, seed: int
) -> None:
    torch.manual_seed(seed)
    attention = random_attention(heads * head_size, heads, share_kv=share_kv)
    memory = torch.randn(len(lengths), max(lengths), heads * head_size)
    states = torch.randn(len(lengths), num_queries, heads * head_size)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    later = torch.ones(num_queries, num_queries, dtype=torch.bool).triu(1)

    over_memory = attention(states, *attention.keys_values(memory), mask_to_bias(mask))
    causal = attention(states, *attention.keys_values(states), causal_bias(num_queries, 0, states.device))

    for mixed, read, padding, forbidden in (
        (over_memory, memory, ~mask, torch.zeros(num_queries, max(lengths), dtype=torch.bool)),
        (causal, states, torch.zeros(len(lengths), num_queries, dtype=torch.bool), later),
    ):
        expected = reference(attention, states, read, padding, forbidden)
        torch.testing.assert_close(mixed, expected, atol=2e-4, rtol=2e-4)
    assert ("value.weight" in dict(attention.named_parameters())) is not share_kv
    assert torch.equal(*attention.keys_values(memory)) is share_kv
