"""`dragoman import` of models by name, from registries in files with tiny models."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands.imports.test_argos_packages import pack, write_package
from tests.import_command import run_import
from tests.imports.bergamot.students import KINDS, make_student
from tests.published import firefox_records, write_argos, write_firefox


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
