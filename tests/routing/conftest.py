"""Real bundles with other languages than they were made for."""

import json
import shutil
from pathlib import Path

import pytest

from dragoman.bundle import MANIFEST_FILE

TINY_BUNDLE = Path(__file__).resolve().parents[1] / "tiny" / "bundle-int8"


def relabel(folder: Path, name: str, source: str, target: str) -> Path:
    """A copy of the tiny model, which says that it is for other languages."""
    shutil.copytree(TINY_BUNDLE, folder)
    manifest = json.loads((folder / MANIFEST_FILE).read_text(encoding="utf-8"))
    languages = manifest["languages"]
    manifest["name"] = name
    languages["sources"] = {source: next(iter(languages["sources"].values()))}
    languages["targets"] = {target: next(iter(languages["targets"].values()))}
    (folder / MANIFEST_FILE).write_text(json.dumps(manifest), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def tiny_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny model as `de-en` and as `en-fr`."""
    folder = tmp_path_factory.mktemp("tiny-models")
    relabel(folder / "de-en", "tiny-de-en", "de", "en")
    relabel(folder / "en-fr", "tiny-en-fr", "en", "fr")
    return folder
