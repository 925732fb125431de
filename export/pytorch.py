"""The original model in PyTorch: written independently of the graphs, for comparisons with them."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from export.model import model_class
from export.model.generate import generate_greedy, pad
from export.model_weights import ModelWeights


class PyTorchModel:
    """A model for the comparisons of `export.validation`."""

    def __init__(self, model: ModelWeights) -> None:
        torch.set_num_threads(1)
        self.config = model.config
        self._model = model_class(model.config).from_weights(model)

    @torch.inference_mode()
    def logprobs(
        self, sources: Sequence[Sequence[int]], targets: NDArray[np.int64]
    ) -> Iterator[NDArray[np.float32]]:
        """Yield the log-probabilities [R, V] after each token of given targets [R, T]."""
        beams = len(targets) // len(sources)
        ids, mask = pad(sources, self.config.pad_id)
        memory = self._model.encode(ids, mask).repeat_interleave(beams, 0)
        cross = self._model.cross_keys_values(memory)
        states, _ = self._model.decode(torch.from_numpy(targets), cross, mask.repeat_interleave(beams, 0))
        found: NDArray[np.float32] = self._model.log_probabilities(states).numpy()
        return iter(found.swapaxes(0, 1))

    def greedy(
        self, sources: Sequence[Sequence[int]], begin: Sequence[int], limits: Sequence[int]
    ) -> tuple[list[list[int]], None]:
        """Return greedy translations without `begin` and the end; `limits` count both."""
        found = generate_greedy(self._model, *pad(sources, self.config.pad_id), max(limits), begin)
        return [target[: limit - len(begin) + 1] for target, limit in zip(found, limits, strict=True)], None
