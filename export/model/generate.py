"""Greedy search in PyTorch: what training validates with and what exported graphs must equal."""

import torch
from torch import Tensor

from export.model.transformer import Transformer


@torch.inference_mode()
def generate_greedy(
    model: Transformer, source_ids: Tensor, source_mask: Tensor, max_tokens: int
) -> list[list[int]]:
    """Translate a batch, taking the best token at each step; finished rows leave the batch.

    Args:
        model: in eval mode.
        source_ids: int64 [B, S].
        source_mask: bool [B, S].
        max_tokens: most tokens of a result, its end-of-sentence id included.

    Returns:
        B lists of target ids, without the end-of-sentence id; one that does not end has `max_tokens` ids.
    """
    results: list[list[int]] = [[] for _ in source_ids]
    alive = torch.arange(len(source_ids), device=source_ids.device)
    cross = model.cross_keys_values(model.encode(source_ids, source_mask))
    mask = source_mask
    past: list[tuple[Tensor, Tensor]] | None = None
    last = torch.full((len(source_ids), 1), model.config.bos_id, device=source_ids.device)
    for _ in range(max_tokens):
        states, past = model.decode(last, cross, mask, past)
        last = model.logits(states[:, -1]).argmax(dim=-1, keepdim=True)
        going = last[:, 0] != model.config.eos_id
        if not bool(going.all()):
            alive, last, mask = alive[going], last[going], mask[going]
            cross = [(keys[going], values[going]) for keys, values in cross]
            past = [(keys[going], values[going]) for keys, values in past]
        if not len(alive):
            break
        for row, token in zip(alive.tolist(), last[:, 0].tolist(), strict=True):
            results[row].append(token)
    return results
