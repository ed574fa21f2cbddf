"""Metrics as text (OpenMetrics, exporters' own, `promtool tsdb dump`) -> gpu_sample.

A line has a series, its value and its time: seconds in OpenMetrics, milliseconds in exporters' and
servers' text and in dumps. An exporter gives no time; then the line `# scraped_at SECONDS` before a
scrape says it, and lines without either are one reject. Types and help are not believed and may
come anywhere. Fields, GPUs, copies and doubtful values are as of kind prometheus.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ingest.counters.samples import Samples
from ingest.counters.whose import NOBODY, Whose
from ingest.counters.wide import MAX_MS, Wide
from ingest.options import check_options
from ingest.rows import Rejects
from ingest.text import lines
from warehouse.contracts import Batch, SourceFile
from warehouse.errors import SourceError

KIND = "openmetrics"

EXPORT = """\
On each node, each 30 s (one file an hour, so that a run need not read all of them again):
  { echo "# scraped_at $(date +%s.%3N)"; curl -s http://localhost:9400/metrics; } \\
    >> "metrics/$(hostname -s)-$(date -u +%Y-%m-%dT%H).prom"
Of a Prometheus' own files, where its API cannot be asked (give it a copy or a snapshot):
  promtool tsdb dump --match='{__name__=~"DCGM_FI_.*"}' data/ | gzip > metrics/dump.prom.gz
"""

#: Options of a source of this kind: none.
OPTIONS: dict[str, str] = {}

_SCRAPED = re.compile(rb"#\s*scraped_at\s+([0-9]{9,11}(?:\.[0-9]+)?)\s*\Z")
#: A time above is milliseconds, one below seconds: both mean a day between 1973 and 5138.
_MS_FROM = 1e11
_LABEL = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,|\Z)', re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*\Z")


class _Bad(Exception):
    """A line that cannot be read; the text says why."""


def read(file: SourceFile) -> Iterator[Batch]:
    """Read one text of metrics.

    A line that cannot be read is a reject; so is, once, a field or a series that is not known, and
    a sample without a time. Raises SourceError where no line is a sample.
    """
    read_options(file)
    wide, rejects = Wide(file), Rejects(file, KIND)
    whose, gathered = Whose(wide), Samples(wide)
    known: dict[bytes, tuple[int, int]] = {}
    scraped: int | None = None
    count = 0
    is_untimed = False
    for line in lines(file):
        text = line.text.strip()
        if text.startswith(b"#") or not text:
            if found := _SCRAPED.match(text):
                scraped = round(float(found[1]) * 1000)
            continue
        try:
            if line.fault:
                raise _Bad(line.fault)
            series, value, ms = _sample(text)
            if series not in known:
                labels = _labels(series)
                *known_as, fault = whose.find(labels)
                known[series] = known_as[0], known_as[1]
                if fault:
                    rejects.put(f"line {line.number}", fault, text)
        except _Bad as error:
            rejects.put(f"line {line.number}", str(error), text)
            continue
        count += 1
        dcgm_id, code = known[series]
        if code == NOBODY:
            continue
        if ms is None:
            ms = scraped
        if ms is None:
            if not is_untimed:
                rejects.put(
                    f"line {line.number}", "a sample without a time, as are those that follow; "
                    "expected one, or a line `# scraped_at SECONDS` before the scrape", text,
                )  # fmt: skip
            is_untimed = True
            continue
        gathered.see(ms)
        gathered.put(dcgm_id, code, ms, value)
        yield from rejects.flush(at_least=1000)
    if not count and not rejects.count:
        raise SourceError(
            file.name, "has no sample", expected='lines such as NAME{UUID="GPU-..."} VALUE TIME',
            todo="Check the source's `files`.",
        )  # fmt: skip
    gathered.empty()
    yield from wide.rows()
    wide.tell(rejects)
    yield from rejects.flush()
    yield from gathered.coverage(file)


def read_options(file: SourceFile) -> None:
    """ConfigError where the source has an option."""
    check_options(file, OPTIONS)


def _sample(text: bytes) -> tuple[bytes, float, int | None]:
    """A line's series as it stands, its value and its time in ms."""
    brace = text.rfind(b"}")
    series, cells = text[: brace + 1], text[brace + 1 :].split()
    if brace < 0:
        series, cells = cells[0], cells[1:]
    if len(cells) not in (1, 2):
        raise _Bad(f"{len(cells)} cells behind the series; expected a value and a time")
    try:
        value = float(cells[0])
        time = float(cells[1]) if len(cells) == 2 else None
    except ValueError:
        raise _Bad(f"{b' '.join(cells)[:60]!r} is no value and time") from None
    if time is None:
        return series, value, None
    ms = time if abs(time) >= _MS_FROM else time * 1000
    if not 0 <= ms <= MAX_MS:
        raise _Bad(f"the time is {cells[1][:40]!r}; expected one since 1970")
    return series, value, round(ms)


def _labels(series: bytes) -> dict[str, str]:
    text = series.decode("utf-8", "replace")
    name, brace, inside = text.partition("{")
    labels = {"__name__": name.strip()} if name.strip() else {}
    if name.strip() and not _NAME.match(name.strip()):
        raise _Bad(f"{name[:60]!r} is no name of a metric")
    at, inside = 0, inside.removesuffix("}")
    while brace and inside[at:].strip():
        found = _LABEL.match(inside, at)
        if found is None:
            raise _Bad(f"labels cannot be read at {inside[at : at + 40]!r}")
        labels[found[1]] = _ESCAPED.sub(lambda m: "\n" if m[1] == "n" else m[1], found[2])
        at = found.end()
    return labels
