"""Search defaults of a bundle come from Marian's decoder options."""

import json
import shutil
from pathlib import Path

import pytest

from dragoman.manifest import DecodingDefaults
from export.marian import load, recognises, unpacked
from tests.imports.export.rejections import GERMAN_TO_ENGLISH
from tests.imports.marian.conftest import Tokenizers, Written, write_model
from tests.imports.marian.written import Variant

UNUSED = "shortlist: [lex.gz, 100, 100]\nmax-length-factor: 2\nwhen: 2020-01-01\nodd: .nan\n"


@pytest.mark.parametrize(
    ("name", "options", "beam_size", "length_penalty"),
    [
        ("decoder.yml", "beam-size: 5\nnormalize: 0.6\n", 5, 0.6),
        ("opus.npz.decoder.yml", "beam-size: 5\nnormalize: 0.6\n", 5, 0.6),
        ("other.yml", "beam-size: 5\n", 12, 0.0),
    ],
)
def test_search_defaults_are_those_of_the_decoder_options_or_else_of_marian(
    name: str, options: str, beam_size: int, length_penalty: float, written: Written
) -> None:
    (written.folder / "decoder.yml").unlink()
    written.write(name, options)

    expected = DecodingDefaults(beam_size, length_penalty, early_stopping=False)
    assert load(written.folder, GERMAN_TO_ENGLISH).decoding == expected


def test_the_origin_records_applied_and_ignored_options(written: Written) -> None:
    written.write("preprocess.sh", "sed")
    written.write("decoder.yml", UNUSED)

    original = load(written.folder, GERMAN_TO_ENGLISH)

    assert original.kind == "Marian npz"
    assert original.origin["version"].startswith("v1.9.0")
    assert original.origin["options"]["transformer-ffn-activation"] == "relu"
    assert original.origin["scripts_not_run"] == ["preprocess.sh"]
    assert original.origin["decoder_options_not_used"] == ["max-length-factor", "odd", "shortlist", "when"]
    json.dumps(original.origin, allow_nan=False)


def test_an_archive_with_one_folder_is_read_in_that_folder(tmp_path: Path, tokenizers: Tokenizers) -> None:
    written = write_model(tmp_path / "files", Variant(autoregression="rnn"), tokenizers)
    archive = shutil.make_archive(str(tmp_path / "opus-2020-02-26"), "zip", written.folder)

    with unpacked(Path(archive)) as folder:
        assert recognises(folder)
        original = load(folder, GERMAN_TO_ENGLISH)
        assert original.source_tokenizer.model.read_bytes() == tokenizers.both
    assert not original.source_tokenizer.model.exists()
    assert original.model.config.autoregression == "ssru"
