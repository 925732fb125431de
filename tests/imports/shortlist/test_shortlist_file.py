"""The file of a shortlist, the candidates of a source, and `python -m export.shortlist`."""

import json
from collections.abc import Callable
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.bundle import open_bundle, read_bundle, verify_files
from dragoman.errors import BundleError
from dragoman.shortlist import COUNTS, HEADER_BYTES, MAGIC, SHORTLIST_FILE, Shortlist
from export import __main__ as export
from export.shortlist import __main__ as shortlist
from export.shortlist.install import ORIGIN_FIELD, copy_without_shortlist, write_shortlist
from export.shortlist.vocabularies import read_vocabularies
from export.validation import ValidationReport
from tests.imports.export.conftest import RunMain
from tests.paths import TINY

SOURCE_VOCAB = 5
TARGET_VOCAB = 50
EOS = 3


def make(always: list[int], lists: list[list[int]], target_vocab: int = TARGET_VOCAB) -> Shortlist:
    offsets = np.cumsum([0, *(len(ids) for ids in lists)])
    listed = np.array([number for ids in lists for number in ids], np.int64)
    return Shortlist.of(np.array(always, np.int64), offsets, listed, target_vocab)


def example() -> Shortlist:
    return make([1, EOS, 9], [[], [4, 40], [9, 41], [4, 7, 49], []])


def load(path: Path) -> Shortlist:
    return Shortlist.load(path, SOURCE_VOCAB, TARGET_VOCAB, EOS)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "shortlist.bin"
    example().save(path)
    return path


id_lists = st.lists(st.integers(0, TARGET_VOCAB - 1), unique=True, max_size=12).map(sorted)
shortlists = st.builds(
    make, id_lists.map(lambda ids: sorted({*ids, EOS})), st.lists(id_lists, min_size=1, max_size=SOURCE_VOCAB)
)


@pytest.mark.parametrize(("source", "candidates"), [([1, 3], [1, EOS, 4, 7, 9, 40, 49]), ([], [1, EOS, 9])])
def test_candidates_are_those_of_each_piece_plus_the_common_ones(
    source: list[int], candidates: list[int]
) -> None:
    assert example().candidates(source).tolist() == candidates


@given(shortlists, st.data())
def test_candidates_are_the_sorted_union_over_pieces_in_any_order_and_number(
    shortlist: Shortlist, data: st.DataObject
) -> None:
    """Whatever was asked for before."""
    source = data.draw(st.lists(st.integers(0, shortlist.source_vocab - 1), max_size=8))
    shuffled = data.draw(st.permutations(source + source[:2]))
    alone = [shortlist.candidates([piece]).tolist() for piece in source]

    candidates = shortlist.candidates(source)

    assert candidates.dtype == np.int64
    assert candidates.tolist() == sorted(set(shortlist.always.tolist()).union(*alone))
    assert shortlist.candidates(shuffled).tolist() == candidates.tolist()


@pytest.mark.parametrize("source", [[0, SOURCE_VOCAB], [-1]])
def test_an_id_outside_the_vocabulary_is_rejected(source: list[int]) -> None:
    with pytest.raises(ValueError, match="exceed the vocabulary of 5"):
        example().candidates(source)


@given(shortlists)
def test_a_saved_shortlist_loads_the_same(
    tmp_path_factory: pytest.TempPathFactory, shortlist: Shortlist
) -> None:
    path = tmp_path_factory.mktemp("file") / "shortlist.bin"
    shortlist.save(path)
    loaded = Shortlist.load(path, shortlist.source_vocab, TARGET_VOCAB, EOS)
    for name in ("always", "offsets", "listed"):
        assert np.array_equal(getattr(loaded, name), getattr(shortlist, name))


@pytest.mark.parametrize(("target_vocab", "id_bytes"), [(65_536, 2), (65_537, 4)])
def test_the_highest_target_id_can_be_stored(tmp_path: Path, target_vocab: int, id_bytes: int) -> None:
    path = tmp_path / "shortlist.bin"
    make([EOS], [[target_vocab - 1]], target_vocab).save(path)
    assert path.stat().st_size == HEADER_BYTES + 2 * 4 + 2 * id_bytes
    loaded = Shortlist.load(path, 1, target_vocab, EOS)
    assert loaded.candidates([0]).tolist() == [EOS, target_vocab - 1]


