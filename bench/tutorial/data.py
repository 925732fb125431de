"""Texts as the tutorial reads them: spaCy's words, vocabularies of words or pieces, batches by length."""

import io
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import sentencepiece
import spacy
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from bench.tutorial.recipes import Recipe

UNK, PAD, BOS, EOS = range(4)
SPECIALS = ("<unk>", "<pad>", "<sos>", "<eos>")
POOL_BATCHES = 100
"""Number of batches whose pairs are sorted by length together."""
LENGTH_BITS = 16

Line = tuple[int, ...]
"""Ids of one text, without BOS and EOS."""
Pairs = Sequence[tuple[Line, Line]]


def word_splitter(language: str) -> Callable[[str], list[str]]:
    """Return a function that splits text with the rules of spaCy's tokeniser, which keep the case."""
    tokeniser = spacy.blank(language).tokenizer
    return lambda text: [token.text for token in tokeniser(text)]


@dataclass(frozen=True, slots=True)
class Words:
    """The words that occur often enough."""

    words: tuple[str, ...]
    ids: dict[str, int]
    split: Callable[[str], list[str]]
    is_lower: bool

    @classmethod
    def build(
        cls, texts: Iterable[str], split: Callable[[str], list[str]], min_count: int, *, is_lower: bool
    ) -> "Words":
        """Count the words of the training text."""
        counts = Counter(word.lower() if is_lower else word for text in texts for word in split(text))
        frequent = sorted(word for word, count in counts.items() if count >= min_count)
        words = (*SPECIALS, *frequent)
        return cls(words, {word: number for number, word in enumerate(words)}, split, is_lower)

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, text: str) -> Line:
        """Return the ids of the words; rare ones are UNK."""
        words = (word.lower() if self.is_lower else word for word in self.split(text))
        return tuple(self.ids.get(word, UNK) for word in words)

    def decode(self, ids: Sequence[int]) -> list[str]:
        """Return the words; an unknown one is `<unk>`, which matches no reference."""
        return [self.words[number] for number in ids]


@dataclass(frozen=True, slots=True)
class Pieces:
    """Pieces of SentencePiece, which spell every word, as this project's trainer uses them."""

    model: sentencepiece.SentencePieceProcessor
    split: Callable[[str], list[str]]
    is_lower: bool

    @classmethod
    def build(
        cls, texts: Iterable[str], split: Callable[[str], list[str]], size: int, *, is_lower: bool
    ) -> "Pieces":
        """Train a unigram model with bytes for rare characters."""
        content = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=(text.lower() if is_lower else text for text in texts),
            model_writer=content,
            vocab_size=size,
            hard_vocab_limit=False,  # lower-cased text may not have so many
            model_type="unigram",
            character_coverage=0.9998,
            byte_fallback=True,
            split_digits=True,
            normalization_rule_name="identity",
            unk_id=UNK,
            pad_id=PAD,
            bos_id=BOS,
            eos_id=EOS,
            num_threads=1,
            minloglevel=1,
        )
        model = sentencepiece.SentencePieceProcessor(model_proto=content.getvalue())
        return cls(model, split, is_lower)

    def __len__(self) -> int:
        return int(self.model.get_piece_size())

    def encode(self, text: str) -> Line:
        """Return the ids of the pieces."""
        return tuple(self.model.encode(text.lower() if self.is_lower else text))

    def decode(self, ids: Sequence[int]) -> list[str]:
        """Return the words of the text that the pieces spell."""
        return self.split(self.text(ids))

    def text(self, ids: Sequence[int]) -> str:
        """Return the text that the pieces spell."""
        return str(self.model.decode(list(ids)))


Vocabulary = Words | Pieces
"""Numbers of the units of one language."""


def build_vocabulary(recipe: Recipe, texts: Iterable[str], language: str) -> Vocabulary:
    """Return the vocabulary of one language that a recipe asks for."""
    split = word_splitter(language)
    if recipe.units == "words":
        return Words.build(texts, split, recipe.min_count, is_lower=recipe.is_lower)
    return Pieces.build(texts, split, recipe.num_pieces, is_lower=recipe.is_lower)


def make_batches(recipe: Recipe, pairs: Pairs, rng: random.Random) -> Iterator[Pairs]:
    """Yield the batches of an epoch that a recipe asks for; every pair is in one of them."""
    if recipe.batches == "by-length":
        yield from bucket_batches(pairs, recipe.batch_size, rng)
        return
    order = rng.sample(range(len(pairs)), len(pairs))
    for first in range(0, len(order), recipe.batch_size):
        yield [pairs[index] for index in order[first : first + recipe.batch_size]]


def split_by_length(batch: Pairs, parts: int) -> list[Pairs]:
    """Cut a batch into parts of like lengths, which have less padding together than the batch."""
    return [*sorted_batches(batch, -(-len(batch) // parts))]


def bucket_batches(pairs: Pairs, batch_size: int, rng: random.Random) -> Iterator[Pairs]:
    """Yield the batches of an epoch in random order: pools of random pairs, cut into batches by length."""
    order = rng.sample(range(len(pairs)), len(pairs))
    pool_size = POOL_BATCHES * batch_size
    for begin in range(0, len(order), pool_size):
        pool = sorted((pairs[index] for index in order[begin : begin + pool_size]), key=_length_key)
        batches = [pool[first : first + batch_size] for first in range(0, len(pool), batch_size)]
        rng.shuffle(batches)
        yield from batches


def sorted_batches(pairs: Pairs, batch_size: int) -> Iterator[Pairs]:
    """Yield the batches of a development set, by length."""
    ordered = sorted(pairs, key=_length_key)
    for first in range(0, len(ordered), batch_size):
        yield ordered[first : first + batch_size]


def pad(lines: Sequence[Line]) -> Tensor:
    """Return ids with BOS, EOS and PAD, int64 [B, T]."""
    return pad_sequence(
        [torch.tensor([BOS, *line, EOS]) for line in lines], batch_first=True, padding_value=PAD
    )


def _length_key(pair: tuple[Line, Line]) -> int:
    """Interleave the bits of both lengths, so that pairs sorted by it are alike in both (Morton order)."""
    bits = (f"{len(line):0{LENGTH_BITS}b}" for line in pair)
    return int("".join(one + other for one, other in zip(*bits, strict=True)), 2)
