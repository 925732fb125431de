"""Ids and texts of imported tokenizers against those of `transformers`, on real and on odd lines."""

import json
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from transformers import (
    M2M100Tokenizer,
    MarianTokenizer,
    MBart50Tokenizer,
    MBartTokenizer,
    NllbTokenizer,
    PreTrainedTokenizerBase,
)

from dragoman.errors import UnsupportedPair
from dragoman.text.tokenizer import Tokenizer
from export.original import Original, TokenizerSource
from tests.examples import FEW, FEWEST
from tests.imports.huggingface.conftest import load
from tests.imports.huggingface.make_models import (
    english,
    german,
    quiet,
    write_m2m,
    write_marian,
    write_mbart,
    write_nllb,
)
from tests.imports.huggingface.odd_lines import odd_lines

pytestmark = pytest.mark.examples
NUM_ODD = 2500 if FEW > FEWEST else 400
REAL = tuple(german() + english())
ODD = tuple(odd_lines(REAL, NUM_ODD, seed=3))
JOINERS = "\u200d\ufe0f\u20dd"
"""That make one visible character of several, besides combining marks."""


@dataclass(frozen=True, slots=True)
class Both:
    """An imported model's tokenizer and the one that it should be equal to."""

    original: Original
    ours: Tokenizer
    theirs: PreTrainedTokenizerBase
    is_target: bool = False

    def their_ids(self, line: str) -> list[int]:
        """As a model would get them."""
        encoded = self.theirs(text_target=line) if self.is_target else self.theirs(line)
        ids: list[int] = encoded["input_ids"]
        return ids

    def our_ids(self, line: str) -> list[int]:
        """As the engine puts them together."""
        (pieces,) = self.ours.encode([line])
        source = self.original.languages.sources["de"]
        return [*source.before, *pieces, *source.after]


def both_of(folder: Path, theirs: PreTrainedTokenizerBase, *, is_target: bool = False) -> Both:
    original = load(folder)
    side = original.target_tokenizer if is_target else original.source_tokenizer
    return Both(original, open_tokenizer(side), theirs, is_target)


def open_tokenizer(side: TokenizerSource) -> Tokenizer:
    """As a bundle would have it."""
    assert side.vocabulary is not None
    path = side.model.with_suffix(".vocabulary.json")
    path.write_text(json.dumps(list(side.vocabulary)), encoding="utf8")
    return Tokenizer.load(side.model, path, normalises=side.normalises)


def marian(*, is_separate: bool = False, is_target: bool = False) -> Callable[[Path], Both]:
    def make(folder: Path) -> Both:
        write_marian(folder, is_separate=is_separate)
        return both_of(folder, open_marian(folder), is_target=is_target)

    return make


def open_marian(folder: Path) -> MarianTokenizer:
    with quiet():
        return MarianTokenizer.from_pretrained(folder)


def multilingual(
    write: Callable[[Path], object], kind: type[PreTrainedTokenizerBase], german_code: str
) -> Callable[[Path], Both]:
    def make(folder: Path) -> Both:
        write(folder)
        return both_of(folder, kind.from_pretrained(folder, src_lang=german_code))

    return make


SENTENCEPIECE: dict[str, Callable[[Path], Both]] = {
    "marian": marian(),
    "marian-target": marian(is_target=True),
    "marian-separate": marian(is_separate=True, is_target=True),
    "m2m": multilingual(write_m2m, M2M100Tokenizer, "de"),
}
"""`transformers` calls SentencePiece."""
REWRITTEN: dict[str, Callable[[Path], Both]] = {
    "nllb": multilingual(write_nllb, NllbTokenizer, "deu_Latn"),
    "nllb-saved": multilingual(partial(write_nllb, form="fast"), NllbTokenizer, "deu_Latn"),
    "nllb-legacy": multilingual(
        partial(write_nllb, settings={"legacy_behaviour": True}), NllbTokenizer, "deu_Latn"
    ),
    "mbart-saved": multilingual(partial(write_mbart, form="fast"), MBartTokenizer, "de_DE"),
    "mbart-50": multilingual(partial(write_mbart, is_50=True), MBart50Tokenizer, "de_DE"),
    "mbart-50-saved": multilingual(partial(write_mbart, form="fast", is_50=True), MBart50Tokenizer, "de_DE"),
}
"""`transformers` 5 reimplements SentencePiece."""


