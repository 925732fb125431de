"""From parallel text over word alignments to lists: what is listed, always or never."""

import gzip
import lzma
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.manifest import SpecialIds
from dragoman.shortlist import Shortlist
from export.bundle import ExportError
from export.shortlist import pairs as pairs_module
from export.shortlist.align import link_pieces
from export.shortlist.build import ShortlistSettings, build_shortlist
from export.shortlist.coverage import is_covered, measure_coverage
from export.shortlist.pairs import TokenPairs, occurrences, spans
from export.shortlist.text import evenly_spaced, read_pairs, read_texts
from export.shortlist.vocabularies import ShortlistVocabularies, spelling_pieces


def test_compressed_and_plain_lines_are_read_and_empty_ones_skipped(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.de", tmp_path / "b.de.gz"
    plain.write_bytes("Grün.\r\n\n  \nHaus\u2028Hof".encode())
    packed.write_bytes(gzip.compress(b"Ende.\n"))
    assert read_texts([plain, packed]) == ["Grün.", "Haus\u2028Hof", "Ende."]


def test_a_pair_may_be_preceded_by_a_tag(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv.xz"
    path.write_bytes(lzma.compress(b"Haus\thouse\ntag\tHof\tyard\n"))
    assert read_pairs([path]) == [("Haus", "house"), ("Hof", "yard")]


@pytest.mark.parametrize(
    ("read", "name", "content", "problem"),
    [
        (read_texts, "missing.de", None, ": No such file or directory"),
        (read_texts, "damaged.xz", b"no xz", ": cannot be read after line"),
        (read_texts, "cut.gz", gzip.compress(b"Haus\n" * 99, mtime=0)[:-9], ": cannot be read after line"),
        (read_texts, "latin.de", b"Haus\ngr\xfcn\n", ":2: not UTF-8"),
        (read_pairs, "pairs.tsv", b"Haus\thouse\nHaus\n", ":2: 1 columns"),
        (read_pairs, "pairs.tsv", b"Haus\thouse\na\tb\tc\td\n", ":2: 4 columns"),
    ],
)
def test_an_unreadable_file_or_line_is_rejected_by_name(
    tmp_path: Path, read: Callable[[list[Path]], object], name: str, content: bytes | None, problem: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ExportError, match=name + problem):
        read([tmp_path / name])


@given(st.integers(0, 50), st.integers(0, 60))
def test_a_sample_has_the_requested_number_of_distinct_items_in_order(size: int, most: int) -> None:
    sample = evenly_spaced(range(size), most)
    assert sample == sorted(set(sample))
    assert len(sample) == min(size, most)


VOCAB = 12
DICTIONARY = np.array([7, 3, 9, 0, 11, 1, 5, 2, 10, 4, 8, 6])


def toy_pairs(seed: int = 1, num_pairs: int = 200) -> TokenPairs:
    """Sentences of two to five pieces; each is translated by the dictionary, in another order."""
    rng = np.random.default_rng(seed)
    sources = [rng.choice(VOCAB, rng.integers(2, 6), replace=False) for _ in range(num_pairs)]
    return TokenPairs.of(
        [(source.tolist(), rng.permutation(DICTIONARY[source]).tolist()) for source in sources]
    )


def test_em_finds_exactly_the_dictionary_of_a_shuffled_text() -> None:
    pairs = toy_pairs()
    links = link_pieces(pairs, VOCAB, VOCAB, iterations=5)
    assert links.source_ids.tolist() == list(range(VOCAB))
    assert links.target_ids.tolist() == DICTIONARY.tolist()
    assert links.num_tokens.tolist() == np.bincount(pairs.sources.ids, minlength=VOCAB).tolist()


def test_cooccurrence_counts_alone_do_not_find_the_dictionary() -> None:
    """Piece 0 is in every sentence, so every target stands beside it most often: EM must explain it away."""
    rng = np.random.default_rng(2)
    rows = [(0, other) for other in rng.integers(1, 6, 100).tolist()]
    links = link_pieces(TokenPairs.of([(row, [10 + row[0], 10 + row[1]]) for row in rows]), 6, 16, 5)
    assert sorted(zip(links.source_ids.tolist(), links.target_ids.tolist(), strict=True)) == [
        (piece, 10 + piece) for piece in range(6)
    ]


def test_the_result_does_not_depend_on_the_size_of_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = toy_pairs(seed=3, num_pairs=60)
    whole = link_pieces(pairs, VOCAB, VOCAB, iterations=2)
    monkeypatch.setattr(pairs_module, "CHUNK_OCCURRENCES", 50)
    assert len(spans(pairs)) > 5
    parts = link_pieces(pairs, VOCAB, VOCAB, iterations=2)
    assert parts.source_ids.tolist() == whole.source_ids.tolist()
    assert parts.target_ids.tolist() == whole.target_ids.tolist()
    assert parts.num_tokens.tolist() == whole.num_tokens.tolist()


def test_every_target_token_cooccurs_with_every_source_piece_and_the_empty_one() -> None:
    pairs = TokenPairs.of([([], [4]), ([0, 1], [2, 3]), ([1], []), ([1], [3])])
    keys, starts = occurrences(pairs, 1, 4, source_vocab=9, target_vocab=10)
    assert keys.tolist() == [92, 2, 12, 93, 3, 13, 93, 13]  # ten times the source, and the target
    assert starts.tolist() == [0, 3, 6]


@pytest.mark.parametrize("pairs", [[], [([], [4, 5]), ([2], [])]])
def test_a_token_without_a_source_is_linked_to_nothing(pairs: list[tuple[list[int], list[int]]]) -> None:
    assert len(link_pieces(TokenPairs.of(pairs), 6, 6, 2).source_ids) == 0


PAD, UNK, BOS, EOS = range(4)
DIGIT, BYTE, HAUS, HOUSE, SUFFIX, RARE, GRUEN, GREEN = range(4, 12)
SIZE = 12
VOCABULARIES = ShortlistVocabularies(
    source_size=SIZE,
    target_size=SIZE,
    is_shared=True,
    spelling=(UNK, EOS, DIGIT),
    bytes=(BYTE,),
    never=(PAD, BOS),
)
TEXT = [([HAUS], [HOUSE]), ([GRUEN], [GREEN]), ([GRUEN, HAUS], [GREEN, HOUSE])] * 20
LEARNING = TokenPairs.of(TEXT)
MISSING = TokenPairs.of([([HAUS], [HOUSE, SUFFIX]), ([GRUEN], [SUFFIX]), ([GRUEN], [RARE]), *TEXT[:9]])


def build(num_always: int = 3, listed_per_piece: int = 5, choosing: TokenPairs = MISSING) -> Shortlist:
    settings = ShortlistSettings(listed_per_piece, min_tokens=1, num_always=num_always)
    return build_shortlist(LEARNING, choosing, VOCABULARIES, settings)


def test_a_piece_lists_its_translation() -> None:
    assert build().candidates([HAUS]).tolist() == [UNK, EOS, DIGIT, HOUSE]
    assert build().candidates([HAUS, GRUEN]).tolist() == [UNK, EOS, DIGIT, HOUSE, GREEN]


def test_pieces_most_often_missing_in_the_lists_become_candidates_of_every_source() -> None:
    assert SUFFIX not in build(num_always=3).candidates([HAUS])
    one_more = build(num_always=4).candidates([HAUS])
    assert SUFFIX in one_more
    assert RARE not in one_more
    assert RARE in build(num_always=5).candidates([HAUS])


def test_pieces_that_also_occur_in_targets_are_copied_from_the_source() -> None:
    shortlist = build()
    assert RARE in shortlist.candidates([RARE])  # a target holds it
    assert HOUSE in shortlist.candidates([HOUSE])
    assert BYTE in shortlist.candidates([BYTE])  # none does, but a name may be spelt in bytes
    assert HAUS not in shortlist.candidates([HAUS])


def test_nothing_is_copied_between_two_vocabularies() -> None:
    two = replace(VOCABULARIES, is_shared=False)
    shortlist = build_shortlist(LEARNING, MISSING, two, ShortlistSettings(5, 1, 3))
    assert RARE not in shortlist.candidates([RARE])


def test_padding_and_the_beginning_of_sentence_are_never_candidates() -> None:
    bad = TokenPairs.of([([HAUS, PAD], [PAD, BOS, HOUSE])] * 30)
    shortlist = build_shortlist(bad, bad, VOCABULARIES, ShortlistSettings(5, 1, SIZE))
    assert not np.isin([PAD, BOS], shortlist.candidates(range(SIZE))).any()


@pytest.mark.parametrize(
    ("listed_per_piece", "min_tokens", "listed"),
    [(1, 1, [GREEN]), (2, 1, [HOUSE, GREEN]), (9, 1, [HOUSE, RARE, GREEN]), (9, 3, [HOUSE, GREEN])],
)
def test_a_piece_lists_only_its_best_links_up_to_the_limit_that_explain_enough_tokens(
    listed_per_piece: int, min_tokens: int, listed: list[int]
) -> None:
    text = TokenPairs.of([([HAUS], [HOUSE])] * 5 + [([HAUS], [GREEN])] * 9 + [([HAUS], [RARE])] * 2)
    settings = ShortlistSettings(listed_per_piece, min_tokens, 3)
    shortlist = build_shortlist(text, text, VOCABULARIES, settings)
    assert shortlist.candidates([HAUS]).tolist() == [UNK, EOS, DIGIT, *sorted(listed)]


ids = st.lists(st.integers(EOS + 1, SIZE - 1), max_size=5)
texts = st.lists(st.tuples(ids, ids), min_size=1, max_size=15).map(TokenPairs.of)


@settings(max_examples=25)
@given(texts, st.integers(3, SIZE), st.integers(0, 4))
def test_end_of_sentence_and_spelling_pieces_are_always_candidates(
    text: TokenPairs, num_always: int, listed_per_piece: int
) -> None:
    shortlist = build_shortlist(text, text, VOCABULARIES, ShortlistSettings(listed_per_piece, 1, num_always))
    for source in text.sources:
        assert np.isin([EOS, UNK, DIGIT], shortlist.candidates(source.tolist())).all()


@settings(max_examples=25)
@given(texts)
def test_a_large_enough_shortlist_covers_its_own_text(text: TokenPairs) -> None:
    shortlist = build_shortlist(LEARNING, text, VOCABULARIES, ShortlistSettings(2, 1, SIZE))
    assert is_covered(shortlist, text).all()


def test_a_shortlist_from_no_text_is_rejected() -> None:
    with pytest.raises(ValueError, match="0 pairs to learn from and 12 to choose by"):
        build_shortlist(TokenPairs.of([]), MISSING, VOCABULARIES, ShortlistSettings())


@pytest.mark.parametrize("field", ["listed_per_piece", "min_tokens", "num_always", "iterations"])
def test_a_setting_below_its_minimum_is_rejected_by_name(field: str) -> None:
    with pytest.raises(ValueError, match=f"{field} is -1, but must be at least"):
        ShortlistSettings(**{field: -1})


def test_spelling_pieces_are_digits_signs_and_cased_letters_alone_or_at_the_start_of_a_word() -> None:
    pieces = ["<pad>", "<unk>", "<s>", "</s>", "a", "▁Ж", "7", "▁", "%", "ab", "▁an", "水", "<0x41>"]
    assert spelling_pieces(pieces, SpecialIds(PAD, UNK, EOS)) == (UNK, EOS, 4, 5, 6, 7, 8)


def hand_made() -> Shortlist:
    """Always 1, 3; piece 0 lists 5 and 6, piece 1 lists 6 and 7, piece 2 nothing."""
    return Shortlist.of(np.array([1, 3]), np.array([0, 2, 4, 4]), np.array([5, 6, 6, 7]), 10)


def test_coverage_counts_tokens_sentences_and_candidates() -> None:
    text = TokenPairs.of([([0], [5, 6]), ([0, 1], [7, 8, 8]), ([2], [1]), ([1], [])])
    assert is_covered(hand_made(), text).tolist() == [True, True, True, False, False, True]
    coverage = measure_coverage(hand_made(), text)
    assert coverage.token_share == pytest.approx(4 / 6)
    assert coverage.sentence_share == pytest.approx(3 / 4)
    assert coverage.mean_candidates == pytest.approx((4 + 5 + 2 + 4) / 4)


def test_batch_unions_cover_consecutive_complete_batches() -> None:
    text = TokenPairs.of([([0], [])] * 8 + [([2], [])] * 7 + [([1], [])] + [([0, 1], [])] * 3)
    assert measure_coverage(hand_made(), text).mean_union == {8: pytest.approx((4 + 4) / 2), 32: 5}
