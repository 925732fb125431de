"""Worker that runs Hugging Face Transformers: `python -m bench.peers.transformers_worker SETUP`."""

from importlib.metadata import version
from pathlib import Path

import torch

from bench.peers.checkpoint import load_pegasus
from bench.peers.protocol import Ids, Search, Setup, run_worker


class Transformers:
    """One fp32 model in eval mode, shared by concurrent batches."""

    def __init__(self, setup: Setup) -> None:
        torch.set_num_threads(1)
        self._model = load_pegasus(Path(setup.model))
        config = self._model.config
        self._pad_id, self._eos_id = config.pad_token_id, config.eos_token_id

    @torch.inference_mode()
    def search(self, sources: list[Ids], search: Search) -> list[Ids]:
        width = max(map(len, sources))
        ids = torch.tensor([[*source, *[self._pad_id] * (width - len(source))] for source in sources])
        mask = torch.tensor([[1] * len(source) + [0] * (width - len(source)) for source in sources])
        outputs = self._model.generate(
            input_ids=ids,
            attention_mask=mask,
            num_beams=search.beam_size,
            length_penalty=search.length_penalty,
            early_stopping=False,
            min_new_tokens=search.min_length or None,
            max_new_tokens=search.max_length_for(sources),
            do_sample=False,
        )
        return [self._cut(row) for row in outputs[:, 1:].tolist()]

    def versions(self) -> dict[str, str]:
        return {name: version(name) for name in ("torch", "transformers")}

    def _cut(self, row: Ids) -> Ids:
        """Return the ids before the first end of sentence."""
        return row[: row.index(self._eos_id)] if self._eos_id in row else row


if __name__ == "__main__":
    run_worker(Transformers)
