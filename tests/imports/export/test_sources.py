"""Where models come from: what is found, what is rejected, and with which message."""

import re
import shutil
import zipfile
from pathlib import Path

import pytest
import sentencepiece

from dragoman.languages import Languages, SourceLanguage, TargetLanguage
from dragoman.types import Pair
from export.original import ImportRejectedError, RequestedLanguages
from export.samples import choose_texts, generate_text
from export.sources import found, load_original
from tests.imports.export.conftest import CHECKPOINT
from tests.imports.export.rejections import ANY, message_of, problems_of, rejection_of


def languages(sources: str, targets: str) -> Languages:
    return Languages(
        {code: SourceLanguage((), (), (3,)) for code in sources.split()},
        {code: TargetLanguage((), (), (2,)) for code in targets.split()},
    )


def test_a_local_folder_is_used_in_place() -> None:
    with found(str(CHECKPOINT)) as files:
        assert files.folder == CHECKPOINT
        assert files.revision is None


def test_an_archive_is_unpacked_only_while_the_context_is_open(tmp_path: Path) -> None:
    archive = tmp_path / "model.ZIP"
    with zipfile.ZipFile(archive, "w") as file:
        for path in CHECKPOINT.iterdir():
            file.write(path, f"release/{path.name}")

    with found(str(archive)) as files:
        original = load_original(files.folder, ANY)
        assert original.kind == "dragoman checkpoint"
    assert not files.folder.exists()


def test_a_bare_file_and_an_unknown_name_are_rejected_with_advice(tmp_path: Path) -> None:
    weights = tmp_path / "model.npz"
    weights.write_bytes(b"")
    for path, advice in ((weights, "give its folder"), (tmp_path / "nowhere", "not a hub id")):
        assert advice in message_of(ImportRejectedError, found(str(path)).__enter__)


def test_a_folder_with_two_kinds_of_models_is_rejected(tmp_path: Path) -> None:
    shutil.copytree(CHECKPOINT, tmp_path, dirs_exist_ok=True)
    (tmp_path / "config.json").write_text("{}", encoding="utf8")

    (problem,) = problems_of(tmp_path, ANY)
    assert re.search("checkpoint of .* and a Hugging Face folder", problem)


def test_a_checkpoint_accepts_one_requested_language_per_side(tmp_path: Path) -> None:
    (pair,) = load_original(CHECKPOINT, RequestedLanguages(("gsw",), ("en-GB",))).languages.pairs()
    assert pair == Pair("gsw", "en-GB")
    two = RequestedLanguages(("de", "nl"), ())
    assert "2 source languages are requested" in rejection_of(CHECKPOINT, two)
    shutil.copytree(CHECKPOINT, tmp_path, dirs_exist_ok=True)
    (tmp_path / "training.json").unlink()
    assert "names no source language; give --source-lang" in rejection_of(tmp_path, ANY)


def test_built_in_text_is_used_for_every_source_language_that_has_one() -> None:
    texts = choose_texts(languages("fr de en", "fr de en"), None, "model")

    assert {(text.pair, text.path.stem) for text in texts} == {
        (Pair("de", "en"), "de"),
        (Pair("en", "de"), "en"),
    }
    (text,) = choose_texts(languages("de", "fr"), None, "model")
    assert text.pair == Pair("de", "fr")
    assert len(text.lines()) >= 200


def test_a_given_sentences_file_is_for_the_first_pair(tmp_path: Path) -> None:
    given = tmp_path / "text.txt"
    given.write_text("Bonjour.\n\n  \nMerci.\n", encoding="utf8")

    (text,) = choose_texts(languages("fr de", "fr en"), given, "model")

    assert (text.pair, text.lines()) == (Pair("fr", "en"), ["Bonjour.", "Merci."])
    with pytest.raises(ImportRejectedError, match="not found"):
        choose_texts(languages("fr", "en"), tmp_path / "none.txt", "model")


def test_no_built_in_text_is_used_for_other_languages() -> None:
    assert choose_texts(languages("fr es", "it"), None, "model") == []


def test_generated_text_is_the_same_every_time_and_made_of_the_vocabularys_pieces(tmp_path: Path) -> None:
    original = load_original(CHECKPOINT, RequestedLanguages(("fr",), ("es",)))

    text, again = generate_text(original, tmp_path), generate_text(original, tmp_path)

    assert text.pair == Pair("fr", "es")
    assert len(text.lines()) >= 200
    assert text.lines() == again.lines()
    processor = sentencepiece.SentencePieceProcessor(model_file=str(original.source_tokenizer.model))
    encoded = processor.encode(text.lines())
    assert not any(processor.unk_id() in ids for ids in encoded)
    spelt = [piece for piece in range(processor.vocab_size()) if not processor.is_byte(piece)]
    assert len(set().union(*encoded)) > 0.9 * len(spelt)
