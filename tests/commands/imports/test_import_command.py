"""`dragoman import` needs no PyTorch, finds models by name, and leaves a complete bundle or nothing."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import torch

from dragoman import DecodingOptions, Translator
from dragoman.bundle import open_bundle
from dragoman.loading import open_tokenizers
from export.model_card import render_card
from tests.commands.imports.test_argos_packages import pack, write_package
from tests.import_command import run_import
from tests.imports.bergamot.students import KINDS, make_student
from tests.imports.export.test_model_card import TINY, TINY_MANIFEST, code_of
from tests.imports.huggingface.make_models import edit_json, write_m2m, write_marian
from tests.paths import ROOT
from tests.published import firefox_records, write_argos, write_firefox


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


@pytest.fixture
def registries(tmp_path: Path) -> list[str]:
    """With a student de -> en of Firefox's, and a package fr -> en of Argos's."""
    student = make_student(tmp_path / "student", KINDS["shared"])
    files = {
        f"{'vocab' if path.suffix == '.spm' else 'lex' if 'lex' in path.name else 'model'}:{path.name}": path
        for path in student.folder.iterdir()
        if path.suffix in {".bin", ".spm"}
    }
    contents = {name: path.read_bytes() for name, path in files.items()}
    firefox = write_firefox(tmp_path, firefox_records(tmp_path, contents, ("de", "en")))
    pack(write_package(tmp_path / "fr_en", "fr"), tmp_path / "fr_en.argosmodel")
    argos = write_argos(tmp_path, ("fr", "en", "1.0", "fr_en.argosmodel"))
    return ["--registry", f"firefox={firefox}", "--registry", f"argos={argos}"]


def test_models_of_several_registries_are_imported_by_name_with_their_origin(
    tmp_path: Path, registries: list[str]
) -> None:
    done = run_import(tmp_path, "firefox:de-en,argos:fr-en", *registries)

    assert done.returncode == 0, done.stderr
    assert [Path(line).name for line in done.stdout.splitlines()] == ["de-en", "fr-en"]
    manifests = [json.loads(Path(line, "manifest.json").read_text()) for line in done.stdout.splitlines()]
    assert manifests[0]["licence"] == "MPL-2.0"
    assert "firefox:de-en" in json.dumps(manifests[0])
    assert "argos:fr-en" in json.dumps(manifests[1])


def test_a_pair_alone_lists_what_can_be_imported_with_sizes_and_licences(
    tmp_path: Path, registries: list[str]
) -> None:
    listed = run_import(tmp_path, "de-en", *registries)
    rows = [line.split("\t") for line in listed.stdout.splitlines()]

    assert listed.returncode == 0, listed.stderr
    assert [row[0] for row in rows] == ["firefox:de-en", "opus:de-en"]
    assert rows[0][1].endswith(" bytes")
    assert rows[0][2] == "MPL-2.0"
    assert "argos has no model for de -> en, and none through en" in listed.stderr


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["firefox:en-fr"], "firefox has no model for en -> fr"),
        (["firefox:de-en", "--registry", "other=x"], "--registry: other=x must be firefox=LOCATION or"),
        (["firefox:de-en,argos:fr-en", "mine"], "several models, whose bundles are named after"),
    ],
)
def test_a_model_that_cannot_be_found_is_named_in_one_line(
    tmp_path: Path, registries: list[str], arguments: list[str], problem: str
) -> None:
    done = run_import(tmp_path, *arguments, *registries)

    assert (done.returncode, done.stdout) == (2, "")
    assert problem in done.stderr
    assert done.stderr.count("\n") == 1


def test_without_a_network_a_hub_id_is_rejected_in_one_sentence(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "export", "nobody/opus-mt-de-en", str(tmp_path / "x")]
    offline = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "cache")}

    done = subprocess.run(command, capture_output=True, text=True, check=False, env=offline)

    assert done.returncode == 1
    assert done.stderr == (
        "rejected: nobody/opus-mt-de-en: folder not found, and the hub cannot be reached; "
        "download it elsewhere and give its folder\n"
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder whose models/ has the tiny bundle, by its name."""
    shutil.copytree(TINY / "bundle-int8", tmp_path / "models" / TINY_MANIFEST.name)
    return tmp_path


def run(command: list[str], folder: Path) -> str:
    """What is printed, with this tree's own packages."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_quick_starts_python_runs_unchanged(folder: Path) -> None:
    code = code_of(render_card(TINY_MANIFEST, "Many."), "python")

    assert run([sys.executable, "-c", code], folder)


def test_the_quick_starts_command_runs_unchanged(folder: Path) -> None:
    command = code_of(render_card(TINY_MANIFEST, "Many."), "sh").replace(
        "| dragoman ", f"| {sys.executable} -m service "
    )

    assert run(["/bin/bash", "-c", command], folder)
