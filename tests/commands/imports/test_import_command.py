"""`dragoman import` needs no PyTorch, and leaves a complete bundle or nothing."""

import tarfile
from pathlib import Path

import torch

from dragoman import DecodingOptions, Translator
from dragoman.bundle import open_bundle
from dragoman.loading import open_tokenizers
from tests.import_command import run_import
from tests.imports.huggingface.make_models import edit_json, write_m2m, write_marian


def test_a_model_imported_without_pytorch_translates_as_in_pytorch(tmp_path: Path) -> None:
    original = write_marian(tmp_path / "original")

    done = run_import(tmp_path, tmp_path / "original", "--precision", "fp32")

    assert done.returncode == 0, done.stderr
    bundle = tmp_path / "models" / "de-en"
    assert done.stdout == f"{bundle}\n"
    assert [path.name for path in bundle.parent.iterdir()] == ["de-en"]
    source = [*open_tokenizers(open_bundle(bundle))[0].encode(["Guten Morgen, wie geht es Ihnen?"])[0], 0]
    with Translator.open(bundle) as translator:
        (found,) = translator.search([source], DecodingOptions(beam_size=1, max_length=20))
    with torch.inference_mode():
        (expected,) = original.generate(torch.tensor([source]), num_beams=1, max_length=21).tolist()
    assert [*found[0].ids][:19] == expected[1:20]  # the last one is a forced end there


def test_an_archive_of_a_model_with_several_languages_gets_the_name_of_the_model(tmp_path: Path) -> None:
    write_m2m(tmp_path / "m2m-tiny")
    with tarfile.open(tmp_path / "m2m-tiny.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "m2m-tiny", "m2m-tiny")

    done = run_import(
        tmp_path, tmp_path / "m2m-tiny.tar.gz", "--precision", "fp32", "--source", "fr", "--target", "es,it"
    )

    assert done.returncode == 0, done.stderr
    assert "no built-in text is in the model's languages, so text is generated" in done.stderr
    languages = open_bundle(tmp_path / "models" / "m2m-tiny").manifest.languages
    assert [str(pair) for pair in languages.pairs()] == ["fr -> es", "fr -> it"]


def test_an_existing_bundle_is_not_replaced_unless_requested(tmp_path: Path) -> None:
    write_marian(tmp_path / "original")
    old = tmp_path / "models" / "mine"
    old.mkdir(parents=True)
    (old / "notes.txt").write_text("mine", encoding="utf8")

    refused = run_import(tmp_path, tmp_path / "original", "mine", "--precision", "fp32")

    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == f"dragoman: import: {old} exists; give another name, or --replace\n"
    assert [path.name for path in old.iterdir()] == ["notes.txt"]
    assert (
        run_import(tmp_path, tmp_path / "original", "mine", "--precision", "fp32", "--replace").returncode
        == 0
    )
    assert open_bundle(old).manifest.name == "mine"


def test_an_unknown_architecture_is_rejected_by_name_and_leaves_nothing_behind(tmp_path: Path) -> None:
    write_marian(tmp_path / "original")
    edit_json(tmp_path / "original" / "config.json", {"architectures": ["BartForConditionalGeneration"]})

    done = run_import(tmp_path, tmp_path / "original")

    assert done.returncode == 2
    assert "architecture BartForConditionalGeneration is not supported" in done.stderr
    assert not (tmp_path / "models").exists()


def test_a_missing_extra_is_reported_in_one_line(tmp_path: Path) -> None:
    done = run_import(tmp_path, tmp_path, blocked="onnx")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == ("dragoman: import: onnx is not installed; install dragoman[export]\n")


def test_a_proof_without_pytorch_is_rejected_before_anything_is_read(tmp_path: Path) -> None:
    done = run_import(tmp_path, tmp_path / "nothing", "--prove")

    assert done.returncode == 2
    assert "--prove: PyTorch is not installed" in done.stderr
