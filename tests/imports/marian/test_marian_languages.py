"""Languages come from the caller or from unambiguous release files, never from a guess."""

from pathlib import Path

import pytest

from dragoman.languages import Languages
from export.marian import load
from export.original import RequestedLanguages
from tests.imports.export.rejections import ANY, GERMAN_TO_ENGLISH, problems_of, rejection_of
from tests.imports.marian.conftest import Tokenizers, Written, write_model
from tests.imports.marian.written import Variant, pieces_of, save_vocabulary

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
DOWNLOAD = "* download: [x.zip](https://object.pouta.csc.fi/OPUS-MT-models/de-en/opus-2020-02-26.zip)\n"
CONTRADICTING = README.replace("02-19", "01-01") + README.replace("02-19", "01-02").replace(
    "deu\n", "fra\n"
).replace("eng\n", "swe\n")
DESCRIPTION = (
    "release: deu+nld-eng/opus-2021-02-19.zip\nsource-languages:\n   - deu\n   - nld\n"
    "target-languages:\n   - eng\n"
)


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


def test_a_source_ends_with_its_own_eos_and_a_target_begins_with_zeros(release: Written) -> None:
    original = load(release.folder, RequestedLanguages(("deu",), ("en",)))

    german, english = original.languages.sources["de"], original.languages.targets["en"]
    assert (german.names, german.before, german.after) == (("deu",), (), (0,))
    assert (english.names, english.source_before) == ((), ())
    assert english.begin == (original.model.config.bos_id,)


@pytest.mark.parametrize(
    ("folder", "files", "sources"),
    [
        *(
            ("opus-2021-02-19", {"README.md": readme}, ["de"])
            for readme in (
                README,
                README.replace("language(s)", "languages"),
                README.replace(" deu\n", " deu, \n"),
                README + README.replace("19", "20").replace("deu\n", "fra\n"),  # of another release
                DOWNLOAD,
            )
        ),
        ("opus-2021-02-19", {"README.md": CONTRADICTING}, []),
        ("opus-2021-02-19", {"opus-2021-02-19.yml": DESCRIPTION}, ["de", "nl"]),
        ("opus-2021-02-19", {}, []),
        *((pair, {}, ["de"]) for pair in ("opus-mt-de-en", "deu-eng")),
        *((name, {}, []) for name in ("en-roa", "my-own", "de-en-2", "model")),
    ],
)
def test_release_files_or_the_name_of_the_folder_name_the_languages(
    folder: str, files: dict[str, str], sources: list[str], tmp_path: Path, tokenizers: Tokenizers
) -> None:
    """What is ambiguous names none, and none is guessed."""
    written = write_model(tmp_path / folder, Variant(), tokenizers)
    for name, text in files.items():
        written.write(name, text)

    if sources:
        assert _codes(load(written.folder, ANY).languages) == (sources, ["en"])
    else:
        source, target = problems_of(written.folder, ANY)
        assert "give --source-lang" in source
        assert "give --target-lang" in target


def test_requested_languages_override_the_release_files(release: Written) -> None:
    release.write("README.md", README)

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
    problem = rejection_of(release.folder, RequestedLanguages(("en",), ("sv",)))
    assert "sv is not a target language of this model; it has deu, fra" in problem


def test_variants_of_one_language_have_distinct_codes(release: Written, tokenizers: Tokenizers) -> None:
    pieces = _with_targets(release, tokenizers, ("zh", "zho"))

    targets = load(release.folder, RequestedLanguages(("en",))).languages.targets

    assert targets["zh"].source_before == (pieces.index(">>zh<<"),)
    assert targets["zho"].source_before == (pieces.index(">>zho<<"),)


def test_several_targets_without_target_tokens_are_rejected(release: Written) -> None:
    release.write("README.md", README.replace(" eng\n", " eng fra\n"))

    assert "eng, fra cannot all be target languages" in rejection_of(release.folder, ANY)
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
    release.write("LICENSE", text)

    assert load(release.folder, GERMAN_TO_ENGLISH).licence == licence
