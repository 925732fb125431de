"""Where models come from: what is found and rejected, and exports that do not fit on the disk."""

import re
import shutil
import zipfile
from itertools import pairwise
from pathlib import Path

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from dragoman.languages import Languages, SourceLanguage, TargetLanguage
from dragoman.types import Pair
from export.bundle import ExportError
from export.calibration import BATCH_SOURCES, BATCH_TOKENS, batches
from export.model_config import ModelConfig
from export.original import ImportRejectedError, RequestedLanguages
from export.run import ExportOptions, check_space, estimated_bytes, export_model
from export.samples import choose_texts, generate_text
from export.sources import found, load_original
from tests.imports.export.conftest import CHECKPOINT, tiny_original
from tests.imports.export.rejections import ANY, message_of, problems_of, rejection_of
from tests.paths import TINY


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


def bundle_bytes(name: str) -> int:
    return sum(path.stat().st_size for path in (TINY / name).iterdir())


def config() -> ModelConfig:
    return tiny_original().model.config


def test_the_estimate_is_near_the_size_of_a_bundle() -> None:
    assert 0.5 < estimated_bytes(config(), "fp32") / bundle_bytes("bundle-fp32") < 1.5


def test_a_full_disk_is_named_with_needed_and_free_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed = estimated_bytes(config(), "int8")
    free = [needed]
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(free[0], 0, free[0]))
    check_space(tmp_path / "new" / "de-en", config(), "int8")

    free[0] -= 1

    message = f"de-en needs about {needed} bytes of disk space, but only {needed - 1} are free"
    with pytest.raises(ExportError, match=message):
        check_space(tmp_path / "new" / "de-en", config(), "int8")


def test_nothing_is_written_to_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 10, 0))

    with pytest.raises(ExportError):
        export_model(ExportOptions(str(CHECKPOINT), tmp_path / "new" / "de-en"), print)

    assert list(tmp_path.iterdir()) == []


@given(st.lists(st.integers(1, 2 * BATCH_TOKENS)))
def test_batches_are_all_items_in_order_within_the_limits(lengths: list[int]) -> None:
    found = [list(batch) for batch in batches(lengths, lambda length: length)]

    assert [length for batch in found for length in batch] == lengths
    for batch in found:
        assert 1 <= len(batch) <= BATCH_SOURCES
        assert len(batch) == 1 or len(batch) * max(batch) <= BATCH_TOKENS


@given(st.lists(st.integers(1, BATCH_TOKENS), min_size=2).map(sorted))
def test_a_batch_ends_only_where_the_next_item_would_exceed_a_limit(lengths: list[int]) -> None:
    found = [list(batch) for batch in batches(lengths, lambda length: length)]

    for batch, following in pairwise(found):
        grown = [*batch, following[0]]
        assert len(grown) > BATCH_SOURCES or len(grown) * max(grown) > BATCH_TOKENS
