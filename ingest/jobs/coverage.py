"""For which time and nodes an export speaks, and where a bad record makes it blind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ingest.rows import Rows, time_of_ns
from warehouse.contracts import Batch, SourceFile

_S = 1_000_000_000
#: Beyond so many bad records the whole file counts as blind, so that memory stays bounded.
MAX_CUTS = 10_000


@dataclass(frozen=True)
class _Cut:
    line: int
    cluster: str | None
    nodes: tuple[str, ...]
    start_s: int | None
    end_s: int | None


class Coverage:
    """Gathers what the records of one file show and writes `source_coverage` at its end.

    The file speaks for `file.covers`, else from the first start to the last end of its records.
    """

    def __init__(self, file: SourceFile, source: str) -> None:
        self._file, self._source = file, source
        self._clusters: dict[str, None] = {}
        self._low: int | None = None
        self._high: int | None = None
        self._cuts: list[_Cut] = []
        self._blind_from: int | None = None

    def see(self, cluster: str, *times_s: int | None) -> None:
        """Take note of one good record: its cluster, and the times (epoch s) that it shows."""
        self._clusters.setdefault(cluster)
        for time in times_s:
            if time is not None:
                self._low = time if self._low is None else min(self._low, time)
                self._high = time if self._high is None else max(self._high, time)

    def cut(
        self, line: int, *, cluster: str | None = None, nodes: Sequence[str] = (),
        start_s: int | None = None, end_s: int | None = None,
    ) -> None:  # fmt: skip
        """Make the file blind for a bad record; no nodes: all; no time: to that end of the span."""
        if self._blind_from is not None:
            return
        if len(self._cuts) >= MAX_CUTS:
            self._blind_from, self._cuts = min(cut.line for cut in self._cuts), []
            return
        self._cuts.append(_Cut(line, cluster, tuple(nodes), start_s, end_s))

    def batches(self) -> Iterator[Batch]:
        """The rows: one per cluster that the file speaks for, and one per cut and node."""
        rows = Rows("source_coverage", self._file)
        span = self._span()
        if span is not None and span[1] > span[0]:
            # Records of other clusters only: the file does not speak for the configured one.
            own = [] if self._file.cluster is None else [self._file.cluster]
            for cluster in list(self._clusters) or own:
                self._add(rows, cluster, None, span, line=0, is_cut=False)
        cuts = self._cuts
        if self._blind_from is not None:
            cuts = [_Cut(self._blind_from, None, (), None, None)]
        low, high = span or (None, None)
        for cut in cuts:
            start = low if cut.start_s is None else cut.start_s * _S
            end = high if cut.end_s is None else cut.end_s * _S
            if start is not None and end is not None and end > start:
                for node in cut.nodes or (None,):
                    self._add(rows, cut.cluster, node, (start, end), line=cut.line, is_cut=True)
            yield from rows.flush(at_least=10_000)
        yield from rows.flush()

    def _span(self) -> tuple[int, int] | None:
        if self._file.covers is not None:
            return self._file.covers
        if self._low is None or self._high is None:
            return None
        return self._low * _S, self._high * _S

    def _add(
        self, rows: Rows, cluster: str | None, node: str | None, span: tuple[int, int],
        *, line: int, is_cut: bool,
    ) -> None:  # fmt: skip
        rows.add(
            source=self._source, cluster=cluster, node=node, start=time_of_ns(span[0]),
            end=time_of_ns(span[1]), is_cut=is_cut, source_row=line,
        )  # fmt: skip
