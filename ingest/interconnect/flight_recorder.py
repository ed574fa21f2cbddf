"""PyTorch's flight recorder, as JSON (.json or .json.gz) -> collective.

A rank's ring buffer of its last collectives: which, in which group, with which number, and when
the host enqueued it. Started and done are when a watchdog looked, not when the GPU was: they may
be seconds late. An entry that cannot be read is a reject with its number; the rest is kept, and
of a file that ends early all whole entries.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from math import prod
from typing import Any, TypeAlias

import msgspec

from ingest.file_names import OF_JOB, PathPattern, path_pattern
from ingest.options import check_options
from ingest.rows import BATCH_ROWS, RAW_CHARS, Rejects, Rows
from ingest.steps.jsonl import BadRecord, check_range
from ingest.text import chunks
from ingest.traces.kernel_names import collective_name
from warehouse.contracts import Batch, SourceFile
from warehouse.errors import SourceError

KIND = "flight_recorder"

EXPORT = """\
Start each rank with TORCH_NCCL_TRACE_BUFFER_SIZE=20000 (in newer releases TORCH_FR_BUFFER_SIZE),
and let each write its buffer once at the end, before destroy_process_group:
  import os, pathlib, torch, torch.distributed as dist
  dump = torch._C._distributed_c10d._dump_nccl_trace_json
  folder = pathlib.Path(f"traces/job_{os.environ['SLURM_JOB_ID']}")
  (folder / f"nccl_flight_recorder_rank{dist.get_rank()}.json").write_bytes(
      dump(includeCollectives=True, onlyActive=False))
The buffer keeps the last collectives only: 20000 entries are some minutes of training.
In the configuration: pattern = "job_{job_id}/nccl_flight_recorder_rank{rank}.json"
"""

#: Options of a source of this kind, with their meaning.
OPTIONS = {
    "pattern": "whose the collectives are, which only the file's path says: its end, with the "
    "marks {job_id}, {attempt} and {rank} and with `*` for anything, or a list of such; the first "
    "that fits counts"
}

#: A larger file is no ring buffer of one rank; it is held in memory while it is read.
MAX_BYTES = 256 << 20
_CHUNK_BYTES = 1 << 20
_STATES = ("scheduled", "started", "completed")
_ENTRIES = re.compile(r'"entries"\s*:\s*\[')
#: Where another entry may begin behind one that cannot be read.
_NEXT = re.compile(r"\}\s*,\s*(?=\{)")
_BETWEEN = re.compile(r"[\s,]*")
_TODO_JSON = (
    "Write it by torch._C._distributed_c10d._dump_nccl_trace_json(includeCollectives=True, "
    "onlyActive=False); a pickle is not opened, since opening one runs what it says."
)


#: An entry: its text, what a forgiving parser read, or why it is none.
_Found: TypeAlias = bytes | dict[str, Any] | BadRecord


class _Dump(msgspec.Struct):
    entries: list[msgspec.Raw]
    pg_config: Any = None


class _Entry(msgspec.Struct):
    time_created_ns: int
    state: str
    profiling_name: str
    collective_seq_id: int | None = None
    p2p_seq_id: int | None = None
    #: Of releases before they were counted apart.
    seq_id: int | None = None
    is_p2p: bool = False
    pg_id: int | str | None = None
    process_group: list[str] | str | None = None
    input_sizes: Any = None
    output_sizes: Any = None
    input_dtypes: Any = None
    output_dtypes: Any = None
    time_discovered_started_ns: int | None = None
    time_discovered_completed_ns: int | None = None
    timeout_ms: int | None = None


def read(file: SourceFile) -> Iterator[Batch]:
    """Read one rank's dump.

    Raises ConfigError where `pattern` does not fit, SourceError where the file is a pickle or no
    dump at all, is damaged, or is larger than MAX_BYTES.
    """
    names = read_options(file).read(file.name)
    rows, rejects = Rows("collective", file), Rejects(file, KIND)
    text, is_cut = _text(file)
    if not text.strip():
        rejects.put("file", "an empty file; expected a flight recorder's dump", text)
        yield from rejects.flush()
        return
    is_whole = True
    try:
        dump = msgspec.json.decode(text, type=_Dump)
        entries: Iterator[_Found] = (bytes(entry) for entry in dump.entries)
        groups = _groups(dump.pg_config)
    except (msgspec.DecodeError, RecursionError):
        is_whole = False
        entries, groups = _salvaged(file, text.decode("utf-8", "replace"), is_cut)
    for number, entry in enumerate(entries, start=1):
        try:
            row = _row(_decoded(entry), groups)
        except BadRecord as error:
            rejects.put(f"entry {number}", str(error), _raw(entry))
        else:
            rows.add(
                source_row=number, recorder=KIND, cluster=file.cluster, job_id=names.job_id,
                attempt=names.attempt, rank=names.rank, **row,
            )  # fmt: skip
        yield from rows.flush(at_least=BATCH_ROWS)
        yield from rejects.flush(at_least=BATCH_ROWS)
    if not is_whole and not rejects.count:
        rejects.put(
            "file", "the text around its entries is no JSON, or ends early: ranks of groups may be "
            "missing; expected one JSON object", text[-RAW_CHARS:],
        )  # fmt: skip
    yield from rows.flush()
    yield from rejects.flush()


def read_options(file: SourceFile) -> PathPattern:
    """The option `pattern`; ConfigError where an option cannot be."""
    check_options(file, OPTIONS)
    return path_pattern(file, OF_JOB)


def _text(file: SourceFile) -> tuple[bytes, bool]:
    """The file's text, and whether its compressed data end early."""
    parts: list[bytes] = []
    size, is_cut = 0, False
    for part in chunks(file, _CHUNK_BYTES):
        if part is None:
            is_cut = True
            break
        if not parts and part[:1] == b"\x80":
            raise SourceError(
                file.name, "is a pickle", expected="the flight recorder's JSON", todo=_TODO_JSON
            )
        parts.append(part)
        size += len(part)
        if size > MAX_BYTES:
            raise SourceError(
                file.name, f"has more than {MAX_BYTES} bytes",
                expected="one rank's ring buffer", todo="Dump fewer entries, or without stacks.",
            )  # fmt: skip
    return b"".join(parts), is_cut


