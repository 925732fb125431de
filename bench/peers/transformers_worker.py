"""Worker that runs Hugging Face Transformers: `python -m bench.peers.transformers_worker SETUP`.

`PegasusForConditionalGeneration` has the same architecture: pre-norm, sinusoidal positions (ours overwrite
its table), scaled embeddings, a tied projection and a bias on the logits.
"""

import sys
from importlib.metadata import version
from pathlib import Path

import torch
from transformers import PegasusConfig, PegasusForConditionalGeneration

from bench.peers.arrivals import Front
from bench.peers.checkpoint import position_table, read_checkpoint
from bench.peers.names import Shape, pegasus_names
from bench.peers.protocol import Ids, Search, read_setup, replies_on_stdout, serve


class Transformers:
    """One fp32 model in eval mode, shared by concurrent batches."""

    def __init__(self, checkpoint: Path) -> None:
        torch.set_num_threads(1)
        self._model = build_model(checkpoint)
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

    def front(self, name: str, search: Search) -> Front:
        del search
        raise ValueError(f"Transformers has no front {name!r}")

    def versions(self) -> dict[str, str]:
        return {name: version(name) for name in ("torch", "transformers")}

    def _cut(self, row: Ids) -> Ids:
        """Return the ids before the first end of sentence."""
        return row[: row.index(self._eos_id)] if self._eos_id in row else row


def build_model(checkpoint: Path) -> PegasusForConditionalGeneration:
    """Load every weight of the checkpoint; raise KeyError or RuntimeError if one does not fit."""
    shape, weights = read_checkpoint(checkpoint)
    model = PegasusForConditionalGeneration(_config(shape))
    names = pegasus_names(shape["encoder_layers"], shape["decoder_layers"])
    if left_over := weights.keys() - names.keys():
        raise KeyError(f"weights without a place: {sorted(left_over)}")
    state = model.state_dict()
    table = position_table(shape)
    with torch.no_grad():
        for ours, theirs in names.items():
            state[theirs].copy_(weights[ours].reshape(state[theirs].shape))
        for side in (model.model.encoder, model.model.decoder):
            side.embed_positions.weight.copy_(table)
    return model.eval()


def _config(shape: Shape) -> PegasusConfig:
    return PegasusConfig(
        vocab_size=shape["target_vocab_size"],
        max_position_embeddings=shape["max_positions"],
        d_model=shape["d_model"],
        encoder_layers=shape["encoder_layers"],
        decoder_layers=shape["decoder_layers"],
        encoder_attention_heads=shape["heads"],
        decoder_attention_heads=shape["heads"],
        encoder_ffn_dim=shape["ffn"],
        decoder_ffn_dim=shape["ffn"],
        activation_function={"swish": "silu"}.get(shape["activation"], shape["activation"]),
        scale_embedding=True,
        pad_token_id=shape["pad_id"],
        bos_token_id=shape["bos_id"],
        decoder_start_token_id=shape["bos_id"],
        eos_token_id=shape["eos_id"],
        forced_eos_token_id=None,
    )


def main() -> int:
    setup = read_setup(sys.argv[1:])
    with replies_on_stdout() as pipe:
        serve(Transformers(Path(setup.model)), setup.workers, pipe)
    return 0


if __name__ == "__main__":
    sys.exit(main())
