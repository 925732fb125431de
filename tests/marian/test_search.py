"""Search defaults of a bundle come from Marian's decoder options."""

import json
import zipfile
from pathlib import Path

from dragoman.manifest import DecodingDefaults
from export.marian import load, recognises, unpacked
from export.original import RequestedLanguages
from tests.marian.conftest import Tokenizers, Written, write_model
from tests.marian.written import Variant

LANGUAGES = RequestedLanguages(("de",), ("en",))


def test_search_defaults_come_from_decoder_yml(written: Written) -> None:
    (written.folder / "decoder.yml").write_text("beam-size: 5\nnormalize: 0.6\n", encoding="utf8")

    assert load(written.folder, LANGUAGES).decoding == DecodingDefaults(5, 0.6, early_stopping=False)


def test_decoder_options_next_to_the_model_are_found(written: Written) -> None:
    (written.folder / "decoder.yml").rename(written.folder / "opus.npz.decoder.yml")

    assert load(written.folder, LANGUAGES).decoding == DecodingDefaults(6, 1.0, early_stopping=False)


def test_without_options_search_defaults_are_those_of_marian(written: Written) -> None:
    (written.folder / "decoder.yml").unlink()

    assert load(written.folder, LANGUAGES).decoding == DecodingDefaults(12, 0.0, early_stopping=False)


def test_the_origin_records_applied_and_ignored_options(written: Written) -> None:
    (written.folder / "preprocess.sh").write_text("sed", encoding="utf8")
    (written.folder / "decoder.yml").write_text(
        "shortlist: [lex.gz, 100, 100]\nmax-length-factor: 2\nwhen: 2020-01-01\nodd: .nan\n", encoding="utf8"
    )

    original = load(written.folder, LANGUAGES)

    assert original.kind == "Marian npz"
    assert original.origin["version"].startswith("v1.9.0")
    assert original.origin["options"]["transformer-ffn-activation"] == "relu"
    assert original.origin["scripts_not_run"] == ["preprocess.sh"]
    assert original.origin["decoder_options_not_used"] == ["max-length-factor", "odd", "shortlist", "when"]
    json.dumps(original.origin, allow_nan=False)


def test_an_archive_with_one_folder_is_read_in_that_folder(tmp_path: Path, tokenizers: Tokenizers) -> None:
    written = write_model(tmp_path / "files", Variant(autoregression="rnn"), tokenizers)
    archive = _zip(written.folder, tmp_path / "opus-2020-02-26.zip")

    with unpacked(archive) as folder:
        assert recognises(folder)
        original = load(folder, LANGUAGES)
        assert original.source_tokenizer.model.read_bytes() == tokenizers.both
    assert not original.source_tokenizer.model.exists()
    assert original.model.config.autoregression == "ssru"


def _zip(folder: Path, archive: Path) -> Path:
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as members:
        for path in folder.iterdir():
            members.write(path, path.name)
    return archive
