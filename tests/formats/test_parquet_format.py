"""Parquet: rows, schema, metadata, groups of rows and compression stay."""

import gc
import io
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.formats import parquet
from service.formats.entries import Entry, FileFormatError, FileOptions
from service.formats.parquet import ParquetFormat
from tests.formats.rewriting import entries, own, places, rewritten, texts, written

TEXTS = ["Hallo", None, " ", "Grüße", "", "Hallo", "a\nb", "Ende"]
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False, metadata={b"about": b"key"}),
        pa.field("text", pa.string()),
        pa.field("kind", pa.dictionary(pa.int32(), pa.string())),
        pa.field("when", pa.timestamp("us", "UTC")),
        pa.field("more", pa.struct([("s", pa.string()), ("l", pa.list_(pa.float32()))])),
    ],
    metadata={b"maker": b"a test"},
)
RICH = pa.Table.from_pydict(
    {
        "id": range(8),
        "text": TEXTS,
        "kind": ["alt", "neu"] * 4,
        "when": [datetime(2026, 1, 1 + i, tzinfo=UTC) for i in range(8)],
        "more": [{"s": "q", "l": [0.5] * i} for i in range(8)],
    },
    SCHEMA,
)


def of(*columns: str) -> ParquetFormat:
    return ParquetFormat(FileOptions("de", "en", columns))


def stored(table: Any, **options: Any) -> bytes:
    target = io.BytesIO()
    pq.write_table(table, target, **options)
    return target.getvalue()


def table_of(content: bytes) -> Any:
    return pq.read_table(io.BytesIO(content))


def metadata_of(content: bytes) -> Any:
    return pq.ParquetFile(io.BytesIO(content)).metadata


def test_strings_are_entries_row_by_row_and_nulls_and_blanks_are_none() -> None:
    assert places(of("kind", "text"), stored(RICH, row_group_size=3))[:5] == [
        ("Hallo", "row 1, column text"),
        ("alt", "row 1, column kind"),
        ("neu", "row 2, column kind"),
        ("alt", "row 3, column kind"),
        ("Grüße", "row 4, column text"),
    ]


def test_all_but_the_texts_stays_and_batches_do_not_part_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "BATCH_ROWS", 2)
    content = stored(
        RICH,
        row_group_size=3,
        compression={"id": "ZSTD", "text": "GZIP", "kind": "NONE", "when": "SNAPPY", "more.s": "BROTLI"},
        use_dictionary=["kind"],
        write_statistics=["id", "text"],
    )

    result = rewritten(of("text", "kind"), content, lambda entry: entry.text.upper())

    assert table_of(result).to_pylist() == [
        {**row, "text": row["text"] and row["text"].upper(), "kind": row["kind"].upper()}
        for row in RICH.to_pylist()
    ]
    assert table_of(result).schema.equals(table_of(content).schema, check_metadata=True)

    def kept(metadata: Any) -> list[object]:
        groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
        columns = [group.column(i) for group in groups for i in range(metadata.num_columns)]
        names = ("path_in_schema", "compression", "is_stats_set", "has_dictionary_page")
        return [[group.num_rows for group in groups], [[getattr(c, name) for name in names] for c in columns]]

    assert kept(metadata_of(result)) == kept(metadata_of(content))


@given(
    strings=st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=5), max_size=12),
    kind=st.sampled_from(
        [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]
    ),
    rows_per_group=st.integers(1, 5),
)
def test_with_their_own_texts_tables_come_back(
    strings: list[str | None], kind: Any, rows_per_group: int
) -> None:
    table = pa.table({"text": pa.array(strings, kind), "n": range(len(strings))})
    content = stored(table, row_group_size=rows_per_group)

    result = rewritten(of(), content, own)

    assert texts(of(), content) == [text for text in strings if text and not text.isspace()]
    assert table_of(result).to_pylist() == table.to_pylist()
    assert table_of(result).schema.equals(table_of(content).schema, check_metadata=True)
    assert rewritten(of(), content, own) == result


def test_an_order_that_no_longer_holds_is_not_declared() -> None:
    table = pa.table({"id": [1, 2], "text": ["a", "b"]})
    for column, kept in ((1, ()), (0, (pq.SortingColumn(0),))):
        content = stored(table, sorting_columns=[pq.SortingColumn(column)])
        assert metadata_of(written(of(), content, "z", "y")).row_group(0).sorting_columns == kept


