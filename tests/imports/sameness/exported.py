"""An imported model beside its original: what both say to the same sources."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from dragoman import DecodingOptions, FinishReason, Hypothesis, Translator
from dragoman.manifest import ModelLimits
from dragoman.text.tokenizer import Tokenizer
from dragoman.types import Pair
from export import huggingface
from export.bundle import BundleMetadata, write_bundle, write_tokenizer
from export.model.generate import pad
from export.original import Original, RequestedLanguages

BATCH_SOURCES = 50
LIMITS = ModelLimits(100, 40)
GENTLE = 0.3
OWN_WEIGHTS = ("t5", "mt5", "umt5")
"""Types of models that are made with gentle weights."""
IGNORED = -100
"""What a label is that does not count."""


@dataclass(frozen=True)
class Exported:
    """A folder of the original, and the bundle made of it."""

    folder: Path
    original: Original
    bundle: Path


def export(folder: Path, bundle: Path, precision: str = "fp32") -> Exported:
    """Without the validation that the command ends with."""
    original = huggingface.load(folder, RequestedLanguages())
    bundle.mkdir()
    facts = BundleMetadata(bundle.name, "none", LIMITS)
    write_bundle(bundle, original, precision, facts, [])
    return Exported(folder, original, bundle)


def load_tokenizers(original: Original, folder: Path) -> list[Tokenizer]:
    """The source's and the target's; `folder` takes their files."""
    loaded: list[Tokenizer] = []
    for side, tokenizer in (("source", original.source_tokenizer), ("target", original.target_tokenizer)):
        files = write_tokenizer(folder, side, tokenizer)
        vocabulary = None if files.vocabulary is None else folder / files.vocabulary
        loaded.append(Tokenizer.load(folder / files.model, vocabulary, normalises=files.normalises))
    return loaded


def silence_start(model: Any) -> None:
    """A Marian model starts from padding, which is a row of zeros in every one that was ever converted."""
    if model.config.model_type == "marian":
        with torch.no_grad():
            model.model.decoder.embed_tokens.weight[model.config.decoder_start_token_id] = 0.0


@dataclass(frozen=True)
class Lesson:
    """How long and how fast a model is taught."""

    num_steps: int
    rate: float


def teach(
    model: Any, pairs: Sequence[tuple[Sequence[int], Sequence[int]]], begin: Sequence[int], lesson: Lesson
) -> None:
    """A short training: weights that are random alone repeat one token to the limit.

    Args:
        model: of `transformers`.
        pairs: ids of sources, as the encoder reads them, and of targets, pieces alone.
        begin: of every target.
        lesson: number of steps and learning rate.
    """
    torch.manual_seed(1)
    gentle = 1.0 if model.config.model_type in OWN_WEIGHTS else GENTLE
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() > 1 and weight.requires_grad:
                weight.mul_(gentle)
    weights = [one for one in model.parameters() if one.requires_grad]
    optimiser = torch.optim.AdamW(weights, lr=lesson.rate, fused=True)
    config = model.generation_config
    for step in range(lesson.num_steps):
        first = step * BATCH_SOURCES % len(pairs)
        sources, targets = zip(*pairs[first : first + BATCH_SOURCES], strict=True)
        ids, mask = pad(sources, config.pad_token_id)
        read, _ = pad([[*begin, *target] for target in targets], config.pad_token_id)
        said, _ = pad([[*begin[1:], *target, config.eos_token_id] for target in targets], IGNORED)
        loss = model(input_ids=ids, attention_mask=mask.long(), decoder_input_ids=read, labels=said).loss
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()


@dataclass(frozen=True)
class Said:
    """A hypothesis, ids alone, and how it ended."""

    ids: tuple[int, ...]
    is_ended: bool


@dataclass(frozen=True)
class Both:
    """A model twice, with `max_tokens` of a target, the token that starts the decoder not counted."""

    model: Any
    exported: Exported
    translator: Translator
    pair: Pair
    sources: list[list[int]]
    max_tokens: int

    @property
    def begin(self) -> tuple[int, ...]:
        """What the target begins with."""
        return self.exported.original.languages.targets[self.pair.target].begin

    def theirs(self, options: Mapping[str, Any]) -> list[Said]:
        """The best of `generate` for each source, without what it begins with and its end."""
        config = self.model.generation_config
        begin, end_id = self.begin, config.eos_token_id
        forced = {"forced_bos_token_id": begin[1]} if len(begin) > 1 else {}
        found: list[Said] = []
        for first in range(0, len(self.sources), BATCH_SOURCES):
            ids, mask = pad(self.sources[first : first + BATCH_SOURCES], config.pad_token_id)
            with torch.inference_mode():
                rows = self.model.generate(
                    input_ids=ids,
                    attention_mask=mask.long(),
                    decoder_start_token_id=begin[0],
                    max_length=self.max_tokens + len(begin),
                    **forced,
                    **options,
                )
            for row in rows.tolist():
                said = row[len(begin) :]
                is_ended = end_id in said
                found.append(Said(tuple(said[: said.index(end_id)] if is_ended else said), is_ended))
        return found

    def ours(self, options: DecodingOptions) -> list[Said]:
        """The bundle's best for each source."""
        limited = replace(options, max_length=self.max_tokens)
        best: list[Hypothesis] = [
            found[0] for found in self.translator.search(self.sources, limited, pair=self.pair)
        ]
        return [Said(one.ids, one.finish_reason is FinishReason.STOP) for one in best]