def differing(both: Both, lines: Sequence[str]) -> list[str]:
    """Lines that have other ids."""
    return [line for line in lines if both.our_ids(line) != both.their_ids(line)]


def differing_texts(both: Both, lines: Sequence[str]) -> list[tuple[str, str]]:
    """Their text and ours, where these differ, of the ids that lines have."""
    ids = both.ours.encode(lines)
    theirs = [both.theirs.decode(each, skip_special_tokens=True) for each in ids]
    return [pair for pair in zip(theirs, both.ours.decode(ids), strict=True) if pair[0] != pair[1]]


@pytest.mark.parametrize("kind", SENTENCEPIECE)
def test_lines_have_the_same_ids_and_decode_to_the_same_text(kind: str, tmp_path: Path) -> None:
    both = SENTENCEPIECE[kind](tmp_path)

    assert differing(both, [*REAL, *ODD]) == []
    assert differing_texts(both, [*REAL, *ODD]) == []


@pytest.mark.parametrize("kind", REWRITTEN)
def test_only_odd_lines_differ_for_reimplemented_tokenizers(kind: str, tmp_path: Path) -> None:
    """SentencePiece drops a space at the end, normalises mark by mark, and takes its own sign for a space."""
    both = REWRITTEN[kind](tmp_path)

    unexplained = [
        line
        for line in differing(both, ODD)
        if not ends_in_space(both, line)
        and "\u2581" not in line
        and not any(unicodedata.combining(character) or character in JOINERS for character in line)
    ]
    assert differing(both, REAL) == unexplained == []
    assert [pair for pair in differing_texts(both, [*REAL, *ODD]) if pair[0].strip() != pair[1]] == []


def ends_in_space(both: Both, line: str) -> bool:
    """Whether all that their ids have more is a sign for a space behind the last word."""
    source = both.original.languages.sources["de"]
    space = both.theirs.convert_tokens_to_ids("\u2581")
    theirs, ours = both.their_ids(line), both.our_ids(line)
    end = len(ours) - len(source.after)
    return theirs == [*ours[:end], space, *ours[end:]]


def test_a_tokenizer_with_only_a_sentencepiece_model_has_the_ids_of_fairseq(tmp_path: Path) -> None:
    write_nllb(tmp_path / "whole")
    write_nllb(tmp_path / "alone", form="model")
    whole, alone = (load(tmp_path / name) for name in ("whole", "alone"))

    assert alone.source_tokenizer.vocabulary == whole.source_tokenizer.vocabulary
    assert alone.languages == whole.languages


def test_mbart_text_is_normalised_by_sentencepiece(mbart_folder: Path) -> None:
    """`transformers` 5 leaves the normalisation out, so that an ellipsis is unknown to it."""
    original = load(mbart_folder)
    tokenizer = open_tokenizer(original.source_tokenizer)

    assert tokenizer.encode(["Na, wie war dein Tag\u2026"]) == tokenizer.encode(["Na, wie war dein Tag..."])


def test_special_tokens_spelt_in_a_text_are_text(tmp_path: Path) -> None:
    """Here `transformers` sees tokens: a user could end the sentence, or choose the language."""
    write_marian(tmp_path, targets=("deu",))
    with pytest.raises(UnsupportedPair):
        load(tmp_path).languages.pair("de", "en")
    tokenizer = open_tokenizer(load(tmp_path).source_tokenizer)
    theirs = open_marian(tmp_path)
    control = {theirs.convert_tokens_to_ids(token) for token in (">>deu<<", "</s>", "<pad>")}

    for text in (">>deu<< Guten Tag", "Guten </s> Tag", "<pad>"):
        assert control & set(theirs(text)["input_ids"][:-1])
        assert not control & set(tokenizer.encode([text])[0])


def test_ids_without_text_decode_to_nothing(tmp_path: Path) -> None:
    both = REWRITTEN["nllb"](tmp_path)
    tokenizer = both.ours
    (ids,) = tokenizer.encode(["Guten Morgen!"])
    silent = [index for index in range(tokenizer.vocab_size) if not tokenizer.decode([[index]])[0]]
    tokens = both.theirs.convert_ids_to_tokens(silent[:-2])

    assert tokenizer.decode([[*silent, *ids, *silent]]) == ["Guten Morgen!"]
    assert {"<s>", "<pad>", "</s>", "<unk>", "\u2581", "deu_Latn", "zul_Latn", "<mask>"} <= set(tokens)
