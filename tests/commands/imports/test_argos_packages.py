"""Argos packages: as a file, unpacked, and all of a data folder with one command."""

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman import DecodingOptions, Translator
from export.ctranslate2 import argos
from export.ctranslate2.argos import ARGOS_DECODING, FoundPackages, find_packages
from export.original import ImportRejectedError, RequestedLanguages
from export.sources import found, load_original
from tests.import_command import run_import
from tests.imports.ctranslate2_import.ct2_written import (
    NLLB_LANGUAGES,
    Ct2Variant,
    vocabularies_of,
    write_ct2_folder,
    write_sentencepiece,
)
from tests.imports.export.rejections import ANY, rejection_of

# int8 in an old version, as most packages are.
VARIANT = Ct2Variant(version=4, revision=3, is_text=True, dtype="int8", stored_positions=512, seed=13)


def write_package(folder: Path, source: str = "de", target: str = "en", **metadata: Any) -> Path:
    """An unpacked package with all that there is beside the model."""
    variant = metadata.pop("variant", VARIANT)
    write_ct2_folder(folder / "model", variant, has_tokenizers=False)
    write_sentencepiece(folder, variant)
    content = {
        "package_version": "1.0",
        "argos_version": "1.0",
        "from_code": source,
        "from_name": source.title(),
        "to_code": target,
        "to_name": target.title(),
        **metadata,
    }
    (folder / "metadata.json").write_text(json.dumps(content), encoding="utf8")
    (folder / "stanza" / source).mkdir(parents=True)
    (folder / "stanza" / source / "tokenizer.pt").write_bytes(b"a pickle that nothing reads")
    return folder


def pack(folder: Path, path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for file in folder.rglob("*"):
            archive.write(file, file.relative_to(folder.parent))
    return path


def test_a_packed_package_is_its_folder(tmp_path: Path) -> None:
    folder = write_package(tmp_path / "de_en")

    with found(str(pack(folder, tmp_path / "translate-de_en-1_0.argosmodel"))) as files:
        packed = load_original(files.folder, ANY)
        original = load_original(folder, ANY)

        assert packed.languages == original.languages
        assert packed.origin == original.origin
        assert np.array_equal(packed.model.target_embedding, original.model.target_embedding)


def test_a_package_brings_its_languages_search_and_record(tmp_path: Path) -> None:
    original = load_original(write_package(tmp_path), ANY)

    assert original.kind == "CTranslate2 model of an Argos package"
    assert [str(pair) for pair in original.languages.pairs()] == ["de -> en"]
    assert original.decoding == ARGOS_DECODING
    assert original.origin["package"] == {
        "package_version": "1.0",
        "argos_version": "1.0",
        "from_code": "de",
        "to_code": "en",
    }


def test_the_unknown_token_is_never_produced(tmp_path: Path) -> None:
    model = load_original(write_package(tmp_path), ANY).model

    assert [*np.flatnonzero(np.isneginf(model.weights["output_bias"]))] == [model.config.unk_id]


@pytest.mark.parametrize(("code", "expected"), [("zt", "zh-Hant"), ("pb", "pt-BR"), ("nb", "nb")])
def test_codes_that_only_argos_has_stay_other_names(code: str, expected: str, tmp_path: Path) -> None:
    languages = load_original(write_package(tmp_path, target=code), ANY).languages

    ((found_code, target),) = languages.targets.items()
    assert found_code == expected
    assert code == expected or code in target.names


def test_a_target_prefix_begins_every_target_and_is_no_text(tmp_path: Path) -> None:
    variant = Ct2Variant(languages=NLLB_LANGUAGES[:1])
    original = load_original(write_package(tmp_path, target_prefix="deu_Latn", variant=variant), ANY)

    (target,) = original.languages.targets.values()
    tokens = vocabularies_of(variant)[1]
    assert [tokens[index] for index in target.begin] == ["<s>", "deu_Latn"]
    assert original.target_tokenizer.vocabulary is not None
    assert original.target_tokenizer.vocabulary[target.begin[1]] == ""


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"from_code": None}, "metadata.json: from_code is missing; packages of one pair are supported"),
        ({"to_code": 3}, "metadata.json: to_code is 3, not a string"),
        ({"from_code": "../../outside"}, "'../../outside' is not a language tag"),
        ({"type": "sbd"}, "metadata.json: type is 'sbd'; only packages that translate are supported"),
        ({"target_prefix": "__xx__"}, "shared_vocabulary.txt does not have '__xx__', the target_prefix"),
    ],
)
def test_unsupported_metadata_is_rejected_by_field(
    metadata: dict[str, Any], expected: str, tmp_path: Path
) -> None:
    assert expected in rejection_of(write_package(tmp_path, **metadata), ANY)