WRONG_LENGTH = "bytes, but its header says"


def header(num_always: int, num_listed: int) -> bytes:
    return MAGIC + COUNTS.pack(SOURCE_VOCAB, TARGET_VOCAB, num_always, num_listed)


def raw(offsets: list[int], always: list[int], listed: list[int]) -> bytes:
    parts = (np.array(offsets, "<u4"), np.array(always, "<u2"), np.array(listed, "<u2"))
    return header(len(always), len(listed)) + b"".join(part.tobytes() for part in parts)


DAMAGES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda _: b"", "not a shortlist"),
    "cut in the header": (lambda content: content[: HEADER_BYTES - 1], "not a shortlist"),
    "another format": (lambda content: b"PK" + content[2:], "not a shortlist"),
    "cut at the end": (lambda content: content[:-1], WRONG_LENGTH),
    "too long": (lambda content: content + b"\0", WRONG_LENGTH),
    "lies about its length": (
        lambda content: header(2**32 - 1, 2**32 - 1) + content[HEADER_BYTES:],
        WRONG_LENGTH,
    ),
    "listed id too high": (lambda _: raw([0, 1, 1, 1, 1, 1], [3], [50]), "listed holds ids 50 to 50"),
    "always id too high": (lambda _: raw([0] * 6, [3, 50], []), "always holds ids 3 to 50"),
    "offsets go back": (lambda _: raw([0, 2, 1, 2, 2, 2], [3], [4, 5]), "offsets do not ascend"),
    "offsets begin late": (lambda _: raw([1, 2, 2, 2, 2, 2], [3], [4, 5]), "offsets do not run from 0"),
    "offsets end early": (lambda _: raw([0, 1, 1, 1, 1, 1], [3], [4, 5]), "offsets do not run from 0"),
    "offsets overshoot": (lambda _: raw([0, 9, 2, 2, 2, 2], [3], [4, 5]), "offsets do not ascend"),
    "list repeats": (lambda _: raw([0, 2, 2, 2, 2, 2], [3], [4, 4]), "a piece's ids do not ascend"),
    "always descends": (lambda _: raw([0] * 6, [5, 3], []), "always: ids do not ascend"),
    "no end of sentence": (lambda _: raw([0] * 6, [4], []), r"end of sentence \(id 3\)"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_shortlist_is_rejected_by_name_with_the_problem(file: Path, name: str) -> None:
    damage, problem = DAMAGES[name]
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(BundleError, match=rf"shortlist\.bin: .*{problem}"):
        load(file)


def test_a_file_that_is_missing_or_for_other_vocabularies_is_rejected_by_name(file: Path) -> None:
    with pytest.raises(BundleError, match=r"of 5 and 50 pieces, but the bundle's have 6 and 50"):
        Shortlist.load(file, SOURCE_VOCAB + 1, TARGET_VOCAB, EOS)
    file.unlink()
    with pytest.raises(BundleError, match=r"shortlist\.bin cannot be read"):
        load(file)


@given(st.data())
def test_any_damage_gives_a_shortlist_or_a_bundle_error(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("file") / "shortlist.bin"
    example().save(path)
    content = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    try:
        shortlist = load(path)
    except BundleError:
        return
    candidates = shortlist.candidates(range(SOURCE_VOCAB))
    assert EOS in candidates
    assert candidates.max() < TARGET_VOCAB


PAIRS = TINY / "pairs.tsv"


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return copytree(TINY / "bundle-int8", tmp_path / "tiny")


def everything(shortlist_bundle: Path) -> Shortlist:
    """All pieces but padding and the beginning, always."""
    vocabularies = read_vocabularies(read_bundle(shortlist_bundle))
    always = [piece for piece in range(vocabularies.target_size) if piece not in vocabularies.never]
    return Shortlist.of(
        np.array(always), np.zeros(vocabularies.source_size + 1, np.int64), np.empty(0, np.int64), 360
    )


def test_the_command_adds_a_shortlist_that_covers_the_models_output(
    bundle: Path, tmp_path: Path, run_main: RunMain
) -> None:
    held_out = tmp_path / "held-out.de"
    lines = [line.split("\t")[0] for line in PAIRS.read_text(encoding="utf8").splitlines()]
    held_out.write_text("\n".join(lines), encoding="utf8")

    done = run_main(shortlist.main, bundle, "--pairs", PAIRS, "--held-out", held_out, "--min-tokens", "1")

    assert done.status == 0

    manifest = open_bundle(bundle).manifest
    sizes, eos_id = manifest.sizes, manifest.special_ids.eos
    Shortlist.load(bundle / SHORTLIST_FILE, sizes.source_vocab, sizes.target_vocab, eos_id)
    facts = manifest.origin[ORIGIN_FIELD]
    assert facts["pairs"] == len(lines)
    assert facts["coverage"]["token_share"] > 0.9
    assert [path.name for path in bundle.parent.glob(".tiny*")] == []


@pytest.mark.parametrize(
    ("name", "arguments", "status", "problem"),
    [
        ("int8", ["--pairs", "nowhere.tsv"], 1, "nowhere.tsv"),
        ("int8", ["--pairs", PAIRS, "--num-always", "0"], 2, "num_always is 0"),
        ("int8", [], 2, "0 pairs to learn from"),
        ("fp32", ["--pairs", PAIRS], 1, "this bundle is fp32, but shortlists need int8"),
    ],
)
def test_a_rejected_shortlist_leaves_the_bundle_unchanged(
    tmp_path: Path, run_main: RunMain, name: str, arguments: list[str | Path], status: int, problem: str
) -> None:
    bundle = copytree(TINY / f"bundle-{name}", tmp_path / "tiny")
    before = {path.name: path.read_bytes() for path in bundle.iterdir()}

    done = run_main(shortlist.main, bundle, *arguments)

    assert done.status == status
    assert problem in done.errors
    assert {path.name: path.read_bytes() for path in bundle.iterdir()} == before
    assert [path.name for path in bundle.parent.iterdir()] == [bundle.name]


def test_a_shortlist_is_listed_in_the_manifest_and_can_be_removed(bundle: Path, tmp_path: Path) -> None:
    before = json.loads((bundle / "manifest.json").read_text(encoding="utf8"))
    write_shortlist(bundle, everything(bundle), {"num_always": 7})
    written = read_bundle(bundle)
    assert verify_files(written) == []
    assert SHORTLIST_FILE in written.manifest.files
    assert written.manifest.origin[ORIGIN_FIELD] == {"num_always": 7}
    copy_without_shortlist(bundle, tmp_path / "copy")
    assert not (tmp_path / "copy" / SHORTLIST_FILE).exists()
    assert json.loads((tmp_path / "copy" / "manifest.json").read_text(encoding="utf8")) == before
    assert (bundle / SHORTLIST_FILE).exists()


def test_the_vocabulary_of_the_tiny_bundle_is_read(bundle: Path) -> None:
    vocabularies = read_vocabularies(read_bundle(bundle))
    ids = read_bundle(bundle).manifest.special_ids
    (target,) = read_bundle(bundle).manifest.languages.targets.values()
    assert vocabularies.is_shared
    assert len(vocabularies.bytes) == 256
    assert set(vocabularies.never) == {ids.pad, *target.begin}
    assert {ids.eos, ids.unk} < set(vocabularies.spelling)


LIMITS = ("--max-source-tokens", "48", "--max-target-tokens", "64")


@pytest.fixture
def calibration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A sentence to calibrate on; what comes of it is not validated, which takes long."""
    monkeypatch.setattr("export.run.validate_in_fresh_process", lambda *_, **__: ValidationReport())
    path = tmp_path / "calibration.txt"
    path.write_text("Guten Morgen!\n", encoding="utf8")
    return path


def test_an_export_copies_the_shortlist_of_another_bundle_with_its_record(
    bundle: Path, tmp_path: Path, calibration: Path, run_main: RunMain
) -> None:
    """And rejects one that has none."""
    new, options = tmp_path / "new", ("--calibration", calibration, "--shortlist-of", bundle)
    command = (export.main, TINY / "checkpoint", new, *options, *LIMITS)

    rejected = run_main(*command)
    assert rejected.status == 1
    assert f"bundle {bundle}: has no shortlist.bin" in rejected.errors
    assert not new.exists()

    write_shortlist(bundle, everything(bundle), {"pairs": 12})
    assert run_main(*command).status == 0
    assert (new / SHORTLIST_FILE).read_bytes() == (bundle / SHORTLIST_FILE).read_bytes()
    assert open_bundle(new).manifest.origin[ORIGIN_FIELD] == {"pairs": 12}
