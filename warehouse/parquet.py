"""Rows to Parquet: partition by UTC day, sort, write the same bytes for the same rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from warehouse.contracts import Contract
from warehouse.errors import StoreError
from warehouse.sqltypes import same_type

#: Rows in a row group: DuckDB's own size, which one thread reads at a time.
ROW_GROUP_ROWS = 122_880
#: A row group is handed to the writer in chunks of so many rows. Where pages end depends on them,
#: so that they must not depend on how the rows arrived.
CHUNK_ROWS = ROW_GROUP_ROWS // 8
#: Whole numbers that a file counts up: a dictionary of them would be larger than they are.
_GROWING = ("source_row", "event_no", "correlation", "external_id")
#: Keys of the file metadata.
CONTRACT_KEY, VERSION_KEY = b"plumbline.contract", b"plumbline.version"


def file_schema(contract: Contract) -> pa.Schema:
    """The contract's schema as it is written.

    Units and meanings are left out: a reworded sentence must not change a published byte.
    """
    columns = [pa.field(c.name, c.type, c.nullable) for c in contract.columns]
    kept = {CONTRACT_KEY: contract.name.encode(), VERSION_KEY: str(contract.version).encode()}
    return pa.schema(columns, kept)


def conform(rows: pa.RecordBatch, contract: Contract) -> pa.RecordBatch:
    """The rows in the contract's file schema.

    Raises StoreError where names or types differ, or where a column that may not be null is null.
    """
    schema = file_schema(contract)
    if rows.schema.names != schema.names or not all(
        same_type(found.type, expected.type)
        for found, expected in zip(rows.schema, schema, strict=True)
    ):
        found, expected = _described(rows.schema), _described(schema)
        wrong, absent = (
            [c for c in a if c not in b] for a, b in [(found, expected), (expected, found)]
        )
        raise StoreError(
            f"table {contract.name}: rows do not have the columns of contract version "
            f"{contract.version}; unexpected: {', '.join(wrong) or 'none'}; missing: "
            f"{', '.join(absent) or 'none'}; expected all of the contract's in its order. "
            "Mend what makes these rows."
        )
    for field, column in zip(schema, rows.columns, strict=True):
        if column.null_count and (not field.nullable or field.name == contract.time):
            raise StoreError(
                f"table {contract.name}, column {field.name}: {column.null_count} rows are null; "
                "expected a value in each. The reader should reject such records."
            )
    columns = [c.cast(f.type) for c, f in zip(rows.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def partitions(rows: pa.RecordBatch, contract: Contract) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The rows by UTC day of the contract's time column, as `day=2026-11-30`; else all as ''."""
    if contract.time is None or not rows.num_rows:
        yield "", rows
        return
    days = _instants(rows.column(contract.time)).cast(pa.date32(), safe=False)
    ends = pc.min_max(days)
    if ends["min"].equals(ends["max"]):
        yield f"day={ends['min'].as_py().isoformat()}", rows
        return
    indices = pc.sort_indices(days)
    rows, days = rows.take(indices), days.take(indices)
    start = 0
    for run in pc.value_counts(days):
        count = run["counts"].as_py()
        yield f"day={run['values'].as_py().isoformat()}", rows.slice(start, count)
        start += count


def span_ns(rows: pa.RecordBatch, contract: Contract) -> tuple[int | None, int | None]:
    """Least and greatest value of the contract's time column, in epoch nanoseconds."""
    if contract.time is None or not rows.num_rows:
        return None, None
    column = rows.column(contract.time)
    ends = pc.min_max(column)
    factor = 1
    if pa.types.is_timestamp(column.type):
        factor = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[column.type.unit]
    elif pa.types.is_date32(column.type):
        factor = 86_400 * 10**9
    whole = pa.int32() if pa.types.is_date32(column.type) else pa.int64()
    low, high = (ends[end].cast(whole).as_py() * factor for end in ("min", "max"))
    return low, high


def sorted_groups(rows: pa.Table, order: Sequence[str]) -> Iterator[pa.Table]:
    """The rows in order, as tables of one row group each.

    Rows that are equal in `order` are ordered by their other columns, so that the result depends on
    the rows alone, not on how they arrived. Nulls come last.
    """
    names = list(order)
    rows = rows.combine_chunks()  # take() of many chunks would join them anew for each group
    indices = pc.sort_indices(rows, [(name, "ascending") for name in names])
    if _has_ties(rows, names, indices):
        rest = [n for n in rows.column_names if n not in names]
        codes = [_codes(rows.column(name)) for name in (*names, *rest)]
        keys = pa.RecordBatch.from_arrays(codes, [str(n) for n in range(len(codes))])
        indices = pc.sort_indices(keys, [(name, "ascending") for name in keys.schema.names])
    for start in range(0, len(indices), ROW_GROUP_ROWS):
        # taken group by group: a second whole copy of a day would double the memory
        group = indices.slice(start, ROW_GROUP_ROWS)
        yield pa.concat_tables(
            rows.take(group.slice(at, CHUNK_ROWS)).combine_chunks()
            for at in range(0, len(group), CHUNK_ROWS)
        )


