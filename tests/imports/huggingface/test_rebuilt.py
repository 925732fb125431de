"""SentencePiece models rebuilt from tokenizer.json, and what cannot be rebuilt."""

import gc
import json
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import sentencepiece

from export.huggingface.fast import read_fast
from export.huggingface.sentencepiece_rebuild import SPACES, rebuild_model
from tests.imports.huggingface.conftest import load, problems_of
from tests.imports.huggingface.make_models import edit_json, english, german, write_mbart, write_nllb
from tests.imports.huggingface.make_t5 import MODEL as T5_MODEL
from tests.imports.huggingface.make_t5 import original_tokenizer, write_t5
from tests.imports.huggingface.odd_lines import odd_lines
from tests.made_once import make_once
from tests.pieces import train_sentencepiece

Copy = Callable[[Path], Path]
FAST = "tokenizer.json"
MODEL = "sentencepiece.bpe.model"
LINES = odd_lines(german() + english(), 2000, seed=8)


@pytest.fixture(scope="session")
def saved_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of NLLB, as `transformers` 5 leaves it."""
    return make_once(tmp_path_factory, "nllb-fast", partial(write_nllb, form="fast"))


def processor(path: Path) -> sentencepiece.SentencePieceProcessor:
    return sentencepiece.SentencePieceProcessor(model_file=str(path))


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_a_rebuilt_tokenizer_splits_every_line_like_the_original(kind: str, tmp_path: Path) -> None:
    if kind == "bpe":
        write_nllb(tmp_path)
    else:
        write_mbart(tmp_path, is_50=True)
    problems: list[str] = []
    fast = read_fast(tmp_path / FAST, problems)
    assert fast is not None, problems
    codes = frozenset(
        token for token in fast.ids if len(token.split("_")) == 2 and token.split("_")[1].isalpha()
    )
    rebuilt = rebuild_model(fast, fast.special | codes | {"<mask>"}, problems)
    assert rebuilt is not None, problems

    first = processor(tmp_path / MODEL)
    second = sentencepiece.SentencePieceProcessor(model_proto=rebuilt)

    assert first.vocab_size() == second.vocab_size()
    assert [first.encode(line, out_type=str) for line in LINES] == [
        second.encode(line, out_type=str) for line in LINES
    ]


def test_all_unicode_white_space_is_a_space_if_the_pre_tokeniser_splits_there(tmp_path: Path) -> None:
    write_mbart(tmp_path, form="fast")
    original = load(tmp_path)
    pieces = processor(original.source_tokenizer.model)

    plain = pieces.encode("Guten Morgen", out_type=str)
    assert all(pieces.encode(f"Guten{space}Morgen", out_type=str) == plain for space in SPACES)
    assert {
        space for space in map(chr, range(0x110000)) if space.isspace() and space not in "\x1c\x1d\x1e\x1f "
    } == set(SPACES)


def test_a_rebuilt_tokenizer_file_exists_as_long_as_the_model(saved_folder: Path) -> None:
    original = load(saved_folder)
    path = original.source_tokenizer.model
    assert path.parent != saved_folder
    assert path.is_file()

    del original
    gc.collect()

    assert not path.parent.exists()


def rebuilt_t5(folder: Path, config: dict[str, Any]) -> Path:
    """A folder without a SentencePiece model, with changes of its configuration."""
    write_t5(folder)
    original_tokenizer(folder).save_pretrained(folder)
    (folder / T5_MODEL).unlink()
    edit_json(folder / "config.json", config)
    return folder


END = {"eos_token_id": 5}
TASK = {"task_specific_params": {"translation_en_to_de": {"prefix": "no space"}}}


def test_a_rebuilt_tokenizer_file_is_deleted_if_the_model_is_rejected(
    saved_folder: Path, copy_of: Copy, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder, scratch = copy_of(saved_folder), tmp_path / "scratch"
    t5_folders = [rebuilt_t5(tmp_path / name, config) for name, config in (("end", END), ("task", TASK))]
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))

    assert "tlh is not one" in str(problems_of(folder, ("tlh",)))
    (folder / "model.safetensors").unlink()
    assert "no model.safetensors" in str(problems_of(folder))
    for t5, field in zip(t5_folders, (*END, *TASK), strict=True):
        assert field in str(problems_of(t5))

    assert list(scratch.iterdir()) == []


def change(folder: Path, edit: Callable[[dict[str, Any]], object]) -> tuple[str, ...]:
    """Problems of a folder whose tokenizer.json was edited."""
    content = json.loads((folder / FAST).read_text(encoding="utf8"))
    edit(content)
    (folder / FAST).write_text(json.dumps(content), encoding="utf8")
    return problems_of(folder)


def shuffle_merges(content: dict[str, Any]) -> None:
    random.Random(1).shuffle(content["model"]["merges"])  # noqa: S311 -- not for secrets


def drop_merge(content: dict[str, Any]) -> None:
    content["model"]["merges"].remove(["e", "r"])


def add_word(content: dict[str, Any]) -> None:
    content["added_tokens"].append({"id": 800, "content": "Dragoman", "special": False})


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (shuffle_merges, "not consecutive, which SentencePiece cannot represent"),
        (drop_merge, "the merge of 'e' and 'r' does not match the vocabulary"),
        (lambda c: c["model"]["merges"].append(["<", "x"]), "the merge of '<' and 'x' does not match the"),
        (lambda c: c["model"]["merges"].append("a b c"), "merges must be pairs"),
        (lambda c: c["model"].update(merges=None), "merges must be pairs"),
        (lambda c: c["model"].update(vocab={"a": "b"}), "the vocabulary has neither ids nor scores"),
        (lambda c: c["model"].update(type="WordPiece"), "model type WordPiece is not supported"),
        (lambda c: c["model"].update(byte_fallback=True), "byte_fallback True is not supported"),
        (lambda c: c["model"].update(dropout=0.1), "dropout 0.1"),
        (lambda c: c.update(model=None), "tokenizer.json has no model"),
        (lambda c: c.update(normalizer={"type": "Lowercase"}), "normaliser {'type': 'Lowercase'}"),
        (lambda c: c["normalizer"]["normalizers"][0].update(precompiled_charsmap="*"), "is not base64"),
        (lambda c: c.update(pre_tokenizer={"type": "ByteLevel"}), "pre-tokeniser {'type': 'ByteLevel'}"),
        (lambda c: c["pre_tokenizer"].update(prepend_scheme="never"), "space before the first word"),
        (add_word, "added token 'Dragoman' is not special, which is not supported"),
        (lambda c: c["added_tokens"].append({"content": "<x>"}), "has no id, or a different id"),
        (
            lambda c: c["model"]["vocab"].update({"<pad>": 0}),
            "has no id, or a different id in the vocabulary",
        ),
    ],
)
def test_tokenizer_features_without_a_sentencepiece_equivalent_are_rejected(
    edit: Callable[[dict[str, Any]], object], problem: str, saved_folder: Path, copy_of: Copy
) -> None:
    assert any(problem in each for each in change(copy_of(saved_folder), edit))


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (lambda vocab: vocab.append(["x"]), "the vocabulary has neither ids nor scores"),
        (lambda vocab: vocab[9].__setitem__(1, "high"), "the vocabulary has no scores"),
    ],
)
def test_a_unigram_vocabulary_must_have_scores_that_are_numbers(
    edit: Callable[[list[list[object]]], object], problem: str, tmp_path: Path
) -> None:
    write_mbart(tmp_path, form="fast")

    problems = change(tmp_path, lambda content: edit(content["model"]["vocab"]))

    assert problems[0] == f"tokenizer.json: {problem}"
    assert len(problems) == 1 or "neither" in problem  # which leaves no ids, either


def test_sentencepiece_takes_precedence_over_tokenizer_json(nllb_folder: Path, copy_of: Copy) -> None:
    folder = copy_of(nllb_folder)
    content = json.loads((folder / FAST).read_text(encoding="utf8"))
    shuffle_merges(content)
    (folder / FAST).write_text(json.dumps(content), encoding="utf8")

    assert load(folder).source_tokenizer.model == folder / MODEL


def test_both_files_must_agree_on_every_id(nllb_folder: Path, copy_of: Copy) -> None:
    def swap(content: dict[str, Any]) -> None:
        ids = content["model"]["vocab"]
        ids["er"], ids["en"] = ids["en"], ids["er"]

    problems = change(copy_of(nllb_folder), swap)

    assert problems == ("'er' has id 4 in sentencepiece.bpe.model, but 5 in tokenizer.json",)


def test_a_model_without_fairseqs_first_pieces_is_rejected(nllb_folder: Path, copy_of: Copy) -> None:
    folder = copy_of(nllb_folder)
    other = train_sentencepiece(german(), 300, pad_id=0, unk_id=1, bos_id=2, eos_id=3)
    (folder / MODEL).write_bytes(other)

    assert "does not begin with <unk>, <s> and </s>" in str(problems_of(folder))
