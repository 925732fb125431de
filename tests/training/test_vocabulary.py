"""Vocabularies, token ids, and batches as a pure function of seed and step."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.data import DataLoader

from dragoman.text.normalization import normalise_segment
from tests.training.conftest import Pairs, Recipe, make_recipe, token_corpus
from training.batches import BatchSettings, BatchStream, PairRefs, cut_by_budget
from training.config import TrainingConfig
from training.corpus import TextPair
from training.errors import VocabularyError
from training.token_corpus import TokenCorpus, tokenise
from training.vocabulary import load_vocabularies, train_vocabularies

Processor = sentencepiece.SentencePieceProcessor


@pytest.fixture(scope="module")
def processors(tmp_path_factory: pytest.TempPathFactory, pairs: Pairs) -> tuple[Processor, Processor]:
    folder = tmp_path_factory.mktemp("vocabularies")
    return trained(folder, make_recipe(folder, pairs), pairs)


def trained(folder: Path, recipe: Recipe, pairs: Pairs) -> tuple[Processor, Processor]:
    config = TrainingConfig.model_validate(recipe)
    train_vocabularies(config, {"tiny": [TextPair(*pair) for pair in pairs]}, folder)
    return load_vocabularies(folder)


def test_special_ids_equal_the_models(processors: tuple[Processor, Processor]) -> None:
    for processor in processors:
        ids = processor.pad_id(), processor.unk_id(), processor.bos_id(), processor.eos_id()
        assert ids == (0, 1, 2, 3)
        assert processor.vocab_size() == 330


@given(text=st.text())
def test_any_text_can_be_decoded_from_its_pieces(processors: tuple[Processor, Processor], text: str) -> None:
    text = normalise_segment(text).replace("\u2581", "")  # SentencePiece's own sign for a space
    processor = processors[0]

    ids = processor.encode(text)

    assert processor.decode(ids) == text
    assert processor.unk_id() not in ids


def test_a_shared_vocabulary_is_one_file_trained_on_both_sides(
    tmp_path: Path, recipe: Recipe, pairs: Pairs
) -> None:
    source, target = trained(tmp_path, recipe, pairs)

    assert source is target
    assert not (tmp_path / "target.spm").exists()
    for text in ("Der Hund schläft", "The dog sleeps"):
        assert not any(source.is_byte(piece) for piece in source.encode(text))


def test_separate_vocabularies_are_trained_on_their_own_side(
    tmp_path: Path, recipe: Recipe, pairs: Pairs
) -> None:
    recipe["vocabulary"] = {"size": 300, "is_shared": False}

    source, target = trained(tmp_path, recipe, pairs)

    assert (tmp_path / "target.spm").exists()
    for text, knows, spells_in_bytes in (("schläft", source, target), ("Every", target, source)):
        assert not any(knows.is_byte(piece) for piece in knows.encode(text))
        assert any(spells_in_bytes.is_byte(piece) for piece in spells_in_bytes.encode(text))


def test_a_vocabulary_size_that_the_text_cannot_fill_is_rejected_by_name(
    tmp_path: Path, recipe: Recipe, pairs: Pairs
) -> None:
    for size in (100, 30_000):
        recipe["vocabulary"]["size"] = size
        with pytest.raises(VocabularyError, match=rf"vocabulary\.size {size}"):
            trained(tmp_path, recipe, pairs)
    assert not list(tmp_path.glob("*.spm"))


def test_the_sample_follows_the_weights(tmp_path: Path, recipe: Recipe, pairs: Pairs) -> None:
    """A corpus of so small a weight that none of its pairs is drawn leaves no trace in the vocabulary."""
    corpus = recipe["data"]["corpora"][0]
    recipe["data"]["corpora"] = [corpus, {**corpus, "name": "greek", "weight": 1e-6}]
    recipe["vocabulary"]["sample_pairs"] = 1000
    greek = [TextPair("ΑΒΓΔΕ", "ΑΒΓΔΕ")] * 50

    train_vocabularies(
        TrainingConfig.model_validate(recipe),
        {"tiny": [TextPair(*pair) for pair in pairs], "greek": greek},
        tmp_path,
    )

    processor, _ = load_vocabularies(tmp_path)
    assert all(processor.is_byte(piece) for piece in processor.encode("ΑΒΓΔΕ")[1:])


def test_token_ids_on_disk_are_the_encoded_pairs(
    tmp_path: Path, pairs: Pairs, processors: tuple[Processor, Processor]
) -> None:
    corpus = tokenise([TextPair(*pair) for pair in pairs], *processors, max_tokens=60)
    corpus.save(tmp_path / "x.npz")

    loaded = TokenCorpus.load(tmp_path / "x.npz")

    assert len(loaded) == len(pairs)
    assert [path.name for path in tmp_path.glob("*.npz")] == ["x.npz"]
    for index, (source, target) in enumerate(pairs):
        for ids, processor, text in (
            (loaded.source(index), processors[0], source),
            (loaded.target(index), processors[1], target),
        ):
            assert ids.dtype == np.uint16
            assert ids[-1] == processor.eos_id()
            assert processor.decode(ids[:-1].tolist()) == text
        lengths = loaded.lengths()[index]
        assert lengths.tolist() == [len(loaded.source(index)), len(loaded.target(index))]


def test_a_pair_with_one_side_over_the_limit_is_dropped(processors: tuple[Processor, Processor]) -> None:
    short, long = "Der Hund", "Der Hund schläft im Garten."
    limit = len(processors[0].encode(short)) + 1

    corpus = tokenise(
        [TextPair(short, long), TextPair(short, short), TextPair(long, short)], *processors, limit
    )

    assert len(corpus) == 1
    assert corpus.lengths().tolist() == [[limit, limit]]
    assert len(tokenise([], *processors, max_tokens=9)) == 0


PAD, BOS, EOS = 0, 2, 3

Lengths = list[tuple[int, int]]
"""Tokens of both sides of each pair."""
PairRef = tuple[int, int]
"""Index of a corpus, and of a pair in it."""

lengths_of_pairs = st.lists(st.tuples(st.integers(1, 12), st.integers(1, 12)), min_size=1, max_size=40)


def corpus_of(lengths: Sequence[tuple[int, int]]) -> TokenCorpus:
    """A corpus of given lengths whose ids tell pair and side."""
    return token_corpus(
        [10 + 2 * pair + side] * (length - 1) + [EOS]
        for pair, both in enumerate(lengths)
        for side, length in enumerate(both)
    )


def uniform_corpus(num_pairs: int) -> TokenCorpus:
    return corpus_of([(3, 3)] * num_pairs)


def plan(
    weights: tuple[float, ...] = (1.0,), budget_tokens: int = 60, seed: int = 1, round_pairs: int = 50
) -> BatchSettings:
    return BatchSettings(weights, budget_tokens, seed, PAD, BOS, round_pairs)


def listed(references: PairRefs) -> list[PairRef]:
    """Corpus and pair of each reference."""
    return list(zip(references.corpora.tolist(), references.pairs.tolist(), strict=True))


def references_of(stream: BatchStream) -> Iterator[list[PairRef]]:
    return map(listed, stream.references())


def rounds(stream: BatchStream, pairs_a_round: int, number: int) -> list[list[PairRef]]:
    """The pairs of the first rounds."""
    pairs: list[PairRef] = []
    batches = references_of(stream)
    while len(pairs) < pairs_a_round * number:
        pairs += next(batches)
    return [pairs[begin : begin + pairs_a_round] for begin in range(0, len(pairs), pairs_a_round)]


@given(lengths=lengths_of_pairs, budget=st.integers(1, 200))
def test_cuts_cover_all_pairs_and_each_batch_fills_the_budget(lengths: Lengths, budget: int) -> None:
    array = np.array(lengths, np.int64)

    cuts = cut_by_budget(array, budget)

    assert [begin for begin, _ in cuts] == [0, *(end for _, end in cuts[:-1])]
    assert cuts[-1][1] == len(lengths)
    for begin, end in cuts:
        assert end - begin == 1 or padded_tokens(array[begin:end]) <= budget
        if end < len(lengths):
            assert padded_tokens(array[begin : end + 1]) > budget


def padded_tokens(lengths: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> int:
    return int(lengths.max(axis=0).sum()) * len(lengths)


@given(lengths=lengths_of_pairs, first_step=st.integers(0, 60), seed=st.integers(0, 2**32))
def test_a_stream_from_a_step_equals_the_full_stream_without_earlier_steps(
    lengths: Lengths, first_step: int, seed: int
) -> None:
    corpora = [corpus_of(lengths), uniform_corpus(7)]
    settings_ = plan((3.0, 1.0), seed=seed)

    whole = list(islice(references_of(BatchStream(corpora, settings_)), first_step + 10))
    rest = list(islice(references_of(BatchStream(corpora, settings_, first_step)), 10))

    assert rest == whole[first_step:]


@given(sizes=st.lists(st.integers(1, 90), min_size=1, max_size=3), seed=st.integers(0, 2**32))
@settings(max_examples=40)
def test_after_any_round_draws_of_a_corpus_differ_by_at_most_one(sizes: list[int], seed: int) -> None:
    settings_ = plan((1.0,) * len(sizes), seed=seed, round_pairs=30 * len(sizes))
    stream = BatchStream([uniform_corpus(size) for size in sizes], settings_)

    counts: Counter[PairRef] = Counter()
    for one_round in rounds(stream, 30 * len(sizes), 6):
        counts.update(one_round)
        for corpus, size in enumerate(sizes):
            of_corpus = [counts[corpus, pair] for pair in range(size)]
            assert max(of_corpus) - min(of_corpus) <= 1


@given(weights=st.lists(st.floats(0.01, 10.0), min_size=1, max_size=5).map(tuple), seed=st.integers(0, 2**32))
@settings(max_examples=30)
def test_shares_match_the_weights_to_one_pair_per_round(weights: tuple[float, ...], seed: int) -> None:
    settings_ = plan(weights, seed=seed, round_pairs=200)
    pairs_a_round = sum(max(1, round(200 * weight / sum(weights))) for weight in weights)
    stream = BatchStream([uniform_corpus(11) for _ in weights], settings_)

    for one_round in rounds(stream, pairs_a_round, 2):
        drawn = Counter(corpus for corpus, _ in one_round)
        for corpus, weight in enumerate(weights):
            assert abs(drawn[corpus] - 200 * weight / sum(weights)) <= 1


def test_a_round_draws_the_next_positions_of_each_corpus_shuffled_passes() -> None:
    """The draws are part of the resume format: a run must meet the same pairs after an update of the code."""
    stream = BatchStream([uniform_corpus(35), uniform_corpus(8)], plan((3.0, 1.0), seed=6, round_pairs=40))

    for number, one_round in enumerate(rounds(stream, 40, 3)):
        for corpus, size, count in ((0, 35, 30), (1, 8, 10)):
            passes = [np.random.default_rng([6, corpus, n, 1]).permutation(size) for n in range(20)]
            expected = np.concatenate(passes)[number * count : (number + 1) * count]
            assert Counter(pair for where, pair in one_round if where == corpus) == Counter(expected.tolist())


def test_a_batch_contains_its_padded_pairs_and_the_shifted_target() -> None:
    lengths = [(n % 5 + 1, n % 3 + 1) for n in range(20)]
    corpus = corpus_of(lengths)
    stream = BatchStream([corpus], plan(round_pairs=20))

    for references, batch in islice(zip(references_of(stream), stream, strict=False), 8):
        assert batch.source_ids.shape == batch.source_mask.shape
        assert batch.target_in.shape == batch.target_out.shape == batch.target_mask.shape
        for row, (_, pair) in enumerate(references):
            source, target = corpus.source(pair).tolist(), corpus.target(pair).tolist()
            assert batch.source_ids[row][batch.source_mask[row]].tolist() == source
            assert batch.target_out[row][batch.target_mask[row]].tolist() == target
            assert batch.target_in[row][batch.target_mask[row]].tolist() == [BOS, *target[:-1]]
            assert set(batch.source_ids[row][~batch.source_mask[row]].tolist()) <= {PAD}
            assert set(batch.target_out[row][~batch.target_mask[row]].tolist()) <= {PAD}
            assert batch.source_mask[row].sum() == len(source)
        assert batch.source_ids.dtype == batch.target_in.dtype == torch.int64
        assert batch.source_ids.numel() + batch.target_out.numel() <= 60


def test_data_processes_give_the_batches_of_one_process_in_the_same_order() -> None:
    corpora = [corpus_of([(n % 9 + 1, n % 7 + 1) for n in range(90)]), uniform_corpus(20)]
    stream = BatchStream(corpora, plan((2.0, 1.0), round_pairs=30), first=3, stride=2)

    loaded = islice(DataLoader(stream, batch_size=None, num_workers=2), 20)

    for ours, theirs in zip(islice(stream, 20), loaded, strict=True):
        assert all(torch.equal(one, other) for one, other in zip(ours, theirs, strict=True))


def test_batches_over_several_target_lengths_have_sources_of_similar_length() -> None:
    rng = np.random.default_rng(1)
    targets, differences = rng.integers(15, 40, 2000), rng.integers(-10, 10, 2000)
    pairs = [
        (int(target + difference), int(target))
        for target, difference in zip(targets, differences, strict=True)
    ]
    stream = BatchStream([corpus_of(pairs)], plan(budget_tokens=3000, round_pairs=2000))

    masks = [mask for batch in islice(stream, 36) for mask in (batch.source_mask, batch.target_mask)]

    padding = 1 - sum(int(mask.sum()) for mask in masks) / sum(mask.numel() for mask in masks)
    assert padding < 0.115  # 13 % if sources got longer over each target length