def _salvaged(
    file: SourceFile, text: str, is_cut: bool
) -> tuple[Iterator[_Found], dict[str, str | None]]:
    """Entries of a text that is no whole dump, and the groups where these can be read."""
    start = _ENTRIES.search(text)
    if start is None:
        begins = text.lstrip().startswith('{"')
        if is_cut or (begins and not text.rstrip().endswith("}")):
            return iter([BadRecord("the file ends before its list of entries")]), {}
        raise SourceError(
            file.name, "has no list of entries",
            expected='a JSON object with "entries", as the flight recorder writes it',
            todo=_TODO_JSON,
        )  # fmt: skip
    groups = re.search(r'"pg_config"\s*:\s*', text)
    config: Any = None
    if groups is not None:
        try:
            config, _ = json.JSONDecoder(strict=False).raw_decode(text, groups.end())
        except (ValueError, RecursionError):
            config = None
    return _scan(text, start.end()), _groups(config)


def _scan(text: str, at: int) -> Iterator[_Found]:
    """Yield each entry from `at` on, and a BadRecord where text is none or ends inside one."""
    scan = json.JSONDecoder(strict=False).raw_decode
    while True:
        between = _BETWEEN.match(text, at)
        at = between.end() if between else at
        if text[at : at + 1] == "]":
            return
        try:
            value, end = scan(text, at)
        except (ValueError, RecursionError):
            value, end = None, at
        if isinstance(value, dict):
            yield value
            at = end
            continue
        found = _resume(text, at)
        if found is None:
            yield BadRecord(f"the file ends inside this entry: {text[at : at + 200]!r}")
            return
        yield BadRecord(f"no JSON object; expected an entry: {text[at : at + 200]!r}")
        at = found


def _resume(text: str, at: int) -> int | None:
    """Where the next whole entry begins: an object inside an entry has no time of its own."""
    scan = json.JSONDecoder(strict=False).raw_decode
    for match in _NEXT.finditer(text, at):
        try:
            value, _ = scan(text, match.end())
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and "time_created_ns" in value:
            return match.end()
    return None


