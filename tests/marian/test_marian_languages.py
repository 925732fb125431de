"""Languages come from the caller or from unambiguous release files, never from a guess."""

from pathlib import Path

import pytest

from dragoman.languages import Languages
from export.marian import load
from export.original import ImportRejectedError, RequestedLanguages
from tests.marian.conftest import Tokenizers, Written, write_model
from tests.marian.written import Variant, pieces_of, save_vocabulary

NO_CALLBACKS = RequestedLanguages()
README = """# opus-2021-02-19.zip

* dataset: opus
* model: transformer-align
* source language(s): deu
* target language(s): eng
* model: transformer-align
* pre-processing: normalization + SentencePiece (spm32k,spm32k)
* download: [opus-2021-02-19.zip](https://object.pouta.csc.fi/Tatoeba-MT-models/deu-eng/opus-2021-02-19.zip)

## Benchmarks
"""


def _codes(languages: Languages) -> tuple[list[str], list[str]]:
    return list(languages.sources), list(languages.targets)


@pytest.fixture
def release(tmp_path: Path, tokenizers: Tokenizers) -> Written:
    """In a folder whose name says nothing."""
    return write_model(tmp_path / "opus-2021-02-19", Variant(), tokenizers)


def _with_targets(release: Written, tokenizers: Tokenizers, tokens: tuple[str, ...]) -> list[str]:
    """Give the vocabulary tokens for targets, in places of other pieces."""
    pieces = pieces_of(tokenizers.both)
    pieces[2 : 2 + len(tokens)] = [f">>{token}<<" for token in tokens]
    save_vocabulary(release.folder / "opus.spm32k-spm32k.vocab.yml", pieces)
    return pieces


def test_languages_are_not_guessed(release: Written) -> None:
    with pytest.raises(ImportRejectedError) as caught:
        load(release.folder, NO_CALLBACKS)

    source, target = caught.value.problems
    assert "give --source-lang" in source
    assert "give --target-lang" in target


def test_a_source_ends_with_its_own_eos_and_a_target_begins_with_zeros(release: Written) -> None:
    original = load(release.folder, RequestedLanguages(("deu",), ("en",)))

    german, english = original.languages.sources["de"], original.languages.targets["en"]
    assert (german.names, german.before, german.after) == (("deu",), (), (0,))
    assert (english.names, english.source_before) == ((), ())
    assert english.begin == (original.model.config.bos_id,)


@pytest.mark.parametrize(
    "readme",
    [
        README,
        README.replace("language(s)", "languages"),
        README.replace(" deu\n", " deu, \n"),
        README + README.replace("19", "20").replace("deu\n", "fra\n"),  # of another release
        "* download: [x.zip](https://object.pouta.csc.fi/OPUS-MT-models/de-en/opus-2020-02-26.zip)\n",
    ],
    ids=["new", "old", "commas", "two releases", "download"],
)
def test_a_readme_names_the_languages(readme: str, release: Written) -> None:
    (release.folder / "README.md").write_text(readme, encoding="utf8")

    assert _codes(load(release.folder, NO_CALLBACKS).languages) == (["de"], ["en"])


def test_contradicting_release_files_name_no_language(release: Written) -> None:
    two = README.replace("02-19", "01-01") + README.replace("02-19", "01-02").replace("deu\n", "fra\n")
    (release.folder / "README.md").write_text(two, encoding="utf8")

    with pytest.raises(ImportRejectedError, match="--source-lang"):
        load(release.folder, NO_CALLBACKS)


def test_a_yaml_description_names_the_languages(release: Written) -> None:
    (release.folder / "opus-2021-02-19.yml").write_text(
        "release: deu+nld-eng/opus-2021-02-19.zip\nsource-languages:\n   - deu\n   - nld\n"
        "target-languages:\n   - eng\n",
        encoding="utf8",
    )

    assert _codes(load(release.folder, NO_CALLBACKS).languages) == (["de", "nl"], ["en"])


@pytest.mark.parametrize("name", ["opus-mt-de-en", "deu-eng"])
def test_a_folder_name_that_is_a_language_pair_names_the_languages(
    name: str, tmp_path: Path, tokenizers: Tokenizers
) -> None:
    write_model(tmp_path / name, Variant(), tokenizers)

    assert _codes(load(tmp_path / name, NO_CALLBACKS).languages) == (["de"], ["en"])


