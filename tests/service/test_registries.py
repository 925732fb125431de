"""Models in registries of others, found by language pair."""

import hashlib
import json
from pathlib import Path

import pytest

from dragoman.types import Pair
from service.models.errors import ModelError
from service.models.registries import (
    ARGOS,
    FIREFOX,
    FIREFOX_LICENCE,
    find_models,
    hub_names,
    read_names,
    read_pair,
)
from tests.published import firefox_records, write_argos, write_firefox

FILES = {"model:model.bin": b"model", "vocab:vocab.spm": b"vocabulary", "qualityModel:q.bin": b"unused"}
SPANISH, ENGLISH = ("es", "en"), ("en", "fr")


@pytest.fixture
def firefox(tmp_path: Path) -> str:
    """With es -> en in several versions, and en -> fr."""
    others = [
        firefox_records(tmp_path, FILES, SPANISH, architecture="tiny", version="3.9"),
        firefox_records(tmp_path, FILES, SPANISH, version="2.0"),
        firefox_records(
            tmp_path, FILES, SPANISH, version="3.5", filter_expression="env.channel == 'nightly'"
        ),
        firefox_records(tmp_path, {"model:model.bin": b"alone"}, SPANISH, version="3.7"),
    ]
    wanted = firefox_records(tmp_path, FILES, SPANISH, version="3.1")
    return str(write_firefox(tmp_path, *others, wanted, firefox_records(tmp_path, FILES, ENGLISH)))


def test_the_newest_complete_model_of_the_preferred_architecture_for_all_channels_is_found(
    firefox: str, tmp_path: Path
) -> None:
    [model] = find_models(FIREFOX, firefox, Pair("es", "en"))
    folder = tmp_path / "model"
    folder.mkdir()
    received: list[int] = []

    assert (model.name, model.version, model.licence) == ("firefox:es-en", "3.1", FIREFOX_LICENCE)
    assert model.download(folder, received.append) == folder
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        "model.bin": b"model",
        "vocab.spm": b"vocabulary",
    }
    assert sum(received) == model.size_bytes


def test_a_pair_without_a_model_leads_through_english(firefox: str) -> None:
    assert [model.pair for model in find_models(FIREFOX, firefox, Pair("es", "fr"))] == [SPANISH, ENGLISH]
    with pytest.raises(ModelError, match="firefox has no model for fr -> es, and none through en"):
        find_models(FIREFOX, firefox, Pair("fr", "es"))


def test_the_newest_package_of_argos_is_found_by_its_own_codes(tmp_path: Path) -> None:
    (tmp_path / "new.argosmodel").write_bytes(b"new")
    newest = ("en", "pb", "1.10", "new.argosmodel")
    index = write_argos(tmp_path, ("en", "pb", "1.9", "old.argosmodel"), newest, ("en", "pb", "1.2", "x"))

    [model] = find_models(ARGOS, str(index), Pair("en", "pt-BR"))

    assert (model.name, model.version, model.size_bytes, model.licence) == ("argos:en-pb", "1.10", None, None)
    folder = tmp_path / "packages"
    folder.mkdir()
    assert model.download(folder, lambda _: None).read_bytes() == b"new"


@pytest.mark.parametrize("damage", ["content", "size", "compression"])
def test_a_file_that_is_not_the_promised_one_is_rejected(tmp_path: Path, damage: str) -> None:
    records = firefox_records(tmp_path, FILES, SPANISH)
    path = tmp_path / records[0]["attachment"]["location"]
    packed = path.read_bytes()
    if damage == "compression":
        path.write_bytes(b"not zstd" * 2)
        records = json.loads(json.dumps(records))
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        records[0]["attachment"] |= {"hash": digest, "size": 16}
    else:
        path.write_bytes(packed[:-1] + b"?" if damage == "content" else packed + b"?")
    [model] = find_models(FIREFOX, str(write_firefox(tmp_path, records)), Pair(*SPANISH))
    folder = tmp_path / "model"
    folder.mkdir()

    with pytest.raises(ModelError, match=r"is not the file|cannot be decompressed"):
        model.download(folder, lambda _: None)


def test_what_is_no_registry_is_named(tmp_path: Path) -> None:
    path = tmp_path / "records.json"
    path.write_text('{"data": [{"name": "../x"}]}')

    with pytest.raises(ModelError, match=r"is not an index of models: data\.0\.name"):
        find_models(FIREFOX, str(path), Pair(*SPANISH))


def test_files_and_hub_ids_are_neither_names_nor_pairs() -> None:
    assert read_names("firefox:es-en") == [("firefox", Pair("es", "en"))]
    assert read_names("argos:en-zh-Hant, opus:fr-en") == [
        ("argos", Pair("en", "zh-Hant")),
        ("opus", Pair("fr", "en")),
    ]
    assert read_pair("pt-BR-en") == Pair("pt-BR", "en")
    for other in ("owner/name", "./es-en", "firefox:es", "other:es-en", "es_en"):
        assert read_names(other) == []
        assert read_pair(other) is None
    assert hub_names(Pair("fr", "en"))[-1] == "Helsinki-NLP/opus-mt-fr-en"
