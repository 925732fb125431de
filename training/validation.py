"""BLEU and chrF of a model in training, by greedy search on held-out lines."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import sacrebleu
import sentencepiece

from dragoman.text.normalization import normalise_segment
from export.compression import read_lines
from export.model import TranslationModel
from export.model.generate import generate_greedy, pad
from training.config import Direction, TrainingConfig
from training.errors import HeldOutError

BATCH_ROWS = 50


@dataclass(frozen=True, slots=True)
class Scores:
    """BLEU and chrF on sacreBLEU's scale, 0 to 100."""

    bleu: float
    chrf: float


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Held-out source lines and their references, in equal number."""

    sources: tuple[str, ...]
    references: tuple[str, ...]
    direction: str = ""
    """Translation direction, such as `de-en`."""

    @classmethod
    def of(cls, config: TrainingConfig, direction: Direction) -> "HeldOut":
        """Read the validation lines of a config in a direction.

        Raises:
            HeldOutError: as `read` does.
        """
        settings = config.validation
        files = (settings.source, settings.target)
        if direction != config.data.directions[0]:
            files = files[::-1]
        return replace(cls.read(*files, settings.num_lines), direction=direction.name)

    @classmethod
    def read(cls, source: Path, target: Path, num_lines: int) -> "HeldOut":
        """Read the first `num_lines` lines of two files.

        Raises:
            HeldOutError: a file is missing, not UTF-8 or empty, or the files differ in length.
        """
        sources, references = _read_lines(source), _read_lines(target)
        if len(sources) != len(references):
            raise HeldOutError(f"{source} has {len(sources)} lines, {target} has {len(references)}")
        return cls(tuple(sources[:num_lines]), tuple(references[:num_lines]))

    def check_lengths(self, processor: sentencepiece.SentencePieceProcessor, max_positions: int) -> None:
        """Check that every source is short enough for the model.

        Raises:
            HeldOutError: a line is too long; the message names the first one.
        """
        for number, ids in enumerate(_encode(self.sources, processor), start=1):
            if len(ids) > max_positions:
                raise HeldOutError(
                    f"validation source line {number} has {len(ids)} tokens, over model.max_positions "
                    f"{max_positions}; leave it out"
                )


def validate(
    model: TranslationModel,
    held_out: HeldOut,
    source_processor: sentencepiece.SentencePieceProcessor,
    target_processor: sentencepiece.SentencePieceProcessor,
) -> Scores:
    """Translate the held-out lines and score them; restore the model's mode afterwards."""
    was_training = model.training
    model.eval()
    outputs = translate_greedily(model, _encode(held_out.sources, source_processor), target_processor)
    model.train(was_training)
    references = [list(held_out.references)]
    return Scores(
        bleu=sacrebleu.corpus_bleu(outputs, references).score,
        chrf=sacrebleu.corpus_chrf(outputs, references).score,
    )


def translate_greedily(
    model: TranslationModel, ids: Sequence[list[int]], processor: sentencepiece.SentencePieceProcessor
) -> list[str]:
    """Translate sources in batches of like length; `model` is in eval mode, `processor` the target's."""
    outputs = [""] * len(ids)
    order = np.argsort([len(row) for row in ids], kind="stable")
    for begin in range(0, len(order), BATCH_ROWS):
        rows = order[begin : begin + BATCH_ROWS]
        for row, result in zip(rows, _translate(model, [ids[row] for row in rows]), strict=True):
            outputs[row] = processor.decode(result)
    return outputs


def _read_lines(path: Path) -> list[str]:
    lines = list(read_lines(path, HeldOutError))
    if not lines:
        raise HeldOutError(f"{path} is empty")
    return lines


def _encode(lines: Sequence[str], processor: sentencepiece.SentencePieceProcessor) -> list[list[int]]:
    ids: list[list[int]] = processor.encode([normalise_segment(line) for line in lines], add_eos=True)
    return ids


def _translate(model: TranslationModel, ids: list[list[int]]) -> list[list[int]]:
    device = model.output_bias.device
    padded, mask = pad(ids, model.config.pad_id)
    max_tokens = min(2 * padded.shape[1] + 10, model.config.max_positions)
    return generate_greedy(model, padded.to(device), mask.to(device), max_tokens)
