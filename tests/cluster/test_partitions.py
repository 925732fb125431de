"""Files of partitions are whole or not there, and hold what was written."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.types import Pair
from service.batch.errors import OutputFailed, PartitionDamaged
from service.batch.texts import Outcome, TranslatedEntry, UntranslatedEntry
from service.cluster.partitions import (
    PartitionFolder,
    read_outcomes,
    read_partition,
    write_outcomes,
    write_partition,
)
from service.formats.entries import Entry
from service.markup.options import MarkupLanguage, MarkupOptions

PAIR = Pair("de", "zh-Hans")
any_text = st.text(st.characters(), max_size=12)
"""Lone surrogates too, which UTF-8 has not."""
tags = st.frozensets(st.sampled_from(["b", "p", "x:y"]))
markups = st.builds(
    MarkupOptions,
    language=st.sampled_from(MarkupLanguage),
    ignore_tags=tags,
    splitting_tags=tags,
    non_splitting_tags=tags,
    finds_outline=st.booleans(),
)
entries = st.builds(Entry, text=any_text, place=st.just(""), markup=st.none() | markups)
outcomes = st.builds(TranslatedEntry, any_text, st.booleans()) | st.builds(
    UntranslatedEntry, st.text(st.characters(codec="utf-8"))
)
keys = st.binary(min_size=16, max_size=16)


@given(st.dictionaries(keys, entries, min_size=1))
def test_entries_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, given_: dict[bytes, Entry]
) -> None:
    read = read_partition(write_partition(tmp_path_factory.mktemp("entries"), 7, PAIR, given_))

    assert read.pair == PAIR
    assert dict(zip(read.keys, read.entries, strict=True)) == given_


@given(st.dictionaries(keys, outcomes, min_size=1))
def test_outcomes_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, given_: dict[bytes, Outcome]
) -> None:
    folder = tmp_path_factory.mktemp("outcomes")

    assert read_outcomes(write_outcomes(folder, "1", list(given_), list(given_.values()))) == given_


def test_any_changed_byte_is_detected(tmp_path: Path) -> None:
    path = write_outcomes(tmp_path, "1", [b"k" * 16], [TranslatedEntry("abc")])
    content = path.read_bytes()

    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(PartitionDamaged, match=path.name):
            read_outcomes(path)
    path.write_bytes(content[:-1])
    with pytest.raises(PartitionDamaged):
        read_outcomes(path)


def test_a_failed_write_leaves_no_partial_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)

    with pytest.raises(OutputFailed, match="No space left on device"):
        write_outcomes(tmp_path, "1", [b"k"], [TranslatedEntry("abc")])
    assert list(tmp_path.iterdir()) == []


def test_whole_outcomes_of_a_run_before_outlive_preparing_and_entries_do_not(tmp_path: Path) -> None:
    folder = PartitionFolder(tmp_path / "job")
    folder.prepare()
    (folder.outcomes_path / "x.partial").write_bytes(b"begun")
    kept = write_outcomes(folder.outcomes_path, "1", [b"k"], [TranslatedEntry("abc")])
    write_partition(folder.entries_path, 1, PAIR, {b"k": Entry("a", "")})

    folder.prepare()

    assert list(folder.finished()) == [kept]
    assert list(folder.entries_path.iterdir()) == []


def test_a_run_that_is_stopped_leaves_outcomes_and_nothing_else(tmp_path: Path) -> None:
    folder = PartitionFolder(tmp_path / "out.partitions")
    folder.prepare()
    write_partition(folder.entries_path, 1, PAIR, {b"1" * 16: Entry("eins", "")})
    path = write_outcomes(folder.outcomes_path, "1", [b"1" * 16], [TranslatedEntry("one")])

    folder.leave()
    assert [each for each in folder.path.rglob("*") if each.is_file()] == [path]

    path.unlink()
    folder.leave()
    assert not folder.path.exists()
