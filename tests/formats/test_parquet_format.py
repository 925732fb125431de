"""Parquet: rows, schema, metadata, groups of rows and compression stay."""

import gc
import io
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.formats import parquet
from service.formats.entries import Entry, FileFormatError, FileOptions
from service.formats.parquet import ParquetFormat

TEXTS = ["Hallo", None, " ", "Grüße", "", "Hallo", "a\nb", "Ende"]


def of(*columns: str) -> ParquetFormat:
    return ParquetFormat(FileOptions("de", "en", columns))


def read(content: bytes, *columns: str) -> list[Entry]:
    return list(of(*columns).read(io.BytesIO(content)))


def written(content: bytes, texts: list[str], *columns: str) -> bytes:
    target = io.BytesIO()
    of(*columns).write(io.BytesIO(content), iter(texts), target)
    return target.getvalue()


def stored(table: Any, **options: Any) -> bytes:
    target = io.BytesIO()
    pq.write_table(table, target, **options)
    return target.getvalue()


def table_of(content: bytes) -> Any:
    return pq.read_table(io.BytesIO(content))


def rich_table() -> Any:
    schema = pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False, metadata={b"about": b"key"}),
            pa.field("text", pa.string()),
            pa.field("kind", pa.dictionary(pa.int32(), pa.string())),
            pa.field("when", pa.timestamp("us", "UTC")),
            pa.field("more", pa.struct([("s", pa.string()), ("l", pa.list_(pa.float32()))])),
        ],
        metadata={b"maker": b"a test"},
    )
    rows = [
        {
            "id": i,
            "text": text,
            "kind": "neu" if i % 2 else "alt",
            "when": datetime(2026, 1, 1 + i, tzinfo=UTC),
            "more": {"s": "q", "l": [0.5] * i},
        }
        for i, text in enumerate(TEXTS)
    ]
    return pa.Table.from_pylist(rows, schema)


def test_strings_are_entries_row_by_row_and_nulls_and_blanks_are_none() -> None:
    assert read(stored(rich_table(), row_group_size=3), "kind", "text")[:5] == [
        Entry("Hallo", "row 1, column text"),
        Entry("alt", "row 1, column kind"),
        Entry("neu", "row 2, column kind"),
        Entry("alt", "row 3, column kind"),
        Entry("Grüße", "row 4, column text"),
    ]


def test_all_but_the_texts_stays() -> None:
    content = stored(
        rich_table(),
        row_group_size=3,
        compression={"id": "ZSTD", "text": "GZIP", "kind": "NONE", "when": "SNAPPY", "more.s": "BROTLI"},
        use_dictionary=["kind"],
        write_statistics=["id", "text"],
    )

    result = written(content, [entry.text.upper() for entry in read(content, "text", "kind")], "text", "kind")

    assert table_of(result).to_pylist() == [
        {**row, "text": row["text"] and row["text"].upper(), "kind": row["kind"].upper()}
        for row in rich_table().to_pylist()
    ]
    assert table_of(result).schema.equals(table_of(content).schema, check_metadata=True)
    before, after = (pq.ParquetFile(io.BytesIO(each)).metadata for each in (content, result))
    assert after.num_row_groups == before.num_row_groups == 3
    for group in range(3):
        assert after.row_group(group).num_rows == before.row_group(group).num_rows
        for i in range(before.num_columns):
            old, new = before.row_group(group).column(i), after.row_group(group).column(i)
            for name in ("path_in_schema", "compression", "is_stats_set", "has_dictionary_page"):
                assert getattr(new, name) == getattr(old, name), (name, old.path_in_schema)


@given(
    texts=st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=5), max_size=12),
    kind=st.sampled_from(["string", "large_string", "string_view", "dictionary"]),
    rows_per_group=st.integers(1, 5),
)
def test_with_their_own_texts_tables_come_back(
    texts: list[str | None], kind: str, rows_per_group: int
) -> None:
    types = {
        "string": pa.string(),
        "large_string": pa.large_string(),
        "string_view": pa.string_view(),
        "dictionary": pa.dictionary(pa.int32(), pa.string()),
    }
    table = pa.table({"text": pa.array(texts, types[kind]), "n": range(len(texts))})
    content = stored(table, row_group_size=rows_per_group)

    entries = read(content)
    result = written(content, [entry.text for entry in entries])

    assert [entry.text for entry in entries] == [text for text in texts if text and not text.isspace()]
    assert table_of(result).to_pylist() == table.to_pylist()
    assert table_of(result).schema.equals(table_of(content).schema, check_metadata=True)
    assert written(content, [entry.text for entry in entries]) == result


def test_batches_do_not_part_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "BATCH_ROWS", 2)
    content = stored(rich_table(), row_group_size=5)

    result = written(content, [entry.text for entry in read(content, "text", "kind")], "text", "kind")

    assert table_of(result).to_pylist() == rich_table().to_pylist()
    assert pq.ParquetFile(io.BytesIO(result)).metadata.row_group(0).num_rows == 5


def test_an_order_that_no_longer_holds_is_not_declared() -> None:
    table = pa.table({"id": [1, 2], "text": ["a", "b"]})
    content = stored(table, sorting_columns=[pq.SortingColumn(1)])
    by_id = stored(table, sorting_columns=[pq.SortingColumn(0)])

    def sorting(result: bytes) -> Any:
        return pq.ParquetFile(io.BytesIO(result)).metadata.row_group(0).sorting_columns

    assert sorting(written(content, ["z", "y"])) == ()
    assert sorting(written(by_id, ["z", "y"])) == (pq.SortingColumn(0),)