@pytest.mark.parametrize("name", ["en-roa", "my-own", "de-en-2", "model"])
def test_an_ambiguous_folder_name_names_no_language(
    name: str, tmp_path: Path, tokenizers: Tokenizers
) -> None:
    write_model(tmp_path / name, Variant(), tokenizers)

    with pytest.raises(ImportRejectedError, match="--source-lang"):
        load(tmp_path / name, NO_CALLBACKS)


def test_requested_languages_override_the_release_files(release: Written) -> None:
    (release.folder / "README.md").write_text(README, encoding="utf8")

    original = load(release.folder, RequestedLanguages(("nds", "gsw"), ("en-GB",)))

    assert _codes(original.languages) == (["nds", "gsw"], ["en-GB"])


def test_target_language_tokens_precede_the_source(release: Written, tokenizers: Tokenizers) -> None:
    pieces = _with_targets(release, tokenizers, ("deu", "nob", "zho_Hans", "xxx"))

    languages = load(release.folder, RequestedLanguages(("eng",))).languages

    assert {code: (target.names, target.source_before) for code, target in languages.targets.items()} == {
        "de": (("deu",), (pieces.index(">>deu<<"),)),
        "nb": (("nob",), (pieces.index(">>nob<<"),)),
        "zh-Hans": (("zho_Hans",), (pieces.index(">>zho_Hans<<"),)),
    }


def test_the_caller_can_select_some_of_several_targets(release: Written, tokenizers: Tokenizers) -> None:
    pieces = _with_targets(release, tokenizers, ("deu", "fra", "cmn_Hans"))

    languages = load(release.folder, RequestedLanguages(("en",), ("fr", "cmn_Hans"))).languages

    assert [target.source_before for target in languages.targets.values()] == [
        (pieces.index(">>fra<<"),),
        (pieces.index(">>cmn_Hans<<"),),
    ]
    with pytest.raises(
        ImportRejectedError, match="sv is not a target language of this model; it has deu, fra"
    ):
        load(release.folder, RequestedLanguages(("en",), ("sv",)))


def test_variants_of_one_language_have_distinct_codes(release: Written, tokenizers: Tokenizers) -> None:
    pieces = _with_targets(release, tokenizers, ("zh", "zho"))

    targets = load(release.folder, RequestedLanguages(("en",))).languages.targets

    assert targets["zh"].source_before == (pieces.index(">>zh<<"),)
    assert targets["zho"].source_before == (pieces.index(">>zho<<"),)


def test_several_targets_without_target_tokens_are_rejected(release: Written) -> None:
    (release.folder / "README.md").write_text(README.replace(" eng\n", " eng fra\n"), encoding="utf8")

    with pytest.raises(ImportRejectedError, match="eng, fra cannot all be target languages"):
        load(release.folder, NO_CALLBACKS)
    assert list(load(release.folder, RequestedLanguages((), ("fr",))).languages.targets) == ["fr"]


def test_text_cannot_spell_a_target_token(release: Written, tokenizers: Tokenizers) -> None:
    _with_targets(release, tokenizers, ("deu", "fra"))

    vocabulary = load(release.folder, RequestedLanguages(("en",))).source_tokenizer.vocabulary

    assert vocabulary is not None
    assert not [piece for piece in vocabulary if piece.startswith(">>")]


@pytest.mark.parametrize(
    ("text", "licence"),
    [
        ("Creative Commons\nAttribution 4.0 International\n", "CC-BY-4.0"),
        ("Attribution-NonCommercial 4.0 International\n", None),
        (
            "                                 Apache License\n                           Version 2.0, 2004",
            "Apache-2.0",
        ),
        ("All rights reserved", None),
    ],
)
def test_a_well_known_licence_is_recognised_by_its_text(
    text: str, licence: str | None, release: Written
) -> None:
    (release.folder / "LICENSE").write_text(text, encoding="utf8")

    assert load(release.folder, RequestedLanguages(("de",), ("en",))).licence == licence
