"""Weights of our model from CTranslate2's variables, and the tables, which often are one variable."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from export.ctranslate2.binary import SCALE_SUFFIX, ModelFile
from export.ctranslate2.layout import ModelLayout
from export.ctranslate2.values import QuantisedRows, Table, WithZeroRow, take_rows
from export.model_config import ModelConfig
from export.model_weights import (
    OUTPUT_BIAS,
    OUTPUT_TABLE,
    POSITIONS,
    SOURCE_TABLE,
    TARGET_POSITIONS,
    TARGET_TABLE,
    Floats,
    weight_shapes,
)
from export.positions import float32_table
from export.tensors.tensor import ReadableTensor, StoredTensor, TensorFileError
from export.weight_names import WeightSource, weight_sources

SOURCE_TABLES = ("encoder/embeddings_0/weight", "encoder/embeddings/weight")
"""Names of the source's table, in newer layouts and in older ones."""
DECODER_TABLE = "decoder/embeddings/weight"
PROJECTION, PROJECTION_BIAS = "decoder/projection/weight", "decoder/projection/bias"
STORED_POSITIONS = {
    POSITIONS: "encoder/position_encodings/encodings",
    TARGET_POSITIONS: "decoder/position_encodings/encodings",
}
OPTIONAL_SUFFIX = "/bias"
"""Suffix of variables that are zeros if they are missing."""
MAX_POSITIONS = 1024
"""Maximum number of positions of a model; a segment has a few hundred, tables of OpenNMT-py 5,000."""

Weight = ReadableTensor | Floats


@dataclass(frozen=True, slots=True)
class Tables:
    """The three tables, and which of them are one."""

    source: Table
    target: Table
    output: Table

    @property
    def is_shared(self) -> bool:
        """Return whether source and target have the same table."""
        return _are_equal(self.source, self.target)

    @property
    def is_tied(self) -> bool:
        """Return whether the target's table is also the output projection."""
        return _are_equal(self.target, self.output)


def source_table_name(file: ModelFile) -> str:
    """Return the name of the source's table, whether it exists or not."""
    return next((name for name in SOURCE_TABLES if name in file.variables), SOURCE_TABLES[0])


def read_tables(file: ModelFile, problems: list[str]) -> Tables | None:
    """Return the tables; None, with problems added, if they are missing or damaged."""
    found: list[Table] = []
    for name in (source_table_name(file), DECODER_TABLE, PROJECTION):
        variable = file.variables.get(name)
        if variable is None:
            problems.append(f"{name} is missing")
        elif len(variable.shape) != 2 or not variable.num_elements:  # noqa: PLR2004 -- a matrix
            problems.append(f"{name} has shape {list(variable.shape)}; a table has tokens and a width")
        else:
            try:
                found.append(take_rows(variable, file.variables.get(name + SCALE_SUFFIX), 0, 1))
            except TensorFileError as error:
                problems.append(f"{name} {error}")
    if len(found) < 3:  # noqa: PLR2004 -- source, target, output
        return None
    source, target, output = found
    if output.shape != target.shape or source.shape[1] != target.shape[1]:
        problems.append(
            f"{source_table_name(file)} {list(source.shape)}, {DECODER_TABLE} {list(target.shape)} and "
            f"{PROJECTION} {list(output.shape)} do not fit: one width, and as many target tokens twice"
        )
        return None
    return Tables(source, target, output)


def place_weights(
    file: ModelFile, layout: ModelLayout, config: ModelConfig, tables: Tables, problems: list[str]
) -> tuple[dict[str, Weight], set[str]]:
    """Return our weights, and the names of the variables that they come from.

    Args:
        file: the file.
        layout: its attributes.
        config: shape of the model; with a row more than the file if a vector of zeros starts a target.
        tables: its tables.
        problems: variables that are missing or of another shape are added here.
    """
    sources = list(weight_sources("ctranslate2", weight_shapes(config)))
    weights: dict[str, Weight] = {}
    for source in sources:
        try:
            weights[source.ours] = _read_weight(file, source)
        except TensorFileError as error:
            problems.append(f"{source.theirs} {error}")
    weights |= _place_tables(layout, config, tables)
    weights[OUTPUT_BIAS] = _output_bias(file, layout, config, problems)
    if layout.has_stored_positions:
        weights |= _place_positions(file, config)
    else:
        weights[POSITIONS] = float32_table(config)
    names = {source.theirs for source in sources} | {source_table_name(file), DECODER_TABLE, PROJECTION}
    return weights, names | {PROJECTION_BIAS, *STORED_POSITIONS.values()}