def test_old_timestamps_and_files_without_arrows_schema_stay_so() -> None:
    table = pa.table({"text": ["a"], "when": pa.array([1], pa.timestamp("ns"))})
    content = stored(table, use_deprecated_int96_timestamps=True, store_schema=False, version="1.0")

    metadata = pq.ParquetFile(io.BytesIO(written(content, ["b"]))).metadata

    assert metadata.row_group(0).column(1).physical_type == "INT96"
    assert metadata.format_version == "1.0"
    assert metadata.metadata is None


@pytest.mark.parametrize("is_compliant", [True, False])
def test_parts_of_lists_keep_their_names(*, is_compliant: bool) -> None:
    table = pa.table({"text": ["a"], "tags": [["x"]]})
    content = stored(table, use_compliant_nested_type=is_compliant, compression={"text": "GZIP"})

    before, after = (
        pq.ParquetFile(io.BytesIO(each)).metadata.row_group(0).column(1)
        for each in (content, written(content, ["b"]))
    )

    assert after.path_in_schema == before.path_in_schema
    assert after.compression == before.compression


def test_a_file_without_rows_comes_back() -> None:
    content = stored(rich_table().slice(0, 0))

    assert read(content) == []
    assert table_of(written(content, [])).equals(table_of(content))


def test_a_column_may_have_a_dot_in_its_name() -> None:
    content = stored(pa.table({"a.b": ["x"], "a": [{"b": 1}]}))

    assert read(content, "a.b") == [Entry("x", "row 1, column a.b")]
    assert table_of(written(content, ["y"], "a.b")).to_pylist() == [{"a.b": "y", "a": {"b": 1}}]


class Flow(io.RawIOBase):
    """Takes what is written and cannot be sought in."""

    def __init__(self) -> None:
        super().__init__()
        self.content = b""

    def writable(self) -> bool:
        return True

    def write(self, chunk: Any, /) -> int:
        self.content += bytes(chunk)
        return len(chunk)


def test_a_target_need_not_be_seekable_and_both_files_stay_open() -> None:
    content = stored(rich_table())
    flow = Flow()

    source = io.BytesIO(content)
    texts = [entry.text for entry in of().read(source)]

    of().write(source, iter(texts), flow)  # type: ignore[arg-type]

    gc.collect()
    assert not flow.closed
    assert not source.closed
    assert table_of(flow.content).equals(table_of(content))


def test_a_full_disk_is_no_problem_of_the_file() -> None:
    class Full(Flow):
        def write(self, chunk: Any, /) -> int:  # noqa: ARG002 -- there is room for nothing
            raise OSError(28, "No space left on device")

    content = stored(rich_table())
    with pytest.raises(OSError, match="No space left"):
        of().write(io.BytesIO(content), iter(entry.text for entry in read(content)), Full())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("table", "columns", "problem"),
    [
        ({"body": ["a"], "id": [1]}, (), "no column is named text; choose from: body, id$"),
        ({"text": [1]}, (), "column text has type int64; choose columns of strings"),
        ({"text": [["a"]]}, (), r"column text has type list<.*>; choose columns of strings"),
        ({"text": ["a"]}, ("text", "body"), "no column is named body; .*: text$"),
    ],
)
def test_columns_that_cannot_be_translated_are_refused(
    table: dict[str, list[Any]], columns: tuple[str, ...], problem: str
) -> None:
    with pytest.raises(FileFormatError, match=f"^{problem}"):
        read(stored(pa.table(table)), *columns)


def test_categories_with_an_order_are_refused() -> None:
    ordered = pa.DictionaryArray.from_arrays([0, 1], ["klein", "groß"], ordered=True)

    with pytest.raises(FileFormatError, match=r"^the categories of column text are ordered"):
        read(stored(pa.table({"text": ordered})))


def damaged(content: bytes) -> bytes:
    return content[:8] + bytes(len(content) // 2) + content[8 + len(content) // 2 :]


@pytest.mark.parametrize("kind", ["empty", "other", "cut", "damaged"])
def test_what_is_no_parquet_is_refused(kind: str) -> None:
    content = stored(pa.table({"text": [f"Satz {i}" for i in range(2000)]}))
    bad = {"empty": b"", "other": b"PK" * 50, "cut": content[:-20], "damaged": damaged(content)}[kind]

    with pytest.raises(FileFormatError, match=r"^(it|row group 1) cannot be read as Parquet: "):
        read(bad)
    with pytest.raises(FileFormatError, match=r"^(it|row group 1) cannot be read as Parquet: "):
        written(bad, ["x"] * 2000)


def test_a_group_that_memory_would_not_hold_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "MAX_GROUP_BYTES", 10_000)
    content = stored(pa.table({"text": ["a" * 100] * 1000}), row_group_size=500)

    with pytest.raises(FileFormatError, match=r"^row group 1 takes more than 10,000 bytes of memory"):
        read(content)
    assert len(content) < 10_000
    small = stored(pa.table({"text": ["a" * 100] * 1000}), row_group_size=50)
    assert len(read(small)) == 1000


def test_writing_takes_as_many_texts_as_reading_gives() -> None:
    content = stored(pa.table({"text": ["a", "b"]}))

    with pytest.raises(ValueError, match="fewer texts than entries: none for row 2, column text"):
        written(content, ["x"])
    with pytest.raises(ValueError, match="more texts than entries"):
        written(content, ["x", "y", "z"])


def test_a_translation_that_is_no_unicode_is_refused_with_its_place() -> None:
    content = stored(pa.table({"text": ["a", None, "b", "c"]}), row_group_size=2)

    with pytest.raises(
        FileFormatError, match=r"^row 4, column text: its translation cannot be written in UTF-8"
    ):
        written(content, ["x", "y", "\ud800"])
