"""A shortlist leaves tokens out and changes nothing else."""

import dataclasses
import shutil
from pathlib import Path

import numpy as np
import pytest

from dragoman import BundleError, DecodingOptions, Translation, Translator
from dragoman.bundle import file_sha256, read_bundle
from dragoman.manifest import FileRecord, Manifest
from dragoman.shortlist import SHORTLIST_FILE, Shortlist
from dragoman.text.tokenizer import Tokenizer
from export.bundle import write_manifest
from export.shortlist.install import write_shortlist
from tests.engine.conftest import INT8, translate_all
from tests.processor import has_vnni

GREEDY = DecodingOptions(beam_size=1)
BEAM = DecodingOptions(beam_size=4, num_hypotheses=4)
BOTH = pytest.mark.parametrize("options", [GREEDY, BEAM], ids=["greedy", "beam"])
NUM_ALWAYS = 30
NUM_LISTED = 6


def shortlist_of_all(manifest: Manifest) -> Shortlist:
    """Every token always: translations are the same as without."""
    num_targets = manifest.sizes.target_vocab
    offsets = np.zeros(manifest.sizes.source_vocab + 1, np.int64)
    return Shortlist.of(np.arange(num_targets), offsets, np.empty(0, np.int64), num_targets)


def small_shortlist(manifest: Manifest) -> Shortlist:
    """Some tokens for all sources, a few more for each piece: too few to say what was learned."""
    sizes, rng = manifest.sizes, np.random.default_rng(3)
    some = rng.choice(sizes.target_vocab, NUM_ALWAYS, replace=False)
    lists = [
        np.sort(rng.choice(sizes.target_vocab, NUM_LISTED, replace=False)) for _ in range(sizes.source_vocab)
    ]
    offsets = NUM_LISTED * np.arange(sizes.source_vocab + 1)
    always = np.union1d(some, [manifest.special_ids.eos])
    return Shortlist.of(always, offsets, np.concatenate(lists), sizes.target_vocab)


def with_shortlist(folder: Path, shortlist: Shortlist) -> Path:
    shutil.copytree(INT8, folder)
    write_shortlist(folder, shortlist, {})
    return folder


@pytest.fixture(scope="module")
def manifest() -> Manifest:
    return read_bundle(INT8).manifest


@pytest.fixture(scope="module")
def complete(tmp_path_factory: pytest.TempPathFactory, manifest: Manifest) -> Translator:
    """With every token on the shortlist."""
    folder = tmp_path_factory.mktemp("complete") / "tiny"
    return Translator.open(with_shortlist(folder, shortlist_of_all(manifest)), replicas=1)


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory, manifest: Manifest) -> Translator:
    """With a small shortlist."""
    folder = tmp_path_factory.mktemp("narrow") / "tiny"
    return Translator.open(with_shortlist(folder, small_shortlist(manifest)), replicas=1)


@pytest.fixture(scope="module")
def texts(pairs: list[tuple[str, str]]) -> list[str]:
    """Known and unknown ones, of one segment and of several."""
    unknown = ["Das Wetter ist schön. " * 3, "Unbekannte Wörter hier?", "Äh?"]
    return [source for source, _ in pairs[:20]] + unknown


@pytest.fixture(scope="module")
def sources(texts: list[str]) -> list[list[int]]:
    pieces = Tokenizer.load(INT8 / "source.spm").encode(texts)
    return [[*source, read_bundle(INT8).manifest.special_ids.eos] for source in pieces]


def scores(translations: list[Translation]) -> list[float]:
    """Of every alternative of every text."""
    found = [alternative.score for one in translations for alternative in one.alternatives]
    known = [score for score in found if score is not None]
    assert len(known) == len(found) >= len(translations)
    return known


@BOTH
def test_a_shortlist_of_all_tokens_gives_the_result_without_one(
    options: DecodingOptions, complete: Translator, tiny_int8: Translator, texts: list[str]
) -> None:
    expected = translate_all(tiny_int8, texts, options)

    found = translate_all(complete, texts, options)

    assert [one.text for one in found] == [one.text for one in expected]
    # Without VNNI, products with a shortlist may saturate.
    np.testing.assert_allclose(scores(found), scores(expected), atol=1e-4 if has_vnni() else 2e-2)


@BOTH
def test_every_target_token_is_on_its_sources_shortlist(
    options: DecodingOptions,
    narrow: Translator,
    tiny_int8: Translator,
    manifest: Manifest,
    sources: list[list[int]],
) -> None:
    shortlist = small_shortlist(manifest)
    lists = [shortlist.candidates(source) for source in sources]

    def num_strangers(translator: Translator) -> int:
        by_source = translator.search(sources, options)
        said = [[token for one in hypotheses for token in one.ids] for hypotheses in by_source]
        return sum(int((~np.isin(ids, own)).sum()) for ids, own in zip(said, lists, strict=True))

    assert num_strangers(tiny_int8) > 0, "a search without a shortlist says other tokens too"
    assert num_strangers(narrow) == 0


@BOTH
def test_a_shortlist_that_is_not_wanted_changes_nothing(
    options: DecodingOptions, narrow: Translator, tiny_int8: Translator, texts: list[str]
) -> None:
    expected = translate_all(tiny_int8, texts, options)
    assert translate_all(narrow, texts, options) != expected

    found = translate_all(narrow, texts, dataclasses.replace(options, use_shortlist=False))

    assert found == expected


def test_a_shortlist_that_cannot_be_used_does_not_open_and_is_named(
    tmp_path: Path, manifest: Manifest
) -> None:
    """Though the manifest vouches for it, as that of an exporter of another release might do."""
    folder = with_shortlist(tmp_path / "tiny", small_shortlist(manifest))
    path = folder / SHORTLIST_FILE
    path.write_bytes(path.read_bytes()[:-2])
    record = FileRecord(file_sha256(path), path.stat().st_size)
    listed = read_bundle(folder).manifest
    write_manifest(folder, dataclasses.replace(listed, files={**listed.files, SHORTLIST_FILE: record}))

    with pytest.raises(BundleError, match=r"shortlist\.bin: has \d+"):
        Translator.open(folder)
