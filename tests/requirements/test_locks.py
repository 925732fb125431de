"""Lock files agree with pyproject.toml and with each other, and lead to no index."""

import re
import tomllib
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from requirements.lock import IMAGE_EXTRAS
from tests.paths import ROOT

FOLDER = ROOT / "requirements"
LOCKS = (
    *("build.txt", "serving.txt", "image.txt", "export.txt", "ray.txt", "sbom.txt", "helm.txt"),
    *("development.txt", "torch.txt", "torch-cpu.txt"),
)
IMAGES = ("Dockerfile", "deploy/kuberay/Dockerfile")
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))
ENTRY = re.compile(r"^(?P<pin>[^ #\n].*?) ?\\\n(?P<hashes>(?: .*\n)*)", re.MULTILINE)
SHA256 = re.compile(r" {4}--hash=sha256:[0-9a-f]{64}(?: \\)?\n")


def text_of(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf8")


def pins_of(name: str) -> list[Requirement]:
    return [Requirement(entry["pin"]) for entry in ENTRY.finditer(text_of(name))]


def versions_of(*names: str) -> dict[str, set[str]]:
    """By package; several where Python's version decides."""
    versions: dict[str, set[str]] = {}
    for pin in (pin for name in names for pin in pins_of(name)):
        (specifier,) = pin.specifier
        version = Version(specifier.version).public
        versions.setdefault(canonicalize_name(pin.name), set()).add(version)
    return versions


def wanted_with(*extras: str) -> list[Requirement]:
    """What pyproject.toml wants for serving and with extras, those of its own extras taken apart."""
    wanted = [Requirement(each) for each in PROJECT["project"]["dependencies"]]
    for extra in extras:
        for requirement in map(Requirement, PROJECT["project"]["optional-dependencies"][extra]):
            if requirement.name == PROJECT["project"]["name"]:
                wanted += wanted_with(*requirement.extras)
            else:
                wanted.append(requirement)
    return wanted


@pytest.mark.parametrize("name", LOCKS)
def test_every_locked_version_is_exact_and_has_hashes(name: str) -> None:
    entries = list(ENTRY.finditer(text_of(name)))

    assert entries
    for entry in entries:
        (specifier,) = Requirement(entry["pin"]).specifier
        assert specifier.operator == "==", entry["pin"]
        assert SHA256.sub("", entry["hashes"]) == "", entry["pin"]
        assert SHA256.search(entry["hashes"]), entry["pin"]


@pytest.mark.parametrize("name", [*LOCKS, "peers.txt"])
def test_no_file_names_an_index_a_host_or_a_folder(name: str) -> None:
    entries = [line for line in text_of(name).splitlines() if not line.startswith("#")]

    assert [line for line in entries if "://" in line or re.match(r"\s*-(?!-hash=)", line)] == []


@pytest.mark.parametrize(
    ("locks", "extras"),
    [
        (["serving.txt"], []),
        (["build.txt"], None),
        (["image.txt"], IMAGE_EXTRAS),
        (["export.txt"], [*IMAGE_EXTRAS, "export"]),
        (["ray.txt"], ["ray"]),
        (["development.txt", "torch.txt"], ["dev"]),
        (["development.txt", "torch-cpu.txt"], ["dev"]),
    ],
    ids=str,
)
def test_all_that_pyproject_wants_is_locked_in_a_version_that_it_takes(
    locks: list[str], extras: list[str] | None
) -> None:
    versions = versions_of(*locks)

    build = map(Requirement, PROJECT["build-system"]["requires"])
    for requirement in build if extras is None else wanted_with(*extras):
        found = versions.get(canonicalize_name(requirement.name), set())
        assert found, f"{requirement} is in none of {locks}: make lock"
        assert all(version in requirement.specifier for version in found), f"{requirement}: make lock"


def test_no_two_files_lock_different_versions_of_a_package() -> None:
    together = versions_of(*LOCKS)
    for name in LOCKS:
        assert all(together[package] == found for package, found in versions_of(name).items()), name


def test_the_development_lock_has_no_libraries_for_gpus() -> None:
    assert [name for name in versions_of("development.txt") if re.match("nvidia|cuda|torch$", name)] == []


@pytest.mark.parametrize("image", IMAGES)
def test_an_image_installs_only_what_is_locked_and_copies_what_reaches_its_builder(image: str) -> None:
    dockerfile = (ROOT / image).read_text(encoding="utf8").replace("\\\n", " ")
    installs = re.findall(r"pip [^&\n]*install[^&\n]*", dockerfile)
    copies = re.findall(r"^COPY (?!--from)(.+) \S+$", dockerfile, re.MULTILINE)
    reaching = {line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf8").splitlines()}

    assert installs
    for install in installs:
        assert "--require-hashes" in install or re.search(r"--no-deps\s+\S*\.whl", install), install
    assert copies
    assert {name for names in copies for name in names.split()} <= reaching
    assert {*re.findall(r"\brequirements/\S+", dockerfile)} <= reaching