def test_old_timestamps_and_files_without_arrows_schema_stay_so() -> None:
    table = pa.table({"text": ["a"], "when": pa.array([1], pa.timestamp("ns"))})
    content = stored(table, use_deprecated_int96_timestamps=True, store_schema=False, version="1.0")

    metadata = metadata_of(written(of(), content, "b"))

    assert metadata.row_group(0).column(1).physical_type == "INT96"
    assert (metadata.format_version, metadata.metadata) == ("1.0", None)


@pytest.mark.parametrize("is_compliant", [True, False])
def test_parts_of_lists_keep_their_names(*, is_compliant: bool) -> None:
    table = pa.table({"text": ["a"], "tags": [["x"]]})
    content = stored(table, use_compliant_nested_type=is_compliant, compression={"text": "GZIP"})

    before, after = (
        metadata_of(each).row_group(0).column(1) for each in (content, written(of(), content, "b"))
    )

    assert (after.path_in_schema, after.compression) == (before.path_in_schema, before.compression)


def test_a_column_may_have_a_dot_in_its_name() -> None:
    content = stored(pa.table({"a.b": ["x"], "a": [{"b": 1}]}))

    assert entries(of("a.b"), content) == [Entry("x", "row 1, column a.b")]
    assert table_of(written(of("a.b"), content, "y")).to_pylist() == [{"a.b": "y", "a": {"b": 1}}]


class Flow(io.BytesIO):
    """Takes what is written, and cannot be sought in."""

    def seekable(self) -> bool:
        return False

    def seek(self, *_: object) -> int:
        raise io.UnsupportedOperation("seek")


def test_a_target_need_not_be_seekable_and_both_files_stay_open() -> None:
    flow, source = Flow(), io.BytesIO(stored(RICH))

    of().write(source, iter([own(entry) for entry in of().read(source)]), flow)

    gc.collect()
    assert not flow.closed
    assert not source.closed
    assert table_of(flow.getvalue()).equals(RICH)


def test_a_full_disk_is_no_problem_of_the_file() -> None:
    content = stored(RICH)
    with Path("/dev/full").open("wb", buffering=0) as full, pytest.raises(OSError, match="No space left"):
        of().write(io.BytesIO(content), map(own, entries(of(), content)), full)


@pytest.mark.parametrize(
    ("table", "columns", "problem"),
    [
        ({"body": ["a"], "id": [1]}, (), "no column is named text; choose from: body, id$"),
        ({"text": [1]}, (), "column text has type int64; choose columns of strings"),
        ({"text": [["a"]]}, (), r"column text has type list<.*>; choose columns of strings"),
        ({"text": ["a"]}, ("text", "body"), "no column is named body; .*: text$"),
        (
            {"text": pa.DictionaryArray.from_arrays([0, 1], ["klein", "groß"], ordered=True)},
            (),
            "the categories of column text are ordered",
        ),
    ],
)
def test_columns_that_cannot_be_translated_are_rejected(
    table: dict[str, list[Any]], columns: tuple[str, ...], problem: str
) -> None:
    with pytest.raises(FileFormatError, match=f"^{problem}"):
        entries(of(*columns), stored(pa.table(table)))


@pytest.mark.parametrize("kind", ["empty", "other", "cut", "damaged"])
def test_a_file_that_is_not_parquet_is_rejected(kind: str) -> None:
    content = stored(pa.table({"text": [f"Satz {i}" for i in range(2000)]}))
    damaged = content[:8] + bytes(len(content) // 2) + content[8 + len(content) // 2 :]
    bad = {"empty": b"", "other": b"PK" * 50, "cut": content[:-20], "damaged": damaged}[kind]

    problem = r"^(it|row group 1) cannot be read as Parquet: "
    with pytest.raises(FileFormatError, match=problem):
        entries(of(), bad)
    with pytest.raises(FileFormatError, match=problem):
        written(of(), bad, *["x"] * 2000)


def test_a_group_that_memory_would_not_hold_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "MAX_GROUP_BYTES", 10_000)
    large, small = (
        stored(pa.table({"text": ["a" * 100] * 1000}), row_group_size=num_rows) for num_rows in (500, 50)
    )

    assert len(large) < 10_000
    with pytest.raises(FileFormatError, match=r"^row group 1 takes more than 10,000 bytes of memory"):
        entries(of(), large)
    assert len(entries(of(), small)) == 1000
