"""A small fp16 bundle on the kernels for GPUs, and steps over them for the strategies in Python."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from dragoman.bundle import open_bundle
from dragoman.cuda import search_kernels
from dragoman.cuda.memory import MAX_BEAMS
from dragoman.cuda.model import CudaModel
from dragoman.decoding.strategy import TargetVocabulary
from tests.imports.parity.random_bundles import EOS, VOCAB

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
Ids = NDArray[np.int64]


def open_model(folder: Path, target: TargetVocabulary | None = None) -> CudaModel:
    """Open a bundle on a GPU or the interpreter."""
    return CudaModel(open_bundle(folder), target or TargetVocabulary(EOS, VOCAB), DEVICE)


class CudaSteps:
    """A `Stepper` over the kernels, for `Lane`; its hypotheses move where `Lane` says."""

    def __init__(self, model: CudaModel, beam_size: int) -> None:
        self._model, self._beam_size = model, beam_size
        self._slots: list[int] = []

    def join(self, encoded: Sequence[Sequence[int]]) -> None:
        model, beams = self._model, self._beam_size
        taken = [model.slots.take(beams) for _ in encoded]
        for (slot, rows), ids in zip(taken, encoded, strict=True):
            # `pick` gives all candidates that are wanted where the end would be too early.
            model.facts[slot] = _put([0, 0, 1 << 30, 0, 0, 0, 0, len(ids), 0, 0])
            model.rows[slot] = 0
            model.rows[slot, :beams, 2] = _put(rows)
        self._slots += [slot for slot, _ in taken]
        model.encode([slot for slot, _ in taken], encoded)

    def logits(self, last_ids: Ids) -> torch.Tensor:
        """Read a token in every row."""
        model, beams, slots = self._model, self._beam_size, self._slots
        model.rows[slots, :beams, 0] = _put(last_ids.reshape(-1, beams).tolist())
        model.order[: len(slots)] = _put(slots)
        return model.logits(len(slots), beams)

    def extend(self) -> None:
        """Count the token that was read; each row has its own K/V there."""
        for slot in self._slots:
            length = int(self._model.facts[slot, 0])
            self._model.ancestors[slot, :, length] = torch.arange(MAX_BEAMS, dtype=torch.uint8, device=DEVICE)
            self._model.facts[slot, 0] = length + 1

    def step(self, last_ids: Ids, num_best: int) -> tuple[NDArray[np.float32], Ids]:
        model, beams = self._model, self._beam_size
        num_rows = len(last_ids)
        logits = self.logits(last_ids)
        columns = 1 << (num_best - 1).bit_length()
        logprobs, ids = (
            torch.zeros(num_rows, columns, dtype=dtype, device=DEVICE)
            for dtype in (torch.float32, torch.int32)
        )
        none = torch.zeros(VOCAB, device=DEVICE)
        search_kernels.pick[(num_rows,)](
            logits, none, none, none, model.order, model.facts, model.rows, logprobs, ids, K=beams,
            BEAMS=MAX_BEAMS, NUM_BEST=num_best, BETWEEN=0, INSIDE=0, BC=columns, EOS=EOS, HAS_BYTES=False,
            SUPPRESSES=False, V=VOCAB, BV=128,
        )  # fmt: skip
        self.extend()
        return logprobs[:, :num_best].cpu().numpy(), ids[:, :num_best].cpu().numpy().astype(np.int64)

    def select(self, rows: Ids) -> None:
        model, beams = self._model, self._beam_size
        groups, old = rows.reshape(-1, beams), self._slots
        self._slots = [old[group[0] // beams] for group in groups.tolist()]
        for slot, group in zip(self._slots, groups, strict=True):
            model.ancestors[slot, :beams] = model.ancestors[slot, _put((group % beams).tolist())]
        model.slots.release([slot for slot in old if slot not in self._slots])


def logprobs_by_steps(model: CudaModel, sources: list[list[int]], targets: Ids) -> NDArray[np.float32]:
    """The kernels' log-probabilities of every token after every target token, [R, T, V]."""
    beams = len(targets) // len(sources)
    steps = CudaSteps(model, beams)
    steps.join(sources)
    found = []
    for step in range(targets.shape[1]):
        logits = steps.logits(targets[:, step])
        found.append(torch.log_softmax(logits[: len(targets)].float(), 1).cpu().numpy().copy())
        steps.extend()
    return np.stack(found, 1)


def _put(numbers: list[int] | list[list[int]]) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.int32, device=DEVICE)