def stored_positions(file: ModelFile, width: int, problems: list[str]) -> tuple[int, bool]:
    """Return the number of stored positions that are used, and whether encoder and decoder share them."""
    both = [file.variables[name] for name in STORED_POSITIONS.values()]
    problems += [
        f"{name} is {variable.dtype} {list(variable.shape)}; floats for a width of {width} are needed"
        for name, variable in zip(STORED_POSITIONS.values(), both, strict=True)
        if len(variable.shape) != 2 or variable.shape[1] != width or not variable.is_float  # noqa: PLR2004
    ]
    num_positions = min(MAX_POSITIONS, *(variable.shape[0] if variable.shape else 0 for variable in both))
    if problems:
        return num_positions, True
    tables = [_first_rows(variable, num_positions) for variable in both]
    return num_positions, _are_equal(*tables)


def _read_weight(file: ModelFile, source: WeightSource) -> Weight:
    variable = file.variables.get(source.theirs)
    if variable is None and source.theirs.endswith(OPTIONAL_SUFFIX):
        return np.zeros(source.shape, np.float32)
    if variable is None:
        raise TensorFileError("is missing")
    expected = (source.num_parts * source.shape[0], *source.shape[1:])
    if variable.shape != expected:
        raise TensorFileError(f"has shape {list(variable.shape)}, the other sizes need {list(expected)}")
    scales = file.variables.get(source.theirs + SCALE_SUFFIX)
    return take_rows(variable, scales, source.part, source.num_parts)


def _place_tables(layout: ModelLayout, config: ModelConfig, tables: Tables) -> Mapping[str, Weight]:
    tables_by_name = {SOURCE_TABLE: tables.source}
    if not config.shared_vocab:
        tables_by_name[TARGET_TABLE] = tables.target
    if not config.tied_output:
        tables_by_name[OUTPUT_TABLE] = tables.output
    if not layout.starts_from_zero:
        return dict(tables_by_name)
    return {
        name: WithZeroRow(table) if name != SOURCE_TABLE or config.shared_vocab else table
        for name, table in tables_by_name.items()
    }


def _output_bias(file: ModelFile, layout: ModelLayout, config: ModelConfig, problems: list[str]) -> Floats:
    """Return the bias of every token; the row that starts a target is never produced."""
    bias = np.zeros(config.target_vocab_size, np.float32)
    num_tokens = config.target_vocab_size - layout.starts_from_zero
    stored = file.variables.get(PROJECTION_BIAS)
    if stored is not None and (stored.shape != (num_tokens,) or not stored.is_float):
        problems.append(
            f"{PROJECTION_BIAS} is {stored.dtype} {list(stored.shape)}; {num_tokens} floats are needed"
        )
    elif stored is not None:
        bias[:num_tokens] = stored.read()
    bias[num_tokens:] = -math.inf
    return bias


def _place_positions(file: ModelFile, config: ModelConfig) -> Mapping[str, Weight]:
    names = [POSITIONS] if config.shared_positions else list(STORED_POSITIONS)
    return {name: _first_rows(file.variables[STORED_POSITIONS[name]], config.max_positions) for name in names}


def _first_rows(variable: StoredTensor, num_rows: int) -> StoredTensor:
    return replace(variable, shape=(num_rows, *variable.shape[1:]))


def _are_equal(one: Table, other: Table) -> bool:
    """Return whether two tables are one tensor in the file, or have the same content."""
    if one == other:
        return True
    if isinstance(one, QuantisedRows) and isinstance(other, QuantisedRows):
        return one.scales == other.scales and np.array_equal(one.integers(), other.integers())
    return one.shape == other.shape and np.array_equal(one.read(), other.read())