def _groups(config: Any) -> dict[str, str | None]:
    """Ranks of each process group, by its name."""
    found: dict[str, str | None] = {}
    for key, group in config.items() if isinstance(config, dict) else ():
        if isinstance(group, dict):
            ranks = _ranks(group.get("ranks"))
            found[str(key)] = ranks
            found[str(group.get("name", key))] = ranks
    return found


def _ranks(ranks: Any) -> str | None:
    """Ranks as the recorder writes them, [0, 1]; other builds have a list."""
    if isinstance(ranks, list):
        return f"[{', '.join(str(rank) for rank in ranks)}]"
    return ranks if isinstance(ranks, str) else None


def _decoded(found: _Found) -> _Entry:
    """An entry of a dump; BadRecord says why it is none."""
    if isinstance(found, BadRecord):
        raise found
    try:
        if isinstance(found, bytes):
            return msgspec.json.decode(found, type=_Entry, strict=False)
        return msgspec.convert(found, _Entry, strict=False)
    except (msgspec.MsgspecError, RecursionError, OverflowError) as error:
        raise BadRecord(f"no entry of a flight recorder ({error})") from None


def _raw(found: _Found) -> str | bytes:
    """An entry's text for a reject."""
    if isinstance(found, BadRecord):
        return ""
    return found if isinstance(found, bytes) else json.dumps(found)


def _row(entry: _Entry, groups: dict[str, str | None]) -> dict[str, Any]:
    """An entry's columns of collective; BadRecord says why it cannot be one."""
    if entry.state not in _STATES:
        raise BadRecord(f"state is {entry.state!r}; expected {', '.join(_STATES)}")
    seq = entry.p2p_seq_id if entry.is_p2p else entry.collective_seq_id
    row = {
        "seq": entry.seq_id if seq is None else seq,
        "in_elements": _elements(entry.input_sizes),
        "out_elements": _elements(entry.output_sizes),
        "created_ns": entry.time_created_ns,
        # The recorder writes 0 for what it has not seen.
        "seen_started_ns": entry.time_discovered_started_ns or None,
        "seen_completed_ns": entry.time_discovered_completed_ns or None,
        "timeout_ns": None if entry.timeout_ms is None else entry.timeout_ms * 1_000_000,
    }
    check_range(**row)
    name = _clean(collective_name(entry.profiling_name))
    if not name:
        raise BadRecord("profiling_name is empty; expected a collective's name")
    group = _group_name(entry)
    return row | {
        "group_name": _clean(group),
        "group_ranks": None if group is None else _clean(groups.get(group)),
        "is_p2p": entry.is_p2p,
        "name": name,
        "dtype": _clean(_first(entry.input_dtypes) or _first(entry.output_dtypes)),
        "state": entry.state,
    }


def _group_name(entry: _Entry) -> str | None:
    """The group's name; the second text of `process_group` describes it."""
    group = entry.process_group
    if isinstance(group, list):
        group = group[0] if group else None
    return group if group else (None if entry.pg_id is None else str(entry.pg_id))


def _elements(sizes: Any) -> int | None:
    """Elements of all tensors together: a list of shapes, or lists of such; None if it is none."""
    if not isinstance(sizes, list):
        return None
    parts = [_shape(part) for part in sizes]
    return None if None in parts else sum(part or 0 for part in parts)


def _shape(shape: Any) -> int | None:
    """Elements of one tensor; of all where tensors are grouped."""
    if isinstance(shape, list) and any(isinstance(part, list) for part in shape):
        return _elements(shape)
    if not isinstance(shape, list) or not all(type(n) is int and n >= 0 for n in shape):
        return None
    return prod(shape)


def _first(dtypes: Any) -> str | None:
    """The first number format of a list, as the recorder writes it."""
    while isinstance(dtypes, list) and dtypes:
        dtypes = dtypes[0]
    return dtypes if isinstance(dtypes, str) and dtypes else None


def _clean(text: str | None) -> str | None:
    """Half a surrogate pair, as broken escapes leave it, is no text that can be stored."""
    return None if text is None else text.encode("utf-8", "replace").decode()
