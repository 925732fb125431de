"""Train a small T5 1.1 from scratch: `python -m bench.small_t5 PAIRS.tsv FOLDER`.

It is a Hugging Face folder to import, to measure precisions on: random weights say nothing about rounding.
Lines of pairs have columns between tabs: a source and a target, perhaps after a tag.
"""

import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import sentencepiece
import torch
from transformers import T5Config, T5ForConditionalGeneration

from bench.command import Command, Options
from bench.provenance import write_json
from export.shortlist.text import read_pairs

NUM_PIECES, MAX_TOKENS, BATCH, SEED = 2_000, 40, 32, 1
PEAK_RATE, WARM_UP = 5e-3, 100
TASK = "translation_de_to_en"
PAD, END, IGNORED = 0, 1, -100


def train(pairs: Sequence[tuple[str, str]], folder: Path, steps: int) -> None:
    """Train a tokenizer and a model, and write both into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    text = (side for pair in pairs for side in pair)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=text,
        model_prefix=str(folder / "spiece"),
        vocab_size=NUM_PIECES,
        pad_id=PAD,
        eos_id=END,
        unk_id=2,
        bos_id=-1,
        num_threads=1,
        minloglevel=2,
    )
    processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / "spiece.model"))
    sources, targets = (
        [[*ids[: MAX_TOKENS - 1], END] for ids in processor.encode(list(side))]
        for side in zip(*pairs, strict=True)
    )
    torch.manual_seed(SEED)
    config = T5Config(
        vocab_size=NUM_PIECES,
        d_model=128,
        d_kv=16,
        d_ff=320,
        num_layers=3,
        num_decoder_layers=2,
        num_heads=6,
        feed_forward_proj="gated-gelu",
        tie_word_embeddings=False,
        decoder_start_token_id=PAD,
        task_specific_params={TASK: {"prefix": ""}},
    )
    model = T5ForConditionalGeneration(config)
    model.lm_head.weight = torch.nn.Parameter(torch.randn(NUM_PIECES, 128) * 128**-0.5)
    optimiser = torch.optim.AdamW(model.parameters(), lr=PEAK_RATE, weight_decay=0.01)
    drawn = random.Random(SEED)  # noqa: S311 -- no secrets
    began_s = time.monotonic()
    for step in range(1, steps + 1):
        rate = PEAK_RATE * min(step / WARM_UP, (steps - step + 1) / max(1, steps - WARM_UP))
        for group in optimiser.param_groups:
            group["lr"] = rate
        rows = drawn.sample(range(len(pairs)), BATCH)
        source = _padded([sources[row] for row in rows], PAD)
        target = _padded([targets[row] for row in rows], IGNORED)
        loss = model(input_ids=source, attention_mask=(source != PAD).long(), labels=target).loss
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        if step % 100 == 0:
            sys.stderr.write(f"step {step}: loss {loss.item():.3f}, {time.monotonic() - began_s:.0f} s\n")
    model.save_pretrained(folder)
    write_json(folder / "tokenizer_config.json", {"tokenizer_class": "T5Tokenizer", "extra_ids": 0})


def _padded(rows: Sequence[Sequence[int]], padding: int) -> torch.Tensor:
    width = max(map(len, rows))
    return torch.tensor([[*row, *[padding] * (width - len(row))] for row in rows])


def main() -> None:
    options: Options = {"pairs": Path, "folder of the model": Path, "--steps": 2_500}
    arguments = Command("small_t5", __doc__, options).parse()
    torch.set_num_threads(1)
    train(read_pairs([arguments.pairs]), arguments.folder, arguments.steps)


if __name__ == "__main__":
    main()
