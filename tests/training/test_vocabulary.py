"""Vocabularies and token ids."""

from pathlib import Path

import numpy as np
import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.normalization import normalise_segment
from tests.training.conftest import Pairs, Recipe, make_recipe
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
