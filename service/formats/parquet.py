"""Apache Parquet (https://parquet.apache.org): tables of typed columns in row groups.

The output has the rows, schema, metadata, row groups and column compression of the input. Details that say
nothing about the data follow Arrow's defaults: pages, compression levels, encodings other than dictionaries,
bloom filters.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from service.formats.entries import Entry, FileFormatError, FileOptions, TargetText
from service.formats.parts import end, surrogate_error

DEFAULT_COLUMN = "text"
BATCH_ROWS = 1000
MAX_GROUP_BYTES = 2**30
"""Maximum size of a row group in memory; only one is in memory at a time."""

_VERSIONS = {"1.0", "2.4", "2.6"}
_ARROW_SCHEMA = b"ARROW:schema"
_MAX_SHOWN = 400


class ParquetFormat:
    """A table: the strings of some columns are entries, unless null or blank.

    The default is the column `text`. Memory use is that of the largest row group.
    """

    def __init__(self, options: FileOptions) -> None:
        """Store the columns, `options.columns`: strings of any Arrow type, or dictionaries of these."""
        self._columns = options.columns or (DEFAULT_COLUMN,)

    def read(self, source: BinaryIO) -> Iterator[Entry]:
        """See `FileFormat`."""
        with _parquet_errors("it"):
            file = pq.ParquetFile(source)
        columns = self._select_columns(file)
        row = 0
        for group in range(file.num_row_groups):
            for batch in _batches(file, group, columns):
                for values in zip(*_strings(batch, columns, group), strict=True):
                    row += 1
                    for column, value in zip(columns, values, strict=True):
                        if _is_entry(value):
                            yield Entry(value, _location(row, column))

    def write(self, source: BinaryIO, texts: Iterator[TargetText], target: BinaryIO) -> None:
        """See `FileFormat`."""
        with _parquet_errors("it"):
            file = pq.ParquetFile(source)
        columns = self._select_columns(file)
        row = 1
        with _open_writer(file, columns, target) as writer:
            for group in range(file.num_row_groups):
                table = _translate_group(file, group, columns, texts, row)
                writer.write_table(table, row_group_size=max(table.num_rows, 1))
                row += table.num_rows
        end(texts)

    def _select_columns(self, file: Any) -> tuple[str, ...]:
        """Check the columns and return them in file order."""
        names = file.schema_arrow.names
        for column in self._columns:
            if names.count(column) != 1:
                problem = "no column" if column not in names else "more than one column"
                raise FileFormatError(
                    f"{problem} is named {column}; choose from: {', '.join(names)[:_MAX_SHOWN]}"
                )
            kind = file.schema_arrow.field(column).type
            if not _holds_strings(kind):
                raise FileFormatError(f"column {column} has type {kind}; choose columns of strings")
            if pa.types.is_dictionary(kind) and kind.ordered:
                raise FileFormatError(
                    f"the categories of column {column} are ordered, which is not "
                    "supported; make it a column of strings"
                )
        return tuple(name for name in names if name in self._columns)


@dataclass(slots=True)
class _GroupSize:
    """Memory use of a row group so far."""

    group: int
    size_bytes: int = 0

    def add(self, size_bytes: int) -> None:
        self.size_bytes += size_bytes
        if self.size_bytes > MAX_GROUP_BYTES:
            raise FileFormatError(
                f"row group {self.group + 1} takes more than {MAX_GROUP_BYTES:,} bytes of memory; write the "
                "file with smaller groups"
            )


def _batches(file: Any, group: int, columns: Sequence[str] | None = None) -> Iterator[Any]:
    """Yield the rows of a group, `BATCH_ROWS` at a time."""
    size = _GroupSize(group)
    with _parquet_errors(f"row group {group + 1}"):
        batches = file.iter_batches(batch_size=BATCH_ROWS, row_groups=[group], columns=columns)
    while True:
        with _parquet_errors(f"row group {group + 1}"):
            batch = next(batches, None)
        if batch is None:
            return
        size.add(batch.nbytes)
        yield batch


def _translate_group(
    file: Any, group: int, columns: Sequence[str], texts: Iterator[TargetText], first_row: int
) -> Any:
    """Return a row group with texts in place of its entries."""
    batches = []
    chunks: dict[str, list[Any]] = {column: [] for column in columns}
    row = first_row
    size = _GroupSize(group)
    for batch in _batches(file, group):
        batches.append(batch)
        rows = [list(values) for values in zip(*_strings(batch, columns, group), strict=True)]
        for values in rows:
            _fill_row(values, columns, texts, row)
            row += 1
        for column, cells in zip(columns, zip(*rows, strict=True), strict=False):
            chunks[column].append(pa.array(cells, _value_type(file.schema_arrow.field(column).type)))
            size.add(chunks[column][-1].nbytes)
    table = pa.Table.from_batches(batches, file.schema_arrow)
    for column in columns:
        field = file.schema_arrow.field(column)
        written = pa.chunked_array(chunks[column], _value_type(field.type))
        if pa.types.is_dictionary(field.type):
            written = written.dictionary_encode().cast(field.type)
        table = table.set_column(table.schema.get_field_index(column), field, written)
    return table.unify_dictionaries()


def _fill_row(
    values: list[str | None], columns: Sequence[str], texts: Iterator[TargetText], row: int
) -> None:
    """Replace the entries of a row by texts."""
    for i, column in enumerate(columns):
        if not _is_entry(values[i]):
            continue
        text = next(texts, None)
        if text is None:
            raise ValueError(f"fewer texts than entries: none for {_location(row, column)}")
        try:
            values[i] = text.text
            text.text.encode()
        except UnicodeEncodeError as error:
            raise surrogate_error(_location(row, column), error) from error


def _open_writer(file: Any, columns: Sequence[str], target: BinaryIO) -> Any:
    """Return a writer with the settings that the file was written with."""
    metadata = file.metadata
    written = metadata.row_group(0) if metadata.num_row_groups else None
    with _parquet_errors("its metadata"):
        columns_written = [written.column(i) for i in range(metadata.num_columns)] if written else []
        chunks = [(chunk.path_in_schema, chunk) for chunk in columns_written]
    sorting = written.sorting_columns if written else ()
    changes_order = any(chunks[order.column_index][0] in columns for order in sorting)
    is_known = metadata.format_version in _VERSIONS
    return pq.ParquetWriter(
        target,
        file.schema_arrow,
        version=metadata.format_version if is_known else "2.6",
        compression=_one_or_each({path: _codec(chunk) for path, chunk in chunks}, "snappy"),
        use_dictionary=_all_or_names({path: chunk.has_dictionary_page for path, chunk in chunks}),
        write_statistics=_all_or_names({path: chunk.is_stats_set for path, chunk in chunks}),
        use_deprecated_int96_timestamps=any(chunk.physical_type == "INT96" for _, chunk in chunks),
        use_compliant_nested_type=not any(".list.item" in path for path, _ in chunks),
        store_schema=_ARROW_SCHEMA in (metadata.metadata or {}),
        sorting_columns=None if changes_order or not sorting else sorting,
    )


def _codec(chunk: Any) -> str:
    return "none" if chunk.compression == "UNCOMPRESSED" else str(chunk.compression).lower()


def _one_or_each(of_columns: dict[str, str], default: str) -> str | dict[str, str]:
    """Return one value for all columns if possible: Arrow may name parts of nested columns differently."""
    different = set(of_columns.values()) or {default}
    return different.pop() if len(different) == 1 else of_columns


def _all_or_names(of_columns: dict[str, bool]) -> bool | list[str]:
    if all(of_columns.values()):
        return True
    return [name for name, is_so in of_columns.items() if is_so] or False


def _strings(batch: Any, columns: Sequence[str], group: int) -> list[list[str | None]]:
    with _parquet_errors(f"row group {group + 1}"):
        return [batch.column(column).to_pylist() for column in columns]


@contextmanager
def _parquet_errors(name: str) -> Iterator[None]:
    try:
        yield
    except FileFormatError:
        raise  # from the compressed file around this one
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise FileFormatError(f"{name} cannot be read as Parquet: {error}") from error


def _holds_strings(kind: Any) -> bool:
    kind = _value_type(kind)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _value_type(kind: Any) -> Any:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _is_entry(value: str | None) -> bool:
    return bool(value) and not str(value).isspace()


def _location(row: int, column: str) -> str:
    return f"row {row}, column {column}"
