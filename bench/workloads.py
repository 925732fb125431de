"""The workloads of all engines: ids, so that no tokenizer is timed."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import sentencepiece

from bench.peers.protocol import Ids, Search

SENTENCES = Path(__file__).parents[1] / "export" / "sentences" / "de.txt"
FORCED_TOKENS = 30
MEAN_SOURCE_TOKENS = 24
MAX_REAL_TOKENS = 200
"""Maximum number of target tokens, the same for all engines, for translations that never end."""
SEED = 1
FIRST_FREE_ID = 4
"""First id that is not padding, unknown, begin or end of sentence."""
EOS_ID = 3


@dataclass(frozen=True, slots=True)
class Workload:
    """Sources and the allowed lengths of their targets."""

    sources: list[Ids]
    min_length: int = 0
    max_length: int | None = None

    def search(self, beam_size: int) -> Search:
        return Search(beam_size=beam_size, min_length=self.min_length, max_length=self.max_length)


def read_lines(path: Path) -> list[str]:
    """Read the lines that are not blank."""
    return [line for line in path.read_text(encoding="utf8").splitlines() if line.strip()]


def distinct_lines(sentences: Sequence[str], count: int) -> Iterator[str]:
    """Yield `count` lines, each a sentence with a number in it.

    The number stands before the full stop; after it, it would be a sentence of its own.
    """
    draw = random.Random(SEED)  # noqa: S311 -- a workload, no secret
    for number in range(count):
        sentence = draw.choice(sentences)
        yield f"{sentence[:-1]} {number}{sentence[-1]}"


def real_text(lines: Sequence[str], tokenizer: Path) -> Workload:
    """Make a workload of real sentences, whose translations the model ends by itself."""
    processor = sentencepiece.SentencePieceProcessor(model_file=str(tokenizer))
    sources = [processor.encode(line, add_eos=True) for line in lines]
    return Workload(sources, max_length=MAX_REAL_TOKENS)


def forced(lines: Sequence[str], tokenizer: Path, count: int) -> Workload:
    """Make random sources with lengths of real text, scaled to a mean of 24 tokens, and 30-token targets."""
    lengths = scaled_lengths([len(source) for source in real_text(lines, tokenizer).sources], count)
    return Workload(random_sources(tokenizer, lengths), FORCED_TOKENS, FORCED_TOKENS)


def random_sources(tokenizer: Path, lengths: Sequence[int]) -> list[Ids]:
    """Make sources of random ids that end with the end of sentence."""
    vocab_size = sentencepiece.SentencePieceProcessor(model_file=str(tokenizer)).vocab_size()
    ids = random.Random(SEED)  # noqa: S311 -- a workload, no secret
    return [
        [*(ids.randrange(FIRST_FREE_ID, vocab_size) for _ in range(length - 1)), EOS_ID] for length in lengths
    ]


def scaled_lengths(lengths: Sequence[int], count: int, mean: int = MEAN_SOURCE_TOKENS) -> list[int]:
    """Return `count` lengths of the same spread in fixed random order, with the given mean up to rounding."""
    ordered = sorted(lengths)
    factor = mean * len(ordered) / sum(ordered)
    # Evenly spaced quantiles keep the spread of all sentences, even for a small count.
    picked = [ordered[(2 * number + 1) * len(ordered) // (2 * count)] for number in range(count)]
    scaled = [max(2, round(factor * length)) for length in picked]
    random.Random(SEED).shuffle(scaled)  # noqa: S311 -- the same
    return scaled


def make_batches(sources: Sequence[Ids], size: int) -> list[list[Ids]]:
    """Make batches of similar lengths, as users of every engine would; the same for all engines."""
    ordered = sorted(sources, key=len, reverse=True)
    return [ordered[begin : begin + size] for begin in range(0, len(ordered), size)]