def groups_of(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Rows that are in order already, as tables of one row group each."""
    chunks: list[pa.Table] = []
    for chunk in _chunks(batches):
        chunks.append(chunk)
        if len(chunks) == ROW_GROUP_ROWS // CHUNK_ROWS:
            group = pa.concat_tables(chunks)
            chunks.clear()
            yield group
    if chunks:
        yield pa.concat_tables(chunks)


def _chunks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The rows as tables of CHUNK_ROWS, so that no batch is held for longer than it is copied."""
    waiting: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        while count + batch.num_rows >= CHUNK_ROWS:
            waiting.append(batch.slice(0, CHUNK_ROWS - count))
            batch = batch.slice(CHUNK_ROWS - count)
            count = 0
            rows = pa.Table.from_batches(waiting).combine_chunks()
            waiting.clear()
            yield rows
        if batch.num_rows:
            waiting.append(batch)
            count += batch.num_rows
    if waiting:
        yield pa.Table.from_batches(waiting).combine_chunks()


def is_ordered(rows: pa.RecordBatch, order: Sequence[str]) -> bool:
    """Whether each row comes after the one before it; equal ones and nulls are not in order."""
    if any(rows.column(name).null_count for name in order):
        return False
    if rows.num_rows < 2:
        return True
    after: pa.Array | None = None
    for name in reversed(list(order)):
        column = rows.column(name)
        later, earlier = column.slice(1), column.slice(0, rows.num_rows - 1)
        greater = pc.greater(later, earlier)
        if after is not None:
            greater = pc.or_(greater, pc.and_(pc.equal(later, earlier), after))
        after = greater
    return bool(pc.all(after).as_py())


def write(path: Path, groups: Iterator[pa.Table], contract: Contract) -> None:
    """Write row groups as one Parquet file, whose bytes depend on rows and contract alone."""
    schema = file_schema(contract)
    split = {f.name: "BYTE_STREAM_SPLIT" for f in schema if pa.types.is_floating(f.type)}
    # times and numbers grow in sorted files: their differences are small or constant
    delta = {f.name: "DELTA_BINARY_PACKED" for f in schema if _grows(f)}
    encodings = {**split, **delta}
    with pq.ParquetWriter(
        path,
        schema,
        compression="zstd",
        use_dictionary=[f.name for f in schema if f.name not in encodings],
        column_encoding=encodings or None,
        write_statistics=True,
    ) as writer:
        for group in groups:
            writer.write_table(group, row_group_size=ROW_GROUP_ROWS)


def _described(schema: pa.Schema) -> list[str]:
    return [f"{field.name} {field.type}" for field in schema]


def _grows(field: pa.Field) -> bool:
    if pa.types.is_timestamp(field.type):
        return True
    name = str(field.name)
    return field.type == pa.int64() and (name.endswith("_ns") or name in _GROWING)


def _instants(times: pa.Array) -> pa.Array:
    """A time column as something that casts to a date by flooring: `_ns` integers as timestamps."""
    if pa.types.is_int64(times.type):
        return times.cast(pa.timestamp("ns", "UTC"))
    return times


def _has_ties(rows: pa.Table, names: Sequence[str], indices: pa.Array) -> bool:
    """Whether two neighbours are equal in all of these columns."""
    equal: pa.Array | None = None
    # from the last column: it tells most neighbours apart, and then the others need no look
    for name in reversed(names):
        codes = _codes(rows.column(name)).take(indices)
        same = pc.equal(codes.slice(1), codes.slice(0, max(len(codes) - 1, 0)))
        equal = same if equal is None else pc.and_(equal, same)
        if not pc.any(equal).as_py():
            return False
    return True


def _codes(column: pa.ChunkedArray) -> pa.Array:
    """Integers without nulls that sort as the column's values do, nulls last.

    Any column can be sorted and compared through them, lists too. Floats are told apart by their
    bits, so that 0.0 and -0.0 cannot change places.
    """
    type_ = column.type
    if pa.types.is_list(type_):
        # slow, but only rows that are equal in everything else ask for it
        column = pa.chunked_array([[repr(value) for value in column.to_pylist()]], pa.string())
    elif pa.types.is_floating(type_):
        bits = pa.int64() if type_.bit_width == 64 else pa.int32()
        column = pa.chunked_array([c.view(bits) for c in column.chunks], bits)
    elif pa.types.is_timestamp(type_):
        column = column.cast(pa.int64())
    if pa.types.is_integer(column.type) and not column.null_count:
        return _whole(column).cast(pa.int64())
    encoded = _whole(column).dictionary_encode()
    by_value = pc.sort_indices(encoded.dictionary)
    rank = pc.sort_indices(by_value).cast(pa.int64())  # the inverse of a permutation
    return rank.take(encoded.indices).fill_null(len(rank))


def _whole(column: pa.ChunkedArray) -> pa.Array:
    whole = column.combine_chunks()
    return whole if isinstance(whole, pa.Array) else pa.concat_arrays(whole.chunks)
