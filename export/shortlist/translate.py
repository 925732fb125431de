"""Lines to ids: with the translations that a bundle gives them, or those that came with them."""

from collections.abc import Sequence

from tqdm import tqdm

from dragoman.bundle import Bundle
from dragoman.decoding.options import DecodingOptions
from dragoman.text.tokenise import Tokenizer
from dragoman.translator import Translator
from dragoman.types import FinishReason

GREEDY = DecodingOptions(beam_size=1)
CHUNK_LINES = 2048

IdPair = tuple[list[int], list[int]]


def translate(translator: Translator, tokenizer: Tokenizer, lines: Sequence[str]) -> list[IdPair]:
    """Greedy translations of lines that the model can take whole.

    Args:
        translator: of a bundle without a shortlist.
        tokenizer: of its sources.
        lines: a sentence each.

    Returns:
        Sources and targets, both without end of sentence. Lines over the model's limit and translations that
        were cut are left out.
    """
    limit = translator.manifest.limits.max_source_tokens
    sources = [ids for ids in tokenizer.encode(lines) if len(ids) <= limit]
    pairs: list[IdPair] = []
    with tqdm(total=len(sources), desc="translating", unit="line", mininterval=1) as bar:
        for start in range(0, len(sources), CHUNK_LINES):
            chunk = sources[start : start + CHUNK_LINES]
            found = translator.search(chunk, GREEDY)
            pairs += [
                (source[:-1], list(hypotheses[0].ids))
                for source, hypotheses in zip(chunk, found, strict=True)
                if hypotheses[0].finish_reason is FinishReason.STOP
            ]
            bar.update(len(chunk))
    return pairs


def tokenise(bundle: Bundle, pairs: Sequence[tuple[str, str]]) -> list[IdPair]:
    """Ids of parallel text, without end of sentence; pairs over the model's limits are left out."""
    manifest = bundle.manifest
    source_tokenizer = Tokenizer.load(bundle.file(manifest.source_tokenizer))
    target_tokenizer = Tokenizer.load(bundle.file(manifest.target_tokenizer))
    sources = source_tokenizer.encode([source for source, _ in pairs])
    targets = target_tokenizer.encode([target for _, target in pairs])
    return [
        (source[:-1], target[:-1])
        for source, target in zip(sources, targets, strict=True)
        if len(source) <= manifest.limits.max_source_tokens
        and len(target) <= manifest.limits.max_target_tokens
    ]
