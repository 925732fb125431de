"""Conversion of lines to ids, with a bundle's translations or those of parallel text."""

from collections.abc import Sequence

from tqdm import tqdm

from dragoman.bundle import Bundle
from dragoman.decoding.options import DecodingOptions
from dragoman.loading import open_tokenizers
from dragoman.pipeline.preparation import Preparer
from dragoman.text.tokenizer import Tokenizer
from dragoman.translator import Translator
from dragoman.types import FinishReason

GREEDY = DecodingOptions(beam_size=1)
CHUNK_LINES = 2048

IdPair = tuple[list[int], list[int]]


def translate(
    translator: Translator, preparer: Preparer, tokenizer: Tokenizer, lines: Sequence[str]
) -> list[IdPair]:
    """Translate lines greedily, if they are within the model's limit.

    Args:
        translator: translator of a bundle with one pair, without a shortlist.
        preparer: preparer of the same bundle.
        tokenizer: source tokenizer of the bundle.
        lines: one sentence each.

    Returns:
        Sources and targets, their pieces only. Lines over the model's limit and translations that were cut
        are left out.
    """
    manifest = translator.manifest
    pair = manifest.languages.pair(None, None)
    pieces = tokenizer.encode(lines)
    limit = manifest.limits.max_source_tokens
    sources = [
        (source, whole)
        for source, whole in zip(pieces, preparer.encode(lines, pair), strict=True)
        if len(whole) <= limit
    ]
    pairs: list[IdPair] = []
    with tqdm(total=len(sources), desc="translating", unit="line", mininterval=1) as bar:
        for start in range(0, len(sources), CHUNK_LINES):
            chunk = sources[start : start + CHUNK_LINES]
            found = translator.search([whole for _, whole in chunk], GREEDY)
            pairs += [
                (source, list(hypotheses[0].ids))
                for (source, _), hypotheses in zip(chunk, found, strict=True)
                if hypotheses[0].finish_reason is FinishReason.STOP
            ]
            bar.update(len(chunk))
    return pairs


def tokenise(bundle: Bundle, pairs: Sequence[tuple[str, str]]) -> list[IdPair]:
    """Return ids of parallel text, pieces only; pairs over the model's limits are left out."""
    limits = bundle.manifest.limits
    source_tokenizer, target_tokenizer = open_tokenizers(bundle)
    sources = source_tokenizer.encode([source for source, _ in pairs])
    targets = target_tokenizer.encode([target for _, target in pairs])
    return [
        (source, target)
        for source, target in zip(sources, targets, strict=True)
        if len(source) < limits.max_source_tokens and len(target) < limits.max_target_tokens
    ]
