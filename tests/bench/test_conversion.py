"""The other engines get every weight, once; workloads are what they say."""

import dataclasses
import statistics
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import torch
from hypothesis import given
from hypothesis import strategies as st

from bench.models import grow_vocabulary
from bench.peers.checkpoint import load_pegasus
from bench.peers.names import check_convertible
from bench.workloads import forced, make_batches, read_lines, scaled_lengths
from export.checkpoint import load_checkpoint
from export.model import ModelConfig
from tests.paths import TINY

TOKENIZER = TINY / "checkpoint" / "source.spm"
LINES = ["Ein Hund rennt.", "Zwei Kinder spielen im Garten.", "Guten Morgen!"]
SHAPE = ModelConfig(
    source_vocab_size=20, target_vocab_size=20, encoder_layers=3, decoder_layers=2, d_model=8, heads=2, ffn=8
)


def test_each_weight_of_a_checkpoint_maps_to_pegasus_with_equal_outputs() -> None:
    checkpoint = load_checkpoint(TINY / "checkpoint")
    source = torch.tensor([[12, 20, 7, 9, 3]])

    theirs = load_pegasus(TINY / "checkpoint")(input_ids=source, decoder_input_ids=torch.tensor([[2, 11]]))

    states = checkpoint.model(source, torch.ones_like(source, dtype=torch.bool), torch.tensor([[2, 11]]))
    ours = checkpoint.model.logits(states)
    torch.testing.assert_close(theirs.logits, ours, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(
    "changes",
    [{"norm": "post"}, {"positions": "learned"}, {"share_kv": True}, {"tied_output": False}],
    ids=lambda changes: str(*changes),
)
def test_a_shape_that_others_cannot_run_is_rejected_by_its_field(changes: dict[str, Any]) -> None:
    check_convertible(dataclasses.asdict(SHAPE))

    with pytest.raises(ValueError, match=next(iter(changes))):
        check_convertible({**dataclasses.asdict(SHAPE), **changes})


def test_a_grown_vocabulary_has_the_size_requested_and_encodes_text_as_before() -> None:
    before = sentencepiece.SentencePieceProcessor(model_proto=TOKENIZER.read_bytes())
    after = sentencepiece.SentencePieceProcessor(model_proto=grow_vocabulary(TOKENIZER.read_bytes(), 1000))

    assert after.vocab_size() == 1000
    assert after.encode(LINES) == before.encode(LINES)


def test_a_vocabulary_is_not_cut() -> None:
    with pytest.raises(ValueError, match="more than 10"):
        grow_vocabulary(TOKENIZER.read_bytes(), 10)


@given(st.lists(st.integers(1, 200), min_size=1, max_size=300), st.integers(1, 200))
def test_scaled_lengths_have_the_requested_number_and_at_least_a_token(
    lengths: list[int], count: int
) -> None:
    scaled = scaled_lengths(lengths, count)

    assert len(scaled) == count
    assert min(scaled) >= 2  # a token, and the end of the sentence


def test_scaled_lengths_keep_mean_and_spread() -> None:
    lengths = [length for length in range(5, 60) for _ in range(3)]

    scaled = scaled_lengths(lengths, 64)

    assert statistics.mean(scaled) == pytest.approx(24, abs=1)
    relative = statistics.stdev(lengths) / statistics.mean(lengths)
    assert statistics.stdev(scaled) / 24 == pytest.approx(relative, abs=0.05)


def test_the_forced_workload_ends_each_source_and_leaves_no_engine_a_choice_of_length() -> None:
    workload = forced(LINES, TOKENIZER, count=16)

    assert (workload.min_length, workload.max_length) == (30, 30)
    assert len(workload.sources) == 16
    for source in workload.sources:
        assert source[-1] == 3
        assert all(4 <= token < 360 for token in source[:-1])


@given(st.lists(st.lists(st.integers(4, 9), min_size=1, max_size=9), min_size=1), st.integers(1, 8))
def test_batches_hold_every_source_once_and_no_more_than_their_size(
    sources: list[list[int]], size: int
) -> None:
    batches = make_batches(sources, size)

    assert sorted(one for batch in batches for one in batch) == sorted(sources)
    assert all(len(batch) == size for batch in batches[:-1])
    lengths = [len(one) for batch in batches for one in batch]
    assert lengths == sorted(lengths, reverse=True)


def test_blank_lines_are_no_sentences(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("one\n\n  \ntwo\nthree\n", encoding="utf8")

    assert read_lines(path) == ["one", "two", "three"]