def test_subwords_of_moses_are_rejected(tmp_path: Path) -> None:
    folder = write_package(tmp_path)
    (folder / "sentencepiece.model").rename(folder / "bpe.model")

    assert "bpe.model: subwords of Moses' tokenizer" in rejection_of(folder, ANY)


def test_a_package_whose_members_leave_the_folder_is_rejected_before_anything_is_written(
    tmp_path: Path,
) -> None:
    path = pack(write_package(tmp_path / "de_en"), tmp_path / "evil.argosmodel")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("../outside", "x")

    with (
        pytest.raises(ImportRejectedError, match=r"paths outside the folder: '\.\./outside'"),
        found(str(path)),
    ):
        pass

    assert not (tmp_path / "outside").exists()


def write_data_folder(folder: Path) -> Path:
    """As LibreTranslate's: packages of several pairs, one of them twice, and other files."""
    packages = folder / "share" / "argos-translate" / "packages"
    write_package(packages / "de_en")
    write_package(packages / "translate-de_en-1_10", package_version="1.10")
    write_package(packages / "translate-de_en-1_9", package_version="1.9")
    write_package(packages / "en_zt", "en", "zt")
    (folder / "cache" / "downloads").mkdir(parents=True)
    (folder / "cache" / "downloads" / "metadata.json").write_text("[]", encoding="utf8")
    return folder


def pairs_of(packages: FoundPackages | None) -> list[str]:
    assert packages is not None
    return [f"{each.source}-{each.target} {each.version}" for each in packages.chosen]


def test_the_newest_package_of_each_pair_is_found_and_older_ones_are_named(tmp_path: Path) -> None:
    packages = find_packages(write_data_folder(tmp_path), ANY)

    assert pairs_of(packages) == ["de-en 1.10", "en-zh-Hant 1.0"]
    assert packages is not None
    assert [message.partition(": ")[2] for message in packages.older] == [
        f"version 1.0 is older than {tmp_path}/share/argos-translate/packages/translate-de_en-1_10",
        f"version 1.9 is older than {tmp_path}/share/argos-translate/packages/translate-de_en-1_10",
    ]


def test_requested_languages_choose_packages(tmp_path: Path) -> None:
    folder = write_data_folder(tmp_path)

    assert pairs_of(find_packages(folder, RequestedLanguages(("en", "fr"), ()))) == ["en-zh-Hant 1.0"]
    assert pairs_of(find_packages(folder, RequestedLanguages((), ("zt",)))) == ["en-zh-Hant 1.0"]
    with pytest.raises(ImportRejectedError, match="no package has these languages; it has de-en, en-zh-Hant"):
        find_packages(folder, RequestedLanguages(("fr",), ()))


def test_a_data_folder_with_too_many_folders_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(argos, "MAX_FOLDERS", 3)

    with pytest.raises(ImportRejectedError, match="has more than 3 folders"):
        find_packages(write_data_folder(tmp_path), ANY)


def test_links_in_a_data_folder_are_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    packages = write_data_folder(tmp_path / "elsewhere") / "share" / "argos-translate" / "packages"
    (folder / "link").symlink_to(packages)

    assert find_packages(folder, ANY) is None


def test_a_package_or_another_model_is_no_data_folder(tmp_path: Path) -> None:
    assert find_packages(write_package(tmp_path / "package"), ANY) is None
    assert find_packages(write_ct2_folder(tmp_path / "model", VARIANT), ANY) is None
    assert find_packages(tmp_path / "missing", ANY) is None


def test_one_command_imports_all_packages_that_it_can(tmp_path: Path) -> None:
    folder = write_data_folder(tmp_path / "data")
    damaged = write_package(folder / "share" / "en_de", "en", "de")
    (damaged / "sentencepiece.model").unlink()

    done = run_import(tmp_path, folder, "--precision", "fp32")

    models = tmp_path / "models"
    assert done.stdout.splitlines() == [f"{models}/de-en", f"{models}/en-zh-Hant"]
    assert done.returncode == 2
    assert f"dragoman: import: {damaged}/model: has no SentencePiece model" in done.stderr
    assert "not imported: " in done.stderr
    with Translator.open(models / "de-en") as translator:
        translated = translator.translate("Guten Morgen.", DecodingOptions(max_length=10))
    assert translated.text
    assert "⁇" not in translated.text


def test_a_name_for_several_packages_is_rejected(tmp_path: Path) -> None:
    done = run_import(tmp_path, write_data_folder(tmp_path / "data"), "mine")

    assert (done.returncode, done.stdout) == (2, "")
    assert "has several models, whose bundles are named after their languages, not mine" in done.stderr
