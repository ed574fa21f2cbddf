"""GPU metrics of an Nsight Systems export to gpu_sample.

A metric is sampled at a fixed rate; its time is the start of the interval that its value is the
mean of, in percent. gpu_sample's time is the end, so one period is added. What Nsight Systems
gives in percent of a peak that the export does not name (PCIe, NVLink) is left out.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from ingest.counters.fields import BY_COLUMN, PERCENT, limits
from ingest.rows import BATCH_ROWS, Rejects, Rows, time_of_ns
from ingest.traces.nsys_tables import Export
from ingest.traces.nsys_target import MAX_NS
from warehouse.contracts import Batch, SourceFile

METRICS, METRIC_NAMES = "GPU_METRICS", "TARGET_INFO_GPU_METRICS"
#: Columns of gpu_sample by metric. Reads and writes share one memory: their shares add up.
_COLUMNS = {
    "gr active": "engine_active_ratio",
    "sms active": "sm_active_ratio",
    "sm active": "sm_active_ratio",
    "tensor active": "tensor_active_ratio",
    "dram read bandwidth": "dram_active_ratio",
    "dram write bandwidth": "dram_active_ratio",
}
_SHARED = "dram_active_ratio"
_UNIT = " [throughput %]"
#: Two rounded shares may be one percent over their sum.
_SUM_SLACK = 1.0

_Key = tuple[int, int]


def read_metrics(
    file: SourceFile, export: Export, rejects: Rejects, *, base_ns: int, uuids: dict[int, str]
) -> Iterator[Batch]:
    """Yield the samples of GPUs whose UUID is known; of others one reject each."""
    columns = _columns(export)
    if not columns:
        return
    periods = _periods(export, columns)
    rows = Rows("gpu_sample", file)
    open_: dict[int, _Sample] = {}
    unknown: Counter[int] = Counter()
    for type_id, metric, time, value, row in _cells(export, columns, rejects):
        if type_id & 0xFF not in uuids:
            unknown[type_id & 0xFF] += 1
            continue
        sample = open_.get(type_id)
        if sample is not None and time < sample.time:
            rejects.put(
                f"{METRICS}, {export.row_name} {row}",
                "goes back in time; expected the samples of a GPU in order", f"{time} {value}",
            )  # fmt: skip
            continue
        if sample is None or time > sample.time:
            if sample is not None:
                sample.put(rows, periods[type_id], base_ns, uuids)
                yield from rows.flush(at_least=BATCH_ROWS)
            sample = open_[type_id] = _Sample(type_id, time, row)
        sample.values.setdefault(columns[type_id, metric], []).append(value)
    for type_id in sorted(open_):
        open_[type_id].put(rows, periods[type_id], base_ns, uuids)
    yield from rows.flush()
    for gpu, count in sorted(unknown.items()):
        rejects.put(
            f"{METRICS}, GPU {gpu}",
            f"{count} values of a GPU without a UUID in TARGET_INFO_GPU: which GPU it is is not "
            "known; expected its row", "",
        )  # fmt: skip


class _Sample:
    """The values of one GPU at one time, in percent."""

    def __init__(self, type_id: int, time: int, row: int) -> None:
        self.type_id, self.time, self.row = type_id, time, row
        self.values: dict[str, list[float]] = {}

    def put(self, rows: Rows, period_us: int, base_ns: int, uuids: dict[int, str]) -> None:
        """Add the row; a value out of range is null, with its bit set."""
        ratios: dict[str, float] = {}
        mask = 0
        for column, values in self.values.items():
            if column == _SHARED and len(values) < 2:
                continue  # only one direction: not what the memory did
            low, high = limits(BY_COLUMN[column], PERCENT)
            percent = math.fsum(values)
            is_sound = all(low <= value <= high for value in values)
            if is_sound and percent <= high + (_SUM_SLACK if len(values) > 1 else 0):
                ratios[column] = min(percent / 100, 1.0)
            else:
                mask |= BY_COLUMN[column].bit
        rows.add(
            gpu_uuid=uuids[self.type_id & 0xFF], source_row=self.row, period_us=period_us,
            ts=time_of_ns(base_ns + self.time + period_us * 1000), invalid_mask=mask, **ratios,
        )  # fmt: skip


def _columns(export: Export) -> dict[_Key, str]:
    """Columns of gpu_sample by typeId and metricId."""
    found: dict[_Key, str] = {}
    for part in export.parts(METRIC_NAMES, "typeId", "metricId", "metricName"):
        for type_id, metric, name in zip(*part.columns.values(), strict=True):
            if isinstance(name, str) and type(type_id) is int and type(metric) is int:
                plain = name.strip().lower().removesuffix(_UNIT)
                if plain in _COLUMNS:
                    found[type_id, metric] = _COLUMNS[plain]
    return found


def _cells(
    export: Export, columns: dict[_Key, str], rejects: Rejects | None
) -> Iterator[tuple[int, int, int, float, int]]:
    """Yield typeId, metricId, time, value and row of the metrics that are landed."""
    names = ("typeId", "metricId", "timestamp", "rawTimestamp", "value")
    for part in export.parts(METRICS, *names):
        rows = zip(part.rows, *(part.columns[name] for name in names), strict=True)
        for row, type_id, metric, timestamp, raw, value in rows:
            if type(type_id) is not int or (type_id, metric) not in columns:
                continue
            time = raw if timestamp is None else timestamp
            if type(time) is int and 0 <= time <= MAX_NS and type(value) in (int, float):
                yield type_id, metric, time, float(value), row
            elif rejects is not None:
                rejects.put(
                    f"{METRICS}, {export.row_name} {row}",
                    "no time or no value; expected ns and percent", f"{time!r} {value!r}",
                )  # fmt: skip


def _periods(export: Export, columns: dict[_Key, str]) -> dict[int, int]:
    """The median distance of samples in us, by typeId; 0 where one stands alone."""
    last: dict[int, int] = {}
    distances: dict[int, Counter[int]] = {}
    for type_id, _, time, _, _ in _cells(export, columns, None):
        counts = distances.setdefault(type_id, Counter())
        if (step := time - last.get(type_id, time)) > 0:
            counts[(step + 500) // 1000] += 1
        last[type_id] = max(time, last.get(type_id, time))
    return {type_id: _median(counts) for type_id, counts in distances.items()}


def _median(counts: Counter[int]) -> int:
    middle, passed = (counts.total() + 1) // 2, 0
    for value, count in sorted(counts.items()):
        passed += count
        if passed >= middle:
            return value
    return 0
