"""Greedy search in PyTorch: training validates with it, and exported graphs must equal it."""

from collections.abc import Sequence

import torch
from torch import Tensor

from export.model.translation_model import ModelState, TranslationModel


@torch.inference_mode()
def generate_greedy(
    model: TranslationModel,
    source_ids: Tensor,
    source_mask: Tensor,
    max_tokens: int,
    begin: Sequence[int] | None = None,
) -> list[list[int]]:
    """Translate a batch greedily; finished rows leave the batch.

    Args:
        model: in eval mode.
        source_ids: int64 [B, S].
        source_mask: bool [B, S].
        max_tokens: maximum number of tokens of a result, including its end-of-sentence id.
        begin: ids that begin each target: the first starts the decoder, the others are forced and count as
            tokens; None: the model's own first id.

    Returns:
        B lists of target ids, without the end-of-sentence id and those of `begin`. A target that does not end
        has `max_tokens` ids, minus the forced ones.

    Raises:
        ValueError: `begin` is empty.
    """
    begin = (model.config.bos_id,) if begin is None else begin
    if not begin:
        raise ValueError("a target must begin with at least one id")
    results: list[list[int]] = [[] for _ in source_ids]
    active_rows = torch.arange(len(source_ids), device=source_ids.device)
    cross = model.cross_keys_values(model.encode(source_ids, source_mask))
    mask = source_mask
    past: ModelState | None = None
    last = torch.tensor(begin, device=source_ids.device).expand(len(source_ids), -1)
    for _ in range(max_tokens - len(begin) + 1):
        states, past = model.decode(last, cross, mask, past)
        last = model.log_probabilities(states[:, -1]).argmax(dim=-1, keepdim=True)
        is_active = last[:, 0] != model.config.eos_id
        if not bool(is_active.all()):
            active_rows, last, mask, past = (
                active_rows[is_active],
                last[is_active],
                mask[is_active],
                past.take(is_active),
            )
            cross = [(keys[is_active], values[is_active]) for keys, values in cross]
        if not len(active_rows):
            break
        for row, token in zip(active_rows.tolist(), last[:, 0].tolist(), strict=True):
            results[row].append(token)
    return results


def pad(rows: Sequence[Sequence[int]], pad_id: int) -> tuple[Tensor, Tensor]:
    """Return int64 ids and a bool mask, each [B, length of the longest row]."""
    width = max(map(len, rows))
    ids = torch.tensor([[*row, *[pad_id] * (width - len(row))] for row in rows])
    return ids, torch.arange(width) < torch.tensor([[len(row)] for row in rows])
